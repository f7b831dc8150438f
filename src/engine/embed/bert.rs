//! Sentence transformers of the BERT kind, such as all-MiniLM-L6-v2: milliseconds a text, for those who pay them.
//!
//! **Invariants**: a text has a forward pass of its own, without padding, so that its vector does not depend on its batch
//! in a single bit; only distillation, which needs no such thing, shares passes between texts of one length.
//! **Threads**: the texts of a batch are spread over the compute pool.

use std::collections::BTreeMap;
use std::fmt;

use candle_core::{DType, Device, IndexOp as _, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use serde::Deserialize;
use tokenizers::Tokenizer;

use super::{
    About, EmbedError, EmbedScratch, Embedder, ModelError, ModelId, Vector, normalize, script, tokens,
};
use crate::compute;
use crate::engine::numbers::add_weighted;

/// The names of the files, for errors.
const CONFIG: &str = "config.json";
const POOLING: &str = "1_Pooling/config.json";
const TENSORS: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";

/// Tokens of one forward pass at most, over all of its texts.
const BATCH_TOKENS_MAX: usize = 1_024;

/// A sentence transformer.
pub struct Bert {
    about: About,
    model: BertModel,
    tokenizer: Tokenizer,
    pooling: Pooling,
    /// Tokens of an empty text.
    special_count: usize,
}

/// The files of a sentence transformer, as bytes.
#[derive(Clone, Copy, Debug)]
pub struct BertFiles<'a> {
    /// `config.json`
    pub config: &'a [u8],
    /// model.safetensors
    pub tensors: &'a [u8],
    /// tokenizer.json
    pub tokenizer: &'a [u8],
    /// `1_Pooling/config.json`; absent means the mean of the tokens.
    pub pooling: Option<&'a [u8]>,
    /// `sentence_bert_config.json`; absent means as many tokens as the model has positions.
    pub sentence: Option<&'a [u8]>,
}

/// How the vectors of tokens become that of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pooling {
    Mean,
    FirstToken,
}

impl Bert {
    /// Reads a model from its files.
    ///
    /// # Errors
    /// When they are damaged, do not belong together, or are of another kind of model.
    pub fn load(files: BertFiles<'_>) -> Result<Self, ModelError> {
        let config: Config =
            serde_json::from_slice(files.config).map_err(|error| ModelError::new(CONFIG, error))?;
        if config.model_type.as_deref().is_some_and(|kind| kind != "bert") {
            let kind = config.model_type.unwrap_or_default();
            return Err(ModelError::new(
                CONFIG,
                format!("the model is of the type \"{kind}\"; \"bert\" can be read"),
            ));
        }
        let pooling = files.pooling.map_or(Ok(Pooling::Mean), Pooling::parse)?;
        let tokens_max = match files.sentence {
            Some(json) => sentence_tokens_max(json)?.min(config.max_position_embeddings),
            None => config.max_position_embeddings,
        };
        let tokenizer = tokens::general(files.tokenizer, Some(tokens_max))?;
        let id_count = tokenizer.get_vocab_size(true);
        if id_count > config.vocab_size {
            let what = format!("names {id_count} tokens, and {CONFIG} says {}", config.vocab_size);
            return Err(ModelError::new(TOKENIZER, what));
        }
        let scripts = script::Covered::by(
            tokenizer.get_vocab(false).keys().map(|piece| piece.trim_start_matches("##")),
        );
        let damaged = |error: candle_core::Error| ModelError::new(TENSORS, first_line(&error));
        let weights = VarBuilder::from_slice_safetensors(files.tensors, DType::F32, &Device::Cpu);
        let model = BertModel::load(weights.map_err(damaged)?, &config).map_err(damaged)?;
        let id = ModelId::of_files(
            [files.config, files.tensors, files.tokenizer]
                .into_iter()
                .chain(files.pooling)
                .chain(files.sentence),
        );
        let empty = tokenizer.encode_fast("", true).map_err(|error| ModelError::new(TOKENIZER, error))?;
        let about = About { id, dimensions: config.hidden_size, scripts };
        Ok(Self { about, model, tokenizer, pooling, special_count: empty.len() })
    }

