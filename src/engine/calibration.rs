//! The numbers that evidence becomes probabilities by, and the floors for a share of stray turns.
//!
//! Fitted on 2026-12-02 on half of three public sets of real skills (335 turns that fit a playbook and do not name it; which
//! half is decided by a hash of the turn's id) with and without their bodies, in catalogues of 9, of 30 and of all 31 to 364,
//! and on half of 4,000 turns of other domains, each set and each kind of turn with the same weight: the scores as a choice
//! among the catalogue's playbooks and none (conditional logit), the verdict by logistic regression. The floors are the
//! quantiles of the verdict over the turns of other domains.

use serde::{Deserialize, Serialize};

use crate::domain::agent::StrayShare;

/// The numbers for a model of text, with a semantic pass and without one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Where the turn has a vector.
    pub semantic: Fit,
    /// Where it has none.
    pub lexical: Fit,
}

/// The weights of [`relevance`](super::relevance), and the floors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The score of no evidence in a turn of one term.
    pub intercept: f64,
    /// Of the strength's logarithm.
    pub strength: f64,
    /// Of its product with the coverage.
    pub strength_coverage: f64,
    /// Of the name's part.
    pub name: f64,
    /// Of the description's part.
    pub description: f64,
    /// Of the lift.
    pub lift: f64,
    /// Of the logarithm of the turn's terms.
    pub terms: f64,
    /// The log-odds that a turn of one term is about any playbook of one, at a fit of zero.
    pub any_intercept: f64,
    /// What the fit adds to them.
    pub any_fit: f64,
    /// What the logarithm of the turn's terms adds.
    pub any_terms: f64,
    /// What the logarithm of the number of playbooks adds.
    pub any_playbooks: f64,
    /// The log-odds that each share of stray turns exceeds, by [`FLOOR_SHARES`].
    pub floors: [f64; FLOOR_SHARES.len()],
}

/// The shares that floors are known for.
pub const FLOOR_SHARES: [f64; 9] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/// The numbers for the model that is built in. They serve other models too: cosines are told in units of the model.
pub static SHIPPED: Calibration = Calibration {
    semantic: Fit {
        intercept: -12.84,
        strength: 1.639,
        strength_coverage: 5.409,
        name: 2.18,
        description: 2.303,
        lift: 0.468,
        terms: 3.776,
        any_intercept: 7.991,
        any_fit: 1.822,
        any_terms: -3.142_3,
        any_playbooks: -0.341,
        floors: [3.933, 3.333, 2.011, 1.295, 0.081, -1.592, -2.728, -3.941, -5.954],
    },
    lexical: Fit {
        intercept: -12.272,
        strength: 2.13,
        strength_coverage: 5.534,
        name: 2.953,
        description: 3.074,
        lift: 0.0,
        terms: 3.58,
        any_intercept: 6.896,
        any_fit: 1.824,
        any_terms: -3.211,
        any_playbooks: -0.004,
        floors: [3.784, 3.314, 2.254, 1.302, 0.181, -1.293, -2.415, -3.634, -5.621],
    },
};

impl Calibration {
    /// The numbers for a turn with a vector, or for one without.
    #[must_use]
    pub fn fit(&self, has_vector: bool) -> &Fit {
        if has_vector { &self.semantic } else { &self.lexical }
    }
}

impl Fit {
    /// The log-odds that this share of stray turns exceeds: between the known shares on a line over their logarithms; for
    /// all turns there is no floor.
    #[must_use]
    pub fn floor(&self, share: StrayShare) -> f64 {
        let share = share.get();
        let last = FLOOR_SHARES.len() - 1;
        if share > FLOOR_SHARES[last] {
            return f64::NEG_INFINITY;
        }
        let after = FLOOR_SHARES.partition_point(|known| *known < share).clamp(1, last);
        let (low, high) = (FLOOR_SHARES[after - 1].ln(), FLOOR_SHARES[after].ln());
        let way = (share.max(1e-6).ln() - low) / (high - low);
        self.floors[after - 1] + way * (self.floors[after] - self.floors[after - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_share_of_stray_turns_is_a_higher_floor() {
        for fit in [&SHIPPED.semantic, &SHIPPED.lexical] {
            let floor = |share| fit.floor(StrayShare::new(share).expect("a share"));
            let floors = [0.0, 0.000_5, 0.001, 0.003, 0.01, 0.03, 0.5].map(floor);
            assert!(floors.windows(2).all(|pair| pair[0] > pair[1]), "{floors:?}");
            assert!((floor(0.01) - fit.floors[3]).abs() < 1e-9);
            assert!(floor(1.0) == f64::NEG_INFINITY);
        }
    }
}
