//! Hits to findings: one of a rule on a line, labels raised, excerpts that are safe to print.

use std::ops::Range;

use super::hit::{EXCERPT_BYTES_MAX, EXCERPT_CHARS_MAX, Hit};
use super::regions::Region;
use super::views::{self, Kind};
use super::{File, Finding, Level, Scan, secrets};
use crate::domain::text;

/// Findings of one rule that are told.
pub(super) const FINDINGS_OF_A_RULE_MAX: usize = 5;

/// Rules about the shape of labels: the label is their subject, not a place that makes them worse.
const OF_LABELS: [&str; 6] = ["STR003", "STR004", "TGW001", "TGW002", "URL003", "HID009"];

/// Rules about addresses and installations: in `metadata`, which no menu shows, these are what other hosts install.
const OF_METADATA: [&str; 3] = ["RCE007", "URL001", "URL002"];

pub(super) fn settle(file: &File<'_>, mut hits: Vec<Hit>) -> Scan {
    // The file's own text first: a view must not say again what stands there in the open.
    hits.sort_by_key(|hit| (hit.rule.id, hit.kind as u8, hit.start, std::cmp::Reverse(hit.level)));
    let secrets = secrets_of(&hits);
    let settled = Settled { file, secrets: &secrets };
    let mut findings: Vec<(usize, Finding)> = Vec::new();
    let mut more = 0;
    for of_rule in hits.chunk_by(|a, b| a.rule.id == b.rule.id) {
        let mut told = tell(file, of_rule);
        told.sort_by_key(|told| (std::cmp::Reverse(told.level), told.hit.start));
        more += told.len().saturating_sub(FINDINGS_OF_A_RULE_MAX);
        told.truncate(FINDINGS_OF_A_RULE_MAX);
        findings.extend(told.into_iter().map(|told| (told.hit.start, finding(&settled, &told))));
    }
    findings.sort_by_key(|(at, finding)| (*at, finding.rule.id));
    Scan { findings: findings.into_iter().map(|(_, finding)| finding).collect(), more }
}

/// A file, and where secrets stand in it.
struct Settled<'a> {
    file: &'a File<'a>,
    /// In order, without overlap.
    secrets: &'a [Range<usize>],
}

/// Where the file itself holds secrets, so that no excerpt shows a part of one.
fn secrets_of(hits: &[Hit]) -> Vec<Range<usize>> {
    let is_secret = |hit: &&Hit| hit.rule.id.starts_with("SEC") && hit.kind != Kind::Decoded;
    let mut spans: Vec<Range<usize>> = hits.iter().filter(is_secret).map(|hit| hit.start..hit.end).collect();
    spans.sort_by_key(|span| (span.start, span.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// A hit that stands for its line.
struct Told<'h> {
    line: usize,
    level: Level,
    hit: &'h Hit,
}

/// The hits of one rule that are told: the worst of each line.
fn tell<'h>(file: &File<'_>, hits: &'h [Hit]) -> Vec<Told<'h>> {
    // Where in the open each line was hit, in order.
    let open: Vec<usize> = hits.iter().filter(|hit| hit.kind == Kind::Raw).map(|hit| hit.start).collect();
    let mut worst: std::collections::BTreeMap<usize, (Level, &Hit)> = std::collections::BTreeMap::new();
    for hit in hits {
        let near = open.partition_point(|start| *start < hit.start.saturating_sub(2));
        let is_open = open.get(near).is_some_and(|start| *start < hit.end);
        if hit.kind != Kind::Raw && is_open {
            continue;
        }
        let line = file.regions.line_of(hit.start);
        let level = level_of(file, hit);
        if worst.get(&line).is_none_or(|(known, _)| level > *known) {
            worst.insert(line, (level, hit));
        }
    }
    worst.into_iter().map(|(line, (level, hit))| Told { line, level, hit }).collect()
}

/// The level of a hit: one higher in a label, and one higher where somebody disguised it.
fn level_of(file: &File<'_>, hit: &Hit) -> Level {
    let mut level = hit.level;
    let region = file.regions.at(hit.start);
    // What is worth knowing stays that: Persian needs its marks in a description as well.
    if region == Region::Label && level > Level::Info && !is_exempt(file, hit) {
        level = level.raised();
    }
    let raw = &file.text[file.text.floor_char_boundary(hit.start)..file.text.ceil_char_boundary(hit.end)];
    if hit.kind == Kind::Folded && views::is_disguised(raw) {
        level = level.raised();
    }
    level
}

/// Whether a hit is no worse in a label than elsewhere.
fn is_exempt(file: &File<'_>, hit: &Hit) -> bool {
    let is_in_metadata = || {
        let opened = file.regions.start_of(hit.start).unwrap_or(0);
        file.text[opened..].trim_start_matches(['"', '\'']).starts_with("metadata")
    };
    // A dash or an emoji that was encoded twice leaves controls that begin no sequence of a terminal.
    let is_encoded_twice = || {
        let c = file.text.get(hit.start..).and_then(|rest| rest.chars().next());
        c.is_some_and(|c| {
            matches!(c, '\u{80}'..='\u{9F}') && !matches!(c, '\u{85}' | '\u{90}' | '\u{9B}' | '\u{9D}')
        })
    };
    OF_LABELS.contains(&hit.rule.id)
        || (OF_METADATA.contains(&hit.rule.id) && is_in_metadata())
        || (hit.rule.id == "HID005" && is_encoded_twice())
}

fn finding(settled: &Settled<'_>, told: &Told<'_>) -> Finding {
    let file = settled.file;
    let Told { line, level, hit } = *told;
    let start = file.regions.line_start(line);
    let at = file.text.floor_char_boundary(hit.start);
    let before = &file.text[start.min(at)..at];
    let shown = hit.shown.clone().unwrap_or_else(|| {
        let end = file.text.ceil_char_boundary(hit.end.min(hit.start + EXCERPT_BYTES_MAX));
        shown(settled, at, end)
    });
    Finding {
        rule: hit.rule,
        level,
        line: line + 1,
        column: before.chars().count() + 1,
        excerpt: excerpt(&secrets::masked(shown.trim())),
        region: file.regions.at(hit.start),
        decoded: hit.kind == Kind::Decoded,
    }
}

/// A part of the file in which secrets, and parts of secrets, are cut.
fn shown(settled: &Settled<'_>, from: usize, to: usize) -> String {
    let text = settled.file.text;
    let (mut out, mut at) = (String::new(), from);
    let first = settled.secrets.partition_point(|span| span.end <= from);
    for span in settled.secrets[first..].iter().take_while(|span| span.start < to) {
        let (start, end) = (text.floor_char_boundary(span.start), text.ceil_char_boundary(span.end));
        out.push_str(&text[at..start.max(at)]);
        out.push_str(&secrets::cut(&text.as_bytes()[start..end]));
        at = end;
    }
    out.push_str(&text[at.min(to)..to]);
    out
}

/// At most [`EXCERPT_CHARS_MAX`] characters, counted once what is escaped is escaped.
fn excerpt(shown: &str) -> String {
    let escaped = text::escaped(shown.trim(), EXCERPT_CHARS_MAX - 1);
    if escaped.chars().count() <= EXCERPT_CHARS_MAX {
        return escaped;
    }
    escaped.chars().take(EXCERPT_CHARS_MAX - 1).chain(['…']).collect()
}
