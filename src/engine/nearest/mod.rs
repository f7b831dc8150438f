//! A turn's vector to the playbooks near it.
//!
//! Up to [`JUDGE_ALL_MAX`] playbooks each is judged. Above, [`codes`] propose the nearest, and above [`SCAN_MAX`] a
//! [`graph`] does.
//!
//! **Invariants**: codes and graph only propose: cosines are always computed from the vectors. A graph that finds less
//! than [`RECALL_MIN`] of what the scan finds is not used; the codes are.

pub mod best;
pub mod codes;
pub mod graph;

use std::sync::Arc;

use codes::{CodeScratch, Codes};
use graph::{Graph, Near};

use super::embed::Vector;
use super::numbers::{add_weighted, dot};
use super::ord::PlaybookOrd;

/// Playbooks up to which all are judged.
pub const JUDGE_ALL_MAX: usize = 2_048;

/// Playbooks up to which the codes of all are compared: see `benches/engine.rs` for what each way costs.
pub const SCAN_MAX: usize = 65_536;

/// Share of the true nearest neighbours that a graph must find.
pub const RECALL_MIN: f64 = 0.95;

/// The cosine from which on two playbooks say nearly the same. Measured on 2026-12-03: among 443 skills of three public sets,
/// many of them about one subject, no two reach 0.95.
pub const NEAR_DUPLICATE_COSINE: f32 = 0.95;

/// Neighbours over which recall is measured.
pub const RECALL_NEIGHBOURS: usize = 32;

/// The numbers of playbooks from which on something else proposes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Up to here all are judged.
    pub judge_all_max: usize,
    /// Up to here codes are compared.
    pub scan_max: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { judge_all_max: JUDGE_ALL_MAX, scan_max: SCAN_MAX }
    }
}

/// The vectors of an agent's playbooks.
#[derive(Debug, Default)]
pub struct Vectors {
    by_ord: Vec<Option<Vector>>,
    /// The mean of all.
    mean: Vec<f32>,
    search: Search,
    /// The recall of a graph that was built and is not good enough.
    rejected: Option<f64>,
}

/// What proposes playbooks.
#[derive(Debug, Default)]
enum Search {
    /// Nothing: all are judged.
    #[default]
    All,
    Codes(Codes),
    Graph(Near),
}

impl Vectors {
    /// Over vectors in ordinal order, with the graph of `previous` where it still serves. `progress` is told how many of
    /// how many vectors a new graph holds.
    #[must_use]
    pub fn build(
        by_ord: Vec<Option<Vector>>,
        previous: Option<&Self>,
        bounds: Bounds,
        progress: &dyn Fn(usize, usize),
    ) -> Self {
        let mut built = Self { mean: mean(&by_ord), by_ord, ..Self::default() };
        let count = built.by_ord.iter().flatten().count();
        if count > bounds.scan_max {
            let present = previous.and_then(Self::graph);
            match present.and_then(|graph| Near::reuse(Arc::clone(graph), &built.by_ord)) {
                Some(near) => built.search = Search::Graph(near),
                None => built.adopt(Graph::over(&built.by_ord, progress)),
            }
        } else if count > bounds.judge_all_max {
            built.search = Search::Codes(Codes::of(&built.by_ord));
        }
        built
    }

    /// Takes a new graph if it finds enough.
    fn adopt(&mut self, graph: Graph) {
        if graph.recall() < RECALL_MIN {
            self.rejected = Some(graph.recall());
            self.search = Search::Codes(Codes::of(&self.by_ord));
        } else {
            self.search = Search::Graph(Near::over(Arc::new(graph), &self.by_ord));
        }
    }

    fn graph(&self) -> Option<&Arc<Graph>> {
        match &self.search {
            Search::Graph(near) => Some(near.graph()),
            Search::All | Search::Codes(_) => None,
        }
    }

    /// The cosine of a unit vector and a playbook's.
    #[must_use]
    pub fn cosine(&self, turn: &[f32], ord: PlaybookOrd) -> Option<f32> {
        self.by_ord[ord.index()].as_ref().map(|vector| cosine(turn, vector))
    }

