//! Evidence to a probability, and the floor. Pure arithmetic.
//!
//! ```text
//! P(relevant) = 1 / (1 + exp(-(a + b · (ln(1 + strength) + w · lift))))
//! ```
//!
//! The strength is the BM25 score divided by the rarity of an unknown term (it grows with the catalogue as scores do) and
//! by what a playbook with this much text can score. The lift is how much nearer the playbook is to the turn than
//! playbooks are on the whole, in units of the model ([`scale`](super::embed::scale)). Its weight `w` is smaller the more
//! of the playbook is body: BM25 reads all of a body, the embedding its opening.
//!
//! Fitted on 2026-12-02 over 2,738 turns that fit a playbook and do not name it, from three public sets of real skills,
//! with and without their bodies, in catalogues of 5, of 30, and of all 31 to 364, and one set of 199 tools: `w` so that
//! the fused order is nowhere worse than that of BM25 alone, `a` and `b` by weighted logistic regression of the best six
//! candidates of each turn and of as many turns of other domains by weight.

use crate::domain::menu::Scores;

/// The probability below which relevance alone puts nothing on the menu.
///
/// A first one, for catalogues of 30, an agent's limit: about 1% of the turns of other domains see a menu there.
pub const FLOOR: f64 = 0.065;

/// The log-odds of a playbook that shares no term with the turn and is as near to it as any.
const INTERCEPT: f64 = -5.63;

/// What a unit of the evidence adds to the log-odds.
const SLOPE: f64 = 4.32;

/// The same without a semantic pass.
const LEXICAL_INTERCEPT: f64 = -5.14;
const LEXICAL_SLOPE: f64 = 4.33;

/// The weight of a unit of lift, without a body and with a full one.
const LIFT_WEIGHT_WITHOUT_BODY: f64 = 0.072;
const LIFT_WEIGHT_WITH_BODY: f64 = 0.031;

/// The share of a full body from which on BM25 has what it needs of it.
const BODY_SHARE_FULL: f32 = 0.25;

/// Playbooks that the catalogue is thought to hold besides, as near to the turn as unrelated texts are: in a catalogue of
/// one or two the mean would be the playbook itself.
const PSEUDO_PLAYBOOKS: f32 = 10.0;

/// The evidence for one playbook in one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// BM25 over its fields.
    pub bm25: f32,
    /// BM25 by what a playbook of this size can score in a catalogue of this size.
    pub strength: f32,
    /// The share of the turn's informative terms that it contains.
    pub coverage: f32,
    /// How much of a body it has, 0 to 1.
    pub body_share: f32,
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

/// The cosine of the turn and the catalogue on the whole: of `playbook_count` playbooks whose mean cosine is `mean`, and
/// of some unrelated ones besides.
#[must_use]
pub fn background(mean: f32, playbook_count: f32, unrelated: f32) -> f32 {
    (mean * playbook_count + unrelated * PSEUDO_PLAYBOOKS) / (playbook_count + PSEUDO_PLAYBOOKS)
}

impl Evidence {
    /// The log-odds that the playbook is relevant.
    #[must_use]
    pub fn logit(&self) -> f64 {
        let lexical = f64::from(self.strength).ln_1p();
        let Some(near) = self.near else { return LEXICAL_INTERCEPT + LEXICAL_SLOPE * lexical };
        let range = LIFT_WEIGHT_WITH_BODY - LIFT_WEIGHT_WITHOUT_BODY;
        let body = f64::from(self.body_share / BODY_SHARE_FULL).min(1.0);
        let weight = LIFT_WEIGHT_WITHOUT_BODY + range * body;
        INTERCEPT + SLOPE * (lexical + weight * f64::from(near.lift))
    }

    /// The evidence with its probability, which is 0 when there is none at all.
    #[must_use]
    pub fn scores(&self) -> Scores {
        let is_none = self.strength <= 0.0 && self.near.is_none();
        Scores {
            probability: if is_none { 0.0 } else { 1.0 / (1.0 + (-self.logit()).exp()) },
            bm25: f64::from(self.bm25),
            cosine: self.near.map(|near| f64::from(near.cosine)),
            coverage: f64::from(self.coverage),
        }
    }
}

/// The log-odds of a probability.
#[must_use]
pub fn log_odds(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(strength: f32, lift: Option<f32>, body_share: f32) -> f64 {
        let near = lift.map(|lift| Nearness { cosine: 0.0, lift });
        Evidence { strength, body_share, near, ..Evidence::default() }.scores().probability
    }

    #[test]
    fn no_evidence_is_no_probability_and_more_is_more() {
        assert!(probability(0.0, None, 1.0).abs() < f64::EPSILON);
        let mut last = 0.0;
        for strength in [0.01, 0.1, 0.7, 1.1, 3.0, 30.0] {
            let now = probability(strength, None, 1.0);
            assert!(now > last && now < 1.0, "{strength}: {now}");
            last = now;
        }
        assert!(probability(0.7, Some(0.0), 1.0) < FLOOR && probability(1.1, Some(0.0), 1.0) > FLOOR);
        assert!(probability(0.7, Some(8.0), 1.0) > probability(0.7, Some(0.0), 1.0));
        assert!(probability(0.7, Some(8.0), 0.0) > probability(0.7, Some(8.0), 1.0));
    }

    #[test]
    fn a_lone_playbook_does_not_vanish_in_its_own_mean() {
        let alone = background(0.8, 1.0, 0.1);
        assert!(alone < 0.2, "{alone}");
        assert!((background(0.3, 10_000.0, 0.1) - 0.3).abs() < 0.01);
    }
}
