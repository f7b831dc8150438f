//! The rows of a static model while they learn: texts to vectors, and a gradient's way back, by Adam (Kingma and Ba, 2015).

use candle_core::{Device, Tensor};

use super::super::EmbedError;
use crate::compute;
use crate::engine::numbers::dot;

/// Adam's memory of the gradient and of its square.
const BETA: (f32, f32) = (0.9, 0.999);
const EPSILON: f32 = 1e-8;

/// Steps over which the width rises.
const WARM_UP: usize = 50;

/// Rows that learn.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) values: Vec<f32>,
    pub(super) dimensions: usize,
    mean: Vec<f32>,
    square: Vec<f32>,
    /// Steps taken.
    pub(super) step: usize,
}

/// What the rows make of some texts.
pub(super) struct Vectors {
    /// Unit vectors, one after the other.
    pub(super) units: Vec<f32>,
    /// Their lengths before.
    norms: Vec<f32>,
}

impl Rows {
    pub(super) fn new(values: Vec<f32>, dimensions: usize) -> Self {
        let zeros = vec![0.0; values.len()];
        Self { values, dimensions, mean: zeros.clone(), square: zeros, step: 0 }
    }

    pub(super) fn embed(&self, texts: &[&[u32]]) -> Vectors {
        let made = compute::map(texts, |ids| {
            let mut sum = vec![0.0; self.dimensions];
            for id in *ids {
                sum.iter_mut().zip(self.row(*id)).for_each(|(sum, x)| *sum += x);
            }
            let norm = dot(&sum, &sum).sqrt().max(1e-9);
            for x in &mut sum {
                *x /= norm;
            }
            (sum, norm)
        });
        let (units, norms): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        Vectors { units: units.concat(), norms }
    }

    /// The derivative by each row, of that by each text's unit vector.
    pub(super) fn gradient(&self, texts: &[&[u32]], vectors: &Vectors, by_unit: &[f32]) -> Vec<f32> {
        let width = self.dimensions;
        let mut gradient = vec![0.0; self.values.len()];
        let of = |all: &[f32], at: usize| all[at * width..(at + 1) * width].to_vec();
        for (at, ids) in texts.iter().enumerate() {
            let (unit, mut by) = (of(&vectors.units, at), of(by_unit, at));
            let along = dot(&by, &unit);
            by.iter_mut().zip(&unit).for_each(|(x, s)| *x = (*x - along * s) / vectors.norms[at]);
            for id in *ids {
                let start = *id as usize * width;
                gradient[start..start + width].iter_mut().zip(&by).for_each(|(sum, x)| *sum += x);
            }
        }
        gradient
    }

    /// Takes the next of `steps` steps: their width rises to `widest` and then falls to nothing.
    pub(super) fn descend(&mut self, gradient: &[f32], widest: f32, steps: usize) {
        self.step += 1;
        let rise = ratio(self.step, WARM_UP).min(1.0);
        let fall = 1.0 - 0.95 * ratio(self.step, steps);
        let step = i32::try_from(self.step).unwrap_or(i32::MAX);
        let (early, early_square) = (1.0 - BETA.0.powi(step), 1.0 - BETA.1.powi(step));
        let state = self.values.iter_mut().zip(&mut self.mean).zip(&mut self.square);
        for (((row, mean), square), slope) in state.zip(gradient) {
            *mean = BETA.0 * *mean + (1.0 - BETA.0) * slope;
            *square = BETA.1 * *square + (1.0 - BETA.1) * slope * slope;
            *row -= widest * rise * fall * (*mean / early) / ((*square / early_square).sqrt() + EPSILON);
        }
    }

    fn row(&self, id: u32) -> &[f32] {
        let start = id as usize * self.dimensions;
        &self.values[start..start + self.dimensions]
    }
}

/// `count` vectors as a matrix, a row a vector.
pub(super) fn matrix(values: &[f32], count: usize) -> candle_core::Result<Tensor> {
    Tensor::from_slice(values, (count, values.len() / count.max(1)), &Device::Cpu)
}

pub(super) fn values(matrix: &Tensor) -> candle_core::Result<Vec<f32>> {
    matrix.flatten_all()?.to_vec1()
}

pub(super) fn failed(error: &candle_core::Error) -> EmbedError {
    EmbedError::new(error)
}

#[expect(clippy::cast_precision_loss, reason = "counts of texts and steps are far below 2^24")]
pub(super) fn ratio(a: usize, b: usize) -> f32 {
    a as f32 / b as f32
}

/// Numbers that look random and are the same each time: xorshift64 (Marsaglia, 2003).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (bound as u64)).expect("less than a length")
    }
}
