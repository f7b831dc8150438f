//! A turn that is tried, and its menu.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::error::Error;
use crate::app::read::Tried;
use crate::domain::menu::{Considered, Exclusion, MenuItem, Omitted, Reason, Scores, SemanticState};
use crate::domain::query::MenuQuery;

/// A turn to try.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::transport::http) struct TurnView {
    /// What the user says.
    text: String,
    /// Earlier turns, oldest first.
    #[serde(default)]
    recent: Vec<String>,
    /// How many lines at most, 0 to 6; 0 is the default.
    #[serde(default)]
    limit: usize,
    /// Waits, for two seconds at most, until the catalogue has reached this revision.
    pub(in crate::transport::http) min_revision: Option<u64>,
}

impl TurnView {
    pub(in crate::transport::http) fn query(self) -> Result<MenuQuery, Error> {
        let Self { text, recent, limit, .. } = self;
        let query = MenuQuery::new(text).and_then(|query| query.with_recent(recent));
        Ok(query.and_then(|query| query.with_limit(limit))?.with_explain(true))
    }
}

/// The menu of a turn.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct MenuView {
    revision: u64,
    /// Its lines, in the order to show; none means that nothing fits.
    items: Vec<ItemView>,
    omitted: OmittedView,
    /// The playbooks that are not on it, best first, a hundred at most.
    considered: Vec<ConsideredView>,
    /// Whether meaning took part: `ok`, `unavailable` or `script_not_covered`.
    semantic: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
struct ItemView {
    slug: String,
    title: String,
    description: String,
    /// The digest of the version that is offered.
    digest: String,
    reason: ReasonView,
    scores: ScoresView,
    /// Playbooks that say nearly the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    near_duplicates: Vec<String>,
}

/// Why a playbook is on the menu.
#[derive(Debug, Serialize, ToSchema)]
struct ReasonView {
    /// `always_on`, `trigger` or `semantic`.
    kind: &'static str,
    /// The triggers that matched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    matched: Vec<String>,
    /// The words in which they were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    found_in: Vec<String>,
}

/// The evidence for a playbook.
#[derive(Debug, Serialize, ToSchema)]
struct ScoresView {
    /// The estimated probability that the turn is about it, 0 to 1.
    probability: f64,
    bm25: f64,
    /// -1 to 1; none where meaning took no part.
    #[serde(skip_serializing_if = "Option::is_none")]
    cosine: Option<f64>,
    /// The share of the turn's informative terms that it contains, 0 to 1.
    coverage: f64,
}

/// How many qualified and found no place.
#[derive(Debug, Serialize, ToSchema)]
struct OmittedView {
    always_on: usize,
    triggered: usize,
    semantic: usize,
    near_duplicate: usize,
}

#[derive(Debug, Serialize, ToSchema)]
struct ConsideredView {
    slug: String,
    /// Why it is not on the menu: `below_floor`, `no_place`, `explicit_only`, `not_allowed` or `near_duplicate`.
    exclusion: &'static str,
    scores: ScoresView,
}

impl MenuView {
    pub(in crate::transport::http) fn of(tried: &Tried) -> Self {
        let menu = &tried.menu;
        let Omitted { always_on, triggered, semantic, near_duplicate } = menu.omitted;
        Self {
            revision: tried.revision.number(),
            items: menu.items.iter().map(ItemView::of).collect(),
            omitted: OmittedView { always_on, triggered, semantic, near_duplicate },
            considered: menu.considered.iter().map(ConsideredView::of).collect(),
            semantic: match menu.semantic {
                SemanticState::Ok => "ok",
                SemanticState::Unavailable => "unavailable",
                SemanticState::ScriptNotCovered => "script_not_covered",
            },
        }
    }
}

impl ItemView {
    fn of(item: &MenuItem) -> Self {
        let (kind, matched, found_in) = match &item.reason {
            Reason::AlwaysOn => ("always_on", Vec::new(), Vec::new()),
            Reason::Trigger { matched, found_in } => ("trigger", matched.clone(), found_in.clone()),
            Reason::Semantic { .. } => ("semantic", Vec::new(), Vec::new()),
        };
        Self {
            slug: item.slug.to_string(),
            title: item.title.clone(),
            description: item.description.clone(),
            digest: item.digest.to_string(),
            reason: ReasonView { kind, matched, found_in },
            scores: ScoresView::of(item.scores),
            near_duplicates: item.near_duplicates.iter().map(ToString::to_string).collect(),
        }
    }
}

impl ScoresView {
    fn of(scores: Scores) -> Self {
        let Scores { probability, bm25, cosine, coverage } = scores;
        Self { probability, bm25, cosine, coverage }
    }
}

impl ConsideredView {
    fn of(considered: &Considered) -> Self {
        let exclusion = match considered.exclusion {
            Exclusion::BelowFloor => "below_floor",
            Exclusion::NoPlace => "no_place",
            Exclusion::ExplicitOnly => "explicit_only",
            Exclusion::NotAllowed => "not_allowed",
            Exclusion::NearDuplicate => "near_duplicate",
        };
        Self { slug: considered.slug.to_string(), exclusion, scores: ScoresView::of(considered.scores) }
    }
}
