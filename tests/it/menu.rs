//! Which playbooks reach the menu, in which order, and what is said of the others.

use std::fmt::Write as _;
use std::sync::Arc;

use maitred::domain::agent::{AgentSettings, StrayShare, TriggerMatch, Untriggered};
use maitred::domain::menu::{Exclusion, Menu, Reason};
use maitred::domain::playbook::{Playbook, PlaybookParts};
use maitred::domain::query::MenuQuery;
use maitred::engine::scratch::Scratch;
use maitred::engine::select::select;
use maitred::engine::snapshot::AgentIndex;

use crate::fixture::{RANKED, build, copy, index, parts, playbook};

const WORD: AgentSettings = AgentSettings {
    untriggered: Untriggered::AlwaysOn,
    trigger_match: TriggerMatch::Word,
    stray_share: StrayShare::DEFAULT,
};

/// What tells tide tables apart.
const HARBOURS: [&str; 5] = [
    "northern harbours with mountains of granite",
    "tropical harbours among coral reefs",
    "harbours behind the locks of canals",
    "military harbours that need a permit",
    "harbours where grain is loaded",
];

/// The menu as text: `slug (reason), ...`, then what was omitted.
fn shown(menu: &Menu) -> String {
    let mut text = String::new();
    for item in &menu.items {
        let reason = match &item.reason {
            Reason::AlwaysOn => "always on".to_owned(),
            Reason::Trigger { matched, .. } => matched.join("|"),
            Reason::Semantic { .. } => "semantic".to_owned(),
        };
        write!(text, "{}{} ({reason})", if text.is_empty() { "" } else { ", " }, item.slug).unwrap();
    }
    let omitted = menu.omitted;
    if omitted.total() > 0 {
        write!(text, "; omitted {}/{}/{}", omitted.always_on, omitted.triggered, omitted.semantic).unwrap();
    }
    text
}

fn menu(index: &AgentIndex, turn: &str, limit: usize) -> Menu {
    let query = MenuQuery::new(turn).unwrap().with_limit(limit).unwrap();
    select(index, &query, &mut Scratch::default())
}

#[track_caller]
fn check(index: &AgentIndex, turn: &str, wanted: &str) {
    assert_eq!(shown(&menu(index, turn, 0)), wanted, "{turn}");
}

fn office() -> Vec<Arc<Playbook>> {
    vec![
        playbook(
            "pdf-fill",
            "fill in a pdf|pdf form",
            "Fills in the fields of a PDF form and saves a flat copy.",
        ),
        playbook(
            "doc-edit",
            "edit a document",
            "Edits the wording, headings and fields of a document or form.",
        ),
        playbook("late-invoice", "overdue", "Chases an invoice that was not paid in time."),
        playbook("team-lunch", "lunch order", "Collects what everybody wants to eat and orders it."),
    ]
}

#[test]
fn exact_trigger_beats_similar_text() {
    let index = index(office(), AgentSettings::default());
    let turn = "fill in a PDF form and edit the wording of the headings in the document";
    check(&index, turn, "pdf-fill (fill in a pdf|pdf form), doc-edit (semantic)");
    check(&index, "the invoice of March is OVERDUE", "late-invoice (overdue)");
    check(&index, "what is the capital of Peru?", "");
}

#[test]
fn a_playbook_without_triggers_is_always_on_or_ranked_as_the_agent_says() {
    let with_untriggered = || {
        let wanted =
            PlaybookParts { triggers_wanted: true, ..parts("wanted", "Wanted triggers and has none.") };
        let mut playbooks = office();
        playbooks.extend([playbook("house-style", "", "How we write."), build(wanted)]);
        playbooks
    };
    let always = index(with_untriggered(), AgentSettings::default());
    check(&always, "the invoice is overdue", "house-style (always on), late-invoice (overdue)");
    check(&always, "what is the capital of Peru?", "house-style (always on)");
    let ranked = index(with_untriggered(), RANKED);
    check(&ranked, "the invoice is overdue", "late-invoice (overdue)");
    check(&ranked, "how do we write in our house style, how we write", "house-style (semantic)");
}

