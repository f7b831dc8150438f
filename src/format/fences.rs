//! Finds the frontmatter: bytes to text, fences, body.
//!
//! **Invariants**: a fence is a line of exactly three hyphens and trailing blanks; the body is every byte after the
//! closing fence's line ending, unchanged; line numbers are those of the file. **Cost**: linear, one copy of the
//! frontmatter.

use super::diagnostic::{Diagnostic, Place};
use crate::domain::limits::FILE_BYTES_MAX;
use crate::domain::text;

/// A file taken apart.
pub(super) struct Parts<'a> {
    /// The lines between the fences, each ended by a line feed.
    pub(super) frontmatter: String,
    /// The file's line number of the opening fence.
    pub(super) fence_line: usize,
    /// The file's line number at which the body begins.
    pub(super) body_line: usize,
    /// Everything after the closing fence.
    pub(super) body: &'a str,
}

/// Takes a file apart. Warnings go to `notes`.
pub(super) fn split<'a>(bytes: &'a [u8], notes: &mut Vec<Diagnostic>) -> Result<Parts<'a>, Diagnostic> {
    let text = decode(bytes)?;
    let mut lines = Lines { rest: text.strip_prefix('\u{FEFF}').unwrap_or(text), number: 0 };
    let fence_line = opening_fence(&mut lines, notes)?;
    let mut frontmatter = String::new();
    while let Some(line) = lines.next() {
        if is_fence(line) {
            return Ok(Parts { frontmatter, fence_line, body_line: lines.number + 1, body: lines.rest });
        }
        check_lookalike(line, lines.number)?;
        frontmatter.push_str(line);
        frontmatter.push('\n');
    }
    Err(Diagnostic::refused(
        Place::line(fence_line),
        format!("the frontmatter opened at line {fence_line} is never closed"),
    )
    .hint("end it with a line that is exactly `---`"))
}

/// Size first, so that nothing is done with an oversized file; then the encoding.
fn decode(bytes: &[u8]) -> Result<&str, Diagnostic> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(oversized(bytes.len() as u64));
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        let refusal =
            Diagnostic::refused(Place::line(1), "the file is not UTF-8 at byte 0: it begins as UTF-16 does");
        return Err(refusal.hint("save it as UTF-8"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Diagnostic::refused(place_of_byte(bytes, at), format!("the file is not UTF-8 at byte {at}"))
            .hint("save it as UTF-8")
    })?;
    if let Some(at) = text.find('\0') {
        let refusal =
            Diagnostic::refused(place_of_byte(bytes, at), format!("the file has a NUL at byte {at}"));
        let is_wide = text.bytes().take(64).filter(|byte| *byte == 0).count() > 8;
        return Err(refusal.hint(if is_wide {
            "it looks like UTF-16: save it as UTF-8"
        } else {
            "remove it: a playbook is text"
        }));
    }
    Ok(text)
}

pub(super) fn oversized(bytes: u64) -> Diagnostic {
    let message = format!("the file has {bytes} bytes, the limit is {FILE_BYTES_MAX}");
    Diagnostic::refused(Place::line(1), message).hint("split it into two playbooks")
}

fn opening_fence(lines: &mut Lines<'_>, notes: &mut Vec<Diagnostic>) -> Result<usize, Diagnostic> {
    let first = lines.by_ref().find(|line| !line.trim().is_empty());
    let line = lines.number.max(1);
    match first {
        Some(text) if is_fence(text) => {
            if line > 1 {
                let message = format!("{} blank lines before the frontmatter, ignored", line - 1);
                notes.push(
                    Diagnostic::warning(Place::line(1), message)
                        .hint("other readers see no frontmatter here"),
                );
            }
            Ok(line)
        }
        Some(text) if text.trim_start().starts_with("---") => Err(Diagnostic::refused(
            Place::line(line),
            format!(
                "`{}` does not open a frontmatter",
                text::escaped(text.trim_end_matches([' ', '\t']), 40)
            ),
        )
        .hint("the first line is exactly `---`, without indentation")),
        _ => Err(Diagnostic::refused(Place::line(1), "there is no frontmatter")
            .hint("begin the file with `---`, `name: ...`, `description: ...`, `---`")),
    }
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.bytes().all(|byte| matches!(byte, b' ' | b'\t')))
}

/// Refuses a line that some readers take for the closing fence and others do not.
fn check_lookalike(line: &str, number: usize) -> Result<(), Diagnostic> {
    let ends_document =
        line.strip_prefix("...").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    if line.starts_with("---") || ends_document {
        let message =
            format!("`{}` is not a closing fence", text::escaped(line.trim_end_matches([' ', '\t']), 40));
        return Err(
            Diagnostic::refused(Place::line(number), message).hint("a fence is a line that is exactly `---`")
        );
    }
    Ok(())
}

/// Lines ended by a line feed, a carriage return or both, without their endings.
struct Lines<'a> {
    rest: &'a str,
    number: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = self.rest.find(['\n', '\r']).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\n', '\r'])).unwrap_or(rest);
        Some(line)
    }
}

fn place_of_byte(bytes: &[u8], at: usize) -> Place {
    let before = String::from_utf8_lossy(&bytes[..at]);
    let mut lines = Lines { rest: &before, number: 0 };
    let last = lines.by_ref().last().unwrap_or_default();
    let ended = before.ends_with(['\n', '\r']);
    Place {
        line: lines.number.max(1) + usize::from(ended),
        column: if ended { 1 } else { last.chars().count() + 1 },
    }
}
