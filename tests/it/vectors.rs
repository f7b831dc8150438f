//! Nearest neighbours: codes and graph against the scan, and what outlives an edit.

use std::sync::Arc;

use maitred::domain::agent::AgentSettings;
use maitred::domain::playbook::Playbook;
use maitred::engine::builder::{Builder, Built, Circumstances};
use maitred::engine::embed::{Vector, builtin, normalize};
use maitred::engine::nearest::codes::CodeScratch;
use maitred::engine::nearest::{Bounds, RECALL_MIN, RECALL_NEIGHBOURS, Vectors};
use maitred::engine::ord::PlaybookOrd;
use maitred::engine::snapshot::AgentIndex;
use maitred::store::model;
use proptest::prelude::*;
use safetensors::Dtype;
use tempfile::TempDir;

use crate::fixture::{RANKED, playbook};
use crate::models;

const DIMENSIONS: usize = 24;

/// A graph above 100.
const GRAPH: Bounds = Bounds { judge_all_max: 100, scan_max: 100 };

/// Codes above 100.
const CODES: Bounds = Bounds { judge_all_max: 100, scan_max: 10_000 };

/// Unit vectors around some centres, as texts of some subjects are.
fn clustered(seed: u64, count: usize) -> Vec<Option<Vector>> {
    let centres = models::numbers(seed, 12 * DIMENSIONS);
    let noise = models::numbers(seed + 1, count * DIMENSIONS);
    let around = |(at, noise): (usize, &[f32])| {
        let centre = &centres[at % 12 * DIMENSIONS..];
        let mut vector: Vec<f32> = noise.iter().zip(centre).map(|(x, c)| c + 0.6 * x).collect();
        assert_eq!(normalize(&mut vector), Ok(true));
        Some(vector.into())
    };
    noise.chunks(DIMENSIONS).enumerate().map(around).collect()
}

fn proposed(vectors: &Vectors, turn: &[f32], count: usize) -> Vec<PlaybookOrd> {
    let mut found = Vec::new();
    vectors.propose(turn, count, &mut CodeScratch::default(), &mut found);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn the_graph_finds_what_the_scan_finds(seed in any::<u32>(), count in 200..500_usize) {
        let vectors = Vectors::build(clustered(seed.into(), count), None, GRAPH, &|_, _| {});
        prop_assert!(!vectors.judges_all());
        prop_assert!(vectors.recall().unwrap() >= RECALL_MIN);
        let turns = clustered(u64::from(seed) + 77, 40);
        let mut hits = 0;
        for turn in turns.iter().flatten() {
            let found = proposed(&vectors, turn, RECALL_NEIGHBOURS);
            let truth = vectors.nearest_by_scan(turn, RECALL_NEIGHBOURS);
            hits += truth.iter().filter(|ord| found.contains(ord)).count();
        }
        prop_assert!(hits * 100 >= 40 * RECALL_NEIGHBOURS * 93, "{hits}");
    }

    #[test]
    fn the_codes_find_what_the_scan_finds(seed in any::<u32>(), count in 200..3_000_usize) {
        let vectors = Vectors::build(clustered(seed.into(), count), None, CODES, &|_, _| {});
        prop_assert!(!vectors.judges_all() && vectors.recall().is_none());
        for turn in clustered(u64::from(seed) + 77, 10).iter().flatten() {
            let found = proposed(&vectors, turn, 64);
            prop_assert_eq!(found.len(), 64);
            let truth = vectors.nearest_by_scan(turn, RECALL_NEIGHBOURS);
            prop_assert!(truth.iter().all(|ord| found.contains(ord)));
        }
    }

    #[test]
    fn every_playbook_finds_itself(seed in any::<u32>(), count in 101..300_usize) {
        let all = clustered(seed.into(), count);
        let vectors = Vectors::build(all.clone(), None, GRAPH, &|_, _| {});
        for (ord, own) in (0..).map(PlaybookOrd::new).zip(all.iter().flatten()) {
            prop_assert!(proposed(&vectors, own, RECALL_NEIGHBOURS).contains(&ord));
        }
    }
}

