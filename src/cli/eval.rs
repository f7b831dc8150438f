//! `maitred eval`: how well playbooks are found for labelled turns, by each kind of evidence alone and by all of it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use super::{Outcome, print, show};
use crate::domain::agent::{AgentSettings, Untriggered};
use crate::domain::limits::{BODY_BYTES_MAX, DESCRIPTION_CHARS_MAX, TITLE_CHARS_MAX};
use crate::domain::playbook::{Playbook, PlaybookParts};
use crate::domain::query::MenuQuery;
use crate::domain::slug::Slug;
use crate::domain::text::{escaped_path, prefix_bytes};
use crate::engine::builder::{Builder, Circumstances};
use crate::engine::embed::builtin;
use crate::engine::relevance::Evidence;
use crate::engine::scratch::Scratch;
use crate::engine::select::evidence;
use crate::engine::snapshot::AgentIndex;
use crate::store::model;

/// The places that hits are counted in.
const PLACES: [usize; 3] = [1, 3, 6];

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Playbooks: JSON lines of id, name, description and perhaps body. Repeatable, each with its --queries.
    #[arg(long, value_name = "FILE", required = true)]
    corpus: Vec<PathBuf>,

    /// Turns: JSON lines of text and relevant (ids of the corpus). Those marked `maybe_deferred` or without a relevant
    /// playbook are left out, and so are, unless --all, those marked `names_skill`.
    #[arg(long, value_name = "FILE", required = true)]
    queries: Vec<PathBuf>,

    /// Keeps turns that contain the name of their playbook.
    #[arg(long)]
    all: bool,

    /// A model to measure instead of the built-in one.
    #[arg(long, value_name = "DIR", env = "MAITRED_MODEL")]
    model: Option<PathBuf>,

    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct CorpusLine {
    id: String,
    name: Option<String>,
    description: String,
    body: Option<String>,
}

/// The playbooks of a corpus.
struct Corpus {
    playbooks: Vec<Arc<Playbook>>,
    /// The place of each id in slug order.
    places: HashMap<String, usize>,
    /// Playbooks of which a part was cut to the limits.
    cut: usize,
}

#[derive(Deserialize)]
struct QueryLine {
    text: String,
    relevant: Vec<String>,
    #[serde(default)]
    names_skill: bool,
    #[serde(default)]
    maybe_deferred: bool,
}

#[derive(Serialize)]
struct Report {
    model_id: String,
    sets: Vec<SetReport>,
}

#[derive(Serialize)]
struct SetReport {
    corpus: String,
    playbooks: usize,
    /// Playbooks of which a part was cut to the limits of a playbook.
    cut: usize,
    turns: usize,
    lexical: Hits,
    semantic: Hits,
    fused: Hits,
}

/// The share of turns that have a relevant playbook among the first 1, 3 and 6.
#[derive(Clone, Copy, Default, Serialize)]
struct Hits {
    #[serde(rename = "hit@1")]
    first: f64,
    #[serde(rename = "hit@3")]
    three: f64,
    #[serde(rename = "hit@6")]
    six: f64,
}

pub(super) fn run(args: &Args) -> Outcome {
    if args.corpus.len() != args.queries.len() {
        return Err(format!(
            "--corpus is given {} times and --queries {}: give one of each for a set",
            args.corpus.len(),
            args.queries.len()
        ));
    }
    let embedder = args.model.as_deref().map_or_else(|| Ok(builtin::model()), model::open)?;
    let model_id = embedder.about().id.to_string();
    let builder = Builder::new(embedder);
    let mut sets = Vec::new();
    for (corpus, queries) in args.corpus.iter().zip(&args.queries) {
        sets.push(measure(&builder, corpus, queries, args.all)?);
    }
    let report = Report { model_id, sets };
    print(&if args.json { show::json(&report) } else { table(&report) })
}

fn measure(builder: &Builder, corpus: &Path, queries: &Path, all: bool) -> Result<SetReport, String> {
    let Corpus { playbooks, places, cut } = read_corpus(corpus)?;
    let settings = AgentSettings { untriggered: Untriggered::Ranked, ..AgentSettings::default() };
    let built = builder.build(playbooks, settings, Circumstances::default());
    let index = built.map_err(|error| format!("{}: {error}", escaped_path(corpus)))?.index;
    let turns: Vec<QueryLine> = json_lines(queries)?;
    let wanted = turns.iter().filter(|turn| !turn.maybe_deferred && (all || !turn.names_skill));
    let labelled = wanted.filter_map(|turn| {
        let relevant: Vec<usize> = turn.relevant.iter().filter_map(|id| places.get(id).copied()).collect();
        let query = MenuQuery::new(turn.text.as_str()).ok()?;
        (!relevant.is_empty()).then_some((query, relevant))
    });
    let labelled: Vec<(MenuQuery, Vec<usize>)> = labelled.collect();
    let [lexical, semantic, fused] = hits(&index, &labelled);
    let (corpus, playbooks, turns) = (escaped_path(corpus), index.playbooks().len(), labelled.len());
    Ok(SetReport { corpus, playbooks, cut, turns, lexical, semantic, fused })
}

