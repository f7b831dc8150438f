//! The exporter: what is written is read as the same playbook, whatever stands in it.

use std::collections::HashSet;

use maitred::app::packs;
use maitred::domain::limits::{DESCRIPTION_CHARS_MAX, ORDER_MAX, TITLE_CHARS_MAX, TRIGGER_BYTES_MAX};
use maitred::domain::playbook::{Playbook, PlaybookParts, is_everywhere};
use maitred::domain::slug::Slug;
use maitred::domain::text::{fold, is_blank, one_line};
use maitred::format::export::{ExportError, skill_md};
use maitred::format::parse::parse;
use proptest::prelude::*;

/// Pieces that mean something to YAML, to a terminal, or to somebody who reads line by line.
const PIECES: [&str; 44] = [
    "---",
    "...",
    "--",
    "-",
    ": ",
    ":",
    " #",
    "#",
    "\"",
    "'",
    "\\",
    "\n",
    "\r",
    "\t",
    "\r\n",
    "  ",
    "{",
    "}",
    "[",
    "]",
    "&a",
    "*a",
    "!t",
    "|",
    ">",
    "%",
    "@",
    "`",
    "<<",
    "null",
    "~",
    "true",
    "007",
    "1e3",
    ", ",
    "，",
    "\u{1b}[2J",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{202e}",
    "\u{fffe}",
    "\u{1F9D1}\u{200D}\u{1F680}",
    "\u{7f}",
];

fn hostile(pieces: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let words =
        prop::sample::select(vec!["late", "invoice", "猫", "Straße", "e\u{301}", "no", "می\u{200c}رود"]);
    let piece = prop_oneof![
        prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        words.prop_map(str::to_owned),
        any::<char>().prop_filter("files have no NUL", |c| *c != '\0').prop_map(String::from),
    ];
    prop::collection::vec(piece, pieces).prop_map(|pieces| pieces.concat())
}

/// A name that keeps the rule; `no` and `007` are such, too.
fn slug() -> impl Strategy<Value = Slug> {
    "[a-z0-9]{1,6}(-[a-z0-9]{1,6}){0,4}"
        .prop_filter_map("a device of Windows", |name| Slug::parse(&name).ok())
}

fn triggers() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(hostile(1..6), 0..6).prop_map(|all| {
        let mut seen = HashSet::new();
        let usable = all.iter().map(|trigger| one_line(trigger)).filter(|trigger| {
            !is_blank(trigger) && trigger.len() <= TRIGGER_BYTES_MAX && !is_everywhere(trigger)
        });
        usable.filter(|trigger| seen.insert(fold(trigger))).collect()
    })
}

/// Foreign fields: none that looks like one of ours or like triggers, none that differs from another in case alone.
fn metadata() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec((hostile(0..4), hostile(0..8)), 0..8).prop_map(|mut all| {
        let mut seen = HashSet::new();
        all.retain(|(key, _)| seen.insert(key.to_lowercase()));
        all
    })
}

