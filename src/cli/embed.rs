//! `maitred embed`: the vectors that a model gives, for those who compare them with another implementation's.

use std::io::Read as _;
use std::path::PathBuf;

use super::{Outcome, print};
use crate::engine::embed::builtin;
use crate::store::model;

/// Bytes of the texts at most.
const TEXTS_BYTES_MAX: u64 = 16 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory of the model; without it the built-in one.
    #[arg(long, value_name = "DIR", env = "MAITRED_MODEL")]
    model: Option<PathBuf>,

    /// Accepted for uniformity: the output is always JSON.
    #[arg(long)]
    json: bool,
}

/// Reads texts from standard input, one a line, and prints a JSON array a line: the unit vector, or null.
pub(super) fn run(args: &Args) -> Outcome {
    let embedder = args.model.as_deref().map_or_else(|| Ok(builtin::model()), model::open)?;
    let mut text = String::new();
    let read = std::io::stdin().take(TEXTS_BYTES_MAX + 1).read_to_string(&mut text);
    if read.map_err(|error| format!("standard input: {error}"))? as u64 > TEXTS_BYTES_MAX {
        return Err(format!("standard input has more than {TEXTS_BYTES_MAX} bytes; embed it in parts"));
    }
    let texts: Vec<&str> = text.lines().collect();
    let vectors = embedder.embed(&texts).map_err(|error| error.to_string())?;
    let mut lines = String::new();
    for vector in vectors {
        lines.push_str(&serde_json::to_string(&vector.as_deref()).expect("numbers are JSON"));
        lines.push('\n');
    }
    print(&lines)
}
