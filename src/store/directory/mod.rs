//! A directory of skills as the playbooks of one agent.
//!
//! Every `SKILL.md` below the given directories is a playbook. A broken file keeps its own last good version and takes
//! nothing else down; of two files with one name the first in argument and path order serves.
//! **Cost** of a refresh: a walk, and the reading of what changed.

mod discover;
mod read;
mod watch;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::discover::{DiscoverError, Discovery, Found, discover};
pub use self::read::read;
pub use self::watch::{Watch, watch};

use crate::compute;
use crate::domain::limits::{DIRECTORY_LEVELS_MAX, PLAYBOOKS_MAX};
use crate::domain::playbook::Playbook;
use crate::domain::slug::Slug;
use crate::format::diagnostic::{Diagnostic, FileReport, Place};
use crate::format::parse::Parsed;

/// The directories of one agent and what was last read from them.
#[derive(Debug)]
pub struct Directory {
    roots: Vec<PathBuf>,
    playbooks_max: usize,
    files: HashMap<PathBuf, Known>,
    reported: BTreeMap<PathBuf, Vec<Diagnostic>>,
}

/// A file as it was last read.
#[derive(Debug)]
struct Known {
    stamp: discover::Stamp,
    /// Its last good version.
    playbook: Option<Arc<Playbook>>,
    diagnostics: Vec<Diagnostic>,
}

/// What a refresh found.
#[derive(Debug)]
pub struct Refresh {
    /// The playbooks to serve.
    pub playbooks: Vec<Arc<Playbook>>,
    /// Files about which there is something else to say than at the last refresh.
    pub reports: Vec<FileReport>,
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
        Self { roots, playbooks_max, files: HashMap::new(), reported: BTreeMap::new() }
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
            let discovery = discover(root, DIRECTORY_LEVELS_MAX).map_err(DirectoryError::Discover)?;
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
        Ok(Refresh { playbooks, reports: self.report(said) })
    }

    fn read_changed(&mut self, found: &[Found], dirty: &BTreeSet<PathBuf>) {
        let present: BTreeSet<&Path> = found.iter().map(|found| found.path.as_path()).collect();
        self.files.retain(|path, _| present.contains(path.as_path()));
        let is_changed = |found: &&Found| {
            dirty.contains(&found.path)
                || self.files.get(&found.path).is_none_or(|known| known.stamp != found.stamp)
        };
        let changed: Vec<&Found> = found.iter().filter(is_changed).collect();
        let parsed = compute::map(&changed, |found| read(found));
        for (found, parsed) in changed.into_iter().zip(parsed) {
            let Parsed { playbook, mut diagnostics } = parsed;
            let last_good = self.files.remove(&found.path).and_then(|known| known.playbook);
            if playbook.is_none() && last_good.is_some() {
                let message = "the last good version of this file is served until it is mended";
                diagnostics.push(Diagnostic::note(Place::line(1), message));
            }
            let playbook = playbook.map(Arc::new).or(last_good);
            let known = Known { stamp: found.stamp, playbook, diagnostics };
            self.files.insert(found.path.clone(), known);
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
                let message = format!(
                    "the name \"{}\" is taken by {}; this file is not served",
                    playbook.slug(),
                    holder.display()
                );
                diagnostics.push(Diagnostic::warning(Place::line(1), message).hint("rename one of the two"));
                continue;
            }
            holders.insert(playbook.slug().clone(), &found.path);
            playbooks.push(Arc::clone(playbook));
        }
        playbooks
    }

    /// What is new to say, file by file.
    fn report(&mut self, mut said: BTreeMap<PathBuf, Vec<Diagnostic>>) -> Vec<FileReport> {
        said.retain(|_, diagnostics| !diagnostics.is_empty());
        let is_new = |(path, diagnostics): &(&PathBuf, &Vec<Diagnostic>)| {
            self.reported.get(*path).is_none_or(|before| before != *diagnostics)
        };
        let reports = said
            .iter()
            .filter(is_new)
            .map(|(path, diagnostics)| FileReport { path: path.clone(), diagnostics: diagnostics.clone() })
            .collect();
        self.reported = said;
        reports
    }
}
