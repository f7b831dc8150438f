//! Evidence to probabilities, and the floor. Pure arithmetic; the numbers are in [`calibration`](super::calibration).
//!
//! ```text
//! z(playbook)   = a + b · s + c · s · coverage + d · ln(1 + name) + e · ln(1 + description) + f · lift + g · ln(terms),
//!                 s = ln(1 + strength)
//! fit           = ln Σ exp(z), over the best PLACES playbooks
//! P(any)        = 1 / (1 + exp(-(h + i · fit + j · ln(terms) + k · ln(counted) + l · theme)))
//! P(playbook)   = P(any) · exp(z - fit)
//! ```
//!
//! One question is whether the turn is about any playbook at all, and the floor is held against its answer; the other is
//! which. Ranking is by `z`. In a catalogue where everything fits a little, nothing fits: `fit` is compared with what turns
//! of this length reach in catalogues of this size, so that one floor serves catalogues of any.
//!
//! `counted` is the number of playbooks, as far as the fit counts them.
//!
//! The strength is the BM25 score divided by the rarity of an unknown term (it grows with the catalogue as scores do) and
//! by what a playbook with this much text can score; name and description are their parts of BM25 in the same units. The
//! lift is how much nearer the playbook is to the turn than playbooks are on the whole, and the theme how much nearer those
//! are than unrelated texts, in units of the model ([`scale`](super::embed::scale)), at most [`THEME_MAX`]: a turn of the
//! catalogue's field is rather about one of its playbooks than one of another field with as many of its words.

use super::calibration::{FEATURES, Fit};
use crate::domain::menu::Scores;

/// The playbooks that the fit of a turn is summed over.
pub const PLACES: usize = 8;

/// The least share of the fit that a playbook on the menu has: of 100 turns about a playbook fewer than one loses it to
/// this, and the menu a third of its lines.
pub const SHARE_MIN: f64 = 0.01;

/// Playbooks that the catalogue is thought to hold besides, as near to the turn as unrelated texts are: in a catalogue of
/// one or two the mean would be the playbook itself.
const PSEUDO_PLAYBOOKS: f32 = 10.0;

/// The theme from which on a turn is of the catalogue's field, and being nearer says no more. The playbooks of a narrow catalogue
/// are five units from unrelated texts and those of a mixed one two: without an end one floor would be lax for the one and strict
/// for the other.
pub const THEME_MAX: f32 = 1.0;

/// The evidence for one playbook in one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// BM25 over its fields.
    pub bm25: f32,
    /// BM25 by what a playbook of this size can score in a catalogue of this size.
    pub strength: f32,
    /// The part of its name in BM25, in units of an unknown term's rarity.
    pub name: f32,
    /// The part of its description, in the same units.
    pub description: f32,
    /// The share of the turn's informative terms that it contains.
    pub coverage: f32,
    /// How near turn and playbook are; none without a semantic pass.
    pub near: Option<Nearness>,
}

/// How near a turn and a playbook are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearness {
    /// Their cosine.
    pub cosine: f32,
    /// How far it is above that of the whole catalogue, in units of the model.
    pub lift: f32,
}

/// What evidence is weighed against.
#[derive(Clone, Copy, Debug)]
pub struct Occasion {
    /// The logarithm of the number of the turn's distinct terms.
    pub ln_terms: f64,
    /// The logarithm of the number of playbooks.
    pub ln_playbooks: f64,
    /// How much nearer the turn is to the catalogue on the whole than unrelated texts are, in units of the model, at most
    /// [`THEME_MAX`]; zero without a semantic pass.
    pub theme: f64,
}

/// Whether a turn is about any playbook.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// The log-odds that it is.
    pub log_odds: f64,
    /// The fit of the turn and the catalogue.
    pub fit: f64,
}

/// The cosine of the turn and the catalogue on the whole: of `playbook_count` playbooks whose mean cosine is `mean`, and
/// of some unrelated ones besides.
#[must_use]
pub fn background(mean: f32, playbook_count: f32, unrelated: f32) -> f32 {
    (mean * playbook_count + unrelated * PSEUDO_PLAYBOOKS) / (playbook_count + PSEUDO_PLAYBOOKS)
}

impl Occasion {
    /// A turn of so many terms, a catalogue of so many playbooks, how near they are.
    #[must_use]
    pub fn new(terms: f32, playbooks: usize, theme: f32) -> Self {
        let playbooks = f64::from(u32::try_from(playbooks).unwrap_or(u32::MAX));
        let ln_terms = f64::from(terms.max(1.0)).ln();
        Self { ln_terms, ln_playbooks: playbooks.max(1.0).ln(), theme: f64::from(theme.min(THEME_MAX)) }
    }
}

