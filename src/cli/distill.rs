//! `maitred distill`: a sentence transformer to a static model.

use std::fs;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::{Outcome, print, show};
use crate::domain::text::escaped_path;
use crate::engine::embed::Vector;
use crate::engine::embed::bert::Bert;
use crate::engine::embed::distill::{Corpus, Event, Model, Recipe, distill, kept, tokenize};
use crate::store::model;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory of the teacher: a sentence transformer of the BERT kind.
    #[arg(long, value_name = "DIR")]
    teacher: PathBuf,

    /// Texts to learn from: one a line, an empty line between documents. Repeatable.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    corpus: Vec<PathBuf>,

    /// Turns to tune on, in the same form: a playbook and turns about it a document. Repeatable.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    turns: Vec<PathBuf>,

    /// The directory that the model is written to.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Keeps the teacher's vectors in this file, and takes them from it when they are of this teacher and corpus.
    #[arg(long, value_name = "FILE")]
    vectors: Option<PathBuf>,

    /// Numbers of the model's vectors, at most as many as the teacher's have.
    #[arg(long, value_name = "N", default_value_t = 256)]
    dimensions: usize,

    /// Texts of a step.
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    batch: usize,

    /// Steps at most; it ends before when it gets no better on documents kept aside.
    #[arg(long, value_name = "N", default_value_t = 2_500)]
    steps: usize,

    /// The greatest step width.
    #[arg(long, value_name = "X", default_value_t = 0.01)]
    learning_rate: f32,

    /// Steps of the tuning on pairs of texts of one document, at the end; 0 leaves it out.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pair_steps: usize,

    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    texts: usize,
    documents: u32,
    kept_by_projection: f32,
    best_step: usize,
    loss_aside: f32,
    pair_loss: f32,
    model_bytes: usize,
    out: String,
}

pub(super) fn run(args: &Args) -> Outcome {
    let teacher = model::open_transformer(&args.teacher)?;
    let width = teacher_width(&teacher);
    if !(1..=width).contains(&args.dimensions) {
        return Err(format!("--dimensions {}: 1 to {width} are possible with this teacher", args.dimensions));
    }
    let tokenizer = read(&args.teacher.join("tokenizer.json"))?;
    let (corpus, turns) = (read_corpus(&args.corpus)?, read_corpus(&args.turns)?);
    let recipe = Recipe {
        dimensions: args.dimensions,
        batch: args.batch.max(2),
        steps_max: args.steps,
        learning_rate: args.learning_rate,
        pair_steps: args.pair_steps,
    };
    let vectors = vectors(&teacher, &corpus, args.vectors.as_deref())?;
    let learning = bar(args.steps + args.pair_steps, "learning {pos}/{len} {msg}");
    let made = distill(&teacher, &tokenizer, &corpus, &vectors, &turns, recipe, &|event| {
        let (step, message) = match event {
            Event::Embedded(_) => return,
            Event::Learned { step, loss } => (step, format!("loss aside {loss:.4}")),
            Event::Paired { step, loss } => (args.steps + step, format!("loss on pairs {loss:.4}")),
        };
        learning.set_position(step as u64);
        learning.set_message(message);
    });
    learning.finish_and_clear();
    let made = made.map_err(|error| error.to_string())?;
    write(&args.out, &made)?;
    let report = Report {
        texts: corpus.texts.len(),
        documents: corpus.documents.last().map_or(0, |last| last + 1),
        kept_by_projection: made.kept,
        best_step: made.best.0,
        loss_aside: made.best.1,
        pair_loss: made.pair_loss,
        model_bytes: made.tensors.len() + made.tokenizer.len() + made.config.len(),
        out: escaped_path(&args.out),
    };
    print(&if args.json { show::json(&report) } else { sentence(&report) })
}

fn teacher_width(teacher: &Bert) -> usize {
    use crate::engine::embed::Embedder as _;
    teacher.about().dimensions
}

fn read_corpus(files: &[PathBuf]) -> Result<Corpus, String> {
    let mut corpus = Corpus::default();
    for file in files {
        let text = String::from_utf8(read(file)?)
            .map_err(|error| format!("{} is not UTF-8: {error}", escaped_path(file)))?;
        corpus.add(&text);
    }
    Ok(corpus)
}

/// The teacher's vectors of the corpus: those that were kept, or new ones, which are kept.
fn vectors(teacher: &Bert, corpus: &Corpus, keep: Option<&Path>) -> Result<Vec<Vector>, String> {
    use crate::engine::embed::Embedder as _;
    if let Some(file) = keep.filter(|file| file.exists())
        && let Some(vectors) = kept::read(&read(file)?, teacher.about().id, corpus)
    {
        return Ok(vectors);
    }
    let bar = bar(corpus.texts.len(), "teacher embeds {pos}/{len} {bar:30} {eta}");
    let made = tokenize(teacher, &corpus.texts)
        .and_then(|sequences| teacher.embed_ids(&sequences, |done| bar.inc(done as u64)));
    bar.finish_and_clear();
    let vectors = made.map_err(|error| error.to_string())?;
    if let Some(file) = keep {
        let bytes = kept::write(&vectors, teacher.about().id, corpus).map_err(|error| error.to_string())?;
        fs::write(file, bytes).map_err(|error| format!("{}: {error}", escaped_path(file)))?;
    }
    Ok(vectors)
}

fn write(out: &Path, made: &Model) -> Result<(), String> {
    let failed = |path: &Path, error| format!("{}: {error}", escaped_path(path));
    fs::create_dir_all(out).map_err(|error| failed(out, error))?;
    let files = [
        ("model.safetensors", &made.tensors),
        ("tokenizer.json", &made.tokenizer),
        ("config.json", &made.config),
    ];
    for (name, bytes) in files {
        let path = out.join(name);
        fs::write(&path, bytes).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

fn sentence(report: &Report) -> String {
    let Report { texts, documents, kept_by_projection, best_step, loss_aside, pair_loss, model_bytes, out } =
        report;
    format!(
        "{out}: {model_bytes} bytes, from {texts} texts of {documents} documents; the projection keeps {kept_by_projection:.3}, \
         the best step was {best_step}, with a loss of {loss_aside:.4} on what was kept aside; that on pairs is {pair_loss:.4}\n"
    )
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", escaped_path(path)))
}

fn bar(length: usize, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    ProgressBar::new(length as u64).with_style(style)
}
