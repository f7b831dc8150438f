//! The middle of a long turn: its strongest pieces, at a low weight.
//!
//! Between the first paragraph and the last of a long turn lies what was pasted. The pieces of it that say most about this catalogue's
//! subjects are evidence, but what they say besides is no sign that the turn is about something else: terms that no
//! playbook knows do not count. **Cost**: linear in the middle; no allocation once the scratch has grown.

use super::scores::LexicalScores;
use super::{Lexical, hash};
use crate::domain::text::prefix_bytes;
use crate::engine::terms;

/// The weight of a term that stands in the middle alone.
const MIDDLE_WEIGHT: f32 = 0.25;

/// Bytes of a piece.
const PIECE_BYTES: usize = 1_024;

/// Pieces that are read, the strongest.
const PIECES_MAX: usize = 4;

impl Lexical {
    /// Adds the terms of the strongest pieces.
    pub(super) fn collect_middle(&self, middle: &str, scores: &mut LexicalScores) {
        let mut best: [(f32, &str); PIECES_MAX] = [(0.0, ""); PIECES_MAX];
        for piece in pieces(middle) {
            let strength = self.strength(piece, &mut scores.piece);
            // Among equally strong ones the first.
            if strength > best[PIECES_MAX - 1].0 {
                let place = best.partition_point(|(other, _)| *other >= strength);
                best[place..].rotate_right(1);
                best[place] = (strength, piece);
            }
        }
        for (_, piece) in best {
            terms::for_each(piece, |term| {
                if let Some(id) = self.ids.get(&hash(term)).filter(|_| scores.counts(term)) {
                    scores.known.push((*id, MIDDLE_WEIGHT));
                }
            });
        }
    }

    /// What the distinct terms of a piece say together.
    fn strength(&self, piece: &str, ids: &mut Vec<u32>) -> f32 {
        ids.clear();
        terms::for_each(piece, |term| ids.extend(self.ids.get(&hash(term))));
        ids.sort_unstable();
        ids.dedup();
        ids.iter().map(|id| self.idf[*id as usize]).sum()
    }
}

/// A text in pieces, cut between characters.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let piece = prefix_bytes(rest, PIECE_BYTES);
        rest = &rest[piece.len()..];
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole_text() {
        let text = "猫 and dog ".repeat(500);
        assert_eq!(pieces(&text).collect::<String>(), text);
        assert!(pieces(&text).all(|piece| piece.len() <= PIECE_BYTES));
        assert_eq!(pieces("").count(), 0);
    }
}
