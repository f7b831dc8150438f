//! Text to terms: what counts as a word, in scripts with spaces and without.
//!
//! Words are runs of letters and digits of the case-folded text, with the plural `s` of English taken off. Scripts
//! that do not put spaces between words (Han, kana, Hangul, Thai and their like) give overlapping pairs of characters,
//! which find a word wherever it stands. English function words are not terms. **Cost**: linear, no allocation beyond
//! the caller's buffer.

use crate::domain::words::FUNCTION_WORDS;

/// Bytes of a term at most; longer runs are identifiers and encoded data, which are no evidence.
const TERM_BYTES_MAX: usize = 64;

/// Calls `visit` with each term of `folded`, in order. The text must have gone through
/// [`fold_into`](crate::domain::text::fold_into).
pub fn for_each(folded: &str, mut visit: impl FnMut(&str)) {
    let mut rest = folded;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        rest = &rest[start..];
        let spaceless = rest.chars().next().is_some_and(is_spaceless);
        let end =
            rest.find(|c: char| !is_part_of_word(c) || is_spaceless(c) != spaceless).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        rest = tail;
        if spaceless {
            pairs(run, &mut visit);
        } else if run.len() <= TERM_BYTES_MAX && !is_function_word(run) {
            stem(run, &mut visit);
        }
    }
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c)
}

/// Whether a character belongs to a script that is written without spaces between words.
#[must_use]
pub fn is_spaceless(c: char) -> bool {
    c >= '\u{0E00}'
        && matches!(c,
        '\u{0E00}'..='\u{0EFF}' // Thai, Lao
        | '\u{1000}'..='\u{109F}' // Myanmar
        | '\u{1100}'..='\u{11FF}' // Hangul letters
        | '\u{1780}'..='\u{17FF}' // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' // kana
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' // Han
        | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}' // Hangul
        | '\u{FF66}'..='\u{FFDC}' // half-width kana and Hangul
        | '\u{20000}'..='\u{3FFFF}') // Han, supplementary planes
}

fn pairs(run: &str, visit: &mut impl FnMut(&str)) {
    let mut starts = run.char_indices().map(|(at, _)| at).chain([run.len()]);
    let mut first = starts.next().unwrap_or(0);
    let mut second = starts.next().unwrap_or(run.len());
    if second == run.len() {
        visit(run);
        return;
    }
    for end in starts {
        visit(&run[first..end]);
        (first, second) = (second, end);
    }
}

/// Takes off the plural: -ies, -es and -s, the S stemmer of D. Harman, "How effective is suffixing?", JASIS 42(1),
/// 1991.
fn stem(word: &str, visit: &mut impl FnMut(&str)) {
    if !word.is_ascii() || word.len() < 4 || !word.ends_with('s') {
        return visit(word);
    }
    let ends = |suffix: &str| word.ends_with(suffix);
    if ends("ies") && !ends("eies") && !ends("aies") {
        let mut singular = [0; TERM_BYTES_MAX];
        let kept = word.len() - 3;
        singular[..kept].copy_from_slice(&word.as_bytes()[..kept]);
        singular[kept] = b'y';
        return visit(std::str::from_utf8(&singular[..=kept]).unwrap_or(word));
    }
    if (ends("es") && !ends("aes") && !ends("ees") && !ends("oes"))
        || (!ends("us") && !ends("ss") && !ends("es"))
    {
        return visit(&word[..word.len() - 1]);
    }
    visit(word);
}

/// The same words as numbers that are in the same order: comparing those is several times faster, and every word of every
/// turn is looked up.
const PACKED_FUNCTION_WORDS: [u64; FUNCTION_WORDS.len()] = {
    let mut packed = [0; FUNCTION_WORDS.len()];
    let mut at = 0;
    while at < packed.len() {
        packed[at] = pack(FUNCTION_WORDS[at].as_bytes());
        at += 1;
    }
    packed
};

/// A word of at most eight bytes, filled up with zeros.
const fn pack(word: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let mut at = 0;
    while at < word.len() {
        bytes[at] = word[at];
        at += 1;
    }
    u64::from_be_bytes(bytes)
}

fn is_function_word(word: &str) -> bool {
    word.len() <= FUNCTION_WORD_BYTES_MAX
        && PACKED_FUNCTION_WORDS.binary_search(&pack(word.as_bytes())).is_ok()
}

/// Bytes of the longest of them.
const FUNCTION_WORD_BYTES_MAX: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::text::fold;

    fn check(text: &str, wanted: &str) {
        let mut terms = Vec::new();
        for_each(&fold(text), |term| terms.push(term.to_owned()));
        assert_eq!(terms.join(" "), wanted, "{text}");
    }

    #[test]
    fn function_words_are_sorted_and_short() {
        assert!(FUNCTION_WORDS.is_sorted());
        assert!(FUNCTION_WORDS.iter().all(|word| word.len() <= FUNCTION_WORD_BYTES_MAX));
        for word in FUNCTION_WORDS.iter().chain(&["an", "ans", "hose", "aa", "zz"]) {
            assert_eq!(is_function_word(word), FUNCTION_WORDS.contains(word), "{word}");
        }
        check("What is this about, and why?", "");
    }

    #[test]
    fn words_pairs_and_plurals() {
        check("Chase the LATE invoices!", "chase late invoice");
        check("queries, classes; status-bus glass", "query classe status bus glass");
        check("我想开发票", "我想 想开 开发 发票");
        check("用git提交", "用 git 提交");
        check("snake_case and v1.10", "snake case v1 10");
        check("cafe\u{301}s à la carte", "cafés à la carte");
        check("ไทย", "ไท ทย");
        check("", "");
        check(&"x".repeat(65), "");
    }
}
