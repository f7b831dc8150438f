//! The shape of labels: what a catalogue or a menu makes of them, and what the frontmatter asks for.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::hit::Hit;
use super::search;
use super::{File, Level, Rule, rule};
use crate::domain::playbook::Playbook;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "STR003",
        level: Level::Low,
        what: "a tag in the description, or a reserved word in the name: some hosts refuse it",
        hint: "leave `<` and `>` out of the description, and vendors' names out of the name",
        taxonomy: &["AITech-4.3.5"],
    },
    Rule {
        id: "STR004",
        level: Level::Medium,
        what: "it offers itself for everything",
        hint: "say when it applies, and when not",
        taxonomy: &["AITech-4.3.5", "TR1"],
    },
];

static TAG: LazyLock<Regex> = LazyLock::new(|| search::regex(r"</?[a-z][\w-]*(?:\s[^<>\n]*)?/?>"));

static CATCH_ALL: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"\b(?:use|used|activate|invoke|trigger|load|apply|call|choose|select)s?\s+(?:this\s+(?:skill\s+)?)?(?:always\s+)?(?:\w+\s+)?(?:for|on|in|with|before|at)\s+(?:literally\s+)?(?:any|every|all)\s+(?:the\s+)?(?:user.{0,2}\s+)?(?:tasks?|requests?|questions?|prompts?|conversations?|messages?|turns?|inputs?|things?)\s*(?:[.,;!]|$)|\balways\s+(?:use|choose|select|pick|prefer|activate)\s+this\s+(?:skill|playbook)\s*(?:[.,;!]|first|$)|\binstead\s+of\s+(?:any|all)\s+other\s+(?:skills?|playbooks?)",
    )
});

/// Commas of a description from which on it is a list of keywords.
const COMMAS_MAX: usize = 25;

/// Keys that other hosts honour and nothing here does.
const ASKED_FOR: [&str; 7] = ["permissions", "model", "context", "agent", "agents", "tools", "mcp"];

pub(super) fn check(file: &File<'_>, playbook: Option<&Playbook>, hits: &mut Vec<Hit>) {
    keys(file, hits);
    let Some(playbook) = playbook else { return };
    let (description, name) = (playbook.description(), playbook.slug().as_str());
    let head = &file.text[..file.regions.body];
    let place =
        |key: &str| head.lines().position(|line| line.trim_start_matches(['"', '\'']).starts_with(key));
    let start = |key: &str| place(key).map_or(0, |line| file.regions.line_start(line));
    let mut say = |id: &str, level: Level, key: &str, shown: String| {
        hits.push(Hit::raw(rule(id), level, start(key), start(key) + 1).shown(shown));
    };
    if let Some(tag) = TAG.find(description.as_bytes()) {
        say("STR003", Level::Low, "description", String::from_utf8_lossy(tag.as_bytes()).into_owned());
    }
    if let Some(word) = ["anthropic", "claude"].iter().find(|word| name.contains(*word)) {
        say("STR003", Level::Low, "name", (*word).to_owned());
    }
    if let Some(found) = CATCH_ALL.find(description.as_bytes()) {
        say("STR004", Level::Medium, "description", String::from_utf8_lossy(found.as_bytes()).into_owned());
    }
    let commas = description.chars().filter(|c| matches!(c, ',' | '，' | '、')).count();
    if commas >= COMMAS_MAX {
        say("STR004", Level::Low, "description", format!("{commas} commas"));
    }
}

/// What the frontmatter's own keys ask for. The parser names each that is dropped; here is what is broad.
fn keys(file: &File<'_>, hits: &mut Vec<Hit>) {
    let last = file.regions.line_of(file.regions.body.saturating_sub(1));
    let mut is_tools = false;
    for index in 0..=last {
        let (start, line) = (file.regions.line_start(index), file.regions.line(file.text, index));
        if start >= file.regions.body {
            break;
        }
        let span = (start, start + line.len());
        let is_key = line.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '"' | '\''));
        if is_key {
            let key = line
                .split(':')
                .next()
                .unwrap_or_default()
                .trim_matches(['"', '\'', ' '])
                .to_ascii_lowercase();
            is_tools = key == "allowed-tools";
            if is_tools {
                hits.push(Hit::raw(rule("TGW001"), Level::Info, span.0, span.1));
            }
            if key == "hooks" {
                hits.push(Hit::raw(rule("TGW002"), Level::Medium, span.0, span.1));
            } else if ASKED_FOR.contains(&key.as_str()) {
                hits.push(Hit::raw(rule("TGW002"), Level::Info, span.0, span.1));
            }
        }
        if is_tools && is_broad(line) {
            hits.push(Hit::raw(rule("TGW001"), Level::Low, span.0, span.1));
        }
    }
}

/// A wildcard, every tool of a server, or a shell without limits.
fn is_broad(line: &str) -> bool {
    let value = line.strip_prefix("allowed-tools").unwrap_or(line).trim_start_matches([':', ' ', '-']);
    let is_wild = |tool: &str| {
        let tool =
            tool.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '[' | ']' | '-'));
        matches!(tool, "*" | "Bash" | "Bash(*)" | "Bash(*:*)")
            || (tool.starts_with("mcp__") && tool.ends_with('*'))
    };
    value.split([',', ' ']).any(is_wild)
}
