//! The project's own labelled turns over its 30 playbooks: what selection gets right, held to what was measured.
//!
//! `tests/fixtures/quality/turns.jsonl` was written and labelled before anything was tuned on it. The third of the turns
//! whose id has a SHA-256 that begins with a multiple of three is never tuned on.

use std::collections::BTreeMap;

use maitred::app::packs;
use maitred::domain::agent::AgentSettings;
use maitred::domain::digest::Digest;
use maitred::domain::query::MenuQuery;
use maitred::engine::scratch::Scratch;
use maitred::engine::select::select;
use maitred::engine::snapshot::AgentIndex;
use serde_json::Value;

use crate::fixture::index;

const TURNS: &str = include_str!("../fixtures/quality/turns.jsonl");

/// Turns that may go wrong beyond those that did when it was measured.
const SLACK: usize = 2;

/// Of each kind and third: how many turns there are, and how many were right on 2026-12-03.
const MEASURED: [(&str, &str, usize, usize); 12] = [
    ("follow_up", "kept aside", 7, 5),
    ("follow_up", "tuned on", 18, 10),
    ("foreign", "kept aside", 8, 0),
    ("foreign", "tuned on", 32, 2),
    ("long", "kept aside", 7, 5),
    ("long", "tuned on", 8, 5),
    ("near_miss", "kept aside", 25, 11),
    ("near_miss", "tuned on", 41, 22),
    ("out_of_scope", "kept aside", 31, 28),
    ("out_of_scope", "tuned on", 60, 54),
    ("plain", "kept aside", 80, 62),
    ("plain", "tuned on", 140, 104),
];

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(all) => all.iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
        _ => Vec::new(),
    }
}

/// Right is: a right playbook on the menu; where there is none, no wrong one on top, or no menu at all.
fn is_right(index: &AgentIndex, turn: &Value) -> bool {
    let query = MenuQuery::new(turn["text"].as_str().unwrap()).unwrap();
    let query = query.with_recent(texts(&turn["context"])).unwrap();
    let menu = select(index, &query, &mut Scratch::default());
    let slugs: Vec<&str> = menu.items.iter().map(|item| item.slug.as_str()).collect();
    let (relevant, negative) = (texts(&turn["relevant"]), texts(&turn["negative_for"]));
    match (relevant.is_empty(), negative.is_empty()) {
        (false, _) => relevant.iter().any(|slug| slugs.contains(&slug.as_str())),
        (true, false) => !negative.iter().any(|slug| slugs.first() == Some(&slug.as_str())),
        (true, true) => slugs.is_empty(),
    }
}

fn part(turn: &Value) -> &'static str {
    let digest = Digest::of_bytes(turn["id"].as_str().unwrap().as_bytes());
    if digest.bytes()[0].is_multiple_of(3) { "kept aside" } else { "tuned on" }
}

#[test]
fn the_labelled_turns_are_answered_as_well_as_when_they_were_measured() {
    let index = index(
        packs::library().into_iter().flat_map(|pack| pack.playbooks).collect(),
        AgentSettings::default(),
    );
    let turns: Vec<Value> = TURNS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut counts: BTreeMap<(String, &str), (usize, usize, Vec<String>)> = BTreeMap::new();
    for turn in &turns {
        let kind = turn["kind"].as_str().unwrap().to_owned();
        let (all, right, wrong) = counts.entry((kind, part(turn))).or_default();
        *all += 1;
        if is_right(&index, turn) {
            *right += 1;
        } else {
            wrong.push(turn["id"].as_str().unwrap().to_owned());
        }
    }
    for ((kind, part), (all, right, wrong)) in &counts {
        eprintln!("(\"{kind}\", \"{part}\", {all}, {right}), // {}", wrong.join(" "));
    }
    assert_eq!(counts.len(), MEASURED.len());
    for (kind, part, all, right) in MEASURED {
        let (own_all, own_right, wrong) = &counts[&(kind.to_owned(), part)];
        assert_eq!(*own_all, all, "{kind}, {part}");
        assert!(
            own_right + SLACK >= right,
            "{kind}, {part}: {own_right} of {all} right, {right} before: {wrong:?}"
        );
    }
}

#[test]
fn at_least_half_of_the_turns_in_scope_neither_name_their_playbook_nor_contain_a_trigger() {
    let playbooks: Vec<_> = packs::library().into_iter().flat_map(|pack| pack.playbooks).collect();
    let (mut in_scope, mut bare) = (0, 0);
    for turn in TURNS.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let (text, relevant) = (turn["text"].as_str().unwrap().to_lowercase(), texts(&turn["relevant"]));
        let own = playbooks.iter().filter(|playbook| relevant.contains(&playbook.slug().to_string()));
        let mut words: Vec<String> = Vec::new();
        for playbook in own {
            let slug = playbook.slug().to_string();
            words.extend([slug.replace('-', " "), slug, playbook.title().to_lowercase()]);
            words.extend(playbook.triggers().iter().map(|trigger| trigger.to_lowercase()));
        }
        in_scope += usize::from(!relevant.is_empty());
        bare += usize::from(!relevant.is_empty() && !words.iter().any(|word| text.contains(word)));
    }
    assert!(in_scope >= 300 && bare * 2 >= in_scope, "{bare} of {in_scope}");
}
