//! Reads one found file: the parser's answer, and what its place in the directory adds.

use std::fs::File;
use std::io::Read as _;

use super::discover::Found;
use crate::domain::limits::FILE_BYTES_MAX;
use crate::domain::text;
use crate::format::diagnostic::{Diagnostic, Place};
use crate::format::parse::{Parsed, parse, parse_oversized};

/// Reads and parses a file. Never more than one byte over the limit is read.
#[must_use]
pub fn read(found: &Found) -> Parsed {
    let mut parsed = match read_bytes(found) {
        Ok(bytes) if bytes.len() > FILE_BYTES_MAX => {
            parse_oversized(found.stamp.bytes.max(bytes.len() as u64))
        }
        Ok(bytes) => parse(&bytes),
        Err(cause) => Parsed {
            playbook: None,
            diagnostics: vec![Diagnostic::refused(
                Place::line(1),
                format!("the file cannot be read: {cause}"),
            )],
        },
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

/// The bytes of a regular file, at most one more than is accepted. Opening anything else could wait for ever.
fn read_bytes(found: &Found) -> std::io::Result<Vec<u8>> {
    if !std::fs::metadata(&found.path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(&found.path)?.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The specification wants the folder to have the skill's name. Here the name stands, whatever the folder is called.
fn add_folder_warning(found: &Found, parsed: &mut Parsed) {
    let folder = found.path.parent().and_then(|parent| parent.file_name()).map(|name| name.to_string_lossy());
    if let (Some(playbook), Some(folder)) = (&parsed.playbook, folder)
        && found.levels > 0
        && folder != playbook.slug().as_str()
    {
        let message = format!(
            "the folder \"{}\" is not called like the skill, \"{}\"",
            text::escaped(&folder, 80),
            playbook.slug()
        );
        let warning =
            Diagnostic::warning(Place::line(1), message).hint("the name in the file is the one that counts");
        parsed.diagnostics.push(warning);
    }
}
