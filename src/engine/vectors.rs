//! A turn's vector to the playbooks near it.
//!
//! Up to [`SCAN_MAX`] playbooks every cosine is computed; above, a graph (`hnsw_rs`: Malkov and Yashunin, "Efficient and
//! robust approximate nearest neighbor search using HNSW graphs", 2018) proposes candidates.
//!
//! **Invariants**: the graph only proposes: cosines are always computed from the vectors. After each build it is checked
//! against the scan; below [`RECALL_MIN`] it is not used. Points that do not find themselves are scanned, so that no
//! playbook is out of reach. A graph outlives edits: vectors that it lacks are scanned, playbooks that are gone are passed
//! over, and it is built anew only when too much has changed.
//! **Cost**: a scan takes 35 to 85 ns a playbook, a search in the graph about 1 ms; a graph of 20,000 is built in 22 s.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use hnsw_rs::anndists::dist::distances::Distance;
use hnsw_rs::hnsw::Hnsw;

use super::embed::{Vector, add_weighted, dot};
use super::ord::PlaybookOrd;
use crate::compute;

/// Playbooks up to which every cosine is computed. Measured on 2026-12-02 on texts of random words (`benches/engine.rs`, 2
/// cores of an x86-64 server): 8,000 are scanned in 0.4 ms and searched in 1.1 ms, 20,000 in 1.6 ms and 1.2 ms, 100,000 in
/// 8.7 ms and 1.5 ms.
pub const SCAN_MAX: usize = 16_384;

/// Share of the true nearest neighbours that a graph must find.
pub const RECALL_MIN: f64 = 0.95;

/// Neighbours over which recall is measured.
pub const RECALL_NEIGHBOURS: usize = 32;

/// Vectors that recall is measured with.
const RECALL_SAMPLES: usize = 200;

/// Edges of a point, and the width of the search when building and when asking.
const EDGES: usize = 16;
const BUILD_WIDTH: usize = 100;
const SEARCH_WIDTH: usize = 128;
const LAYERS: usize = 16;

/// Vectors that are inserted between two reports of progress.
const INSERTS_BATCH: usize = 1_024;

/// Vectors beside a graph, one in so many of its points, that make a new one worth its time; the same for points that no
/// playbook has any more, of which there may be four times as many.
const BESIDE_SHARE: usize = 20;

/// The vectors of an agent's playbooks.
#[derive(Debug, Default)]
pub struct Vectors {
    by_ord: Vec<Option<Vector>>,
    /// The mean of all.
    mean: Vec<f32>,
    near: Option<Near>,
    /// The recall of a graph that was built and is not good enough.
    rejected: Option<f64>,
}

/// A graph, and what it means for these playbooks.
#[derive(Debug)]
struct Near {
    graph: Arc<Graph>,
    /// The playbooks of each point, sorted by point.
    owners: Vec<(u32, PlaybookOrd)>,
    /// Playbooks whose vectors the graph lacks or does not find.
    beside: Vec<PlaybookOrd>,
}

/// A graph over distinct vectors.
struct Graph {
    hnsw: Hnsw<'static, f32, OneMinusCosine>,
    points: Vec<Vector>,
    /// Points that do not find themselves.
    strays: Vec<u32>,
    recall: f64,
}

/// 1 - cosine of unit vectors, not below 0, which rounding would allow and the graph does not.
#[derive(Clone, Copy, Debug, Default)]
struct OneMinusCosine;

impl Distance<f32> for OneMinusCosine {
    fn eval(&self, a: &[f32], b: &[f32]) -> f32 {
        (1.0 - dot(a, b)).max(0.0)
    }
}

impl Vectors {
    /// Over vectors in ordinal order, with the graph of `previous` where it still serves. `scan_max` is [`SCAN_MAX`] but
    /// in tests and benches; `progress` is told how many of how many vectors a new graph holds.
    #[must_use]
    pub fn build(
        by_ord: Vec<Option<Vector>>,
        previous: Option<&Self>,
        scan_max: usize,
        progress: &dyn Fn(usize, usize),
    ) -> Self {
        let mut built = Self { mean: mean(&by_ord), by_ord, near: None, rejected: None };
        if built.by_ord.iter().flatten().count() <= scan_max {
            return built;
        }
        let present = previous.and_then(|vectors| Some(Arc::clone(&vectors.near.as_ref()?.graph)));
        built.near = present.and_then(|graph| Near::reuse(graph, &built.by_ord));
        if built.near.is_none() {
            built.adopt(Graph::build(distinct(&built.by_ord), progress));
        }
        built
    }

