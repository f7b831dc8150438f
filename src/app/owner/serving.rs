//! From what is kept to what is served.

use std::collections::HashMap;
use std::sync::Arc;

use tracing::warn;

use super::Inner;
use crate::app::catalog::Changed;
use crate::app::ports::store::{AgentRecord, Fault, StoreError};
use crate::domain::digest::Digest;
use crate::domain::playbook::Playbook;
use crate::domain::record::Document;
use crate::domain::revision::Revision;
use crate::engine::content::Contents;
use crate::engine::snapshot::AgentIndex;
use crate::format::parse::parse;

impl Inner {
    /// The playbooks of an agent that serve, in slug order. Those that are served already are shared.
    pub(super) async fn serving(&self, record: &AgentRecord) -> Result<Vec<Arc<Playbook>>, StoreError> {
        let wanted: Vec<Digest> = record.entries.iter().filter_map(|entry| entry.active).collect();
        let mut known: HashMap<Digest, Arc<Playbook>> = self.catalog.cell().read(|snapshot| {
            let index = snapshot.agent(record.id.as_str());
            index.into_iter().flat_map(AgentIndex::playbooks).map(|p| (p.digest(), Arc::clone(p))).collect()
        });
        let missing: Vec<Digest> =
            wanted.iter().copied().filter(|digest| !known.contains_key(digest)).collect();
        if !missing.is_empty() {
            let documents = self.store.documents(&missing).await?;
            let read = tokio::task::spawn_blocking(move || {
                documents.iter().map(read).collect::<Result<Vec<_>, _>>()
            });
            let read = read.await.expect("reading a document does not panic")?;
            known.extend(read.into_iter().map(|playbook| (playbook.digest(), playbook)));
        }
        let found = wanted.iter().map(|digest| {
            known.get(digest).cloned().ok_or_else(|| damaged(format!("the document {digest} is not there")))
        });
        found.collect()
    }

    /// Publishes what changed, with the vectors that the store keeps, and keeps those that were made for it.
    pub(super) async fn follow(&self, revision: Revision, changed: Vec<Changed>) -> Result<(), StoreError> {
        let model = self.catalog.embedder().about().id;
        let playbooks = changed.iter().filter_map(|changed| changed.served.as_ref()).flat_map(|(all, _)| all);
        let playbooks: Vec<Arc<Playbook>> = playbooks.map(Arc::clone).collect();
        let texts = tokio::task::spawn_blocking(move || Contents::texts(&playbooks));
        let texts = texts.await.expect("digests are made without panics");
        // What is kept of vectors only saves time.
        let kept = self.store.vectors(model, &texts).await.unwrap_or_else(|error| {
            warn!(%error, "the kept vectors cannot be read: they are made again");
            Vec::new()
        });
        let catalog = Arc::clone(&self.catalog);
        let followed = tokio::task::spawn_blocking(move || {
            let _held = catalog.remember_vectors(kept);
            catalog.follow(revision, changed)
        });
        let followed = followed.await.expect("building an index does not panic");
        let made = followed.map_err(|error| damaged(error.to_string()))?;
        if !made.is_empty()
            && let Err(error) = self.store.keep_vectors(model, made).await
        {
            warn!(%error, "vectors are not kept: the next start makes them again");
        }
        Ok(())
    }
}

/// A document as the playbook that it says it is.
pub(super) fn read(document: &Document) -> Result<Arc<Playbook>, StoreError> {
    let playbook = parse(document.text.as_bytes()).playbook;
    let is_it = |playbook: &Playbook| playbook.digest() == document.digest;
    playbook.filter(is_it).map(Arc::new).ok_or_else(|| {
        damaged(format!("the document {} is not the playbook of that digest", document.digest))
    })
}

fn damaged(message: String) -> StoreError {
    StoreError { fault: Fault::Damaged, message }
}
