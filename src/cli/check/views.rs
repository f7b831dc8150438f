//! The findings for a person, and as JSON.

use serde::Serialize;

use super::{Summary, menu};
use crate::cli::show;
use crate::cli::sources::Source;
use crate::domain::text;
use crate::format::diagnostic::Diagnostic;

#[derive(Serialize)]
struct Report<'a> {
    files: Vec<FileView<'a>>,
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    menu: Option<&'a menu::MenuView>,
}

#[derive(Serialize)]
struct FileView<'a> {
    path: String,
    outcome: &'static str,
    slug: Option<String>,
    digest: Option<String>,
    diagnostics: Vec<DiagnosticView<'a>>,
}

/// A finding, as every command's JSON has it.
#[derive(Serialize)]
pub(in crate::cli) struct DiagnosticView<'a> {
    severity: &'static str,
    line: usize,
    column: usize,
    message: &'a str,
    hint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    excerpt: &'a str,
}

pub(in crate::cli) fn diagnostic_view(diagnostic: &Diagnostic) -> DiagnosticView<'_> {
    DiagnosticView {
        severity: diagnostic.severity.as_str(),
        line: diagnostic.line,
        column: diagnostic.column,
        message: &diagnostic.message,
        hint: &diagnostic.hint,
        rule: diagnostic.rule,
        excerpt: &diagnostic.excerpt,
    }
}

pub(super) fn json(sources: &[Source], summary: &Summary, menu: Option<&menu::MenuView>) -> String {
    show::json(&Report { files: sources.iter().map(file_view).collect(), summary, menu })
}

fn file_view(source: &Source) -> FileView<'_> {
    let playbook = source.parsed.playbook.as_ref();
    FileView {
        path: source.path().to_string_lossy().into_owned(),
        outcome: source.outcome(),
        slug: playbook.map(|playbook| playbook.slug().to_string()),
        digest: playbook.map(|playbook| playbook.digest().to_string()),
        diagnostics: source.parsed.diagnostics.iter().map(diagnostic_view).collect(),
    }
}

/// One line a file and one a finding, as `path:line:column: ...`, and the sums.
pub(super) fn lines(sources: &[Source], summary: &Summary) -> String {
    let mut out = Vec::new();
    for source in sources {
        let path = source.path();
        if let Some(playbook) = &source.parsed.playbook {
            out.push(format!("{}: accepted as {}", text::escaped_path(&path), playbook.slug()));
        }
        out.extend(source.parsed.diagnostics.iter().map(|finding| show::finding(&path, finding)));
    }
    out.push(sums(summary));
    out.join("\n")
}

/// The sums in a line.
pub(super) fn sums(summary: &Summary) -> String {
    let Summary { files, accepted, with_warnings, with_notes, refused } = summary;
    let noun = if *files == 1 { "file" } else { "files" };
    format!(
        "{files} {noun}: {accepted} accepted ({with_warnings} with warnings, {with_notes} with notes only), {refused} \
         refused\n"
    )
}
