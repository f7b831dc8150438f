//! The one repair: a value with an unquoted colon.
//!
//! `description: Chase late invoices: write the reminder` is not YAML, and is the commonest fault of real files. The
//! value of the line that the YAML parser stumbled over, with its continuation lines, is put in quotes, and the file is
//! parsed again. A description that YAML takes for a mapping, because it begins with a colon on a line of its own, is
//! put in quotes too. Nothing else is guessed at: a field that is indented by mistake is not glued to the value above
//! it. **Cost**: one parse for each repaired value.

use super::diagnostic::{Diagnostic, Place};
use super::scan;
use super::yaml::{self, Tree, Value, YamlError};
use crate::domain::limits::YAML_KEYS_MAX;
use crate::domain::text;

/// Lines above the one that the parser stumbled over in which the value may begin.
const LOOK_BACK_LINES: usize = 64;

/// Keys that are fields of their own wherever they stand, and never the words of a sentence.
const FIELDS: [&str; 6] = ["name", "description", "license", "metadata", "allowed-tools", "compatibility"];

/// Parses a frontmatter, quoting values with an unquoted colon where they stop the parser. Warns of each.
pub(super) fn parse(
    frontmatter: &str,
    lines_before: usize,
    notes: &mut Vec<Diagnostic>,
) -> Result<Tree, Diagnostic> {
    let mut text = frontmatter.to_owned();
    let mut repairs: Vec<PlainValue> = Vec::new();
    let mut first_refusal = None;
    loop {
        let lines: Vec<&str> = text.lines().collect();
        let (repair, refusal) = match yaml::parse(&text, lines_before) {
            Ok(tree) => {
                let Some(value) = description_as_mapping(&tree, &lines, lines_before) else {
                    notes.extend(repairs.iter().map(|value| value.warning(lines_before)));
                    return Ok(tree);
                };
                (Some(value), None)
            }
            Err(YamlError::Shape(refusal)) => (None, Some(refusal)),
            Err(YamlError::Syntax { place, message }) => {
                let stumbled = place.line.saturating_sub(lines_before + 1);
                let refusal = syntax_refusal(&lines, lines_before, place, &message);
                (find_value(&lines, stumbled), Some(refusal))
            }
        };
        let is_new = |value: &PlainValue| repairs.iter().all(|done| done.first != value.first);
        let repair = repair.filter(is_new).filter(|_| repairs.len() < YAML_KEYS_MAX);
        first_refusal = first_refusal.or(refusal);
        let Some(value) = repair else {
            return Err(first_refusal.expect("a tree without a new repair is returned above"));
        };
        text = value.quoted(&lines);
        repairs.push(value);
    }
}

/// A plain value that holds a colon and white space, and the lines it spans.
struct PlainValue {
    first: usize,
    last: usize,
    /// Where the value begins in its first line, in bytes.
    start: usize,
    /// The value as its author meant it: on one line, but for blank lines, which are line feeds.
    text: String,
}

impl PlainValue {
    /// The value that begins on line `first`, behind its key; none when it is not a value that may be repaired.
    fn at(lines: &[&str], first: usize, is_mapping: bool) -> Option<Self> {
        let start = value_start(lines[first])?;
        let last = last_line(lines, first);
        let first_word =
            if start < lines[first].len() { &lines[first][start..] } else { lines.get(first + 1)? };
        let first_word = first_word.trim_start_matches(BLANKS);
        let is_entry = !is_mapping && start == lines[first].len() && value_start(first_word).is_some();
        if is_entry || first_word.starts_with(INDICATORS) || first_word.starts_with("- ") {
            return None;
        }
        let continuation = &lines[first + 1..=last];
        if continuation.iter().any(|line| is_field(line) || indentation_has_tab(line)) {
            return None;
        }
        let mut text = lines[first][start..].trim_matches(BLANKS).to_owned();
        for line in continuation.iter().map(|line| line.trim_matches(BLANKS)) {
            match line {
                "" => text.push('\n'),
                _ if text.is_empty() || text.ends_with('\n') => text.push_str(line),
                _ => text.extend([" ", line]),
            }
        }
        has_colon(&text).then_some(Self { first, last, start, text })
    }

    fn warning(&self, lines_before: usize) -> Diagnostic {
        let line = self.first + lines_before + 1;
        let what = if self.text.contains(":\t") { "a colon and a tab" } else { "an unquoted colon" };
        let shown = text::escaped(&scan::masked(&self.text), 120);
        let place = Place { line, column: self.start + 1 };
        Diagnostic::warning(place, format!("the value has {what}; read as \"{shown}\""))
            .hint("put the value in double quotes, with a backslash before each quote in it")
    }

