//! Many patterns over one text: those whose words the text does not hold are neither run nor compiled.
//!
//! **Cost**: one pass of an automaton over the text for all of them, and one search for each that is left. A pattern is compiled at
//! its first search: all of them together would take 0.1 s and 15 MiB.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::Regex;

use super::words::{self, Word};

/// Pieces that patterns share: `{gap}` is the rest of a command, over line continuations; `{sh}` and `{py}` what runs a script.
const PIECES: [(&str, &str); 3] = [
    ("{gap}", r"(?:\\\r?\n|[^\n])*?"),
    (
        "{sh}",
        r"(?:(?:sudo|doas|exec|nohup|busybox)\s+(?:-\S+\s+)*|su\s+(?:-\S+\s+|\w+\s+)*-c\s+[\x22']?|xargs\s+(?:-\S+\s+)*)?(?:env\s+(?:\w+=\S+\s+)*)?(?:/(?:usr/)?(?:local/)?bin/)?(?:(?:ba|z|k|da|a)?sh|fish|pwsh)\b",
    ),
    (
        "{py}",
        r"(?:sudo\s+)?(?:python[23]?(?:\.\d+)?|node|perl|ruby|php|bun|deno run)(?:[ \t]+-)?[ \t]*(?:[\n`)&;]|$|\x22|')",
    ),
];

/// A pattern that is compiled when it is first used.
pub(super) struct Search {
    pattern: String,
    regex: OnceLock<Regex>,
}

impl Search {
    /// A pattern over bytes, without regard to case, `^` and `$` at lines.
    pub(super) fn new(pattern: &str) -> Self {
        let mut text = format!("(?im-u){pattern}");
        for (name, piece) in PIECES {
            text = text.replace(name, piece);
        }
        Self { pattern: text, regex: OnceLock::new() }
    }

    /// A pattern over bytes whose case counts.
    pub(super) fn exact(pattern: &str) -> Self {
        Self { pattern: format!("(?-u){pattern}"), regex: OnceLock::new() }
    }

    pub(super) fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            Regex::new(&self.pattern).unwrap_or_else(|error| panic!("{}: {error}", self.pattern))
        })
    }
}

/// A pattern over bytes, without regard to case, that is compiled at once.
pub(super) fn regex(pattern: &str) -> Regex {
    let search = Search::new(pattern);
    search.regex();
    search.regex.into_inner().expect("it was compiled")
}

/// Patterns that run over the same texts.
pub(super) struct Set {
    searches: Vec<Search>,
    words: AhoCorasick,
    /// For each word the sets that it is of.
    sets: Vec<Vec<Membership>>,
    /// For each pattern the sets of which a text must hold a word: all of them.
    needs: Vec<Range<usize>>,
    count: usize,
}

/// A word is of a set where it stands with these edges.
struct Membership {
    set: usize,
    begins: bool,
    ends: bool,
}

impl Set {
    pub(super) fn new(searches: impl IntoIterator<Item = Search>) -> Self {
        let searches: Vec<Search> = searches.into_iter().collect();
        let mut members = BTreeMap::<Vec<u8>, Vec<Membership>>::new();
        let (mut needs, mut count) = (Vec::new(), 0);
        for search in &searches {
            let first = count;
            for set in words::required(&search.pattern) {
                for Word { text, begins, ends } in set {
                    members.entry(text).or_default().push(Membership { set: count, begins, ends });
                }
                count += 1;
            }
            needs.push(first..count);
        }
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(members.keys())
            .expect("some hundreds of words are no limit");
        Self { searches, words, sets: members.into_values().collect(), needs, count }
    }

    /// The patterns that may match in a text, each with its place in the set, in order.
    pub(super) fn over(&self, text: &[u8]) -> impl Iterator<Item = (usize, &Regex)> {
        let is_letter =
            |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let mut is_met = vec![false; self.count];
        for found in self.words.find_overlapping_iter(text) {
            for Membership { set, begins, ends } in &self.sets[found.pattern()] {
                let is_inside = (*begins && found.start() > 0 && is_letter(text.get(found.start() - 1)))
                    || (*ends && is_letter(text.get(found.end())));
                is_met[*set] |= !is_inside;
            }
        }
        let is_due = move |needs: &Range<usize>| is_met[needs.clone()].iter().all(|is_met| *is_met);
        let due = self.searches.iter().zip(&self.needs).enumerate();
        due.filter(move |(_, (_, needs))| is_due(needs)).map(|(index, (search, _))| (index, search.regex()))
    }
}
