//! Reads a zip: every `SKILL.md` in it, or the reason why not.
//!
//! **Invariants**: an entry is refused whole and takes no other down; sizes are bounded while inflating, whatever the
//! headers say; what is refused is named, what is ignored is counted. **Cost**: linear in the archive and in what its
//! skills inflate to, both bounded; entries that are no skill are not inflated.

use std::collections::{BTreeMap, HashMap};
use std::io::{Cursor, Read as _};
use std::path::Path;

use zip::read::{Config, ZipFileEntry};
use zip::result::ZipError;
use zip::unstable::read::ZipIterable;
use zip::{CompressionMethod, ZipReadOptions};

use super::name;
use crate::domain::limits::{
    ARCHIVE_BYTES_MAX, ARCHIVE_ENTRIES_MAX, ARCHIVE_INFLATED_BYTES_MAX, ARCHIVE_RATIO_MAX, FILE_BYTES_MAX,
};
use crate::domain::text;
use crate::format::diagnostic::{Diagnostic, Place};
use crate::format::gate::admit;
use crate::format::parse::{Parsed, RESOURCE_DIRS, SKILL_FILE};
use crate::format::scan::overrides::Overrides;

/// What a zip holds.
#[derive(Debug, Default)]
pub struct Archive {
    /// Each `SKILL.md`, and each entry that is refused, in the order of the archive.
    pub entries: Vec<Entry>,
    /// Entries that systems left there, such as `__MACOSX`: ignored.
    pub junk_count: usize,
    /// Other files: seen, counted and ignored.
    pub other_count: usize,
}

/// A skill in an archive, or an entry that is refused.
#[derive(Debug)]
pub struct Entry {
    /// Its name in the archive, as it stands there.
    pub name: String,
    /// The bytes of the file, or why there are none.
    pub content: Result<Vec<u8>, Diagnostic>,
    /// How many files its `scripts`, `references` and `assets` hold.
    pub resource_count: usize,
}

impl Entry {
    /// What the gate says of it, and what its place in the archive adds.
    #[must_use]
    pub fn admit(&self, overrides: &Overrides) -> Parsed {
        match &self.content {
            Ok(bytes) => {
                let mut parsed = admit(bytes, overrides);
                let folder = Path::new(&self.name).parent().and_then(Path::file_name);
                parsed.add_surroundings(folder.and_then(|name| name.to_str()), self.resource_count);
                parsed
            }
            Err(refusal) => Parsed { playbook: None, diagnostics: vec![refusal.clone()] },
        }
    }
}

/// Whether the bytes begin as those of a zip do.
#[must_use]
pub fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// Reads an archive.
///
/// # Errors
/// When it is not a zip, or has too many bytes or entries; its entries fail one by one.
pub fn read(bytes: &[u8]) -> Result<Archive, Diagnostic> {
    if bytes.len() > ARCHIVE_BYTES_MAX {
        let message = format!("the archive has {} bytes, the limit is {ARCHIVE_BYTES_MAX}", bytes.len());
        return Err(refused(message).hint("make several archives, or leave out what is not a SKILL.md"));
    }
    let listed = list(bytes)?;
    let conflicts = conflicts(&listed);
    let resources = resources(&listed);
    let (mut archive, mut budget) = (Archive::default(), ARCHIVE_INFLATED_BYTES_MAX);
    for (index, item) in listed.into_iter().enumerate() {
        let conflict = conflicts.get(&index).cloned();
        match item.fault().or(conflict) {
            Some(refusal) => archive.refuse(item.name, refusal),
            None if name::is_junk(&item.name) => archive.junk_count += 1,
            None if item.entry.is_dir() => {}
            None if item.is_skill() => {
                let resource_count = resources.get(folder(&item.name)).copied().unwrap_or(0);
                let name = item.name.clone();
                let content = item.into_content(bytes, &mut budget);
                archive.entries.push(Entry { name, content, resource_count });
            }
            None => archive.other_count += 1,
        }
    }
    Ok(archive)
}

