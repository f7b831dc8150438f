//! What an agent begins with.

use super::edit::Admitted;
use super::{Actor, Owner};
use crate::app::error::{Error, Reason};
use crate::app::packs::Pack;
use crate::app::ports::store::Change;
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::playbook::Playbook;
use crate::domain::record::{Document, Origin, Standing};
use crate::format::export;

impl Owner {
    /// Makes an agent with the playbooks of some packs that are built in. Says how many there are.
    ///
    /// # Errors
    /// A store that fails.
    pub async fn seed(&self, agent: &AgentId, packs: Vec<Pack>) -> Result<usize, Error> {
        let actor = Actor("maitred".to_owned());
        let (_, mut turn) = self.turn_of_any(agent, self.default_config(), &actor).await?;
        turn.change(Change::PutAgent(agent.clone(), self.default_config()));
        let mut count = 0;
        for Pack { manifest, playbooks } in packs {
            for playbook in playbooks {
                let origin = Origin::Pack { id: manifest.id.clone(), version: manifest.version.clone() };
                // What is built in was scanned by a test, and cannot change.
                let text = export::skill_md(&playbook)
                    .map_err(|error| Error::new(Reason::PlaybookRefused, error.to_string()))?;
                let file = Digest::of_bytes(text.as_bytes());
                let document = Document { digest: playbook.digest(), text };
                let admitted = Admitted::trusted(playbook.as_ref().clone(), document, file);
                turn.create(&admitted, origin)?;
                count += 1;
            }
        }
        turn.commit().await?;
        Ok(count)
    }
}

impl Admitted {
    fn trusted(playbook: Playbook, document: Document, file: Digest) -> Self {
        Self { playbook, document, file, standing: Standing::Clear, let_in: None, diagnostics: Vec::new() }
    }
}
