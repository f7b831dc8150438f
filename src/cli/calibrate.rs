//! `maitred calibrate`: fits the probabilities and the floor to labelled turns, and says what that is worth on turns that
//! were kept aside.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use comfy_table::Table;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use indicatif::ProgressBar;
use serde::Serialize;

use super::labelled::data::{self, Corpus, Half, Labelled};
use super::labelled::measure::{Bench, Figures, count};
use super::{Outcome, print, show};
use crate::domain::agent::StrayShare;
use crate::domain::playbook::{Playbook, PlaybookParts};
use crate::domain::text::escaped_path;
use crate::engine::builder::Builder;
use crate::engine::calibrate::{Example, fit};
use crate::engine::calibration::{Calibration, Fits, Reliability, Turns, shipped};
use crate::engine::embed::builtin;
use crate::engine::select::examine;
use crate::store::model;

/// Playbooks that count for the verdict at most, where they have bodies and where they have none. What was fitted on has up to some
/// hundreds with bodies, and holds at 4,600. Without bodies the largest set fitted on has 4,076: a line through its logarithm would
/// let half of its own turns, and those of every large set, lose their playbook.
const COUNTED_WITH_BODIES: f64 = 100_000.0;
const COUNTED_WITHOUT_BODIES: f64 = 100.0;

/// Candidates of a turn that are kept for the fit, besides the right ones.
const CANDIDATES: usize = 12;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Playbooks, as for `eval`. Repeatable, each with its --queries.
    #[arg(long, value_name = "FILE", required = true)]
    corpus: Vec<PathBuf>,

    /// Labelled turns, as for `eval`. Half of them, by a hash of their ids, is fitted on, the other half is kept aside.
    #[arg(long, value_name = "FILE", required = true)]
    queries: Vec<PathBuf>,

    /// Turns of other domains, as for `eval`; split in the same way. Once for all sets, or once for each. Among them should be
    /// turns as long as those of the sets: where short ones alone are about nothing, every long one seems to be about
    /// something.
    #[arg(long, value_name = "FILE")]
    background: Vec<PathBuf>,

    /// The sizes of catalogues to fit for: random ones of N playbooks; 0 means all of a corpus. Repeatable.
    #[arg(long, value_name = "N", default_values_t = [9, 30, 0])]
    pool: Vec<usize>,

    /// Fits for the same playbooks without their bodies, too.
    #[arg(long)]
    without_bodies: bool,

    /// The model whose cosines count, instead of the built-in one.
    #[arg(long, value_name = "DIR", env = "MAITRED_MODEL")]
    model: Option<PathBuf>,

    /// Where to write the calibration: give it to `serve`, `select` and `eval` as --calibration.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// A set of turns with the playbooks that they are asked of.
struct Set {
    corpus: Corpus,
    /// Whether its playbooks have bodies, be they left out here or not.
    has_bodies: bool,
    /// Whether they are descriptions alone here.
    is_bare: bool,
    tune: Vec<Labelled>,
    report: Vec<Labelled>,
}

/// Means over sets and sizes of catalogues, on the turns that were kept aside.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Means {
    hit_at_1: f64,
    hit_at_3: f64,
    hit_at_6: f64,
    offered_out_of_scope: f64,
    kept_in_scope: f64,
    ece: f64,
}

#[derive(Serialize)]
struct Report {
    out: String,
    turns: Turns,
    before: Means,
    after: Means,
}

