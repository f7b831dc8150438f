//! One SKILL.md to one playbook.
//!
//! The only reader of the format: a directory, a pack, an import and a check all see the same answer for the same
//! bytes. **Cost**: linear; at most 64 KiB are looked at.

use super::diagnostic::{Diagnostic, Place, Severity};
use super::{fences, fields, repair};
use crate::domain::playbook::Playbook;
use crate::domain::text;

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// Directories of a skill whose files are seen, counted and ignored.
pub const RESOURCE_DIRS: [&str; 3] = ["scripts", "references", "assets"];

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

    /// Adds what there is to say about the place of the file: `folder`, where it lies in one of its own, and how many
    /// files lie in the directories of its resources.
    pub fn add_surroundings(&mut self, folder: Option<&str>, resource_count: usize) {
        // The specification wants the folder to have the skill's name. Here the name stands, whatever the folder is called.
        if let (Some(playbook), Some(folder)) = (&self.playbook, folder)
            && folder != playbook.slug().as_str()
        {
            let message = format!(
                "the folder \"{}\" is not called like the skill, \"{}\"",
                text::escaped(folder, 80),
                playbook.slug()
            );
            let warning = Diagnostic::warning(Place::line(1), message);
            self.diagnostics.push(warning.hint("the name in the file is the one that counts"));
        }
        if resource_count > 0 {
            let message = format!(
                "{resource_count} files in scripts, references or assets are not served: a playbook is its SKILL.md"
            );
            self.diagnostics.push(Diagnostic::note(Place::line(1), message));
        }
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
