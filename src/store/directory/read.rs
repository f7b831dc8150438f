//! Reads one found file: the parser's answer, and what its place in the directory adds.

use std::fs::File;
use std::io::Read as _;

use super::discover::Found;
use crate::domain::limits::FILE_BYTES_MAX;
use crate::format::diagnostic::{Diagnostic, Place};
use crate::format::gate::admit;
use crate::format::parse::{Parsed, parse_oversized};
use crate::format::scan::overrides::Overrides;

/// Reads, parses and scans a file. Never more than one byte over the limit is read.
#[must_use]
pub fn read(found: &Found, overrides: &Overrides) -> Parsed {
    let mut parsed = match read_bytes(found) {
        Ok(bytes) if bytes.len() > FILE_BYTES_MAX => {
            parse_oversized(found.stamp.bytes.max(bytes.len() as u64))
        }
        Ok(bytes) => admit(&bytes, overrides),
        Err(cause) => Parsed {
            playbook: None,
            diagnostics: vec![Diagnostic::refused(
                Place::line(1),
                format!("the file cannot be read: {cause}"),
            )],
        },
    };
    let folder = found.path.parent().and_then(|parent| parent.file_name()).map(|name| name.to_string_lossy());
    parsed.add_surroundings(folder.as_deref().filter(|_| found.levels > 0), found.resource_count);
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
