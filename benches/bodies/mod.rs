//! What is measured, by size: large in `engine.rs`, tiny in `tests/it/smoke.rs`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use maitred::app::catalog::Catalog;
use maitred::domain::agent::{AgentId, AgentSettings, Untriggered};
use maitred::domain::playbook::Playbook;
use maitred::domain::query::MenuQuery;
use maitred::engine::builder::{Builder, Circumstances};
use maitred::engine::embed::wordpiece::WordPiece;
use maitred::engine::embed::{EmbedScratch, Vector, builtin};
use maitred::engine::nearest::codes::CodeScratch;
use maitred::engine::nearest::{Bounds, RECALL_NEIGHBOURS, Vectors};
use maitred::engine::numbers::dot;
use maitred::engine::scratch::Scratch;
use maitred::engine::select::select;

use super::words::Words;

/// A measurement beside its floor.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// What the floor is.
    pub(crate) floor: &'static str,
    pub(crate) floor_us: f64,
    pub(crate) remark: String,
}

/// Embeds a turn of so many tokens; the floor sums as many rows of 256 numbers.
pub(crate) fn embedding(tokens: usize, rounds: usize) -> Line {
    let model = builtin::model();
    let text = Words::new(1).text(tokens);
    let mut scratch = EmbedScratch::default();
    let mut sum = vec![0.0; model.about().dimensions];
    let (p50_us, p99_us) = time(rounds, || {
        sum.fill(0.0);
        model.add(black_box(&text), 1.0, &mut scratch, &mut sum).expect("the built-in model works");
    });
    let token_count = scratch.ids.len();
    let rows = vec![1.0_f32; 256 * 4_096];
    let (floor_us, _) = time(rounds, || {
        sum.fill(0.0);
        for at in 0..token_count {
            let row = &rows[at * 67 % 4_096 * 256..][..256];
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        black_box(&sum);
    });
    let what = format!("embed a turn of {token_count} tokens");
    Line { what, p50_us, p99_us, floor: "rows of f32 summed", floor_us, remark: String::new() }
}

/// Tokenises a turn of so many tokens by the crate `tokenizers`; the floor is our own reader.
pub(crate) fn tokenising(tokens: usize, rounds: usize) -> Line {
    let json = include_bytes!("../../models/static/tokenizer.json");
    let theirs = tokenizers::Tokenizer::from_bytes(json).expect("the built-in tokenizer");
    let ours = WordPiece::parse(json).expect("the built-in tokenizer");
    let text = Words::new(1).text(tokens);
    let (p50_us, p99_us) = time(rounds, || {
        black_box(theirs.encode_fast(black_box(text.as_str()), false).expect("a text of words"));
    });
    let (mut word, mut ids) = (String::new(), Vec::new());
    let (floor_us, _) = time(rounds, || {
        ids.clear();
        ours.collect(black_box(&text), usize::MAX, &mut word, &mut ids);
        black_box(&ids);
    });
    let what = format!("tokenise {} tokens by the crate", ids.len());
    Line { what, p50_us, p99_us, floor: "our own reader", floor_us, remark: String::new() }
}

/// Pools a turn of so many tokens as tensors would; the floor is the model's own way.
pub(crate) fn pooling_in_tensors(tokens: usize, rounds: usize) -> Line {
    use candle_core::{DType, Device, Tensor};
    let rows = Tensor::zeros((30_522, 256), DType::U8, &Device::Cpu).expect("the machine has 8 MB");
    let ids: Vec<u32> = (0..u32::try_from(tokens).expect("a few tokens")).map(|at| at * 97).collect();
    let pool = || -> candle_core::Result<Vec<f32>> {
        let ids = Tensor::new(ids.as_slice(), &Device::Cpu)?;
        let rows = (rows.index_select(&ids, 0)?.to_dtype(DType::F32)? - 128.0)?;
        let mean = rows.mean(0)?;
        let norm = mean.sqr()?.sum_all()?.sqrt()?;
        mean.broadcast_div(&norm)?.to_vec1()
    };
    let (p50_us, p99_us) = time(rounds, || {
        black_box(pool().expect("the shapes agree"));
    });
    let model = builtin::model();
    let text = Words::new(1).text(tokens);
    let mut scratch = EmbedScratch::default();
    let mut sum = vec![0.0; model.about().dimensions];
    let (floor_us, _) = time(rounds, || {
        model.add(black_box(&text), 1.0, &mut scratch, &mut sum).expect("the built-in model works");
    });
    let what = format!("pool {tokens} rows of int8 in tensors");
    Line {
        what,
        p50_us,
        p99_us,
        floor: "the model's way, tokenising included",
        floor_us,
        remark: String::new(),
    }
}

/// Selects among so many playbooks; the floor looks for each word of the turn in each description.
pub(crate) fn selecting(playbooks: usize, rounds: usize) -> Line {
    let mut words = Words::new(2);
    let all: Vec<Arc<Playbook>> = (0..playbooks).map(|at| words.playbook(at)).collect();
    let settings = AgentSettings { untriggered: Untriggered::Ranked, ..AgentSettings::default() };
    let built = Builder::default().build(all.clone(), settings, Circumstances::default());
    let index = built.expect("there are no triggers").index;
    let query = MenuQuery::new(words.text(25)).expect("a turn of words");
    let mut scratch = Scratch::default();
    let (p50_us, p99_us) = time(rounds, || {
        black_box(select(&index, black_box(&query), &mut scratch));
    });
    let (floor_us, _) = time((rounds / 50).max(3), || {
        for playbook in &all {
            for word in query.turn().split(' ') {
                black_box(playbook.description().contains(word));
            }
        }
    });
    let what = format!("select among {playbooks} playbooks");
    let remark = if index.vectors().judges_all() { "all judged" } else { "codes proposed" }.to_owned();
    Line { what, p50_us, p99_us, floor: "a naive search of the descriptions", floor_us, remark }
}

/// Publishes an edit of one among so many playbooks; the floor copies their text.
pub(crate) fn publishing(playbooks: usize, rounds: usize) -> Line {
    let mut words = Words::new(5);
    let mut all: Vec<Arc<Playbook>> = (0..playbooks).map(|at| words.playbook(at)).collect();
    let catalog = Catalog::new(builtin::model());
    let agent = AgentId::default_agent();
    let settings = AgentSettings { untriggered: Untriggered::Ranked, ..AgentSettings::default() };
    let mut edits = (0..).map(|at| at % playbooks).map(|at| (at, words.playbook(at)));
    let (p50_us, p99_us) = time(rounds, || {
        let (at, edited) = edits.next().expect("there is no end");
        all[at] = edited;
        catalog.replace(&agent, all.clone(), settings).expect("there are no triggers");
    });
    let (floor_us, _) = time(rounds, || {
        for playbook in &all {
            black_box((playbook.description().to_owned(), playbook.body().to_owned()));
        }
    });
    let what = format!("publish an edit among {playbooks} playbooks");
    Line { what, p50_us, p99_us, floor: "their text, copied", floor_us, remark: String::new() }
}

/// Codes, however few.
const CODES: Bounds = Bounds { judge_all_max: 0, scan_max: usize::MAX };

/// A graph, however few.
const GRAPH: Bounds = Bounds { judge_all_max: 0, scan_max: 0 };

/// The nearest of so many vectors: by every cosine, and by codes and by a graph, whose floor that is.
pub(crate) fn nearest(count: usize, rounds: usize) -> Vec<Line> {
    let model = builtin::model();
    let mut words = Words::new(3);
    let texts: Vec<String> = (0..count).map(|_| words.text(24)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let all: Vec<Option<Vector>> = model.embed(&texts).expect("the built-in model works");
    let turns: Vec<String> = (0..200).map(|_| words.text(12)).collect();
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    let turns: Vec<Vector> =
        model.embed(&turns).expect("the built-in model works").into_iter().flatten().collect();
    let mut at = 0;
    let mut cosines = vec![0.0; count];
    let (scan_us, scan_p99_us) = time(rounds, || {
        at += 1;
        let turn = &turns[at % turns.len()];
        let own = all.iter().flatten().map(|vector| dot(turn, vector));
        cosines.iter_mut().zip(own).for_each(|(cosine, own)| *cosine = own);
        black_box(&cosines);
    });
    let by = |bounds, what: &str| proposing(&all, &turns, bounds, rounds, (what, scan_us));
    let approximations = [by(CODES, "codes"), by(GRAPH, "graph")];
    #[expect(clippy::cast_precision_loss, reason = "a count of numbers to multiply")]
    let floor_us = count as f64 * 256.0 / 8e3;
    let scan_line = Line {
        what: format!("cosines of {count} by scan"),
        p50_us: scan_us,
        p99_us: scan_p99_us,
        floor: "8 multiplications a nanosecond",
        floor_us,
        remark: String::new(),
    };
    std::iter::once(scan_line).chain(approximations).collect()
}

/// What proposes the nearest of these vectors, and how many of the true ones it finds.
fn proposing(
    all: &[Option<Vector>],
    turns: &[Vector],
    bounds: Bounds,
    rounds: usize,
    (by, floor_us): (&str, f64),
) -> Line {
    let began = Instant::now();
    let vectors = Vectors::build(all.to_vec(), None, bounds, &|_, _| {});
    let build_secs = began.elapsed().as_secs_f64();
    let (mut at, mut scratch, mut found) = (0, CodeScratch::default(), Vec::new());
    let (p50_us, p99_us) = time(rounds, || {
        at += 1;
        found.clear();
        vectors.propose(&turns[at % turns.len()], RECALL_NEIGHBOURS, &mut scratch, &mut found);
        black_box(&found);
    });
    let mut hits = 0;
    for turn in turns {
        found.clear();
        vectors.propose(turn, RECALL_NEIGHBOURS, &mut scratch, &mut found);
        hits +=
            vectors.nearest_by_scan(turn, RECALL_NEIGHBOURS).iter().filter(|ord| found.contains(ord)).count();
    }
    #[expect(clippy::cast_precision_loss, reason = "a share of a few thousand")]
    let recall = hits as f64 / (turns.len() * RECALL_NEIGHBOURS.min(all.len())) as f64;
    let own = vectors.recall().or(vectors.rejected_recall()).unwrap_or(1.0);
    let what = format!("nearest of {} by {by}", all.len());
    let remark = format!("recall@32 {recall:.3} (self-check {own:.3}), built in {build_secs:.1} s");
    Line { what, p50_us, p99_us, floor: "every cosine", floor_us, remark }
}

/// The median and the 99th percentile of the body's times, in microseconds.
fn time(rounds: usize, mut body: impl FnMut()) -> (f64, f64) {
    let mut times: Vec<f64> = (0..rounds.max(2) + rounds / 10)
        .map(|_| {
            let began = Instant::now();
            body();
            began.elapsed().as_secs_f64() * 1e6
        })
        .skip(rounds / 10)
        .collect();
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() * 99 / 100])
}