pub(super) fn run(args: &Args) -> Outcome {
    if args.corpus.len() != args.queries.len() {
        let (corpora, queries) = (args.corpus.len(), args.queries.len());
        return Err(format!(
            "--corpus is given {corpora} times and --queries {queries}: give one of each for a set"
        ));
    }
    if args.background.len() > 1 && args.background.len() != args.corpus.len() {
        return Err(format!(
            "--background is given {} times: give it once for all sets, or once for each of {}",
            args.background.len(),
            args.corpus.len()
        ));
    }
    let embedder = args.model.as_deref().map_or_else(|| Ok(builtin::model()), model::open)?;
    let model_id = embedder.about().id.to_string();
    let sets = read(args)?;
    let builder = |calibration: &Arc<Calibration>| {
        Builder::new(Arc::clone(&embedder)).with_calibration(Arc::clone(calibration))
    };
    let bar = ProgressBar::new((sets.len() * args.pool.len() * 3) as u64);
    let (mut full, mut bare) = (Vec::new(), Vec::new());
    for set in &sets {
        for pool in &args.pool {
            let examples = gather(&bench(builder(shipped()), set, *pool), set)?;
            // A catalogue that has bodies holds some without them, too, and is judged by one fit.
            if set.has_bodies {
                full.extend_from_slice(&examples);
            }
            if set.is_bare {
                bare.extend(examples);
            }
            bar.inc(1);
        }
    }
    let turns = fitted_on(&sets);
    let mut calibration = Calibration {
        model_id,
        turns,
        reliability: Reliability::default(),
        with_bodies: fits(&full, &bare, COUNTED_WITH_BODIES)?,
        without_bodies: fits(&bare, &full, COUNTED_WITHOUT_BODIES)?,
    };
    let means = |calibration: &Calibration| {
        let calibration = Arc::new(calibration.clone());
        let mut all = Vec::new();
        for set in &sets {
            for pool in &args.pool {
                let measured = bench(builder(&calibration), set, *pool).measure(&set.report)?;
                all.push(Figures::of(&measured, |turn| !turn.names_skill));
                bar.inc(1);
            }
        }
        Ok::<_, String>(mean(&all))
    };
    let (before, after) = (means(shipped())?, means(&calibration)?);
    bar.finish_and_clear();
    let Means { offered_out_of_scope, kept_in_scope, ece, .. } = after;
    let rounded = |share: f64| (share * 1e4).round() / 1e4;
    calibration.reliability = Reliability {
        offered_out_of_scope: rounded(offered_out_of_scope),
        kept_in_scope: rounded(kept_in_scope),
        ece: rounded(ece),
    };
    let written = fs::write(&args.out, calibration.to_json());
    written.map_err(|error| format!("{}: {error}", escaped_path(&args.out)))?;
    let report = Report { out: escaped_path(&args.out), turns, before, after };
    print(&if args.json { show::json(&report) } else { table(&report) })
}

fn read(args: &Args) -> Result<Vec<Set>, String> {
    let mut sets = Vec::new();
    for (at, (path, queries)) in args.corpus.iter().zip(&args.queries).enumerate() {
        let background = args.background.get(at).or_else(|| args.background.first()).map(PathBuf::as_path);
        for without_bodies in [false, true] {
            let mut corpus = data::corpus(path)?;
            if without_bodies {
                if !args.without_bodies || is_bare(&corpus.playbooks) {
                    continue;
                }
                corpus.playbooks = bare(&corpus.playbooks)?;
            }
            let turns = |half| Ok::<_, String>(data::labelled(queries, background, &corpus, half)?.asked);
            let (tune, report) = (turns(Half::Tune)?, turns(Half::Report)?);
            let is_bare = is_bare(&corpus.playbooks);
            sets.push(Set { has_bodies: without_bodies || !is_bare, is_bare, corpus, tune, report });
        }
    }
    Ok(sets)
}

/// The numbers for catalogues of one kind; where no set is of it, those for the other kind.
fn fits(examples: &[Example], others: &[Example], counted: f64) -> Result<Fits, String> {
    let examples = if examples.is_empty() { others } else { examples };
    Ok(Fits { semantic: fit(examples, counted, true)?, lexical: fit(examples, counted, false)? })
}

fn is_bare(playbooks: &[Arc<Playbook>]) -> bool {
    playbooks.iter().all(|playbook| playbook.body().is_empty())
}

/// The same playbooks without their bodies.
fn bare(playbooks: &[Arc<Playbook>]) -> Result<Vec<Arc<Playbook>>, String> {
    let bare = playbooks.iter().map(|playbook| {
        let parts = PlaybookParts { body: String::new(), ..playbook.parts().clone() };
        Playbook::new(parts).map(Arc::new).map_err(|error| format!("{error:?}"))
    });
    bare.collect()
}

