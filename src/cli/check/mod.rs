//! `maitred check`: what the parser makes of files, and what to expect of them on menus.

mod github;
mod menu;
mod sarif;
mod views;

pub(super) use self::views::{DiagnosticView, diagnostic_view};

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;

use super::sources::{self, Source};
use super::{Outcome, print};
use crate::domain::slug::Slug;
use crate::domain::text;
use crate::format::diagnostic::{Diagnostic, Place, Severity};
use crate::server;

/// What the exit codes mean, for the help.
const EXIT_CODES: &str = "\
Exit codes:
  0  no file is refused; there may be warnings and notes
  1  a file, or an entry of a zip, is refused
  2  the check could not be made: a path cannot be read or holds no SKILL.md, or an option is wrong";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Looks at the accepted files as one agent's playbooks, too: how often each would fire on turns that are about none,
    /// triggers that are too short or too common, descriptions that say nothing, pairs that cannot be told apart, and
    /// whether each playbook's own description selects it.
    #[arg(long)]
    menu: bool,

    /// How the findings are printed.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// Files that are let in although the scanner blocks them: a line for each, `sha256:DIGEST RULESET REASON`.
    #[arg(long, value_name = "FILE", env = "MAITRED_ALLOW_FILE")]
    allow_file: Option<PathBuf>,

    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Files, zips, or directories whose every SKILL.md is checked.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

/// `--format`: for whom the findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One line a finding, and a summary
    Text,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code-scanning dashboards
    Sarif,
    /// GitHub workflow commands, which annotate the lines of a pull request
    Github,
}

/// The sums.
#[derive(Default, serde::Serialize)]
struct Summary {
    files: usize,
    accepted: usize,
    /// Accepted files about which there is a warning: repaired, or probably not what the author meant.
    with_warnings: usize,
    /// Accepted files of which something is not honoured.
    with_notes: usize,
    refused: usize,
}

pub(super) fn run(args: &Args) -> Outcome {
    let format = if args.json { Format::Json } else { args.format };
    if args.menu && !matches!(format, Format::Text | Format::Json) {
        return Err(
            "--menu has findings about playbooks and not about lines: print it as text or json".to_owned()
        );
    }
    let overrides = server::overrides(args.allow_file.as_deref())?;
    let mut sources = sources::read_all(&args.paths, &overrides)?;
    report_equal_names(&mut sources);
    sources.extend(sources::unused(args.allow_file.as_deref(), &overrides));
    let summary = summarise(&sources);
    let playbooks = sources.iter().filter_map(|source| source.parsed.playbook.as_ref());
    let menu = args.menu.then(|| menu::look(playbooks)).transpose()?;
    let text = match format {
        Format::Text => {
            views::lines(&sources, &summary) + &menu.as_ref().map(menu::lines).unwrap_or_default()
        }
        Format::Json => views::json(&sources, &summary, menu.as_ref()),
        Format::Sarif => sarif::log(&sources),
        Format::Github => github::commands(&sources) + &views::sums(&summary),
    };
    print(&text)?;
    Ok(if summary.refused > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Says where a name stands twice: a server that is given both serves the first.
fn report_equal_names(sources: &mut [Source]) {
    let mut holders: HashMap<Slug, PathBuf> = HashMap::new();
    for source in sources {
        let path = source.path();
        let Some(playbook) = &source.parsed.playbook else { continue };
        if let Some(holder) = holders.get(playbook.slug()) {
            let holder = text::escaped_path(holder);
            let message = format!("the name \"{}\" is that of {holder} too", playbook.slug());
            let warning = Diagnostic::warning(Place::line(1), message);
            source.parsed.diagnostics.push(warning.hint("a server that is given both serves the first"));
        } else {
            holders.insert(playbook.slug().clone(), path);
        }
    }
}

fn summarise(sources: &[Source]) -> Summary {
    let mut summary = Summary::default();
    for Source { parsed, .. } in sources {
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
