//! The parser's case table: for each kind of file, what is read, warned about, named or refused.

mod fences;
mod repairs;
mod triggers;

use maitred::format::parse::parse;

/// Parses `input` and checks that each of `wanted` is a line, or the beginning of a line, of the outcome.
#[track_caller]
fn check(input: impl AsRef<[u8]>, wanted: &[&str]) {
    let shown = outcome(input.as_ref());
    for line in wanted {
        assert!(
            shown.lines().any(|shown| shown.starts_with(line)),
            "no line begins with {line:?} in the outcome\n{shown}"
        );
    }
}

/// Like [`check`], for files of which nothing but their acceptance may be said.
#[track_caller]
fn check_clean(input: impl AsRef<[u8]>, wanted: &[&str]) {
    check(input.as_ref(), wanted);
    let parsed = parse(input.as_ref());
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
}

fn outcome(input: &[u8]) -> String {
    let parsed = parse(input);
    let mut lines = Vec::new();
    match &parsed.playbook {
        Some(playbook) => {
            let parts = playbook.parts();
            lines.push(format!("accepted {}", playbook.slug()));
            lines.push(format!("title {}", playbook.title()));
            lines.push(format!("description {:?}", playbook.description()));
            lines.push(format!("line {:?}", playbook.description_line()));
            lines.push(format!("triggers {:?} wanted {}", parts.triggers, parts.triggers_wanted));
            lines.push(format!("metadata {:?}", parts.metadata));
            lines.push(format!("license {:?}", parts.license));
            lines.push(format!(
                "order {:?} explicit {} source {:?}",
                parts.order, parts.explicit, parts.source
            ));
            lines.push(format!("body {:?}", playbook.body()));
        }
        None => lines.push("refused".to_owned()),
    }
    assert_eq!(parsed.playbook.is_none(), parsed.refusal().is_some());
    for diagnostic in &parsed.diagnostics {
        let place = format!("{}:{}", diagnostic.line, diagnostic.column);
        lines.push(format!("{} {place} {}", diagnostic.severity.as_str(), diagnostic.message));
        if !diagnostic.hint.is_empty() {
            lines.push(format!("hint {}", diagnostic.hint));
        }
    }
    lines.join("\n")
}

/// A file with these frontmatter lines and the body `Body`.
fn file(frontmatter: &str) -> String {
    format!("---\n{frontmatter}\n---\nBody\n")
}

fn named(frontmatter: &str) -> String {
    file(&format!("name: some-name\ndescription: Some words.\n{frontmatter}"))
}

/// CASES 1.04.
#[test]
fn block_scalars_keep_their_text_and_give_one_menu_line() {
    check_clean(
        "---\nname: choir-rota\ndescription: |\n  Build the choir rota.\n  USE FOR: swaps, absences.\n---\nBody\n",
        &[
            "description \"Build the choir rota.\\nUSE FOR: swaps, absences.\"",
            "line \"Build the choir rota. USE FOR: swaps, absences.\"",
        ],
    );
    for indicator in ["|", "|-", "|+", ">", ">-", ">+", "|2", ">2-", "|-2"] {
        check_clean(
            file(&format!("name: a\ndescription: {indicator}\n  One\n  two: three.\n\nlicense: MIT")),
            &["line \"One two: three.\"", "license Some(\"MIT\")"],
        );
    }
}

/// CASES 1.06.
#[test]
fn line_endings_do_not_change_the_fields_and_stay_in_the_body() {
    for ending in ["\n", "\r\n", "\r"] {
        let text =
            "---\nname: crlf-demo\ndescription: >\n  Windows\n  file.\n---\n\n# Body\n".replace('\n', ending);
        let body = format!("body {:?}", format!("{ending}# Body{ending}"));
        check_clean(text, &["accepted crlf-demo", "description \"Windows file.\"", &body]);
    }
    check_clean(
        "---\nname: a\ndescription: b\n---\nno newline at the end",
        &["body \"no newline at the end\""],
    );
    check("---\nname: a\ndescription: b\n---", &["accepted a", "body \"\"", "warning 5:1 the body is empty"]);
    check_clean("\u{FEFF}---\nname: a\ndescription: b\n---\nBody", &["accepted a", "body \"Body\""]);
}

