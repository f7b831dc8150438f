//! Many patterns over one text: those of which the text holds no word are neither run nor compiled.
//!
//! **Cost**: one pass of an automaton over the text for all of them, and one search for each that is left. A pattern is compiled at
//! its first search: all of them together would take 0.1 s and 15 MiB.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::Regex;

use super::words;

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
    /// For each word the patterns that wait for it.
    waiting: Vec<Vec<usize>>,
    /// The patterns that wait for none.
    always: Vec<usize>,
}

impl Set {
    pub(super) fn new(searches: impl IntoIterator<Item = Search>) -> Self {
        let searches: Vec<Search> = searches.into_iter().collect();
        let mut waiting = std::collections::BTreeMap::<Vec<u8>, Vec<usize>>::new();
        let mut always = Vec::new();
        for (index, search) in searches.iter().enumerate() {
            match words::required(&search.pattern) {
                Some(words) => {
                    words.into_iter().for_each(|word| waiting.entry(word).or_default().push(index))
                }
                None => always.push(index),
            }
        }
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(waiting.keys())
            .expect("some hundreds of words are no limit");
        Self { searches, words, waiting: waiting.into_values().collect(), always }
    }

    /// The patterns that may match in a text, each with its place in the set, in order.
    pub(super) fn over(&self, text: &[u8]) -> impl Iterator<Item = (usize, &Regex)> {
        let mut is_due = vec![false; self.searches.len()];
        self.always.iter().for_each(|index| is_due[*index] = true);
        for found in self.words.find_overlapping_iter(text) {
            self.waiting[found.pattern()].iter().for_each(|index| is_due[*index] = true);
        }
        let due = self.searches.iter().enumerate().zip(is_due);
        due.filter(|(_, is_due)| *is_due).map(|((index, search), _)| (index, search.regex()))
    }
}
