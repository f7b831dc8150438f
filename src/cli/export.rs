//! `maitred export`: playbooks as files that other hosts take.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;

use super::import::{Placed, Target};
use super::sources::{self, progress};
use super::{Outcome, print, show};
use crate::app::packs;
use crate::domain::limits::ARCHIVE_ENTRIES_MAX;
use crate::domain::playbook::Playbook;
use crate::domain::slug::Slug;
use crate::domain::text;
use crate::format::diagnostic::{Diagnostic, Severity};
use crate::format::{archive, export};
use crate::server;

/// What the exit codes mean, for the help.
const EXIT_CODES: &str = "\
A zip of one playbook holds <name>/SKILL.md and nothing else, as uploaders want it; one of several holds a folder for each.
Equal playbooks give equal bytes, whenever and wherever they are exported.

Exit codes:
  0  every playbook asked for is written, or was there already
  1  one cannot be written as a file, or another of its name is in the directory
  2  nothing is written: a playbook or path is not there, or an option is wrong";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Files, zips or directories whose playbooks are exported; without it those of the library that is built in. Repeatable.
    #[arg(long, value_name = "PATH")]
    skills: Vec<PathBuf>,

    /// Files that are exported although the scanner blocks them: a line for each, `sha256:DIGEST RULESET REASON`.
    #[arg(long, value_name = "FILE", env = "MAITRED_ALLOW_FILE")]
    allow_file: Option<PathBuf>,

    /// What is written.
    #[arg(long, value_name = "FORMAT", default_value = "zip")]
    format: Format,

    /// Where to: a new file, a directory, or - for standard output.
    #[arg(long, short, value_name = "PATH", default_value = "-")]
    output: PathBuf,

    /// Exports every playbook.
    #[arg(long, conflicts_with = "slugs", required_unless_present = "slugs")]
    all: bool,

    /// Prints one JSON object about what was written; not with --output -.
    #[arg(long)]
    json: bool,

    /// Names of the playbooks.
    #[arg(value_name = "NAME")]
    slugs: Vec<String>,
}

/// `--format`: what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One zip with <name>/SKILL.md for each playbook
    Zip,
    /// The bare SKILL.md of one playbook
    Markdown,
    /// <name>/SKILL.md for each playbook, in a directory
    Directory,
}

#[derive(Serialize)]
struct Report {
    output: PathBuf,
    playbooks: Vec<PlaybookView>,
}

#[derive(Serialize)]
struct PlaybookView {
    slug: String,
    digest: String,
    #[serde(flatten)]
    outcome: Written,
}

/// What became of a playbook.
#[derive(Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum Written {
    Exported,
    Skipped { identical: bool },
    Refused { reason: String },
}