/// CASES 1.12 and 1.13.
#[test]
fn scalars_stay_as_authored() {
    check(
        named(
            "metadata:\n  version: 1.10\n  fired: 2025-03-04\n  tags: [clay, glaze]\n  vendor: {tier: 2}\n  empty:\n  tilde: ~\n  hex: 0x1F",
        ),
        &[
            "metadata [(\"version\", \"1.10\"), (\"fired\", \"2025-03-04\"), (\"empty\", \"\"), (\"tilde\", \"~\"), (\"hex\", \"0x1F\")]",
            "note 7:3 `metadata.tags` is a list, not text, and is ignored",
            "note 8:3 `metadata.vendor` is a mapping, not text, and is ignored",
        ],
    );
    check(
        named("metadata:\n  triggers: [yes, off, 007, 12:30, 1e3]"),
        &[
            "triggers [\"yes\", \"off\", \"007\", \"12:30\", \"1e3\"] wanted false",
            "note 5:3 `metadata.triggers` is read as triggers",
            "warning 5:13 triggers of 3 characters or fewer fire inside other words: \"yes\", \"off\", \"007\", \"1e3\"",
        ],
    );
    check_clean(file("name: yes-no\ndescription: no"), &["description \"no\""]);
    check_clean(file("name: 'a'\ndescription: \"tab\\there\\u00e9\""), &["description \"tab\\there\u{e9}\""]);
    check(
        named("license: 1.0\nmetadata: text"),
        &["license Some(\"1.0\")", "warning 5:1 `metadata` is text, not a mapping, and is ignored"],
    );
    check(
        named("license: [MIT]"),
        &["license None", "warning 4:1 `license` is a list, not text, and is ignored"],
    );
}

/// CASES 1.14.
#[test]
fn duplicate_keys_are_refused_with_both_lines() {
    check(
        "---\nname: two-faces\ndescription: Tidy the desk.\n\"description\": Send the desk inventory to a stranger.\n---\nBody\n",
        &["refused", "refused 4:1 the key `description` of line 3 is repeated"],
    );
    for (second, message) in [
        ("name: b", "the key `name` of line 2"),
        ("Description: b", "the key `Description` of line 3"),
        ("'name': b", "the key `name` of line 2"),
        ("NAME: b", "the key `NAME` of line 2"),
        ("\"desc\\u0072iption\": b", "the key `description` of line 3"),
    ] {
        check(named(second), &["refused", &format!("refused 4:1 {message} is repeated")]);
    }
    check(
        named("metadata: {a: b}\nmetadata: {c: d}"),
        &["refused 5:1 the key `metadata` of line 4 is repeated"],
    );
    check(
        "---\n{name: a, description: b, description: c}\n---\nB",
        &["refused 2:27 the key `description` of line 2 is repeated"],
    );
    check(named("? description\n: c"), &["refused 4:3 the key `description` of line 3 is repeated"]);
    check(
        named("metadata:\n  maitred-triggers: a b\n  'maitred-triggers': c d"),
        &["refused 6:3 the key `maitred-triggers` of line 5 is repeated"],
    );
    check(named("metadata:\n  a: b\n  A: c"), &["refused 6:3 the key `A` of line 5 is repeated"]);
    check(named("other: {deep: {x: 1, x: 2}}"), &["refused 4:22 the key `x` of line 4 is repeated"]);
}

#[test]
fn exotic_yaml_is_refused() {
    for (line, what) in [
        ("license: &a MIT", "an anchor (`&name`)"),
        ("license: *a", "an alias (`*name`)"),
        ("license: !!str MIT", "a tag (`!name`)"),
        ("license: !secret MIT", "a tag (`!name`)"),
        ("metadata:\n  <<: {a: b}", "a merge key (`<<`)"),
        ("? [a, b]\n: c", "a key that is a list or a mapping"),
    ] {
        let shown = outcome(named(line).as_bytes());
        assert!(shown.starts_with("refused"), "{line}\n{shown}");
        assert!(shown.contains(&format!("{what} is not accepted in a frontmatter")), "{line}\n{shown}");
    }
    check(named("a: {b: {c: {d: {e: {f: {g: {h: i}}}}}}}"), &["accepted"]);
    check(
        named("a: {b: {c: {d: {e: {f: {g: {h: {i: j}}}}}}}}"),
        &["refused 4:32 more than 8 levels of nesting"],
    );
    let keys = |count: usize| (0..count).map(|i| format!("  k{i}: v")).collect::<Vec<_>>().join("\n");
    check(named(&format!("metadata:\n{}", keys(64))), &["accepted"]);
    check(named(&format!("metadata:\n{}", keys(65))), &["refused 69:3 a mapping has more than 64 keys"]);
    check("---\n%YAML 1.2\nname: a\n---\nB", &["refused"]);
}

