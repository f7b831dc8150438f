//! The words without which a pattern cannot match: a text that lacks one of them need not be searched.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Words of one set; a set that would grow beyond is given up.
const WORDS_MAX: usize = 64;
/// Bytes of a word that says something.
const BYTES_MIN: usize = 2;
/// Alternatives of one letter that are told apart; more of them are any letter.
const LETTERS_MAX: usize = 4;

/// A word in lower case, whatever the case of what it is held against.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word {
    pub(super) text: Vec<u8>,
    /// Whether no letter stands before it, and behind it.
    pub(super) begins: bool,
    pub(super) ends: bool,
}

/// Sets of words: every match of the pattern holds one of each set. None where nothing is known: every text has to be searched.
pub(super) fn required(pattern: &str) -> Vec<Vec<Word>> {
    let hir = ParserBuilder::new().utf8(false).build().parse(pattern).expect("the patterns are tested");
    let found = Found::of(&hir);
    let mut sets: Vec<Vec<Word>> = found.held.into_iter().chain(found.exact).filter_map(finished).collect();
    sets.sort();
    sets.dedup();
    sets
}

/// Words in the making, with [`EDGE`] where a pattern has `\b`.
type Words = Vec<Vec<u8>>;

/// No pattern holds this byte.
const EDGE: u8 = 0;

/// What is known of an expression.
struct Found {
    /// Every text that it matches, where they are few.
    exact: Option<Words>,
    /// Sets of words of which each match holds one.
    held: Vec<Words>,
}

impl Found {
    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Look(Look::WordAscii) => Self::exact(vec![vec![EDGE]]),
            HirKind::Empty | HirKind::Look(_) => Self::exact(vec![Vec::new()]),
            HirKind::Literal(literal) => Self::exact(vec![literal.0.to_ascii_lowercase()]),
            HirKind::Class(class) => Self { exact: letters(class), held: Vec::new() },
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Repetition(repetition) => {
                let once = Self::of(&repetition.sub);
                match (repetition.min, repetition.max) {
                    (1, Some(1)) => once,
                    (0, Some(1)) => Self {
                        exact: once.exact.map(|words| [words, vec![Vec::new()]].concat()),
                        held: Vec::new(),
                    },
                    (0, _) => Self { exact: None, held: Vec::new() },
                    _ => Self { exact: None, held: once.all_sets() },
                }
            }
            HirKind::Concat(parts) => Self::concat(parts),
            HirKind::Alternation(parts) => Self::alternation(parts.iter().map(Self::of).collect()),
        }
    }

    fn exact(words: Words) -> Self {
        Self { exact: Some(words), held: Vec::new() }
    }

    /// Parts that stand one behind the other: neighbours that are exact make longer words.
    fn concat(parts: &[Hir]) -> Self {
        let mut held: Vec<Words> = Vec::new();
        let mut run: Words = vec![Vec::new()];
        let mut is_exact = true;
        for part in parts {
            let found = Self::of(part);
            if let Some(longer) = found.exact.as_ref().and_then(|words| product(&run, words)) {
                run = longer;
                continue;
            }
            is_exact = false;
            held.push(std::mem::replace(&mut run, vec![Vec::new()]));
            match found.exact {
                // Too many together, yet not alone.
                Some(words) => run = words,
                None => held.extend(found.held),
            }
        }
        if is_exact {
            return Self::exact(run);
        }
        held.push(run);
        Self { exact: None, held }
    }

    /// Of each branch its best set, if each has one.
    fn alternation(parts: Vec<Self>) -> Self {
        let bounded = |words: Vec<Words>| Some(words.concat()).filter(|words| words.len() <= WORDS_MAX);
        let exact: Option<Vec<Words>> = parts.iter().map(|part| part.exact.clone()).collect();
        if let Some(words) = exact.and_then(bounded) {
            return Self::exact(words);
        }
        let worth = |words: &Words| (shortest(words), std::cmp::Reverse(words.len()));
        let best = |part: Self| part.all_sets().into_iter().max_by_key(worth);
        let held: Option<Vec<Words>> = parts.into_iter().map(best).collect();
        Self { exact: None, held: held.and_then(bounded).into_iter().collect() }
    }

    fn all_sets(self) -> Vec<Words> {
        self.held.into_iter().chain(self.exact).collect()
    }
}

