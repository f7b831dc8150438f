//! Text as a YAML scalar that every reader takes for the same text.
//!
//! **Invariants**: one line; no `---` in it; readers that know types read text; nothing in it that a terminal would obey.

/// Bytes of a key that YAML takes without further ado, its quotes included.
pub(super) const KEY_BYTES_MAX: usize = 1_000;

/// Words that readers take for something else than text.
const TYPED: [&str; 12] =
    ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf", "infinity"];

/// The text as it stands where that is safe, otherwise quoted.
pub(super) fn shortest(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Whether the text needs no quotes: it begins with a letter, or it is words of letters and harmless signs.
fn is_plain(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
        && !text.ends_with(' ')
        && !text.contains("---")
        && !TYPED.iter().any(|typed| typed.eq_ignore_ascii_case(text))
        && text.chars().all(|c| c.is_alphanumeric() || " ,.;()/_+-'’–—!?&%*=".contains(c))
}

/// The text in double quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut hyphens = 0;
    for c in text.chars() {
        hyphens = if c == '-' { hyphens + 1 } else { 0 };
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '-' if hyphens % 3 == 0 => out.push_str("\\x2d"),
            _ if is_raw(c) => out.push(c),
            _ => out.push_str(&escape(c)),
        }
    }
    out.push('"');
    out
}

/// Whether a character may stand as it is: every reader can have it, and it does not turn its line around.
fn is_raw(c: char) -> bool {
    let is_break_or_turn = matches!(c, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let is_mark_or_none = c == '\u{FEFF}' || u32::from(c) & 0xFFFE == 0xFFFE;
    !(c.is_control() || is_break_or_turn || is_mark_or_none)
}

fn escape(c: char) -> String {
    match u32::from(c) {
        code @ ..=0xFF => format!("\\x{code:02x}"),
        code @ ..=0xFFFF => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_bare_and_what_is_quoted() {
        for plain in
            ["a", "late-invoice", "Use when a bill, or two, is due (it's late).", "Über alles", "v1.2"]
        {
            assert_eq!(shortest(plain), plain);
        }
        for (text, wanted) in [
            ("", "\"\""),
            ("no", "\"no\""),
            ("NULL", "\"NULL\""),
            ("007", "\"007\""),
            ("1e3", "\"1e3\""),
            ("~", "\"~\""),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("- a", "\"- a\""),
            ("a ", "\"a \""),
            ("say \"hi\" \\ now", "\"say \\\"hi\\\" \\\\ now\""),
            ("a --- b", "\"a --\\x2d b\""),
            ("a-------b", "\"a--\\x2d--\\x2d-b\""),
            ("a\nb\tc\rd", "\"a\\nb\\tc\\rd\""),
            ("\u{1b}[2J\u{85}\u{2028}\u{202E}", "\"\\x1b[2J\\x85\\u2028\\u202e\""),
            ("猫\u{1F9D1}\u{200D}\u{1F680}", "\"猫\u{1F9D1}\u{200D}\u{1F680}\""),
            ("\u{FFFE}\u{1FFFF}", "\"\\ufffe\\U0001ffff\""),
        ] {
            assert_eq!(shortest(text), wanted, "{text:?}");
        }
    }
}
