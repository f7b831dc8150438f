//! A row of a rule's table: a pattern, what must stand near it, what excludes it, and its guards.
//!
//! **Cost**: each pattern has one shape, so that a search never rescans (`a.*b|c` would); what must stand near is
//! looked up once for each 200 bytes.

use regex::bytes::{Match, Regex, RegexBuilder};

use super::guards::{self, FENCE, Guards, NEG, NOTES, OWN, PROMPTS, QUO, SEC, SINK, TABLE, WORDS};
use super::regions::Region;
use super::settle::Hit;
use super::urls::{self, Sink};
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

/// A row, ready to run.
pub(super) struct Compiled {
    rule: &'static Rule,
    level: Level,
    regex: Regex,
    needs: Vec<Regex>,
    unless: Option<Regex>,
    guards: Guards,
}

/// Bytes around a match that count as near, inside its paragraph.
const NEAR_BYTES: usize = 600;
/// Matches closer than this share one look at what is near.
const STEP_BYTES: usize = 200;

/// Words that patterns share: `{gap}` is the rest of a command, over line continuations; `{pipe}` a pipe into a shell.
const WORDS_SHARED: [(&str, &str); 3] = [
    ("{gap}", r"(?:\\\r?\n|[^\n])*?"),
    (
        "{sh}",
        r"(?:(?:sudo|doas|exec|nohup|busybox)\s+(?:-\S+\s+)*|su\s+(?:-\S+\s+|\w+\s+)*-c\s+[\x22']?|xargs\s+(?:-\S+\s+)*)?(?:env\s+(?:\w+=\S+\s+)*)?(?:/(?:usr/)?(?:local/)?bin/)?(?:(?:ba|z|k|da|a)?sh|fish|pwsh)\b",
    ),
    (
        "{py}",
        r"(?:sudo\s+)?(?:python[23]?(?:\.\d+)?|node|perl|ruby|php|bun|deno run)(?:[ \t]+-)?[ \t]*(?:[\n`)&;]|$|\x22|')",
    ),
];

pub(super) fn regex(pattern: &str) -> Regex {
    let mut text = pattern.to_owned();
    for (name, words) in WORDS_SHARED {
        text = text.replace(name, words);
    }
    RegexBuilder::new(&text)
        .unicode(false)
        .case_insensitive(true)
        .multi_line(true)
        .build()
        .unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

pub(super) fn compile(row: &Pattern) -> Compiled {
    Compiled {
        rule: rule(row.rule),
        level: row.level,
        regex: regex(row.regex),
        needs: row.needs.iter().map(|need| regex(need)).collect(),
        unless: (!row.unless.is_empty()).then(|| regex(row.unless)),
        guards: row.guards,
    }
}

impl Compiled {
    pub(super) fn run(&self, file: &File<'_>, view: &View<'_>, hits: &mut Vec<Hit>) {
        // The last look at what is near: where, and what it said.
        let mut looked: Option<(usize, bool)> = None;
        for found in self.regex.find_iter(&view.text) {
            if !self.needs.is_empty() {
                let is_near = match looked {
                    Some((at, answer)) if found.start() - at < STEP_BYTES && found.start() > at => answer,
                    _ => {
                        let window = paragraph(&view.text, found.start(), found.end());
                        let answer = self.needs.iter().all(|need| need.is_match(window));
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
            }
        }
    }

    /// How bad a match is once its guards are asked; none when it is excluded.
    fn judge(&self, file: &File<'_>, view: &View<'_>, found: &Match<'_>) -> Option<Level> {
        let (text, start, end) = (&*view.text, found.start(), found.end());
        if let Some(unless) = &self.unless {
            let (from, to) = guards::line_around(text, start, end);
            if unless.is_match(&text[from..to]) {
                return None;
            }
        }
        let mut level = self.level;
        if self.guards & (SINK | OWN) != 0 {
            let window = paragraph(text, start, end);
            match urls::sink(window, &file.subject) {
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
