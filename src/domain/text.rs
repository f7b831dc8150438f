//! Text as Unicode has it: case folding, one-line forms, cuts that respect characters.

use std::path::Path;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

/// Appends the caseless form of `text` to `out`: NFC, full case folding (Unicode chapter 3.13, default), NFC again,
/// because folding may take a composed character apart.
///
/// Two texts that differ in case or in composition alone have equal forms. Linear in the length of `text`; runs of ASCII
/// are copied and lowercased as they are, which is most of most texts.
pub fn fold_into(text: &str, out: &mut String) {
    out.reserve(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        // An ASCII character may compose with the mark that follows it, never with what precedes it.
        let plain = if ascii == rest.len() { ascii } else { ascii.saturating_sub(1) };
        let start = out.len();
        out.push_str(&rest[..plain]);
        out[start..].make_ascii_lowercase();
        rest = &rest[plain..];
        let other = rest.bytes().skip(1).position(|byte| byte.is_ascii()).map_or(rest.len(), |at| at + 1);
        out.extend(rest[..other].chars().nfc().default_case_fold().nfc());
        rest = &rest[other..];
    }
}

/// The caseless form of `text`; see [`fold_into`].
#[must_use]
pub fn fold(text: &str) -> String {
    let mut folded = String::new();
    fold_into(text, &mut folded);
    folded
}

/// `text` on one line: each run of white space and control characters becomes one space, none at the ends.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// The longest prefix of `text` with at most `bytes_max` bytes that ends on a character boundary.
#[must_use]
pub fn prefix_bytes(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// `text` with control characters and invisible format characters escaped, cut after `chars_max` characters with an
/// ellipsis: safe in a log, on a terminal and in an error message.
#[must_use]
pub fn escaped(text: &str, chars_max: usize) -> String {
    let mut shown = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == chars_max {
            shown.push('…');
            break;
        }
        let is_odd_blank = c.is_whitespace() && c != ' ';
        if c.is_control() || is_odd_blank || is_invisible(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A path in that form.
#[must_use]
pub fn escaped_path(path: &Path) -> String {
    escaped(&path.to_string_lossy(), PATH_CHARS_MAX)
}

/// Characters of a path at most, as systems have it.
const PATH_CHARS_MAX: usize = 4_096;

/// Whether nothing of a text can be seen.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
}

/// Whether a character takes no room, or changes the direction of its neighbours.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_is_caseless_and_composed() {
        for (left, right) in [
            ("INVOICE", "invoice"),
            ("Straße", "STRASSE"),
            ("CAFE\u{301}", "café"),
            ("ΌΣΟΣ", "όσος"),
            ("\u{FB01}le", "FILE"),
        ] {
            assert_eq!(fold(left), fold(right), "{left} / {right}");
        }
        assert_ne!(fold("cafe"), fold("café"));
    }

    #[test]
    fn folding_in_pieces_is_folding_the_whole() {
        for text in [
            "",
            "a",
            "é",
            "Ae\u{301}B",
            "\u{301}x",
            "→ Foo → BAR",
            "e\u{301}\u{327}E",
            "ẞ\u{345}A",
            "가\u{11a8}x",
            "猫A猫",
        ] {
            let whole: String = text.chars().nfc().default_case_fold().nfc().collect();
            assert_eq!(fold(text), whole, "{text:?}");
        }
    }

    #[test]
    fn one_line_collapses_every_kind_of_break() {
        assert_eq!(one_line("  a\r\n\tb\u{2028}c\u{1b}d  "), "a b c d");
        assert_eq!(one_line(" \n "), "");
    }

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(prefix_bytes("猫猫", 4), "猫");
        assert_eq!(escaped("a\u{1b}[2J猫猫", 6), "a\\u{1b}[2J猫…");
        assert_eq!(escaped("a\u{202E}b", 9), "a\\u{202e}b");
    }
}
