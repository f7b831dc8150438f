//! A row of a rule's table: a pattern, what must stand near it, what excludes it, and its guards.
//!
//! **Cost**: each pattern has one shape, so that a search never rescans (`a.*b|c` would); what must stand near is
//! looked up once for each 200 bytes.

use regex::bytes::{Match, Regex};

use super::guards::{self, FENCE, Guards, NEG, NOTES, OWN, PROMPTS, QUO, SEC, SINK, TABLE, WORDS};
use super::hit::Hit;
use super::regions::Region;
use super::search::{Search, Set};
use super::sink::{Sink, sink};
use super::views::{Kind, View};
use super::{File, Level, Rule, rule};

/// A row.
pub(super) struct Pattern {
    rule: &'static str,
    /// How bad a plain hit is; not always the rule's own level.
    level: Level,
    regex: &'static str,
    /// What must stand in the same paragraph, each of them.
    needs: &'static [&'static str],
    /// What must not stand on the same lines; empty for nothing.
    unless: &'static str,
    guards: Guards,
}

/// A row without conditions.
pub(super) const fn row(rule: &'static str, level: Level, regex: &'static str) -> Pattern {
    Pattern { rule, level, regex, needs: &[], unless: "", guards: 0 }
}

impl Pattern {
    pub(super) const fn needs(mut self, needs: &'static [&'static str]) -> Self {
        self.needs = needs;
        self
    }

    pub(super) const fn unless(mut self, unless: &'static str) -> Self {
        self.unless = unless;
        self
    }

    pub(super) const fn guards(mut self, guards: Guards) -> Self {
        self.guards = guards;
        self
    }
}

/// The rows of every family, ready to run.
pub(super) struct Patterns {
    rows: Vec<Row>,
    /// What each row searches for.
    set: Set,
}

/// What a row asks of a match.
struct Row {
    rule: &'static Rule,
    level: Level,
    needs: Vec<Search>,
    unless: Option<Search>,
    guards: Guards,
}

/// Bytes around a match that count as near, inside its paragraph.
const NEAR_BYTES: usize = 600;
/// Matches closer than this share one look at what is near.
const STEP_BYTES: usize = 200;

impl Patterns {
    pub(super) fn new(families: &[&[Pattern]]) -> Self {
        let patterns = || families.iter().copied().flatten();
        let row = |pattern: &Pattern| Row {
            rule: rule(pattern.rule),
            level: pattern.level,
            needs: pattern.needs.iter().map(|need| Search::new(need)).collect(),
            unless: (!pattern.unless.is_empty()).then(|| Search::new(pattern.unless)),
            guards: pattern.guards,
        };
        let set = Set::new(patterns().map(|pattern| Search::new(pattern.regex)));
        Self { rows: patterns().map(row).collect(), set }
    }

    pub(super) fn run(&self, file: &File<'_>, view: &View<'_>, hits: &mut Vec<Hit>) {
        for (index, regex) in self.set.over(&view.text) {
            self.rows[index].run(regex, file, view, hits);
        }
    }
}

impl Row {
    fn run(&self, regex: &Regex, file: &File<'_>, view: &View<'_>, hits: &mut Vec<Hit>) {
        // The last look at what is near: where, and what it said.
        let mut looked: Option<(usize, bool)> = None;
        // The end of a line of which no hit can be worse than one that it has.
        let mut done = 0;
        for found in regex.find_iter(&view.text) {
            if found.start() < done {
                continue;
            }
            if !self.needs.is_empty() {
                let is_near = match looked {
                    Some((at, answer)) if found.start() - at < STEP_BYTES && found.start() > at => answer,
                    _ => {
                        let window = paragraph(&view.text, found.start(), found.end());
                        let answer = self.needs.iter().all(|need| need.regex().is_match(window));
                        looked = Some((found.start(), answer));
                        answer
                    }
                };
                if !is_near {
                    continue;
                }
            }
            if let Some(level) = self.judge(file, view, &found) {
                hits.push(Hit::new(self.rule, level, view, found.start(), found.end()));
                // Where somebody disguised a letter a later hit may yet be worse.
                if level == self.level && view.kind != Kind::Folded {
                    let rest = &view.text[found.end()..];
                    let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                    done = found.end() + length;
                }
            }
        }
    }

    /// How bad a match is once its guards are asked; none when it is excluded.
    fn judge(&self, file: &File<'_>, view: &View<'_>, found: &Match<'_>) -> Option<Level> {
        let (text, start, end) = (&*view.text, found.start(), found.end());
        if let Some(unless) = &self.unless {
            let (from, to) = guards::line_around(text, start, end);
            if unless.regex().is_match(&text[from..to]) {
                return None;
            }
        }
        let mut level = self.level;
        if self.guards & (SINK | OWN) != 0 {
            let window = paragraph(text, start, end);
            match sink(window, &file.subject) {
                Sink::None if self.guards & SINK != 0 => return None,
                Sink::Own => {
                    level = if level > Level::Medium { Level::Medium } else { level.min(Level::Low) }
                }
                Sink::None | Sink::Foreign => {}
            }
        }
        if view.kind == Kind::Decoded {
            return Some(level);
        }
        Some(self.guarded(level, file, view, (start, end)))
    }

    fn guarded(&self, mut level: Level, file: &File<'_>, view: &View<'_>, span: (usize, usize)) -> Level {
        let (start, end) = span;
        let has = |guard: Guards| self.guards & guard != 0;
        let region = file.regions.at(view.raw_of(start));
        let guarded = if has(WORDS) { Level::Low } else { Level::Medium };
        if region == Region::Comment {
            return level;
        }
        if has(NEG) && guards::is_negated(view, &file.regions, start, end) {
            level = level.min(guarded);
        }
        if has(QUO) && region != Region::Code && guards::is_quoted(&view.text, start, end) {
            level = level.min(guarded);
        }
        if has(TABLE) && guards::is_in_table(&view.text, start, end) {
            level = level.min(Level::Medium);
        }
        if (has(PROMPTS) && file.subject.is_prompts()) || (has(NOTES) && file.subject.is_notes()) {
            level = level.min(Level::Medium);
        }
        if has(FENCE) && region == Region::Code {
            level = level.lowered();
        }
        if has(SEC) && file.subject.is_security {
            level = level.lowered();
        }
        level
    }
}

/// The paragraph around a match, at most [`NEAR_BYTES`] on each side.
pub(super) fn paragraph(text: &[u8], start: usize, end: usize) -> &[u8] {
    let is_blank = |pair: &[u8]| matches!(pair, b"\n\n");
    let floor = start.saturating_sub(NEAR_BYTES);
    let from = text[floor..start].windows(2).rposition(is_blank).map_or(floor, |at| floor + at + 2);
    let ceiling = (end + NEAR_BYTES).min(text.len());
    let to = text[end..ceiling].windows(2).position(is_blank).map_or(ceiling, |at| end + at);
    &text[from..to]
}
