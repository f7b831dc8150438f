//! A directory of skills as the playbooks of one agent.
//!
//! Every `SKILL.md` below the given directories is a playbook. A broken file keeps its own last good version and takes
//! nothing else down; of two files with one name the first in argument and path order serves.
//! **Cost** of a refresh: a walk, and the reading of what changed.

mod discover;
mod read;
mod watch;
mod write;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

pub use self::discover::{DiscoverError, Discovery, Found, discover};
pub use self::read::read;
pub use self::watch::{Watch, watch};
pub use self::write::put;

use crate::app::report::{self, Pace};
use crate::compute;
use crate::domain::limits::{DIRECTORY_LEVELS_MAX, PLAYBOOKS_MAX};
use crate::domain::playbook::Playbook;
use crate::domain::slug::Slug;
use crate::domain::text;
use crate::format::diagnostic::{Diagnostic, FileReport, Place, Severity};
use crate::format::parse::Parsed;
use crate::format::scan::overrides::Overrides;

/// The directories of one agent and what was last read from them.
#[derive(Debug)]
pub struct Directory {
    roots: Vec<PathBuf>,
    playbooks_max: usize,
    overrides: Arc<Overrides>,
    files: HashMap<PathBuf, Known>,
    reported: BTreeMap<PathBuf, Vec<Diagnostic>>,
}

/// A file as it was last read.
#[derive(Debug)]
struct Known {
    found: Found,
    /// Its last good version.
    playbook: Option<Arc<Playbook>>,
    diagnostics: Vec<Diagnostic>,
}

/// What a refresh found.
#[derive(Debug)]
pub struct Refresh {
    /// The playbooks to serve.
    pub playbooks: Vec<Arc<Playbook>>,
    /// What there is to say now and was not at the last refresh.
    pub reports: Vec<FileReport>,
    /// Files that were refused at the last refresh and are not any more.
    pub mended: Vec<PathBuf>,
}

/// Why a refresh gives no playbooks. What was served before stays.
#[derive(Debug, PartialEq, Eq)]
pub enum DirectoryError {
    /// A directory cannot be walked.
    Discover(DiscoverError),
    /// More playbooks than the agent may have.
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        max: usize,
    },
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discover(error) => error.fmt(f),
            Self::TooMany { count, max } => write!(
                f,
                "there are {count} playbooks, the limit is {max}; raise it with --max-playbooks (up to \
                 {PLAYBOOKS_MAX}), or name a smaller directory"
            ),
        }
    }
}

impl std::error::Error for DirectoryError {}

impl Directory {
    /// The playbooks below these directories, in this order of precedence. Nothing is read yet.
    #[must_use]
    pub fn new(roots: Vec<PathBuf>, playbooks_max: usize) -> Self {
        Self {
            roots,
            playbooks_max,
            overrides: Arc::default(),
            files: HashMap::new(),
            reported: BTreeMap::new(),
        }
    }

    /// The same directories, of which these files are let in whatever the scanner finds.
    #[must_use]
    pub fn with_overrides(self, overrides: Arc<Overrides>) -> Self {
        Self { overrides, ..self }
    }

    /// The directories.
    #[must_use]
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Reads what changed since the last refresh; `dirty` files are read whatever their times say.
    ///
    /// # Errors
    /// When a directory cannot be walked, or there are too many playbooks.
    pub fn refresh(&mut self, dirty: &BTreeSet<PathBuf>) -> Result<Refresh, DirectoryError> {
        let mut found = Vec::new();
        let mut said: BTreeMap<PathBuf, Vec<Diagnostic>> = BTreeMap::new();
        for root in &self.roots {
            let mut discovery = discover(root, DIRECTORY_LEVELS_MAX).map_err(DirectoryError::Discover)?;
            self.recall(&mut discovery);
            found.extend(discovery.found);
            for report in discovery.reports {
                said.entry(report.path).or_default().extend(report.diagnostics);
            }
        }
        self.read_changed(&found, dirty);
        let playbooks = self.decide(&found, &mut said);
        if playbooks.len() > self.playbooks_max {
            return Err(DirectoryError::TooMany { count: playbooks.len(), max: self.playbooks_max });
        }
        let (reports, mended) = self.report(said);
        Ok(Refresh { playbooks, reports, mended })
    }

    /// Adds the files that are known of directories that cannot be read at the moment.
    fn recall(&self, discovery: &mut Discovery) {
        let is_hidden = |path: &Path| discovery.unreadable.iter().any(|dir| path.starts_with(dir));
        let hidden: Vec<Found> = self
            .files
            .iter()
            .filter(|(path, _)| is_hidden(path))
            .map(|(_, known)| known.found.clone())
            .collect();
        if !hidden.is_empty() {
            discovery.found.extend(hidden);
            discovery.found.sort_by(|a, b| a.path.cmp(&b.path));
        }
    }