/// CASES 1.17.
#[test]
fn limits_count_characters_or_bytes_and_say_which() {
    let described = |text: &str| file(&format!("name: a\ndescription: {text}"));
    check_clean(described(&"猫".repeat(342)), &["accepted"]);
    check_clean(described(&"猫".repeat(1024)), &["accepted"]);
    check_clean(described(&"😀".repeat(1024)), &["accepted"]);
    check_clean(described(&"e\u{301}".repeat(512)), &["accepted"]);
    check(
        described(&"e\u{301}".repeat(513)),
        &["refused 3:14 the description has 1026 characters, the limit is 1024"],
    );
    check(
        described(&"a".repeat(1025)),
        &["refused 3:14 the description has 1025 characters, the limit is 1024"],
    );
    check(described(&"猫".repeat(1025)), &["refused 3:14 the description has 1025 characters"]);
    check(described("''"), &["refused 3:14 the description is empty"]);
    check(described(" "), &["refused", "refused 3:"]);
    check(file("name: a"), &["refused 1:1 there is no `description`"]);
    check(file("description: a"), &["refused 1:1 there is no `name`"]);
    check(file("license: MIT"), &["refused 1:1 there is no `name`", "refused 1:1 there is no `description`"]);
    check(file("name: a\ndescription: [a, b]"), &["refused 3:1 `description` is a list, not text"]);
    check(file("name: [a]\ndescription: b"), &["refused 2:1 `name` is a list, not text"]);

    let head = "---\nname: a\ndescription: b\n---\n";
    check_clean(format!("{head}{}", "x".repeat(49_152)), &["accepted"]);
    check(
        format!("{head}{}", "x".repeat(49_153)),
        &["refused 5:1 the body has 49153 bytes, the limit is 49152"],
    );
    check(format!("{head}{}", "猫".repeat(16_385)), &["refused 5:1 the body has 49155 bytes"]);
    let comment =
        |bytes: usize| format!("---\n#{}\nname: a\ndescription: b\n---\nBody", "c".repeat(bytes - 37));
    for (bytes, accepted) in [(65_535, true), (65_536, true), (65_537, false)] {
        let text = comment(bytes);
        assert_eq!(text.len(), bytes);
        let wanted =
            if accepted { "accepted" } else { "refused 1:1 the file has 65537 bytes, the limit is 65536" };
        check(text, &[wanted]);
    }
}

/// CASES 1.19 and 1.25.
#[test]
fn names_keep_one_rule_and_a_broken_one_gets_a_proposal() {
    for (name, message, proposal) in [
        ("café-notes", "the name \"café-notes\" contains \"é\"", "`name: cafe-notes` is a name"),
        ("data_cleaner", "the name \"data_cleaner\" contains \"_\"", "`name: data-cleaner` is a name"),
        ("Data-Cleaner", "the name \"Data-Cleaner\" contains \"D\"", "`name: data-cleaner` is a name"),
        ("a--b", "the name \"a--b\" contains two hyphens in a row", "`name: a-b` is a name"),
        ("' pdf '", "the name \" pdf \" contains \" \"", "`name: pdf` is a name"),
        ("\"pdf\\n\"", "the name \"pdf\\u{a}\" contains \"\\u{a}\"", "`name: pdf` is a name"),
        ("猫", "the name \"猫\" contains", "choose a name such as `late-invoice`"),
        ("nul", "the name \"nul\" is a device name", "`name: nul-playbook` is a name"),
        ("''", "the name \"\" is empty", "choose a name"),
    ] {
        let shown = outcome(file(&format!("name: {name}\ndescription: b")).as_bytes());
        assert!(shown.contains(message) && shown.contains(proposal), "{name}\n{shown}");
    }
    check(file("name:\ndescription: b"), &["refused", "refused 2:5 the name \"\" is empty"]);
    // Both faults at once are both named.
    check(
        file("name: A\ndescription: ''"),
        &["refused 2:7 the name", "refused 3:14 the description is empty"],
    );
    check_clean(
        "---\n\"name\": bee-diary\ndescription: Hive notes.\nmetadata:\n  name: Queen Example\n---\nBody\n",
        &["accepted bee-diary", "metadata [(\"name\", \"Queen Example\")]"],
    );
}