pub(super) fn run(args: &Args) -> Outcome {
    let to_stdout = args.output == Path::new("-");
    if to_stdout && args.format == Format::Directory {
        return Err("--format directory needs --output DIR".to_owned());
    }
    if to_stdout && args.json {
        return Err(
            "--json and what is exported cannot both go to standard output: give --output PATH".to_owned()
        );
    }
    if to_stdout && args.format == Format::Zip && std::io::stdout().is_terminal() {
        return Err("a zip is not for a terminal: give --output FILE, or --format markdown".to_owned());
    }
    let chosen = chosen(args)?;
    let views = match args.format {
        Format::Directory => to_directory(args, &chosen)?,
        Format::Zip | Format::Markdown => to_file(args, &chosen, to_stdout)?,
    };
    let is_whole = views
        .iter()
        .all(|view| matches!(view.outcome, Written::Exported | Written::Skipped { identical: true }));
    if args.json {
        print(&show::json(&Report { output: args.output.clone(), playbooks: views }))?;
    } else {
        tell(args, &views, to_stdout)?;
    }
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The playbooks that were asked for, in the order of their names.
fn chosen(args: &Args) -> Result<Vec<Arc<Playbook>>, String> {
    let available = if args.skills.is_empty() { library() } else { from_paths(args)? };
    let chosen: Vec<Arc<Playbook>> = if args.all {
        available.into_values().collect()
    } else {
        let find = |name: &String| {
            let slug = Slug::parse(name).map_err(|error| error.to_string())?;
            let found = available.get(&slug).cloned();
            found.map(|playbook| (slug, playbook)).ok_or_else(|| missing(name, &available))
        };
        args.slugs.iter().map(find).collect::<Result<BTreeMap<_, _>, _>>()?.into_values().collect()
    };
    if args.format == Format::Markdown && chosen.len() != 1 {
        return Err(format!("--format markdown is for one playbook, not for {}", chosen.len()));
    }
    if args.format == Format::Zip && chosen.len() > ARCHIVE_ENTRIES_MAX {
        let count = chosen.len();
        return Err(format!(
            "a zip of {count} playbooks could not be imported, the limit is {ARCHIVE_ENTRIES_MAX}"
        ));
    }
    Ok(chosen)
}

fn library() -> BTreeMap<Slug, Arc<Playbook>> {
    let playbooks = packs::library().into_iter().flat_map(|pack| pack.playbooks);
    playbooks.map(|playbook| (playbook.slug().clone(), playbook)).collect()
}

/// Of playbooks of one name the first, as a server takes them. Says on standard error what is not there to be exported,
/// and what the scanner says of what is: the same holds for what goes out as for what comes in.
fn from_paths(args: &Args) -> Result<BTreeMap<Slug, Arc<Playbook>>, String> {
    let overrides = server::overrides(args.allow_file.as_deref())?;
    let mut sources = sources::read_all(&args.skills, &overrides)?;
    sources.extend(sources::unused(args.allow_file.as_deref(), &overrides));
    let mut available = BTreeMap::new();
    for source in sources {
        let path = source.path();
        let is_wanted = source.parsed.playbook.as_ref().is_none_or(|playbook| {
            args.all || args.slugs.iter().any(|slug| slug == playbook.slug().as_str())
        });
        let is_told = |said: &&Diagnostic| {
            said.severity >= Severity::NotServed
                || (is_wanted && said.severity == Severity::Warning && said.rule.is_some())
        };
        for finding in source.parsed.diagnostics.iter().filter(is_told) {
            say(&show::finding(&path, finding));
        }
        let Some(playbook) = source.parsed.playbook else { continue };
        if available.contains_key(playbook.slug()) {
            let slug = playbook.slug();
            say(&format!(
                "{}: not exported: an earlier file has the name \"{slug}\"",
                text::escaped_path(&path)
            ));
        } else {
            available.insert(playbook.slug().clone(), Arc::new(playbook));
        }
    }
    Ok(available)
}

fn missing(name: &str, available: &BTreeMap<Slug, Arc<Playbook>>) -> String {
    let names: Vec<&str> = available.keys().map(Slug::as_str).take(40).collect();
    let more = if available.len() > names.len() { ", ..." } else { "" };
    format!("there is no playbook \"{}\"; there are: {}{more}", text::escaped(name, 80), names.join(", "))
}

fn view(playbook: &Playbook, outcome: Written) -> PlaybookView {
    PlaybookView { slug: playbook.slug().to_string(), digest: playbook.digest().to_string(), outcome }
}

fn to_file(args: &Args, chosen: &[Arc<Playbook>], to_stdout: bool) -> Result<Vec<PlaybookView>, String> {
    let (mut files, mut views) = (BTreeMap::new(), Vec::new());
    for playbook in chosen {
        let outcome = match export::skill_md(playbook) {
            Ok(text) => {
                files.insert(playbook.slug().clone(), text);
                Written::Exported
            }
            Err(error) => Written::Refused { reason: error.to_string() },
        };
        views.push(view(playbook, outcome));
    }
    let bytes = match args.format {
        Format::Markdown => files.into_values().next().unwrap_or_default().into_bytes(),
        _ => archive::write(&files),
    };
    if to_stdout {
        let written = std::io::stdout().write_all(&bytes);
        written.map_err(|error| format!("standard output: {error}"))?;
    } else if views.iter().any(|view| matches!(view.outcome, Written::Exported)) {
        write_new(&args.output, &bytes)?;
    }
    Ok(views)
}

/// Never over something that is there.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let shown = text::escaped_path(path);
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = file.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            format!("{shown} exists and is not overwritten: give another name, or remove it")
        }
        _ => format!("{shown}: {error}"),
    })?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| {
        // Half a zip helps nobody.
        let _ = std::fs::remove_file(path);
        format!("{shown}: {error}")
    })
}

fn to_directory(args: &Args, chosen: &[Arc<Playbook>]) -> Result<Vec<PlaybookView>, String> {
    let mut target = Target::open(&args.output)?;
    let (bar, mut views) = (progress(chosen.len()), Vec::new());
    for playbook in chosen {
        bar.inc(1);
        let outcome = match target.place(playbook) {
            Placed::Imported { .. } => Written::Exported,
            Placed::Skipped { identical, .. } => Written::Skipped { identical },
            Placed::Refused { reason } => Written::Refused { reason },
        };
        views.push(view(playbook, outcome));
    }
    bar.finish_and_clear();
    Ok(views)
}

/// What was not written, on standard error; the sum, on standard output unless the export went there.
fn tell(args: &Args, views: &[PlaybookView], to_stdout: bool) -> Result<(), String> {
    let mut exported = 0;
    for PlaybookView { slug, outcome, .. } in views {
        match outcome {
            Written::Exported => exported += 1,
            Written::Skipped { identical: true } => {
                say(&format!("{slug}: skipped: the same is there already"));
            }
            Written::Skipped { identical: false } => {
                say(&format!("{slug}: skipped: another playbook of its name is there"));
            }
            Written::Refused { reason } => say(&format!("{slug}: not exported: {reason}")),
        }
    }
    if !to_stdout {
        let shown = text::escaped_path(&args.output);
        print(&format!("{exported} of {} playbooks exported to {shown}\n", views.len()))?;
    }
    Ok(())
}

/// A line on standard error, which may be closed.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