    fn read_changed(&mut self, found: &[Found], dirty: &BTreeSet<PathBuf>) {
        let present: BTreeSet<&Path> = found.iter().map(|found| found.path.as_path()).collect();
        self.files.retain(|path, _| present.contains(path.as_path()));
        let is_changed = |found: &&Found| {
            dirty.contains(&found.path)
                || self.files.get(&found.path).is_none_or(|known| known.found.stamp != found.stamp)
        };
        let changed: Vec<&Found> = found.iter().filter(is_changed).collect();
        let (pace, read_count) = (Pace::start(), AtomicUsize::new(0));
        let parsed = compute::map(&changed, |found| {
            let parsed = read(found, &self.overrides);
            report::log_reading(&pace, read_count.fetch_add(1, Ordering::Relaxed) + 1, changed.len());
            parsed
        });
        for (found, Parsed { playbook, mut diagnostics }) in changed.into_iter().zip(parsed) {
            let last_good = self.files.get(&found.path).and_then(|known| known.playbook.clone());
            if playbook.is_none() && last_good.is_some() {
                if is_being_written(found) {
                    // Its old stamp stays, so that the next look reads it again.
                    continue;
                }
                let message = "the last good version of this file is served until it is mended";
                diagnostics.push(Diagnostic::note(Place::line(1), message));
            }
            let playbook = playbook.map(Arc::new).or(last_good);
            self.files.insert(found.path.clone(), Known { found: found.clone(), playbook, diagnostics });
        }
    }

    /// The playbooks to serve: the first of each name. Says of the others which file they yield to.
    fn decide(&self, found: &[Found], said: &mut BTreeMap<PathBuf, Vec<Diagnostic>>) -> Vec<Arc<Playbook>> {
        let mut playbooks = Vec::new();
        let mut holders: HashMap<Slug, &Path> = HashMap::new();
        let mut seen: BTreeSet<&Path> = BTreeSet::new();
        for found in found.iter().filter(|found| seen.insert(&found.path)) {
            let known = &self.files[&found.path];
            let diagnostics = said.entry(found.path.clone()).or_default();
            diagnostics.extend(known.diagnostics.iter().cloned());
            let Some(playbook) = &known.playbook else { continue };
            if let Some(holder) = holders.get(playbook.slug()) {
                let holder = text::escaped_path(holder);
                let message = format!("the name \"{}\" is taken by {holder}", playbook.slug());
                diagnostics.push(Diagnostic::not_served(message).hint("rename one of the two"));
                continue;
            }
            holders.insert(playbook.slug().clone(), &found.path);
            playbooks.push(Arc::clone(playbook));
        }
        playbooks
    }

    /// What is new to say, file by file, and which files are mended.
    fn report(&mut self, mut said: BTreeMap<PathBuf, Vec<Diagnostic>>) -> (Vec<FileReport>, Vec<PathBuf>) {
        said.retain(|_, diagnostics| !diagnostics.is_empty());
        let mut reports = Vec::new();
        for (path, diagnostics) in &said {
            let before = self.reported.get(path).map_or(&[][..], Vec::as_slice);
            let new: Vec<Diagnostic> = diagnostics.iter().filter(|d| !before.contains(d)).cloned().collect();
            if !new.is_empty() {
                reports.push(FileReport { path: path.clone(), diagnostics: new });
            }
        }
        let is_refused =
            |diagnostics: &Vec<Diagnostic>| diagnostics.iter().any(|d| d.severity == Severity::Refused);
        let were_refused =
            self.reported.iter().filter(|(_, before)| is_refused(before)).map(|(path, _)| path);
        let is_mended =
            |path: &&PathBuf| self.files.contains_key(*path) && !said.get(*path).is_some_and(is_refused);
        let mended = were_refused.filter(is_mended).cloned().collect();
        self.reported = said;
        (reports, mended)
    }
}

/// How long a file that cannot be parsed is left alone after it was written: an editor may be half-way through it.
const WRITE_SETTLES: Duration = Duration::from_millis(200);

fn is_being_written(found: &Found) -> bool {
    let (secs, nanos) = found.stamp.modified;
    let written = u64::try_from(secs).ok().zip(u32::try_from(nanos).ok());
    let written = written.and_then(|(secs, nanos)| UNIX_EPOCH.checked_add(Duration::new(secs, nanos)));
    // A time in the future is not a time at which somebody writes.
    written.and_then(|written| written.elapsed().ok()).is_some_and(|age| age < WRITE_SETTLES)
}