#[test]
fn a_graph_outlives_small_edits_and_not_great_ones() {
    let all = clustered(1, 400);
    let first = Vectors::build(all.clone(), None, GRAPH, &|_, _| {});
    // Two are gone, three are new, all others have moved by one.
    let mut edited = clustered(99, 3);
    edited.extend_from_slice(&all[2..]);
    let second = Vectors::build(edited.clone(), Some(&first), GRAPH, &|_, _| {});
    assert_eq!(second.recall(), first.recall());
    for (ord, own) in (0..).map(PlaybookOrd::new).zip(edited.iter().flatten()) {
        let found = proposed(&second, own, RECALL_NEIGHBOURS);
        assert!(found.contains(&ord), "{ord:?}");
        assert!(found.iter().all(|ord| ord.index() < edited.len()));
    }
    let others = Vectors::build(clustered(5, 400), Some(&first), GRAPH, &|_, _| {});
    let beside = proposed(&others, edited[0].as_ref().unwrap(), 1);
    assert!(beside.len() < 100, "the old graph would have left all {} beside it", beside.len());
}

#[test]
fn equal_vectors_and_missing_ones_are_no_trouble() {
    let mut all = clustered(3, 300);
    for copy in 1..60 {
        all[copy] = all[0].clone();
    }
    all[299] = None;
    let vectors = Vectors::build(all.clone(), None, GRAPH, &|_, _| {});
    let found = proposed(&vectors, all[0].as_ref().unwrap(), 32);
    assert!((0..60).map(PlaybookOrd::new).all(|ord| found.contains(&ord)));
    assert!(!found.contains(&PlaybookOrd::new(299)));
    for count in [0, 1, 3] {
        let few = Vectors::build(all[..count].to_vec(), None, GRAPH, &|_, _| {});
        let nearest = few.nearest_by_scan(all[0].as_ref().unwrap(), 10);
        assert_eq!((few.judges_all(), nearest.len()), (true, count));
    }
}

/// CASES 2.24.
#[test]
fn an_edit_embeds_the_edited_playbook_alone_and_equal_ones_are_shared() {
    fn build(builder: &Builder, playbooks: Vec<Arc<Playbook>>, previous: Option<&AgentIndex>) -> Built {
        let circumstances = Circumstances { previous, ..Circumstances::default() };
        builder.build(playbooks, AgentSettings::default(), circumstances).unwrap()
    }
    let builder = Builder::default();
    let some = |changed: &str| {
        vec![
            playbook("tide", "", "Reads tide tables."),
            playbook("soup", "", changed),
            playbook("rota", "", "Plans the rota."),
        ]
    };
    let first = build(&builder, some("Cooks soup."), None);
    assert_eq!(first.made.len(), 3);
    let second = build(&builder, some("Cooks onion soup."), Some(&first.index));
    assert_eq!(second.made.len(), 1);
    let other_agent = build(&builder, some("Cooks soup."), None);
    assert_eq!(other_agent.made.len(), 0);
    let shared = first.index.playbooks().zip(other_agent.index.playbooks()).all(|(a, b)| Arc::ptr_eq(a, b));
    assert!(shared, "equal playbooks are one in memory");
    drop((first, second, other_agent));
    assert_eq!(build(&builder, some("Cooks soup."), None).made.len(), 3, "what nobody holds is forgotten");
}

/// CASES 2.24.
#[test]
fn a_model_of_another_id_never_meets_old_vectors() {
    let open = |seed| {
        let dir = TempDir::new().unwrap();
        models::write(dir.path(), &models::static_model(seed, 8, Dtype::F32));
        model::open(dir.path()).unwrap()
    };
    let playbooks =
        || vec![playbook("shed", "", "tidy the shed"), playbook("refund", "", "refund a customer")];
    let build = |embedder, previous| {
        let circumstances = Circumstances { previous, ..Circumstances::default() };
        Builder::new(embedder).build(playbooks(), RANKED, circumstances).unwrap().index
    };
    let turn = models::numbers(9, 8);
    let cosine = |index: &AgentIndex| index.vectors().cosine(&turn, PlaybookOrd::new(0));
    let first = build(open(1), None);
    let (alone, after) = (build(open(2), None), build(open(2), Some(&first)));
    assert_eq!(cosine(&after), cosine(&alone));
    assert_ne!(cosine(&after), cosine(&first));
    let builtin = build(builtin::model(), Some(&after));
    assert_eq!(builtin.embedder().about().dimensions, 256);
}
