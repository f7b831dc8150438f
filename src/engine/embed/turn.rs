//! A turn to its vector: its head and its tail, and recent turns at lower weights.
//!
//! `vector = normalise(Σ weight · vector(piece))`. **Cost**: that of its pieces.

use super::{EmbedError, EmbedScratch, Embedder, Vector, normalize};
use crate::domain::query::MenuQuery;
use crate::engine::numbers::add_weighted;
use crate::engine::window::{embedded_parts, weighted};

/// What the semantic pass has of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// A vector.
    #[default]
    Embedded,
    /// No token of the model: nothing to compare.
    NoToken,
    /// Most of the turn is in a script that the model does not cover.
    ScriptNotCovered,
    /// The model failed.
    Failed,
}

/// The vector of a turn; its numbers mean something when it is [`Outcome::Embedded`].
#[derive(Clone, Debug, Default)]
pub struct TurnVector {
    /// Unit length.
    pub values: Vec<f32>,
    /// What came of it.
    pub outcome: Outcome,
}

impl TurnVector {
    /// A turn without a vector.
    #[must_use]
    pub fn without(outcome: Outcome) -> Self {
        Self { values: Vec::new(), outcome }
    }

    /// Embeds a turn in place.
    pub fn embed(&mut self, embedder: &dyn Embedder, query: &MenuQuery, scratch: &mut EmbedScratch) {
        self.begin(embedder);
        if !embedder.about().scripts.most_of(query.turn()) {
            self.outcome = Outcome::ScriptNotCovered;
            return;
        }
        let mut add = |(text, weight): (&str, f32)| embedder.add(text, weight, scratch, &mut self.values);
        let found = pieces(query).try_fold(false, |found, piece| Ok(add(piece)? || found));
        self.finish(found);
    }

    /// From the vectors of its [`pieces`], where those were embedded elsewhere.
    #[must_use]
    pub fn of_pieces(
        embedder: &dyn Embedder,
        query: &MenuQuery,
        vectors: Result<Vec<Option<Vector>>, EmbedError>,
    ) -> Self {
        let mut turn = Self::default();
        turn.begin(embedder);
        let sum = vectors.map(|vectors| {
            let mut found = false;
            for ((_, weight), vector) in pieces(query).zip(vectors) {
                if let Some(vector) = vector {
                    add_weighted(&mut turn.values, weight, &vector);
                    found = true;
                }
            }
            found
        });
        turn.finish(sum);
        turn
    }

    fn begin(&mut self, embedder: &dyn Embedder) {
        self.values.clear();
        self.values.resize(embedder.about().dimensions, 0.0);
    }

    fn finish(&mut self, found: Result<bool, EmbedError>) {
        let usable = found.and_then(|found| Ok(found && normalize(&mut self.values)?));
        self.outcome = match usable {
            Ok(true) => Outcome::Embedded,
            Ok(false) => Outcome::NoToken,
            Err(_) => Outcome::Failed,
        };
    }
}

/// What a turn is embedded from, with weights.
pub fn pieces(query: &MenuQuery) -> impl Iterator<Item = (&str, f32)> {
    let parts = |text, weight| {
        let parts = embedded_parts(text).map(|(part, share)| (part, share * weight));
        parts.into_iter().filter(|(part, _)| !part.is_empty())
    };
    parts(query.turn(), 1.0)
        .chain(weighted(query.recent()).flat_map(move |(turn, weight)| parts(turn, weight)))
}