    /// Whether the vectors of two playbooks have at least this cosine.
    #[must_use]
    pub fn are_near(&self, one: PlaybookOrd, other: PlaybookOrd, cosine_min: f32) -> bool {
        let [one, other] = [one, other].map(|ord| self.by_ord[ord.index()].as_ref());
        one.zip(other).is_some_and(|(one, other)| dot(one, other) >= cosine_min)
    }

    /// The mean of the cosines of a unit vector and the playbooks'.
    #[must_use]
    pub fn mean_cosine(&self, turn: &[f32]) -> f32 {
        if self.mean.is_empty() { 0.0 } else { dot(turn, &self.mean) }
    }

    /// How many playbooks there are.
    #[must_use]
    pub fn count(&self) -> f32 {
        float(self.by_ord.len())
    }

    /// Whether there are playbooks, and none has a vector.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.mean.is_empty() && !self.by_ord.is_empty()
    }

    /// Whether nothing is proposed, and all are to be judged.
    #[must_use]
    pub fn judges_all(&self) -> bool {
        matches!(self.search, Search::All)
    }

    /// The recall of the graph in use, measured when it was built.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        self.graph().map(|graph| graph.recall())
    }

    /// The recall of a graph that was built and is not used because of it.
    #[must_use]
    pub fn rejected_recall(&self) -> Option<f64> {
        self.rejected
    }

    /// Appends the `count` playbooks that seem nearest, in no order; a graph adds those beside it. None where all are to be
    /// judged.
    pub fn propose(
        &self,
        turn: &[f32],
        count: usize,
        scratch: &mut CodeScratch,
        found: &mut Vec<PlaybookOrd>,
    ) {
        match &self.search {
            Search::All => {}
            Search::Codes(codes) => codes.propose(turn, count, scratch, found),
            Search::Graph(near) => near.propose(turn, count, found),
        }
    }

    /// The `count` nearest playbooks, the nearest first, by every cosine: what approximations are held to.
    #[must_use]
    pub fn nearest_by_scan(&self, turn: &[f32], count: usize) -> Vec<PlaybookOrd> {
        let ords = (0..).map(PlaybookOrd::new).take(self.by_ord.len());
        by_cosine(ords.filter_map(|ord| Some((self.cosine(turn, ord)?, ord))).collect(), count)
    }
}

/// Rounding may take the product of unit vectors past 1.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    dot(a, b).clamp(-1.0, 1.0)
}

/// The mean of the vectors; empty when there are none.
fn mean(by_ord: &[Option<Vector>]) -> Vec<f32> {
    let mut sum: Vec<f32> = Vec::new();
    for vector in by_ord.iter().flatten() {
        sum.resize(vector.len(), 0.0);
        add_weighted(&mut sum, 1.0, vector);
    }
    let count = float(by_ord.iter().flatten().count());
    for x in &mut sum {
        *x /= count;
    }
    sum
}

fn by_cosine(mut scored: Vec<(f32, PlaybookOrd)>, count: usize) -> Vec<PlaybookOrd> {
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.truncate(count);
    scored.into_iter().map(|(_, ord)| ord).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a mean over 2^24 playbooks and more need not be exact")]
fn float(count: usize) -> f32 {
    count as f32
}

fn position(index: usize) -> u32 {
    u32::try_from(index).expect("an agent has fewer than 2^32 playbooks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_that_finds_too_little_is_not_used() {
        let points: Vec<Option<Vector>> = (0..200_u16)
            .map(|at| {
                let (sin, cos) = (f32::from(at) / 40.0).sin_cos();
                Some(Vector::from([sin, cos]))
            })
            .collect();
        let mut vectors = Vectors::build(points.clone(), None, Bounds::default(), &|_, _| {});
        vectors.adopt(Graph::of_half(&points));
        let recall = vectors.rejected_recall().expect("half of the points are not there to be found");
        assert!(recall < 0.8 && vectors.recall().is_none(), "{recall}");
        let (mut scratch, mut found) = (CodeScratch::default(), Vec::new());
        let turn = points[7].as_ref().expect("each has one");
        vectors.propose(turn, 3, &mut scratch, &mut found);
        found.sort_unstable();
        assert_eq!(found, [6, 7, 8].map(PlaybookOrd::new));
    }
}
