//! `maitred check`: what the parser makes of files, and what to expect of them on menus.

mod menu;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::{Outcome, print, show};
use crate::compute;
use crate::domain::limits::DIRECTORY_LEVELS_MAX;
use crate::domain::slug::Slug;
use crate::domain::text;
use crate::format::diagnostic::{Diagnostic, Place, Severity};
use crate::format::parse::Parsed;
use crate::store::directory::{Found, discover, read};

/// Directories below a named one that are looked into; more than a server does, which is noted.
const LEVELS_MAX: usize = 32;

/// Files from which on a progress bar is worth its line.
const PROGRESS_FROM: usize = 200;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Looks at the accepted files as one agent's playbooks, too: how often each would fire on turns that are about none,
    /// triggers that are too short or too common, descriptions that say nothing, pairs that cannot be told apart, and
    /// whether each playbook's own description selects it.
    #[arg(long)]
    menu: bool,

    /// Prints one JSON object.
    #[arg(long)]
    json: bool,

    /// Files, or directories whose every SKILL.md is checked.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Report<'a> {
    files: Vec<FileView>,
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    menu: Option<&'a menu::MenuView>,
}

#[derive(Serialize)]
struct FileView {
    path: String,
    outcome: &'static str,
    slug: Option<String>,
    digest: Option<String>,
    diagnostics: Vec<DiagnosticView>,
}

#[derive(Serialize)]
struct DiagnosticView {
    severity: &'static str,
    line: usize,
    column: usize,
    message: String,
    hint: String,
}

#[derive(Default, Serialize)]
struct Summary {
    files: usize,
    accepted: usize,
    /// Accepted files about which there is a warning: repaired, or probably not what the author meant.
    with_warnings: usize,
    /// Accepted files of which something is not honoured.
    with_notes: usize,
    refused: usize,
}

/// What was made of a path.
struct Checked {
    path: PathBuf,
    parsed: Parsed,
}

