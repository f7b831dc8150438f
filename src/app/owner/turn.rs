//! One change of one agent, from what it is decided on to the catalogue that has it.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;
use tracing::{error, info};

use super::{Actor, Inner, Owner, failed, unknown_agent};
use crate::app::catalog::Changed;
use crate::app::error::{Error, Reason};
use crate::app::ports::store::{AgentRecord, Change, Commit, GivenAnswer, RequestKey};
use crate::domain::agent::{AgentConfig, AgentId};
use crate::domain::digest::Digest;
use crate::domain::record::{Bar, Deed, Entry, Event};
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;
use crate::format::scan::overrides::Overrides;

/// The right to write, with what is known of the agent while nobody else writes.
pub(super) struct Turn {
    inner: Arc<Inner>,
    _alone: OwnedMutexGuard<()>,
    revision: Revision,
    /// The agent, with the changes so far.
    pub(super) record: AgentRecord,
    pub(super) bars: Vec<Bar>,
    pub(super) overrides: Arc<Overrides>,
    pub(super) now: u64,
    actor: Actor,
    changes: Vec<Change>,
    answer: Option<(RequestKey, GivenAnswer)>,
    is_gone: bool,
}

impl Owner {
    /// Waits for the right to write to an agent.
    pub(super) async fn turn(&self, agent: &AgentId, actor: &Actor) -> Result<Turn, Error> {
        self.0.check_writable(agent)?;
        let alone = Arc::clone(&self.0.writing).lock_owned().await;
        let (revision, record) = self.0.store.agent(agent).await.map_err(failed)?;
        let record = record.ok_or_else(|| unknown_agent(agent.as_str()))?;
        self.turn_over(record, revision, alone, actor).await
    }

    /// Waits for the right to write to an agent that need not be there yet. Says whether it is new.
    pub(super) async fn turn_of_any(
        &self,
        agent: &AgentId,
        config: AgentConfig,
        actor: &Actor,
    ) -> Result<(bool, Turn), Error> {
        self.0.check_writable(agent)?;
        let alone = Arc::clone(&self.0.writing).lock_owned().await;
        let (revision, record) = self.0.store.agent(agent).await.map_err(failed)?;
        let is_new = record.is_none();
        let new = || AgentRecord { id: agent.clone(), config, revision, entries: Vec::new() };
        let turn = self.turn_over(record.unwrap_or_else(new), revision, alone, actor).await?;
        Ok((is_new, turn))
    }

    async fn turn_over(
        &self,
        record: AgentRecord,
        revision: Revision,
        alone: OwnedMutexGuard<()>,
        actor: &Actor,
    ) -> Result<Turn, Error> {
        let agent = &record.id;
        let store = &self.0.store;
        let bars = store.bars(agent).await.map_err(failed)?;
        let overrides = store.overrides(agent).await.map_err(failed)?;
        let overrides = overrides.into_iter().map(|one| (one.file, one.ruleset, one.reason));
        Ok(Turn {
            inner: Arc::clone(&self.0),
            _alone: alone,
            revision,
            record,
            bars,
            overrides: Arc::new(Overrides::of_owner(overrides)),
            now: self.0.clock.unix_secs(),
            actor: actor.clone(),
            changes: Vec::new(),
            answer: None,
            is_gone: false,
        })
    }
}

impl Turn {
    /// The playbook of that name.
    pub(super) fn entry(&self, slug: &Slug) -> Result<&Entry, Error> {
        self.record.entry(slug).ok_or_else(|| unknown_playbook(&self.record.id, slug))
    }

    /// Whether a version was withdrawn for security.
    pub(super) fn bar(&self, digest: Digest) -> Option<&Bar> {
        self.bars.iter().find(|bar| bar.digest == digest)
    }

    /// The revision that it is decided at.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// Who writes.
    pub(super) fn actor(&self) -> &str {
        &self.actor.0
    }

    /// Erases the agent.
    pub(super) fn erase(&mut self) {
        self.changes.push(Change::RemoveAgent(self.record.id.clone()));
        self.is_gone = true;
    }

    /// Adds a change that is about no playbook of the agent.
    pub(super) fn change(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Makes a playbook what `entry` says, and remembers who did what to which version. Returns it as it will be kept.
    pub(super) fn put(&mut self, entry: Entry, deed: Deed, digest: Digest) -> Entry {
        let entry = Entry { revision: self.revision.next(), ..entry };
        let event = self.event(deed, digest);
        self.changes.push(Change::Happened(self.record.id.clone(), entry.slug.clone(), event));
        self.changes.push(Change::PutEntry(self.record.id.clone(), entry.clone()));
        let entries = &mut self.record.entries;
        match entries.binary_search_by(|other| other.slug.cmp(&entry.slug)) {
            Ok(at) => entries[at] = entry.clone(),
            Err(at) => entries.insert(at, entry.clone()),
        }
        entry
    }

    /// Takes a playbook away.
    pub(super) fn remove(&mut self, slug: &Slug, digest: Digest) {
        let event = self.event(Deed::Deleted, digest);
        self.changes.push(Change::Happened(self.record.id.clone(), slug.clone(), event));
        self.changes.push(Change::RemoveEntry(self.record.id.clone(), slug.clone()));
        self.record.entries.retain(|entry| entry.slug != *slug);
    }

    fn event(&self, deed: Deed, digest: Digest) -> Event {
        let Self { now, actor, revision, .. } = self;
        Event { deed, digest, actor: actor.0.clone(), unix_secs: *now, revision: revision.next() }
    }

    /// Commits the changes and publishes them. Both happen whether the caller still waits or not.
    pub(super) async fn commit(self) -> Result<Revision, Error> {
        if self.changes.is_empty() && self.answer.is_none() {
            return Ok(self.revision);
        }
        let finished = tokio::spawn(self.finish());
        finished
            .await
            .unwrap_or_else(|_| Err(Error::new(Reason::Internal, "the change failed by a fault of ours")))
    }

    async fn finish(self) -> Result<Revision, Error> {
        let Self { inner, _alone, revision, record, now, actor, changes, answer, is_gone, .. } = self;
        let change_count = changes.len();
        let changed = Commit { expected: revision, changes, answer, unix_secs: now };
        let changes_catalogue = changed.revision() > revision;
        let revision = inner.store.commit(changed).await.map_err(failed)?;
        info!(target: "audit", agent = %record.id, actor = actor.0, %revision, change_count, "committed");
        if changes_catalogue {
            let agent = record.id.clone();
            let published = async {
                let served = if is_gone {
                    None
                } else {
                    Some((inner.serving(&record).await?, record.config.settings))
                };
                inner.follow(revision, vec![Changed { agent: record.id, served }]).await
            };
            if let Err(error) = published.await {
                // The change is kept all the same: a restart serves it, or says what is wrong.
                error!(%agent, %revision, %error, "a change is kept and cannot be served; the last good snapshot stays");
            }
        }
        Ok(revision)
    }
}

pub(super) fn unknown_playbook(agent: &AgentId, slug: &Slug) -> Error {
    let message = format!("the agent \"{agent}\" has no playbook \"{slug}\"");
    Error::new(Reason::PlaybookUnknown, message)
}
