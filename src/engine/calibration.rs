//! The numbers that evidence becomes probabilities by, and the floors for a share of stray turns.
//!
//! `maitred calibrate` makes them from labelled turns; `models/README.md` says which ones those of the built-in model are
//! from.

use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::domain::agent::StrayShare;

/// The numbers for a model of text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The model that the cosines were of.
    pub model_id: String,
    /// What it was fitted on.
    pub turns: Turns,
    /// How it did on turns that it was not fitted on.
    pub reliability: Reliability,
    /// For a catalogue of playbooks with bodies.
    pub with_bodies: Fits,
    /// For one of descriptions alone, as tools have them: there a turn says less, and what it says counts more.
    pub without_bodies: Fits,
}

/// The numbers for a catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fits {
    /// Where the turn has a vector.
    pub semantic: Fit,
    /// Where it has none.
    pub lexical: Fit,
}

/// How many turns of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// With a right playbook.
    pub in_scope: usize,
    /// With none.
    pub out_of_scope: usize,
}

/// Shares that were measured on turns that were kept aside, each the mean over sets and sizes of catalogues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reliability {
    /// Of turns about no playbook, those that get a menu at a stray share of 1%.
    pub offered_out_of_scope: f64,
    /// Of turns with a right playbook on the unfloored menu, those that keep it.
    pub kept_in_scope: f64,
    /// The expected calibration error.
    pub ece: f64,
}

/// The weights of [`relevance`](super::relevance), and the floors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Playbooks that are counted for that at most: what larger catalogues do to the fit was not measured.
    pub playbooks_counted: f64,
    /// What the theme adds.
    pub any_theme: f64,
    /// The log-odds that each share of stray turns exceeds, by [`FLOOR_SHARES`].
    pub floors: [f64; FLOOR_SHARES.len()],
}

/// The shares that floors are known for.
pub const FLOOR_SHARES: [f64; 9] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

static SHIPPED: LazyLock<Arc<Calibration>> = LazyLock::new(|| {
    let text = include_str!("../../models/static/calibration.json");
    Arc::new(Calibration::parse(text).expect("the tests read this file"))
});

/// The numbers for the model that is built in. They serve other models too: cosines are told in units of the model.
#[must_use]
pub fn shipped() -> &'static Arc<Calibration> {
    &SHIPPED
}

/// Features of a candidate.
pub const FEATURES: usize = 6;

/// Numbers of a fit but the floors: the features' weights with their intercept, and those of the verdict.
const NUMBERS: usize = FEATURES + 1 + 6;

impl Calibration {
    /// Reads what [`to_json`](Self::to_json) writes.
    ///
    /// # Errors
    /// A sentence that says where it is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("is no calibration: {error}"))
    }

    /// As a file: JSON, the numbers by name.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers by name are JSON") + "\n"
    }

    /// The numbers for a catalogue of this bareness: from 0, of playbooks with bodies, to 1, of descriptions alone, on a line
    /// between the two.
    #[must_use]
    pub fn fits(&self, bareness: f64) -> Fits {
        let between =
            |of: fn(&Fits) -> &Fit| of(&self.with_bodies).towards(of(&self.without_bodies), bareness);
        Fits { semantic: between(|fits| &fits.semantic), lexical: between(|fits| &fits.lexical) }
    }
}

impl Fits {
    /// The numbers for a turn with a vector, or for one without.
    #[must_use]
    pub fn fit(&self, has_vector: bool) -> &Fit {
        if has_vector { &self.semantic } else { &self.lexical }
    }
}

impl Fit {
    /// The fit this far, 0 to 1, on the way to another.
    fn towards(&self, other: &Self, way: f64) -> Self {
        let between = |here: f64, there: f64| (1.0 - way) * here + way * there;
        let (mut fit, theirs) = (self.clone(), other.numbers());
        fit.numbers_mut().into_iter().zip(theirs).for_each(|(here, there)| *here = between(*here, there));
        for (here, there) in fit.floors.iter_mut().zip(other.floors) {
            *here = between(*here, there);
        }
        fit
    }

