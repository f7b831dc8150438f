//! Long encoded text: nobody can read it, and a skill seldom needs it.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::hit::Hit;
use super::layers::{Decoded, tokens};
use super::search;
use super::views::View;
use super::{File, Level, Rule, guards, rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "ENC001",
        level: Level::Medium,
        what: "a long piece of base64 that nobody can read",
        hint: "write it in the open; what it holds is scanned too, one layer deep",
        taxonomy: &["AITech-9.2", "SC3"],
    },
    Rule {
        id: "ENC002",
        level: Level::Medium,
        what: "a long piece of escapes or hexadecimal digits",
        hint: "write it in the open; what it holds is scanned too, one layer deep",
        taxonomy: &["AITech-9.2", "SC3"],
    },
];

const BASE64_CHARS_MIN: usize = 80;
const HEX_DIGITS_MIN: usize = 129;

/// What is long and encoded with a reason.
static KNOWN: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"data:(?:image|font|application/(?:font|pdf|wasm|json)|text/css|audio|video)|sha(?:1|256|384|512)|integrity|certificate|public\s+key|ssh-(?:rsa|ed25519)|digest|checksum|signature|fingerprint|-----BEGIN",
    )
});

static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"(?:\\x[0-9a-f]{2}){20}|(?:\\u\{?[0-9a-f]{4,6}\}?){20}|(?:%[0-9a-f]{2}){20}|(?:&#x?[0-9a-f]{2,6};){20}",
    )
});

pub(super) fn check(file: &File<'_>, view: &View<'_>, hits: &mut Vec<Hit>) {
    let _ = file;
    for (range, decoded) in tokens(&view.text) {
        let token = &view.text[range.clone()];
        if matches!(decoded, Decoded::Program) {
            hits.push(Hit::new(rule("ENC001"), Level::Critical, view, range.start, range.end));
            continue;
        }
        let is_hex = token.iter().all(|byte| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace());
        let min = if is_hex { HEX_DIGITS_MIN } else { BASE64_CHARS_MIN };
        if token.len() < min || is_words(token) {
            continue;
        }
        let (from, to) = guards::line_around(&view.text, range.start, range.end);
        let before = &view.text[from.saturating_sub(80)..to];
        if !KNOWN.is_match(before) {
            let id = if is_hex { "ENC002" } else { "ENC001" };
            hits.push(Hit::new(rule(id), Level::Medium, view, range.start, range.end));
        }
    }
    for found in ESCAPES.find_iter(&view.text) {
        hits.push(Hit::new(rule("ENC002"), Level::Medium, view, found.start(), found.end()));
    }
}

/// Paths, identifiers and rulers are of base64's alphabet: they have hardly a digit, or the same few characters.
fn is_words(token: &[u8]) -> bool {
    let digits = token.iter().filter(|byte| byte.is_ascii_digit()).count();
    let capitals = token.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let separators = token.iter().filter(|byte| matches!(byte, b'/' | b'-' | b'_')).count();
    digits * 25 < token.len() || capitals * 12 < token.len() || separators * 8 > token.len()
}
