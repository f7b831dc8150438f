//! The hot path, top to bottom: one turn to one menu.
//!
//! **Invariants**: a function of the index and the query alone, so equal input gives an equal menu; never more items
//! than the query allows, enforced where items are added; everything that qualified and was cut is counted.
//! **Cost**: microseconds at 30 playbooks; linear in the turn, in the matches, in the postings of its terms, and in the
//! playbooks up to [`SCAN_MAX`](super::nearest::SCAN_MAX).

use std::cmp::Ordering;

use super::builder::is_always_on;
use super::embed::turn::{Outcome, TurnVector};
use super::ord::PlaybookOrd;
use super::relevance::{self, Evidence, FLOOR, Nearness};
use super::scratch::Scratch;
use super::snapshot::AgentIndex;
use super::trigger::{TriggerHits, found_in};
use crate::domain::limits::CONSIDERED_MAX;
use crate::domain::menu::{Considered, Exclusion, Menu, MenuItem, Reason, Scores, SemanticState};
use crate::domain::query::MenuQuery;
use crate::domain::stage::Stage;
use crate::domain::text::fold_into;

/// Playbooks that each kind of evidence proposes where there are too many to judge them all.
const PROPOSED: usize = 128;

/// Selects the menu of a turn. Where the model takes milliseconds a text, embed first: [`select_embedded`].
pub fn select(index: &AgentIndex, query: &MenuQuery, scratch: &mut Scratch) -> Menu {
    scratch.stopwatch.start();
    let mut turn = std::mem::take(&mut scratch.turn);
    turn.embed(&*index.embedder, query, &mut scratch.embed);
    scratch.stopwatch.end(Stage::Embed);
    let menu = compare(index, query, &turn, scratch);
    scratch.turn = turn;
    menu
}

/// Selects the menu of a turn that the index's model has embedded.
pub fn select_embedded(
    index: &AgentIndex,
    query: &MenuQuery,
    turn: &TurnVector,
    scratch: &mut Scratch,
) -> Menu {
    scratch.stopwatch.start();
    compare(index, query, turn, scratch)
}

/// The turn and its vector with the playbooks.
fn compare(index: &AgentIndex, query: &MenuQuery, turn: &TurnVector, scratch: &mut Scratch) -> Menu {
    fold_turn(query, scratch);
    index.triggers.find(&scratch.folded, &mut scratch.hits);
    scratch.stopwatch.end(Stage::Trigger);
    index.lexical.score(&scratch.folded, query.recent(), &mut scratch.folded_recent, &mut scratch.lexical);
    scratch.stopwatch.end(Stage::Lexical);
    propose(index, query, turn, scratch);
    let mut stopwatch = scratch.stopwatch.clone();
    let judge = Judge::new(index, turn, scratch);
    stopwatch.end(Stage::Nearest);
    let candidates = Candidates::collect(&judge, query, &scratch.hits, &scratch.proposed);
    let menu = compose(&judge, query, scratch, candidates);
    stopwatch.end(Stage::Judge);
    scratch.stopwatch = stopwatch;
    menu
}

/// The evidence for every playbook, in slug order: for those who measure it.
pub fn evidence(index: &AgentIndex, query: &MenuQuery, scratch: &mut Scratch) -> Vec<Evidence> {
    let mut turn = TurnVector::default();
    turn.embed(&*index.embedder, query, &mut scratch.embed);
    fold_turn(query, scratch);
    index.lexical.score(&scratch.folded, query.recent(), &mut scratch.folded_recent, &mut scratch.lexical);
    let judge = Judge::new(index, &turn, scratch);
    (0..).map(PlaybookOrd::new).take(index.contents.len()).map(|ord| judge.evidence(ord)).collect()
}

fn fold_turn(query: &MenuQuery, scratch: &mut Scratch) {
    scratch.folded.clear();
    fold_into(query.turn(), &mut scratch.folded);
}

/// Fills `proposed` with the playbooks that are worth judging, in ordinal order: all of them in most catalogues; in a
/// large one, what is near, what shares most terms, and what the caller names.
fn propose(index: &AgentIndex, query: &MenuQuery, turn: &TurnVector, scratch: &mut Scratch) {
    let proposed = &mut scratch.proposed;
    proposed.clear();
    if index.vectors.judges_all() {
        proposed.extend((0..).map(PlaybookOrd::new).take(index.contents.len()));
        return;
    }
    if query.allowed().is_empty() {
        scratch.lexical.best(PROPOSED, proposed);
        if turn.outcome == Outcome::Embedded {
            index.vectors.propose(&turn.values, PROPOSED, &mut scratch.nearest, proposed);
        }
    } else {
        let named = query.allowed().iter().filter_map(|slug| index.position(slug));
        proposed.extend(named.filter_map(|at| u32::try_from(at).ok()).map(PlaybookOrd::new));
    }
    proposed.sort_unstable();
    proposed.dedup();
}

