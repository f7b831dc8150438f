//! Labelled turns to a calibration.
//!
//! The scores are a choice among the playbooks of a catalogue and none (conditional logit; `McFadden`, 1974), the verdict is a
//! logistic regression on their sum, the floors are quantiles of the verdict over turns out of scope. Both fits are Newton's
//! method with a small ridge. **Cost**: some tens of passes over the turns.

use nalgebra::{DMatrix, DVector};

use super::calibration::{FEATURES, FLOOR_SHARES, Fit};
use super::relevance::{Evidence, Occasion, PLACES, Verdict};

/// Steps of Newton's method at most, and the change of the loss that ends it.
const STEPS_MAX: usize = 100;
const CHANGE_MIN: f64 = 1e-9;

/// The pull towards zero on each weight, against a loss of about one.
const RIDGE: f64 = 1e-4;

/// What is known of a turn: the evidence for the playbooks that could be offered, and which of them are right.
#[derive(Clone, Debug)]
pub struct Example {
    /// The evidence, and whether the playbook is right.
    pub candidates: Vec<(Evidence, bool)>,
    /// The turn and the catalogue.
    pub occasion: Occasion,
    /// How much it counts.
    pub weight: f64,
}

impl Example {
    fn in_scope(&self) -> bool {
        self.candidates.iter().any(|(_, right)| *right)
    }
}

/// Fits the numbers to some turns; of a catalogue at most `playbooks_counted` playbooks count.
///
/// # Errors
/// When they do not determine the numbers: no turns of one of the kinds.
pub fn fit(examples: &[Example], playbooks_counted: f64, with_vector: bool) -> Result<Fit, String> {
    let mut fit = Fit { playbooks_counted, ..Fit::default() };
    let rows: Vec<Vec<(DVector<f64>, bool)>> =
        examples.iter().map(|example| rows(example, with_vector)).collect();
    let weights = newton(FEATURES + 1, &|weights| choice(examples, &rows, weights))?;
    fit.set_weights(weights.map(rounded).as_slice());
    let verdicts: Vec<(DVector<f64>, bool, f64)> =
        examples.iter().filter_map(|example| verdict_row(example, &fit, with_vector)).collect();
    let any = newton(5, &|weights| logistic(&verdicts, weights))?.map(rounded);
    fit.set_any(any.as_slice());
    let mut stray: Vec<f64> =
        verdicts.iter().filter(|(_, in_scope, _)| !in_scope).map(|(row, _, _)| row.dot(&any)).collect();
    stray.sort_by(f64::total_cmp);
    if stray.is_empty() {
        return Err("no turn is out of scope: without those there is no floor; give --background".to_owned());
    }
    fit.floors = FLOOR_SHARES.map(|share| rounded(quantile(&stray, 1.0 - share)));
    Ok(fit)
}

/// The features of each candidate, with a one in front.
fn rows(example: &Example, with_vector: bool) -> Vec<(DVector<f64>, bool)> {
    let row = |(evidence, right): &(Evidence, bool)| {
        let evidence = if with_vector { *evidence } else { Evidence { near: None, ..*evidence } };
        let features = evidence.features(example.occasion);
        (DVector::from_iterator(FEATURES + 1, std::iter::once(1.0).chain(features)), *right)
    };
    example.candidates.iter().map(row).collect()
}

/// What the verdict is made from; none for a turn without candidates.
fn verdict_row(example: &Example, fit: &Fit, with_vector: bool) -> Option<(DVector<f64>, bool, f64)> {
    let score = |(evidence, _): &(Evidence, bool)| {
        let evidence = if with_vector { *evidence } else { Evidence { near: None, ..*evidence } };
        evidence.score(fit, example.occasion)
    };
    let mut best: Vec<f64> = example.candidates.iter().map(score).collect();
    best.sort_by(|a, b| b.total_cmp(a));
    best.truncate(PLACES);
    let Occasion { ln_terms, ln_playbooks, theme } = example.occasion;
    let theme = if with_vector { theme } else { 0.0 };
    let verdict = Verdict::of(&best, fit, example.occasion);
    let ln_playbooks = fit.counted(ln_playbooks);
    let row = DVector::from_row_slice(&[1.0, verdict.fit, ln_terms, ln_playbooks, theme]);
    (!best.is_empty()).then_some((row, example.in_scope(), example.weight))
}

/// A loss with its gradient and curvature.
struct Slope {
    loss: f64,
    gradient: DVector<f64>,
    curvature: DMatrix<f64>,
}

impl Slope {
    fn flat(size: usize) -> Self {
        Self { loss: 0.0, gradient: DVector::zeros(size), curvature: DMatrix::zeros(size, size) }
    }
}

