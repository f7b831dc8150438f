//! A sentence transformer to a static model.
//!
//! 1. The teacher embeds each text of a corpus, and each entry of its vocabulary by itself.
//! 2. A projection to fewer dimensions is fitted to the text vectors: the leading eigenvectors of their second moments, which
//!    keep cosines best.
//! 3. The student starts from the projected vocabulary, each row scaled by `a / (a + frequency)` (SIF: Arora, Liang and Ma,
//!    "A simple but tough-to-beat baseline for sentence embeddings", 2017), and learns ([`student`]) until it gets no better
//!    on documents kept aside.
//! 4. It is tuned on pairs of texts of one document ([`contrast`]), half the way: parts of one playbook, and turns with their
//!    playbook.
//! 5. Rows become int8, each with a factor of its own.
//!
//! **Cost**: the teacher's time on the corpus, then some 100 ms a step. **Invariants**: equal input gives an equal model.

pub mod contrast;
pub mod kept;
mod rows;
pub mod student;

use std::collections::BTreeMap;

use nalgebra::{DMatrix, SymmetricEigen};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

use self::student::{Example, Student};
use super::bert::Bert;
use super::static_::TOKENS_MAX;
use super::{EmbedError, Vector};

/// Tokens of a text that the teacher reads at most, special ones included.
pub const TEXT_TOKENS_MAX: usize = 160;

/// The `a` of the SIF weights.
const SIF: f32 = 1e-3;

/// One document in so many is kept aside.
const ASIDE: u32 = 50;

/// How a student is made.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Numbers of its vectors.
    pub dimensions: usize,
    /// Texts of a step.
    pub batch: usize,
    /// Steps at most.
    pub steps_max: usize,
    /// The greatest step width of Adam; it rises over the first steps and falls to nothing over all of them.
    pub learning_rate: f32,
    /// Steps of the tuning on pairs.
    pub pair_steps: usize,
}

/// Texts to learn from, with the document that each is part of.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    /// The texts, those of a document together.
    pub texts: Vec<String>,
    /// The document of each.
    pub documents: Vec<u32>,
}

/// What happens, told while it happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The teacher has embedded so many more texts.
    Embedded(usize),
    /// So many steps are done; the loss on what is kept aside.
    Learned {
        /// Steps done.
        step: usize,
        /// The loss; lower is better.
        loss: f32,
    },
    /// So many steps on pairs are done.
    Paired {
        /// Steps done.
        step: usize,
        /// The loss of the last ones.
        loss: f32,
    },
}

/// A finished student, as files.
#[derive(Clone, Debug)]
pub struct Model {
    /// model.safetensors
    pub tensors: Vec<u8>,
    /// tokenizer.json
    pub tokenizer: Vec<u8>,
    /// config.json
    pub config: Vec<u8>,
    /// The step that was best, and its loss on what was kept aside.
    pub best: (usize, f32),
    /// The loss on pairs at the end.
    pub pair_loss: f32,
    /// The share of the teacher's second moments that the projection keeps.
    pub kept: f32,
}

impl Corpus {
    /// Reads texts, one a line, with an empty line between documents; further calls add to it.
    pub fn add(&mut self, text: &str) {
        let mut document = self.documents.last().map_or(0, |last| last + 1);
        for line in text.lines() {
            if line.trim().is_empty() {
                document = self.documents.last().map_or(0, |last| last + 1);
            } else {
                self.texts.push(line.to_owned());
                self.documents.push(document);
            }
        }
    }

    /// The tokens of the texts by document; `ids` are those of each text. A text without any is none.
    fn grouped<'a>(&self, ids: &'a [Vec<u32>]) -> Vec<contrast::Document<'a>> {
        let mut grouped = vec![Vec::new(); self.documents.last().map_or(0, |last| *last as usize + 1)];
        for (document, ids) in self.documents.iter().zip(ids).filter(|(_, ids)| !ids.is_empty()) {
            grouped[*document as usize].push(&**ids);
        }
        grouped
    }
}

