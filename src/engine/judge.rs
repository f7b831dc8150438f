//! The evidence for playbooks, whether the turn is about any, and which qualify for the menu.

use std::cmp::Ordering;

use super::builder::is_always_on;
use super::calibration::Fit;
use super::embed::turn::{Outcome, TurnVector};
use super::lexical::LexicalScores;
use super::ord::PlaybookOrd;
use super::relevance::{self, Evidence, Nearness, Occasion, PLACES, Verdict};
use super::scratch::Scratch;
use super::snapshot::AgentIndex;
use crate::domain::menu::{Scores, SemanticState};
use crate::domain::query::MenuQuery;

/// What is known of a turn, to judge playbooks by.
pub(super) struct Judge<'a> {
    pub(super) index: &'a AgentIndex,
    pub(super) semantic: SemanticState,
    lexical: &'a LexicalScores,
    /// None without a semantic pass.
    turn: Option<&'a [f32]>,
    /// The cosine of the turn and the catalogue on the whole.
    background: f32,
    fit: &'a Fit,
    pub(super) occasion: Occasion,
    verdict: Verdict,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        index: &'a AgentIndex,
        query: &MenuQuery,
        turn: &'a TurnVector,
        scratch: &'a Scratch,
    ) -> Self {
        let semantic = match turn.outcome {
            _ if index.vectors.is_missing() => SemanticState::Unavailable,
            Outcome::Failed => SemanticState::Unavailable,
            Outcome::ScriptNotCovered => SemanticState::ScriptNotCovered,
            Outcome::Embedded | Outcome::NoToken => SemanticState::Ok,
        };
        let turn = (turn.outcome == Outcome::Embedded).then_some(turn.values.as_slice());
        let vectors = &index.vectors;
        let background = turn.map_or(0.0, |turn| {
            relevance::background(vectors.mean_cosine(turn), vectors.count(), index.scale.mean)
        });
        let playbooks = match query.allowed().len() {
            0 => index.contents.len(),
            allowed => allowed.min(index.contents.len()),
        };
        let theme = turn.map_or(0.0, |_| (background - index.scale.mean) / index.scale.unit);
        let occasion = Occasion::new(scratch.lexical.term_count(), playbooks, theme);
        let fit = index.fits.fit(turn.is_some() && !vectors.is_missing());
        let verdict = Verdict::of(&[], fit, occasion);
        Self { index, semantic, lexical: &scratch.lexical, turn, background, fit, occasion, verdict }
    }

    /// Decides whether the turn is about any of these playbooks. `fits` becomes how well each fits, and minus infinity
    /// where it may not be offered or there is no evidence.
    pub(super) fn decide(&mut self, query: &MenuQuery, proposed: &[PlaybookOrd], fits: &mut Vec<f64>) {
        fits.clear();
        let mut best = [f64::NEG_INFINITY; PLACES];
        for ord in proposed {
            let fit = if self.may_offer(query, *ord) {
                self.score(&self.evidence(*ord))
            } else {
                f64::NEG_INFINITY
            };
            fits.push(fit);
            if fit > best[PLACES - 1] {
                let place = best.partition_point(|other| *other >= fit);
                best[place..].rotate_right(1);
                best[place] = fit;
            }
        }
        let found = best.partition_point(|fit| *fit > f64::NEG_INFINITY);
        self.verdict = Verdict::of(&best[..found], self.fit, self.occasion);
    }

    pub(super) fn may_offer(&self, query: &MenuQuery, ord: PlaybookOrd) -> bool {
        let playbook = self.index.at(ord);
        !playbook.parts().explicit && query.allows(playbook.slug())
    }

    pub(super) fn evidence(&self, ord: PlaybookOrd) -> Evidence {
        let score = self.lexical.of(ord);
        let total = self.lexical.total_weight();
        Evidence {
            bm25: score.bm25,
            strength: score.strength,
            name: score.name,
            description: score.description,
            coverage: if total > 0.0 { (score.matched_weight / total).min(1.0) } else { 0.0 },
            near: self.turn.and_then(|turn| self.nearness(turn, ord)),
        }
    }

    /// How well a playbook fits the turn, by its evidence.
    pub(super) fn score(&self, evidence: &Evidence) -> f64 {
        if evidence.is_none() { f64::NEG_INFINITY } else { evidence.score(self.fit, self.occasion) }
    }

    fn nearness(&self, turn: &[f32], ord: PlaybookOrd) -> Option<Nearness> {
        let cosine = self.index.vectors.cosine(turn, ord)?;
        Some(Nearness { cosine, lift: (cosine - self.background) / self.index.scale.unit })
    }

    /// A playbook with its evidence and its probability.
    pub(super) fn candidate(&self, ord: PlaybookOrd) -> Candidate {
        let evidence = self.evidence(ord);
        let fit = self.score(&evidence);
        Candidate { ord, fit, scores: evidence.scores(self.verdict.probability(fit)) }
    }

    /// The least fit that is offered for relevance alone; none when the turn is below the floor.
    fn fit_min(&self) -> Option<f64> {
        let floor = self.fit.floor(self.index.settings.stray_share);
        (self.verdict.log_odds >= floor && self.verdict.log_odds > f64::NEG_INFINITY).then(|| {
            // Without a floor there is a ranking, to its end.
            if floor == f64::NEG_INFINITY { f64::MIN } else { self.verdict.score_min() }
        })
    }
}

