//! A graph over the vectors (`hnsw_rs`: Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
//! HNSW graphs", 2018), and what it means for an agent's playbooks.
//!
//! **Invariants**: after each build it is checked against the scan. Points that do not find themselves are scanned, so that
//! no playbook is out of reach. A graph outlives edits: vectors that it lacks are scanned, playbooks that are gone are
//! passed over, and it is built anew only when too much has changed.
//! **Cost**: a search takes 1 to 1.5 ms; a graph of 20,000 is built in 22 s.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use hnsw_rs::anndists::dist::distances::Distance;
use hnsw_rs::hnsw::Hnsw;

use super::{RECALL_NEIGHBOURS, by_cosine, position};
use crate::compute;
use crate::engine::embed::Vector;
use crate::engine::numbers::{add_weighted, dot};
use crate::engine::ord::PlaybookOrd;

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

/// A graph, and what it means for these playbooks.
#[derive(Debug)]
pub(super) struct Near {
    graph: Arc<Graph>,
    /// The playbooks of each point, sorted by point.
    owners: Vec<(u32, PlaybookOrd)>,
    /// Playbooks whose vectors the graph lacks or does not find.
    beside: Vec<PlaybookOrd>,
}

/// A graph over distinct vectors.
pub(super) struct Graph {
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

impl Near {
    /// What an older graph means for these vectors; `None` when too much has changed.
    pub(super) fn reuse(graph: Arc<Graph>, by_ord: &[Option<Vector>]) -> Option<Self> {
        let near = Self::over(graph, by_ord);
        let points = near.graph.points.len();
        let mut alive: Vec<u32> = near.owners.iter().map(|(point, _)| *point).collect();
        alive.dedup();
        let beside = near.beside.len().saturating_sub(near.graph.strays.len());
        let serves = beside * BESIDE_SHARE <= points && (points - alive.len()) * BESIDE_SHARE <= points * 4;
        serves.then_some(near)
    }

    pub(super) fn over(graph: Arc<Graph>, by_ord: &[Option<Vector>]) -> Self {
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

    pub(super) fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    pub(super) fn propose(&self, turn: &[f32], count: usize, found: &mut Vec<PlaybookOrd>) {
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
    /// Over each distinct vector.
    pub(super) fn over(by_ord: &[Option<Vector>], progress: &dyn Fn(usize, usize)) -> Self {
        let points = distinct(by_ord);
        let hnsw = Hnsw::new(EDGES, points.len(), LAYERS, BUILD_WIDTH, OneMinusCosine);
        let ids: Vec<usize> = (0..points.len()).collect();
        for batch in ids.chunks(INSERTS_BATCH) {
            compute::map(batch, |id| hnsw.insert((&points[*id], *id)));
            progress(batch.last().map_or(0, |last| last + 1), points.len());
        }
        Self::checked(hnsw, points)
    }

    /// Of every second vector alone, as a build that went wrong would leave it.
    #[cfg(test)]
    pub(super) fn of_half(by_ord: &[Option<Vector>]) -> Self {
        let points = distinct(by_ord);
        let hnsw = Hnsw::new(EDGES, points.len(), LAYERS, BUILD_WIDTH, OneMinusCosine);
        for at in (0..points.len()).step_by(2) {
            hnsw.insert((&points[at], at));
        }
        Self::checked(hnsw, points)
    }

    pub(super) fn recall(&self) -> f64 {
        self.recall
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
            let mut truth = by_cosine(scored.collect(), RECALL_NEIGHBOURS);
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

/// The vectors, each once; vectors of equal content are one in memory.
fn distinct(by_ord: &[Option<Vector>]) -> Vec<Vector> {
    let mut seen = HashSet::new();
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
