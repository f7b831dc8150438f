//! Playbooks to an agent's index.
//!
//! **Cost**: linear in the text of the playbooks that are new, in parallel on the compute pool, and in the number of all;
//! see [`nearest`](super::nearest) for when a graph is built besides.

use std::sync::Arc;

use super::calibration::{self, Calibration};
use super::content::{Content, Contents, Gathered, Made};
use super::embed::scale::Scale;
use super::embed::{EmbedError, Embedder, Vector, builtin};
use super::lexical::Lexical;
use super::nearest::{Bounds, Vectors};
use super::ord::PlaybookOrd;
use super::snapshot::AgentIndex;
use super::trigger::{TooManyTriggers, TriggerIndex};
use crate::domain::agent::{AgentSettings, Untriggered};
use crate::domain::playbook::Playbook;

/// Bytes below which a body says nothing that selection could go by: a line.
const BODY_BYTES_FEW: usize = 100;

/// Builds indexes that share what is equal in them.
#[derive(Debug)]
pub struct Builder {
    contents: Contents,
    calibration: Arc<Calibration>,
    /// None when the model failed on it: then there is no semantic pass.
    scale: Option<Scale>,
}

/// An index, and what came up in its making.
#[derive(Debug)]
pub struct Built {
    /// The index.
    pub index: AgentIndex,
    /// The vectors that were made for it, by the digest of what they were made from.
    pub made: Made,
    /// Why the new playbooks have no vectors.
    pub failure: Option<EmbedError>,
}

/// What a build is told besides the playbooks.
#[derive(Clone, Copy, Default)]
pub struct Circumstances<'a> {
    /// The index that this one follows: parts of it may serve on.
    pub previous: Option<&'a AgentIndex>,
    /// Told how far long work is.
    pub progress: Option<&'a Progress<'a>>,
}

/// Told of a stage of a build how many of how many playbooks are done.
pub type Progress<'a> = dyn Fn(Stage, usize, usize) + 'a;

/// The stages of a build that may take seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Playbooks are embedded.
    Embedding,
    /// The graph of neighbours is built.
    Graph,
}

impl Builder {
    /// A builder that embeds with this model.
    #[must_use]
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        let scale = Scale::of(&*embedder).ok();
        Self { contents: Contents::new(embedder), calibration: Arc::clone(calibration::shipped()), scale }
    }

    /// With other numbers than those that are built in.
    #[must_use]
    pub fn with_calibration(self, calibration: Arc<Calibration>) -> Self {
        Self { calibration, ..self }
    }

    /// The model.
    #[must_use]
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        self.contents.embedder()
    }

    /// Makes vectors known that were made before, for as long as what is returned is held.
    #[must_use = "what is not held is forgotten at once"]
    pub fn remember_vectors(&self, made: Made) -> Vec<Vector> {
        self.contents.remember_vectors(made)
    }

    /// Builds the index of one agent.
    ///
    /// # Errors
    /// When the triggers are too many for one automaton.
    ///
    /// # Panics
    /// When two playbooks have one name: the caller has decided between them.
    pub fn build(
        &self,
        mut playbooks: Vec<Arc<Playbook>>,
        settings: AgentSettings,
        circumstances: Circumstances<'_>,
    ) -> Result<Built, TooManyTriggers> {
        playbooks.sort_by(|a, b| a.slug().cmp(b.slug()));
        assert!(playbooks.windows(2).all(|pair| pair[0].slug() != pair[1].slug()), "names are distinct");
        // A playbook that is never offered has no triggers to find and none to be ranked by.
        let lists = playbooks.iter().map(|p| if p.parts().explicit { &[] } else { p.triggers() });
        let triggers = TriggerIndex::build(lists, settings.trigger_match)?;
        let progress = circumstances.progress.unwrap_or(&|_, _, _| {});
        let embedding = |done, of| progress(Stage::Embedding, done, of);
        let Gathered { contents, failure, made } = self.contents.gather(&playbooks, &embedding);
        let lexical = Lexical::build(&contents.iter().map(|content| content.terms()).collect::<Vec<_>>());
        let previous =
            circumstances.previous.filter(|index| index.embedder.about().id == self.embedder().about().id);
        let vectors = contents.iter().map(|content| content.vector().cloned()).collect();
        let graph = |done, of| progress(Stage::Graph, done, of);
        let vectors =
            Vectors::build(vectors, previous.map(|index| &index.vectors), Bounds::default(), &graph);
        let always_on = (0..)
            .zip(&contents)
            .filter(|(_, content)| is_always_on(content.playbook(), settings))
            .map(|(ord, _)| PlaybookOrd::new(ord))
            .collect();
        let embedder = Arc::clone(self.embedder());
        let fits = self.calibration.fits(bareness(&contents));
        let scale = self.scale.unwrap_or(Scale { mean: 0.0, unit: 1.0 });
        let index =
            AgentIndex { contents, settings, always_on, triggers, lexical, embedder, vectors, fits, scale };
        Ok(Built { index, made, failure })
    }
}

impl Default for Builder {
    /// A builder that embeds with the model that is built in.
    fn default() -> Self {
        Self::new(builtin::model())
    }
}

/// How far a catalogue is one of descriptions alone, 0 to 1. One that half has bodies is none: what has a body comes above what
/// has not, and is judged as it is among its like.
fn bareness(contents: &[Arc<Content>]) -> f64 {
    let bare = contents.iter().filter(|content| content.playbook().body().len() < BODY_BYTES_FEW).count();
    let count = |of: usize| f64::from(u32::try_from(of).unwrap_or(u32::MAX));
    (2.0 * count(bare) / count(contents.len().max(1)) - 1.0).max(0.0)
}

/// Whether a playbook is offered on every turn.
#[must_use]
pub fn is_always_on(playbook: &Playbook, settings: AgentSettings) -> bool {
    let parts = playbook.parts();
    settings.untriggered == Untriggered::AlwaysOn
        && parts.triggers.is_empty()
        && !parts.triggers_wanted
        && !parts.explicit
}