/// A playbook with its evidence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) ord: PlaybookOrd,
    fit: f64,
    pub(super) scores: Scores,
}

/// The playbooks that qualify, by the pass that admits them, each list in the order to offer; the ranked ones are all
/// above the floor.
pub(super) struct Candidates {
    pub(super) always_on: Vec<Candidate>,
    pub(super) triggered: Vec<Candidate>,
    pub(super) ranked: Vec<Candidate>,
}

impl Candidates {
    /// `fits` are those of the proposed playbooks.
    pub(super) fn collect(judge: &Judge<'_>, query: &MenuQuery, scratch: &Scratch, fits: &[f64]) -> Self {
        let index = judge.index;
        let allowed = |ord: &PlaybookOrd| judge.may_offer(query, *ord);
        let judged = |ord: PlaybookOrd| judge.candidate(ord);
        let mut always_on: Vec<_> = index.always_on.iter().copied().filter(allowed).map(judged).collect();
        let mut owners: Vec<_> = scratch.hits.all().iter().map(|hit| hit.owner.ord).collect();
        owners.dedup();
        let mut triggered: Vec<_> = owners.iter().copied().filter(allowed).map(judged).collect();
        let is_rest = |ord: &PlaybookOrd| {
            owners.binary_search(ord).is_err() && !is_always_on(index.at(*ord), index.settings)
        };
        let fit_min = judge.fit_min().unwrap_or(f64::INFINITY);
        let above = scratch.proposed.iter().zip(fits).filter(|(_, fit)| **fit >= fit_min);
        let mut ranked: Vec<_> = above.map(|(ord, _)| *ord).filter(is_rest).map(judged).collect();

        let order = |candidate: &Candidate| index.at(candidate.ord).parts().order.unwrap_or(i32::MAX);
        always_on.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| by_relevance(a, b)));
        triggered.sort_by(|a, b| {
            more_relevant(a, b).then_with(|| order(a).cmp(&order(b))).then_with(|| a.ord.cmp(&b.ord))
        });
        ranked.sort_unstable_by(by_relevance);
        Self { always_on, triggered, ranked }
    }
}

pub(super) fn more_relevant(a: &Candidate, b: &Candidate) -> Ordering {
    b.fit.total_cmp(&a.fit).then(b.scores.bm25.total_cmp(&a.scores.bm25))
}

pub(super) fn by_relevance(a: &Candidate, b: &Candidate) -> Ordering {
    more_relevant(a, b).then_with(|| a.ord.cmp(&b.ord))
}