fn playbook() -> impl Strategy<Value = Playbook> {
    let texts = (slug(), hostile(1..12), prop::option::of(hostile(1..6)), prop::option::of(hostile(1..6)));
    let rest =
        (triggers(), metadata(), prop::option::of(-ORDER_MAX..=ORDER_MAX), any::<bool>(), any::<bool>());
    (texts, rest, prop::option::of(hostile(0..4)), hostile(0..20)).prop_filter_map(
        "what a file cannot have",
        |(
            (slug, description, title, license),
            (triggers, metadata, order, explicit, wanted),
            source,
            body,
        )| {
            let description: String = description.chars().take(DESCRIPTION_CHARS_MAX).collect();
            let title = title.map(|title| one_line(&title).chars().take(TITLE_CHARS_MAX).collect::<String>());
            let license = license.map(|license| license.trim().to_owned());
            Playbook::new(PlaybookParts {
                title: title.map(|title| one_line(&title)).filter(|title| !title.is_empty()),
                license: license.filter(|license| !license.is_empty()),
                triggers_wanted: wanted && triggers.is_empty(),
                triggers,
                metadata,
                order,
                explicit,
                source,
                body,
                ..PlaybookParts::new(slug, description.trim())
            })
            .ok()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn an_export_is_read_as_the_same_playbook(playbook in playbook()) {
        let text = skill_md(&playbook).unwrap();
        let parsed = parse(text.as_bytes());
        prop_assert_eq!(parsed.playbook.as_ref(), Some(&playbook), "{}", text);
        prop_assert_eq!(skill_md(parsed.playbook.as_ref().unwrap()).unwrap(), text.clone());
        let (front, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        prop_assert_eq!(body, playbook.body());
        prop_assert!(!front.contains("---"), "{}", front);
        prop_assert!(front.lines().all(|line| !line.chars().any(char::is_control)), "{:?}", front);
        let fields = ["name: ", "description: ", "license: ", "metadata:", "  "];
        prop_assert!(front.lines().all(|line| fields.iter().any(|field| line.starts_with(field))), "{}", front);
    }
}

/// Parses `file`, exports it, and checks the text.
#[track_caller]
fn check(file: &str, wanted: &str) {
    let parsed = parse(file.as_bytes());
    let playbook = parsed.playbook.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let text = skill_md(&playbook).unwrap();
    assert_eq!(text, wanted);
    assert_eq!(parse(text.as_bytes()).playbook.unwrap(), playbook);
}

#[test]
fn an_export_reads_well() {
    check(
        "---\ndescription: 'Chase a bill, when it is late.'\nname: late-invoice\nversion: 2\nmetadata:\n  author: K. Example\n  version: 1.10\n  triggers: [overdue bill, \"one, two\"]\n  maitred-order: 10\n  tags: [a, b]\nlicense: MIT\nallowed-tools: Bash(*)\n---\n\n# Steps\r\n",
        "---\nname: late-invoice\ndescription: Chase a bill, when it is late.\nlicense: MIT\nmetadata:\n  maitred-triggers: \"[\\\"overdue bill\\\",\\\"one, two\\\"]\"\n  maitred-order: \"10\"\n  author: \"K. Example\"\n  version: \"1.10\"\n---\n\n# Steps\r\n",
    );
    check(
        "---\nname: no\ndescription: |\n  Build: the rota.\n  Use it.\nmetadata:\n  maitred-title: A --- title\n  maitred-explicit: true\n  maitred-triggers: alpha beta, gamma\n  maitred-source: ''\n---\nBody",
        "---\nname: \"no\"\ndescription: \"Build: the rota.\\nUse it.\"\nmetadata:\n  maitred-title: \"A --\\x2d title\"\n  maitred-triggers: \"alpha beta, gamma\"\n  maitred-explicit: \"true\"\n  maitred-source: \"\"\n---\nBody",
    );
    // Triggers that were wanted and could not be read do not become none at all.
    check(
        "---\nname: a\ndescription: b\ntriggers: [deck]\n---\nBody",
        "---\nname: a\ndescription: b\nmetadata:\n  maitred-triggers: \"\"\n---\nBody",
    );
}

#[test]
fn keys_that_are_long_or_many_come_back() {
    let long = "k".repeat(2_000);
    let fields: Vec<String> = (0..62).map(|number| format!("  k{number}: v\n")).collect();
    let file = format!(
        "---\nname: a\ndescription: b\nmetadata:\n  ? {long}\n  : v\n  triggers: alpha beta, gamma\n{}---\nBody",
        fields.concat()
    );
    let playbook = parse(file.as_bytes()).playbook.unwrap();
    assert_eq!((playbook.parts().metadata.len(), playbook.triggers().len()), (64, 2));
    let text = skill_md(&playbook).unwrap();
    assert!(text.contains(&format!("  ? {long}\n  : \"v\"\n")));
    assert_eq!(parse(text.as_bytes()).playbook.unwrap(), playbook);
}

#[test]
fn what_a_file_cannot_say_is_an_error_and_not_a_loss() {
    let slug = || Slug::parse("some-name").unwrap();
    let of = |change: fn(&mut PlaybookParts)| {
        let mut parts = PlaybookParts::new(slug(), "Some words.");
        change(&mut parts);
        skill_md(&Playbook::new(parts).unwrap())
    };
    let field = |field| Err(ExportError::NotAFile { slug: slug(), field });
    assert_eq!(of(|parts| parts.triggers = vec!["the".to_owned()]), field("triggers"));
    assert_eq!(of(|parts| parts.title = Some(String::new())), field("title"));
    assert_eq!(of(|parts| parts.license = Some(" ".to_owned())), field("license"));
    assert_eq!(
        of(|parts| parts.metadata = vec![("A".into(), "b".into()), ("a".into(), "b".into())]),
        field("fields")
    );
    let large = of(|parts| parts.metadata = vec![("a".into(), "b".repeat(70_000))]).unwrap_err().to_string();
    assert!(large.starts_with("the file of playbook \"some-name\" would have 700"), "{large}");
    assert!(large.contains("bytes, the limit is 65536; shorten"), "{large}");
}

#[test]
fn the_library_is_exported_as_it_is_written() {
    for playbook in packs::library().iter().flat_map(|pack| &pack.playbooks) {
        assert_eq!(parse(skill_md(playbook).unwrap().as_bytes()).playbook.as_ref(), Some(&**playbook));
    }
}

/// Found by the fuzzer: a field of ours in capitals was carried as one of others, and the export, which writes ours, had it twice.
#[test]
fn a_field_of_ours_in_capitals_is_named_and_not_carried() {
    let text = "---\nname: tides\ndescription: Reads tides.\nmetadata:\n  mAitred-triggers: \"low tide\"\n  MAITRED-TITLE: T\n---\nBody\n";
    let parsed = parse(text.as_bytes());
    let told: Vec<String> = parsed.diagnostics.iter().map(ToString::to_string).collect();
    for key in ["`mAitred-triggers` is not a field of maitred", "`MAITRED-TITLE` is not a field of maitred"] {
        assert!(told.iter().any(|line| line.contains(key)), "{told:?}");
    }
    let playbook = parsed.playbook.unwrap();
    assert!(playbook.parts().metadata.is_empty() && playbook.parts().triggers_wanted);
    assert_eq!(parse(skill_md(&playbook).unwrap().as_bytes()).playbook, Some(playbook));
}
