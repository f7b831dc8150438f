//! Group 4, and the rows of group 1 about several files: the commands.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use crate::cli::{check, json, maitred, run};
use crate::harness::write;
use crate::zipped::{Item, skill, zip};

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The names in a directory, in order.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// 4.01 and 4.02: a name never becomes a path; nothing is written outside the directory, and every entry has its outcome.
#[test]
fn an_import_writes_below_its_directory_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (source, target) = (dir.path().join("x.zip"), dir.path().join("deep/target"));
    let hostile = ["../evil", "..", "a/../b", "/abs", "C:\\x", "a\\..\\b", "con", "nul", "%2e%2e"];
    let mut items: Vec<Item> = hostile
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let quoted = serde_json::to_string(name).unwrap();
            Item::new(
                format!("n{number}/SKILL.md"),
                format!("---\nname: {quoted}\ndescription: d\n---\nBody\n"),
            )
        })
        .collect();
    items.push(Item::new("../../escape/SKILL.md", skill("escape")));
    items.push(Item { mode: 0o120_777, ..Item::new("link/SKILL.md", "/etc/passwd") });
    items.push(Item::skill("good", "good"));
    fs::write(&source, zip(&items)).unwrap();
    let report = run(&["import", "--json", "--to", path(&target), path(&source)]);
    assert_eq!(report.status.code(), Some(1));
    let report = json(&report);
    assert_eq!(report["summary"], serde_json::json!({"imported": 1, "skipped": 0, "refused": 11}));
    assert_eq!(names(&target), ["good"]);
    assert_eq!(names(dir.path()), ["deep", "x.zip"]);
    // Nor is a link followed that lies where a skill is to go.
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, target.join("linked")).unwrap();
    write(dir.path(), "linked", &skill("linked"));
    let linked = path(&dir.path().join("linked/SKILL.md")).to_owned();
    check(
        &run(&["import", "--to", path(&target), &linked]),
        1,
        &["linked exists and is not a directory"],
        &[],
    );
    assert!(names(&outside).is_empty());
}

/// DESIGN 6: a collision is skipped, never overwritten; a bad file fails alone; the slug is the one in the file.
#[test]
fn an_import_never_overwrites() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("target");
    write(
        dir.path(),
        "in/some-folder",
        "---\nname: tides\ndescription: Reads tides.\nallowed-tools: Bash(*)\nextra: 1\n---\nBody\n",
    );
    write(dir.path(), "in/broken", "---\nname: broken\n");
    let source = dir.path().join("in");
    let import = || run(&["import", "--json", "--to", path(&target), path(&source)]);
    let first = json(&import());
    assert_eq!(first["entries"][1]["outcome"], "imported");
    assert_eq!(first["entries"][1]["slug"], "tides");
    assert_eq!(first["entries"][0]["outcome"], "refused");
    assert!(first["entries"][0]["reason"].as_str().unwrap().contains("never closed"));
    let file = target.join("tides/SKILL.md");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "---\nname: tides\ndescription: Reads tides.\n---\nBody\n");
    assert_eq!(names(&target.join("tides")), ["SKILL.md"]);
    let again = json(&import());
    assert_eq!(
        (&again["entries"][1]["outcome"], &again["entries"][1]["identical"]),
        (&"skipped".into(), &true.into())
    );
    fs::write(&file, text.replace("Body", "My own body")).unwrap();
    let other = import();
    assert_eq!(json(&other)["entries"][1]["identical"], false);
    assert_eq!(other.status.code(), Some(1));
    assert!(fs::read_to_string(&file).unwrap().contains("My own body"));
    // A broken file of that name is somebody's, too; and so is one in a folder of another name.
    fs::write(&file, "broken").unwrap();
    check(&run(&["import", "--to", path(&target), path(&source)]), 1, &["SKILL.md: File exists"], &[]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "broken");
    assert_eq!(names(&target.join("tides")), ["SKILL.md"]);
    fs::rename(target.join("tides"), target.join("moved")).unwrap();
    write(&target, "moved", &text);
    assert_eq!(json(&import())["entries"][1]["identical"], true);
    // Of two with one name the first lands.
    let both = dir.path().join("both.zip");
    fs::write(&both, zip(&[Item::skill("a", "same"), Item::new("b/SKILL.md", skill("same") + "x")])).unwrap();
    check(
        &run(&["import", "--to", path(&dir.path().join("new")), path(&both)]),
        1,
        &["1 imported, 1 skipped, 0 refused", "another playbook of its name is in"],
        &[],
    );
}

