//! Text to vectors, by whichever model: one trait, two kinds of model, and the one that is built in.
//!
//! **Invariants**: vectors have unit length, or there is none (a text without a known token); equal text gives an equal
//! vector on any thread and in any batch; vectors of two models never meet ([`ModelId`]).

pub mod bert;
pub mod builtin;
pub mod distill;
pub mod scale;
pub mod script;
pub mod static_;
pub mod tokens;
pub mod turn;
pub mod wordpiece;

use std::fmt;
use std::sync::Arc;

use super::numbers::dot;
use crate::domain::digest::Digest;

/// A unit vector, as many numbers as its model has dimensions; shared by content.
pub type Vector = Arc<[f32]>;

/// A model of text.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// What it says of itself.
    fn about(&self) -> &About;

    /// Whether a text costs microseconds, so that it may be embedded where requests are answered.
    fn is_immediate(&self) -> bool;

    /// Embeds each text; `None` for one that holds no token of the model. Parallel where that is worth it.
    ///
    /// # Errors
    /// When the model computes something that is not a vector.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, EmbedError>;

    /// Adds the vector of one text, `weight` times, to `sum`; returns whether there is one. What [`embed`](Self::embed)
    /// gives, without an allocation where the model is immediate.
    ///
    /// # Errors
    /// As for `embed`.
    fn add(
        &self,
        text: &str,
        weight: f32,
        scratch: &mut EmbedScratch,
        sum: &mut [f32],
    ) -> Result<bool, EmbedError>;
}

/// What a model says of itself.
#[derive(Clone, Debug)]
pub struct About {
    /// Which model this is: its files, not its place.
    pub id: ModelId,
    /// Numbers of a vector.
    pub dimensions: usize,
    /// The scripts that its vocabulary covers.
    pub scripts: script::Covered,
}

/// The buffers of one embedding.
#[derive(Debug, Default)]
pub struct EmbedScratch {
    /// Token ids.
    pub ids: Vec<u32>,
    /// A word, normalised.
    pub word: String,
    /// A sum of rows.
    pub sum: Vec<f32>,
}

/// Which model made a vector: the digest of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId(Digest);

impl ModelId {
    /// The id of a model with these files.
    #[must_use]
    pub fn of_files<'a>(files: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self(Digest::of_parts(files))
    }

    /// The digest of its files.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A model file that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    file: &'static str,
    what: String,
}

impl ModelError {
    pub(super) fn new(file: &'static str, what: impl fmt::Display) -> Self {
        Self { file, what: what.to_string() }
    }

    /// The name of the file.
    #[must_use]
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// What is wrong with it.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

impl std::error::Error for ModelError {}

/// An embedding that failed: the model gave no finite vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedError(String);

impl EmbedError {
    /// A failure, in a sentence.
    #[must_use]
    pub fn new(what: impl fmt::Display) -> Self {
        Self(what.to_string())
    }
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EmbedError {}

/// Gives `vector` unit length; `false` when it is zero.
///
/// # Errors
/// A vector that is not finite.
pub fn normalize(vector: &mut [f32]) -> Result<bool, EmbedError> {
    let norm = dot(vector, vector).sqrt();
    if !norm.is_finite() {
        return Err(EmbedError::new("the model gave a vector that is not finite"));
    }
    if norm <= f32::MIN_POSITIVE {
        return Ok(false);
    }
    for x in vector.iter_mut() {
        *x /= norm;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_length_or_none() {
        let mut vector = [3.0, 4.0];
        assert_eq!(normalize(&mut vector), Ok(true));
        assert!((dot(&vector, &vector) - 1.0).abs() < 1e-6);
        assert_eq!(normalize(&mut [0.0, 0.0]), Ok(false));
        assert!(normalize(&mut [f32::NAN, 0.0]).is_err());
        assert!(normalize(&mut [f32::INFINITY, 0.0]).is_err());
    }
}
