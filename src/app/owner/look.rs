//! What owners look at.

use std::collections::HashMap;
use std::sync::Arc;

use super::serving::read;
use super::{Owner, failed};
use crate::app::error::{Error, Reason};
use crate::app::ports::store::AgentRecord;
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::playbook::Playbook;
use crate::domain::record::{Document, Entry, Event, Usage};
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;
use crate::format::diagnostic::{Diagnostic, Severity};
use crate::format::gate::admit;

/// A playbook as its owner sees it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its versions, and which of them serves.
    pub entry: Entry,
    /// The newest version, or the one that was asked for.
    pub playbook: Arc<Playbook>,
    /// What there is to say about its text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Shown {
    pub(super) fn of(entry: Entry, playbook: Arc<Playbook>, diagnostics: Vec<Diagnostic>) -> Self {
        Self { entry, playbook, diagnostics }
    }
}

/// Which version of a playbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The newest.
    Newest,
    /// The one that serves.
    Active,
    /// The one of this digest.
    Of(Digest),
}

impl Owner {
    /// All agents, without their playbooks' texts.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn agents(&self) -> Result<(Revision, Vec<AgentRecord>), Error> {
        let (revision, mut agents) = self.0.store.agents().await.map_err(failed)?;
        if let Some(files) = &self.0.files {
            let (_, record) = self.0.record_of_files(files);
            match agents.binary_search_by(|agent| agent.id.cmp(files)) {
                Ok(at) => agents[at] = record,
                Err(at) => agents.insert(at, record),
            }
        }
        Ok((revision, agents))
    }

    /// One agent.
    ///
    /// # Errors
    /// An agent that is not there.
    pub async fn agent(&self, agent: &AgentId) -> Result<(Revision, AgentRecord), Error> {
        self.record(agent).await
    }

    /// The playbooks of an agent, in slug order, each in its newest version.
    ///
    /// # Errors
    /// An agent that is not there.
    pub async fn playbooks(&self, agent: &AgentId) -> Result<(Revision, Vec<Shown>), Error> {
        let (revision, record) = self.record(agent).await?;
        let wanted: Vec<Digest> = record.entries.iter().map(|entry| entry.newest).collect();
        let documents = self.0.documents(agent, &wanted).await?;
        let documents: HashMap<Digest, Document> =
            documents.into_iter().map(|document| (document.digest, document)).collect();
        let shown = move || {
            let shown = record.entries.into_iter().map(|entry| {
                let document = documents.get(&entry.newest).ok_or_else(|| gone(entry.newest))?;
                let playbook = read(document).map_err(failed)?;
                Ok(Shown::of(entry, playbook, Vec::new()))
            });
            shown.collect::<Result<Vec<_>, Error>>()
        };
        let shown = tokio::task::spawn_blocking(shown).await.expect("reading documents does not panic")?;
        Ok((revision, shown))
    }

    /// One playbook, with what the gate says of its text today.
    ///
    /// # Errors
    /// A playbook or a version that is not there.
    pub async fn playbook(&self, agent: &AgentId, slug: &Slug, version: Version) -> Result<Shown, Error> {
        let entry = self.entry(agent, slug).await?;
        let digest = match version {
            Version::Newest => entry.newest,
            Version::Active => entry.active.ok_or_else(|| {
                Error::new(Reason::VersionUnknown, format!("no version of the playbook \"{slug}\" serves"))
            })?,
            Version::Of(digest) => {
                let history = self.history(agent, slug).await?;
                let is_its = history.iter().any(|event| event.digest == digest);
                if is_its { digest } else { return Err(gone(digest)) }
            }
        };
        let document = self.document(agent, digest).await?;
        let overrides = self.overrides_of(agent).await?;
        let shown = move || {
            let playbook = read(&document).map_err(failed)?;
            Ok(Shown::of(entry, playbook, admit(document.text.as_bytes(), &overrides).diagnostics))
        };
        tokio::task::spawn_blocking(shown).await.expect("the gate does not panic")
    }

    /// The SKILL.md of a playbook.
    ///
    /// # Errors
    /// A playbook or a version that is not there; one that the scanner blocks by now and nobody let in.
    pub async fn export(&self, agent: &AgentId, slug: &Slug, version: Version) -> Result<Document, Error> {
        let shown = self.playbook(agent, slug, version).await?;
        if let Some(blocked) = shown.diagnostics.iter().find(|said| said.severity == Severity::Refused) {
            let message = format!("\"{slug}\" is not handed out: {blocked}");
            return Err(Error::new(Reason::PlaybookRefused, message).with_findings(shown.diagnostics.clone()));
        }
        self.document(agent, shown.playbook.digest()).await
    }

    /// What happened to a playbook, the newest first; also to one that is deleted.
    ///
    /// # Errors
    /// An agent or a playbook that never was.
    pub async fn history(&self, agent: &AgentId, slug: &Slug) -> Result<Vec<Event>, Error> {
        let (_, record) = self.record(agent).await?;
        if self.0.is_of_files(agent) && record.entry(slug).is_some() {
            return Ok(Vec::new());
        }
        let history = self.0.store.history(agent, slug).await.map_err(failed)?;
        if history.is_empty() {
            return Err(super::turn::unknown_playbook(agent, slug));
        }
        Ok(history)
    }

    /// How often the playbooks of an agent were offered and loaded, in slug order.
    ///
    /// # Errors
    /// An agent that is not there.
    pub async fn usage(&self, agent: &AgentId) -> Result<Vec<Usage>, Error> {
        self.record(agent).await?;
        self.0.store.usage(agent).await.map_err(failed)
    }
}

fn gone(digest: Digest) -> Error {
    Error::new(Reason::VersionUnknown, format!("there is no version {digest}"))
}