/// 4.03: `<name>/SKILL.md` and nothing else, forward slashes, the flag of UTF-8, mode 0644; our own zip comes back.
#[test]
fn an_export_is_laid_out_as_uploaders_want_it() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "in/skills/x", &skill("tides"));
    let (one, all) = (dir.path().join("one.zip"), dir.path().join("all.zip"));
    let skills = path(dir.path()).to_owned();
    check(
        &run(&["export", "--skills", &skills, "-o", path(&one), "tides"]),
        0,
        &["1 of 1 playbooks exported"],
        &[],
    );
    check(&run(&["export", "--all", "-o", path(&all)]), 0, &["30 of 30 playbooks exported to"], &[]);
    let mut archive = zip::ZipArchive::new(fs::File::open(&one).unwrap()).unwrap();
    assert_eq!(archive.len(), 1);
    let mut entry = archive.by_index(0).unwrap();
    assert_eq!((entry.name_raw(), entry.unix_mode()), (b"tides/SKILL.md".as_slice(), Some(0o100_644)));
    let mut text = String::new();
    entry.read_to_string(&mut text).unwrap();
    assert_eq!(text, skill("tides"));
    let bytes = fs::read(&one).unwrap();
    assert_eq!((&bytes[6..8], &bytes[10..14]), ([0, 8].as_slice(), [0, 0, 0x21, 0].as_slice()));
    // Into an empty directory, and again.
    let target = dir.path().join("target");
    let import = || run(&["import", "--json", "--to", path(&target), path(&all)]);
    assert_eq!(json(&import())["summary"]["imported"], 30);
    let again = import();
    assert_eq!((again.status.code(), &json(&again)["summary"]["skipped"]), (Some(0), &30.into()));
    check(
        &run(&["check", path(&target)]),
        0,
        &["30 files: 30 accepted (0 with warnings, 0 with notes only)"],
        &[],
    );
    // What was imported is exported as the same bytes.
    let back = dir.path().join("back.zip");
    run(&["export", "--all", "--skills", path(&target), "-o", path(&back)]);
    assert_eq!(fs::read(&all).unwrap(), fs::read(&back).unwrap());
}

/// 4.04: the same bytes in every time zone and every process.
#[test]
fn an_export_is_the_same_bytes_everywhere() {
    let export = |zone: &str| {
        let mut command: Command = maitred(&["export", "--all"]);
        command.env("TZ", zone).output().unwrap().stdout
    };
    let first = export("UTC");
    assert!(first.starts_with(b"PK") && first.len() > 10_000);
    assert_eq!(first, export("Asia/Tokyo"));
}

/// 4.05 and 1.22: the size first; each file by itself, whatever lies beside it.
#[test]
fn sizes_are_inclusive_and_checked_file_by_file() {
    let dir = tempfile::tempdir().unwrap();
    let sized = |name: &str, filler: &str, bytes: usize| {
        let head = format!("---\nname: {name}\ndescription: d\n# ");
        let tail = "\n---\nBody\n";
        let count = (bytes - head.len() - tail.len()) / filler.len();
        let text = format!("{head}{}{tail}", filler.repeat(count));
        format!("{text}{}", "x".repeat(bytes - text.len()))
    };
    for (name, filler, bytes) in [
        ("under", "c", 65_535),
        ("exact", "c", 65_536),
        ("over", "c", 65_537),
        ("wide-exact", "猫", 65_536),
        ("wide-over", "猫", 65_537),
        ("huge", "c", 6_000_000),
    ] {
        let text = sized(name, filler, bytes);
        assert_eq!(text.len(), bytes);
        write(dir.path(), name, &text);
    }
    write(dir.path(), "empty", "");
    write(dir.path(), "mark", "\u{feff}");
    fs::create_dir(dir.path().join("cp1252")).unwrap();
    fs::write(dir.path().join("cp1252/SKILL.md"), b"---\nname: a\ndescription: b\n---\nx\x9dy").unwrap();
    let output = run(&["check", path(dir.path())]);
    check(
        &output,
        1,
        &[
            "under/SKILL.md: accepted",
            "exact/SKILL.md: accepted",
            "wide-exact/SKILL.md: accepted",
            "over/SKILL.md:1:1: refused: the file has 65537 bytes, the limit is 65536; split it",
            "wide-over/SKILL.md:1:1: refused: the file has 65537 bytes",
            "huge/SKILL.md:1:1: refused: the file has 6000000 bytes",
            "empty/SKILL.md:1:1: refused: there is no frontmatter",
            "mark/SKILL.md:1:1: refused: there is no frontmatter",
            "cp1252/SKILL.md:5:2: refused: the file is not UTF-8 at byte 32",
            "9 files: 3 accepted",
        ],
        &[],
    );
    let target = tempfile::tempdir().unwrap();
    let imported = run(&["import", "--to", path(target.path()), path(dir.path())]);
    check(&imported, 1, &["3 imported, 0 skipped, 6 refused"], &[]);
}

