//! The skills that paths on the command line name: files, directories, zips.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::compute;
use crate::domain::limits::{ARCHIVE_BYTES_MAX, DIRECTORY_LEVELS_MAX};
use crate::format::archive::{self, Archive};
use crate::format::diagnostic::{Diagnostic, Place};
use crate::format::parse::{Parsed, SKILL_FILE};
use crate::format::scan::overrides::Overrides;
use crate::store::directory::{Found, discover, read};

/// Directories below a named one that are looked into; more than a server does, which is noted.
const LEVELS_MAX: usize = 32;

/// Files from which on a progress bar is worth its line.
const PROGRESS_FROM: usize = 200;

/// What was made of a skill, or what there is to say about something that is none.
#[derive(Debug)]
pub(super) struct Source {
    /// The file, or the archive that it is in.
    pub(super) file: PathBuf,
    /// Its name in the archive.
    pub(super) entry: Option<String>,
    pub(super) parsed: Parsed,
}

impl Source {
    /// The path as it is shown: of an entry that of the archive with its name below.
    pub(super) fn path(&self) -> PathBuf {
        match &self.entry {
            Some(entry) => PathBuf::from(format!("{}/{entry}", self.file.to_string_lossy())),
            None => self.file.clone(),
        }
    }

    /// Accepted, refused, or a remark about something that is not a skill.
    pub(super) fn outcome(&self) -> &'static str {
        match (&self.parsed.playbook, self.parsed.refusal()) {
            (Some(_), _) => "accepted",
            (None, Some(_)) => "refused",
            (None, None) => "remark",
        }
    }
}

/// What is still to be parsed.
enum Unread {
    File(Found),
    Zipped(PathBuf, archive::Entry),
}

/// Reads every skill that the paths name, in their order; remarks about directories and archives come last.
pub(super) fn read_all(paths: &[PathBuf], overrides: &Overrides) -> Result<Vec<Source>, String> {
    let mut collected = Collected::default();
    for path in paths {
        collected.add(path)?;
    }
    let mut seen = BTreeSet::new();
    collected.unread.retain(|unread| match unread {
        Unread::File(found) => seen.insert(found.path.clone()),
        Unread::Zipped(..) => true,
    });
    let progress = progress(collected.unread.len());
    let parsed = compute::map(&collected.unread, |unread| {
        let parsed = match unread {
            Unread::File(found) => read_file(found, overrides),
            Unread::Zipped(_, entry) => entry.admit(overrides),
        };
        progress.inc(1);
        parsed
    });
    progress.finish_and_clear();
    let mut sources: Vec<Source> = collected
        .unread
        .into_iter()
        .zip(parsed)
        .map(|(unread, parsed)| match unread {
            Unread::File(found) => Source { file: found.path, entry: None, parsed },
            Unread::Zipped(file, entry) => Source { file, entry: Some(entry.name), parsed },
        })
        .collect();
    sources.append(&mut collected.remarks);
    Ok(sources)
}

/// A remark about the lines of the allow file that none of the files needed.
pub(super) fn unused(allow_file: Option<&Path>, overrides: &Overrides) -> Option<Source> {
    let file = allow_file.filter(|_| !overrides.unused().is_empty())?;
    let say = |line| {
        Diagnostic::warning(Place::line(line), "none of the files has this digest").hint("the line can go")
    };
    let diagnostics = overrides.unused().into_iter().map(say).collect();
    Some(Source { file: file.to_owned(), entry: None, parsed: Parsed { playbook: None, diagnostics } })
}

/// A bar for work on so many files; none for few.
pub(super) fn progress(count: usize) -> ProgressBar {
    if count < PROGRESS_FROM {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} files, {eta} left")
        .expect("the template is valid");
    let bar = ProgressBar::new(count as u64).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[derive(Default)]
struct Collected {
    unread: Vec<Unread>,
    remarks: Vec<Source>,
    /// Archives that were read: one that is named twice is read once.
    archives: BTreeSet<PathBuf>,
}

impl Collected {
    fn add(&mut self, path: &Path) -> Result<(), String> {
        let metadata = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
        if !metadata.is_dir() {
            if metadata.is_file() && is_archive(path) {
                return self.add_archive(path);
            }
            self.unread.push(Unread::File(Found::file(path, &metadata)));
            return Ok(());
        }
        let discovery = discover(path, LEVELS_MAX).map_err(|error| error.to_string())?;
        if discovery.found.is_empty() {
            return Err(format!("{}: holds no {SKILL_FILE}", path.display()));
        }
        self.unread.extend(discovery.found.into_iter().map(Unread::File));
        self.remarks.extend(discovery.reports.into_iter().map(|report| Source {
            file: report.path,
            entry: None,
            parsed: Parsed { playbook: None, diagnostics: report.diagnostics },
        }));
        Ok(())
    }

    fn add_archive(&mut self, path: &Path) -> Result<(), String> {
        if !self.archives.insert(path.to_owned()) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let read =
            File::open(path).and_then(|file| file.take(ARCHIVE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes));
        read.map_err(|error| format!("{}: {error}", path.display()))?;
        match archive::read(&bytes) {
            Ok(archive) if archive.entries.is_empty() => {
                Err(format!("{}: holds no {SKILL_FILE}", path.display()))
            }
            Ok(archive) => {
                self.remark(path, ignored(&archive));
                let entries = archive.entries.into_iter();
                self.unread.extend(entries.map(|entry| Unread::Zipped(path.to_owned(), entry)));
                Ok(())
            }
            Err(refusal) => {
                self.remark(path, Some(refusal));
                Ok(())
            }
        }
    }

    fn remark(&mut self, path: &Path, remark: Option<Diagnostic>) {
        self.remarks.extend(remark.map(|remark| Source {
            file: path.to_owned(),
            entry: None,
            parsed: Parsed { playbook: None, diagnostics: vec![remark] },
        }));
    }
}

/// Whether a file is to be read as a zip: its name says so, or its beginning.
fn is_archive(path: &Path) -> bool {
    let mut beginning = [0; 4];
    let begins = File::open(path).and_then(|mut file| file.read_exact(&mut beginning)).is_ok();
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
        || begins && archive::is_zip(&beginning)
}

/// What of an archive is not looked at.
fn ignored(archive: &Archive) -> Option<Diagnostic> {
    let Archive { junk_count, other_count, .. } = archive;
    let message = format!(
        "of this archive {other_count} files that are no {SKILL_FILE} are not read, and {junk_count} that a system left \
         there are ignored"
    );
    (junk_count + other_count > 0).then(|| Diagnostic::note(Place::line(1), message))
}

fn read_file(found: &Found, overrides: &Overrides) -> Parsed {
    let mut parsed = read(found, overrides);
    if found.levels > DIRECTORY_LEVELS_MAX {
        let message = format!(
            "it lies {} levels deep; a server given this directory looks {DIRECTORY_LEVELS_MAX} levels deep",
            found.levels
        );
        let note = Diagnostic::note(Place::line(1), message);
        parsed.diagnostics.push(note.hint("give the server a directory below"));
    }
    parsed
}
