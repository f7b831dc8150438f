//! The hot path, top to bottom: one turn to one menu.
//!
//! **Invariants**: a function of the index and the query alone, so equal input gives an equal menu; never more items
//! than the query allows, enforced where items are added; everything that qualified and was cut is counted.
//! **Cost**: microseconds at 30 playbooks; linear in the turn, in the matches and in the postings of its terms.

use std::cmp::Ordering;

use super::builder::is_always_on;
use super::ord::PlaybookOrd;
use super::relevance::{self, FLOOR};
use super::scratch::Scratch;
use super::snapshot::AgentIndex;
use super::trigger::found_in;
use crate::domain::limits::CONSIDERED_MAX;
use crate::domain::menu::{Considered, Exclusion, Menu, MenuItem, Reason, Scores};
use crate::domain::query::MenuQuery;
use crate::domain::text::fold_into;

/// Selects the menu of a turn.
pub fn select(index: &AgentIndex, query: &MenuQuery, scratch: &mut Scratch) -> Menu {
    scratch.folded.clear();
    fold_into(query.turn(), &mut scratch.folded);
    index.triggers.find(&scratch.folded, &mut scratch.hits);
    index.lexical.score(&scratch.folded, query.recent(), &mut scratch.folded_recent, &mut scratch.lexical);
    let candidates = Candidates::collect(index, query, scratch);
    compose(index, query, scratch, candidates)
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
    fn collect(index: &AgentIndex, query: &MenuQuery, scratch: &Scratch) -> Self {
        let judged = |ord: PlaybookOrd| Candidate { ord, scores: relevance::judge(&scratch.lexical, ord) };
        let allowed = |ord: &PlaybookOrd| {
            let playbook = index.at(*ord);
            !playbook.parts().explicit && query.allows(playbook.slug())
        };
        let mut always_on: Vec<_> = index.always_on.iter().copied().filter(allowed).map(judged).collect();
        let mut owners: Vec<_> = scratch.hits.all().iter().map(|hit| hit.owner.ord).collect();
        owners.dedup();
        let mut triggered: Vec<_> = owners.iter().copied().filter(allowed).map(judged).collect();
        let is_rest = |ord: &PlaybookOrd| {
            owners.binary_search(ord).is_err() && !is_always_on(index.at(*ord), index.settings)
        };
        let touched = scratch.lexical.touched().iter().copied();
        let mut ranked: Vec<_> = touched.filter(allowed).filter(is_rest).map(judged).collect();
        ranked.retain(|candidate| candidate.scores.probability >= FLOOR);

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

fn compose(index: &AgentIndex, query: &MenuQuery, scratch: &Scratch, candidates: Candidates) -> Menu {
    let mut menu = Menu::default();
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
        menu.considered = explain(index, query, scratch, left_out, &menu);
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
    index: &AgentIndex,
    query: &MenuQuery,
    scratch: &Scratch,
    left_out: Vec<(Candidate, Exclusion)>,
    menu: &Menu,
) -> Vec<Considered> {
    let mut known: Vec<bool> = vec![false; index.playbooks.len()];
    for (candidate, _) in &left_out {
        known[candidate.ord.index()] = true;
    }
    for item in &menu.items {
        if let Ok(at) = index.playbooks.binary_search_by(|playbook| playbook.slug().cmp(&item.slug)) {
            known[at] = true;
        }
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
        (Candidate { ord, scores: relevance::judge(&scratch.lexical, ord) }, exclusion)
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