/// CASES 2.08.
#[test]
fn limits_cut_last_and_everything_cut_is_counted() {
    let always = (1..=8).map(|i| copy(&format!("a{i}"), "Always."));
    let always = index(always.collect(), AgentSettings::default());
    let six =
        "a1 (always on), a2 (always on), a3 (always on), a4 (always on), a5 (always on), a6 (always on)";
    check(&always, "anything", &format!("{six}; omitted 2/0/0"));
    assert_eq!(shown(&menu(&always, "anything", 2)), "a1 (always on), a2 (always on); omitted 6/0/0");

    let many =
        (0..154).map(|i| playbook(&format!("p{i:03}"), if i < 40 { "report" } else { "other" }, "Writes."));
    let many = index(many.collect(), AgentSettings::default());
    for limit in 0..=6 {
        let menu = menu(&many, "weekly report", limit);
        let expected = if limit == 0 { 6 } else { limit };
        assert_eq!((menu.items.len(), menu.omitted.triggered), (expected, 40 - expected), "limit {limit}");
    }

    // Relevance tops up to the default of three only, or to the limit that was asked for.
    let alike = (1..=5).map(|i| {
        playbook(
            &format!("tide-{i}"),
            "",
            &format!("Reads tide tables for sailing boats in {}.", HARBOURS[i - 1]),
        )
    });
    let alike = index(alike.collect(), RANKED);
    let turn = "read the tide tables for the sailing boats in the harbours";
    check(&alike, turn, "tide-3 (semantic), tide-5 (semantic), tide-4 (semantic); omitted 0/0/2");
    assert_eq!(menu(&alike, turn, 5).items.len(), 5);
}

#[test]
fn order_then_relevance_then_slug() {
    let ordered = |slug: &str, order: Option<i32>, triggers: &[&str]| {
        let triggers = triggers.iter().map(|&trigger| trigger.to_owned()).collect();
        build(PlaybookParts { order, triggers, title: Some("Same".to_owned()), ..parts(slug, "Words.") })
    };
    let always = index(
        vec![
            ordered("x", Some(2), &[]),
            ordered("y", Some(1), &[]),
            ordered("z", None, &[]),
            ordered("w", None, &[]),
        ],
        AgentSettings::default(),
    );
    check(&always, "hi there", "y (always on), x (always on), w (always on), z (always on)");

    // Among triggered ones relevance comes first, then the order, then the slug.
    let triggered = index(
        vec![
            ordered("c", None, &["soup"]),
            ordered("b", None, &["soup"]),
            ordered("z", Some(1), &["soup"]),
            playbook("onion-soup", "soup", "Cooks onion soup with cheese."),
        ],
        AgentSettings::default(),
    );
    check(&triggered, "onion soup with cheese", "onion-soup (soup), z (soup), b (soup), c (soup)");
}

#[test]
fn triggers_are_caseless_in_every_script() {
    let index = index(
        vec![
            playbook("strasse", "Straßenplan", "Streets."),
            playbook("bistro", "CAFÉ", "Coffee."),
            playbook("fapiao", "发票", "Invoices."),
            playbook("rocket", "🚀 launch", "Rockets."),
            playbook("greek", "ΌΣΟΣ", "Greek."),
        ],
        AgentSettings::default(),
    );
    check(&index, "der STRASSENPLAN von Bern", "strasse (Straßenplan)");
    check(&index, "the cafe\u{301} next door", "bistro (CAFÉ)");
    check(&index, "the cafe next door", "");
    check(&index, "我想开发票", "fapiao (发票)");
    // Across the border of two words too: known, and without a fix in scripts that have no spaces.
    check(&index, "我想开发票务系统", "fapiao (发票)");
    check(&index, "the 🚀 LAUNCH is near", "rocket (🚀 launch)");
    check(&index, "όσος κόσμος", "greek (ΌΣΟΣ)");
}

/// CASES 2.01: by default they do, and the answer says where.
#[test]
fn word_triggers_do_not_fire_inside_words() {
    let playbooks = || {
        vec![
            playbook("git-helper", "git", "Version control."),
            playbook("ui-polish", "ui", "Interfaces."),
            playbook("form-filler", "form", "Paper."),
            playbook("slash", "/linear", "Tickets."),
        ]
    };
    let turn = "Is it legitimate to require this guide to perform well?";
    let substring = index(playbooks(), AgentSettings::default());
    check(&substring, turn, "ui-polish (ui), git-helper (git), form-filler (form)");
    let word = index(playbooks(), WORD);
    check(&word, turn, "");
    check(&word, "use git, fill the FORM", "form-filler (form), git-helper (git)");
    check(&word, "用git提交 then git_push and gité", "git-helper (git)");
    check(&word, "gité is not git-ignored", "git-helper (git)");
    check(&word, "the gité is closed on Mondays", "");
    check(&word, "open x/linear", "slash (/linear)");
    check(&word, "open /linears", "");

    // A single letter is a name, and stands as a word whatever the rule.
    let statistics = || vec![playbook("statistics", "R", "Plots and models.")];
    for settings in [AgentSettings::default(), WORD] {
        let index = index(statistics(), settings);
        check(&index, "plot it in R, please", "statistics (R)");
        check(&index, "a rather regular error", "");
    }

    let query = MenuQuery::new(turn).unwrap().with_explain(true);
    let menu = select(&substring, &query, &mut Scratch::default());
    let Reason::Trigger { found_in, .. } = &menu.items[2].reason else { panic!("{menu:?}") };
    assert_eq!(found_in, &["perform"]);
}

