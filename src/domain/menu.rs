//! A turn's menu: what is offered, why, and what was left out.

use super::digest::Digest;
use super::slug::Slug;

/// What one turn is offered, in the order to show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Menu {
    /// At most [`MENU_ITEMS_MAX`](super::limits::MENU_ITEMS_MAX) lines; none means that nothing fits.
    pub items: Vec<MenuItem>,
    /// What qualified and found no place.
    pub omitted: Omitted,
    /// With `explain`: the playbooks that are not on the menu, best first.
    pub considered: Vec<Considered>,
    /// Whether the semantic pass took part.
    pub semantic: SemanticState,
}

/// Whether the semantic pass took part in a menu. An empty menu with [`SemanticState::Ok`] means that nothing fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SemanticState {
    /// It did.
    #[default]
    Ok,
    /// The model failed; the other passes took part.
    Unavailable,
    /// Most of the turn is in a script that the model does not cover; the other passes took part.
    ScriptNotCovered,
}

/// One line of a menu.
#[derive(Clone, Debug, PartialEq)]
pub struct MenuItem {
    /// The playbook.
    pub slug: Slug,
    /// Its title, on one line.
    pub title: String,
    /// Its description, on one line.
    pub description: String,
    /// The digest of the playbook as it was when the menu was made.
    pub digest: Digest,
    /// Why it is offered.
    pub reason: Reason,
    /// The evidence.
    pub scores: Scores,
    /// Playbooks that say nearly the same: this one stands for them, or they come further down.
    pub near_duplicates: Vec<Slug>,
}

/// Why a playbook is on a menu.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// It has no triggers.
    AlwaysOn,
    /// The turn contains triggers of it.
    Trigger {
        /// The triggers as authored, in the playbook's order.
        matched: Vec<String>,
        /// With `explain`: the folded word around the first match of each.
        found_in: Vec<String>,
    },
    /// It is relevant enough.
    Semantic {
        /// The estimated probability that the turn is about it.
        probability: f64,
    },
}

/// The evidence for a playbook.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// The estimated probability that the turn is about it, 0 to 1.
    pub probability: f64,
    /// BM25 over its fields.
    pub bm25: f64,
    /// The cosine of its embedding and the turn's, -1 to 1; none without a semantic pass.
    pub cosine: Option<f64>,
    /// The share of the turn's informative terms that it contains, weighted by rarity, 0 to 1.
    pub coverage: f64,
}

/// How many playbooks qualified and found no place, by the pass that admitted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Always-on ones.
    pub always_on: usize,
    /// Triggered ones.
    pub triggered: usize,
    /// Ones above the floor.
    pub semantic: usize,
    /// Ones above the floor that say nearly the same as one on the menu.
    pub near_duplicate: usize,
}

impl Omitted {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> usize {
        self.always_on + self.triggered + self.semantic + self.near_duplicate
    }
}

/// A playbook that is not on the menu.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    /// The playbook.
    pub slug: Slug,
    /// Why it is not.
    pub exclusion: Exclusion,
    /// The evidence.
    pub scores: Scores,
}

/// Why a playbook is not on the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// Its probability is below the floor.
    BelowFloor,
    /// It qualified, and the limit was reached.
    NoPlace,
    /// It is offered only when invoked by name.
    ExplicitOnly,
    /// The caller's list does not contain it.
    NotAllowed,
    /// One that says nearly the same is on the menu.
    NearDuplicate,
}
