//! The student: its rows, and how they learn the teacher's cosines.
//!
//! A step takes a batch of texts, with unit vectors `S` of the student and `T` of the teacher and the cosine matrices
//! `A = S·Sᵀ` and `R = T·Tᵀ` without their diagonals. Its loss is the sum of
//!
//! - `100 · mean((A - R)²)`: cosines are the teacher's;
//! - `mean over rows of KL(softmax(R/τ) ‖ softmax(A/τ))`: so is the order of the nearest;
//! - `mean(1 - cos(s, p))`, `p` being the projected vector of the teacher: so is the direction.
//!
//! What is kept aside says when to stop.

use super::super::{EmbedError, Vector};
use super::rows::{Random, Rows, Vectors, failed, matrix, ratio, values};
use super::{Event, Recipe};
use crate::compute;
use crate::engine::numbers::dot;

const TAU: f32 = 0.1;
const SQUARES_WEIGHT: f32 = 100.0;

/// Steps between two looks at what is kept aside, texts that are looked at, and looks without a gain that end it.
const LOOK_EVERY: usize = 100;
const LOOK_TEXTS: usize = 2_048;
const LOOKS_IN_VAIN: usize = 4;

/// A text to learn from.
#[derive(Clone, Debug)]
pub struct Example {
    /// Its tokens, without special ones.
    pub ids: Vec<u32>,
    /// The teacher's vector.
    pub teacher: Vector,
    /// The teacher's vector in the student's dimensions.
    pub target: Vec<f32>,
    /// The document that it is part of.
    pub document: u32,
}

/// Rows that learn.
#[derive(Debug)]
pub struct Student {
    rows: Rows,
}

/// A batch, and what the student makes of it.
struct Batch<'a> {
    examples: Vec<&'a Example>,
    ids: Vec<&'a [u32]>,
    vectors: Vectors,
}

impl Student {
    /// Learns until it gets no better on what is kept aside; the best rows, their step and their loss.
    ///
    /// # Errors
    /// When the tensors cannot be computed, or nothing is kept aside.
    pub fn learn(
        rows: Vec<f32>,
        examples: &[Example],
        aside: &[Example],
        recipe: Recipe,
        tell: &(dyn Fn(Event) + Sync),
    ) -> Result<(Vec<f32>, (usize, f32)), EmbedError> {
        if examples.len() < 2 || aside.len() < 2 {
            return Err(EmbedError::new("the corpus is too small: 100 documents are the least"));
        }
        let mut student = Self { rows: Rows::new(rows, recipe.dimensions) };
        let mut random = Random(1);
        let looked_at: Vec<&Example> = aside.iter().step_by(aside.len().div_ceil(LOOK_TEXTS)).collect();
        let mut best = (student.rows.values.clone(), (0, student.loss(&looked_at)?));
        let mut in_vain = 0;
        tell(Event::Learned { step: 0, loss: best.1.1 });
        while student.rows.step < recipe.steps_max && in_vain < LOOKS_IN_VAIN {
            let batch = batch(&mut random, examples, recipe.batch);
            student.take_step(batch, recipe)?;
            let step = student.rows.step;
            if step.is_multiple_of(LOOK_EVERY) || step == recipe.steps_max {
                let loss = student.loss(&looked_at)?;
                tell(Event::Learned { step, loss });
                in_vain += 1;
                if loss < best.1.1 {
                    best = (student.rows.values.clone(), (step, loss));
                    in_vain = 0;
                }
            }
        }
        Ok(best)
    }

    fn loss(&self, examples: &[&Example]) -> Result<f32, EmbedError> {
        let batch = self.embed(examples.to_vec());
        Ok(self.judge(&batch)?.0)
    }

    fn take_step(&mut self, examples: Vec<&Example>, recipe: Recipe) -> Result<(), EmbedError> {
        let batch = self.embed(examples);
        let (_, by_cosine) = self.judge(&batch)?;
        let gradient = self.gradient(&batch, &by_cosine)?;
        self.rows.descend(&gradient, recipe.learning_rate, recipe.steps_max);
        Ok(())
    }

    fn embed<'a>(&self, examples: Vec<&'a Example>) -> Batch<'a> {
        let ids: Vec<&[u32]> = examples.iter().map(|example| &*example.ids).collect();
        let vectors = self.rows.embed(&ids);
        Batch { examples, ids, vectors }
    }

    /// The loss, and its derivative by each cosine.
    fn judge(&self, batch: &Batch<'_>) -> Result<(f32, Vec<f32>), EmbedError> {
        let count = batch.examples.len();
        let teacher: Vec<&[f32]> = batch.examples.iter().map(|example| &*example.teacher).collect();
        let students = cosines(&batch.vectors.units, count)?;
        let teachers = cosines(&teacher.concat(), count)?;
        let rows: Vec<usize> = (0..count).collect();
        let judged = compute::map(&rows, |row| {
            let of = |all: &[f32]| all[row * count..(row + 1) * count].to_vec();
            judge_row(*row, &of(&students), &of(&teachers))
        });
        let mut loss: f32 = judged.iter().map(|(loss, _)| loss).sum();
        for (example, vector) in batch.examples.iter().zip(batch.vectors.units.chunks(self.rows.dimensions)) {
            let norm = dot(&example.target, &example.target).sqrt().max(1e-9);
            loss += (1.0 - dot(&example.target, vector) / norm) / ratio(count, 1);
        }
        Ok((loss, judged.into_iter().flat_map(|(_, by_cosine)| by_cosine).collect()))
    }

    /// The derivative of the loss by each row.
    fn gradient(&self, batch: &Batch<'_>, by_cosine: &[f32]) -> Result<Vec<f32>, EmbedError> {
        let count = batch.examples.len();
        let mut by_unit =
            both_sides(by_cosine, &batch.vectors.units, count).map_err(|error| failed(&error))?;
        for (by, example) in by_unit.chunks_mut(self.rows.dimensions).zip(&batch.examples) {
            let norm = dot(&example.target, &example.target).sqrt().max(1e-9);
            by.iter_mut().zip(&example.target).for_each(|(x, t)| *x -= t / (ratio(count, 1) * norm));
        }
        Ok(self.rows.gradient(&batch.ids, &batch.vectors, &by_unit))
    }
}

