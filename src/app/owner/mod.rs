//! What owners do: bring playbooks in, write and edit them, let them serve and withdraw them.
//!
//! **Invariants**: one change at a time, and each is a commit of the store, which is durable before anybody hears of it; then
//! the index of the agent is built and published, and a change that was begun is finished whether its caller waits or not; no
//! text is kept that the gate has not seen. **Threads**: shared by all requests; readers of the catalogue never wait for it.

mod activate;
mod agents;
mod edit;
mod files;
mod import;
mod look;
mod overrides;
mod seed;
mod serving;
mod turn;

use std::sync::Arc;

use tokio::sync::Mutex;
use tracing::error;

pub use self::edit::{Draft, Expected};
pub use self::import::{File, FileOutcome, Imported, Outcome, Summary};
pub use self::look::{Shown, Version};
use super::catalog::{Catalog, Changed};
use super::error::{Error, Reason};
use super::ports::Clock;
use super::ports::store::{AgentRecord, Fault, Store, StoreError};
use crate::domain::agent::{AgentConfig, AgentId};
use crate::domain::revision::Revision;
use crate::domain::text;

/// Who asks, as it is kept in histories and logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor(pub String);

/// The use cases of owners, over a store.
#[derive(Clone, Debug)]
pub struct Owner(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    catalog: Arc<Catalog>,
    clock: Arc<dyn Clock>,
    /// How an agent is configured that nobody has configured.
    config: AgentConfig,
    /// The agent whose playbooks are files, if there is one.
    files: Option<AgentId>,
    /// Held by the one who writes.
    writing: Arc<Mutex<()>>,
}

/// What a change came to.
#[derive(Clone, Debug)]
pub struct Done<T> {
    /// Its outcome.
    pub outcome: T,
    /// The revision of the catalogue that has it.
    pub revision: Revision,
}

impl Owner {
    /// The owner's use cases over what a store keeps; the catalogue is that of the store when this returns, but for the agent whose
    /// playbooks are files.
    ///
    /// # Errors
    /// When the store cannot be read, or holds what cannot be served.
    pub async fn open(
        store: Arc<dyn Store>,
        catalog: Arc<Catalog>,
        clock: Arc<dyn Clock>,
        config: AgentConfig,
        files: Option<AgentId>,
    ) -> Result<Self, StoreError> {
        let owner = Self(Arc::new(Inner { store, catalog, clock, config, files, writing: Arc::default() }));
        owner.0.load().await?;
        Ok(owner)
    }

    /// What it is kept in.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// How an agent is configured that nobody has configured.
    #[must_use]
    pub fn default_config(&self) -> AgentConfig {
        self.0.config
    }

    async fn record(&self, agent: &AgentId) -> Result<(Revision, AgentRecord), Error> {
        let (revision, record) = self.0.agent(agent).await?;
        Ok((revision, record.ok_or_else(|| unknown_agent(agent.as_str()))?))
    }
}

/// There is no such agent.
pub(super) fn unknown_agent(id: &str) -> Error {
    let message = format!("there is no agent \"{}\"", text::escaped(id, 80));
    Error::new(Reason::AgentUnknown, message)
}

/// A store's failure as callers hear of it; the cause is for the log.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn failed(failure: StoreError) -> Error {
    let (reason, message) = match failure.fault {
        Fault::Stale => {
            let message = "somebody else changed the catalogue at the same time; read it again and try again";
            return Error::new(Reason::WriteConflict, message);
        }
        Fault::Full => (
            Reason::StoreFull,
            "there is no room to keep this; nothing was changed, and what is there is served on",
        ),
        Fault::Unavailable => {
            (Reason::StoreUnavailable, "the store cannot be reached; nothing was changed, try again")
        }
        Fault::Damaged => (Reason::Internal, "what the store holds is damaged; the log says more"),
    };
    error!(cause = %failure, "the store failed");
    Error::new(reason, message)
}

impl Inner {
    /// Makes the catalogue what the store holds.
    async fn load(&self) -> Result<(), StoreError> {
        let (revision, records) = self.store.agents().await?;
        let mut changed = Vec::with_capacity(records.len());
        for record in records.into_iter().filter(|record| !self.is_of_files(&record.id)) {
            let playbooks = self.serving(&record).await?;
            changed.push(Changed { agent: record.id, served: Some((playbooks, record.config.settings)) });
        }
        self.follow(revision, changed).await
    }
}
