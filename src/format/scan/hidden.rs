//! What a reader does not see: tag characters, direction marks, zero-width characters, selectors, controls, mixed
//! scripts, comments that give orders, invisible HTML, padding.
//!
//! **Cost**: one pass over the characters, and one over the lines.

use std::sync::LazyLock;

use regex::bytes::Regex;
use unicode_script::{Script, UnicodeScript as _};

use super::guards::{FENCE, NEG, QUO, SEC, TABLE};
use super::hit::Hit;
use super::pattern::{Pattern, row};
use super::regions::Region;
use super::search;
use super::sink::{Sink, sink};
use super::{File, Level, Rule, rule, views};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "HID001",
        level: Level::Critical,
        what: "tag characters hide text",
        hint: "remove them: only the flags of England, Scotland and Wales need them",
        taxonomy: &["AITech-9.2", "LLM01", "W021"],
    },
    Rule {
        id: "HID002",
        level: Level::High,
        what: "direction marks show text in another order than it is read in",
        hint: "remove them; U+200E and U+200F are enough for mixed directions",
        taxonomy: &["AITech-9.2", "W021"],
    },
    Rule {
        id: "HID003",
        level: Level::Medium,
        what: "characters of no width stand where no script needs them",
        hint: "remove them",
        taxonomy: &["AITech-9.2", "W021"],
    },
    Rule {
        id: "HID004",
        level: Level::High,
        what: "variation selectors stand where they select nothing: bytes can be hidden in them",
        hint: "remove them",
        taxonomy: &["AITech-9.2", "W021"],
    },
    Rule {
        id: "HID005",
        level: Level::Medium,
        what: "a control, line separator or private-use character",
        hint: "remove it",
        taxonomy: &["AITech-9.2"],
    },
    Rule {
        id: "HID006",
        level: Level::High,
        what: "letters of several scripts that look alike stand in one host or command",
        hint: "write it in one script",
        taxonomy: &["AITech-12.1.4"],
    },
    Rule {
        id: "HID007",
        level: Level::High,
        what: "a comment gives orders that a reader of the page does not see",
        hint: "write them in the open, or remove them",
        taxonomy: &["AITech-1.1", "TP1"],
    },
    Rule {
        id: "HID008",
        level: Level::High,
        what: "HTML hides text from a reader of the page",
        hint: "show it, or remove it",
        taxonomy: &["AITech-9.2"],
    },
    Rule {
        id: "HID009",
        level: Level::Medium,
        what: "padding pushes text out of sight",
        hint: "remove the blank lines or spaces",
        taxonomy: &["P9"],
    },
];

pub(super) const PATTERNS: &[Pattern] = &[
    row(
        "HID008",
        Level::High,
        r"<\w+\b[^>\n]*\bstyle\s*=\s*[\x22'][^\x22'\n]*(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|em|pt|rem|%)?\s*[;\x22']|opacity\s*:\s*0(?:\.0+)?\s*[;\x22']|[^-]color\s*:\s*(?:white|#fff(?:fff)?|transparent)\b)",
    )
    .guards(NEG | QUO | SEC | TABLE | FENCE),
    row("HID008", Level::High, r"<(?:div|span|p|section)\b[^>\n]*\s(?:hidden|aria-hidden\s*=\s*[\x22']true[\x22'])(?:\s[^>\n]*)?>[^<\n]{12,}")
        .guards(NEG | QUO | SEC | TABLE | FENCE),
];

/// Zero-width characters from which on they are hardly an accident.
const UNSEEN_MANY: usize = 8;
/// Selectors behind what is no emoji, from which on they are hardly an accident.
const SELECTORS_MANY: usize = 5;
const BLANK_LINES_MAX: usize = 40;
const SPACES_MAX: usize = 200;

pub(super) fn check(file: &File<'_>, hits: &mut Vec<Hit>) {
    if !file.text.is_ascii() {
        check_characters(file, hits);
    }
    check_controls(file, hits);
    check_padding(file, hits);
    check_comments(file, hits);
    check_words(file, hits);
}

