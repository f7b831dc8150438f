//! What a cosine of a model is worth: models differ in how near they put texts that have nothing in common.
//!
//! Measured once a model, on short texts of different subjects: the mean of their cosines is what unrelated texts have, and
//! their standard deviation is the unit that differences are told in, so that weights fitted with one model mean something
//! with another. The built-in model has a mean of 0.048 and a unit of 0.077.

use super::{EmbedError, Embedder};
use crate::engine::numbers::dot;

/// Texts of different subjects, as people write them to agents.
const PROBES: [&str; 16] = [
    "the customer was charged twice and wants the money back",
    "write a database migration that adds an index",
    "my train was cancelled, find me another way to the airport",
    "draft an announcement for the new version",
    "the build fails since we upgraded the compiler",
    "translate this letter for our supplier",
    "plan the meals of a week without dairy",
    "review the security of the login form",
    "summarise the minutes of the board meeting",
    "which of these candidates should we interview",
    "the printer in the office does not answer",
    "compare two loans with different rates",
    "set up alerts for when the disk is nearly full",
    "make a slide about the results of the survey",
    "the parcel arrived damaged",
    "explain how the moon causes tides",
];

/// The cosines of a model between unrelated texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Their mean.
    pub mean: f32,
    /// Their standard deviation.
    pub unit: f32,
}

impl Scale {
    /// Measures a model.
    ///
    /// # Errors
    /// When it embeds the texts to nothing that can be compared.
    pub fn of(embedder: &dyn Embedder) -> Result<Self, EmbedError> {
        let vectors: Vec<_> = embedder.embed(&PROBES)?.into_iter().flatten().collect();
        let mut cosines = Vec::new();
        for (at, one) in vectors.iter().enumerate() {
            cosines.extend(vectors[..at].iter().map(|other| dot(one, other)));
        }
        let count = f32::from(u16::try_from(cosines.len().max(1)).expect("there are few probes"));
        let mean = cosines.iter().sum::<f32>() / count;
        let variance = cosines.iter().map(|cosine| (cosine - mean).powi(2)).sum::<f32>() / count;
        let unit = variance.sqrt().max(UNIT_MIN);
        Ok(Self { mean, unit })
    }
}

/// A model that puts all texts in one place, or knows none of the words, is not divided by.
const UNIT_MIN: f32 = 0.01;