/// One row's part of the loss, and its derivative by each cosine of the row.
fn judge_row(own: usize, students: &[f32], teachers: &[f32]) -> (f32, Vec<f32>) {
    let count = ratio(students.len(), 1);
    let (student, teacher) = (softmax(students, own), softmax(teachers, own));
    let mut loss = 0.0;
    let mut by_cosine = vec![0.0; students.len()];
    for at in (0..students.len()).filter(|at| *at != own) {
        let off = students[at] - teachers[at];
        loss += SQUARES_WEIGHT * off * off / (count * count);
        loss += teacher[at] * ((teacher[at] + 1e-9) / (student[at] + 1e-9)).ln() / count;
        by_cosine[at] =
            2.0 * SQUARES_WEIGHT * off / (count * count) + (student[at] - teacher[at]) / (TAU * count);
    }
    (loss, by_cosine)
}

/// The softmax of the cosines by [`TAU`], that with the text itself left out.
fn softmax(cosines: &[f32], own: usize) -> Vec<f32> {
    let mut shares: Vec<f32> = cosines.iter().map(|x| ((x - 1.0) / TAU).exp()).collect();
    shares[own] = 0.0;
    let sum: f32 = shares.iter().sum();
    for x in &mut shares {
        *x /= sum.max(f32::MIN_POSITIVE);
    }
    shares
}

/// All inner products of `count` vectors.
fn cosines(vectors: &[f32], count: usize) -> Result<Vec<f32>, EmbedError> {
    let all = || {
        let vectors = matrix(vectors, count)?;
        values(&vectors.matmul(&vectors.t()?)?)
    };
    all().map_err(|error: candle_core::Error| failed(&error))
}

/// `(D + Dᵀ) · S`
fn both_sides(by_cosine: &[f32], vectors: &[f32], count: usize) -> candle_core::Result<Vec<f32>> {
    let by_cosine = matrix(by_cosine, count)?;
    values(&(&by_cosine + by_cosine.t()?)?.matmul(&matrix(vectors, count)?)?)
}

/// Texts in pairs of one document, so that a batch holds some that are near each other; each once.
fn batch<'a>(random: &mut Random, examples: &'a [Example], size: usize) -> Vec<&'a Example> {
    let mut chosen = Vec::with_capacity(size);
    while chosen.len() < size.min(examples.len()) {
        let one = random.below(examples.len());
        let document = examples[one].document;
        let first = examples.partition_point(|example| example.document < document);
        let last = examples.partition_point(|example| example.document <= document);
        chosen.extend([one, first + random.below(last - first)]);
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|at| &examples[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(ids: &[u32], teacher: [f32; 2], document: u32) -> Example {
        Example { ids: ids.to_vec(), teacher: teacher.into(), target: teacher.to_vec(), document }
    }

    fn student() -> Student {
        Student { rows: Rows::new(vec![0.9, 0.1, -0.3, 0.8, 0.5, -0.6, 0.2, 0.2], 2) }
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        let texts = [
            example(&[0, 1], [1.0, 0.0], 0),
            example(&[1, 2, 2], [0.6, 0.8], 1),
            example(&[3], [0.0, 1.0], 2),
        ];
        let texts: Vec<&Example> = texts.iter().collect();
        let mut student = student();
        let batch = student.embed(texts.clone());
        let (_, by_cosine) = student.judge(&batch).unwrap();
        let gradient = student.gradient(&batch, &by_cosine).unwrap();
        for (at, own) in gradient.into_iter().enumerate() {
            let kept = student.rows.values[at];
            let mut loss_at = |x: f32| {
                student.rows.values[at] = kept + x;
                let loss = student.loss(&texts).unwrap();
                student.rows.values[at] = kept;
                loss
            };
            let slope = (loss_at(1e-3) - loss_at(-1e-3)) / 2e-3;
            assert!((slope - own).abs() < 0.02 * (1.0 + slope.abs()), "{at}: {slope} {own}");
        }
    }

    #[test]
    fn learning_lowers_the_loss_on_what_is_kept_aside() {
        let teachers = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6]];
        let all: Vec<Example> =
            (0..64_u32).map(|at| example(&[at % 4], teachers[at as usize % 4], at / 4)).collect();
        let recipe = Recipe { dimensions: 2, batch: 32, steps_max: 100, learning_rate: 0.05, pair_steps: 0 };
        let start = student().rows.values;
        let (_, (step, loss)) = Student::learn(start, &all[..48], &all[48..], recipe, &|_| {}).unwrap();
        assert!(step == 100 && loss < 0.5, "{step} {loss}");
    }
}