    /// Takes a new graph if it finds enough.
    fn adopt(&mut self, graph: Graph) {
        if graph.recall < RECALL_MIN {
            self.rejected = Some(graph.recall);
        } else {
            self.near = Some(Near::over(Arc::new(graph), &self.by_ord));
        }
    }

    /// The cosine of a unit vector and a playbook's.
    #[must_use]
    pub fn cosine(&self, turn: &[f32], ord: PlaybookOrd) -> Option<f32> {
        self.by_ord[ord.index()].as_ref().map(|vector| cosine(turn, vector))
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

    /// Whether every cosine is computed.
    #[must_use]
    pub fn is_scanned(&self) -> bool {
        self.near.is_none()
    }

    /// The recall of the graph in use, measured when it was built.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        self.near.as_ref().map(|near| near.graph.recall)
    }

    /// The recall of a graph that was built and is not used because of it.
    #[must_use]
    pub fn rejected_recall(&self) -> Option<f64> {
        self.rejected
    }

    /// Appends about `count` of the nearest playbooks, in no order, and those beside the graph. Without a graph none: all
    /// are to be scanned.
    pub fn propose(&self, turn: &[f32], count: usize, found: &mut Vec<PlaybookOrd>) {
        if let Some(near) = &self.near {
            near.propose(turn, count, found);
        }
    }

    /// The `count` nearest playbooks, the nearest first, by the scan: what approximations are held to.
    #[must_use]
    pub fn nearest_by_scan(&self, turn: &[f32], count: usize) -> Vec<PlaybookOrd> {
        let ords = (0..).map(PlaybookOrd::new).take(self.by_ord.len());
        nearest(ords.filter_map(|ord| Some((self.cosine(turn, ord)?, ord))).collect(), count)
    }
}

impl Near {
    /// What an older graph means for these vectors; `None` when too much has changed.
    fn reuse(graph: Arc<Graph>, by_ord: &[Option<Vector>]) -> Option<Self> {
        let near = Self::over(graph, by_ord);
        let points = near.graph.points.len();
        let mut alive: Vec<u32> = near.owners.iter().map(|(point, _)| *point).collect();
        alive.dedup();
        let beside = near.beside.len().saturating_sub(near.graph.strays.len());
        let serves = beside * BESIDE_SHARE <= points && (points - alive.len()) * BESIDE_SHARE <= points * 4;
        serves.then_some(near)
    }

    fn over(graph: Arc<Graph>, by_ord: &[Option<Vector>]) -> Self {
        let points = (0_u32..).zip(&graph.points).map(|(point, vector)| (place(vector), point));
        let points: HashMap<usize, u32> = points.collect();
        let mut owners = Vec::with_capacity(by_ord.len());
        let mut beside = Vec::new();
        for (ord, vector) in (0..).map(PlaybookOrd::new).zip(by_ord) {
            let Some(vector) = vector else { continue };
            match points.get(&place(vector)) {
                Some(point) => {
                    owners.push((*point, ord));
                    if graph.strays.binary_search(point).is_ok() {
                        beside.push(ord);
                    }
                }
                None => beside.push(ord),
            }
        }
        owners.sort_unstable();
        Self { graph, owners, beside }
    }

    fn propose(&self, turn: &[f32], count: usize, found: &mut Vec<PlaybookOrd>) {
        for neighbour in self.graph.hnsw.search(turn, count, SEARCH_WIDTH.max(count)) {
            let point = position(neighbour.get_origin_id());
            let first = self.owners.partition_point(|(owned, _)| *owned < point);
            let owners = self.owners[first..].iter().take_while(|(owned, _)| *owned == point);
            found.extend(owners.map(|(_, ord)| *ord));
        }
        found.extend(&self.beside);
    }
}

impl Graph {
    fn build(points: Vec<Vector>, progress: &dyn Fn(usize, usize)) -> Self {
        let hnsw = Hnsw::new(EDGES, points.len(), LAYERS, BUILD_WIDTH, OneMinusCosine);
        let ids: Vec<usize> = (0..points.len()).collect();
        for batch in ids.chunks(INSERTS_BATCH) {
            compute::map(batch, |id| hnsw.insert((&points[*id], *id)));
            progress(batch.last().map_or(0, |last| last + 1), points.len());
        }
        Self::checked(hnsw, points)
    }

