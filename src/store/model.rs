//! A model directory to an embedder: a static model or a sentence transformer, told apart by what the files hold.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use crate::domain::text::escaped_path;
use crate::engine::calibration::{Calibration, shipped};
use crate::engine::embed::bert::{Bert, BertFiles};
use crate::engine::embed::static_::StaticModel;
use crate::engine::embed::{Embedder, ModelError};

/// Bytes of a file of a model at most: a larger one is no model of these kinds.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// Reads the model in a directory.
///
/// # Errors
/// A sentence that names the file and what is wrong with it.
pub fn open(dir: &Path) -> Result<Arc<dyn Embedder>, String> {
    let tensors = required(dir, "model.safetensors")?;
    let tokenizer = required(dir, "tokenizer.json")?;
    if StaticModel::recognises(&tensors).map_err(|error| named(dir, &error))? {
        let model = StaticModel::load(Cow::Owned(tensors), &tokenizer).map_err(|error| named(dir, &error))?;
        return Ok(Arc::new(model));
    }
    Ok(Arc::new(load(dir, &tensors, &tokenizer)?))
}

/// Reads a calibration; the built-in one without a file.
///
/// # Errors
/// A sentence that names the file and what is wrong with it.
pub fn calibration(file: Option<&Path>) -> Result<Arc<Calibration>, String> {
    let Some(file) = file else { return Ok(Arc::clone(shipped())) };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", escaped_path(file)))?;
    let calibration = Calibration::parse(&text).map_err(|what| format!("{} {what}", escaped_path(file)))?;
    Ok(Arc::new(calibration))
}

/// Reads the sentence transformer in a directory.
///
/// # Errors
/// A sentence that names the file and what is wrong with it.
pub fn open_transformer(dir: &Path) -> Result<Bert, String> {
    let tensors = required(dir, "model.safetensors")?;
    let tokenizer = required(dir, "tokenizer.json")?;
    load(dir, &tensors, &tokenizer)
}

fn load(dir: &Path, tensors: &[u8], tokenizer: &[u8]) -> Result<Bert, String> {
    let config = required(dir, "config.json")?;
    let pooling = optional(dir, "1_Pooling/config.json")?;
    let sentence = optional(dir, "sentence_bert_config.json")?;
    let files = BertFiles {
        config: &config,
        tensors,
        tokenizer,
        pooling: pooling.as_deref(),
        sentence: sentence.as_deref(),
    };
    Bert::load(files).map_err(|error| named(dir, &error))
}

fn named(dir: &Path, error: &ModelError) -> String {
    format!("the model file {}: {}", escaped_path(&dir.join(error.file())), error.what())
}

fn required(dir: &Path, name: &str) -> Result<Vec<u8>, String> {
    optional(dir, name)?.ok_or_else(|| {
        format!(
            "there is no {name} in the model directory {}: a model is a Model2Vec or a sentence-transformers directory",
            escaped_path(dir)
        )
    })
}

fn optional(dir: &Path, name: &str) -> Result<Option<Vec<u8>>, String> {
    let path = dir.join(name);
    match read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("the model file {}: {error}", escaped_path(&path))),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("has {length} bytes, the limit is {FILE_BYTES_MAX}")));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
