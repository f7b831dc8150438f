//! Everything that a reader needs, at one revision.
//!
//! **Invariants**: immutable; an agent's playbooks are in slug order, so that ordinals order like slugs and ties break
//! the same way every time. **Threads**: shared freely; only `&self` methods.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::calibration::Fits;
use super::content::Content;
use super::embed::Embedder;
use super::embed::scale::Scale;
use super::lexical::Lexical;
use super::nearest::{NEAR_DUPLICATE_COSINE, Vectors};
use super::ord::PlaybookOrd;
use super::trigger::TriggerIndex;
use crate::compute;
use crate::domain::agent::{AgentId, AgentSettings};
use crate::domain::playbook::Playbook;
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;

/// The catalogue at a revision.
#[derive(Debug)]
pub struct Snapshot {
    revision: Revision,
    made: Instant,
    agents: BTreeMap<AgentId, Arc<AgentIndex>>,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self { revision: Revision::default(), made: Instant::now(), agents: BTreeMap::new() }
    }
}

impl Snapshot {
    /// The snapshot at a later revision, in which the indexes of some agents are others, or gone, and the rest are shared.
    #[must_use]
    pub fn with_agents(
        &self,
        revision: Revision,
        changed: impl IntoIterator<Item = (AgentId, Option<Arc<AgentIndex>>)>,
    ) -> Self {
        let mut agents = self.agents.clone();
        for (agent, index) in changed {
            match index {
                Some(index) => agents.insert(agent, index),
                None => agents.remove(&agent),
            };
        }
        Self { revision, made: Instant::now(), agents }
    }

    /// Its revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// How long ago it was made.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.made.elapsed()
    }

    /// An agent's index.
    #[must_use]
    pub fn agent(&self, id: &str) -> Option<&AgentIndex> {
        self.agents.get(id).map(Arc::as_ref)
    }

    /// An agent's index, to hold on to.
    #[must_use]
    pub fn shared_agent(&self, id: &AgentId) -> Option<Arc<AgentIndex>> {
        self.agents.get(id).map(Arc::clone)
    }

    /// The agents, with their indexes.
    pub fn agents(&self) -> impl Iterator<Item = (&AgentId, &Arc<AgentIndex>)> {
        self.agents.iter()
    }

    /// How many agents there are.
    #[must_use]
    pub fn agent_count(&self) -> usize {
        self.agents.len()
    }

    /// How many playbooks all agents have. Linear in the agents.
    #[must_use]
    pub fn playbook_count(&self) -> usize {
        self.agents.values().map(|index| index.contents.len()).sum()
    }
}

/// One agent's playbooks, ready to select from.
#[derive(Debug)]
pub struct AgentIndex {
    /// In slug order.
    pub(super) contents: Vec<Arc<Content>>,
    pub(super) settings: AgentSettings,
    /// Always-on playbooks, in slug order.
    pub(super) always_on: Vec<PlaybookOrd>,
    pub(super) triggers: TriggerIndex,
    pub(super) lexical: Lexical,
    /// The model of the vectors.
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) vectors: Vectors,
    /// How evidence becomes probabilities.
    pub(super) fits: Fits,
    /// What its cosines are worth.
    pub(super) scale: Scale,
}

impl AgentIndex {
    /// The playbooks in slug order.
    #[must_use]
    pub fn playbooks(&self) -> impl ExactSizeIterator<Item = &Arc<Playbook>> {
        self.contents.iter().map(|content| content.playbook())
    }

    /// The playbook with this name. Logarithmic.
    #[must_use]
    pub fn playbook(&self, slug: &Slug) -> Option<&Arc<Playbook>> {
        Some(self.contents[self.position(slug)?].playbook())
    }

    /// How its menus are made.
    #[must_use]
    pub fn settings(&self) -> AgentSettings {
        self.settings
    }

    /// The vectors of its playbooks.
    #[must_use]
    pub fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    /// The model of its vectors.
    #[must_use]
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// Whether two playbooks say nearly the same: in the words of one description, or in nearly the same words.
    pub(super) fn are_near_duplicates(&self, one: PlaybookOrd, other: PlaybookOrd) -> bool {
        self.have_one_description(one, other) || self.vectors.are_near(one, other, NEAR_DUPLICATE_COSINE)
    }

    /// Whether a model that sees two playbooks on a menu could not tell them apart but by their names.
    pub(super) fn have_one_description(&self, one: PlaybookOrd, other: PlaybookOrd) -> bool {
        self.at(one).description_line() == self.at(other).description_line()
    }

    /// Pairs of playbooks with one description, or with vectors of at least this cosine, in slug order. Quadratic.
    #[must_use]
    pub fn alike(&self, cosine_min: f32) -> Vec<(Slug, Slug)> {
        let slug = |ord: PlaybookOrd| self.at(ord).slug().clone();
        let ords: Vec<PlaybookOrd> = (0..).map(PlaybookOrd::new).take(self.contents.len()).collect();
        let of = |one: &PlaybookOrd| {
            let is_alike = |other: &&PlaybookOrd| {
                self.have_one_description(*one, **other) || self.vectors.are_near(*one, **other, cosine_min)
            };
            let others = ords[one.index() + 1..].iter().filter(is_alike);
            others.map(|other| (slug(*one), slug(*other))).collect::<Vec<_>>()
        };
        compute::map(&ords, of).into_iter().flatten().collect()
    }

    pub(super) fn at(&self, ord: PlaybookOrd) -> &Playbook {
        self.contents[ord.index()].playbook()
    }

    pub(super) fn position(&self, slug: &Slug) -> Option<usize> {
        self.contents.binary_search_by(|content| content.playbook().slug().cmp(slug)).ok()
    }
}
