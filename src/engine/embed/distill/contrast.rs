//! Rows learn which texts belong together: two of one document are nearer to each other than to the rest of a batch.
//!
//! A step takes pairs of texts `(a, b)`, with the cosines `A` of every `a` and every `b`. Its loss is the mean over pairs of
//! `-ln softmax(A/τ)` of the pair's own cosine among its row, and among its column (van den Oord, Li and Vinyals,
//! "Representation learning with contrastive predictive coding", 2018). Pairs of the same document do not count against
//! each other.
//!
//! What comes out lies midway between the rows before and those after (Wortsman et al., "Robust fine-tuning of zero-shot
//! models", 2022): the pairs are of some domains, and rows that have learnt them to the end know less of others.

use super::super::EmbedError;
use super::rows::{Random, Rows, failed, matrix, ratio, values};
use super::{Event, Recipe};
use crate::compute;

const TAU: f32 = 0.05;

/// The greatest step width.
const WIDEST: f32 = 0.002;

/// Of ten pairs, those of turns with their playbooks, where there are any; and of those, the ones with the first text of
/// their document, which says what it is about.
const OF_TURNS: usize = 2;
const WITH_FIRST: usize = 6;

/// Steps between two reports.
const TELL_EVERY: usize = 50;

/// Texts of one document, by their tokens.
pub(super) type Document<'a> = Vec<&'a [u32]>;

/// The texts of a step: pair by pair, with the document that both are of.
struct Batch<'a> {
    first: Vec<&'a [u32]>,
    second: Vec<&'a [u32]>,
    documents: Vec<usize>,
}

