//! Properties against slow, obvious oracles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use maitred::domain::agent::{AgentSettings, TriggerMatch, Untriggered};
use maitred::domain::menu::{Menu, MenuItem, Reason};
use maitred::domain::playbook::{Playbook, PlaybookParts, is_fragment};
use maitred::domain::query::MenuQuery;
use maitred::domain::text::fold;
use maitred::engine::lexical::{FIELDS, K1, PSEUDO_PLAYBOOKS};
use maitred::engine::scratch::Scratch;
use maitred::engine::select::select;
use maitred::engine::terms;
use maitred::format::parse::parse;
use proptest::prelude::*;

use crate::fixture::{RANKED, build, index, parts};

/// Words that share beginnings, endings, cases and compositions, so that matches overlap.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "ab",
        "aba",
        "bab",
        "git",
        "digit",
        "GIT",
        "form",
        "perform",
        "Straße",
        "STRASSE",
        "cafe\u{301}",
        "café",
        "发票",
        "开发票务",
        "İ",
        "i̇",
        "x_y",
        "c++",
        "ﬁle",
        "file",
        "queries",
        "query",
        "classes",
        "invoice",
    ])
    .prop_map(str::to_owned)
}

fn phrase(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let separator = prop::sample::select(vec![" ", "", ", ", "-", "\n"]);
    (prop::collection::vec(word(), words), separator).prop_map(|(words, separator)| words.join(separator))
}

fn playbooks(count: usize) -> impl Strategy<Value = Vec<Arc<Playbook>>> {
    let triggers = prop::collection::vec(phrase(1..3), 0..4);
    let one = (triggers, phrase(1..12), phrase(0..60));
    prop::collection::vec(one, 1..count).prop_map(|all| {
        let made = all.into_iter().enumerate().map(|(number, (mut triggers, description, body))| {
            let mut seen = BTreeSet::new();
            triggers.retain(|trigger| seen.insert(fold(trigger)));
            build(PlaybookParts { triggers, body, ..parts(&format!("p{number}"), &description) })
        });
        made.collect()
    })
}

/// Whether the trigger occurs, by trying every position.
fn occurs(turn: &str, trigger: &str, mode: TriggerMatch) -> bool {
    let (turn, trigger): (Vec<char>, Vec<char>) =
        (fold(turn).chars().collect(), fold(trigger).chars().collect());
    let is_joined = |edge: char, neighbour: Option<&char>| {
        edge.is_ascii_alphanumeric()
            && neighbour.is_some_and(|c| {
                !terms::is_spaceless(*c) && (c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(c))
            })
    };
    let is_fragment = is_fragment(&trigger.iter().collect::<String>());
    (0..turn.len()).any(|start| {
        turn[start..].starts_with(&trigger)
            && ((mode == TriggerMatch::Substring && !is_fragment) || {
                let before = start.checked_sub(1).map(|at| &turn[at]);
                let after = turn.get(start + trigger.len());
                !is_joined(trigger[0], before) && !is_joined(trigger[trigger.len() - 1], after)
            })
    })
}

