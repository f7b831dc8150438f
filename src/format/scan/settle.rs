//! Hits to findings: one of a rule on a line, labels raised, excerpts that are safe to print.

use super::regions::Region;
use super::views::{self, Kind, View};
use super::{File, Finding, Level, Rule, Scan, secrets};
use crate::domain::text;

/// Findings of one rule that are told.
pub(super) const FINDINGS_OF_A_RULE_MAX: usize = 5;

/// Characters of an excerpt.
const EXCERPT_CHARS_MAX: usize = 160;

/// Bytes of the file that an excerpt is cut from at most.
const EXCERPT_BYTES_MAX: usize = 400;

/// What a rule found, in bytes of the file.
pub(super) struct Hit {
    pub(super) rule: &'static Rule,
    pub(super) level: Level,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
    /// What stands there when it is not the file's own text.
    pub(super) shown: Option<String>,
}

impl Hit {
    pub(super) fn new(rule: &'static Rule, level: Level, view: &View<'_>, start: usize, end: usize) -> Self {
        let (from, to) = (view.raw_of(start), view.raw_of(end.saturating_sub(1)) + 1);
        let shown = (view.kind == Kind::Decoded).then(|| {
            let end = end.min(start + EXCERPT_BYTES_MAX);
            String::from_utf8_lossy(&view.text[start..end]).into_owned()
        });
        Self { rule, level, start: from, end: to.max(from + 1), kind: view.kind, shown }
    }

    /// A hit of bytes of the file itself.
    pub(super) fn raw(rule: &'static Rule, level: Level, start: usize, end: usize) -> Self {
        Self { rule, level, start, end, kind: Kind::Raw, shown: None }
    }

    pub(super) fn shown(mut self, shown: String) -> Self {
        self.shown = Some(shown);
        self
    }
}

/// Rules about the shape of labels: the label is their subject, not a place that makes them worse.
const OF_LABELS: [&str; 6] = ["STR003", "STR004", "TGW001", "TGW002", "URL003", "HID009"];

pub(super) fn settle(file: &File<'_>, mut hits: Vec<Hit>) -> Scan {
    // The file's own text first: a view must not say again what stands there in the open.
    hits.sort_by_key(|hit| (hit.rule.id, hit.kind as u8, hit.start, std::cmp::Reverse(hit.level)));
    let mut findings: Vec<(usize, Finding)> = Vec::new();
    let mut more = 0;
    for of_rule in hits.chunk_by(|a, b| a.rule.id == b.rule.id) {
        let mut told = tell(file, of_rule);
        told.sort_by_key(|told| (std::cmp::Reverse(told.level), told.hit.start));
        more += told.len().saturating_sub(FINDINGS_OF_A_RULE_MAX);
        told.truncate(FINDINGS_OF_A_RULE_MAX);
        findings.extend(told.into_iter().map(|told| (told.hit.start, finding(file, &told))));
    }
    findings.sort_by_key(|(at, finding)| (*at, finding.rule.id));
    Scan { findings: findings.into_iter().map(|(_, finding)| finding).collect(), more }
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
    if region == Region::Label && !OF_LABELS.contains(&hit.rule.id) {
        level = level.raised();
    }
    let raw = &file.text[file.text.floor_char_boundary(hit.start)..file.text.ceil_char_boundary(hit.end)];
    if hit.kind == Kind::Folded && views::is_disguised(raw) {
        level = level.raised();
    }
    level
}

fn finding(file: &File<'_>, told: &Told<'_>) -> Finding {
    let Told { line, level, hit } = *told;
    let start = file.regions.line_start(line);
    let at = file.text.floor_char_boundary(hit.start);
    let before = &file.text[start.min(at)..at];
    let shown = hit.shown.clone().unwrap_or_else(|| {
        let end = file.text.ceil_char_boundary(hit.end.min(hit.start + EXCERPT_BYTES_MAX));
        file.text[at..end].to_owned()
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

/// At most [`EXCERPT_CHARS_MAX`] characters, counted once what is escaped is escaped.
fn excerpt(shown: &str) -> String {
    let escaped = text::escaped(shown.trim(), EXCERPT_CHARS_MAX - 1);
    if escaped.chars().count() <= EXCERPT_CHARS_MAX {
        return escaped;
    }
    escaped.chars().take(EXCERPT_CHARS_MAX - 1).chain(['…']).collect()
}