    fn checked(hnsw: Hnsw<'static, f32, OneMinusCosine>, points: Vec<Vector>) -> Self {
        let mut graph = Self { hnsw, points, strays: Vec::new(), recall: 0.0 };
        graph.strays = graph.lost();
        graph.recall = graph.measured_recall();
        graph
    }

    fn lost(&self) -> Vec<u32> {
        let ids: Vec<u32> = (0..position(self.points.len())).collect();
        let lost = compute::map(&ids, |id| {
            let own = &self.points[*id as usize];
            let found = self.hnsw.search(own, RECALL_NEIGHBOURS, SEARCH_WIDTH);
            (!found.iter().any(|neighbour| position(neighbour.get_origin_id()) == *id)).then_some(*id)
        });
        lost.into_iter().flatten().collect()
    }

    /// The mean share of the nearest neighbours that the graph finds, for vectors between two of its points: turns are no
    /// points of the graph, and points find their neighbours more easily than turns do.
    fn measured_recall(&self) -> f64 {
        let step = (self.points.len() / RECALL_SAMPLES).max(1);
        let ones = self.points.iter().step_by(step);
        let others = self.points.iter().cycle().skip(step / 2 + 1).step_by(step);
        let samples: Vec<Vec<f32>> = ones.zip(others).map(|(one, other)| between(one, other)).collect();
        let shares = compute::map(&samples, |turn| {
            let scored =
                (0..).zip(&self.points).map(|(point, vector)| (dot(turn, vector), PlaybookOrd::new(point)));
            let mut truth = nearest(scored.collect(), RECALL_NEIGHBOURS);
            truth.sort_unstable();
            let found = self.hnsw.search(turn, RECALL_NEIGHBOURS, SEARCH_WIDTH);
            let hits = found.iter().map(|n| PlaybookOrd::new(position(n.get_origin_id())));
            let hits = hits.filter(|point| truth.binary_search(point).is_ok()).count();
            f64::from(position(hits)) / f64::from(position(truth.len()))
        });
        shares.iter().sum::<f64>() / f64::from(position(shares.len()))
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (points, strays) = (self.points.len(), self.strays.len());
        write!(f, "Graph {{ points: {points}, strays: {strays}, recall: {} }}", self.recall)
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

/// The vectors, each once; vectors of equal content are one in memory.
fn distinct(by_ord: &[Option<Vector>]) -> Vec<Vector> {
    let mut seen = std::collections::HashSet::new();
    by_ord.iter().flatten().filter(|vector| seen.insert(place(vector))).cloned().collect()
}

fn place(vector: &Vector) -> usize {
    vector.as_ptr().addr()
}

/// A unit vector between two, nearer to the first.
fn between(one: &[f32], other: &[f32]) -> Vec<f32> {
    let mut sum = one.to_vec();
    add_weighted(&mut sum, 0.5, other);
    let norm = dot(&sum, &sum).sqrt().max(f32::MIN_POSITIVE);
    for x in &mut sum {
        *x /= norm;
    }
    sum
}

fn nearest(mut scored: Vec<(f32, PlaybookOrd)>, count: usize) -> Vec<PlaybookOrd> {
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
        let points: Vec<Vector> = (0..200_u16)
            .map(|at| {
                let (sin, cos) = (f32::from(at) / 40.0).sin_cos();
                Vector::from([sin, cos])
            })
            .collect();
        let by_ord: Vec<_> = points.iter().cloned().map(Some).collect();
        let half = Hnsw::new(EDGES, points.len(), LAYERS, BUILD_WIDTH, OneMinusCosine);
        for at in (0..points.len()).step_by(2) {
            half.insert((&points[at], at));
        }
        let mut vectors = Vectors::build(by_ord, None, SCAN_MAX, &|_, _| {});
        vectors.adopt(Graph::checked(half, points));
        let recall = vectors.rejected_recall().expect("half of the points are not there to be found");
        assert!(recall < 0.8 && vectors.is_scanned() && vectors.recall().is_none(), "{recall}");
    }
}
