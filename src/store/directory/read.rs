//! Reads one found file: the parser's answer, and what its place in the directory adds.

use std::fs::File;
use std::io::Read as _;

use super::discover::Found;
use crate::domain::limits::FILE_BYTES_MAX;
use crate::format::diagnostic::{Diagnostic, Place};
use crate::format::parse::{Parsed, parse, parse_oversized};

/// Reads and parses a file. Never more than one byte over the limit is read.
#[must_use]
pub fn read(found: &Found) -> Parsed {
    let mut bytes = Vec::new();
    let limit = FILE_BYTES_MAX as u64 + 1;
    let opened = File::open(&found.path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    let mut parsed = match opened {
        Err(error) => Parsed {
            playbook: None,
            diagnostics: vec![Diagnostic::refused(
                Place::line(1),
                format!("the file cannot be read: {error}"),
            )],
        },
        Ok(_) if bytes.len() > FILE_BYTES_MAX => parse_oversized(found.stamp.bytes.max(limit)),
        Ok(_) => parse(&bytes),
    };
    add_folder_warning(found, &mut parsed);
    if found.resource_count > 0 {
        let message = format!(
            "{} files in scripts, references or assets are not served: a playbook is its SKILL.md",
            found.resource_count
        );
        parsed.diagnostics.push(Diagnostic::note(Place::line(1), message));
    }
    parsed
}

/// The specification wants the folder to have the skill's name. Here the name stands, whatever the folder is called.
fn add_folder_warning(found: &Found, parsed: &mut Parsed) {
    let folder = found.path.parent().and_then(|parent| parent.file_name()).map(|name| name.to_string_lossy());
    if let (Some(playbook), Some(folder)) = (&parsed.playbook, folder)
        && found.levels > 0
        && folder != playbook.slug().as_str()
    {
        let message =
            format!("the folder \"{folder}\" is not called like the skill, \"{}\"", playbook.slug());
        let warning =
            Diagnostic::warning(Place::line(1), message).hint("the name in the file is the one that counts");
        parsed.diagnostics.push(warning);
    }
}