impl Evidence {
    /// Whether there is none at all.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.strength <= 0.0 && self.near.is_none()
    }

    /// How well the playbook fits the turn: `z` above.
    #[must_use]
    pub fn score(&self, fit: &Fit, occasion: Occasion) -> f64 {
        let weighted = self.features(occasion).into_iter().zip(fit.weights());
        fit.intercept + weighted.map(|(feature, weight)| feature * weight).sum::<f64>()
    }

    /// What is weighed: the factors of `b` to `g` above.
    #[must_use]
    pub fn features(&self, occasion: Occasion) -> [f64; FEATURES] {
        // `ln_1p` is exact for the tiniest, which no score is, and takes three times as long.
        let graded = |score: f32| if score > 0.0 { (1.0 + f64::from(score)).ln() } else { 0.0 };
        let strength = graded(self.strength);
        [
            strength,
            strength * f64::from(self.coverage),
            graded(self.name),
            graded(self.description),
            self.near.map_or(0.0, |near| f64::from(near.lift)),
            occasion.ln_terms,
        ]
    }

    /// The evidence as it is answered, with the probability of the playbook.
    #[must_use]
    pub fn scores(&self, probability: f64) -> Scores {
        Scores {
            probability,
            bm25: f64::from(self.bm25),
            cosine: self.near.map(|near| f64::from(near.cosine)),
            coverage: f64::from(self.coverage),
        }
    }
}

impl Verdict {
    /// Of the best scores of a turn, [`PLACES`] at most.
    #[must_use]
    pub fn of(best: &[f64], fit: &Fit, occasion: Occasion) -> Self {
        let highest = best.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if highest == f64::NEG_INFINITY {
            return Self { log_odds: f64::NEG_INFINITY, fit: 0.0 };
        }
        let sum: f64 = best.iter().map(|score| (score - highest).exp()).sum();
        let total = highest + sum.ln();
        let log_odds = fit.any_intercept
            + fit.any_fit * total
            + fit.any_terms * occasion.ln_terms
            + fit.any_playbooks * fit.counted(occasion.ln_playbooks)
            + fit.any_theme * occasion.theme;
        Self { log_odds, fit: total }
    }

    /// The probability that the turn is about any playbook.
    #[must_use]
    pub fn any(&self) -> f64 {
        1.0 / (1.0 + (-self.log_odds).exp())
    }

    /// The probability that it is about the one with this score.
    #[must_use]
    pub fn probability(&self, score: f64) -> f64 {
        self.any() * (score - self.fit).exp().min(1.0)
    }

    /// The least score that has its share of the fit.
    #[must_use]
    pub fn score_min(&self) -> f64 {
        self.fit + SHARE_MIN.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::calibration::shipped;

    fn score(strength: f32, coverage: f32, lift: Option<f32>) -> f64 {
        let near = lift.map(|lift| Nearness { cosine: 0.0, lift });
        let evidence = Evidence { strength, coverage, near, ..Evidence::default() };
        evidence.score(shipped().with_bodies.fit(lift.is_some()), Occasion::new(6.0, 30, 0.0))
    }

    fn verdict(best: &[f64]) -> Verdict {
        Verdict::of(best, &shipped().with_bodies.semantic, Occasion::new(6.0, 30, 0.0))
    }

    #[test]
    fn more_evidence_is_a_higher_score() {
        let mut last = f64::NEG_INFINITY;
        for strength in [0.0, 0.01, 0.1, 0.7, 1.1, 3.0, 30.0] {
            let now = score(strength, 0.5, Some(1.0));
            assert!(now > last, "{strength}: {now}");
            last = now;
        }
        assert!(score(0.7, 0.5, Some(8.0)) > score(0.7, 0.5, Some(0.0)));
        assert!(score(0.7, 0.9, None) > score(0.7, 0.5, None));
    }

    #[test]
    fn probabilities_share_what_any_has() {
        let best = [1.0, 0.5, -3.0];
        let verdict = verdict(&best);
        let sum: f64 = best.iter().map(|score| verdict.probability(*score)).sum();
        assert!((sum - verdict.any()).abs() < 1e-9 && verdict.any() < 1.0, "{sum}");
        assert!(best[1] > verdict.score_min() && best[2] < verdict.score_min() + 1.0);
    }

    #[test]
    fn a_turn_far_from_the_catalogue_is_less_likely_about_it_and_one_of_its_field_is_not_helped_by_being_nearer()
     {
        let odds = |theme| {
            Verdict::of(&[1.0], &shipped().with_bodies.semantic, Occasion::new(6.0, 30, theme)).log_odds
        };
        let one = |theme: f32| (odds(theme) - odds(THEME_MAX)).abs() < 1e-9;
        assert!(odds(-1.0) < odds(0.0) && odds(0.0) < odds(THEME_MAX) && one(2.0) && one(6.0));
    }

    #[test]
    fn no_playbook_is_no_probability() {
        let verdict = verdict(&[]);
        assert!(verdict.any() == 0.0 && verdict.probability(0.0) == 0.0);
    }

    #[test]
    fn a_lone_playbook_does_not_vanish_in_its_own_mean() {
        let alone = background(0.8, 1.0, 0.1);
        assert!(alone < 0.2, "{alone}");
        assert!((background(0.3, 10_000.0, 0.1) - 0.3).abs() < 0.01);
    }
}