/// CASES 2.22.
#[test]
fn explicit_playbooks_and_those_not_allowed_stay_off_and_are_explained() {
    let explicit =
        PlaybookParts { explicit: true, triggers: vec!["soup".to_owned()], ..parts("secret", "Soup.") };
    let index = index(
        vec![build(explicit), playbook("soup", "soup", "Cooks."), playbook("bread", "", "Bakes.")],
        AgentSettings::default(),
    );
    check(&index, "some soup", "bread (always on), soup (soup)");
    let query =
        MenuQuery::new("some soup").unwrap().with_allowed(&["soup".to_owned()]).unwrap().with_explain(true);
    let menu = select(&index, &query, &mut Scratch::default());
    assert_eq!(shown(&menu), "soup (soup)");
    let considered: Vec<_> =
        menu.considered.iter().map(|c| format!("{} {:?}", c.slug, c.exclusion)).collect();
    assert_eq!(considered, ["secret ExplicitOnly", "bread NotAllowed"]);
}

/// CASES 2.25, as far as it goes without run state.
#[test]
fn recent_turns_weigh_in_without_firing_triggers() {
    let index = index(office(), AgentSettings::default());
    let query = MenuQuery::new("now the same for April").unwrap();
    let recent = vec!["chase the overdue invoice that was not paid in time".to_owned()];
    let alone = select(&index, &query, &mut Scratch::default());
    let with_recent = query.with_recent(recent).unwrap().with_explain(true);
    let followed = select(&index, &with_recent, &mut Scratch::default());
    assert_eq!(shown(&alone), "");
    assert!(!shown(&followed).contains("overdue"), "a recent turn fires no trigger: {}", shown(&followed));
    let best = followed.items.first().map(|i| &i.slug).or(followed.considered.first().map(|c| &c.slug));
    assert_eq!(best.unwrap().as_str(), "late-invoice");
}

/// CASES 2.12 and 2.18.
#[test]
fn equal_input_gives_an_equal_menu_whatever_the_scratch_did_before() {
    let office_index = index(office(), AgentSettings::default());
    let large = (0..500).map(|i| playbook(&format!("p{i:03}"), "pdf", "Fills in forms, edits documents."));
    let large = index(large.collect(), RANKED);
    let copies = ["a1", "a2", "a3"].map(|slug| copy(slug, "Reads tide tables for sailing boats."));
    let copies = index(copies.into(), RANKED);
    let mut scratch = Scratch::default();
    let query = |turn: &str| MenuQuery::new(turn).unwrap().with_explain(true);
    let turns = ["fill in a pdf form", "read tide tables for sailing boats", "lunch order please"];
    for _ in 0..20 {
        for turn in turns {
            for index in [&office_index, &large, &copies] {
                let fresh = select(index, &query(turn), &mut Scratch::default());
                assert_eq!(select(index, &query(turn), &mut scratch), fresh, "{turn}");
            }
        }
    }
    assert_eq!(shown(&menu(&copies, turns[1], 0)), "a1 (semantic); omitted 0/0/0");
}

#[test]
fn chinese_and_japanese_find_their_playbooks() {
    let index = index(
        vec![
            playbook("fapiao", "", "开具发票：核对抬头、税号和金额，然后开票并寄给客户。"),
            playbook("huiyi", "", "会议记录：整理会议要点、决定和待办事项。"),
            playbook("ryokin", "", "料金の請求書を作成し、お客様に送ります。"),
        ],
        RANKED,
    );
    check(&index, "帮我给客户开一张发票，金额和税号都有了", "fapiao (semantic)");
    check(&index, "お客様に請求書を送りたい、料金の請求書を作成して", "ryokin (semantic)");
}

