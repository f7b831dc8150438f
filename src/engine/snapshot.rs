//! Everything that a reader needs, at one revision.
//!
//! **Invariants**: immutable; an agent's playbooks are in slug order, so that ordinals order like slugs and ties break
//! the same way every time. **Threads**: shared freely; only `&self` methods.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lexical::Lexical;
use super::ord::PlaybookOrd;
use super::trigger::TriggerIndex;
use crate::domain::agent::{AgentId, AgentSettings};
use crate::domain::playbook::Playbook;
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;

/// The catalogue at a revision.
#[derive(Debug, Default)]
pub struct Snapshot {
    revision: Revision,
    agents: BTreeMap<AgentId, Arc<AgentIndex>>,
}

impl Snapshot {
    /// The snapshot after this one, in which one agent's index is replaced and all others are shared.
    #[must_use]
    pub fn with_agent(&self, agent: AgentId, index: Arc<AgentIndex>) -> Self {
        let mut agents = self.agents.clone();
        agents.insert(agent, index);
        Self { revision: self.revision.next(), agents }
    }

    /// Its revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// An agent's index.
    #[must_use]
    pub fn agent(&self, id: &str) -> Option<&AgentIndex> {
        let id = AgentId::parse(id).ok()?;
        self.agents.get(&id).map(Arc::as_ref)
    }

    /// How many agents there are.
    #[must_use]
    pub fn agent_count(&self) -> usize {
        self.agents.len()
    }
}

/// One agent's playbooks, ready to select from.
#[derive(Debug)]
pub struct AgentIndex {
    pub(super) playbooks: Vec<Arc<Playbook>>,
    pub(super) settings: AgentSettings,
    /// Always-on playbooks, in slug order.
    pub(super) always_on: Vec<PlaybookOrd>,
    pub(super) triggers: TriggerIndex,
    pub(super) lexical: Lexical,
}

impl AgentIndex {
    /// The playbooks in slug order.
    #[must_use]
    pub fn playbooks(&self) -> &[Arc<Playbook>] {
        &self.playbooks
    }

    /// The playbook with this name. Logarithmic.
    #[must_use]
    pub fn playbook(&self, slug: &Slug) -> Option<&Arc<Playbook>> {
        let at = self.playbooks.binary_search_by(|playbook| playbook.slug().cmp(slug)).ok()?;
        Some(&self.playbooks[at])
    }

    /// How its menus are made.
    #[must_use]
    pub fn settings(&self) -> AgentSettings {
        self.settings
    }

    pub(super) fn at(&self, ord: PlaybookOrd) -> &Playbook {
        &self.playbooks[ord.index()]
    }
}
