//! The one writer of the catalogue: build, then publish.
//!
//! **Invariants**: one change at a time; readers keep the old snapshot until the new one is complete; an unchanged
//! catalogue keeps its revision. **Threads**: called off the request path; building runs on the compute pool.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::watch;
use tracing::{info, warn};

use super::report::Pace;
use crate::domain::agent::{AgentId, AgentSettings};
use crate::domain::playbook::Playbook;
use crate::domain::revision::Revision;
use crate::engine::builder::{Builder, Built, Circumstances, Stage};
use crate::engine::content::Made;
use crate::engine::embed::{Embedder, Vector};
use crate::engine::publish::SnapshotCell;
use crate::engine::snapshot::{AgentIndex, Snapshot};
use crate::engine::trigger::TooManyTriggers;

/// Writes to the cell that readers read from.
#[derive(Debug)]
pub struct Catalog {
    cell: Arc<SnapshotCell>,
    published: watch::Sender<Revision>,
    writer: Mutex<()>,
    builder: Builder,
}

/// An agent that is another than before.
#[derive(Debug)]
pub struct Changed {
    /// Which.
    pub agent: AgentId,
    /// What serves of it, and how its menus are made; none when it is gone.
    pub served: Option<(Vec<Arc<Playbook>>, AgentSettings)>,
}

impl Catalog {
    /// An empty catalogue, whose playbooks will be embedded by this model.
    #[must_use]
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self::with_builder(Builder::new(embedder))
    }

    /// An empty catalogue, whose indexes are built by this builder.
    #[must_use]
    pub fn with_builder(builder: Builder) -> Self {
        let (published, _) = watch::channel(Revision::default());
        Self { cell: Arc::new(SnapshotCell::new()), published, writer: Mutex::new(()), builder }
    }

    /// The model.
    #[must_use]
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        self.builder.embedder()
    }

    /// Where readers read.
    #[must_use]
    pub fn cell(&self) -> Arc<SnapshotCell> {
        Arc::clone(&self.cell)
    }

    /// Tells of each published revision.
    #[must_use]
    pub fn revisions(&self) -> watch::Receiver<Revision> {
        self.published.subscribe()
    }

    /// Makes these the playbooks of an agent. Returns the revision at which they are; the present one when nothing
    /// differs.
    ///
    /// # Errors
    /// When their index cannot be built; the present one stays.
    pub fn replace(
        &self,
        agent: &AgentId,
        playbooks: Vec<Arc<Playbook>>,
        settings: AgentSettings,
    ) -> Result<Revision, TooManyTriggers> {
        let _turn = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let present = self.cell.read(Snapshot::revision);
        if self.is_unchanged(agent, &playbooks, settings) {
            return Ok(present);
        }
        let (index, _) = self.build(agent, playbooks, settings)?;
        Ok(self.publish(present.next(), vec![(agent.clone(), Some(index))]))
    }

    /// Makes the catalogue what a store holds at a revision: of some agents the playbooks are these, or they are gone, and all
    /// others are as they were. Nothing happens when the catalogue is as new already. Returns the vectors that were made for it.
    ///
    /// # Errors
    /// When an index cannot be built; the present catalogue stays.
    pub fn follow(&self, revision: Revision, changed: Vec<Changed>) -> Result<Made, TooManyTriggers> {
        let _turn = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut made, mut indexes) = (Vec::new(), Vec::with_capacity(changed.len()));
        if revision <= self.cell.read(Snapshot::revision) {
            return Ok(made);
        }
        for Changed { agent, served } in changed {
            let index = match served {
                Some((playbooks, settings)) if !self.is_unchanged(&agent, &playbooks, settings) => {
                    let (index, vectors) = self.build(&agent, playbooks, settings)?;
                    made.extend(vectors);
                    Some(index)
                }
                Some(_) => continue,
                None => None,
            };
            indexes.push((agent, index));
        }
        self.publish(revision, indexes);
        Ok(made)
    }

    /// Makes vectors known that were made before, for as long as what is returned is held.
    #[must_use = "what is not held is forgotten at once"]
    pub fn remember_vectors(&self, made: Made) -> Vec<Vector> {
        self.builder.remember_vectors(made)
    }

    fn publish(&self, revision: Revision, changed: Vec<(AgentId, Option<Arc<AgentIndex>>)>) -> Revision {
        let snapshot = self.cell.read(|snapshot| snapshot.with_agents(revision, changed));
        let revision = self.cell.publish(snapshot).expect("the one writer publishes the next revision");
        self.published.send_replace(revision);
        let agent_count = self.cell.read(Snapshot::agent_count);
        info!(%revision, agent_count, "published snapshot");
        revision
    }

    fn build(
        &self,
        agent: &AgentId,
        playbooks: Vec<Arc<Playbook>>,
        settings: AgentSettings,
    ) -> Result<(Arc<AgentIndex>, Made), TooManyTriggers> {
        let started = Instant::now();
        let previous = self.cell.read(|snapshot| snapshot.shared_agent(agent));
        let progress = progress_log();
        let circumstances = Circumstances { previous: previous.as_deref(), progress: Some(&progress) };
        let Built { index, made, failure } = self.builder.build(playbooks, settings, circumstances)?;
        if let Some(error) = failure {
            warn!(%agent, %error, "no embeddings: relevance is lexical until the next change");
        }
        if let Some(recall) = index.vectors().rejected_recall() {
            warn!(%agent, recall, "the graph of neighbours finds too few of them: the codes of all playbooks are compared instead");
        }
        let (playbook_count, recall) = (index.playbooks().len(), index.vectors().recall());
        let (embedded, build_ms) = (made.len(), started.elapsed().as_millis());
        info!(%agent, playbook_count, embedded, recall, build_ms, "built an index");
        Ok((Arc::new(index), made))
    }

    /// The revision that is published.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.cell.read(Snapshot::revision)
    }

    /// Whether these are the playbooks of an agent already.
    #[must_use]
    pub fn is_unchanged(
        &self,
        agent: &AgentId,
        playbooks: &[Arc<Playbook>],
        settings: AgentSettings,
    ) -> bool {
        let mut offered: Vec<_> = playbooks.iter().map(|p| (p.slug().clone(), p.digest())).collect();
        offered.sort();
        self.cell.read(|snapshot| {
            snapshot.agent(agent.as_str()).is_some_and(|index| {
                let present = index.playbooks().map(|p| (p.slug().clone(), p.digest()));
                index.settings() == settings && present.eq(offered)
            })
        })
    }
}

fn progress_log() -> impl Fn(Stage, usize, usize) {
    let pace = Pace::start();
    move |stage, done, of| {
        if pace.is_due() {
            match stage {
                Stage::Embedding => info!(done, of, "embedding playbooks"),
                Stage::Graph => info!(done, of, "building the graph of neighbours"),
            }
        }
    }
}
