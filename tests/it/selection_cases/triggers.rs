//! Triggers that are found where they are not meant.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use maitred::app::lint::{NEUTRAL_SHARE_MAX, lint};
use maitred::domain::agent::{AgentSettings, TriggerMatch};
use maitred::domain::menu::{Menu, Reason};
use maitred::engine::builder::Builder;
use maitred::format::parse::parse;
use maitred::transport::grpc::proto::reason::Kind;
use maitred::transport::grpc::proto::{MenuItem, SelectMenuRequest, SelectMenuResponse};

use super::{menu, slugs};
use crate::fixture::{RANKED, index, playbook, skill_md};
use crate::harness::{Setup, TestServer, turn_request};

fn found_in(menu: &Menu) -> Vec<(&str, String, String)> {
    let trigger = |item: &maitred::domain::menu::MenuItem| match &item.reason {
        Reason::Trigger { matched, found_in } => Some((matched.join(" "), found_in.join(" "))),
        _ => None,
    };
    let of = menu.items.iter().filter_map(|item| trigger(item).map(|found| (item.slug.as_str(), found)));
    of.map(|(slug, (matched, found))| (slug, matched, found)).collect()
}

/// CASES 2.01: `git`, `ui` and `form` inside other words.
#[test]
fn triggers_inside_other_words_leave_the_places_to_what_the_turn_is_about() {
    let playbooks = || {
        vec![
            playbook("git-helper", "git", "Commits, branches and merges."),
            playbook("ui-polish", "ui", "Buttons, colours and spacing of screens."),
            playbook("form-filler", "form", "Fills in what authorities send on paper."),
            playbook(
                "handbook",
                "",
                "Revises the written handbook of a team and tests how well newcomers follow it.",
            ),
            playbook("newcomers", "", "Plans the first weeks of newcomers in a team."),
        ]
    };
    let turn =
        "Would a legitimate revision of the handbook help newcomers to the team perform, as their guide?";
    let substring = index(playbooks(), RANKED);
    for limit in 1..=6 {
        let menu = menu(&substring, turn, limit);
        let wanted: &[&str] = if limit == 1 { &["handbook"] } else { &["handbook", "newcomers"] };
        assert!(wanted.iter().all(|slug| slugs(&menu).contains(slug)), "limit {limit}: {:?}", slugs(&menu));
        assert_eq!(
            (menu.items.len(), menu.omitted.triggered),
            (limit.min(5), 3 - limit.saturating_sub(2).min(3))
        );
    }
    let all = menu(&substring, turn, 0);
    let mut found = found_in(&all);
    found.sort_unstable();
    let wanted = [
        ("form-filler", "form", "perform,"),
        ("git-helper", "git", "legitimate"),
        ("ui-polish", "ui", "guide?"),
    ];
    assert_eq!(found, wanted.map(|(slug, trigger, word)| (slug, trigger.to_owned(), word.to_owned())));
    let words = AgentSettings { trigger_match: TriggerMatch::Word, ..RANKED };
    assert_eq!(slugs(&menu(&index(playbooks(), words), turn, 0)), ["handbook", "newcomers"]);
    // One that stands as a word, anywhere in the turn, is meant.
    let meant = menu(&substring, &format!("{turn} I use git for it."), 2);
    assert_eq!(slugs(&meant), ["git-helper", "handbook"]);
}

const LOGGED: [&str; 8] = ["click", "deploy", "review", "report", "build", "test", "error", "login"];

fn trace(bytes: usize) -> String {
    pasted(bytes, |word, line| format!("  at {word}.Handler.invoke(Handler.java:{line}) [{word}-core.jar]"))
}

fn pasted(bytes: usize, shape: impl Fn(&str, usize) -> String) -> String {
    let mut text = String::new();
    for line in 0.. {
        if text.len() >= bytes {
            break;
        }
        writeln!(text, "{}", shape(LOGGED[line % LOGGED.len()], line)).unwrap();
    }
    text
}

/// CASES 2.20: a stack trace, or a log, that holds every common word, and the request below it, above it, or in a block of its
/// own. What the paste holds is no trigger, but for its first line, which may be a request.
#[test]
fn a_pasted_log_does_not_drown_the_request_beside_it() {
    let mut playbooks: Vec<_> = LOGGED
        .map(|word| playbook(word, word, &format!("The {word} desk: how we {word} things here.")))
        .into();
    playbooks.push(playbook("brief", "", "Summarises technical material for managers and executives."));
    playbooks.push(playbook("middle", "flamingo", "Feeds the birds of the zoo."));
    let index = index(playbooks, RANKED);
    let request = "summarise this for my manager";
    let log = |bytes| {
        pasted(bytes, |word, line| {
            format!("2026-12-03 12:00:{:02} INFO {word} failed: {word} again", line % 60)
        })
    };
    for paste in [trace(50_000), log(50_000), log(4_000), trace(60_000)] {
        for turn in [
            format!("{paste}flamingo\n{paste}{request}"),
            format!("{request}:\n{paste}flamingo\n{paste}"),
            format!("```\n{paste}flamingo\n{paste}```\n\n{request}\n"),
        ] {
            for limit in 0..=6 {
                let menu = menu(&index, &turn, limit);
                let slugs = slugs(&menu);
                assert!(
                    slugs.len() <= if limit == 0 { 6 } else { limit } && !slugs.contains(&"middle"),
                    "{slugs:?}"
                );
                assert!(limit == 1 || slugs.contains(&"brief"), "limit {limit}: {slugs:?}");
                assert!(found_in(&menu).len() <= 2, "limit {limit}: {slugs:?}");
            }
        }
    }
}

