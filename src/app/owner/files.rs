//! The agent whose playbooks are files of a directory: looked at like others, and not written here.

use std::sync::Arc;

use super::{Inner, Owner, failed};
use crate::app::catalog::Changed;
use crate::app::error::{Error, Reason};
use crate::app::ports::store::{AgentRecord, Change, Commit, StoreError};
use crate::domain::agent::{AgentConfig, AgentId, AgentSettings};
use crate::domain::digest::Digest;
use crate::domain::playbook::Playbook;
use crate::domain::record::{Document, Entry, Origin, Standing};
use crate::domain::revision::Revision;
use crate::engine::snapshot::AgentIndex;
use crate::format::export;

impl Owner {
    /// Makes these files' playbooks what the agent of the directory is served with. The revision is the store's: it grows over
    /// restarts, too.
    ///
    /// # Errors
    /// A store that fails, an index that cannot be built; the present catalogue stays.
    pub async fn follow_files(
        &self,
        playbooks: Vec<Arc<Playbook>>,
        settings: AgentSettings,
    ) -> Result<Revision, StoreError> {
        let _alone = self.0.writing.lock().await;
        let agent = self.0.files.clone().expect("only the agent of a directory follows files");
        if self.0.catalog.is_unchanged(&agent, &playbooks, settings) {
            return Ok(self.0.catalog.revision());
        }
        let expected = self.0.store.revision().await?;
        let config = AgentConfig { settings, ..self.0.config };
        let changes = vec![Change::PutAgent(agent.clone(), config)];
        let unix_secs = self.0.clock.unix_secs();
        let revision = self.0.store.commit(Commit { expected, changes, answer: None, unix_secs }).await?;
        self.0.follow(revision, vec![Changed { agent, served: Some((playbooks, settings)) }]).await?;
        Ok(revision)
    }
}

impl Inner {
    /// Whether the playbooks of an agent are files.
    pub(super) fn is_of_files(&self, agent: &AgentId) -> bool {
        self.files.as_ref() == Some(agent)
    }

    /// Refuses to write to the agent of the files.
    pub(super) fn check_writable(&self, agent: &AgentId) -> Result<(), Error> {
        if !self.is_of_files(agent) {
            return Ok(());
        }
        let message = format!(
            "the playbooks of the agent \"{agent}\" are the files of --skills: edit those; they are followed while the server runs"
        );
        Err(Error::new(Reason::AgentReadOnly, message))
    }

    /// An agent, be it kept or one of files, with the revision that the catalogue is at.
    pub(super) async fn agent(&self, agent: &AgentId) -> Result<(Revision, Option<AgentRecord>), Error> {
        if self.is_of_files(agent) {
            let (revision, record) = self.record_of_files(agent);
            return Ok((revision, Some(record)));
        }
        self.store.agent(agent).await.map_err(failed)
    }

    pub(super) fn record_of_files(&self, agent: &AgentId) -> (Revision, AgentRecord) {
        self.catalog.cell().read(|snapshot| {
            let revision = snapshot.revision();
            let index = snapshot.agent(agent.as_str());
            let settings = index.map_or(self.config.settings, AgentIndex::settings);
            let entries =
                index.into_iter().flat_map(AgentIndex::playbooks).map(|playbook| entry(playbook, revision));
            let config = AgentConfig { settings, ..self.config };
            (revision, AgentRecord { id: agent.clone(), config, revision, entries: entries.collect() })
        })
    }

    /// The documents of an agent with these digests; those that are not there are left out.
    pub(super) async fn documents(
        &self,
        agent: &AgentId,
        digests: &[Digest],
    ) -> Result<Vec<Document>, Error> {
        if !self.is_of_files(agent) {
            return self.store.documents(digests).await.map_err(failed);
        }
        let playbooks: Vec<Arc<Playbook>> = self.catalog.cell().read(|snapshot| {
            let all = snapshot.agent(agent.as_str()).into_iter().flat_map(AgentIndex::playbooks);
            all.filter(|playbook| digests.contains(&playbook.digest())).map(Arc::clone).collect()
        });
        let document = |playbook: &Arc<Playbook>| {
            let text = export::skill_md(playbook).ok()?;
            Some(Document { digest: playbook.digest(), text })
        };
        Ok(playbooks.iter().filter_map(document).collect())
    }
}

/// A file's playbook as an entry: what it is now, and nothing before.
fn entry(playbook: &Playbook, revision: Revision) -> Entry {
    let digest = playbook.digest();
    Entry {
        slug: playbook.slug().clone(),
        newest: digest,
        file: digest,
        active: Some(digest),
        standing: Standing::Clear,
        origin: Origin::Directory,
        revision,
        edited_unix_secs: 0,
    }
}