/// The token ids of the texts as the teacher reads them.
///
/// # Errors
/// When its tokenizer cannot read one.
pub fn tokenize(teacher: &Bert, texts: &[String]) -> Result<Vec<Vec<u32>>, EmbedError> {
    let sequences = crate::compute::map(texts, |text| {
        let mut ids = teacher.ids(text)?;
        ids.truncate(TEXT_TOKENS_MAX);
        Ok(ids)
    });
    sequences.into_iter().collect()
}

/// Makes a student of the teacher. `vectors` are the teacher's of the corpus; each document of `turns` is a playbook and
/// turns about it.
///
/// # Errors
/// When the teacher or the student computes something that is not a vector, or the tokenizer is none.
pub fn distill(
    teacher: &Bert,
    tokenizer: &[u8],
    corpus: &Corpus,
    vectors: &[Vector],
    turns: &Corpus,
    recipe: Recipe,
    tell: &(dyn Fn(Event) + Sync),
) -> Result<Model, EmbedError> {
    let (projection, kept) = projection(vectors, recipe.dimensions);
    let sequences = tokenize(teacher, &corpus.texts)?;
    let vocabulary = vocabulary(teacher, tell)?;
    let special = teacher.ids("")?;
    let plain = |sequences: &[Vec<u32>]| -> Vec<Vec<u32>> {
        let own = |ids: &Vec<u32>| ids.iter().copied().filter(|id| !special.contains(id)).collect();
        sequences.iter().map(own).collect()
    };
    let (ids, turn_ids) = (plain(&sequences), plain(&tokenize(teacher, &turns.texts)?));
    let mut rows = projected(&vocabulary, &projection);
    scale(&mut rows, &ids, recipe.dimensions);
    let targets = projected(vectors, &projection);
    let mut examples = ids.iter().cloned().zip(vectors).zip(targets.chunks(recipe.dimensions));
    let mut learned = Vec::new();
    let mut aside = Vec::new();
    for document in &corpus.documents {
        let Some(((ids, teacher), target)) = examples.next() else { break };
        let example = Example { ids, teacher: teacher.clone(), target: target.to_vec(), document: *document };
        if document % ASIDE == ASIDE / 2 { aside.push(example) } else { learned.push(example) }
    }
    let (student, best) = Student::learn(rows, &learned, &aside, recipe, tell)?;
    let pairs = (corpus.grouped(&ids), turns.grouped(&turn_ids));
    let (student, pair_loss) = contrast::learn(student, &pairs.0, &pairs.1, recipe, tell)?;
    let (tensors, tokenizer) = (quantized(&student, recipe.dimensions)?, student_tokenizer(tokenizer)?);
    let config = config(recipe).to_string().into_bytes();
    Ok(Model { tensors, tokenizer, config, best, pair_loss, kept })
}

/// The leading eigenvectors of the second moments, a column a dimension of the teacher's, and the share that they keep.
fn projection(vectors: &[Vector], dimensions: usize) -> (DMatrix<f32>, f32) {
    let width = vectors.first().map_or(0, |vector| vector.len());
    let mut moments = DMatrix::<f32>::zeros(width, width);
    for block in vectors.chunks(4_096) {
        let block = DMatrix::from_fn(block.len(), width, |row, column| block[row][column]);
        moments += block.tr_mul(&block);
    }
    let total = moments.trace();
    let eigen = SymmetricEigen::new(moments);
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|a, b| eigen.eigenvalues[*b].total_cmp(&eigen.eigenvalues[*a]));
    order.truncate(dimensions);
    let kept: f32 = order.iter().map(|at| eigen.eigenvalues[*at]).sum();
    let projection = DMatrix::from_fn(dimensions, width, |row, column| {
        order.get(row).map_or(0.0, |at| eigen.eigenvectors[(column, *at)])
    });
    (projection, kept / total)
}