/// The loss of choosing a right playbook where there is one, and none where there is not.
fn choice(examples: &[Example], rows: &[Vec<(DVector<f64>, bool)>], weights: &DVector<f64>) -> Slope {
    let mut slope = Slope::flat(weights.len());
    for (example, rows) in examples.iter().zip(rows) {
        let scores: Vec<f64> = rows.iter().map(|(row, _)| row.dot(weights)).collect();
        // Choosing none has a score of zero.
        let highest = scores.iter().copied().fold(0.0, f64::max);
        let powers: Vec<f64> = scores.iter().map(|score| (score - highest).exp()).collect();
        let none = (-highest).exp();
        let all = none + powers.iter().sum::<f64>();
        let right: f64 =
            powers.iter().zip(rows).filter(|(_, (_, right))| *right).map(|(power, _)| power).sum();
        let wanted = if example.in_scope() { right } else { none };
        slope.loss -= example.weight * (wanted / all).max(f64::MIN_POSITIVE).ln();
        let mut mean = DVector::zeros(weights.len());
        for (power, (row, is_right)) in powers.iter().zip(rows) {
            let share = power / all;
            let target = if *is_right { power / right.max(f64::MIN_POSITIVE) } else { 0.0 };
            slope.gradient.axpy(example.weight * (share - target), row, 1.0);
            slope.curvature.ger(example.weight * share, row, row, 1.0);
            mean.axpy(share, row, 1.0);
        }
        slope.curvature.ger(-example.weight, &mean, &mean, 1.0);
    }
    slope
}

/// The loss of saying whether each turn is in scope.
fn logistic(rows: &[(DVector<f64>, bool, f64)], weights: &DVector<f64>) -> Slope {
    let mut slope = Slope::flat(weights.len());
    for (row, in_scope, weight) in rows {
        let odds = row.dot(weights);
        let probability = 1.0 / (1.0 + (-odds).exp());
        let target = f64::from(u8::from(*in_scope));
        // ln(1 + exp(odds)), without overflow.
        let soft = odds.max(0.0) + (-odds.abs()).exp().ln_1p();
        slope.loss += weight * (soft - target * odds);
        slope.gradient.axpy(weight * (probability - target), row, 1.0);
        slope.curvature.ger(weight * probability * (1.0 - probability), row, row, 1.0);
    }
    slope
}

/// The weights of least loss.
fn newton(size: usize, slope_at: &dyn Fn(&DVector<f64>) -> Slope) -> Result<DVector<f64>, String> {
    let ridged = |weights: &DVector<f64>| {
        let mut slope = slope_at(weights);
        slope.loss += RIDGE * weights.norm_squared() / 2.0;
        slope.gradient.axpy(RIDGE, weights, 1.0);
        (0..size).for_each(|at| slope.curvature[(at, at)] += RIDGE);
        slope
    };
    let mut weights = DVector::zeros(size);
    let mut slope = ridged(&weights);
    for _ in 0..STEPS_MAX {
        let factors = slope.curvature.clone().cholesky().ok_or("the turns do not determine the numbers")?;
        let mut step = factors.solve(&slope.gradient);
        let (mut next, mut next_slope);
        // A whole step may overshoot.
        loop {
            next = &weights - &step;
            next_slope = ridged(&next);
            if next_slope.loss <= slope.loss || step.norm() < CHANGE_MIN {
                break;
            }
            step /= 2.0;
        }
        let change = slope.loss - next_slope.loss;
        (weights, slope) = (next, next_slope);
        if change.abs() < CHANGE_MIN {
            break;
        }
    }
    Ok(weights)
}

/// To four decimals, which is more than turns determine.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len() - 1;
    #[expect(clippy::cast_precision_loss, reason = "a number of turns")]
    let place = share * last as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the last")]
    let below = (place.floor() as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns whose right playbook has the most strength, beside turns where no playbook has much.
    fn examples() -> Vec<Example> {
        let evidence = |strength: f32| Evidence { strength, coverage: strength / 2.0, ..Evidence::default() };
        let occasion = Occasion::new(6.0, 30, 0.0);
        let noise = |at: u16| f32::from(at * 37 % 50) / 100.0;
        let inside = (0..200).map(|at| Example {
            candidates: vec![(evidence(0.8 + noise(at)), true), (evidence(0.4 + noise(at + 7)), false)],
            occasion,
            weight: 1.0 / 200.0,
        });
        let outside = (0..200).map(|at| Example {
            candidates: vec![(evidence(noise(at + 3)), false), (evidence(noise(at + 11)), false)],
            occasion,
            weight: 1.0 / 200.0,
        });
        inside.chain(outside).collect()
    }

    #[test]
    fn what_is_right_gets_the_higher_score_and_floors_hold_on_the_turns_they_are_from() {
        let examples = examples();
        let fit = fit(&examples, 1e5, false).expect("both kinds are there");
        assert!(fit.strength > 0.0 && fit.any_fit > 0.0 && fit.lift.abs() < 1e-9, "{fit:?}");
        let verdict = |example: &Example| {
            let scores: Vec<f64> = example
                .candidates
                .iter()
                .map(|(evidence, _)| evidence.score(&fit, example.occasion))
                .collect();
            Verdict::of(&scores, &fit, example.occasion).log_odds
        };
        let floor = fit.floors[FLOOR_SHARES.iter().position(|share| *share >= 0.05).expect("there is one")];
        let above =
            |in_scope| examples.iter().filter(|e| e.in_scope() == in_scope && verdict(e) > floor).count();
        assert!(above(false) <= 10 && above(true) >= 190, "{} {}", above(false), above(true));
        assert!(fit.floors.windows(2).all(|pair| pair[0] >= pair[1]), "{:?}", fit.floors);
    }

    #[test]
    fn without_turns_out_of_scope_there_is_no_floor() {
        let inside: Vec<Example> = examples().into_iter().filter(Example::in_scope).collect();
        assert!(fit(&inside, 1e5, false).is_err_and(|error| error.contains("--background")));
    }
}