fn check_characters(file: &File<'_>, hits: &mut Vec<Hit>) {
    let characters: Vec<(usize, char)> = file.text.char_indices().collect();
    let (mut unseen, mut stray_selectors) = (Vec::new(), Vec::new());
    let mut direction = Direction::default();
    let mut index = 0;
    while index < characters.len() {
        let (at, c) = characters[index];
        let before = index.checked_sub(1).map(|index| characters[index].1);
        let after = characters.get(index + 1).map(|(_, c)| *c);
        let mut width = 1;
        match c {
            '\u{E0000}'..='\u{E007F}' => {
                width = tags(&characters, index, hits);
            }
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
                let is_order = matches!(c, '\u{202D}' | '\u{202E}');
                let level =
                    if !is_order && direction.is_right_to_left(file, at) { Level::Low } else { Level::High };
                hits.push(character("HID002", level, at, c));
            }
            '\u{200E}' | '\u{200F}' | '\u{61C}' if !direction.is_right_to_left(file, at) => {
                hits.push(character("HID002", Level::Info, at, c));
            }
            '\u{E0100}'..='\u{E01EF}' | '\u{FE00}'..='\u{FE0F}' => {
                let is_row = after.is_some_and(is_selector);
                let has_base = before.is_some_and(|base| {
                    if (c as u32) < 0x1_0000 { is_emoji(base) || is_han(base) } else { is_han(base) }
                });
                if is_row || (!has_base && (c as u32) > 0x1_0000) {
                    hits.push(character("HID004", Level::High, at, c));
                } else if !has_base {
                    stray_selectors.push((at, c));
                }
                while characters.get(index + width).is_some_and(|(_, c)| is_selector(*c)) {
                    width += 1;
                }
            }
            _ if is_zero_width(c) && at > 0 && !is_joiner_at_home(c, before, after) => unseen.push((at, c)),
            _ => {}
        }
        index += width;
    }
    let level = if unseen.len() >= UNSEEN_MANY { Level::High } else { Level::Medium };
    hits.extend(unseen.into_iter().map(|(at, c)| character("HID003", level, at, c)));
    let level = if stray_selectors.len() >= SELECTORS_MANY { Level::High } else { Level::Low };
    hits.extend(stray_selectors.into_iter().map(|(at, c)| character("HID004", level, at, c)));
}

fn character(id: &str, level: Level, at: usize, c: char) -> Hit {
    Hit::raw(rule(id), level, at, at + c.len_utf8()).shown(format!("U+{:04X}", c as u32))
}

/// A run of tag characters; gives its length in characters.
fn tags(characters: &[(usize, char)], index: usize, hits: &mut Vec<Hit>) -> usize {
    let is_tag = |(_, c): &&(usize, char)| matches!(c, '\u{E0000}'..='\u{E007F}');
    let run: Vec<&(usize, char)> = characters[index..].iter().take_while(is_tag).collect();
    let text: String = run
        .iter()
        .filter_map(|(_, c)| char::from_u32(*c as u32 - 0xE_0000).filter(|c| !c.is_control()))
        .collect();
    let is_flag = index > 0 && characters[index - 1].1 == '\u{1F3F4}';
    let flag = run.iter().position(|(_, c)| *c == '\u{E007F}').map_or(0, |end| end + 1);
    let is_known =
        is_flag && ["gbeng", "gbsct", "gbwls"].iter().any(|known| flag == 6 && text.starts_with(known));
    let hidden = if is_known { flag } else { 0 };
    if hidden < run.len() {
        let start = run[hidden].0;
        let end = run[run.len() - 1];
        // What a flag begins with is the flag's; the rest is what is hidden.
        let text: String = text.chars().skip(if is_known { 5 } else { 0 }).collect();
        hits.push(
            Hit::raw(rule("HID001"), Level::Critical, start, end.0 + end.1.len_utf8())
                .shown(format!("hidden: {text}")),
        );
    }
    run.len()
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

fn is_han(c: char) -> bool {
    matches!(c.script(), Script::Han | Script::Hiragana | Script::Katakana)
        || matches!(c, '\u{3000}'..='\u{303F}')
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{180E}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}' | '\u{FEFF}' | '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}')
}

