//! What an owner lets in all the same: files by digest, each with a reason.
//!
//! A line reads `sha256:<64 hexadecimal digits> <ruleset or *> <reason>`; blank lines and lines that begin with `#` say
//! nothing. The digest is that of the file's bytes, as `sha256sum SKILL.md` prints it: an edit ends the override.
//! HIGH findings are overridden, CRITICAL ones never.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::RULESET;
use crate::domain::digest::Digest;
use crate::domain::text;

/// Lines of an allow file at most.
pub const LINES_MAX: usize = 100_000;

/// Characters of a reason at most.
const REASON_CHARS_MAX: usize = 500;

/// Overrides by digest.
#[derive(Debug, Default)]
pub struct Overrides(HashMap<String, Override>);

/// One line of an allow file.
#[derive(Debug)]
pub struct Override {
    /// The line, from 1.
    pub line: usize,
    /// The ruleset that it holds for; none for every one.
    pub ruleset: Option<String>,
    /// Why.
    pub reason: String,
    is_used: AtomicBool,
}

impl Overrides {
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
                return Err(format!("line {number}: the digest of line {} is repeated", first.line));
            }
        }
        Ok(Self(overrides))
    }

    /// The override of a file, which is used from now on.
    pub(in crate::format) fn of(&self, bytes: &[u8]) -> Option<&Override> {
        if self.0.is_empty() {
            return None;
        }
        let entry = self.0.get(&Digest::of_bytes(bytes).to_string())?;
        entry.is_used.store(true, Ordering::Relaxed);
        Some(entry)
    }

    /// The lines that no file needed, in order.
    #[must_use]
    pub fn unused(&self) -> Vec<usize> {
        let unused = self.0.values().filter(|entry| !entry.is_used.load(Ordering::Relaxed));
        let mut lines: Vec<usize> = unused.map(|entry| entry.line).collect();
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

fn entry(line: &str, number: usize) -> Result<(String, Override), String> {
    let mut words = line.splitn(3, char::is_whitespace);
    let digest = words.next().unwrap_or_default();
    let hex = digest.strip_prefix("sha256:").unwrap_or_default();
    if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let shown = text::escaped(digest, 80);
        return Err(format!(
            "`{shown}` is not a digest; write `sha256:` and the 64 hexadecimal digits that `sha256sum SKILL.md` prints"
        ));
    }
    let ruleset = words.next().unwrap_or_default();
    let is_ruleset = ruleset == "*" || ruleset.starts_with(|c: char| c.is_ascii_digit());
    if !is_ruleset {
        let shown = text::escaped(ruleset, 40);
        return Err(format!("`{shown}` is not a ruleset; write `{RULESET}`, or `*` for every one"));
    }
    let reason = words.next().unwrap_or_default().trim();
    if reason.is_empty() {
        return Err("there is no reason; write why this file is let in, behind the ruleset".to_owned());
    }
    if reason.chars().count() > REASON_CHARS_MAX {
        return Err(format!("the reason is longer than {REASON_CHARS_MAX} characters"));
    }
    let ruleset = (ruleset != "*").then(|| ruleset.to_owned());
    let entry =
        Override { line: number, ruleset, reason: reason.to_owned(), is_used: AtomicBool::new(false) };
    Ok((format!("sha256:{}", hex.to_ascii_lowercase()), entry))
}
