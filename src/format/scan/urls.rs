//! Addresses that are odd.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::guards::{FENCE, NEG, QUO, SEC, TABLE, WORDS};
use super::hit::Hit;
use super::pattern::{Pattern, row};
use super::search;
use super::sink::{DOCUMENTS, PLACEHOLDER, URL};
use super::views::{self, Kind, View};
use super::{File, Level, Rule, rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "URL001",
        level: Level::Medium,
        what: "an address is a bare IP number",
        hint: "use a host name",
        taxonomy: &["E005"],
    },
    Rule {
        id: "URL002",
        level: Level::Medium,
        what: "an address hides where it leads, or leads to a program",
        hint: "write the full address of the page",
        taxonomy: &["E005"],
    },
    Rule {
        id: "URL003",
        level: Level::Low,
        what: "it names very many hosts, or one without TLS",
        hint: "name those that are needed, with https",
        taxonomy: &["E005"],
    },
    Rule {
        id: "URL004",
        level: Level::High,
        what: "it holds an address or tag that runs code in a page",
        hint: "remove it, or show it in a code block",
        taxonomy: &["AITech-9.1", "LLM05"],
    },
];

const PLAIN: u16 = NEG | QUO | SEC | TABLE | WORDS;

pub(super) const PATTERNS: &[Pattern] = &[
    row("URL001", Level::High, r"https?://169\.254\.169\.254\b|https?://metadata\.google\.internal\b")
        .guards(NEG | QUO | SEC | TABLE | FENCE),
    row("URL002", Level::Medium, r"https?://(?:bit\.ly|tinyurl\.com|t\.co|is\.gd|cutt\.ly|rb\.gy|shorturl\.at|goo\.gl)/\w+").guards(PLAIN),
    row("URL002", Level::Medium, r"https?://(?:[\w-]+\.)*xn--[\w-]+").guards(PLAIN),
    row("URL002", Level::Low, r"https?://[\w.-]+:[^\s/@<>{}$]+@[\w.-]+").guards(PLAIN),
    row("URL002", Level::Low, r"https?://(?:[a-z0-9-]+\.)+[a-z]{2,}:(?:[1-7]\d|[1-7]\d{2}|[1-2]\d{3}|4[0-35-9]\d{2}|6\d{3})\b").guards(PLAIN),
    row("URL002", Level::Medium, r"https?://[^\s)\x22'`<>]+\.(?:exe|msi|scr|bat|vbs|apk)\b")
        .unless(r"github\.com/[^\s]*releases|microsoft\.com|aka\.ms|python\.org|nodejs\.org|git-scm|download\.|dl\.")
        .guards(PLAIN),
    row("URL004", Level::High, r"\]\(\s*(?:javascript|vbscript):|\bhref\s*=\s*[\x22']?\s*(?:javascript|vbscript):[^\x22'\s;)]*\(|\bdata:text/html\s*[;,]")
        .unless(r"javascript:void\(0\)|javascript:;")
        .guards(NEG | QUO | SEC | TABLE | FENCE | WORDS),
    row("URL004", Level::High, r"<script\b[^>\n]*\bsrc\s*=\s*[\x22']?https?://|<iframe\b[^>\n]*\bsrc\s*=\s*[\x22']?https?://")
        .unless(r"youtube|vimeo|loom\.com|unpkg\.com|jsdelivr|cdnjs|googleapis|googletagmanager|tailwindcss|esm\.sh|polyfill|stripe|d3js")
        .guards(NEG | QUO | SEC | TABLE | FENCE | WORDS),
];

static PUBLIC_IP: LazyLock<Regex> =
    LazyLock::new(|| search::regex(r"^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?::\d+)?$"));

/// Distinct hosts from which on there are very many.
const HOSTS_MAX: usize = 25;

pub(super) fn check(file: &File<'_>, view: &View<'_>, hits: &mut Vec<Hit>) {
    let mut hosts: BTreeSet<&[u8]> = BTreeSet::new();
    let mut has_plain = false;
    for found in URL.captures_iter(&view.text) {
        let whole = found.get(0).expect("a match has a whole");
        let Some(host) = found.get(1) else { continue };
        hosts.insert(host.as_bytes());
        if is_public_ip(host.as_bytes()) {
            let is_guarded = view.kind != Kind::Decoded
                && (file.subject.is_security
                    || super::guards::is_negated(view, &file.regions, whole.start(), whole.end()));
            let level = if is_guarded { Level::Low } else { Level::Medium };
            hits.push(Hit::new(rule("URL001"), level, view, whole.start(), whole.end()));
        } else if !has_plain && view.kind == Kind::Raw && whole.as_bytes().starts_with(b"http:") {
            let is_local = PLACEHOLDER.is_match(host.as_bytes()) || DOCUMENTS.is_match(host.as_bytes());
            if !is_local && !host.as_bytes().starts_with(b"169.254") {
                has_plain = true;
                hits.push(Hit::new(rule("URL003"), Level::Info, view, whole.start(), whole.end()));
            }
        }
        if view.kind == Kind::Raw && !host.as_bytes().is_ascii() && views::is_mixed(host.as_bytes()) {
            hits.push(Hit::new(rule("HID006"), Level::High, view, whole.start(), whole.end()));
        }
    }
    if view.kind == Kind::Raw && hosts.len() > HOSTS_MAX {
        hits.push(Hit::raw(rule("URL003"), Level::Low, 0, 1).shown(format!("{} hosts", hosts.len())));
    }
}

fn is_public_ip(host: &[u8]) -> bool {
    let Some(found) = PUBLIC_IP.captures(host) else { return false };
    let part = |at: usize| {
        found
            .get(at)
            .and_then(|part| std::str::from_utf8(part.as_bytes()).ok())
            .and_then(|part| part.parse::<u8>().ok())
    };
    let (Some(a), Some(b), Some(c), Some(d)) = (part(1), part(2), part(3), part(4)) else { return false };
    let address = std::net::Ipv4Addr::new(a, b, c, d);
    let is_known_resolver = matches!((a, b), (8, 8) | (1, 1) | (9, 9));
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_documentation()
        || (a == 100 && (64..128).contains(&b))
        || is_known_resolver
        || (a, b, c, d) == (1, 2, 3, 4))
}
