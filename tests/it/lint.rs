//! What authors are told of their playbooks before users meet them.

use std::sync::Arc;

use maitred::app::lint::{Lint, NEUTRAL_SHARE_MAX, lint};
use maitred::app::packs;
use maitred::domain::playbook::Playbook;
use maitred::engine::builder::Builder;

use crate::cli::{check, json, run};
use crate::fixture::{RANKED, playbook, skill_md};

fn found(playbooks: Vec<Arc<Playbook>>) -> Lint {
    lint(playbooks, RANKED, &Builder::default(), &|_, _| {}).unwrap()
}

#[track_caller]
fn warned(lint: &Lint, slug: &str, wanted: &[&str]) {
    let own = lint.playbooks.iter().find(|found| found.slug.as_str() == slug).unwrap();
    assert_eq!(own.warnings.len(), wanted.len(), "{own:?}");
    for wanted in wanted {
        assert!(own.warnings.iter().any(|warning| warning.contains(wanted)), "{wanted}: {own:?}");
    }
}

/// CASES 2.23: padded triggers and a description for everything.
#[test]
fn baited_triggers_and_empty_descriptions_are_named() {
    let lint = found(vec![
        playbook("greedy", "a|the|in", "Use this for every request, always."),
        playbook("chatty", "the report", "Tidies a garden shed in autumn, before the frost comes."),
        playbook("honest", "leaking tap", "Stops a kitchen tap from dripping by changing its washer."),
    ]);
    assert!(lint.neutral_turns >= 200);
    let greedy = &lint.playbooks[1];
    assert!(greedy.slug.as_str() == "greedy" && greedy.neutral_share > 0.4, "{greedy:?}");
    let common = ["\"a\" is in", "\"the\" is in", "\"in\" is in", "fires on", "says almost nothing"];
    warned(&lint, "greedy", &common);
    warned(&lint, "honest", &[]);
}

/// CASES 2.05 and 2.18: what a description selects and which are alike is told; `selection_cases::serving` has the server's side.
#[test]
fn playbooks_that_cannot_be_told_apart_are_named_on_both_sides() {
    let text = "Reads a contract and lists the clauses that need a lawyer's eye.";
    let lint = found(vec![
        playbook("one", "", text),
        playbook("other", "", text),
        playbook("tap", "", "Stops a kitchen tap from dripping."),
    ]);
    warned(&lint, "one", &["told from other"]);
    warned(&lint, "other", &["told from one"]);
}

/// CASES 2.05: the warning names what comes instead.
#[test]
fn what_comes_instead_of_a_playbook_is_named() {
    let wide = |city: &str| {
        playbook(
            &format!("parcel-tracking-{city}"),
            "parcel tracking",
            &format!(
                "Tracks a lost parcel and writes to the carrier, for customers of the branch in {city}."
            ),
        )
    };
    let cities = ["bern", "oslo", "lima"].map(wide);
    let narrow = playbook("p", "", "Parcel tracking.");
    let lint = found(cities.into_iter().chain([narrow]).collect());
    warned(&lint, "p", &["says almost nothing", "does not select it; parcel-tracking-"]);
    let own = lint.playbooks.iter().find(|found| found.slug.as_str() == "p").unwrap();
    for city in ["bern", "oslo", "lima"] {
        assert!(own.warnings.iter().any(|warning| warning.contains(city)), "{own:?}");
    }
}

#[test]
fn the_library_has_no_warning() {
    let lint = found(packs::library().into_iter().flat_map(|pack| pack.playbooks).collect());
    for playbook in &lint.playbooks {
        assert!(playbook.warnings.is_empty() && playbook.neutral_share <= NEUTRAL_SHARE_MAX, "{playbook:?}");
    }
}

#[test]
fn check_looks_at_menus_when_it_is_asked_to() {
    let dir = tempfile::tempdir().unwrap();
    for (slug, triggers) in [("tap", "leaking tap"), ("shed", "day")] {
        std::fs::create_dir(dir.path().join(slug)).unwrap();
        let text =
            skill_md(slug, triggers, "Mends what drips and what creaks in an old house.", "First look.");
        std::fs::write(dir.path().join(slug).join("SKILL.md"), text).unwrap();
    }
    let path = dir.path().to_str().unwrap();
    let wanted = [
        "triggers of 3 characters or fewer",
        "shed: the trigger \"day\" is in",
        "on menus: 2 of 2 playbooks have warnings",
        "neutral turns",
    ];
    check(&run(&["check", "--menu", path]), 0, &wanted, &[]);
    let report = json(&run(&["check", "--menu", "--json", path]));
    assert_eq!(report["menu"]["playbooks"][0]["slug"], "shed");
    assert!(json(&run(&["check", "--json", path])).get("menu").is_none());
}
