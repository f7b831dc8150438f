//! What is sent and received as JSON.

pub(in crate::transport::http) mod agents;
pub(in crate::transport::http) mod import;
pub(in crate::transport::http) mod menu;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::owner::{Draft, Shown};
use crate::domain::record::{Event, Origin};
use crate::format::diagnostic::Diagnostic;

/// Something that there is to say about a file.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct FindingView {
    /// `note`, `warning` or `refused`.
    severity: String,
    /// The line, from 1.
    line: usize,
    /// The column in characters, from 1.
    column: usize,
    /// What it is.
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    hint: String,
    /// The rule of the scanner that found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// What stands there.
    #[serde(skip_serializing_if = "String::is_empty")]
    excerpt: String,
}

impl FindingView {
    pub(in crate::transport::http) fn of(said: &Diagnostic) -> Self {
        Self {
            severity: said.severity.as_str().to_owned(),
            line: said.line,
            column: said.column,
            message: said.message.clone(),
            hint: said.hint.clone(),
            rule: said.rule.map(ToOwned::to_owned),
            excerpt: said.excerpt.clone(),
        }
    }
}

/// A playbook.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct PlaybookView {
    slug: String,
    title: String,
    description: String,
    triggers: Vec<String>,
    /// The owner's order, lower first.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<i32>,
    /// Whether it is offered only when invoked by name.
    explicit: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<String>,
    /// The metadata of others, as authored.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// The steps; left out of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// `active`, `inactive`, `needs_review` or `revoked`.
    status: &'static str,
    /// The digest of the version that is shown, to be sent as If-Match.
    digest: String,
    /// The digest of the newest version.
    newest_digest: String,
    /// The digest of the version that serves, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    active_digest: Option<String>,
    /// The digest of the file that the newest version was read from.
    file_digest: String,
    origin: OriginView,
    /// When its text was changed last, in seconds since 1970.
    edited_unix_secs: u64,
    /// The revision of its newest change.
    revision: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

/// Where a playbook came from.
#[derive(Debug, Serialize, ToSchema)]
struct OriginView {
    /// `written`, `imported`, `directory` or `pack`.
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

impl OriginView {
    fn of(origin: &Origin) -> Self {
        match origin {
            Origin::Written => Self { kind: "written", pack: None, version: None },
            Origin::Directory => Self { kind: "directory", pack: None, version: None },
            Origin::Imported => Self { kind: "imported", pack: None, version: None },
            Origin::Pack { id, version } => {
                Self { kind: "pack", pack: Some(id.clone()), version: Some(version.clone()) }
            }
        }
    }
}

impl PlaybookView {
    pub(in crate::transport::http) fn of(shown: &Shown, with_body: bool) -> Self {
        let Shown { entry, playbook, diagnostics } = shown;
        let parts = playbook.parts();
        Self {
            slug: entry.slug.to_string(),
            title: playbook.title().to_owned(),
            description: parts.description.clone(),
            triggers: parts.triggers.clone(),
            order: parts.order,
            explicit: parts.explicit,
            license: parts.license.clone(),
            metadata: parts.metadata.iter().cloned().collect(),
            body: with_body.then(|| parts.body.clone()),
            status: entry.status().as_str(),
            digest: playbook.digest().to_string(),
            newest_digest: entry.newest.to_string(),
            active_digest: entry.active.map(|digest| digest.to_string()),
            file_digest: entry.file.to_string(),
            origin: OriginView::of(&entry.origin),
            edited_unix_secs: entry.edited_unix_secs,
            revision: entry.revision.number(),
            findings: diagnostics.iter().map(FindingView::of).collect(),
        }
    }
}

/// A playbook that was changed.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct ChangedView {
    /// The revision that has the change: a selection with it as `min_revision` sees it.
    pub(in crate::transport::http) revision: u64,
    pub(in crate::transport::http) playbook: PlaybookView,
}

/// The playbooks of an agent.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct PlaybooksView {
    pub(in crate::transport::http) revision: u64,
    pub(in crate::transport::http) playbooks: Vec<PlaybookView>,
}

/// The revision that has a change.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct RevisionView {
    pub(in crate::transport::http) revision: u64,
}

/// A playbook as its owner writes it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::transport::http) struct DraftView {
    /// Its name; made from the title where there is none.
    slug: Option<String>,
    title: Option<String>,
    description: String,
    #[serde(default)]
    triggers: Vec<String>,
    order: Option<i32>,
    #[serde(default)]
    explicit: bool,
    license: Option<String>,
    /// The steps, in Markdown.
    body: String,
}

impl From<DraftView> for Draft {
    fn from(view: DraftView) -> Self {
        let DraftView { slug, title, description, triggers, order, explicit, license, body } = view;
        Self { slug, title, description, triggers, order, explicit, license, body }
    }
}

/// Why something is done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::transport::http) struct ReasonView {
    pub(in crate::transport::http) reason: String,
}

/// What happened to a playbook.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct HistoryView {
    pub(in crate::transport::http) events: Vec<EventView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct EventView {
    /// `created`, `edited`, `activated`, `deactivated`, `revoked` or `deleted`.
    deed: &'static str,
    /// The version: activating it rolls back to it.
    digest: String,
    /// Who did it.
    actor: String,
    unix_secs: u64,
    revision: u64,
}

impl EventView {
    pub(in crate::transport::http) fn of(event: &Event) -> Self {
        let Event { deed, digest, actor, unix_secs, revision } = event;
        let (deed, actor) = (deed.as_str(), actor.clone());
        Self { deed, digest: digest.to_string(), actor, unix_secs: *unix_secs, revision: revision.number() }
    }
}
