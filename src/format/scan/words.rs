//! The words without which a pattern cannot match: a text that holds none of them need not be searched.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Words of one set; a set that would grow beyond is given up.
const WORDS_MAX: usize = 64;
/// Bytes of a word that says something.
const BYTES_MIN: usize = 2;
/// Alternatives of one letter that are told apart; more of them are any letter.
const LETTERS_MAX: usize = 4;

/// Words in lower case, of which every match of a pattern holds at least one, whatever its case. None where there are none: then
/// every text has to be searched.
pub(super) fn required(pattern: &str) -> Option<Vec<Vec<u8>>> {
    let hir = ParserBuilder::new().utf8(false).build().parse(pattern).expect("the patterns are tested");
    let mut words = Found::of(&hir).best().filter(|words| shortest(words) >= BYTES_MIN)?;
    words.sort();
    words.dedup();
    Some(words)
}

type Words = Vec<Vec<u8>>;

/// What is known of an expression.
struct Found {
    /// Every text that it matches, where they are few.
    exact: Option<Words>,
    /// Words of which each match holds one.
    held: Option<Words>,
}

impl Found {
    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::exact(vec![Vec::new()]),
            HirKind::Literal(literal) => Self::exact(vec![literal.0.to_ascii_lowercase()]),
            HirKind::Class(class) => Self { exact: letters(class), held: None },
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Repetition(repetition) => {
                let once = Self::of(&repetition.sub);
                match (repetition.min, repetition.max) {
                    (1, Some(1)) => once,
                    (0, Some(1)) => {
                        Self { exact: once.exact.map(|words| [words, vec![Vec::new()]].concat()), held: None }
                    }
                    (0, _) => Self { exact: None, held: None },
                    _ => Self { exact: None, held: once.best() },
                }
            }
            HirKind::Concat(parts) => Self::all(parts),
            HirKind::Alternation(parts) => {
                let parts: Vec<Self> = parts.iter().map(Self::of).collect();
                let exact: Option<Vec<Words>> = parts.iter().map(|part| part.exact.clone()).collect();
                let held: Option<Vec<Words>> = parts.into_iter().map(Self::best).collect();
                let bounded =
                    |words: Vec<Words>| Some(words.concat()).filter(|words| words.len() <= WORDS_MAX);
                Self { exact: exact.and_then(bounded), held: held.and_then(bounded) }
            }
        }
    }

    fn exact(words: Words) -> Self {
        Self { exact: Some(words), held: None }
    }

    /// Parts that stand one behind the other: neighbours that are exact make longer words.
    fn all(parts: &[Hir]) -> Self {
        let mut best: Option<Words> = None;
        let mut run: Words = vec![Vec::new()];
        let mut is_exact = true;
        for part in parts {
            let found = Self::of(part);
            let longer = found.exact.as_ref().and_then(|words| product(&run, words));
            if let Some(longer) = longer {
                run = longer;
                continue;
            }
            is_exact = false;
            best = better(best, Some(std::mem::replace(&mut run, vec![Vec::new()])));
            match found.exact {
                // Too many together, yet not alone.
                Some(words) => run = words,
                None => best = better(best, found.held),
            }
        }
        if is_exact { Self::exact(run) } else { Self { exact: None, held: better(best, Some(run)) } }
    }

    fn best(self) -> Option<Words> {
        better(self.held, self.exact)
    }
}

fn shortest(words: &Words) -> usize {
    words.iter().map(Vec::len).min().unwrap_or(0)
}

/// The set whose shortest word is longer; the smaller one of equals.
fn better(a: Option<Words>, b: Option<Words>) -> Option<Words> {
    let worth = |words: &Words| (shortest(words), std::cmp::Reverse(words.len()));
    [a, b].into_iter().flatten().max_by_key(worth)
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

#[cfg(test)]
mod tests {
    use super::required;

    fn words(pattern: &str) -> Vec<String> {
        let words = required(&format!("(?im-u){pattern}")).unwrap_or_default();
        words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    #[test]
    fn each_shape_of_pattern_has_its_words() {
        assert_eq!(words(r"\bcurl\b[^\n]*\|"), ["curl"]);
        assert_eq!(words(r"\b(?:curl|wget)\s+-X"), ["curl", "wget"]);
        assert_eq!(words(r"base64\s+(?:-d|--decode)"), ["base64"]);
        // Neighbours make longer words; an optional one may be missing.
        assert_eq!(words(r"gh[po]_[a-z]{36}"), ["gho_", "ghp_"]);
        assert_eq!(words(r"https?://"), ["http://", "https://"]);
        // Repeated: one of them is there.
        assert_eq!(words(r"(?:ab|cd)+x?"), ["ab", "cd"]);
        // A branch without a word, or nothing but short ones: every text has to be searched.
        assert!(words(r"curl|\w+").is_empty());
        assert!(words(r"(?:curl)?[a-z]+").is_empty());
        assert!(words(r"x[^\n]*y").is_empty());
        // Too many to tell apart.
        assert!(words(r"[a-h][a-h][a-h]").is_empty());
        assert_eq!(words(r"[ab][cd][ef][gh][ij][kl][mn]").len(), 64);
    }
}
