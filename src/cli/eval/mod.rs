//! `maitred eval`: how well menus answer labelled turns, by the selection that the server makes.

mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use report::Report;

use super::labelled::data::{self, Half};
use super::labelled::measure::{Bench, Figures, Measured};
use super::{Outcome, print, show};
use crate::domain::agent::StrayShare;
use crate::engine::builder::Builder;
use crate::engine::embed::builtin;
use crate::store::model;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Playbooks: JSON lines of id, name, description and perhaps body.
    #[arg(long, value_name = "FILE")]
    corpus: PathBuf,

    /// Turns: JSON lines of id, text, relevant (ids of the corpus; none means out of scope), and perhaps context (earlier
    /// turns), `negative_for` (ids that should not come first), `names_skill`, `kind` (figures are given for each), and
    /// `maybe_deferred` (left out).
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// Turns of other domains, for which no playbook is right: JSON lines of id and text.
    #[arg(long, value_name = "FILE")]
    background: Option<PathBuf>,

    /// A .tar.gz of SKILL.md files that are added to the playbooks, but those that equal one of the corpus.
    #[arg(long, value_name = "FILE")]
    distractors: Option<PathBuf>,

    /// Asks each turn of a random catalogue of N playbooks that holds its own, instead of one of all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pool: Option<u32>,

    /// Which random catalogues.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Which turns, by the first bit of the SHA-256 of their ids: those to tune on, or those to report.
    #[arg(long, value_enum, default_value = "all")]
    half: Half,

    /// The share of turns about no playbook that may see a menu: sets the floor, as when serving.
    #[arg(long, value_name = "SHARE", default_value = "0.01", env = "MAITRED_STRAY_SHARE")]
    stray_share: StrayShare,

    /// Probabilities and floors to measure instead of the built-in ones, as `calibrate` writes them.
    #[arg(long, value_name = "FILE", env = "MAITRED_CALIBRATION")]
    calibration: Option<PathBuf>,

    /// A model to measure instead of the built-in one.
    #[arg(long, value_name = "DIR", env = "MAITRED_MODEL")]
    model: Option<PathBuf>,

    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let mut corpus = data::corpus(&args.corpus)?;
    let distractors = match &args.distractors {
        Some(path) => Some(data::add_distractors(path, &mut corpus)?),
        None => None,
    };
    let turns = data::labelled(&args.queries, args.background.as_deref(), &corpus, args.half)?;
    let embedder = args.model.as_deref().map_or_else(|| Ok(builtin::model()), model::open)?;
    let model_id = embedder.about().id.to_string();
    let bench = Bench {
        builder: Builder::new(embedder).with_calibration(model::calibration(args.calibration.as_deref())?),
        playbooks: corpus.playbooks.iter().map(Arc::clone).collect(),
        pool: args.pool.map(|pool| pool as usize),
        seed: args.seed,
        stray_share: args.stray_share,
    };
    let measured = bench.measure(&turns.asked)?;
    let report = Report {
        model_id,
        corpus: crate::domain::text::escaped_path(&args.corpus),
        playbooks: corpus.playbooks.len(),
        cut: corpus.cut,
        distractors,
        pool: args.pool,
        left_out: turns.left_out,
        first_left_out: turns.first_left_out,
        half: args.half,
        stray_share: args.stray_share.get(),
        unnamed: Figures::of(&measured, |turn| !turn.names_skill),
        all: Figures::of(&measured, |_| true),
        kinds: kinds(&measured),
    };
    print(&if args.json { show::json(&report) } else { report::table(&report) })
}

/// The figures of each kind of turn that the set tells apart; all turns are of one kind in most sets, and none is named.
fn kinds(measured: &[Measured]) -> BTreeMap<String, Figures> {
    let names: BTreeSet<&Arc<str>> = measured.iter().filter_map(|turn| turn.kind.as_ref()).collect();
    let figures = |kind: &Arc<str>| Figures::of(measured, |turn| turn.kind.as_ref() == Some(kind));
    names.into_iter().map(|kind| (kind.to_string(), figures(kind))).collect()
}