/// Bases of emoji, and what stands behind one before a joiner.
fn is_emoji(c: char) -> bool {
    matches!(c, '#' | '*' | '0'..='9' | '©' | '®' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21FF}'
        | '\u{2300}'..='\u{23FF}' | '\u{2460}'..='\u{24FF}' | '\u{25A0}'..='\u{27BF}' | '\u{2900}'..='\u{297F}'
        | '\u{2B00}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}' | '\u{1F000}'..='\u{1FAFF}' | '\u{FE0F}')
}

/// Whether a joiner or a zero-width space stands where a script or an emoji needs it.
fn is_joiner_at_home(c: char, before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    match c {
        // Digits are bases of emoji as well, but of none with a joiner.
        '\u{200D}' if [before, after].iter().all(|c| is_emoji(*c) && !c.is_ascii()) => true,
        '\u{200C}' | '\u{200D}' => [before, after].into_iter().any(joins),
        '\u{200B}' => [before, after].into_iter().any(|c| {
            matches!(
                c.script(),
                Script::Thai | Script::Lao | Script::Khmer | Script::Myanmar | Script::Tibetan
            )
        }),
        _ => false,
    }
}

/// Scripts in which a joiner changes the form of letters.
fn joins(c: char) -> bool {
    matches!(
        c.script(),
        Script::Arabic
            | Script::Syriac
            | Script::Mongolian
            | Script::Devanagari
            | Script::Bengali
            | Script::Gurmukhi
            | Script::Gujarati
            | Script::Oriya
            | Script::Tamil
            | Script::Telugu
            | Script::Kannada
            | Script::Malayalam
            | Script::Sinhala
            | Script::Khmer
            | Script::Myanmar
            | Script::Nko
            | Script::Hebrew
    )
}

/// In which direction lines are written; each line is looked at once.
#[derive(Default)]
struct Direction {
    /// The line that was asked for last, and its answer.
    last: Option<(usize, bool)>,
}

impl Direction {
    /// Whether 30% of the letters of the line are of a script that is written from right to left.
    fn is_right_to_left(&mut self, file: &File<'_>, at: usize) -> bool {
        let line = file.regions.line_of(at);
        if let Some((_, answer)) = self.last.filter(|(known, _)| *known == line) {
            return answer;
        }
        let (mut all, mut rtl) = (0, 0);
        let mut text = file.regions.line(file.text, line);
        // The key of a field is not its author's choice of script.
        if file.regions.line_start(line) < file.regions.body {
            text = &text[text.find(':').unwrap_or(0)..];
        }
        for c in text.chars().filter(|c| c.is_alphabetic()) {
            all += 1;
            rtl += usize::from(matches!(
                c.script(),
                Script::Arabic | Script::Hebrew | Script::Syriac | Script::Thaana | Script::Nko
            ));
        }
        let answer = rtl * 10 >= all * 3 && rtl > 0;
        self.last = Some((line, answer));
        answer
    }
}

fn check_controls(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (at, c) in file.text.char_indices() {
        let is_odd = matches!(c, '\0'..='\u{8}' | '\u{B}' | '\u{E}'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{2028}' | '\u{2029}');
        let is_private = matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..);
        if is_odd {
            hits.push(character("HID005", Level::Medium, at, c));
        } else if is_private {
            hits.push(character("HID005", Level::Low, at, c));
        }
    }
}

