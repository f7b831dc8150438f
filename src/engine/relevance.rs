//! Evidence to a probability, and the floor. Pure arithmetic.
//!
//! The evidence of this version is lexical: the strength, which is the BM25 score divided by the rarity of an unknown
//! term (it grows with the catalogue as scores do) and by what a playbook with this much text can score.
//! `P(relevant) = 1 / (1 + exp(-(INTERCEPT + SLOPE · ln(1 + strength))))`, a Platt scaling fitted on 2026-12-02 by
//! weighted logistic regression: the best six candidates of each of 627 turns that fit a playbook (three public sets of
//! real skills, with and without their bodies, in catalogues of 5, of 30, and of all 31 to 364), and of as many turns of
//! other domains by weight.

use super::lexical::LexicalScores;
use super::ord::PlaybookOrd;
use crate::domain::menu::Scores;

/// The probability below which relevance alone puts nothing on the menu.
///
/// Chosen for catalogues of 30, an agent's limit: 1.0 to 1.4% of the turns of other domains see a menu there, and 91 to
/// 97% of the turns whose playbook is among the best three keep it. In catalogues of 5 to 364 between 1 and 6% see one.
pub const FLOOR: f64 = 0.075;

/// The log-odds of a playbook that shares nothing with the turn.
const INTERCEPT: f64 = -5.34;

/// What a unit of `ln(1 + strength)` adds to the log-odds.
const SLOPE: f64 = 4.728;

/// Judges one playbook. Without a shared term the probability is 0.
#[must_use]
pub fn judge(lexical: &LexicalScores, ord: PlaybookOrd) -> Scores {
    let score = lexical.of(ord);
    let total = f64::from(lexical.total_weight());
    let coverage = if total > 0.0 { (f64::from(score.matched_weight) / total).min(1.0) } else { 0.0 };
    Scores { probability: probability(f64::from(score.strength)), bm25: f64::from(score.bm25), coverage }
}

fn probability(strength: f64) -> f64 {
    if strength <= 0.0 {
        return 0.0;
    }
    1.0 / (1.0 + (-(INTERCEPT + SLOPE * strength.ln_1p())).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_evidence_is_no_probability_and_more_is_more() {
        assert!(probability(0.0).abs() < f64::EPSILON);
        let mut last = 0.0;
        for strength in [0.01, 0.1, 0.7, 0.9, 3.0, 30.0] {
            let now = probability(strength);
            assert!(now > last && now < 1.0, "{strength}: {now}");
            last = now;
        }
        assert!(probability(0.7) < FLOOR && probability(0.9) > FLOOR);
    }
}
