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
use crate::engine::embed::Embedder;
use crate::engine::publish::SnapshotCell;
use crate::engine::trigger::TooManyTriggers;

/// Writes to the cell that readers read from.
#[derive(Debug)]
pub struct Catalog {
    cell: Arc<SnapshotCell>,
    published: watch::Sender<Revision>,
    writer: Mutex<()>,
    builder: Builder,
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
        if let Some(revision) = self.unchanged(agent, &playbooks, settings) {
            return Ok(revision);
        }
        let started = Instant::now();
        let previous = self.cell.read(|snapshot| snapshot.shared_agent(agent));
        let progress = progress_log();
        let circumstances = Circumstances { previous: previous.as_deref(), progress: Some(&progress) };
        let Built { index, embedded, failure } = self.builder.build(playbooks, settings, circumstances)?;
        if let Some(error) = failure {
            warn!(%agent, %error, "no embeddings: relevance is lexical until the next change");
        }
        if let Some(recall) = index.vectors().rejected_recall() {
            warn!(%agent, recall, "the graph of neighbours finds too few of them: the codes of all playbooks are compared instead");
        }
        let (playbook_count, recall) = (index.playbooks().len(), index.vectors().recall());
        let index = Arc::new(index);
        let snapshot = self.cell.read(|snapshot| snapshot.with_agent(agent.clone(), index));
        let revision = self.cell.publish(snapshot).expect("the one writer publishes the next revision");
        self.published.send_replace(revision);
        let build_ms = started.elapsed().as_millis();
        info!(%revision, %agent, playbook_count, embedded, recall, build_ms, "published snapshot");
        Ok(revision)
    }

    fn unchanged(
        &self,
        agent: &AgentId,
        playbooks: &[Arc<Playbook>],
        settings: AgentSettings,
    ) -> Option<Revision> {
        let mut offered: Vec<_> = playbooks.iter().map(|p| (p.slug().clone(), p.digest())).collect();
        offered.sort();
        self.cell.read(|snapshot| {
            let index = snapshot.agent(agent.as_str())?;
            let present = index.playbooks().map(|p| (p.slug().clone(), p.digest()));
            (index.settings() == settings && present.eq(offered)).then(|| snapshot.revision())
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