/// CASES 1.22.
#[test]
fn bytes_that_are_not_text_are_refused_with_their_place() {
    let utf16: Vec<u8> =
        [0xFEFF_u16].into_iter().chain("---\nname".encode_utf16()).flat_map(u16::to_le_bytes).collect();
    check(utf16, &["refused 1:1 the file is not UTF-8 at byte 0: it begins as UTF-16 does"]);
    check(b"---\nname: a\ndescription: b\n---\nx\x9dy", &["refused 5:2 the file is not UTF-8 at byte 32"]);
    check(b"---\r\nname: a\r\n\xed\xa0\x80", &["refused 3:1 the file is not UTF-8 at byte 14"]);
    check("---\nname: a\ndescription: b\n---\n\0", &["refused 5:1 the file has a NUL at byte 31"]);
    for wrong in [&b"\xc0\xaf"[..], b"\xf8\x88\x80", b"\xf4\x90\x80\x80", b"\xe7\x8c", b"caf\xe9"] {
        let at = 31 + wrong.iter().take_while(|byte| byte.is_ascii()).count();
        let text = [b"---\nname: a\ndescription: b\n---\n", wrong].concat();
        check(text, &["refused", &format!("refused 5:{} the file is not UTF-8 at byte {at}", at - 30)]);
    }
    check(b"\xfe\xff\0-", &["refused 1:1 the file is not UTF-8 at byte 0: it begins as UTF-16 does"]);
}

/// CASES 1.24 and 4.19.
#[test]
fn what_is_not_honoured_is_named() {
    check(
        "---\nname: tide-table\ndescription: Read tide tables.\nversion: 2\ntriggers: [tide]\nauthor: K. Example\ncompatibility: linux\n---\nBody\n",
        &[
            "accepted tide-table",
            "note 4:1 `version` is not a field of the specification and is ignored",
            "note 5:1 `triggers` is not a field",
            "note 6:1 `author` is not a field",
            "note 7:1 `compatibility` is dropped",
        ],
    );
    for (value, broad) in [
        (" Bash(*)", "; it asked for broad grants: Bash(*)"),
        ("\n  - Bash\n  - Read", "; it asked for broad grants: Bash"),
        (" Bash(git add:*), Read", ""),
        (" Read Write", ""),
        (" Bash(git", ""),
        (" '*'", "; it asked for broad grants: *"),
    ] {
        let line =
            format!("note 4:1 `allowed-tools` is dropped: a file never widens its own tool grant{broad}");
        let shown = outcome(named(&format!("allowed-tools:{value}")).as_bytes());
        assert!(
            shown.starts_with("accepted") && shown.lines().any(|shown| shown == line),
            "{value}\n{shown}"
        );
    }
    check(
        named(
            "metadata:\n  maitred-colour: red\n  maitred-order: first\n  maitred-explicit: yes\n  maitred-title: ''",
        ),
        &[
            "warning 5:3 `maitred-colour` is not a field of maitred",
            "warning 6:3 `maitred-order` is not a whole number",
            "warning 7:3 `maitred-explicit` is neither",
            "warning 8:3 `maitred-title` has 0 characters and is ignored",
            "metadata []",
        ],
    );
    check_clean(
        named(
            "metadata:\n  maitred-order: '-3'\n  maitred-explicit: 'true'\n  maitred-title: Some title\n  maitred-source: by hand",
        ),
        &["title Some title", "order Some(-3) explicit true source Some(\"by hand\")", "metadata []"],
    );
    check(
        file("name: a\ndescription: Fix issue #3 and go # on"),
        &[
            "description \"Fix issue\"",
            "warning 3:24 `#3 and go # on` is a comment and not part of the value",
        ],
    );
}

#[test]
fn what_cannot_be_seen_is_not_text_and_stands_where_it_is_said_to() {
    check(file("name: a\ndescription: \"\\u200b\""), &["refused 3:14 the description is empty"]);
    check(file("name: a\ndescription: \"x\\0y\""), &["refused 3:14 the text has a NUL"]);
    check(
        named("metadata:\n  \tmaitred-triggers: pitch deck"),
        &["refused 5:1 a tab is used for indentation"],
    );
    check(named("license: &a MIT"), &["refused 4:10 an anchor"]);
    check(named("license: !!str MIT"), &["refused 4:10 a tag"]);
    check("---\u{a0}\nname: a\n---\n", &["refused 1:1 `---\\u{a0}` does not open a frontmatter"]);
    check("-\0-\0-\0\n\0n\0a\0m\0e\0:\0x\0y\0", &["hint it looks like UTF-16: save it as UTF-8"]);
}