fn bench(builder: Builder, set: &Set, pool: usize) -> Bench {
    Bench {
        builder,
        playbooks: set.corpus.playbooks.clone(),
        pool: (pool > 0).then_some(pool),
        seed: 1,
        stray_share: StrayShare::DEFAULT,
    }
}

/// Whether a turn says something of probabilities: near misses without a right playbook and turns that name theirs do not.
fn is_fitted_on(turn: &Labelled) -> bool {
    !turn.names_skill && (turn.is_out_of_scope() || !turn.relevant.is_empty())
}

/// The distinct turns that are fitted on: a set with and without bodies has each twice, and every set the background.
fn fitted_on(sets: &[Set]) -> Turns {
    let fitted = sets.iter().flat_map(|set| &set.tune).filter(|turn| is_fitted_on(turn));
    let (outside, inside): (Vec<&Labelled>, Vec<&Labelled>) = fitted.partition(|turn| turn.is_out_of_scope());
    let distinct = |turns: Vec<&Labelled>| {
        turns.into_iter().map(|turn| turn.query.turn()).collect::<BTreeSet<_>>().len()
    };
    Turns { in_scope: distinct(inside), out_of_scope: distinct(outside) }
}

/// The evidence of some turns. Each kind of turn of a bench weighs as much as any other.
fn gather(bench: &Bench, set: &Set) -> Result<Vec<Example>, String> {
    let mut examples = Vec::new();
    let turns: Vec<&Labelled> = set.tune.iter().filter(|turn| is_fitted_on(turn)).collect();
    let kind = shipped().fits(if set.is_bare { 1.0 } else { 0.0 });
    let inside = turns.iter().filter(|turn| !turn.relevant.is_empty()).count();
    bench.for_each(turns.iter().copied(), &mut |turn, catalogue, scratch| {
        let (evidence, occasion) = examine(&catalogue.open, &turn.query, scratch);
        let fit = &kind.semantic;
        let judged = evidence.into_iter().zip(&catalogue.places).filter(|(evidence, _)| !evidence.is_none());
        let mut candidates: Vec<_> =
            judged.map(|(evidence, place)| (evidence, turn.relevant.contains(place))).collect();
        candidates.sort_by(|(a, _), (b, _)| b.score(fit, occasion).total_cmp(&a.score(fit, occasion)));
        let mut rank = 0;
        candidates.retain(|(_, right)| {
            rank += 1;
            *right || rank <= CANDIDATES
        });
        let alike = if turn.relevant.is_empty() { turns.len() - inside } else { inside };
        examples.push(Example { candidates, occasion, weight: 1.0 / count(alike) });
        Ok(())
    })?;
    Ok(examples)
}

fn mean(all: &[Figures]) -> Means {
    let of = |figure: fn(&Figures) -> Option<f64>| {
        let known: Vec<f64> = all.iter().filter_map(figure).collect();
        known.iter().sum::<f64>() / count(known.len().max(1))
    };
    Means {
        hit_at_1: of(|f| f.hits.hit_at_1),
        hit_at_3: of(|f| f.hits.hit_at_3),
        hit_at_6: of(|f| f.hits.hit_at_6),
        offered_out_of_scope: of(|f| f.offered_out_of_scope),
        kept_in_scope: of(|f| f.kept_in_scope),
        ece: of(|f| f.ece),
    }
}

fn table(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["on the turns kept aside", "before", "after"]);
    let mut row = |what: &str, figure: fn(&Means) -> f64| {
        let cells = [&report.before, &report.after].map(|means| format!("{:.3}", figure(means)));
        table.add_row([what, &cells[0], &cells[1]]);
    };
    row("right one first", |means| means.hit_at_1);
    row("right one among three", |means| means.hit_at_3);
    row("right one among six", |means| means.hit_at_6);
    row("menus out of scope", |means| means.offered_out_of_scope);
    row("kept above the floor", |means| means.kept_in_scope);
    row("expected calibration error", |means| means.ece);
    let Turns { in_scope, out_of_scope } = report.turns;
    format!(
        "fitted on {in_scope} turns in scope and {out_of_scope} out of scope\n{table}\nwritten to {}\n",
        report.out
    )
}
