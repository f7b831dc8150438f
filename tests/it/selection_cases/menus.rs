//! What is on a menu, in which order, and what the model sees of it.

use maitred::app::packs;
use maitred::domain::agent::AgentSettings;
use maitred::domain::menu::{MenuItem, Reason};
use maitred::domain::playbook::PlaybookParts;
use maitred::domain::slug::Slug;
use maitred::engine::nearest::NEAR_DUPLICATE_COSINE;
use maitred::transport::grpc::proto::{Exclusion, SelectMenuRequest, SelectMenuResponse};
use prost::Message as _;
use serde_json::Value;
use tonic::Code;

use super::{menu, slugs};
use crate::fixture::{RANKED, build, copy, index, parts, playbook, skill_md};
use crate::harness::{Setup, TestServer, check_refused, load_request, turn_request, write};

/// CASES 2.08: a limit holds whatever admits the playbooks, and the same ones survive it every time: by relevance, then by
/// name.
#[test]
fn of_forty_playbooks_with_one_trigger_those_first_in_order_survive_the_limit() {
    let many = (0..154).map(|at| {
        let trigger = if at < 40 { "report" } else { "invoice" };
        let triggers = vec![trigger.to_owned()];
        let title = Some("A department".to_owned());
        build(PlaybookParts {
            triggers,
            title,
            ..parts(&format!("p{at:03}"), "Does the work of a department.")
        })
    });
    let best = playbook("weekly", "report", "Writes the weekly report from the notes of the week.");
    let forty_one = index(many.chain([best]).collect(), AgentSettings::default());
    let first = menu(&forty_one, "weekly report", 5);
    assert_eq!(slugs(&first), ["weekly", "p000", "p001", "p002", "p003"]);
    assert_eq!(first.omitted.triggered, 36);
    for _ in 0..20 {
        assert_eq!(menu(&forty_one, "weekly report", 5), first);
    }
    // Always-on ones, triggered ones and ranked ones share one limit.
    let mixed = (0..4).map(|at| copy(&format!("a{at}"), "Always.")).chain((0..9).map(|at| {
        playbook(&format!("t{at}"), "report", "Writes the weekly report from the notes of the week.")
    }));
    let mixed = index(
        mixed.chain([playbook("r", "other", "Weekly report of the week.")]).collect(),
        AgentSettings::default(),
    );
    for limit in 1..=6 {
        assert_eq!(menu(&mixed, "weekly report of the week", limit).items.len(), limit);
    }
}

/// A description of which only the end tells its siblings apart, after more than 400 characters.
fn sibling(end: &str) -> String {
    let shared = "Reviews a change to a payment service before it is merged: reads the diff, the tests and the ticket, and looks for \
                  missing error handling, input that nobody checks, secrets in the code, migrations that cannot be undone, and names \
                  that mislead. Writes its findings as a list with file, line, severity and a proposal, the worst first, and ends with \
                  a verdict of one line. Asks for what is missing instead of guessing at it, and praises nothing.";
    assert!(shared.len() > 400);
    format!("{shared} {end}")
}

