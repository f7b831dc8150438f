//! What relevance is worth: of paraphrases, of follow-ups, in other languages, and with other models.

use std::collections::BTreeMap;
use std::sync::Arc;

use maitred::app::packs;
use maitred::domain::agent::AgentSettings;
use maitred::domain::menu::SemanticState;
use maitred::domain::playbook::Playbook;
use maitred::engine::builder::{Builder, Built, Circumstances};
use maitred::engine::ord::PlaybookOrd;
use maitred::engine::snapshot::AgentIndex;
use maitred::store::model;
use maitred::transport::grpc::proto::{RunsStatus, SelectMenuRequest};
use safetensors::Dtype;
use serde_json::Value;
use tempfile::TempDir;

use super::{menu, slugs};
use crate::fixture::{RANKED, index, playbook};
use crate::harness::{Setup, turn_request};
use crate::models;

fn five() -> Vec<Arc<Playbook>> {
    vec![
        playbook("refund", "money back", "Decides whether a customer is repaid, and writes the answer."),
        playbook("roof", "", "Finds out where water comes in through the roof of a house."),
        playbook("choir", "", "Plans which songs a choir rehearses before its concert."),
        playbook("visa", "", "Collects the papers that an embassy wants from a traveller."),
        playbook("bees", "", "Tells a beekeeper when to open the hives in spring."),
    ]
}

/// CASES 2.05: what is held against the floor is a probability, whose numbers a paraphrase exceeds and other turns do not,
/// with triggers in play and without.
#[test]
fn a_paraphrase_passes_the_floor_and_a_turn_about_nothing_does_not() {
    let index = index(five(), RANKED);
    for (turn, wanted) in [
        ("water drips through my house's roof, find out where it gets in", vec!["roof"]),
        ("which papers does a traveller need for the embassy", vec!["visa"]),
        ("rehearse songs with the choir, money back", vec!["refund", "choir"]),
        ("what is the capital of Peru?", vec![]),
        ("tell me a joke about programmers", vec![]),
    ] {
        let menu = menu(&index, turn, 0);
        assert_eq!(slugs(&menu), wanted, "{menu:#?}");
        let all =
            menu.items.iter().map(|item| item.scores).chain(menu.considered.iter().map(|other| other.scores));
        assert!(all.map(|scores| scores.probability).sum::<f64>() <= 1.0 + 1e-9, "{menu:#?}");
    }
    for playbook in five() {
        let own = menu(&index, playbook.description(), 0);
        assert_eq!(slugs(&own)[0], playbook.slug().as_str(), "a description finds its playbook");
    }
}

/// CASES 2.19: an English description, and turns in other languages: an empty menu that says why where the model cannot read
/// the script, and nothing wrong anywhere.
#[test]
fn a_turn_in_another_language_gets_the_right_playbook_or_none() {
    let index = index(
        packs::library().into_iter().flat_map(|pack| pack.playbooks).collect(),
        AgentSettings::default(),
    );
    for (turn, semantic) in [
        ("写一份新版本的更新说明", SemanticState::ScriptNotCovered),
        ("یادداشت‌های انتشار نسخهٔ تازه را بنویس", SemanticState::ScriptNotCovered),
        ("напиши, что изменилось в новой версии", SemanticState::ScriptNotCovered),
        ("リリースノートを書いてください", SemanticState::ScriptNotCovered),
        ("escreva as notas da nova versão", SemanticState::Ok),
    ] {
        let menu = menu(&index, turn, 0);
        assert_eq!(menu.semantic, semantic, "{turn}");
        assert!(menu.items.iter().all(|item| item.slug.as_str() == "release-notes"), "{menu:#?}");
    }
}

/// CASES 2.19: of the labelled turns in other languages, by language: how many there are, how many had the right playbook
/// on the menu on 2026-12-03, and how many a menu without it. `models/README.md` states them, and what the languages are.
const BY_LANGUAGE: [(&str, usize, usize, usize); 5] =
    [("de", 8, 0, 0), ("es", 8, 0, 0), ("fr", 8, 2, 0), ("ja", 8, 0, 0), ("zh", 8, 0, 0)];

#[test]
fn what_each_language_finds_among_english_playbooks_is_known() {
    let index = index(
        packs::library().into_iter().flat_map(|pack| pack.playbooks).collect(),
        AgentSettings::default(),
    );
    let turns = include_str!("../../fixtures/quality/turns.jsonl").lines();
    let mut counts: BTreeMap<String, (usize, usize, usize)> = BTreeMap::new();
    for turn in turns.map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let Some(language) = turn["language"].as_str().filter(|_| turn["kind"] == "foreign") else {
            continue;
        };
        let menu = menu(&index, turn["text"].as_str().unwrap(), 0);
        let is_right = menu
            .items
            .iter()
            .any(|item| turn["relevant"].as_array().unwrap().contains(&item.slug.as_str().into()));
        let (all, right, wrong) = counts.entry(language.to_owned()).or_default();
        *all += 1;
        *right += usize::from(is_right);
        *wrong += usize::from(!is_right && !menu.items.is_empty());
    }
    eprintln!("{counts:?}");
    assert_eq!(counts.len(), BY_LANGUAGE.len());
    for (language, all, right, wrong) in BY_LANGUAGE {
        let (own_all, own_right, own_wrong) = counts[language];
        assert_eq!(own_all, all, "{language}");
        assert!(own_right >= right && own_wrong <= wrong, "{language}: {:?}", counts[language]);
    }
}