/// What is known of a turn, to judge playbooks by.
struct Judge<'a> {
    index: &'a AgentIndex,
    lexical: &'a super::lexical::LexicalScores,
    /// None without a semantic pass.
    turn: Option<&'a [f32]>,
    /// The cosine of the turn and the catalogue on the whole.
    background: f32,
    semantic: SemanticState,
}

impl<'a> Judge<'a> {
    fn new(index: &'a AgentIndex, turn: &'a TurnVector, scratch: &'a Scratch) -> Self {
        let semantic = match turn.outcome {
            _ if index.vectors.is_missing() => SemanticState::Unavailable,
            Outcome::Failed => SemanticState::Unavailable,
            Outcome::ScriptNotCovered => SemanticState::ScriptNotCovered,
            Outcome::Embedded | Outcome::NoToken => SemanticState::Ok,
        };
        let turn = (turn.outcome == Outcome::Embedded).then_some(turn.values.as_slice());
        let background = turn.map_or(0.0, |turn| {
            let vectors = &index.vectors;
            relevance::background(vectors.mean_cosine(turn), vectors.count(), index.scale.mean)
        });
        Self { index, lexical: &scratch.lexical, turn, background, semantic }
    }

    fn evidence(&self, ord: PlaybookOrd) -> Evidence {
        let score = self.lexical.of(ord);
        let total = self.lexical.total_weight();
        Evidence {
            bm25: score.bm25,
            strength: score.strength,
            coverage: if total > 0.0 { (score.matched_weight / total).min(1.0) } else { 0.0 },
            body_share: self.index.lexical.body_share(ord),
            near: self.turn.and_then(|turn| self.nearness(turn, ord)),
        }
    }

    fn nearness(&self, turn: &[f32], ord: PlaybookOrd) -> Option<Nearness> {
        let cosine = self.index.vectors.cosine(turn, ord)?;
        Some(Nearness { cosine, lift: (cosine - self.background) / self.index.scale.unit })
    }

    fn candidate(&self, ord: PlaybookOrd) -> Candidate {
        Candidate { ord, scores: self.evidence(ord).scores() }
    }
}

/// A playbook with its evidence.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    ord: PlaybookOrd,
    scores: Scores,
}

/// The playbooks that qualify, by the pass that admits them, each list in the order to offer; the ranked ones are all
/// above the floor.
struct Candidates {
    always_on: Vec<Candidate>,
    triggered: Vec<Candidate>,
    ranked: Vec<Candidate>,
}

impl Candidates {
    fn collect(judge: &Judge<'_>, query: &MenuQuery, hits: &TriggerHits, proposed: &[PlaybookOrd]) -> Self {
        let index = judge.index;
        let allowed = |ord: &PlaybookOrd| {
            let playbook = index.at(*ord);
            !playbook.parts().explicit && query.allows(playbook.slug())
        };
        let judged = |ord: PlaybookOrd| judge.candidate(ord);
        let mut always_on: Vec<_> = index.always_on.iter().copied().filter(allowed).map(judged).collect();
        let mut owners: Vec<_> = hits.all().iter().map(|hit| hit.owner.ord).collect();
        owners.dedup();
        let mut triggered: Vec<_> = owners.iter().copied().filter(allowed).map(judged).collect();
        let is_rest = |ord: &PlaybookOrd| {
            owners.binary_search(ord).is_err() && !is_always_on(index.at(*ord), index.settings)
        };
        let floor = relevance::log_odds(FLOOR);
        let is_above = |ord: PlaybookOrd| {
            let evidence = judge.evidence(ord);
            (evidence.logit() >= floor).then(|| Candidate { ord, scores: evidence.scores() })
        };
        let mut ranked: Vec<_> = proposed
            .iter()
            .copied()
            .filter_map(is_above)
            .filter(|c| allowed(&c.ord) && is_rest(&c.ord))
            .collect();

        let order = |candidate: &Candidate| index.at(candidate.ord).parts().order.unwrap_or(i32::MAX);
        always_on.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| by_relevance(a, b)));
        triggered.sort_by(|a, b| {
            more_relevant(a, b).then_with(|| order(a).cmp(&order(b))).then_with(|| a.ord.cmp(&b.ord))
        });
        ranked.sort_unstable_by(by_relevance);
        Self { always_on, triggered, ranked }
    }
}