    /// The token ids of a text, with the special ones, as the model reads them.
    ///
    /// # Errors
    /// When the tokenizer cannot read the text.
    pub fn ids(&self, text: &str) -> Result<Vec<u32>, EmbedError> {
        let encoding = self.tokenizer.encode_fast(text, true).map_err(EmbedError::new)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The tokenizer, for a student that shares it.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Embeds token sequences, those of one length together; `progress` is told of each pass how many it held. The last
    /// bits of a vector depend on how many share its pass.
    ///
    /// # Errors
    /// When the model computes something that is not a vector.
    pub fn embed_ids(
        &self,
        sequences: &[Vec<u32>],
        progress: impl Fn(usize) + Sync,
    ) -> Result<Vec<Vector>, EmbedError> {
        let mut by_length: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, ids) in sequences.iter().enumerate() {
            by_length.entry(ids.len()).or_default().push(at);
        }
        let batches: Vec<_> = by_length
            .iter()
            .flat_map(|(length, members)| members.chunks((BATCH_TOKENS_MAX / (*length).max(1)).max(1)))
            .collect();
        let done = compute::map(&batches, |members| {
            let ids: Vec<&[u32]> = members.iter().map(|at| sequences[*at].as_slice()).collect();
            let vectors = self.forward(&ids);
            progress(members.len());
            vectors
        });
        let mut placed: Vec<(usize, Vector)> = Vec::with_capacity(sequences.len());
        for (members, vectors) in batches.into_iter().zip(done) {
            placed.extend(members.iter().copied().zip(vectors?));
        }
        placed.sort_by_key(|(at, _)| *at);
        Ok(placed.into_iter().map(|(_, vector)| vector).collect())
    }

    /// One forward pass over sequences of one length.
    fn forward(&self, sequences: &[&[u32]]) -> Result<Vec<Vector>, EmbedError> {
        let pooled = self.pooled(sequences).map_err(|error| EmbedError::new(first_line(&error)))?;
        let vectors = pooled.into_iter().map(|mut vector| {
            normalize(&mut vector)?
                .then(|| Vector::from(vector))
                .ok_or_else(|| EmbedError::new("the model gave a zero vector"))
        });
        vectors.collect()
    }

    fn pooled(&self, sequences: &[&[u32]]) -> candle_core::Result<Vec<Vec<f32>>> {
        let length = sequences.first().map_or(0, |ids| ids.len());
        let ids = Tensor::from_vec(sequences.concat(), (sequences.len(), length), &Device::Cpu)?;
        let hidden = self.model.forward(&ids, &ids.zeros_like()?, None)?;
        let pooled = match self.pooling {
            Pooling::Mean => hidden.mean(1)?,
            Pooling::FirstToken => hidden.i((.., 0))?,
        };
        pooled.to_vec2()
    }
}

impl fmt::Debug for Bert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bert").field("about", &self.about).finish_non_exhaustive()
    }
}

impl Embedder for Bert {
    fn about(&self) -> &About {
        &self.about
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, EmbedError> {
        let sequences =
            compute::map(texts, |text| self.ids(text)).into_iter().collect::<Result<Vec<_>, _>>()?;
        let vectors = compute::map(&sequences, |ids| {
            if ids.len() > self.special_count { Ok(self.forward(&[ids])?.pop()) } else { Ok(None) }
        });
        vectors.into_iter().collect()
    }

    fn add(
        &self,
        text: &str,
        weight: f32,
        _: &mut EmbedScratch,
        sum: &mut [f32],
    ) -> Result<bool, EmbedError> {
        let ids = self.ids(text)?;
        if ids.len() <= self.special_count {
            return Ok(false);
        }
        let vector = self.forward(&[&ids])?.swap_remove(0);
        add_weighted(sum, weight, &vector);
        Ok(true)
    }
}

impl Pooling {
    fn parse(json: &[u8]) -> Result<Self, ModelError> {
        #[derive(Deserialize)]
        struct Modes {
            #[serde(default)]
            pooling_mode_cls_token: bool,
            #[serde(default)]
            pooling_mode_mean_tokens: bool,
        }
        let modes: Modes = serde_json::from_slice(json).map_err(|error| ModelError::new(POOLING, error))?;
        match (modes.pooling_mode_mean_tokens, modes.pooling_mode_cls_token) {
            (true, false) => Ok(Self::Mean),
            (false, true) => Ok(Self::FirstToken),
            _ => Err(ModelError::new(
                POOLING,
                "the mean of the tokens or the first token can be taken, one of them",
            )),
        }
    }
}

fn sentence_tokens_max(json: &[u8]) -> Result<usize, ModelError> {
    #[derive(Deserialize)]
    struct Sentence {
        max_seq_length: Option<usize>,
    }
    let sentence: Sentence =
        serde_json::from_slice(json).map_err(|error| ModelError::new("sentence_bert_config.json", error))?;
    Ok(sentence.max_seq_length.unwrap_or(usize::MAX))
}

/// Tensor errors carry a back trace after the first line.
fn first_line(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