/// The vectors in the student's dimensions, one after the other.
fn projected(vectors: &[Vector], projection: &DMatrix<f32>) -> Vec<f32> {
    let one = |vector: &Vector| projection * nalgebra::DVector::from_column_slice(vector);
    crate::compute::map(vectors, |vector| one(vector).as_slice().to_vec()).concat()
}

/// The teacher's vector of each entry of its vocabulary by itself.
fn vocabulary(teacher: &Bert, tell: &(dyn Fn(Event) + Sync)) -> Result<Vec<Vector>, EmbedError> {
    let around = teacher.ids("")?;
    let (before, after) = around.split_at(around.len() / 2);
    let id_count = u32::try_from(teacher.tokenizer().get_vocab_size(true)).unwrap_or(u32::MAX);
    let entries: Vec<Vec<u32>> = (0..id_count).map(|id| [before, &[id], after].concat()).collect();
    teacher.embed_ids(&entries, |done| tell(Event::Embedded(done)))
}

/// Scales each row by how rare its token is, and all so that their mean square is 1.
fn scale(rows: &mut [f32], texts: &[Vec<u32>], dimensions: usize) {
    let mut counts = vec![1_u32; rows.len() / dimensions];
    texts.iter().flatten().for_each(|id| counts[*id as usize] += 1);
    let total: f32 = counts.iter().map(|count| float(*count)).sum();
    for (row, count) in rows.chunks_mut(dimensions).zip(&counts) {
        let weight = SIF / (SIF + float(*count) / total);
        for x in row.iter_mut() {
            *x *= weight;
        }
    }
    let squares: f64 = rows.iter().map(|x| f64::from(x * x)).sum();
    #[expect(clippy::cast_possible_truncation, reason = "a factor needs no more digits")]
    let root = (squares / f64::from(float(u32::try_from(counts.len()).unwrap_or(u32::MAX)))).sqrt() as f32;
    for x in rows.iter_mut() {
        *x /= root;
    }
}

/// model.safetensors: rows as int8, the largest number of each being 127, and the factor of each.
fn quantized(rows: &[f32], dimensions: usize) -> Result<Vec<u8>, EmbedError> {
    let mut embeddings = Vec::with_capacity(rows.len());
    let mut weights = Vec::new();
    for row in rows.chunks(dimensions) {
        let greatest = row.iter().fold(f32::MIN_POSITIVE, |greatest, x| greatest.max(x.abs()));
        let factor = greatest / f32::from(i8::MAX);
        weights.extend(factor.to_le_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "the quotient is within -127 and 127")]
        embeddings.extend(row.iter().map(|x| ((x / factor).round() as i8).cast_unsigned()));
    }
    let count = rows.len() / dimensions;
    let failed = |error: safetensors::SafeTensorError| EmbedError::new(error);
    let tensors = BTreeMap::from([
        ("embeddings", TensorView::new(Dtype::I8, vec![count, dimensions], &embeddings).map_err(failed)?),
        ("weights", TensorView::new(Dtype::F32, vec![count], &weights).map_err(failed)?),
    ]);
    safetensors::serialize(tensors, None).map_err(failed)
}

/// tokenizer.json: the teacher's, which neither cuts nor pads nor adds special tokens.
fn student_tokenizer(json: &[u8]) -> Result<Vec<u8>, EmbedError> {
    let mut tokenizer: Value = serde_json::from_slice(json).map_err(EmbedError::new)?;
    for part in ["truncation", "padding", "post_processor"] {
        tokenizer[part] = Value::Null;
    }
    Ok(tokenizer.to_string().into_bytes())
}

/// `config.json`, as Model2Vec reads it.
fn config(recipe: Recipe) -> Value {
    json!({
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": recipe.dimensions,
        "apply_pca": recipe.dimensions,
        "sif_coefficient": SIF,
        "max_length": TOKENS_MAX,
        "normalize": true,
        "embedding_dtype": "int8",
    })
}

/// Counts of tokens in a corpus: what is beyond 2^24 need not be exact.
#[expect(clippy::cast_precision_loss, reason = "counts serve as weights")]
fn float(count: u32) -> f32 {
    count as f32
}
