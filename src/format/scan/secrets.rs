//! Secrets that stand in the file. A report shows their first characters and their length, never more.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::hit::Hit;
use super::search::{Search, Set};
use super::views::View;
use super::{File, Level, Rule, rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "SEC001",
        level: Level::High,
        what: "a secret stands in the file",
        hint: "revoke it, and read it from the environment",
        taxonomy: &["AITech-8.2.2", "LLM02", "W008"],
    },
    Rule {
        id: "SEC002",
        level: Level::Medium,
        what: "a password stands in an address or an assignment",
        hint: "change it, and read it from the environment",
        taxonomy: &["AITech-8.2.2", "W008"],
    },
];

/// Shapes of providers. The first group, where there is one, is the secret; the whole match otherwise.
static SHAPES: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        [
            r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
            r"\bgh[pousr]_[A-Za-z0-9]{36,251}\b",
            r"\bgithub_pat_[A-Za-z0-9_]{60,}\b",
            r"\bglpat-[A-Za-z0-9_-]{20,}\b",
            r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}\b",
            r"\b[rs]k_live_[A-Za-z0-9]{20,}\b",
            r"\bAIza[A-Za-z0-9_-]{35}\b",
            r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20}T3BlbkFJ[A-Za-z0-9_-]{20,}",
            r"\bsk-proj-[A-Za-z0-9_-]{40,}\b",
            r"\bsk-ant-[a-z0-9]+-[A-Za-z0-9_-]{40,}",
            r"\bnpm_[A-Za-z0-9]{36}\b",
            r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}",
            r"\bhf_[A-Za-z0-9]{34}\b",
            r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b",
            r"\bdop_v1_[a-f0-9]{64}\b",
            r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b",
            r"\bdckr_pat_[A-Za-z0-9_-]{27,}",
            r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}",
        ]
        .map(Search::exact),
    )
});

static KEY_BLOCK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|>)*((?:[A-Za-z0-9+/=]{20,}(?:\s|\\[nr]|>)+){2,})")
        .expect("tested")
});

static WEB_TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}").expect("tested")
});

static ASSIGNED: LazyLock<Set> = LazyLock::new(|| {
    Set::new([Search::new(
        r#"\b(?:\w*(?:token|secret|api[_-]?key|passw(?:or)?d|access[_-]?key|account_?key)\w*["'`]?\s*[=:]|bearer)\s*["'`]?([A-Za-z0-9_+/=.-]{16,200})"#,
    )])
});

static CONNECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i-u)\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?)://[^:\s/@]+:([^@\s/]{6,80})@([\w.-]+)",
    )
    .expect("tested")
});

/// Words of values that stand for a secret.
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i-u)example|your|placeholder|change|xxx|\.\.\.|dummy|sample|fake|test|demo|secret|password|token|redacted|insert|replace|abcd|1234|foo|bar|here|<|>|\$|\{|\}|__|process\.env|os\.environ|getenv|var\.|env\.|config|key",
    )
    .expect("tested")
});

pub(super) fn check(file: &File<'_>, view: &View<'_>, hits: &mut Vec<Hit>) {
    let text = &*view.text;
    for (_, shape) in SHAPES.over(text) {
        for found in shape.find_iter(text) {
            if is_real(found.as_bytes()) {
                hits.push(secret(rule("SEC001"), Level::High, view, found.start(), found.as_bytes()));
            }
        }
    }
    for found in KEY_BLOCK.captures_iter(text) {
        let (whole, body) =
            (found.get(0).expect("whole"), found.get(1).map_or(&b""[..], |body| body.as_bytes()));
        if distinct(body) >= 24 && !PLACEHOLDER.is_match(&body[..body.len().min(40)]) {
            hits.push(secret(rule("SEC001"), Level::High, view, whole.start(), whole.as_bytes()));
        }
    }
    for found in WEB_TOKEN.find_iter(text) {
        // The token of jwt.io stands in every text about tokens.
        let is_known = found.as_bytes().windows(24).any(|window| window == b"eyJzdWIiOiIxMjM0NTY3ODkw");
        if !is_known && is_real(found.as_bytes()) {
            hits.push(secret(rule("SEC001"), Level::Medium, view, found.start(), found.as_bytes()));
        }
    }
    for found in ASSIGNED.over(text).flat_map(|(_, assigned)| assigned.captures_iter(text)) {
        let Some(value) = found.get(1) else { continue };
        if is_random(value.as_bytes()) {
            hits.push(secret(rule("SEC002"), Level::Medium, view, value.start(), value.as_bytes()));
        }
    }
    for found in CONNECTION.captures_iter(text) {
        let (Some(value), Some(host)) = (found.get(1), found.get(2)) else { continue };
        let is_local =
            matches!(host.as_bytes(), b"localhost" | b"127.0.0.1" | b"db" | b"postgres" | b"redis" | b"host");
        if !is_local
            && !PLACEHOLDER.is_match(value.as_bytes())
            && !value.as_bytes().starts_with(b"pass")
            && distinct(value.as_bytes()) >= 5
        {
            hits.push(secret(rule("SEC002"), Level::Medium, view, value.start(), value.as_bytes()));
        }
    }
    let _ = file;
}