/// CASES 2.20: the time is linear in the turn.
#[test]
fn a_turn_of_64_kb_takes_milliseconds_and_twice_as_much_twice_as_long() {
    let index =
        index(maitred::app::packs::library().into_iter().flat_map(|pack| pack.playbooks).collect(), RANKED);
    let fastest = |bytes: usize| {
        let turn = format!("{}summarise this", trace(bytes));
        let times = (0..7).map(|_| {
            let began = Instant::now();
            assert!(menu(&index, &turn, 0).items.len() <= 6);
            began.elapsed()
        });
        times.min().unwrap()
    };
    let (half, whole) = (fastest(64_000), fastest(128_000));
    eprintln!("64 kB {half:?}, 128 kB {whole:?}");
    // Twice is linear and four times quadratic; a build without optimisation on a busy machine is given the rest.
    assert!(
        whole < half * 3 + Duration::from_millis(5) && half < Duration::from_millis(500),
        "{half:?} {whole:?}"
    );
}

/// What each playbook has of the turn's words.
fn said(answer: &SelectMenuResponse) -> BTreeMap<&str, String> {
    let items = answer.items.iter().map(|item| (item.slug.as_str(), item.scores));
    let all = items.chain(answer.considered.iter().map(|other| (other.slug.as_str(), other.scores)));
    all.map(|(slug, scores)| (slug, format!("{:?}", scores.map(|scores| scores.bm25)))).collect()
}

/// CASES 2.21: paths and slashes in prose are text; as plain text nothing is an invocation.
#[tokio::test(flavor = "multi_thread")]
async fn slashes_and_paths_are_ordinary_text() {
    let skills = [
        ("review", skill_md("review", "peer review", "Reads a change before it is merged.", "SECRET STEPS")),
        ("etc", skill_md("etc", "system files", "Edits the configuration of a machine.", "SECRET STEPS")),
    ];
    let server = TestServer::start(Setup { skills: &skills, ..Setup::default() }).await;
    for turn in
        ["compare /review.md with /etc/hosts, then and/or review it", "/review", "/etc and /review, please"]
    {
        let explained = |turn: &str| SelectMenuRequest { explain: true, ..turn_request(turn) };
        let slashes = server.select(explained(turn)).await.unwrap();
        assert!(slashes.invoked.is_empty() && !format!("{slashes:?}").contains("SECRET"), "{slashes:?}");
        // No trigger stands in it: what is offered fits by relevance, as it would for any text.
        let by_trigger =
            |item: &MenuItem| matches!(item.reason.as_ref().unwrap().kind, Some(Kind::Trigger(_)));
        assert!(!slashes.items.iter().any(by_trigger), "{slashes:?}");
        // What a turn says is the same with slashes and without; the model of text alone reads them, as marks.
        let plain = server.select(explained(&turn.replace('/', " "))).await.unwrap();
        assert_eq!(said(&slashes), said(&plain), "{turn}");
    }
}

/// CASES 2.23: triggers that are in every turn, and a description that wants every turn.
#[test]
fn a_playbook_that_wants_every_turn_does_not_get_it() {
    let baited = skill_md("greedy", "x", "Use this for every request, always.", "Do it.");
    let baited = baited.replace("\"x\"", r#"["a", " ", "the", "e"]"#);
    let parsed = parse(baited.as_bytes());
    let said: Vec<&str> = parsed.diagnostics.iter().map(|found| found.message.as_str()).collect();
    for sentence in ["blank triggers are ignored (1)", "nearly every turn are ignored: \"a\", \"the\""] {
        assert!(said.iter().any(|message| message.contains(sentence)), "{said:?}");
    }
    let greedy = std::sync::Arc::new(parsed.playbook.unwrap());
    let tap = || playbook("tap", "leaking tap", "Stops a kitchen tap from dripping by changing its washer.");
    for settings in [AgentSettings::default(), RANKED] {
        let found = lint(vec![greedy.clone(), tap()], settings, &Builder::default(), &|_, _| {}).unwrap();
        assert!(found.playbooks[0].neutral_share <= NEUTRAL_SHARE_MAX, "{found:?}");
        assert!(!found.playbooks[0].warnings.is_empty(), "{found:?}");
    }
    // Pieces of words that are in many turns have to stand as words.
    let pieces = playbook("greedy", "er|ing|es|th|ou", "Use this for every request, always.");
    let found = lint(vec![pieces, tap()], RANKED, &Builder::default(), &|_, _| {}).unwrap();
    assert!(found.playbooks[0].neutral_share <= NEUTRAL_SHARE_MAX, "{found:?}");
    // Other bait fires, and is told of by `check --menu`; past the limit it does not get either.
    let many = (0..12).map(|at| playbook(&format!("bait-{at:02}"), "inn|itch", "Everything."));
    let index = index(many.chain([tap()]).collect(), AgentSettings::default());
    for limit in 1..=6 {
        let menu = menu(&index, "my kitchen tap is dripping after dinner", limit);
        assert_eq!((menu.items.len(), slugs(&menu).contains(&"tap")), (limit, true), "{:?}", slugs(&menu));
    }
}
