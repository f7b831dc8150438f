//! The teacher's vectors of a corpus as a file, so that a second run need not compute them.

use std::collections::HashMap;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::super::{EmbedError, ModelId, Vector};
use super::{Corpus, TEXT_TOKENS_MAX};
use crate::domain::digest::Digest;

/// The name of what they were made from, in the file's metadata.
const MADE_FROM: &str = "made_from";

/// The file with these vectors, made by `teacher` from the corpus.
///
/// # Errors
/// When the vectors are not of one length.
pub fn write(vectors: &[Vector], teacher: ModelId, corpus: &Corpus) -> Result<Vec<u8>, EmbedError> {
    let width = vectors.first().map_or(0, |vector| vector.len());
    let bytes: Vec<u8> =
        vectors.iter().flat_map(|vector| vector.iter()).flat_map(|x| x.to_le_bytes()).collect();
    let view = TensorView::new(Dtype::F32, vec![vectors.len(), width], &bytes);
    let metadata = HashMap::from([(MADE_FROM.to_owned(), origin(teacher, corpus))]);
    let view = view.map_err(EmbedError::new)?;
    safetensors::serialize([("vectors", view)], Some(metadata)).map_err(EmbedError::new)
}

/// The vectors in a file; none when it is no such file, or is of another teacher or corpus.
#[must_use]
pub fn read(file: &[u8], teacher: ModelId, corpus: &Corpus) -> Option<Vec<Vector>> {
    let (_, metadata) = SafeTensors::read_metadata(file).ok()?;
    if metadata.metadata().as_ref()?.get(MADE_FROM)? != &origin(teacher, corpus) {
        return None;
    }
    let tensors = SafeTensors::deserialize(file).ok()?;
    let view = tensors.tensor("vectors").ok()?;
    let &[count, width] = view.shape() else { return None };
    if view.dtype() != Dtype::F32 || count != corpus.texts.len() || width == 0 {
        return None;
    }
    let numbers: Vec<f32> = view.data().as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect();
    Some(numbers.chunks(width).map(Vector::from).collect())
}

fn origin(teacher: ModelId, corpus: &Corpus) -> String {
    let texts = corpus.texts.iter().map(String::as_bytes);
    let limit = TEXT_TOKENS_MAX.to_string();
    let all = [&teacher.digest().bytes()[..], limit.as_bytes()].into_iter().chain(texts);
    Digest::of_parts(all).to_string()
}