/// The hits by BM25, by cosine, and by both.
fn hits(index: &AgentIndex, labelled: &[(MenuQuery, Vec<usize>)]) -> [Hits; 3] {
    let bar = ProgressBar::new(labelled.len() as u64);
    let mut counts = [[0_u32; PLACES.len()]; 3];
    let mut scratch = Scratch::default();
    for (query, relevant) in labelled {
        let found = evidence(index, query, &mut scratch);
        let keys: [fn(&Evidence) -> f64; 3] = [
            |evidence| f64::from(evidence.bm25),
            |evidence| evidence.near.map_or(-1.0, |near| f64::from(near.cosine)),
            |evidence| evidence.logit(),
        ];
        for (counts, key) in counts.iter_mut().zip(keys) {
            let place = place(&found, relevant, key);
            counts.iter_mut().zip(PLACES).for_each(|(count, places)| *count += u32::from(place < places));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let turns = f64::from(u32::try_from(labelled.len()).unwrap_or(u32::MAX)).max(1.0);
    counts.map(|counts| {
        let [first, three, six] = counts.map(|count| f64::from(count) / turns);
        Hits { first, three, six }
    })
}

/// How many playbooks come before the first relevant one, equal ones in the order of their slugs.
fn place(found: &[Evidence], relevant: &[usize], key: fn(&Evidence) -> f64) -> usize {
    let before = |at: &usize| {
        let own = key(&found[*at]);
        let better = |(other, evidence): (usize, &Evidence)| {
            let score = key(evidence);
            score > own || (score.total_cmp(&own).is_eq() && other < *at)
        };
        found.iter().enumerate().filter(|other| better(*other)).count()
    };
    relevant.iter().map(before).min().unwrap_or(usize::MAX)
}

fn read_corpus(corpus: &Path) -> Result<Corpus, String> {
    let lines: Vec<CorpusLine> = json_lines(corpus)?;
    let mut playbooks = Vec::with_capacity(lines.len());
    let mut places = HashMap::new();
    let mut cut = 0;
    for (at, line) in lines.into_iter().enumerate() {
        let characters = |text: &str, max| text.chars().take(max).collect::<String>();
        let description = characters(line.description.trim(), DESCRIPTION_CHARS_MAX);
        let written = line.body.unwrap_or_default();
        let body = prefix_bytes(&written, BODY_BYTES_MAX);
        cut += usize::from(description.len() < line.description.trim().len() || body.len() < written.len());
        let title = line.name.map(|name| characters(&name.replace(['-', '_'], " "), TITLE_CHARS_MAX));
        let slug = Slug::parse(&format!("p{at:06}")).map_err(|error| error.to_string())?;
        let description = if description.is_empty() { line.id.clone() } else { description };
        let parts = PlaybookParts {
            title: title.filter(|title| !title.trim().is_empty()),
            body: body.to_owned(),
            ..PlaybookParts::new(slug, description)
        };
        let named = |error| format!("{} line {}: {error:?}", escaped_path(corpus), at + 1);
        playbooks.push(Arc::new(Playbook::new(parts).map_err(named)?));
        places.insert(line.id, at);
    }
    Ok(Corpus { playbooks, places, cut })
}

fn json_lines<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", escaped_path(path)))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line)
                .map_err(|error| format!("{} line {}: {error}", escaped_path(path), at + 1))
        })
        .collect()
}

fn table(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["corpus", "playbooks", "turns", "evidence", "hit@1", "hit@3", "hit@6"]);
    for set in &report.sets {
        let kinds = [("lexical", set.lexical), ("semantic", set.semantic), ("fused", set.fused)];
        for (at, (kind, hits)) in kinds.into_iter().enumerate() {
            let about = [set.corpus.clone(), set.playbooks.to_string(), set.turns.to_string()];
            let mut cells: Vec<String> =
                about.into_iter().map(|cell| if at == 0 { cell } else { String::new() }).collect();
            let shares = [hits.first, hits.three, hits.six].map(|share| format!("{share:.3}"));
            cells.push(kind.to_owned());
            cells.extend(shares);
            table.add_row(cells);
        }
    }
    let cut: usize = report.sets.iter().map(|set| set.cut).sum();
    let remark = if cut > 0 { format!("{cut} playbooks were cut to the limits\n") } else { String::new() };
    format!("{table}\n{remark}model {}\n", report.model_id)
}
