//! Files that are brought in, and what came of them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::FindingView;
use crate::app::owner::{Done, FileOutcome, Imported, Outcome, Summary};
use crate::format::scan::RULESET;

/// Files to import.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::transport::http) struct ImportRequest {
    pub(in crate::transport::http) files: Vec<FileView>,
}

/// A SKILL.md: its text, or its bytes in base64.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::transport::http) struct FileView {
    /// What its outcome is labelled with.
    pub(in crate::transport::http) name: String,
    pub(in crate::transport::http) content: Option<String>,
    pub(in crate::transport::http) content_base64: Option<String>,
}

/// What came of an import.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct ImportedView {
    revision: u64,
    /// The rules of the scanner.
    ruleset: &'static str,
    /// Whether nothing was kept, as was asked for.
    dry_run: bool,
    /// One outcome a file, in the order of the files.
    files: Vec<OutcomeView>,
    summary: SummaryView,
}

#[derive(Debug, Serialize, ToSchema)]
struct SummaryView {
    imported: usize,
    needs_review: usize,
    skipped: usize,
    refused: usize,
}

#[derive(Debug, Serialize, ToSchema)]
struct OutcomeView {
    name: String,
    /// `imported`, `needs_review`, `skipped` or `refused`.
    outcome: &'static str,
    /// Of a skipped file: whether the playbook of its name is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    identical: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slug: Option<String>,
    /// The digest of the playbook.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// The digest of the file's bytes, by which it can be let in.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_digest: Option<String>,
    /// Why it is refused, to branch on.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Why it is refused, to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

impl OutcomeView {
    fn of(file: &FileOutcome) -> Self {
        let (outcome, identical, refusal) = match &file.outcome {
            Outcome::Imported => ("imported", None, None),
            Outcome::NeedsReview => ("needs_review", None, None),
            Outcome::Skipped { identical } => ("skipped", Some(*identical), None),
            Outcome::Refused { reason, message } => {
                ("refused", None, Some((reason.row().0, message.clone())))
            }
        };
        let (reason, message) = refusal.unzip();
        Self {
            name: file.name.clone(),
            outcome,
            identical,
            slug: file.slug.as_ref().map(ToString::to_string),
            digest: file.digest.map(|digest| digest.to_string()),
            file_digest: file.file.map(|digest| digest.to_string()),
            reason,
            message,
            findings: file.diagnostics.iter().map(FindingView::of).collect(),
        }
    }
}

impl ImportedView {
    pub(in crate::transport::http) fn of(done: &Done<Imported>, dry_run: bool) -> Self {
        let Summary { imported, needs_review, skipped, refused } = done.outcome.summary();
        Self {
            revision: done.revision.number(),
            ruleset: RULESET,
            dry_run,
            files: done.outcome.files.iter().map(OutcomeView::of).collect(),
            summary: SummaryView { imported, needs_review, skipped, refused },
        }
    }
}