fn secret(rule: &'static Rule, level: Level, view: &View<'_>, start: usize, value: &[u8]) -> Hit {
    Hit::new(rule, level, view, start, start + value.len()).shown(cut(value))
}

/// The first characters and the length.
pub(super) fn cut(value: &[u8]) -> String {
    let prefix: String = value.iter().take(4).map(|byte| char::from(*byte)).collect();
    format!("{prefix}… ({} characters)", value.len())
}

/// Whether a value of a provider's shape is more than an example.
fn is_real(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_example = [
        "example",
        "your",
        "xxxx",
        "placeholder",
        "1234567890",
        "abcdef",
        "0000",
        "redacted",
        "fake",
        "dummy",
    ]
    .iter()
    .any(|word| lower.windows(word.len()).any(|window| window == word.as_bytes()));
    !is_example && distinct(value) >= 10
}

/// Whether a value is what a generator makes: letters and digits mixed, nothing that is a word for a secret.
fn is_random(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let is_path = value.split(|byte| *byte == b'/').count() > 3;
    let has_dots = value.contains(&b'.');
    let is_mixed = digits >= 4 && letters >= 4 && switches(value) >= 5;
    // Of words in one, each has a capital; of random letters, every second differs in kind from the one before.
    let is_shuffled = digits >= 2 && kinds_change(value) * 2 >= value.len();
    (is_mixed || is_shuffled)
        && distinct(value) >= 10
        && !is_path
        && !has_dots
        && !PLACEHOLDER.is_match(value)
}

/// How often letters and digits take turns: words and dates do it seldom.
fn switches(value: &[u8]) -> usize {
    value.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count()
}

/// How often capitals, small letters and digits take turns.
fn kinds_change(value: &[u8]) -> usize {
    let kind = |byte: u8| (byte.is_ascii_uppercase(), byte.is_ascii_digit());
    value.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count()
}

fn distinct(value: &[u8]) -> usize {
    value.iter().copied().collect::<BTreeSet<u8>>().len()
}

/// A text in which secrets of every known shape are cut: no excerpt of another rule shows one either.
pub(super) fn masked(text: &str) -> String {
    let mut shown: Cow<'_, [u8]> = Cow::Borrowed(text.as_bytes());
    let shapes = SHAPES.over(text.as_bytes()).map(|(_, shape)| shape);
    for shape in shapes.chain([&*WEB_TOKEN, &*KEY_BLOCK]) {
        if shape.is_match(&shown) {
            let cut = |found: &regex::bytes::Captures<'_>| cut(&found[0]).into_bytes();
            shown = Cow::Owned(shape.replace_all(&shown, cut).into_owned());
        }
    }
    let is_any = |_: &[u8]| true;
    let assigned =
        ASSIGNED.over(text.as_bytes()).map(|(_, assigned)| (assigned, is_random as fn(&[u8]) -> bool));
    for (pattern, is_secret) in assigned.chain([(&*CONNECTION, is_any as fn(&[u8]) -> bool)]) {
        let (mut out, mut at) = (Vec::new(), 0);
        for found in pattern.captures_iter(&shown).filter_map(|found| found.get(1)) {
            if is_secret(found.as_bytes()) {
                out.extend_from_slice(&shown[at..found.start()]);
                out.extend_from_slice(cut(found.as_bytes()).as_bytes());
                at = found.end();
            }
        }
        if at > 0 {
            out.extend_from_slice(&shown[at..]);
            shown = Cow::Owned(out);
        }
    }
    String::from_utf8_lossy(&shown).into_owned()
}