/// CASES 2.10: one description of 9,000 characters is refused with its length; the others, and what tells siblings apart,
/// are not shortened for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_huge_description_harms_neither_the_others_nor_what_tells_siblings_apart() {
    let (server_end, phone_end) =
        ("Only for what runs on servers, in Kotlin.", "Only for what runs on phones, in Swift.");
    let mut skills = vec![
        ("huge", skill_md("huge", "payment", &"Everything about payments. ".repeat(334), "Steps.")),
        ("review-server", skill_md("review-server", "", &sibling(server_end), "Steps.")),
        ("review-phone", skill_md("review-phone", "", &sibling(phone_end), "Steps.")),
    ];
    let names: Vec<String> = (0..28).map(|at| format!("other-{at}")).collect();
    skills.extend(names.iter().map(|name| {
        let text = skill_md(name, "", &format!("Keeps shelf {name} of the archive in order."), "Steps.");
        (name.as_str(), text)
    }));
    let parsed = maitred::format::parse::parse(skills[0].1.as_bytes());
    assert!(parsed.playbook.is_none());
    assert_eq!(parsed.diagnostics[0].message, "the description has 9017 characters, the limit is 1024");

    let server = TestServer::start(Setup { skills: &skills, settings: RANKED, ..Setup::default() }).await;
    assert_eq!(server.metric("maitred_playbooks").await, 30);
    let turn = "review this payment diff for missing error handling before we merge it";
    let answer = server.select(turn_request(turn)).await.unwrap();
    let mut offered: Vec<&str> = answer.items.iter().map(|item| item.slug.as_str()).collect();
    offered.sort_unstable();
    assert_eq!(offered, ["review-phone", "review-server"]);
    for end in [server_end, phone_end] {
        assert!(answer.prompt_block.contains(&format!("{}\n", sibling(end))), "{}", answer.prompt_block);
    }
    for (more, best) in
        [("it is Swift on the phone", "review-phone"), ("it is Kotlin on the server", "review-server")]
    {
        let answer = server.select(turn_request(&format!("{turn}; {more}"))).await.unwrap();
        assert_eq!(answer.items[0].slug, best);
    }
    let shelf = server.select(turn_request("put shelf other-17 of the archive in order")).await.unwrap();
    assert_eq!(shelf.items[0].slug, "other-17");
}

/// CASES 2.10: siblings that a word at the end tells apart are near-duplicates by their vectors, and the model sees both; where
/// there is one place, the turn's words decide.
#[test]
fn siblings_that_one_word_tells_apart_are_both_offered() {
    let turn = "review this payment diff for missing error handling before we merge it";
    for (one, other) in [("drafts", "releases"), ("invoices", "receipts"), ("backend", "mobile")] {
        let siblings = [("review-a", one), ("review-b", other)];
        let siblings = siblings.map(|(slug, kind)| copy(slug, &sibling(&format!("For {kind}."))));
        let shelves = (0..28).map(|at| playbook(&format!("shelf-{at}"), "", "Keeps a shelf in order."));
        let index = index(siblings.into_iter().chain(shelves).collect(), RANKED);
        assert!(index.alike(NEAR_DUPLICATE_COSINE).iter().any(|pair| pair.0.as_str() == "review-a"));
        for (asked, first, second) in [(one, "review-a", "review-b"), (other, "review-b", "review-a")] {
            let both = menu(&index, &format!("{turn}; it is about {asked}"), 0);
            assert_eq!(slugs(&both), [first, second], "{both:#?}");
            assert_eq!(both.items[0].near_duplicates, [Slug::parse(second).unwrap()]);
            let single = menu(&index, &format!("{turn}; it is about {asked}"), 1);
            assert_eq!((slugs(&single), single.omitted.near_duplicate), (vec![first], 1));
        }
    }
}

/// All of an answer but the token.
fn bytes(answer: SelectMenuResponse) -> Vec<u8> {
    SelectMenuResponse { menu_token: String::new(), ..answer }.encode_to_vec()
}

