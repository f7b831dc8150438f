//! Group 1: one file, in and out again.

use maitred::domain::playbook::Playbook;
use maitred::domain::slug::Slug;
use maitred::domain::text;
use maitred::format::export::skill_md;
use maitred::format::parse::parse;

fn read(file: impl AsRef<[u8]>) -> Playbook {
    let parsed = parse(file.as_ref());
    parsed.playbook.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics))
}

fn refusal(file: impl AsRef<[u8]>) -> String {
    parse(file.as_ref()).refusal().expect("it is refused").to_string()
}

/// 1.04: the folded and the literal spelling stay what they are, and have the same line on a menu.
#[test]
fn literal_and_folded_blocks_have_one_line() {
    let file = |indicator: &str| {
        read(format!(
            "---\nname: choir-rota\ndescription: {indicator}\n  Build the choir rota.\n  USE FOR: swaps, absences.\n---\nBody\n"
        ))
    };
    let (literal, folded) = (file("|"), file(">"));
    assert_eq!(literal.description().trim_end(), "Build the choir rota.\nUSE FOR: swaps, absences.");
    assert_eq!(literal.description_line(), folded.description_line());
    assert_eq!(read(skill_md(&literal).unwrap()).description(), literal.description());
}

/// 1.06, 1.08, 1.12, 1.25: in, out and in again is a fixed point, with one frontmatter, whatever the line endings.
#[test]
fn in_and_out_is_a_fixed_point() {
    let crlf = "---\nname: crlf-demo\ndescription: Windows file.\n---\n\n# Body\n";
    for file in [
        crlf.to_owned(),
        crlf.replace('\n', "\r\n"),
        crlf.replace('\n', "\r"),
        "---\nname: rule-lines\ndescription: Body has rules.\n---\nPart one\n\n---\n\n```yaml\n---\nname: not-me\n---\n```\nPart two\n".to_owned(),
        "---\nname: kiln-log\ndescription: Log kiln firings.\nmetadata:\n  version: 1.10\n  fired: 2025-03-04\n  tags: [clay, glaze]\n  vendor: {tier: 2}\n---\nBody\n".to_owned(),
        "---\n\"name\": bee-diary\ndescription: Hive notes.\nmetadata:\n  name: Queen Example\n---\nBody\n".to_owned(),
        "---\nname: a\ndescription: b\n---\n---\nname: inner\n---\n".to_owned(),
        "---\nname: a\ndescription: b\n---".to_owned(),
    ] {
        let first = read(&file);
        let out = skill_md(&first).unwrap();
        let second = read(&out);
        assert_eq!(second, first, "{file:?}");
        assert_eq!(skill_md(&second).unwrap(), out, "{file:?}");
        assert_eq!(out.matches(&format!("name: {}\n", first.slug())).count(), 1, "{out}");
        assert!(out.ends_with(first.body()), "{out}");
    }
    let kiln = "---\nname: kiln-log\ndescription: d\nmetadata:\n  version: 1.10\n---\nBody\n";
    assert!(skill_md(&read(kiln)).unwrap().contains("  version: \"1.10\"\n"));
}

/// 1.13: words stay words. `no` is in nearly every turn and is refused as a trigger, by name.
#[test]
fn words_that_yaml_would_type_stay_words() {
    let file = "---\nname: shift-clock\ndescription: Clock rules.\nmetadata:\n  triggers: [no, off, 007, 12:30, 1e3]\n---\nBody\n";
    let parsed = parse(file.as_bytes());
    assert!(parsed.diagnostics.iter().any(|said| said.message.ends_with("are ignored: \"no\"")));
    let playbook = parsed.playbook.unwrap();
    assert_eq!(playbook.triggers(), ["off", "007", "12:30", "1e3"]);
    assert!(skill_md(&playbook).unwrap().contains("  maitred-triggers: \"off, 007, 12:30, 1e3\"\n"));
}

/// 1.18: what is cut is cut between characters, and marked.
#[test]
fn cuts_are_marked_and_fall_between_characters() {
    let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}";
    for description in ["猫".repeat(400), format!("{}{family}", "a".repeat(249))] {
        let playbook = read(format!("---\nname: a\ndescription: {description}\n---\nBody\n"));
        assert_eq!(playbook.description_line(), description);
        let cut = text::escaped(playbook.description_line(), 250);
        assert!(cut.ends_with('…') && cut.chars().count() == 251, "{cut}");
        for bytes in 240..270 {
            assert!(description.starts_with(text::prefix_bytes(&description, bytes)));
        }
    }
}

/// 1.19 and 4.01: one rule for every name, nothing silently made to fit, and a proposal.
#[test]
fn names_that_break_the_rule_are_refused_with_a_proposal() {
    let long = "a".repeat(65);
    for (name, proposal) in [
        ("café-notes", "cafe-notes"),
        ("data_cleaner", "data-cleaner"),
        ("Data-Cleaner", "data-cleaner"),
        ("a--b", "a-b"),
        ("-a", "a"),
        ("a-", "a"),
        (&long, &long[..64]),
        ("ｐｄｆ", "pdf"),
        ("étude", "etude"),
        ("a.b", "a-b"),
        (" pdf ", "pdf"),
        ("pdf\n", "pdf"),
        ("../evil", "evil"),
        ("..", ""),
        ("a/../b", "a-b"),
        ("/abs", "abs"),
        ("C:\\x", "c-x"),
        ("a\\..\\b", "a-b"),
        ("con", "con-playbook"),
        ("nul", "nul-playbook"),
        ("%2e%2e", "2e-2e"),
    ] {
        let quoted = serde_json::to_string(name).unwrap();
        let said = refusal(format!("---\nname: {quoted}\ndescription: d\n---\nBody\n"));
        let advice =
            if proposal.is_empty() { "choose a name" } else { &format!("`name: {proposal}` is a name") };
        assert!(said.starts_with("line 2: the name \"") && said.contains(advice), "{name:?}: {said}");
        assert!(Slug::parse(name).is_err());
    }
    // A NUL is refused as one, before it is a name.
    assert!(refusal("---\nname: \"a\\0b\"\ndescription: d\n---\nB").contains("has a NUL"));
}

/// 1.24 and 4.19: an export has the four fields of the specification alone, and never a tool grant.
#[test]
fn an_export_has_four_fields_and_no_grant() {
    for grant in ["Bash(*)", "[Bash, Read]", "Bash(git add:*), Read", "Read Write", "Bash(git", "{a: b}"] {
        let file = format!(
            "---\nname: tide-table\ndescription: Read tide tables.\nversion: 2\ntriggers: [tide]\nauthor: K. Example\nlicense: MIT\ncompatibility: linux\nallowed-tools: {grant}\nmetadata:\n  a: b\n---\nBody\n"
        );
        let out = skill_md(&read(file)).unwrap();
        let keys: Vec<&str> = out
            .lines()
            .skip(1)
            .take_while(|line| *line != "---")
            .filter_map(|line| line.split(':').next())
            .collect();
        assert_eq!(
            keys,
            ["name", "description", "license", "metadata", "  maitred-triggers", "  a"],
            "{out}"
        );
    }
}
