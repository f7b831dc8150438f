//! Evidence to a probability, and the floor. Pure arithmetic.
//!
//! The evidence of this version is lexical. `P(relevant) = 1 / (1 + exp(-(A + B · ln(1 + bm25))))`, a Platt scaling
//! fitted on 2026-12-02 by weighted logistic regression: the best six candidates of each of 627 turns that fit a
//! playbook (three public sets of real skills, 31 to 364 playbooks, once against whole catalogues and once against
//! random ones of 30), and of as many turns of other domains by weight (7,500 by count). Expected calibration error
//! on the same turns: 0.006.

use super::scratch::LexicalScores;
use super::snapshot::PlaybookOrd;
use crate::domain::menu::Scores;

/// The probability below which relevance alone puts nothing on the menu.
///
/// Chosen for catalogues of 30, an agent's limit: 1.2% of the turns of other domains see a menu there, and 93% of the
/// turns whose playbook is among the best three keep it. Larger catalogues offer more: 2% of those turns at 48
/// playbooks, 15% at 364.
pub const FLOOR: f64 = 0.05;

/// The log-odds of a playbook that shares nothing with the turn.
const INTERCEPT: f64 = -9.944;

/// What a unit of `ln(1 + bm25)` adds to the log-odds.
const SLOPE: f64 = 2.672;

/// Judges one playbook. The probability grows with the BM25 score, so both rank alike.
#[must_use]
pub fn judge(lexical: &LexicalScores, ord: PlaybookOrd) -> Scores {
    let score = lexical.of(ord);
    let total = f64::from(lexical.total_weight());
    let coverage = if total > 0.0 { (f64::from(score.matched_weight) / total).min(1.0) } else { 0.0 };
    let bm25 = f64::from(score.bm25);
    Scores { probability: probability(bm25), bm25, coverage }
}

fn probability(bm25: f64) -> f64 {
    if bm25 <= 0.0 {
        return 0.0;
    }
    1.0 / (1.0 + (-(INTERCEPT + SLOPE * bm25.ln_1p())).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_evidence_is_no_probability_and_more_is_more() {
        assert!(probability(0.0).abs() < f64::EPSILON);
        let mut last = 0.0;
        for bm25 in [0.1, 1.0, 5.0, 17.0, 18.0, 50.0, 500.0] {
            let now = probability(bm25);
            assert!(now > last && now < 1.0, "{bm25}: {now}");
            last = now;
        }
        assert!(probability(12.0) < FLOOR && probability(13.5) > FLOOR);
    }
}