fn length(word: &[u8]) -> usize {
    word.iter().filter(|byte| **byte != EDGE).count()
}

fn shortest(words: &Words) -> usize {
    words.iter().map(|word| length(word)).min().unwrap_or(0)
}

fn product(heads: &Words, tails: &Words) -> Option<Words> {
    let is_few = heads.len() * tails.len() <= WORDS_MAX;
    is_few.then(|| {
        heads.iter().flat_map(|head| tails.iter().map(move |tail| [&head[..], tail].concat())).collect()
    })
}

/// The few letters of a class, in lower case.
fn letters(class: &Class) -> Option<Words> {
    let Class::Bytes(class) = class else {
        return class.literal().map(|word| vec![word.to_ascii_lowercase()]);
    };
    let mut letters: Vec<u8> = class
        .iter()
        .flat_map(|range| range.start()..=range.end())
        .map(|byte| byte.to_ascii_lowercase())
        .collect();
    letters.sort_unstable();
    letters.dedup();
    (letters.len() <= LETTERS_MAX).then(|| letters.into_iter().map(|letter| vec![letter]).collect())
}

/// The words of a set with their edges; none for a set that says nothing.
fn finished(words: Words) -> Option<Vec<Word>> {
    if shortest(&words) < BYTES_MIN {
        return None;
    }
    let is_letter =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let word = |word: Vec<u8>| {
        let text: Vec<u8> = word.iter().copied().filter(|byte| *byte != EDGE).collect();
        // An edge beside a mark says that a letter does stand there: that is not looked for.
        let begins = word.first() == Some(&EDGE) && is_letter(text.first());
        let ends = word.last() == Some(&EDGE) && is_letter(text.last());
        Word { text, begins, ends }
    };
    let mut words: Vec<Word> = words.into_iter().map(word).collect();
    words.sort();
    words.dedup();
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::required;

    /// The sets, with `<` and `>` for edges.
    fn words(pattern: &str) -> Vec<String> {
        let set = |set: Vec<super::Word>| {
            let word = |word: super::Word| {
                let text = String::from_utf8(word.text).unwrap();
                format!("{}{text}{}", if word.begins { "<" } else { "" }, if word.ends { ">" } else { "" })
            };
            set.into_iter().map(word).collect::<Vec<_>>().join(" ")
        };
        required(&format!("(?im-u){pattern}")).into_iter().map(set).collect()
    }

    #[test]
    fn each_shape_of_pattern_has_its_words() {
        assert_eq!(words(r"\bcurl\b[^\n]*\|"), ["<curl>"]);
        assert_eq!(words(r"\b(?:curl|wget)\s+-X"), ["-x", "<curl <wget"]);
        assert_eq!(words(r"base64\s+(?:-d|--decode)\b"), ["--decode> -d>", "base64"]);
        // Neighbours make longer words; an optional one may be missing.
        assert_eq!(words(r"gh[po]_[a-z]{36}"), ["gho_ ghp_"]);
        assert_eq!(words(r"https?://"), ["http:// https://"]);
        // Repeated: one of them is there.
        assert_eq!(words(r"(?:ab|cd)+x?"), ["ab cd"]);
        // An edge beside a mark is a letter's, and one inside is none of the word's.
        assert_eq!(words(r"\b--force\b"), ["--force>"]);
        assert_eq!(words(r"do\b \bit"), ["do it"]);
        // Of branches that are not exact the best set of each.
        assert_eq!(words(r"(?:rm\s+-rf|mkfs\.\w+)"), ["-rf mkfs."]);
        // A branch without a word, or nothing but short ones: every text has to be searched.
        assert!(words(r"curl|\w+").is_empty());
        assert!(words(r"(?:curl)?[a-z]+").is_empty());
        assert!(words(r"x[^\n]*y").is_empty());
        // Too many to tell apart.
        assert!(words(r"[a-h][a-h][a-h]").is_empty());
        assert_eq!(words(r"[ab][cd][ef][gh][ij][kl][mn]").concat().split(' ').count(), 64);
    }
}
