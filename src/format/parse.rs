//! One SKILL.md to one playbook.
//!
//! The only reader of the format: a directory, a pack, an import and a check all see the same answer for the same
//! bytes. **Cost**: linear; at most 64 KiB are looked at.

use super::diagnostic::{Diagnostic, Severity};
use super::{fences, fields, repair};
use crate::domain::playbook::Playbook;

/// What became of a file.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The playbook; none when the file is refused.
    pub playbook: Option<Playbook>,
    /// Everything there is to say, in the file's order: each thing that was repaired, is not honoured, or refuses.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// The most severe finding.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.diagnostics.iter().map(|diagnostic| diagnostic.severity).max()
    }

    /// The first reason for the refusal.
    #[must_use]
    pub fn refusal(&self) -> Option<&Diagnostic> {
        self.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Refused)
    }
}

/// Parses the bytes of a SKILL.md.
///
/// A playbook is returned exactly when no diagnostic is a refusal.
#[must_use]
pub fn parse(bytes: &[u8]) -> Parsed {
    let mut diagnostics = Vec::new();
    let playbook = match read(bytes, &mut diagnostics) {
        Ok(playbook) => playbook,
        Err(refusal) => {
            diagnostics.push(refusal);
            None
        }
    };
    diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
    Parsed { playbook, diagnostics }
}

/// The answer for a file of which only the size was looked at.
#[must_use]
pub fn parse_oversized(bytes: u64) -> Parsed {
    Parsed { playbook: None, diagnostics: vec![fences::oversized(bytes)] }
}

fn read(bytes: &[u8], diagnostics: &mut Vec<Diagnostic>) -> Result<Option<Playbook>, Diagnostic> {
    let parts = fences::split(bytes, diagnostics)?;
    let tree = repair::parse(&parts.frontmatter, parts.fence_line, diagnostics)?;
    Ok(fields::interpret(&tree, &parts, diagnostics))
}
