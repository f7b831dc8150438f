//! Vectors in a byte a number: a quarter of the memory to read, which is what a scan of many takes its time for.
//!
//! **Invariants**: codes only propose; what they propose is judged by the vectors themselves. A vector's codes are its
//! numbers in units of its largest one's 127th part, so a product is off by less than 1% of the largest that there can be.

use super::best::Best;
use crate::engine::embed::Vector;
use crate::engine::numbers::dot_rows;
use crate::engine::ord::PlaybookOrd;

/// The largest code.
const CODE_MAX: f32 = 127.0;

/// Rows between two looks at what was found: their products stay in the nearest cache.
const ROWS_BLOCK: usize = 1_024;

/// The codes of an agent's vectors.
#[derive(Debug)]
pub struct Codes {
    dimensions: usize,
    /// A row each; zero for a playbook without a vector.
    rows: Vec<i8>,
    /// What a unit of each row's codes is worth; zero for a playbook without a vector.
    units: Vec<f32>,
}

/// The buffers of a scan.
#[derive(Debug, Default)]
pub struct CodeScratch {
    turn: Vec<i16>,
    products: Vec<i32>,
    best: Best,
}

impl Codes {
    /// Of vectors in ordinal order.
    #[must_use]
    pub fn of(by_ord: &[Option<Vector>]) -> Self {
        let dimensions = by_ord.iter().flatten().map(|vector| vector.len()).next().unwrap_or(1);
        let mut rows = Vec::with_capacity(by_ord.len() * dimensions);
        let mut units = Vec::with_capacity(by_ord.len());
        for vector in by_ord {
            let unit = vector.as_ref().map_or(0.0, |vector| largest(vector) / CODE_MAX);
            match vector {
                #[expect(clippy::cast_possible_truncation, reason = "at most 127 by the choice of the unit")]
                Some(vector) if unit > 0.0 => rows.extend(vector.iter().map(|x| (x / unit).round() as i8)),
                _ => rows.resize(rows.len() + dimensions, 0),
            }
            units.push(unit);
        }
        Self { dimensions, rows, units }
    }

    /// Appends the `count` playbooks whose codes are nearest to a turn, in no order.
    pub fn propose(
        &self,
        turn: &[f32],
        count: usize,
        scratch: &mut CodeScratch,
        found: &mut Vec<PlaybookOrd>,
    ) {
        scratch.turn.clear();
        scratch.turn.extend(self.levels(turn));
        scratch.best.begin(count);
        let mut ords = (0..).map(PlaybookOrd::new);
        let blocks = self.rows.chunks(ROWS_BLOCK * self.dimensions).zip(self.units.chunks(ROWS_BLOCK));
        for (rows, units) in blocks {
            scratch.products.resize(units.len(), 0);
            dot_rows(&scratch.turn, rows, &mut scratch.products);
            for ((product, unit), ord) in scratch.products.iter().zip(units).zip(&mut ords) {
                if *unit > 0.0 {
                    #[expect(clippy::cast_precision_loss, reason = "codes are no more exact than f32")]
                    scratch.best.offer(*product as f32 * unit, ord);
                }
            }
        }
        scratch.best.finish(found);
    }

    /// The turn in integers, as fine as the sum of a row's products can hold.
    fn levels(&self, turn: &[f32]) -> impl Iterator<Item = i16> {
        let dimensions = u16::try_from(self.dimensions).unwrap_or(u16::MAX);
        let level_max = (2e9 / (CODE_MAX * f32::from(dimensions))).min(f32::from(i16::MAX));
        let factor = level_max / largest(turn).max(f32::MIN_POSITIVE);
        #[expect(clippy::cast_possible_truncation, reason = "at most the largest i16")]
        turn.iter().map(move |x| (x * factor) as i16)
    }
}

fn largest(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0, |largest, x| largest.max(x.abs()))
}
