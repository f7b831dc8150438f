//! What an owner lets in all the same: files by digest, each with a reason; from a store, or from an allow file.
//!
//! A line of an allow file reads `sha256:<64 hexadecimal digits> <ruleset or *> <reason>`; blank lines and lines that begin with `#` say
//! nothing. The digest is that of the file's bytes, as `sha256sum SKILL.md` prints it: an edit ends the override.
//! HIGH findings are overridden, CRITICAL ones never.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use super::RULESET;
use crate::domain::digest::Digest;
use crate::domain::text;

/// Lines of an allow file at most.
pub const LINES_MAX: usize = 100_000;

/// What stands for every ruleset.
const EVERY_RULESET: &str = "*";

/// Characters of a reason at most.
const REASON_CHARS_MAX: usize = 500;

/// Overrides by digest.
#[derive(Debug, Default)]
pub struct Overrides(HashMap<Digest, Override>);

/// A file that is let in.
#[derive(Debug)]
pub struct Override {
    /// Who says so.
    pub by: By,
    /// The ruleset that it holds for; none for every one.
    pub ruleset: Option<String>,
    /// Why.
    pub reason: String,
    is_used: AtomicBool,
}

/// Where an override stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// On a line of the allow file, from 1.
    Line(usize),
    /// In the store, where the owner put it.
    Owner,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line} of the allow file"),
            Self::Owner => f.write_str("an override of the owner"),
        }
    }
}

impl Overrides {
    /// Those of an owner: the digest of each file, the ruleset that it holds for, and why.
    #[must_use]
    pub fn of_owner(all: impl IntoIterator<Item = (Digest, String, String)>) -> Self {
        let entry = |(digest, ruleset, reason): (Digest, String, String)| {
            let ruleset = Some(ruleset).filter(|ruleset| ruleset != EVERY_RULESET);
            (digest, Override { by: By::Owner, ruleset, reason, is_used: AtomicBool::new(false) })
        };
        Self(all.into_iter().map(entry).collect())
    }

    /// Reads the text of an allow file.
    ///
    /// # Errors
    /// A sentence that names the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut overrides = HashMap::new();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if number > LINES_MAX {
                return Err(format!("line {number}: the limit is {LINES_MAX} lines"));
            }
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (digest, entry) = entry(line, number).map_err(|fault| format!("line {number}: {fault}"))?;
            if let Some(first) = overrides.insert(digest, entry) {
                return Err(format!("line {number}: the digest of {} is repeated", first.by));
            }
        }
        Ok(Self(overrides))
    }

    /// The override of a file, which is used from now on.
    pub(in crate::format) fn of(&self, bytes: &[u8]) -> Option<&Override> {
        if self.0.is_empty() {
            return None;
        }
        let entry = self.0.get(&Digest::of_bytes(bytes))?;
        entry.is_used.store(true, Ordering::Relaxed);
        Some(entry)
    }

    /// The ruleset and the reason for which the file of a digest is let in.
    #[must_use]
    pub fn reason_for(&self, file: Digest) -> Option<(&str, &str)> {
        let entry = self.0.get(&file)?;
        Some((entry.ruleset.as_deref().unwrap_or(EVERY_RULESET), &entry.reason))
    }

    /// The lines that no file needed, in order.
    #[must_use]
    pub fn unused(&self) -> Vec<usize> {
        let unused = self.0.values().filter(|entry| !entry.is_used.load(Ordering::Relaxed));
        let line = |entry: &Override| match entry.by {
            By::Line(line) => Some(line),
            By::Owner => None,
        };
        let mut lines: Vec<usize> = unused.filter_map(line).collect();
        lines.sort_unstable();
        lines
    }
}

impl Override {
    /// Whether it holds for the rules as they are.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.ruleset.as_deref().is_none_or(|ruleset| ruleset == RULESET)
    }
}

/// Checks a ruleset that an override holds for: one of ours, or `*`.
///
/// # Errors
/// A sentence.
pub fn check_ruleset(ruleset: &str) -> Result<(), String> {
    if ruleset == EVERY_RULESET || ruleset.starts_with(|c: char| c.is_ascii_digit()) && ruleset.len() <= 40 {
        return Ok(());
    }
    let shown = text::escaped(ruleset, 40);
    Err(format!("`{shown}` is not a ruleset; write `{RULESET}`, or `*` for every one"))
}

/// Checks the reason of an override.
///
/// # Errors
/// A sentence.
pub fn check_reason(reason: &str) -> Result<(), String> {
    if reason.trim().is_empty() {
        return Err("there is no reason; write why this file is let in".to_owned());
    }
    if reason.chars().count() > REASON_CHARS_MAX {
        return Err(format!("the reason is longer than {REASON_CHARS_MAX} characters"));
    }
    Ok(())
}

fn entry(line: &str, number: usize) -> Result<(Digest, Override), String> {
    let mut words = line.splitn(3, char::is_whitespace);
    let digest = words.next().unwrap_or_default();
    let digest = Digest::parse(digest).map_err(|_| {
        let shown = text::escaped(digest, 80);
        format!(
            "`{shown}` is not a digest; write `sha256:` and the 64 hexadecimal digits that `sha256sum SKILL.md` prints"
        )
    })?;
    let ruleset = words.next().unwrap_or_default();
    check_ruleset(ruleset)?;
    let reason = words.next().unwrap_or_default().trim();
    check_reason(reason)
        .map_err(|fault| if reason.is_empty() { format!("{fault}, behind the ruleset") } else { fault })?;
    let ruleset = (ruleset != EVERY_RULESET).then(|| ruleset.to_owned());
    let reason = reason.to_owned();
    Ok((digest, Override { by: By::Line(number), ruleset, reason, is_used: AtomicBool::new(false) }))
}