    /// All but the floors.
    fn numbers(&self) -> [f64; NUMBERS] {
        self.clone().numbers_mut().map(|number| *number)
    }

    fn numbers_mut(&mut self) -> [&mut f64; NUMBERS] {
        [
            &mut self.intercept,
            &mut self.strength,
            &mut self.strength_coverage,
            &mut self.name,
            &mut self.description,
            &mut self.lift,
            &mut self.terms,
            &mut self.any_intercept,
            &mut self.any_fit,
            &mut self.any_terms,
            &mut self.any_playbooks,
            &mut self.playbooks_counted,
            &mut self.any_theme,
        ]
    }

    /// The logarithm of the number of playbooks, as far as they are counted.
    #[must_use]
    pub fn counted(&self, ln_playbooks: f64) -> f64 {
        ln_playbooks.min(self.playbooks_counted.max(1.0).ln())
    }

    /// The weights of the features, in the order of [`Evidence::features`](super::relevance::Evidence::features).
    #[must_use]
    pub fn weights(&self) -> [f64; FEATURES] {
        [self.strength, self.strength_coverage, self.name, self.description, self.lift, self.terms]
    }

    /// Takes the intercept and the weights from a fit.
    pub(super) fn set_weights(&mut self, fitted: &[f64]) {
        let [intercept, strength, strength_coverage, name, description, lift, terms] = *fitted else {
            unreachable!("a fit has an intercept and a weight a feature");
        };
        *self =
            Self { intercept, strength, strength_coverage, name, description, lift, terms, ..self.clone() };
    }

    /// Takes the numbers of the verdict from a fit.
    pub(super) fn set_any(&mut self, fitted: &[f64]) {
        let [any_intercept, any_fit, any_terms, any_playbooks, any_theme] = *fitted else {
            unreachable!("a verdict has an intercept and four weights");
        };
        *self = Self { any_intercept, any_fit, any_terms, any_playbooks, any_theme, ..self.clone() };
    }

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
    fn it_is_read_as_it_was_written_and_belongs_to_the_built_in_model() {
        let shipped = shipped();
        assert_eq!(Calibration::parse(&shipped.to_json()).as_ref(), Ok(&**shipped));
        assert_eq!(shipped.model_id, crate::engine::embed::builtin::model().about().id.to_string());
        assert!(Calibration::parse("{}").is_err_and(|error| error.contains("model_id")));
    }

    #[test]
    fn a_smaller_share_of_stray_turns_is_a_higher_floor() {
        let both = [&shipped().with_bodies, &shipped().without_bodies];
        for fit in both.into_iter().flat_map(|fits| [&fits.semantic, &fits.lexical]) {
            let floor = |share| fit.floor(StrayShare::new(share).expect("a share"));
            let floors = [0.0, 0.000_5, 0.001, 0.003, 0.01, 0.03, 0.5].map(floor);
            assert!(floors.windows(2).all(|pair| pair[0] > pair[1]), "{floors:?}");
            assert!((floor(0.01) - fit.floors[3]).abs() < 1e-9);
            assert!(floor(1.0) == f64::NEG_INFINITY);
        }
    }

    #[test]
    fn halfway_between_bodies_and_none_the_numbers_are_the_middle() {
        let Calibration { with_bodies, without_bodies, .. } = &**shipped();
        assert_eq!((&shipped().fits(0.0), &shipped().fits(1.0)), (with_bodies, without_bodies));
        let half = shipped().fits(0.5);
        let middle = |of: fn(&Fits) -> f64| {
            let expected = f64::midpoint(of(with_bodies), of(without_bodies));
            assert!((of(&half) - expected).abs() < 1e-9);
        };
        middle(|fits| fits.semantic.intercept);
        middle(|fits| fits.semantic.lift);
        middle(|fits| fits.lexical.any_playbooks);
        middle(|fits| fits.lexical.playbooks_counted);
        middle(|fits| fits.lexical.floors[3]);
    }
}
