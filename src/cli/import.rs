//! `maitred import`: skills from files, directories and zips into a directory.
//!
//! What is written is the playbook as the exporter has it: what is not honoured (a tool grant above all) does not come
//! along, and is named. Nothing that is there is ever changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use super::check::{DiagnosticView, diagnostic_view};
use super::sources::{self, Source, progress};
use super::{Outcome, print, show};
use crate::domain::digest::Digest;
use crate::domain::limits::{DIRECTORY_LEVELS_MAX, FILE_BYTES_MAX};
use crate::domain::playbook::Playbook;
use crate::domain::slug::Slug;
use crate::domain::text;
use crate::format::export;
use crate::format::gate::admit;
use crate::format::parse::parse;
use crate::format::scan::RULESET;
use crate::format::scan::overrides::Overrides;
use crate::server;
use crate::store::directory::{discover, put};

/// What the exit codes mean, for the help.
const EXIT_CODES: &str = "\
Exit codes:
  0  every skill is there now: imported, or skipped because the same was there
  1  one was refused, or skipped because another of its name was there
  2  nothing could be imported: a path cannot be read or holds no SKILL.md, or an option is wrong";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// The directory that gets <name>/SKILL.md for each skill; it is made if it is not there.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// Files that are let in although the scanner blocks them: a line for each, `sha256:DIGEST RULESET REASON`.
    #[arg(long, value_name = "FILE", env = "MAITRED_ALLOW_FILE")]
    allow_file: Option<PathBuf>,

    /// Prints one JSON object.
    #[arg(long)]
    json: bool,

    /// Files, zips, or directories whose every SKILL.md is imported. A skill's name is the one in its file.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Report<'a> {
    entries: Vec<EntryView<'a>>,
    summary: Summary,
}

#[derive(Serialize)]
struct EntryView<'a> {
    /// Where it came from.
    name: String,
    #[serde(flatten)]
    outcome: &'a Placed,
    slug: Option<String>,
    digest: Option<String>,
    diagnostics: Vec<DiagnosticView<'a>>,
}

#[derive(Default, Serialize)]
struct Summary {
    imported: usize,
    skipped: usize,
    refused: usize,
}

/// What became of a skill.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(super) enum Placed {
    /// It is written.
    Imported {
        /// Its file.
        path: PathBuf,
        /// The digest of that file, where the scanner blocks it and its source was let in: a server that is to serve it
        /// needs a line of its own for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        blocked: Option<String>,
    },
    /// One of its name is there.
    Skipped {
        /// Whether it is the same playbook.
        identical: bool,
        /// Where it is.
        path: PathBuf,
    },
    /// It is not written.
    Refused {
        /// Why.
        reason: String,
    },
}

/// The playbooks of a directory that skills are put into.
pub(super) struct Target {
    dir: PathBuf,
    held: BTreeMap<Slug, (Digest, PathBuf)>,
}

impl Target {
    /// Makes the directory if it is not there, and looks at what it holds.
    pub(super) fn open(dir: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", text::escaped_path(dir)))?;
        let discovery = discover(dir, DIRECTORY_LEVELS_MAX).map_err(|error| error.to_string())?;
        let mut held = BTreeMap::new();
        for found in discovery.found {
            // Who is there is there, whatever the scanner says of it.
            let bytes = std::fs::metadata(&found.path).map_or(0, |metadata| metadata.len());
            let is_small = usize::try_from(bytes).is_ok_and(|bytes| bytes <= FILE_BYTES_MAX);
            let text = std::fs::read(&found.path).ok().filter(|_| is_small);
            if let Some(playbook) = text.and_then(|text| parse(&text).playbook) {
                held.entry(playbook.slug().clone()).or_insert((playbook.digest(), found.path));
            }
        }
        Ok(Self { dir: dir.to_owned(), held })
    }

