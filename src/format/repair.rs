//! The one repair: a value with an unquoted colon.
//!
//! `description: Chase late invoices: write the reminder` is not YAML, and is the commonest fault of real files. The
//! value of the line that the YAML parser stumbled over, with its continuation lines, is put in quotes, and the file is
//! parsed again. Nothing else is guessed at. **Cost**: one parse for each repaired value.

use super::diagnostic::{Diagnostic, Place};
use super::yaml::{self, Tree, YamlError};
use crate::domain::limits::YAML_KEYS_MAX;
use crate::domain::text;

/// Parses a frontmatter, quoting values with an unquoted colon where they stop the parser.
pub(super) fn parse(
    frontmatter: &str,
    lines_before: usize,
    notes: &mut Vec<Diagnostic>,
) -> Result<Tree, Diagnostic> {
    let mut text = frontmatter.to_owned();
    let mut repaired_lines = Vec::new();
    loop {
        let (place, message) = match yaml::parse(&text, lines_before) {
            Ok(tree) => return Ok(tree),
            Err(YamlError::Shape(refusal)) => return Err(refusal),
            Err(YamlError::Syntax { place, message }) => (place, message),
        };
        let lines: Vec<&str> = text.lines().collect();
        let stumbled = place.line.saturating_sub(lines_before + 1);
        let repair = find_value(&lines, stumbled)
            .filter(|value| !repaired_lines.contains(&value.first) && repaired_lines.len() < YAML_KEYS_MAX);
        let Some(value) = repair else {
            return Err(syntax_refusal(&lines, lines_before, place, &message));
        };
        notes.push(value.warning(lines_before));
        repaired_lines.push(value.first);
        text = value.quoted(&lines);
    }
}

/// A plain value that holds a colon and white space, and the lines it spans.
struct PlainValue {
    first: usize,
    last: usize,
    /// Where the value begins in its first line, in bytes.
    start: usize,
    /// The value on one line, as its author meant it.
    text: String,
}

/// The value on, or continued to, the line that the parser stumbled over.
fn find_value(lines: &[&str], stumbled: usize) -> Option<PlainValue> {
    let stumbled = stumbled.min(lines.len().checked_sub(1)?);
    (0..=stumbled).rev().take(64).find_map(|first| {
        let indent = indentation(lines[first]);
        let continuation = &lines[first + 1..];
        let is_continued = |line: &&&str| !line.trim().is_empty() && indentation(line) > indent;
        let continued = continuation.iter().take_while(is_continued).count();
        let start = plain_value_start(lines[first], continuation.first().filter(|_| continued > 0))?;
        let last = first + continued;
        if last < stumbled {
            return None;
        }
        let words = std::iter::once(&lines[first][start..]).chain(lines[first + 1..=last].iter().copied());
        let text = words.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        has_colon(&text).then_some(PlainValue { first, last, start, text })
    })
}

/// Where the value of a `key: value` line begins, if the value is plain text; at the line's end when it begins on the
/// next line, which must not look like an entry of its own.
fn plain_value_start(line: &str, next: Option<&&str>) -> Option<usize> {
    let start = value_start(line)?;
    let value = if start < line.len() { &line[start..] } else { next?.trim_start() };
    let is_entry = start == line.len() && (value.starts_with("- ") || value_start(value).is_some());
    (!is_entry && !value.starts_with(INDICATORS)).then_some(start)
}

/// Characters with which a value is something else than plain text.
const INDICATORS: [char; 13] = ['"', '\'', '|', '>', '[', '{', '&', '*', '!', '#', '%', '@', '`'];

/// Where the value of a line `key: value` begins: behind the colon and the blanks that follow it.
fn value_start(line: &str) -> Option<usize> {
    let after_dash = line.trim_start_matches([' ', '-']);
    let colon = after_dash.find(':')?;
    let key = after_dash[..colon].trim_matches(['"', '\'']);
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let rest = &after_dash[colon + 1..];
    let value = rest.trim_start_matches([' ', '\t']);
    (is_key && (value.len() < rest.len() || rest.is_empty())).then_some(line.len() - value.len())
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

fn has_colon(text: &str) -> bool {
    text.ends_with(':') || text.contains(": ") || text.contains(":\t")
}

impl PlainValue {
    fn warning(&self, lines_before: usize) -> Diagnostic {
        let line = self.first + lines_before + 1;
        let what = if self.text.contains(":\t") { "a colon and a tab" } else { "an unquoted colon" };
        let shown = text::escaped(&self.text, 120);
        Diagnostic::warning(
            Place { line, column: self.start + 1 },
            format!("the value has {what}; read as \"{shown}\""),
        )
        .hint("put the value in double quotes")
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

fn syntax_refusal(lines: &[&str], lines_before: usize, place: Place, message: &str) -> Diagnostic {
    let tab = |line: &&str| line[..indentation(line)].contains('\t') && !line.trim().is_empty();
    if let Some(index) = lines.iter().position(tab) {
        let place = Place::line(index + lines_before + 1);
        return Diagnostic::refused(place, "a tab is used for indentation, which YAML does not allow")
            .hint("indent with spaces");
    }
    Diagnostic::refused(place, format!("the frontmatter is not valid YAML: {message}"))
        .hint("put text with special characters in double quotes")
}