/// BM25 as a textbook has it: a loop over playbooks, fields and terms, in double precision.
fn textbook_bm25(playbooks: &[Arc<Playbook>], turn: &str) -> BTreeMap<String, f64> {
    let terms_of = |text: &str| {
        let mut all = Vec::new();
        terms::for_each(&fold(text), |term| all.push(term.to_owned()));
        all
    };
    let fields_of = |playbook: &Playbook| -> [Vec<String>; 3] {
        let mut name = terms_of(playbook.slug().as_str());
        name.extend(terms_of(playbook.title()));
        for trigger in playbook.triggers() {
            name.extend(terms_of(trigger));
        }
        [name, terms_of(playbook.description()), terms_of(playbook.body())]
    };
    let documents: Vec<_> = playbooks.iter().map(|playbook| fields_of(playbook)).collect();
    let count = |number: usize| f64::from(u32::try_from(number).unwrap());
    let mean: Vec<f64> = (0..3)
        .map(|field| documents.iter().map(|d| count(d[field].len())).sum::<f64>() / count(documents.len()))
        .collect();
    let query: BTreeSet<String> = terms_of(turn).into_iter().collect();
    let mut scores = BTreeMap::new();
    for (playbook, document) in playbooks.iter().zip(&documents) {
        let mut score = 0.0;
        for term in &query {
            let with_term = documents.iter().filter(|d| d.iter().any(|field| field.contains(term))).count();
            let n = count(playbooks.len()) + f64::from(PSEUDO_PLAYBOOKS);
            let idf = (1.0 + (n - count(with_term) + 0.5) / (count(with_term) + 0.5)).ln();
            for (field, settings) in FIELDS.iter().enumerate() {
                let tf = count(document[field].iter().filter(|present| *present == term).count());
                let (b, k1) = (f64::from(settings.b), f64::from(K1));
                let norm = 1.0 - b + b * count(document[field].len()) / mean[field].max(1.0);
                score += idf * f64::from(settings.weight) * tf * (k1 + 1.0) / (tf + k1 * norm);
            }
        }
        scores.insert(playbook.slug().to_string(), score);
    }
    scores
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn triggers_match_as_a_naive_search_does(
        playbooks in playbooks(6), turn in phrase(1..10), word_mode in any::<bool>(),
    ) {
        let mode = if word_mode { TriggerMatch::Word } else { TriggerMatch::Substring };
        let settings = AgentSettings { untriggered: Untriggered::Ranked, trigger_match: mode, ..AgentSettings::default() };
        let query = MenuQuery::new(turn.clone()).unwrap().with_limit(6).unwrap();
        let menu = select(&index(playbooks.clone(), settings), &query, &mut Scratch::default());
        for playbook in &playbooks {
            let triggers = playbook.triggers().iter();
            let expected: Vec<String> = triggers.filter(|trigger| occurs(&turn, trigger, mode)).cloned().collect();
            let item = menu.items.iter().find(|item| item.slug == *playbook.slug());
            let found = match item.map(|item| &item.reason) {
                Some(Reason::Trigger { matched, .. }) => matched.clone(),
                _ => Vec::new(),
            };
            prop_assert_eq!(found, expected, "{} in {:?}", playbook.slug(), turn);
        }
    }

    #[test]
    fn bm25_is_what_a_textbook_loop_computes(playbooks in playbooks(12), turn in phrase(1..10)) {
        let query = MenuQuery::new(turn.clone()).unwrap().with_explain(true);
        let menu = select(&index(playbooks.clone(), RANKED), &query, &mut Scratch::default());
        let items = menu.items.iter().map(|item| (item.slug.to_string(), item.scores));
        let all: BTreeMap<String, _> =
            items.chain(menu.considered.iter().map(|c| (c.slug.to_string(), c.scores))).collect();
        for (slug, expected) in textbook_bm25(&playbooks, &turn) {
            let scores = all[&slug];
            prop_assert!((scores.bm25 - expected).abs() <= 1e-4 * expected.max(1.0), "{} {:?} {}", slug, scores, expected);
            prop_assert!((0.0..=1.0).contains(&scores.coverage) && (0.0..1.0).contains(&scores.probability));
        }
    }

    #[test]
    fn menus_keep_their_limits_and_count_what_they_cut(
        playbooks in playbooks(12), turn in phrase(1..10), limit in 0_usize..=6, ranked in any::<bool>(),
    ) {
        let settings = if ranked { RANKED } else { AgentSettings::default() };
        let query = |limit| MenuQuery::new(turn.clone()).unwrap().with_limit(limit).unwrap();
        let index = index(playbooks, settings);
        let menu = select(&index, &query(limit), &mut Scratch::default());
        let menu_max = if limit == 0 { 6 } else { limit };
        prop_assert!(menu.items.len() <= menu_max);
        let all = select(&index, &query(6), &mut Scratch::default());
        prop_assert_eq!(menu.items.len() + menu.omitted.total(), all.items.len() + all.omitted.total());
        // A shorter menu is the head of a longer one, but that a trigger inside a longer word gives way to what fits better,
        // and the most probable playbook may take the place of the last triggered one.
        let of = |menu: &Menu, is_ranked: bool| -> Vec<_> {
            let is_kind = |item: &&MenuItem| matches!(item.reason, Reason::Semantic { .. }) == is_ranked;
            // A longer menu has more near duplicates to say, too.
            let alone = |item: &MenuItem| MenuItem { near_duplicates: Vec::new(), ..item.clone() };
            menu.items.iter().filter(is_kind).map(alone).collect()
        };
        let (few, many) = (of(&menu, true), of(&all, true));
        prop_assert_eq!(&few[..], &many[..few.len()]);
        // By default fewer places are kept for relevance than a menu of six has.
        if limit > 0 {
            let mut many = of(&all, false).into_iter();
            prop_assert!(of(&menu, false).iter().all(|item| many.any(|other| other == *item)));
        }
    }

    #[test]
    fn the_parser_answers_anything_with_a_playbook_or_a_refusal(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let parsed = parse(&bytes);
        prop_assert_eq!(parsed.playbook.is_none(), parsed.refusal().is_some());
    }

    #[test]
    fn the_parser_takes_apart_and_puts_together_any_frontmatter(
        lines in prop::collection::vec("[-a-z:#|>'\"\\[\\]{},&*!?%@` \t.0-9é猫]{0,24}", 0..8), body in "\\PC{0,40}",
        ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        let text = format!("---{ending}name: a{ending}description: b{ending}{}{ending}---{ending}{body}", lines.join(ending));
        let parsed = parse(text.as_bytes());
        prop_assert_eq!(parsed.playbook.is_none(), parsed.refusal().is_some());
        let line_count = text.split(ending).count();
        prop_assert!(parsed.diagnostics.iter().all(|d| (1..=line_count).contains(&d.line) && d.column >= 1));
        if let Some(playbook) = parsed.playbook {
            prop_assert!(text.ends_with(playbook.body()));
        }
    }
}
