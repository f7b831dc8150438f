//! Static models: a row a token, pooled. The file format of Model2Vec, with rows as f32, f16 or int8.
//!
//! `vector = normalise(Σ_token weight(token) · row(token))`, where the file may leave the weights and the mapping of tokens
//! to rows out. Rows stay as they are in the file and are widened while they are summed: in plain Rust, which takes
//! a fraction of the time of the same sum in tensors (`benches/engine.rs`), and is held to it by a property test.
//! **Cost**: a few microseconds for a turn; no allocation once the scratch has grown.

use std::borrow::Cow;
use std::ops::Range;

use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use super::tokens::Tokens;
use super::{About, EmbedError, EmbedScratch, Embedder, ModelError, ModelId, Vector, normalize};
use crate::compute;
use crate::engine::numbers::{add_weighted, add_weighted_bytes};

/// Tokens of a text that are pooled at most, as in Model2Vec.
pub const TOKENS_MAX: usize = 512;

/// The names of the files, for errors.
const TENSORS: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";

/// The names that the rows have: Model2Vec's and sentence-transformers'.
const ROWS: [&str; 2] = ["embeddings", "embedding.weight"];

/// Texts of one task of the compute pool.
const TEXTS_TASK: usize = 64;

/// A static model.
#[derive(Debug)]
pub struct StaticModel {
    about: About,
    tokens: Tokens,
    file: Cow<'static, [u8]>,
    rows: Range<usize>,
    format: RowFormat,
    /// The factor of each token; none means 1 for each.
    weights: Option<Vec<f32>>,
    /// The row of each token; none means its id.
    mapping: Option<Vec<u32>>,
}

/// How a number of a row is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowFormat {
    F32,
    F16,
    I8,
}

impl StaticModel {
    /// Whether a safetensors file holds a static model.
    ///
    /// # Errors
    /// When it is no safetensors file.
    pub fn recognises(tensors: &[u8]) -> Result<bool, ModelError> {
        let file = SafeTensors::deserialize(tensors).map_err(|error| ModelError::new(TENSORS, error))?;
        Ok(rows_of(&file).is_some())
    }

    /// Reads a model from its files.
    ///
    /// # Errors
    /// When they are damaged, or do not belong together.
    pub fn load(tensors: Cow<'static, [u8]>, tokenizer: &[u8]) -> Result<Self, ModelError> {
        let tokens = Tokens::parse(tokenizer)?;
        let wrong = |what: String| ModelError::new(TENSORS, what);
        let file = SafeTensors::deserialize(&tensors).map_err(|error| wrong(error.to_string()))?;
        let (name, view) = rows_of(&file).ok_or_else(|| wrong(format!("has no table \"{}\"", ROWS[0])))?;
        let &[row_count, dimensions] = view.shape() else {
            return Err(wrong(format!(
                "\"{name}\" has the shape {:?}, not [rows, dimensions]",
                view.shape()
            )));
        };
        let format = RowFormat::of(view.dtype())
            .ok_or_else(|| wrong(format!("\"{name}\" is {:?}; F32, F16 and I8 can be read", view.dtype())))?;
        if row_count == 0 || dimensions == 0 {
            return Err(wrong(format!("\"{name}\" is empty: {row_count} rows of {dimensions} numbers")));
        }
        let weights = file.tensor("weights").ok().map(|view| floats(&view)).transpose().map_err(&wrong)?;
        let mapping = file.tensor("mapping").ok().map(|view| integers(&view)).transpose().map_err(&wrong)?;
        let id_count = tokens.id_count();
        let described = mapping.as_ref().map_or(row_count, Vec::len);
        if described < id_count || weights.as_ref().is_some_and(|weights| weights.len() < id_count) {
            let what = format!("names {id_count} tokens, and {TENSORS} describes {described}");
            return Err(ModelError::new(TOKENIZER, what));
        }
        if let Some(row) = mapping.iter().flatten().find(|row| **row as usize >= row_count) {
            return Err(wrong(format!("\"mapping\" names row {row} of {row_count}")));
        }
        let start = view.data().as_ptr() as usize - tensors.as_ptr() as usize;
        let rows = start..start + view.data().len();
        let id = ModelId::of_files([&*tensors, tokenizer]);
        let about = About { id, dimensions, scripts: tokens.scripts() };
        Ok(Self { about, tokens, rows, format, weights, mapping, file: tensors })
    }

    /// The ids that a text is pooled from.
    pub fn ids(&self, text: &str, scratch: &mut EmbedScratch) {
        scratch.ids.clear();
        self.tokens.collect(text, TOKENS_MAX, scratch);
    }