pub(super) fn run(args: &Args) -> Outcome {
    let (found, mut remarks) = collect(&args.paths)?;
    let progress = progress(found.len());
    let parsed = compute::map(&found, |found| {
        let parsed = check(found);
        progress.inc(1);
        parsed
    });
    progress.finish_and_clear();
    let files = found.into_iter().zip(parsed).map(|(found, parsed)| Checked { path: found.path, parsed });
    let mut checked: Vec<Checked> = files.collect();
    report_equal_names(&mut checked);
    checked.append(&mut remarks);
    let summary = summarise(&checked);
    let playbooks = checked.iter().filter_map(|checked| checked.parsed.playbook.as_ref());
    let menu = args.menu.then(|| menu::look(playbooks)).transpose()?;
    let text = if args.json {
        let files = checked.iter().map(file_view).collect();
        show::json(&Report { files, summary: &summary, menu: menu.as_ref() })
    } else {
        lines(&checked, &summary) + &menu.as_ref().map(menu::lines).unwrap_or_default()
    };
    print(&text)?;
    Ok(if summary.refused > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The files to check, and what there is to say about directories on the way.
fn collect(paths: &[PathBuf]) -> Result<(Vec<Found>, Vec<Checked>), String> {
    let mut found = Vec::new();
    let mut remarks = Vec::new();
    for path in paths {
        let metadata = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
        if !metadata.is_dir() {
            found.push(Found::file(path, &metadata));
            continue;
        }
        let discovery = discover(path, LEVELS_MAX).map_err(|error| error.to_string())?;
        if discovery.found.is_empty() {
            return Err(format!("{}: holds no SKILL.md", path.display()));
        }
        found.extend(discovery.found);
        remarks.extend(discovery.reports.into_iter().map(|report| {
            let parsed = Parsed { playbook: None, diagnostics: report.diagnostics };
            Checked { path: report.path, parsed }
        }));
    }
    let mut seen = BTreeSet::new();
    found.retain(|found| seen.insert(found.path.clone()));
    Ok((found, remarks))
}

/// Says where a name stands twice: a server that is given both serves the first.
fn report_equal_names(checked: &mut [Checked]) {
    let mut holders: HashMap<Slug, PathBuf> = HashMap::new();
    for Checked { path, parsed } in checked {
        let Some(playbook) = &parsed.playbook else { continue };
        if let Some(holder) = holders.get(playbook.slug()) {
            let holder = text::escaped_path(holder);
            let message = format!("the name \"{}\" is that of {holder} too", playbook.slug());
            let warning = Diagnostic::warning(Place::line(1), message);
            parsed.diagnostics.push(warning.hint("a server that is given both serves the first"));
        } else {
            holders.insert(playbook.slug().clone(), path.clone());
        }
    }
}

fn check(found: &Found) -> Parsed {
    let mut parsed = read(found);
    if found.levels > DIRECTORY_LEVELS_MAX {
        let message = format!(
            "it lies {} levels deep; a server given this directory looks {DIRECTORY_LEVELS_MAX} levels deep",
            found.levels
        );
        parsed
            .diagnostics
            .push(Diagnostic::note(Place::line(1), message).hint("give the server a directory below"));
    }
    parsed
}

fn progress(count: usize) -> ProgressBar {
    if count < PROGRESS_FROM {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} files, {eta} left")
        .expect("the template is valid");
    let bar = ProgressBar::new(count as u64).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Accepted, refused, or a remark about something that is not a skill.
fn outcome(parsed: &Parsed) -> &'static str {
    match (&parsed.playbook, parsed.refusal()) {
        (Some(_), _) => "accepted",
        (None, Some(_)) => "refused",
        (None, None) => "remark",
    }
}

fn summarise(checked: &[Checked]) -> Summary {
    let mut summary = Summary::default();
    for Checked { parsed, .. } in checked {
        let accepted = parsed.playbook.is_some();
        let refused = parsed.refusal().is_some();
        summary.files += usize::from(accepted || refused);
        summary.accepted += usize::from(accepted);
        summary.refused += usize::from(refused);
        summary.with_warnings += usize::from(accepted && parsed.worst() == Some(Severity::Warning));
        summary.with_notes += usize::from(accepted && parsed.worst() == Some(Severity::Note));
    }
    summary
}

fn file_view(checked: &Checked) -> FileView {
    let playbook = checked.parsed.playbook.as_ref();
    let diagnostics = checked.parsed.diagnostics.iter().map(|diagnostic| DiagnosticView {
        severity: diagnostic.severity.as_str(),
        line: diagnostic.line,
        column: diagnostic.column,
        message: diagnostic.message.clone(),
        hint: diagnostic.hint.clone(),
    });
    FileView {
        path: checked.path.to_string_lossy().into_owned(),
        outcome: outcome(&checked.parsed),
        slug: playbook.map(|playbook| playbook.slug().to_string()),
        digest: playbook.map(|playbook| playbook.digest().to_string()),
        diagnostics: diagnostics.collect(),
    }
}

/// One line a file and one a finding, as `path:line:column: ...`, and the sums.
fn lines(checked: &[Checked], summary: &Summary) -> String {
    let mut out = Vec::new();
    for Checked { path, parsed } in checked {
        if let Some(playbook) = &parsed.playbook {
            out.push(format!("{}: accepted as {}", text::escaped_path(path), playbook.slug()));
        }
        out.extend(parsed.diagnostics.iter().map(|finding| show::finding(path, finding)));
    }
    let Summary { files, accepted, with_warnings, with_notes, refused } = summary;
    let noun = if *files == 1 { "file" } else { "files" };
    out.push(format!(
        "{files} {noun}: {accepted} accepted ({with_warnings} with warnings, {with_notes} with notes only), {refused} \
         refused\n"
    ));
    out.join("\n")
}