impl Archive {
    fn refuse(&mut self, name: String, refusal: Diagnostic) {
        self.entries.push(Entry { name, content: Err(refusal), resource_count: 0 });
    }
}

fn refused(message: impl Into<String>) -> Diagnostic {
    Diagnostic::refused(Place::line(1), message)
}

/// An entry of the archive's directory.
struct Listed {
    name: String,
    entry: ZipFileEntry<'static>,
}

/// The archive's directory, repetitions included.
fn list(bytes: &[u8]) -> Result<Vec<Listed>, Diagnostic> {
    let broken = |error: &ZipError| refused(format!("the archive cannot be read: {}", shown(error)));
    let mut zip = ZipIterable::try_new(Cursor::new(bytes), Config::default()).map_err(|error| {
        let hint = if is_zip(bytes) {
            "its end is missing: copy it again"
        } else {
            "name a zip, a SKILL.md or a directory"
        };
        broken(&error).hint(hint)
    })?;
    if zip.len() > ARCHIVE_ENTRIES_MAX {
        let message = format!("the archive has {} entries, the limit is {ARCHIVE_ENTRIES_MAX}", zip.len());
        return Err(refused(message).hint("make several archives, or leave out what is not a SKILL.md"));
    }
    let mut listed = Vec::with_capacity(zip.len());
    for entry in zip.files().map_err(|error| broken(&error))? {
        let entry = entry.map_err(|error| broken(&error))?;
        let name = entry.name().map_or_else(
            |_| String::from_utf8_lossy(entry.name_raw()).into_owned(),
            std::borrow::Cow::into_owned,
        );
        let name = name.strip_prefix("./").map_or(name.clone(), str::to_owned);
        listed.push(Listed { name, entry });
    }
    Ok(listed)
}

/// An error of the reader, without what a terminal would obey.
fn shown(error: &ZipError) -> String {
    text::escaped(&error.to_string(), 160)
}

impl Listed {
    fn is_skill(&self) -> bool {
        self.file_name() == SKILL_FILE
    }

    fn file_name(&self) -> &str {
        self.name.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
    }

    /// Why the entry is refused without a look at its content.
    fn fault(&self) -> Option<Diagnostic> {
        if let Some(fault) = name::fault(&self.name) {
            return Some(refused(fault).hint("pack the folder of the skill again, with names inside it"));
        }
        if name::is_junk(&self.name) {
            return None;
        }
        // The bits of the kind stand there whatever system is said to have made the archive, and some programs obey them.
        match (self.entry.external_attributes() >> 16) & 0o170_000 {
            0 | 0o100_000 | 0o040_000 => {}
            0o120_000 => {
                return Some(refused("it is a symbolic link").hint("pack the file that it leads to"));
            }
            _ => return Some(refused("it is neither a file nor a directory").hint("leave it out")),
        }
        if self.entry.is_dir() {
            return self.is_skill().then(|| refused("this SKILL.md is a directory").hint("make it a file"));
        }
        if !self.is_skill() && self.file_name().eq_ignore_ascii_case(SKILL_FILE) {
            let message = format!("this file is named {}", text::escaped(self.file_name(), 40));
            return Some(refused(message).hint("rename it to SKILL.md"));
        }
        None
    }