/// 1.04: however a description is broken into lines, the menu has one line, and the turn finds it as well.
#[test]
fn the_spelling_of_a_block_changes_nothing_on_a_menu() {
    let answers = ["|", "|+", ">", ">-"].map(|indicator| {
        let dir = tempfile::tempdir().unwrap();
        let text = format!(
            "---\nname: choir-rota\ndescription: {indicator}\n  Build the choir   rota.\n\n  USE FOR: swaps, absences.\n---\nBody\n"
        );
        write(dir.path(), "choir-rota", &text);
        let turn = "who can swap with me in the choir rota?";
        let root = path(dir.path()).to_owned();
        let answer = run(&["select", "--json", "--skills", &root, "--untriggered", "ranked", turn]);
        let mut answer = json(&answer);
        assert_eq!(answer["items"][0]["description"], "Build the choir rota. USE FOR: swaps, absences.");
        assert!(answer["prompt_block"].as_str().unwrap().contains("Build the choir rota. USE FOR: swaps, absences."));
        // Its digest is that of the text as it was written.
        answer["menu_token"].take();
        answer["menu_digest"].take();
        answer
    });
    for answer in &answers[1..] {
        assert_eq!(answer["items"], answers[0]["items"]);
        assert_eq!(answer["considered"], answers[0]["considered"]);
        assert_eq!(answer["prompt_block"], answers[0]["prompt_block"]);
    }
    assert!(answers[0]["items"][0]["reason"]["semantic"]["probability"].as_f64().unwrap() > 0.0);
}

/// 1.01, 1.10, 1.26: every way in says the same of the same bytes, and a repaired file is no lost one.
#[test]
fn every_way_in_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        ("colon", "---\nname: colon\ndescription: Chase bills: call. Use when one is late.\n---\nB\n"),
        ("loose", "\n\n---  \nname: loose\ndescription: Blanks.\n---\t\nB\n"),
        ("tab", "---\nname: tab\ndescription: T.\nmetadata:\n\tx: y\n---\nB\n"),
        ("colon-tab", "---\nname: colon-tab\ndescription: Soup:\tquick\n---\nB\n"),
        ("long", "---\nname: long\ndescription: No end.\n# Steps\n"),
        ("two", "---\nname: two\ndescription: One.\n\"description\": Two.\n---\nB\n"),
    ];
    for (name, text) in files {
        write(&dir.path().join("in"), name, text);
    }
    let (source, target) = (dir.path().join("in"), dir.path().join("out"));
    let checked = json(&run(&["check", "--json", path(&source)]));
    let imported = json(&run(&["import", "--json", "--to", path(&target), path(&source)]));
    let said = |list: &serde_json::Value| -> Vec<serde_json::Value> {
        list.as_array().unwrap().iter().map(|entry| entry["diagnostics"].clone()).collect()
    };
    assert_eq!(said(&checked["files"]), said(&imported["entries"]));
    assert_eq!(imported["summary"], serde_json::json!({"imported": 3, "skipped": 0, "refused": 3}));
    assert_eq!(names(&target), ["colon", "colon-tab", "loose"]);
    let text = fs::read_to_string(target.join("colon/SKILL.md")).unwrap();
    assert_eq!(text, "---\nname: colon\ndescription: \"Chase bills: call. Use when one is late.\"\n---\nB\n");
    // A selection over the directory says it once more, on standard error.
    let selected = run(&["select", "--skills", path(&source), "soup"]);
    let stderr = String::from_utf8(selected.stderr).unwrap();
    for sentence in said(&checked["files"]).iter().flat_map(|list| list.as_array().unwrap()) {
        let is_said = stderr.contains(sentence["message"].as_str().unwrap());
        assert!(is_said || sentence["severity"] == "note", "{sentence}\n{stderr}");
    }
}

/// 4.25: nothing of an author's text moves a terminal, forges a line of a log, or a command of a workflow.
#[test]
fn controls_are_escaped_in_every_report() {
    let dir = tempfile::tempdir().unwrap();
    let description = "\\x1b[2J\\x1b[1;1HALL CLEAN\\r\\u2028\\n::error::forged";
    write(
        dir.path(),
        "a\u{1b}[2Jb",
        &format!(
            "---\nname: \"A{description}\"\ndescription: \"{description}\"\n\"k{description}\": v\n---\nBody\n"
        ),
    );
    write(
        dir.path(),
        "fine",
        &format!(
            "---\nname: fine\ndescription: \"{description}\"\nmetadata:\n  maitred-title: \"{description}\"\n---\nBody\n"
        ),
    );
    let root = path(dir.path());
    let source = dir.path().join("x.zip");
    fs::write(&source, zip(&[Item::new("a\x1b[2J\n::error::/SKILL.md", skill("a"))])).unwrap();
    let target = dir.path().join("target");
    for args in [
        &["check", root, path(&source)][..],
        &["check", "--format", "json", root, path(&source)],
        &["check", "--format", "sarif", root, path(&source)],
        &["check", "--format", "github", root, path(&source)],
        &["import", "--to", path(&target), root, path(&source)],
        &["export", "--skills", root, "--format", "markdown", "fine"],
        &["select", "--skills", root, "all clean"],
    ] {
        let output = run(args);
        for stream in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(stream);
            let odd = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{2028}');
            assert_eq!(odd, None, "{args:?}: {text:?}");
            assert!(!text.lines().any(|line| line.starts_with("::error::forged")), "{args:?}: {text}");
        }
    }
}