    /// The lines with this value in double quotes, all on its first line; blank lines keep the numbering.
    fn quoted(&self, lines: &[&str]) -> String {
        let mut out = String::new();
        for (index, line) in lines.iter().enumerate() {
            if index == self.first {
                out.push_str(&line[..self.start]);
                out.push_str(if line[..self.start].ends_with(':') { " \"" } else { "\"" });
                for c in self.text.chars() {
                    match c {
                        '"' | '\\' => out.extend(['\\', c]),
                        '\t' => out.push_str("\\t"),
                        '\n' => out.push_str("\\n"),
                        _ => out.push(c),
                    }
                }
                out.push('"');
            } else if index < self.first || index > self.last {
                out.push_str(line);
            }
            out.push('\n');
        }
        out
    }
}

/// The value on, or continued to, the line that the parser stumbled over.
fn find_value(lines: &[&str], stumbled: usize) -> Option<PlainValue> {
    let stumbled = stumbled.min(lines.len().checked_sub(1)?);
    let candidates = (0..=stumbled).rev().take(LOOK_BACK_LINES);
    candidates.filter_map(|first| PlainValue::at(lines, first, false)).find(|value| value.last >= stumbled)
}

/// A description that begins on the line below its key with words and a colon.
fn description_as_mapping(tree: &Tree, lines: &[&str], lines_before: usize) -> Option<PlainValue> {
    let entry = tree.entries.iter().find(|entry| entry.key == "description")?;
    let first = entry.place.line.checked_sub(lines_before + 1)?;
    let is_below = matches!(entry.node.value, Value::Mapping(_)) && entry.node.place.line > entry.place.line;
    if is_below { PlainValue::at(lines, first, true) } else { None }
}

const BLANKS: [char; 2] = [' ', '\t'];

/// Characters with which a value is something else than plain text.
const INDICATORS: [char; 13] = ['"', '\'', '|', '>', '[', '{', '&', '*', '!', '#', '%', '@', '`'];

/// Where the value of a line `key: value` begins: behind the colon and the blanks that follow it.
fn value_start(line: &str) -> Option<usize> {
    let (key, rest) = key_and_rest(line)?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let value = rest.trim_start_matches(BLANKS);
    (is_key && (value.len() < rest.len() || rest.is_empty())).then_some(line.len() - value.len())
}

/// The key of a line without its quotes, and what follows the colon.
fn key_and_rest(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.trim_start_matches([' ', '-']).split_once(':')?;
    Some((key.trim_matches(['"', '\'']), rest))
}

/// Whether a line is a field of its own rather than the words of a sentence.
fn is_field(line: &str) -> bool {
    value_start(line).is_some()
        && key_and_rest(line.trim_start_matches(BLANKS))
            .is_some_and(|(key, _)| FIELDS.contains(&key) || key.starts_with("maitred-"))
}

/// The last line of the value that begins on line `first`: lines that are indented more, and blank ones among them.
fn last_line(lines: &[&str], first: usize) -> usize {
    let indent = indentation(lines[first]);
    let mut last = first;
    for (index, line) in lines.iter().enumerate().skip(first + 1) {
        if line.trim().is_empty() {
            continue;
        }
        if indentation(line) <= indent {
            break;
        }
        last = index;
    }
    last
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(BLANKS).len()
}

fn indentation_has_tab(line: &str) -> bool {
    line[..indentation(line)].contains('\t') && !line.trim().is_empty()
}

fn has_colon(text: &str) -> bool {
    text.ends_with(':') || text.contains(": ") || text.contains(":\t") || text.contains(":\n")
}

fn syntax_refusal(lines: &[&str], lines_before: usize, place: Place, message: &str) -> Diagnostic {
    if let Some(index) = lines.iter().position(|line| indentation_has_tab(line)) {
        return yaml::tab_refusal(Place::line(index + lines_before + 1));
    }
    let stumbled = place.line.saturating_sub(lines_before + 1).min(lines.len().saturating_sub(1));
    let line = lines.get(stumbled).copied().unwrap_or_default();
    if indentation(line) > 0 && is_field(line) {
        let key = key_and_rest(line).map_or("", |(key, _)| key);
        return Diagnostic::refused(
            place,
            format!("`{key}` is indented as if it belonged to the value above it"),
        )
        .hint("remove the indentation if it is a field of its own");
    }
    Diagnostic::refused(place, format!("the frontmatter is not valid YAML: {message}"))
        .hint(advice(line, message))
}

/// What to do about a line that the parser stumbled over.
fn advice(line: &str, message: &str) -> String {
    let value = value_start(line).map_or("", |start| &line[start..]);
    if let Some(advice) = yaml::colon_advice(line) {
        advice.to_owned()
    } else if message.contains("escape") {
        "in double quotes a backslash is written twice; in single quotes it is not".to_owned()
    } else if value.starts_with('\'') {
        "in single quotes an apostrophe is written twice; in double quotes it is not".to_owned()
    } else if let Some(first) =
        value.chars().next().filter(|c| INDICATORS.contains(c) || matches!(c, '-' | '?'))
    {
        format!("a value that begins with `{first}` and is text goes into quotes as a whole")
    } else {
        "each line reads `key: value`, and text with special characters stands in double quotes".to_owned()
    }
}