    /// The bytes of a skill's file, at most as many as one may have.
    fn into_content(self, archive: &[u8], budget: &mut usize) -> Result<Vec<u8>, Diagnostic> {
        if self.entry.encrypted() {
            return Err(refused("it is encrypted").hint("pack it without a password"));
        }
        let method = self.entry.compression();
        if !matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) {
            let message = format!("its compression method is {method}, which is not read");
            return Err(refused(message).hint("pack it with deflate, which every program has"));
        }
        if !self.is_named_alike(archive) {
            let message = "it has another name in front of its content than in the archive's directory";
            return Err(refused(message).hint("pack it again: programs would disagree about what it is"));
        }
        let packed = self.entry.compressed_size();
        let cannot = |cause: String| refused(format!("it cannot be unpacked: {cause}")).hint("pack it again");
        let mut reader = Cursor::new(archive);
        let file = self.entry.with_reader(&mut reader, ZipReadOptions::new());
        let file = file.map_err(|error| cannot(shown(&error)))?;
        let (mut bytes, bound) = (Vec::new(), (FILE_BYTES_MAX + 1).min(*budget));
        let read = file.take(bound as u64).read_to_end(&mut bytes);
        *budget -= bytes.len();
        if bytes.len() > FILE_BYTES_MAX {
            let message = format!("it has more than {FILE_BYTES_MAX} bytes, which is the limit of a file");
            return Err(refused(message).hint("split it into two playbooks"));
        }
        if *budget == 0 {
            let message = format!(
                "the skills of this archive have more than {ARCHIVE_INFLATED_BYTES_MAX} bytes together, which is the limit"
            );
            return Err(refused(message).hint("make several archives"));
        }
        read.map_err(|error| cannot(text::escaped(&error.to_string(), 160)))?;
        if bytes.len() as u64 > packed.saturating_mul(ARCHIVE_RATIO_MAX) {
            let message = format!(
                "its {packed} bytes inflate to {}, which is more than {ARCHIVE_RATIO_MAX} times as many",
                bytes.len()
            );
            return Err(refused(message).hint("remove the padding, or pack it without compression"));
        }
        Ok(bytes)
    }

    /// Whether the name in front of the content is that of the directory: some programs read the one, some the other.
    fn is_named_alike(&self, archive: &[u8]) -> bool {
        const LENGTH_AT: usize = 26;
        const NAME_AT: usize = 30;
        let header = usize::try_from(self.entry.header_start()).ok().and_then(|start| archive.get(start..));
        let name = header.and_then(|header| {
            let length = header.get(LENGTH_AT..LENGTH_AT + 2)?;
            header.get(NAME_AT..NAME_AT + usize::from(u16::from_le_bytes([length[0], length[1]])))
        });
        name == Some(self.entry.name_raw())
    }
}

/// The directory of an entry; empty at the top.
fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Entries that would be one file when they are unpacked, or one of which would have to be a directory for another.
fn conflicts(listed: &[Listed]) -> HashMap<usize, Diagnostic> {
    let counts = |item: &&(usize, &Listed)| {
        let (_, listed) = item;
        !listed.entry.is_dir() && name::fault(&listed.name).is_none() && !name::is_junk(&listed.name)
    };
    let mut holders: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, item) in listed.iter().enumerate().filter(|item| counts(&item)) {
        holders.entry(name::unpacked(&item.name)).or_default().push(index);
    }
    let mut found = HashMap::new();
    for (form, indices) in &holders {
        for &index in indices {
            let other = indices.iter().find(|other| **other != index);
            let above = || {
                let mut parents = form.match_indices('/').filter_map(|(at, _)| holders.get(&form[..at]));
                parents.next().and_then(|indices| indices.first())
            };
            if let Some(&other) = other.or_else(above) {
                let message = format!(
                    "it would be unpacked to the same place as \"{}\", entry {} of the archive",
                    text::escaped(&listed[other].name, 120),
                    other + 1
                );
                found.insert(
                    index,
                    refused(message).hint("keep one of the two: programs would disagree which it is"),
                );
            }
        }
    }
    found
}

/// How many resource files each directory has.
fn resources(listed: &[Listed]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for item in listed.iter().filter(|item| !item.entry.is_dir() && !name::is_junk(&item.name)) {
        let parents = item.name.rmatch_indices('/').map(|(at, _)| &item.name[..at]);
        let is_resource_dir =
            |parent: &&str| RESOURCE_DIRS.contains(&parent.rsplit('/').next().unwrap_or_default());
        if let Some(parent) = parents.into_iter().find(is_resource_dir) {
            *counts.entry(folder(parent).to_owned()).or_default() += 1;
        }
    }
    counts
}