/// CASES 2.24: a restart with another model of equal dimension, then an edit.
#[test]
fn another_model_of_equal_dimension_embeds_everything_again_and_an_edit_what_it_changed() {
    let open = |seed| {
        let dir = TempDir::new().unwrap();
        models::write(dir.path(), &models::static_model(seed, 8, Dtype::F32));
        model::open(dir.path()).unwrap()
    };
    let ten = |last: &str| -> Vec<Arc<Playbook>> {
        let text = |at: usize| if at == 9 { last.to_owned() } else { format!("tidy the shed number {at}") };
        (0..10).map(|at| playbook(&format!("p{at}"), "", &text(at))).collect()
    };
    let build = |builder: &Builder, playbooks, previous| -> Built {
        builder.build(playbooks, RANKED, Circumstances { previous, ..Circumstances::default() }).unwrap()
    };
    let turn = models::numbers(9, 8);
    let cosines = |index: &AgentIndex| -> Vec<f32> {
        (0..10).map(|at| index.vectors().cosine(&turn, PlaybookOrd::new(at)).unwrap()).collect()
    };
    let before = build(&Builder::new(open(1)), ten("tidy the shed"), None);
    let builder = Builder::new(open(2));
    let (after, alone) = (
        build(&builder, ten("tidy the shed"), Some(&before.index)),
        build(&Builder::new(open(2)), ten("tidy the shed"), None),
    );
    assert_eq!((before.made.len(), after.made.len()), (10, 10));
    assert_eq!(cosines(&after.index), cosines(&alone.index));
    assert!(
        cosines(&after.index).iter().zip(cosines(&before.index)).all(|(new, old)| (new - old).abs() > 1e-6)
    );
    let edited = build(&builder, ten("refund a customer"), Some(&after.index));
    assert_eq!(edited.made.len(), 1);
    let (new, old) = (cosines(&edited.index), cosines(&after.index));
    assert_eq!(new[..9], old[..9]);
    assert!((new[9] - old[9]).abs() > 1e-6);
}

/// CASES 2.25, as far as it goes without run state: the answer says that there is none, so that the caller keeps what is
/// loaded, and earlier turns count in favour of the playbook at work.
#[tokio::test(flavor = "multi_thread")]
async fn follow_ups_say_that_run_state_is_missing_and_earlier_turns_speak_for_the_playbook_at_work() {
    let config = crate::harness::serve_config(Vec::new(), &Setup::default());
    let running = crate::harness::start(config).await.unwrap();
    let address = format!("http://{}", running.listen);
    let mut client =
        maitred::transport::grpc::proto::menu_service_client::MenuServiceClient::connect(address)
            .await
            .unwrap();
    let mut ask = async |turn: &str, recent: &[&str]| {
        let recent = recent.iter().map(|turn| (*turn).to_owned()).collect();
        let request =
            SelectMenuRequest { run_id: Some("r1".to_owned()), recent, explain: true, ..turn_request(turn) };
        client.select_menu(request).await.unwrap().into_inner()
    };
    let draft = "draft release notes for version 4";
    let first = ask(draft, &[]).await;
    assert_eq!((first.items[0].slug.as_str(), first.runs()), ("release-notes", RunsStatus::Unavailable));
    for (turn, recent) in [("shorter please", vec![draft]), ("now in German", vec![draft, "shorter please"])]
    {
        let (alone, followed) = (ask(turn, &[]).await, ask(turn, &recent).await);
        assert_eq!((followed.runs(), followed.loaded.len()), (RunsStatus::Unavailable, 0));
        let cosine = |answer: &maitred::transport::grpc::proto::SelectMenuResponse| {
            let shown = answer.items.iter().map(|item| (&item.slug, item.scores));
            let mut all = shown.chain(answer.considered.iter().map(|other| (&other.slug, other.scores)));
            all.find(|(slug, _)| *slug == "release-notes").unwrap().1.unwrap().cosine.unwrap()
        };
        assert!(
            cosine(&followed) > cosine(&alone) + 0.05,
            "{turn}: {} {}",
            cosine(&alone),
            cosine(&followed)
        );
    }
    running.stop().await.unwrap();
}