    /// The row of a token, as numbers, with its weight. For tests and tools: the model sums rows without this.
    #[must_use]
    pub fn row(&self, id: u32) -> Vec<f32> {
        let mut row = vec![0.0; self.about.dimensions];
        self.add_row(id, &mut row);
        row
    }

    fn pool(&self, text: &str, scratch: &mut EmbedScratch) -> Result<bool, EmbedError> {
        self.ids(text, scratch);
        scratch.sum.clear();
        scratch.sum.resize(self.about.dimensions, 0.0);
        for id in &scratch.ids {
            self.add_row(*id, &mut scratch.sum);
        }
        normalize(&mut scratch.sum)
    }

    fn add_row(&self, id: u32, sum: &mut [f32]) {
        let weight = self.weights.as_ref().map_or(1.0, |weights| weights[id as usize]);
        let row = self.mapping.as_ref().map_or(id, |mapping| mapping[id as usize]) as usize;
        let bytes = self.about.dimensions * self.format.bytes();
        let row = &self.file[self.rows.clone()][row * bytes..(row + 1) * bytes];
        match self.format {
            RowFormat::I8 => {
                add_weighted_bytes(sum, weight, row);
            }
            RowFormat::F16 => {
                for (sum, bytes) in sum.iter_mut().zip(row.as_chunks().0) {
                    *sum += weight * half::f16::from_le_bytes(*bytes).to_f32();
                }
            }
            RowFormat::F32 => {
                for (sum, bytes) in sum.iter_mut().zip(row.as_chunks().0) {
                    *sum += weight * f32::from_le_bytes(*bytes);
                }
            }
        }
    }
}

impl Embedder for StaticModel {
    fn about(&self) -> &About {
        &self.about
    }

    fn is_immediate(&self) -> bool {
        true
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, EmbedError> {
        let tasks: Vec<_> = texts.chunks(TEXTS_TASK).collect();
        let done = compute::map(&tasks, |texts| {
            let mut scratch = EmbedScratch::default();
            let vector = |text: &&str| {
                Ok(self.pool(text, &mut scratch)?.then(|| Vector::from(scratch.sum.as_slice())))
            };
            texts.iter().map(vector).collect::<Result<Vec<_>, EmbedError>>()
        });
        Ok(done.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn add(
        &self,
        text: &str,
        weight: f32,
        scratch: &mut EmbedScratch,
        sum: &mut [f32],
    ) -> Result<bool, EmbedError> {
        let found = self.pool(text, scratch)?;
        if found {
            add_weighted(sum, weight, &scratch.sum);
        }
        Ok(found)
    }
}

impl RowFormat {
    fn of(dtype: Dtype) -> Option<Self> {
        match dtype {
            Dtype::F32 => Some(Self::F32),
            Dtype::F16 => Some(Self::F16),
            Dtype::I8 => Some(Self::I8),
            _ => None,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
            Self::I8 => 1,
        }
    }
}

fn rows_of<'a>(file: &SafeTensors<'a>) -> Option<(&'static str, TensorView<'a>)> {
    ROWS.into_iter().find_map(|name| Some((name, file.tensor(name).ok()?)))
}

fn floats(view: &TensorView<'_>) -> Result<Vec<f32>, String> {
    let data = view.data();
    match view.dtype() {
        Dtype::F16 => Ok(data.as_chunks().0.iter().map(|x| half::f16::from_le_bytes(*x).to_f32()).collect()),
        Dtype::F32 => Ok(data.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect()),
        #[expect(clippy::cast_possible_truncation, reason = "a weight needs no more digits than f32 has")]
        Dtype::F64 => Ok(data.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x) as f32).collect()),
        other => Err(format!("\"weights\" is {other:?}; F16, F32 and F64 can be read")),
    }
}

fn integers(view: &TensorView<'_>) -> Result<Vec<u32>, String> {
    let data = view.data();
    let negative = "\"mapping\" has a row that is no index";
    match view.dtype() {
        Dtype::U32 => Ok(data.as_chunks().0.iter().map(|x| u32::from_le_bytes(*x)).collect()),
        Dtype::I32 => {
            let rows = data.as_chunks().0.iter().map(|x| u32::try_from(i32::from_le_bytes(*x)));
            rows.collect::<Result<_, _>>().map_err(|_| negative.to_owned())
        }
        Dtype::I64 => {
            let rows = data.as_chunks().0.iter().map(|x| u32::try_from(i64::from_le_bytes(*x)));
            rows.collect::<Result<_, _>>().map_err(|_| negative.to_owned())
        }
        other => Err(format!("\"mapping\" is {other:?}; U32, I32 and I64 can be read")),
    }
}