/// Tunes the rows on pairs of one document; the rows, and the loss of the last steps.
///
/// # Errors
/// When the tensors cannot be computed.
pub(super) fn learn(
    rows: Vec<f32>,
    documents: &[Document<'_>],
    turns: &[Document<'_>],
    recipe: Recipe,
    tell: &(dyn Fn(Event) + Sync),
) -> Result<(Vec<f32>, f32), EmbedError> {
    let paired = |all: &[Document<'_>]| all.iter().filter(|texts| texts.len() > 1).count();
    if paired(documents) + paired(turns) < 2 {
        return Ok((rows, 0.0));
    }
    let pools = [of_several(documents, 0), of_several(turns, documents.len())];
    let before = rows.clone();
    let mut rows = Rows::new(rows, recipe.dimensions);
    let mut random = Random(1);
    let (mut recent, mut last) = (0.0, 0.0);
    while rows.step < recipe.pair_steps {
        let batch = draw(&pools, recipe.batch / 2, &mut random);
        recent += take_step(&mut rows, &batch, recipe.pair_steps)?;
        if rows.step.is_multiple_of(TELL_EVERY) {
            last = recent / ratio(TELL_EVERY, 1);
            recent = 0.0;
            tell(Event::Paired { step: rows.step, loss: last });
        }
    }
    let midway = rows.values.iter().zip(&before).map(|(after, before)| f32::midpoint(*after, *before));
    Ok((midway.collect(), last))
}

/// The documents of more than one text, with their numbers.
fn of_several<'a>(documents: &'a [Document<'a>], before: usize) -> Vec<(usize, &'a Document<'a>)> {
    let numbered = documents.iter().enumerate().map(|(at, texts)| (before + at, texts));
    numbered.filter(|(_, texts)| texts.len() > 1).collect()
}

fn draw<'a>(pools: &[Vec<(usize, &'a Document<'a>)>; 2], pairs: usize, random: &mut Random) -> Batch<'a> {
    let mut batch = Batch { first: Vec::new(), second: Vec::new(), documents: Vec::new() };
    for _ in 0..pairs.max(2) {
        let wanted = usize::from(random.below(10) < OF_TURNS);
        let pool = if pools[wanted].is_empty() { &pools[1 - wanted] } else { &pools[wanted] };
        let (number, texts) = pool[random.below(pool.len())];
        let one = if random.below(10) < WITH_FIRST { 0 } else { random.below(texts.len()) };
        // Any but the one.
        let other = (one + 1 + random.below(texts.len() - 1)) % texts.len();
        batch.first.push(texts[one]);
        batch.second.push(texts[other]);
        batch.documents.push(number);
    }
    batch
}

fn take_step(rows: &mut Rows, batch: &Batch<'_>, steps: usize) -> Result<f32, EmbedError> {
    let (loss, gradient) = slope(rows, batch)?;
    rows.descend(&gradient, WIDEST, steps);
    Ok(loss)
}

/// The loss of a batch, and its derivative by each row.
fn slope(rows: &Rows, batch: &Batch<'_>) -> Result<(f32, Vec<f32>), EmbedError> {
    let count = batch.documents.len();
    let (first, second) = (rows.embed(&batch.first), rows.embed(&batch.second));
    let computed = || {
        let (a, b) = (matrix(&first.units, count)?, matrix(&second.units, count)?);
        let cosines = a.matmul(&b.t()?)?;
        let (by_row, by_column) = (values(&cosines)?, values(&cosines.t()?.contiguous()?)?);
        let (row_loss, rows) = softmaxes(&by_row, &batch.documents);
        let (column_loss, columns) = softmaxes(&by_column, &batch.documents);
        let (rows, columns) = (matrix(&rows, count)?, matrix(&columns, count)?);
        let by_cosine = (rows + columns.t()?)?;
        let by_first = values(&by_cosine.matmul(&b)?)?;
        let by_second = values(&by_cosine.t()?.matmul(&a)?)?;
        Ok((f32::midpoint(row_loss, column_loss), by_first, by_second))
    };
    let (loss, by_first, by_second) = computed().map_err(|error: candle_core::Error| failed(&error))?;
    let mut gradient = rows.gradient(&batch.first, &first, &by_first);
    let other = rows.gradient(&batch.second, &second, &by_second);
    gradient.iter_mut().zip(other).for_each(|(sum, x)| *sum += x);
    Ok((loss, gradient))
}

/// The mean loss of the rows of a matrix of cosines, and half its derivative by each.
fn softmaxes(cosines: &[f32], documents: &[usize]) -> (f32, Vec<f32>) {
    let count = documents.len();
    let rows: Vec<usize> = (0..count).collect();
    let made = compute::map(&rows, |own| {
        let row = &cosines[own * count..(own + 1) * count];
        let counts = |at: usize| at == *own || documents[at] != documents[*own];
        let mut shares: Vec<f32> = row
            .iter()
            .enumerate()
            .map(|(at, x)| if counts(at) { ((x - 1.0) / TAU).exp() } else { 0.0 })
            .collect();
        let sum = shares.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        let loss = -(shares[*own] / sum).max(f32::MIN_POSITIVE).ln() / ratio(count, 1);
        for share in &mut shares {
            *share /= sum * 2.0 * TAU * ratio(count, 1);
        }
        shares[*own] -= 1.0 / (2.0 * TAU * ratio(count, 1));
        (loss, shares)
    });
    let (losses, by_cosine): (Vec<f32>, Vec<Vec<f32>>) = made.into_iter().unzip();
    (losses.iter().sum(), by_cosine.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Rows {
        Rows::new(vec![0.9, 0.1, -0.3, 0.8, 0.5, -0.6, 0.2, 0.2], 2)
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        let batch = Batch {
            first: vec![&[0, 1], &[1, 2], &[3]],
            second: vec![&[2], &[0, 3, 3], &[1]],
            documents: vec![0, 1, 0],
        };
        let mut rows = rows();
        let (_, gradient) = slope(&rows, &batch).unwrap();
        for (at, own) in gradient.into_iter().enumerate() {
            let kept = rows.values[at];
            let mut loss_at = |x: f32| {
                rows.values[at] = kept + x;
                let loss = slope(&rows, &batch).unwrap().0;
                rows.values[at] = kept;
                loss
            };
            let slope = (loss_at(1e-3) - loss_at(-1e-3)) / 2e-3;
            assert!((slope - own).abs() < 0.02 * (1.0 + slope.abs()), "{at}: {slope} {own}");
        }
    }

    #[test]
    fn texts_of_one_document_come_nearer() {
        let texts: [&[u32]; 4] = [&[0], &[1], &[2], &[3]];
        let documents = [vec![texts[0], texts[1]], vec![texts[2], texts[3]]];
        let recipe =
            Recipe { dimensions: 2, batch: 1_024, steps_max: 0, learning_rate: 0.0, pair_steps: 300 };
        let cosine = |rows: &Rows| {
            let units = rows.embed(&texts).units;
            units[0] * units[2] + units[1] * units[3]
        };
        let before = cosine(&rows());
        let (after, loss) = learn(rows().values, &documents, &[], recipe, &|_| {}).unwrap();
        assert!(cosine(&Rows::new(after, 2)) > before + 0.3 && loss < 2.0, "{loss}");
    }

    #[test]
    fn without_pairs_nothing_changes() {
        let lone = [vec![&[0_u32][..]], vec![&[1][..]]];
        let recipe = Recipe { dimensions: 2, batch: 8, steps_max: 0, learning_rate: 0.0, pair_steps: 10 };
        assert_eq!(learn(rows().values, &lone, &[], recipe, &|_| {}).unwrap(), (rows().values, 0.0));
    }
}
