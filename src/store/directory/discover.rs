//! Finds the skills below a directory: bounded, in path order, without following symbolic links.

use std::collections::HashMap;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::domain::limits::DIRECTORY_ENTRIES_MAX;
use crate::domain::text;
use crate::format::diagnostic::{Diagnostic, FileReport, Place};
use crate::format::parse::{RESOURCE_DIRS, SKILL_FILE};

/// Entries of a linked directory that are looked at to tell whether it holds skills.
const LINK_ENTRIES_MAX: usize = 1_000;

/// A SKILL.md.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its path, beginning with the directory that was named.
    pub path: PathBuf,
    /// What tells whether it changed.
    pub stamp: Stamp,
    /// How many directories lie between it and the one that was named; none for the named one itself.
    pub levels: usize,
    /// How many files its `scripts`, `references` and `assets` hold.
    pub resource_count: usize,
}

impl Found {
    /// A file that was named itself.
    #[must_use]
    pub fn file(path: &Path, metadata: &Metadata) -> Self {
        Self { path: path.to_owned(), stamp: Stamp::of(metadata), levels: 0, resource_count: 0 }
    }
}

/// What changes when a file does: size, inode, and both times to the nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The size in bytes.
    pub bytes: u64,
    inode: u64,
    /// When its content was last written, in seconds and nanoseconds since 1970.
    pub modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a file.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            bytes: metadata.len(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// What lies below a directory.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The skills, in path order.
    pub found: Vec<Found>,
    /// What was seen and not looked into.
    pub reports: Vec<FileReport>,
    /// Directories that are there and cannot be read: what was known of them still holds.
    pub unreadable: Vec<PathBuf>,
}

/// A directory that cannot be walked.
#[derive(Debug, PartialEq, Eq)]
pub struct DiscoverError {
    path: PathBuf,
    message: String,
}

impl fmt::Display for DiscoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", text::escaped_path(&self.path), self.message)
    }
}

impl std::error::Error for DiscoverError {}

/// Finds every `SKILL.md` at most `levels_max` directories below `root`.
///
/// # Errors
/// When `root` is not a directory that can be read, or holds too many entries.
pub fn discover(root: &Path, levels_max: usize) -> Result<Discovery, DiscoverError> {
    let fail = |message: String| DiscoverError { path: root.to_owned(), message };
    let metadata = std::fs::metadata(root).map_err(|error| fail(format!("cannot be read: {error}")))?;
    if !metadata.is_dir() {
        return Err(fail("is not a directory; name the directory that holds the skills".to_owned()));
    }
    let mut walk =
        Walk { levels_max, discovery: Discovery::default(), resources: HashMap::new(), too_deep: 0 };
    // One level more than is looked into, to name a skill that lies just too deep.
    let entries = WalkDir::new(root).max_depth(levels_max + 2).sort_by_file_name();
    let entries = entries.into_iter().filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    for (count, entry) in entries.enumerate() {
        if count == DIRECTORY_ENTRIES_MAX {
            return Err(fail(format!(
                "holds more than {DIRECTORY_ENTRIES_MAX} entries; name a smaller directory"
            )));
        }
        match entry {
            Ok(entry) => walk.visit(&entry),
            Err(error) if error.depth() == 0 => return Err(fail(format!("cannot be read: {error}"))),
            Err(error) => walk.unreadable(root, &error),
        }
    }
    Ok(walk.finish(root))
}

struct Walk {
    levels_max: usize,
    discovery: Discovery,
    /// How many resource files each skill directory has.
    resources: HashMap<PathBuf, usize>,
    too_deep: usize,
}

impl Walk {
    fn visit(&mut self, entry: &DirEntry) {
        let (kind, name) = (entry.file_type(), entry.file_name());
        if kind.is_symlink() {
            self.symlink(entry);
        } else if name == SKILL_FILE && !kind.is_file() {
            let what = if kind.is_dir() { "a directory" } else { "not a regular file" };
            self.say(entry.path(), Diagnostic::not_served(format!("this SKILL.md is {what}")));
        } else if kind.is_dir() {
            self.too_deep += usize::from(entry.depth() == self.levels_max + 1);
        } else if name == SKILL_FILE && entry.depth() > self.levels_max + 1 {
            let message = format!("this skill lies deeper than {} levels", self.levels_max);
            self.say(
                entry.path(),
                Diagnostic::not_served(message).hint("name a directory below with --skills"),
            );
        } else if name == SKILL_FILE {
            self.skill(entry);
        } else if name.eq_ignore_ascii_case(SKILL_FILE) {
            let message = format!("this file is named {}", text::escaped(&name.to_string_lossy(), 40));
            self.say(entry.path(), Diagnostic::not_served(message).hint("rename it to SKILL.md"));
        } else if let Some(skill) = skill_of_resource(entry.path()) {
            *self.resources.entry(skill.to_owned()).or_default() += 1;
        }
    }

    fn skill(&mut self, entry: &DirEntry) {
        // One that went away between the listing and the look is not there.
        if let Ok(metadata) = entry.metadata() {
            self.discovery.found.push(Found {
                path: entry.path().to_owned(),
                stamp: Stamp::of(&metadata),
                levels: entry.depth().saturating_sub(1),
                resource_count: 0,
            });
        }
    }

    fn symlink(&mut self, entry: &DirEntry) {
        if entry.file_name() == SKILL_FILE || leads_to_skill(entry.path()) {
            let message = "this symbolic link is not followed, and the skills behind it are not served";
            let hint = "name the directory that it leads to with --skills";
            self.say(entry.path(), Diagnostic::not_served(message).hint(hint));
        }
    }

    fn unreadable(&mut self, root: &Path, error: &walkdir::Error) {
        let is_gone = error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if !is_gone {
            let path = error.path().unwrap_or(root);
            let cause = error.io_error().map_or_else(String::new, |error| format!(": {error}"));
            self.say(path, Diagnostic::not_served(format!("this directory cannot be read{cause}")));
            self.discovery.unreadable.push(path.to_owned());
        }
    }

    fn say(&mut self, path: &Path, diagnostic: Diagnostic) {
        self.discovery.reports.push(FileReport { path: path.to_owned(), diagnostics: vec![diagnostic] });
    }

    fn finish(mut self, root: &Path) -> Discovery {
        if self.too_deep > 0 {
            let message = format!(
                "directories deeper than {} levels are not looked into ({})",
                self.levels_max, self.too_deep
            );
            self.say(root, Diagnostic::note(Place::line(1), message));
        }
        for found in &mut self.discovery.found {
            let skill = found.path.parent().unwrap_or(root);
            found.resource_count = self.resources.get(skill).copied().unwrap_or(0);
        }
        self.discovery
    }
}

/// Whether a linked directory is a skill or holds one directly.
fn leads_to_skill(link: &Path) -> bool {
    let holds_skill = |dir: &Path| dir.join(SKILL_FILE).is_file();
    let children = || std::fs::read_dir(link).into_iter().flatten().take(LINK_ENTRIES_MAX).flatten();
    holds_skill(link) || children().any(|child| holds_skill(&child.path()))
}

/// The skill directory to which a file belongs as a resource, by its path.
fn skill_of_resource(path: &Path) -> Option<&Path> {
    let is_resource_dir = |dir: &&Path| {
        dir.file_name().and_then(|name| name.to_str()).is_some_and(|name| RESOURCE_DIRS.contains(&name))
    };
    path.ancestors().skip(1).find(is_resource_dir)?.parent()
}