/// CASES 2.20.
#[test]
fn long_turns_are_served_and_both_ends_count() {
    let index = index(office(), AgentSettings::default());
    let log = "2026-12-02 ERROR click deploy review frame at 0x7ff\n".repeat(1_000);
    let turn = format!("{log}{log}chase the invoice that was not paid in time: overdue");
    assert!(turn.len() > 100_000 && turn.len() <= 131_072);
    check(&index, &turn, "late-invoice (overdue)");
    let cjk = "猫".repeat(43_000);
    check(&index, &cjk, "");
    // What a paste happens to contain is no trigger; what stands above or below it is.
    let paste = format!("{log}lunch order, edit a document, pdf form\n{log}");
    check(&index, &paste, "");
    for turn in [format!("{paste}the invoice is overdue"), format!("the invoice is overdue\n{paste}")] {
        let menu = menu(&index, &turn, 0);
        assert_eq!(menu.items[0].slug.as_str(), "late-invoice");
        let by_trigger = menu.items.iter().filter(|item| matches!(item.reason, Reason::Trigger { .. }));
        assert_eq!(by_trigger.count(), 1, "what a paste contains is evidence at most: {}", shown(&menu));
    }
}

#[test]
fn few_playbooks_or_none_are_no_error() {
    check(&index(vec![], RANKED), "anything", "");
    check(&index(vec![playbook("one", "word", "One.")], RANKED), "a word", "one (word)");
}

#[test]
fn queries_keep_their_bounds() {
    let turn = |text: String| MenuQuery::new(text).err().map(|error| error.to_string());
    assert_eq!(turn("x".repeat(131_072)), None);
    assert_eq!(turn("x".repeat(131_073)).unwrap(), "text: the turn has 131073 bytes, the limit is 131072");
    assert_eq!(turn(" \n\t".to_owned()).unwrap(), "text: the turn is empty: send what the user wrote");
    let query = || MenuQuery::new("x").unwrap();
    assert!(query().with_limit(6).is_ok());
    assert!(query().with_limit(7).unwrap_err().to_string().starts_with("limit: the limit is 7, at most 6"));
    assert!(query().with_recent(vec![String::new(); 17]).is_err());
    assert!(query().with_recent(vec!["x".repeat(131_073)]).is_err());
    assert!(query().with_allowed(&["Not A Slug".to_owned()]).is_err());
    assert!(query().with_allowed(&vec!["a".to_owned(); 1_001]).is_err());
}

/// CASES 2.18.
#[test]
fn copies_take_one_place_and_the_answer_says_so() {
    let text = "Reads a contract and lists the clauses that need a lawyer's eye.";
    let mut playbooks: Vec<_> = ["a1", "a2", "a3"].map(|slug| playbook(slug, "", text)).into();
    playbooks.extend(office());
    let index = index(playbooks, RANKED);
    let query = MenuQuery::new("which clauses of this contract need a lawyer").unwrap().with_explain(true);
    let first = select(&index, &query, &mut Scratch::default());
    assert_eq!((shown(&first).as_str(), first.omitted.near_duplicate), ("a3 (semantic); omitted 0/0/0", 2));
    let copies: Vec<_> = first.considered.iter().take(2).map(|c| (c.slug.as_str(), c.exclusion)).collect();
    assert_eq!(copies, [("a2", Exclusion::NearDuplicate), ("a1", Exclusion::NearDuplicate)]);
    for _ in 0..20 {
        assert_eq!(select(&index, &query, &mut Scratch::default()), first);
    }
}

/// CASES 2.03.
#[test]
fn the_most_probable_playbook_keeps_a_place_beside_many_triggers() {
    let mut playbooks: Vec<_> = (0..7)
        .map(|at| {
            playbook(
                &format!("report-{at}"),
                "report",
                &format!("Number {at} of the {} kind.", "xyzuvwq".chars().nth(at).unwrap()),
            )
        })
        .collect();
    playbooks.push(playbook(
        "contract",
        "",
        "Reads a contract and lists the clauses that need a lawyer's eye.",
    ));
    let index = index(playbooks, RANKED);
    let turn = "report which clauses of this contract need a lawyer's eye";
    for (limit, places) in [(0, 6), (3, 3), (1, 1)] {
        let menu = menu(&index, turn, limit);
        assert_eq!(menu.items.len(), places, "{}", shown(&menu));
        assert!(shown(&menu).contains("contract (semantic)"), "{}", shown(&menu));
    }
}