    /// Puts a playbook there, unless one of its name is.
    pub(super) fn place(&mut self, playbook: &Playbook) -> Placed {
        if let Some((digest, path)) = self.held.get(playbook.slug()) {
            return Placed::Skipped { identical: *digest == playbook.digest(), path: path.clone() };
        }
        let text = match export::skill_md(playbook) {
            Ok(text) => text,
            Err(error) => return Placed::Refused { reason: error.to_string() },
        };
        match put(&self.dir, playbook.slug(), &text) {
            Ok(path) => {
                self.held.insert(playbook.slug().clone(), (playbook.digest(), path.clone()));
                let is_blocked = admit(text.as_bytes(), &Overrides::default()).playbook.is_none();
                let blocked = is_blocked.then(|| Digest::of_bytes(text.as_bytes()).to_string());
                Placed::Imported { path, blocked }
            }
            Err(reason) => Placed::Refused { reason },
        }
    }
}

pub(super) fn run(args: &Args) -> Outcome {
    let overrides = server::overrides(args.allow_file.as_deref())?;
    let mut sources = sources::read_all(&args.paths, &overrides)?;
    sources.extend(sources::unused(args.allow_file.as_deref(), &overrides));
    let mut target = Target::open(&args.to)?;
    let bar = progress(sources.len());
    let mut outcomes = Vec::new();
    for source in &sources {
        bar.inc(1);
        outcomes.extend(place(&mut target, source).map(|placed| (source, placed)));
    }
    bar.finish_and_clear();
    let summary = summarise(&outcomes);
    let is_whole = summary.refused == 0 && !outcomes.iter().any(|(_, placed)| is_other(placed));
    let text = if args.json { json(&outcomes, summary) } else { lines(&sources, &outcomes, &summary) };
    print(&text)?;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// None for a remark about something that is not a skill.
fn place(target: &mut Target, source: &Source) -> Option<Placed> {
    match (&source.parsed.playbook, source.parsed.refusal()) {
        (Some(playbook), _) => Some(target.place(playbook)),
        (None, Some(refusal)) => Some(Placed::Refused { reason: refusal.to_string() }),
        (None, None) => None,
    }
}

/// Whether another playbook of that name stays where it is.
fn is_other(placed: &Placed) -> bool {
    matches!(placed, Placed::Skipped { identical: false, .. })
}

fn summarise(outcomes: &[(&Source, Placed)]) -> Summary {
    let mut summary = Summary::default();
    for (_, placed) in outcomes {
        match placed {
            Placed::Imported { .. } => summary.imported += 1,
            Placed::Skipped { .. } => summary.skipped += 1,
            Placed::Refused { .. } => summary.refused += 1,
        }
    }
    summary
}

fn json(outcomes: &[(&Source, Placed)], summary: Summary) -> String {
    let entries = outcomes.iter().map(|(source, outcome)| {
        let playbook = source.parsed.playbook.as_ref();
        EntryView {
            name: source.path().to_string_lossy().into_owned(),
            outcome,
            slug: playbook.map(|playbook| playbook.slug().to_string()),
            digest: playbook.map(|playbook| playbook.digest().to_string()),
            diagnostics: source.parsed.diagnostics.iter().map(diagnostic_view).collect(),
        }
    });
    show::json(&Report { entries: entries.collect(), summary })
}

/// One line an outcome, one a finding, and the sums.
fn lines(sources: &[Source], outcomes: &[(&Source, Placed)], summary: &Summary) -> String {
    let mut out: Vec<String> = outcomes
        .iter()
        .map(|(source, placed)| format!("{}: {}", text::escaped_path(&source.path()), words(placed)))
        .collect();
    for source in sources {
        let findings = source.parsed.diagnostics.iter();
        out.extend(findings.map(|finding| show::finding(&source.path(), finding)));
    }
    let Summary { imported, skipped, refused } = summary;
    out.push(format!("{imported} imported, {skipped} skipped, {refused} refused\n"));
    out.join("\n")
}

/// The outcome as words.
fn words(placed: &Placed) -> String {
    match placed {
        Placed::Imported { path, blocked: None } => format!("imported to {}", text::escaped_path(path)),
        Placed::Imported { path, blocked: Some(digest) } => format!(
            "imported to {}; the scanner blocks what is written, too: `{digest} {RULESET} <reason>` lets it in",
            text::escaped_path(path)
        ),
        Placed::Skipped { identical: true, path } => {
            format!("skipped: the same playbook is in {}", text::escaped_path(path))
        }
        Placed::Skipped { identical: false, path } => format!(
            "skipped: another playbook of its name is in {}; rename one of the two",
            text::escaped_path(path)
        ),
        Placed::Refused { reason } => format!("refused: {reason}"),
    }
}