fn more_relevant(a: &Candidate, b: &Candidate) -> Ordering {
    let relevance = |c: &Candidate| (c.scores.probability, c.scores.bm25);
    let ((pa, sa), (pb, sb)) = (relevance(a), relevance(b));
    pb.total_cmp(&pa).then(sb.total_cmp(&sa))
}

fn by_relevance(a: &Candidate, b: &Candidate) -> Ordering {
    more_relevant(a, b).then_with(|| a.ord.cmp(&b.ord))
}

fn compose(judge: &Judge<'_>, query: &MenuQuery, scratch: &Scratch, candidates: Candidates) -> Menu {
    let index = judge.index;
    let mut menu = Menu { semantic: judge.semantic, ..Menu::default() };
    let mut left_out = Vec::new();
    for candidate in candidates.always_on {
        if menu.items.len() < query.menu_limit() {
            menu.items.push(item(index, candidate, Reason::AlwaysOn));
        } else {
            menu.omitted.always_on += 1;
            left_out.push((candidate, Exclusion::NoPlace));
        }
    }
    for candidate in candidates.triggered {
        if menu.items.len() < query.menu_limit() {
            let reason = trigger_reason(index, query, scratch, candidate.ord);
            menu.items.push(item(index, candidate, reason));
        } else {
            menu.omitted.triggered += 1;
            left_out.push((candidate, Exclusion::NoPlace));
        }
    }
    for candidate in candidates.ranked {
        let probability = candidate.scores.probability;
        if menu.items.len() < query.top_up_limit() {
            menu.items.push(item(index, candidate, Reason::Semantic { probability }));
        } else {
            menu.omitted.semantic += 1;
            left_out.push((candidate, Exclusion::NoPlace));
        }
    }
    if query.explain() {
        menu.considered = explain(judge, query, left_out, &menu);
    }
    menu
}

fn item(index: &AgentIndex, candidate: Candidate, reason: Reason) -> MenuItem {
    let playbook = index.at(candidate.ord);
    MenuItem {
        slug: playbook.slug().clone(),
        title: playbook.title().to_owned(),
        description: playbook.description_line().to_owned(),
        digest: playbook.digest(),
        reason,
        scores: candidate.scores,
    }
}

fn trigger_reason(index: &AgentIndex, query: &MenuQuery, scratch: &Scratch, ord: PlaybookOrd) -> Reason {
    let triggers = index.at(ord).triggers();
    let hits = scratch.hits.of(ord);
    let matched = hits.iter().map(|hit| triggers[hit.owner.position as usize].clone()).collect();
    let found_in = if query.explain() {
        hits.iter().map(|hit| found_in(&scratch.folded, hit.span)).collect()
    } else {
        Vec::new()
    };
    Reason::Trigger { matched, found_in }
}

/// Why the others are not on the menu: what qualified first, then by relevance. Not on the hot path.
fn explain(
    judge: &Judge<'_>,
    query: &MenuQuery,
    left_out: Vec<(Candidate, Exclusion)>,
    menu: &Menu,
) -> Vec<Considered> {
    let index = judge.index;
    let mut known: Vec<bool> = vec![false; index.contents.len()];
    for (candidate, _) in &left_out {
        known[candidate.ord.index()] = true;
    }
    for at in menu.items.iter().filter_map(|item| index.position(&item.slug)) {
        known[at] = true;
    }
    let rest = (0..).map(PlaybookOrd::new).zip(&known).filter(|(_, known)| !**known).map(|(ord, _)| {
        let playbook = index.at(ord);
        let exclusion = if playbook.parts().explicit {
            Exclusion::ExplicitOnly
        } else if query.allows(playbook.slug()) {
            Exclusion::BelowFloor
        } else {
            Exclusion::NotAllowed
        };
        (judge.candidate(ord), exclusion)
    });
    let mut all: Vec<_> = left_out.into_iter().chain(rest).collect();
    all.sort_by(|(a, excluded_a), (b, excluded_b)| {
        let qualified = |exclusion: &Exclusion| u8::from(*exclusion != Exclusion::NoPlace);
        qualified(excluded_a).cmp(&qualified(excluded_b)).then_with(|| by_relevance(a, b))
    });
    all.truncate(CONSIDERED_MAX);
    all.into_iter()
        .map(|(candidate, exclusion)| Considered {
            slug: index.at(candidate.ord).slug().clone(),
            exclusion,
            scores: candidate.scores,
        })
        .collect()
}
