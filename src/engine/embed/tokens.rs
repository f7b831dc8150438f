//! tokenizer.json to token ids.
//!
//! Any tokenizer of that format is read by the crate `tokenizers`. The form that BERT and most static models use (lower
//! case, WordPiece) has a reader of our own besides, [`wordpiece`](super::wordpiece), much faster (`benches/engine.rs`); a property
//! test holds the two to the same ids.

use tokenizers::{Tokenizer, TruncationParams};

use super::wordpiece::WordPiece;
use super::{EmbedScratch, ModelError, script};

/// The name of the file, for errors.
const FILE: &str = "tokenizer.json";

/// A tokenizer, by the fastest reader that gives its ids.
#[derive(Debug)]
pub enum Tokens {
    /// BERT's, by our own reader.
    WordPiece(WordPiece),
    /// Any, by the crate.
    Any {
        /// The tokenizer.
        tokenizer: Box<Tokenizer>,
        /// The token that stands for what the vocabulary lacks.
        unknown: Option<u32>,
    },
}

impl Tokens {
    /// Reads a tokenizer.json; special tokens are neither read nor added.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse(json: &[u8]) -> Result<Self, ModelError> {
        if let Some(wordpiece) = WordPiece::parse(json) {
            return Ok(Self::WordPiece(wordpiece));
        }
        let tokenizer = Box::new(general(json, None)?);
        let unknown = unknown_id(&tokenizer, json);
        Ok(Self::Any { tokenizer, unknown })
    }

    /// Appends the ids of the text's known tokens, at most as many as make `ids` hold `ids_max`.
    pub fn collect(&self, text: &str, ids_max: usize, scratch: &mut EmbedScratch) {
        match self {
            Self::WordPiece(wordpiece) => {
                wordpiece.collect(text, ids_max, &mut scratch.word, &mut scratch.ids);
            }
            Self::Any { tokenizer, unknown } => {
                // A text that its own tokenizer cannot read has no known token.
                let Ok(encoding) = tokenizer.encode_fast(text, false) else { return };
                let known = encoding.get_ids().iter().copied().filter(|id| Some(*id) != *unknown);
                let room = ids_max.saturating_sub(scratch.ids.len());
                scratch.ids.extend(known.take(room));
            }
        }
    }

    /// One more than the greatest id.
    #[must_use]
    pub fn id_count(&self) -> usize {
        match self {
            Self::WordPiece(wordpiece) => wordpiece.id_count(),
            Self::Any { tokenizer, .. } => {
                tokenizer.get_vocab(true).values().max().map_or(0, |greatest| *greatest as usize + 1)
            }
        }
    }

    /// The scripts that the vocabulary covers.
    #[must_use]
    pub fn scripts(&self) -> script::Covered {
        match self {
            Self::WordPiece(wordpiece) => script::Covered::by(wordpiece.pieces()),
            Self::Any { tokenizer, .. } => {
                script::Covered::by(tokenizer.get_vocab(false).keys().map(String::as_str))
            }
        }
    }
}

/// The tokenizer as the crate reads it, cutting a text after `tokens_max` tokens, special ones included.
///
/// # Errors
/// When it is none.
pub fn general(json: &[u8], tokens_max: Option<usize>) -> Result<Tokenizer, ModelError> {
    let mut tokenizer = Tokenizer::from_bytes(json).map_err(|error| ModelError::new(FILE, error))?;
    tokenizer.with_padding(None);
    let truncation =
        tokens_max.map(|max_length| TruncationParams { max_length, ..TruncationParams::default() });
    tokenizer.with_truncation(truncation).map_err(|error| ModelError::new(FILE, error))?;
    Ok(tokenizer)
}

/// The token that stands for what the vocabulary lacks.
fn unknown_id(tokenizer: &Tokenizer, json: &[u8]) -> Option<u32> {
    #[derive(serde::Deserialize)]
    struct File {
        model: Model,
    }
    #[derive(serde::Deserialize)]
    struct Model {
        unk_token: Option<String>,
        unk_id: Option<u32>,
    }
    let Model { unk_token, unk_id } = serde_json::from_slice::<File>(json).ok()?.model;
    unk_id.or_else(|| tokenizer.token_to_id(&unk_token?))
}