/// CASES 2.12: equal turns give equal bytes, also after other turns; an unrelated playbook changes nothing that the model
/// sees. The tool's text is always the same; its `enum` is the turn's menu, by design.
#[tokio::test(flavor = "multi_thread")]
async fn equal_turns_give_equal_bytes_and_unrelated_playbooks_change_nothing_that_the_model_sees() {
    let tide = |place: &str| format!("Reads the tide tables for sailing boats in {place} harbours.");
    let skills = [
        ("tide-b", skill_md("tide-b", "tide", &tide("northern"), "Steps.")),
        ("tide-a", skill_md("tide-a", "tide", &tide("northern"), "Steps.")),
        ("rota", skill_md("rota", "", "Plans who cooks on which day of the cruise.", "Steps.")),
    ];
    let server = TestServer::start(Setup { skills: &skills, settings: RANKED, ..Setup::default() }).await;
    let (a, b) = ("when is the tide right for sailing out", "plan who cooks on which day");
    let first = server.select(turn_request(a)).await.unwrap();
    let other = server.select(turn_request(b)).await.unwrap();
    assert_eq!(bytes(server.select(turn_request(a)).await.unwrap()), bytes(first.clone()));
    assert_eq!(bytes(server.select(turn_request(b)).await.unwrap()), bytes(other.clone()));
    server.clock.advance(600);
    assert_eq!(bytes(server.select(turn_request(a)).await.unwrap()), bytes(first.clone()));
    // Nothing tells the first two apart but their names.
    assert_eq!(first.items.iter().map(|item| &item.slug).collect::<Vec<_>>(), ["tide-a", "tide-b"]);

    let (first_tool, other_tool) = (first.tool.clone().unwrap(), other.tool.unwrap());
    let without_menu = |tool: &str| tool.replace(r#""tide-a","tide-b""#, "").replace(r#""rota""#, "");
    assert_ne!(first_tool.definition_json, other_tool.definition_json);
    assert_eq!(without_menu(&first_tool.definition_json), without_menu(&other_tool.definition_json));

    write(server.dir.path(), "zoo", &skill_md("zoo", "flamingo", "Feeds the birds of the zoo.", "Steps."));
    assert_eq!(server.menu_at(2, "flamingo").await, ["zoo"]);
    let after = server.select(turn_request(a)).await.unwrap();
    assert_eq!(after.revision, 2);
    assert_eq!(
        (&after.prompt_block, &after.tool, &after.menu_digest),
        (&first.prompt_block, &first.tool, &first.menu_digest)
    );
}

/// CASES 2.12: of the labelled turns, how many have another menu once an unrelated playbook joins the thirty, as it was on
/// 2026-12-03: 7 of 457. A larger catalogue makes words rarer, and what is near the floor, or the last of several, may change.
#[test]
fn an_unrelated_playbook_changes_the_menu_of_hardly_any_turn() {
    let library: Vec<_> = packs::library().into_iter().flat_map(|pack| pack.playbooks).collect();
    let extra =
        playbook("aquarium", "salt water tank", "Keeps the water of an aquarium clean and its corals alive.");
    let without = index(library.clone(), AgentSettings::default());
    let with = index(library.into_iter().chain([extra]).collect(), AgentSettings::default());
    let turns = include_str!("../../fixtures/quality/turns.jsonl").lines();
    let texts =
        turns.map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].as_str().unwrap().to_owned());
    let changes = |text: &String| slugs(&menu(&without, text, 0)) != slugs(&menu(&with, text, 0));
    let moved: Vec<String> = texts.filter(changes).collect();
    assert!(moved.len() <= 9, "{}: {moved:#?}", moved.len());
}

/// CASES 2.18: three copies under three names, beside ten others.
#[test]
fn copies_take_one_place_in_the_same_order_every_time_and_others_keep_theirs() {
    let text = "Plans a garden for the whole year: which bed gets which plants, and when to sow.";
    let copies = || ["a1", "a2", "a3"].map(|slug| copy(slug, text));
    let others = (0..10).map(|at| {
        let subject =
            ["roses", "beans", "lawns", "ponds", "hedges", "bees", "soil", "frost", "slugs", "tools"][at];
        playbook(&format!("garden-{subject}"), "", &format!("Answers what a garden needs for its {subject}."))
    });
    let index = index(copies().into_iter().chain(others).collect(), RANKED);
    let turn = "plan my garden for the year: which plants to sow when, and the roses";
    let first = menu(&index, turn, 0);
    assert_eq!(first.items.iter().filter(|item| item.slug.as_str().starts_with('a')).count(), 1);
    assert!(slugs(&first).contains(&"garden-roses") && first.omitted.near_duplicate == 2, "{first:#?}");
    let line = first.items.iter().find(|item| item.slug.as_str().starts_with('a')).unwrap();
    assert_eq!(line.near_duplicates.len(), 2);
    for _ in 0..20 {
        assert_eq!(menu(&index, turn, 0), first);
    }
}

