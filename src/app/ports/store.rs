//! Where playbooks are kept: what the application needs of a store.
//!
//! A store knows no rules. It keeps what it is told, all of a [`Commit`] or nothing, and gives it back; what may be written is
//! decided by [`owner`](crate::app::owner). **Invariants**, which `store/contract.rs` tests on every adapter: a commit is
//! durable when it is acknowledged; the revision grows by one with each commit that changes the catalogue, and by nothing else;
//! a commit that expects another revision than the present one changes nothing.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::domain::agent::{AgentConfig, AgentId};
use crate::domain::digest::Digest;
use crate::domain::record::{Bar, Document, Entry, Event, Grant, OverrideRecord, Usage};
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;
use crate::engine::embed::{ModelId, Vector};

/// What a store will answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Keeps agents, playbooks and what belongs to them.
pub trait Store: fmt::Debug + Send + Sync {
    /// The revision of the newest commit; zero for a new store.
    fn revision(&self) -> Answer<'_, Revision>;

    /// All agents, in the order of their ids, with the revision that they are at.
    fn agents(&self) -> Answer<'_, (Revision, Vec<AgentRecord>)>;

    /// One agent, with the revision that the catalogue is at.
    fn agent<'a>(&'a self, id: &'a AgentId) -> Answer<'a, (Revision, Option<AgentRecord>)>;

    /// The documents with these digests, in any order; those that are not there are left out.
    fn documents<'a>(&'a self, digests: &'a [Digest]) -> Answer<'a, Vec<Document>>;

    /// Does all of a commit, durably, and says at which revision the catalogue is then.
    fn commit(&self, commit: Commit) -> Answer<'_, Revision>;

    /// What happened to a playbook, the newest first.
    fn history<'a>(&'a self, agent: &'a AgentId, slug: &'a Slug) -> Answer<'a, Vec<Event>>;

    /// The overrides of an agent, in the order of their digests.
    fn overrides<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<OverrideRecord>>;

    /// What is barred for an agent, for it alone or for all, in the order of the digests.
    fn bars<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<Bar>>;

    /// The kept vectors of a model for these texts.
    fn vectors<'a>(&'a self, model: ModelId, texts: &'a [Digest]) -> Answer<'a, Vec<(Digest, Vector)>>;

    /// Keeps vectors of a model.
    fn keep_vectors(&self, model: ModelId, vectors: Vec<(Digest, Vector)>) -> Answer<'_, ()>;

    /// What was offered and loaded of an agent, in the order of the slugs.
    fn usage<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<Usage>>;

    /// Adds counts to those that are kept, each with its agent. Those of agents that are gone are dropped.
    fn add_usage(&self, counts: Vec<(AgentId, Usage)>) -> Answer<'_, ()>;

    /// The grants that were made, in the order of their ids.
    fn grants(&self) -> Answer<'_, Vec<Grant>>;

    /// Keeps a grant, or ends one: one with the same id is replaced.
    fn put_grant(&self, grant: Grant) -> Answer<'_, ()>;

    /// The key that signs menu tokens; `fresh` becomes it where there is none yet.
    fn menu_key(&self, fresh: [u8; 32]) -> Answer<'_, Vec<u8>>;

    /// The answer that was given to a request with this key, if it is still kept.
    fn answered<'a>(&'a self, key: &'a RequestKey) -> Answer<'a, Option<GivenAnswer>>;
}

/// An agent as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRecord {
    /// Its id.
    pub id: AgentId,
    /// How its menus are made, and how many playbooks it may have.
    pub config: AgentConfig,
    /// The revision of its newest change.
    pub revision: Revision,
    /// Its playbooks, in slug order.
    pub entries: Vec<Entry>,
}

impl AgentRecord {
    /// The playbook with this name.
    #[must_use]
    pub fn entry(&self, slug: &Slug) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.slug.cmp(slug)).ok()?;
        Some(&self.entries[at])
    }
}

/// Changes that are made together or not at all.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The revision that they were decided at.
    pub expected: Revision,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// What is answered to a request that may be repeated.
    pub answer: Option<(RequestKey, GivenAnswer)>,
    /// When, in seconds since 1970.
    pub unix_secs: u64,
}

/// One change.
#[derive(Clone, Debug)]
pub enum Change {
    /// An agent is made, or configured.
    PutAgent(AgentId, AgentConfig),
    /// An agent is erased, with everything that is its own.
    RemoveAgent(AgentId),
    /// A text that entries refer to.
    PutDocument(Document),
    /// A playbook is as this entry says.
    PutEntry(AgentId, Entry),
    /// A playbook is gone; its history stays.
    RemoveEntry(AgentId, Slug),
    /// Something happened to a playbook.
    Happened(AgentId, Slug, Event),
    /// A file is let in.
    PutOverride(AgentId, OverrideRecord),
    /// A digest is barred.
    PutBar(Bar),
}

impl Change {
    /// Whether the catalogue is another afterwards, and its revision with it.
    #[must_use]
    pub fn changes_catalogue(&self) -> bool {
        match self {
            Self::PutAgent(..) | Self::RemoveAgent(_) | Self::PutEntry(..) | Self::RemoveEntry(..) => true,
            Self::PutDocument(_) | Self::Happened(..) | Self::PutOverride(..) | Self::PutBar(_) => false,
        }
    }
}

impl Commit {
    /// The revision that the catalogue has afterwards.
    #[must_use]
    pub fn revision(&self) -> Revision {
        let changes_catalogue = self.changes.iter().any(Change::changes_catalogue);
        if changes_catalogue { self.expected.next() } else { self.expected }
    }
}

/// A request that may be sent again: whose it is, and the key that the caller gave it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey {
    /// Who sent it.
    pub principal: String,
    /// The `Idempotency-Key`.
    pub key: String,
}

/// What a request was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenAnswer {
    /// The digest of the request: another request with the same key is a mistake.
    pub request: Digest,
    /// The answer, in the form of the door that gave it.
    pub answer: Vec<u8>,
}

/// Why a store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// What kind of failure.
    pub fault: Fault,
    /// A sentence for the log; it may name files and causes that are not for callers.
    pub message: String,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The catalogue is at another revision than the commit expects.
    Stale,
    /// There is no room.
    Full,
    /// It may work later.
    Unavailable,
    /// What is kept is not what was written.
    Damaged,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {}