fn check_padding(file: &File<'_>, hits: &mut Vec<Hit>) {
    let mut blank = 0;
    for index in 0..file.regions.line_count() {
        let line = file.regions.line(file.text, index);
        let start = file.regions.line_start(index);
        if line.trim().is_empty() {
            blank += 1;
            continue;
        }
        if blank >= BLANK_LINES_MAX {
            hits.push(
                Hit::raw(rule("HID009"), Level::Medium, start, start + line.len())
                    .shown(format!("{blank} blank lines")),
            );
        }
        blank = 0;
        let is_exempt = file.regions.at(start) == Region::Code || line.trim_start().starts_with('|');
        let mut run = 0;
        for (at, byte) in line.bytes().enumerate() {
            if matches!(byte, b' ' | b'\t') {
                run += 1;
            } else {
                if run >= SPACES_MAX && !is_exempt {
                    hits.push(
                        Hit::raw(rule("HID009"), Level::Medium, start + at, start + line.len())
                            .shown(format!("{run} spaces")),
                    );
                }
                run = 0;
            }
        }
    }
}

/// What a comment does that only an attack does: takes data out, or takes orders away.
static ORDER: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"\b(?:ignore|disregard|forget)\s+(?:\w+\s+){0,3}(?:instructions?|rules|above)|\b(?:send|upload|post|exfiltrate|forward|transmit|e-?mail)\b[^.]{0,80}\b(?:to|at)\b|\b(?:curl|wget)\s|\b(?:do\s+not|don.{1,3}t|never)\s+(?:tell|inform|mention|show|reveal)\b|\b(?:read|collect|dump|print|include)\b[^.]{0,60}(?:\.env|\.ssh|secrets?|passwords?|credentials?|tokens?|api\s*keys?)|\b(?:delete|wipe|erase)\s+(?:all|every)|\b(?:download|fetch)\b[^.]{0,60}\b(?:run|execute)",
    )
});
static ACTOR: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"\b(?:agents?|assistants?|AI|LLM|claude|gpt|models?|you|your|system|chatbot|copilot)\b|https?://|\.env\b|\.ssh\b|secrets?\b|passwords?\b|credentials?\b",
    )
});
static TOOLING: LazyLock<Regex> = LazyLock::new(|| {
    search::regex(
        r"^(?:<!--|\[//\]:\s*#|\[comment\]:)\s*[(\x22']?\s*(?:license|copyright|spdx|toc\b|/?\s*toc|prettier|markdownlint|vale|eslint|todo|fixme|cspell|begin|end|start|note\b|source|generated|auto-?generated|example|template|badges?)",
    )
});

fn check_comments(file: &File<'_>, hits: &mut Vec<Hit>) {
    for span in file.regions.comments() {
        let end = file.text.floor_char_boundary(span.end.min(span.start + 4_000));
        let text = &file.text.as_bytes()[span.start..end];
        if TOOLING.is_match(text) && sink(text, &file.subject) != Sink::Foreign {
            continue;
        }
        if let Some(order) = ORDER.find(text).filter(|_| ACTOR.is_match(text)) {
            let level = if file.subject.is_security { Level::Medium } else { Level::High };
            hits.push(Hit::raw(rule("HID007"), level, span.start + order.start(), span.start + order.end()));
        }
    }
}

/// Words of several scripts in code: nobody writes a command so by accident.
fn check_words(file: &File<'_>, hits: &mut Vec<Hit>) {
    if file.text.is_ascii() {
        return;
    }
    for index in 0..file.regions.line_count() {
        let (start, line) = (file.regions.line_start(index), file.regions.line(file.text, index));
        if line.is_ascii() {
            continue;
        }
        let is_code = file.regions.at(start) == Region::Code;
        let (mut at, mut ticks) = (0, 0);
        for word in line.split_inclusive(|c: char| !c.is_alphanumeric()) {
            let bare = word.trim_end_matches(|c: char| !c.is_alphanumeric());
            if (is_code || ticks % 2 == 1) && views::is_mixed(bare.as_bytes()) && !is_formula(bare) {
                hits.push(Hit::raw(rule("HID006"), Level::High, start + at, start + at + bare.len()));
            }
            ticks += word.bytes().filter(|byte| *byte == b'`').count();
            at += word.len();
        }
    }
}

/// Greek letters stand in formulas beside Latin ones: only a longer word with one of them is odd.
fn is_formula(word: &str) -> bool {
    let greek = word.chars().any(|c| c.script() == Script::Greek);
    greek && word.chars().filter(char::is_ascii_alphabetic).count() < 4
}