/// CASES 2.18: copies that a trigger speaks for, or that are always on, leave the places to others. They fill what is left, and
/// the line of the first tells of them.
#[test]
fn copies_with_triggers_and_always_on_ones_leave_the_places_to_others() {
    let text = "Plans a garden for the whole year: which bed gets which plants, and when to sow.";
    let subjects = [
        ("roses", "Cuts roses and keeps mildew off them."),
        ("beans", "Sows beans in rows and harvests them."),
        ("pond", "Cleans the pond and feeds its fish."),
        ("bees", "Opens hives in spring and collects the honey."),
    ];
    let turn = "plan my garden for the year: roses, beans, a pond for fish, bees with hives";
    let of = |copies: &str, others: &str, settings| {
        let copies = ["a1", "a2", "a3"].map(|slug| playbook(slug, copies, text));
        let others = subjects.map(|(slug, text)| playbook(slug, others, text));
        index(copies.into_iter().chain(others).collect(), settings)
    };
    let always_on = AgentSettings::default();
    for (copies, others, settings) in
        [("garden", "fish|roses|beans|bees", RANKED), ("garden", "", RANKED), ("", "", always_on)]
    {
        let index = of(copies, others, settings);
        for limit in 1..=6 {
            let first = menu(&index, turn, limit);
            let copies = slugs(&first).iter().filter(|slug| slug.starts_with('a')).count();
            let others = first.items.len() - copies;
            assert_eq!(first.items.len(), limit, "{first:#?}");
            assert!(
                copies <= 1 || others == subjects.len().min(limit - copies),
                "{limit}: {:?}",
                slugs(&first)
            );
            assert!(copies <= 1 || first.items.iter().any(|item| item.near_duplicates.len() + 1 == copies));
            assert_eq!(menu(&index, turn, limit), first);
        }
    }
    // The passes keep their order, and what is cut is counted where it belongs.
    let triggered = menu(&of("garden", "", RANKED), turn, 6);
    let by_trigger = |item: &MenuItem| matches!(item.reason, Reason::Trigger { .. });
    assert!(triggered.items.is_sorted_by_key(|item| !by_trigger(item)), "{triggered:#?}");
    let cut = menu(&of("garden", "fish|roses|beans|bees", RANKED), turn, 5);
    assert_eq!(cut.omitted.triggered, 2, "{cut:#?}");
}

/// CASES 2.22: a playbook for explicit calls alone is on no menu, whatever asks for it, and remains one of the agent's: it is
/// listed with the reason why it is not on the menu.
#[tokio::test(flavor = "multi_thread")]
async fn an_explicit_playbook_is_on_no_menu_and_is_not_gone() {
    let text = skill_md("wipe", "wipe the disk", "Wipes the disk of a machine.", "Steps.");
    let text = text.replace("metadata:\n", "metadata:\n  maitred-explicit: \"true\"\n");
    let skills = [("wipe", text), ("soup", skill_md("soup", "soup", "Cooks onion soup.", "Steps."))];
    let server = TestServer::start(Setup { skills: &skills, ..Setup::default() }).await;
    for allowed_slugs in [vec![], vec!["wipe".to_owned()]] {
        let turn = "wipe the disk of this machine, then soup";
        let request = SelectMenuRequest { explain: true, allowed_slugs, ..turn_request(turn) };
        let answer = server.select(request).await.unwrap();
        assert!(answer.items.iter().all(|item| item.slug != "wipe") && !answer.prompt_block.contains("wipe"));
        let listed = answer.considered.iter().find(|other| other.slug == "wipe").unwrap();
        assert_eq!(listed.exclusion(), Exclusion::ExplicitOnly);
        let load = server.load(load_request(&answer.menu_token, "wipe")).await;
        check_refused(load, Code::NotFound, "SLUG_NOT_ON_MENU", "\"wipe\" is not on the menu");
    }
    assert_eq!(server.metric("maitred_playbooks").await, 2);
}
