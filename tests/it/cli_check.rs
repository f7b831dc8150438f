//! `maitred check` for machines: zips, JSON, SARIF, GitHub's annotations, exit codes; and what `export` refuses.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::cli::{check, json, maitred, run};
use crate::harness::write;
use crate::zipped::{Item, skill, zip};

/// A directory with a good file, one with a warning, a bad one, and a zip of two.
fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "good", &skill("good"));
    write(dir.path(), "odd name", "---\nname: odd\ndescription: Late: pay\n---\nBody\n");
    write(dir.path(), "bad", "---\nname: Bad\ndescription: x\n---\nBody\n");
    let items = [
        Item::skill("zipped", "zipped"),
        Item::new("../out/SKILL.md", skill("out")),
        Item::new("__MACOSX/x", "x"),
        Item::new("README.md", "x"),
    ];
    fs::write(dir.path().join("two.zip"), zip(&items)).unwrap();
    dir
}

fn run_in(dir: &Path, args: &[&str]) -> Output {
    maitred(args).current_dir(dir).output().unwrap()
}

#[test]
fn zips_are_checked_like_directories() {
    let dir = directory();
    let output = run_in(dir.path(), &["check", "two.zip", "good"]);
    check(
        &output,
        1,
        &[
            "two.zip/zipped/SKILL.md: accepted as zipped\n",
            "two.zip/../out/SKILL.md:1:1: refused: its name leads out of the archive with `..`; pack the folder",
            "two.zip:1:1: note: of this archive 1 files that are no SKILL.md are not read, and 1 that a system left",
            "3 files: 2 accepted (0 with warnings, 0 with notes only), 1 refused\n",
        ],
        &[],
    );
    // By its content too; named twice it is read once; one without skills is an error, like a directory without.
    fs::rename(dir.path().join("two.zip"), dir.path().join("two.skill")).unwrap();
    check(&run_in(dir.path(), &["check", "two.skill", "two.skill"]), 1, &["2 files: 1 accepted"], &[]);
    fs::write(dir.path().join("none.zip"), zip(&[Item::new("a.txt", "x")])).unwrap();
    check(&run_in(dir.path(), &["check", "none.zip"]), 2, &[], &["none.zip: holds no SKILL.md"]);
    fs::write(dir.path().join("text.zip"), "no zip").unwrap();
    check(
        &run_in(dir.path(), &["check", "text.zip"]),
        1,
        &["text.zip:1:1: refused: the archive cannot be read"],
        &[],
    );
}

#[test]
fn exit_codes_are_as_the_help_says() {
    let dir = directory();
    for (args, code) in [
        (&["check", "good"][..], 0),
        (&["check", "odd name"], 0),
        (&["check", "bad"], 1),
        (&["check", "nowhere"], 2),
        (&["check", "--format", "sarif", "--menu", "good"], 2),
        (&["check", "--format", "colour", "good"], 2),
        (&["check", "--json", "--format", "text", "good"], 2),
        (&["check"], 2),
    ] {
        let output = run_in(dir.path(), args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    }
    for command in ["check", "import", "export"] {
        check(&run(&[command, "--help"]), 0, &["Exit codes:\n  0  ", "\n  1  ", "\n  2  "], &[]);
    }
}

#[test]
fn github_gets_one_command_a_finding() {
    let dir = directory();
    let output = run_in(dir.path(), &["check", "--format", "github", ".", "two.zip"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for wanted in [
        "::error file=./bad/SKILL.md,line=2,col=7,title=maitred%3A refused::the name \"Bad\" contains \"B\"",
        "::warning file=./odd name/SKILL.md,line=3,col=14,title=maitred%3A warning::the value has an unquoted colon",
        "::error file=two.zip,line=1,col=1,title=maitred%3A refused::../out/SKILL.md:1: its name leads out",
        "::notice file=two.zip,line=1,col=1,",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(wanted)), "{wanted}\n{text}");
    }
    assert!(lines[lines.len() - 1].starts_with("5 files: 3 accepted"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn sarif_names_rules_places_and_levels() {
    let dir = directory();
    let output = run_in(dir.path(), &["check", "--format", "sarif", ".", "two.zip"]);
    assert_eq!(output.status.code(), Some(1));
    let log = json(&output);
    assert_eq!(log["version"], "2.1.0");
    let (run, mut levels) = (&log["runs"][0], Vec::new());
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        levels.push(format!("{} {uri}:{}", result["level"].as_str().unwrap(), place["region"]["startLine"]));
    }
    for wanted in [
        "error bad/SKILL.md:2",
        "warning odd%20name/SKILL.md:3",
        "warning odd%20name/SKILL.md:1",
        "error two.zip:1",
        "note two.zip:1",
    ] {
        assert!(levels.iter().any(|level| level == wanted), "{wanted}: {levels:#?}");
    }
    // The same findings have the same fingerprints, also when they move.
    let fingerprints = |log: &serde_json::Value| -> Vec<String> {
        let results = log["runs"][0]["results"].as_array().unwrap();
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect()
    };
    write(dir.path(), "bad", "---\n# a line more\nname: Bad\ndescription: x\n---\nBody\n");
    let moved = json(&run_in(dir.path(), &["check", "--format", "sarif", ".", "two.zip"]));
    assert_eq!(fingerprints(&moved), fingerprints(&log));
    let unique: std::collections::HashSet<String> = fingerprints(&log).into_iter().collect();
    assert_eq!(unique.len(), levels.len());
}

#[test]
fn export_refuses_what_it_cannot_do_and_says_what_to_do() {
    let dir = directory();
    let export = |args: &[&str]| run_in(dir.path(), &[&["export"], args].concat());
    check(
        &export(&["--format", "markdown", "late-invoice"]),
        0,
        &["---\nname: late-invoice\n", "# Late invoice"],
        &[],
    );
    check(&export(&["nothing"]), 2, &[], &["there is no playbook \"nothing\"; there are: ab-test-readout, "]);
    check(&export(&["../evil"]), 2, &[], &["the name \"../evil\" contains \".\""]);
    check(&export(&[]), 2, &[], &["--all"]);
    check(&export(&["--all", "--format", "markdown"]), 2, &[], &["is for one playbook, not for 30"]);
    check(&export(&["--all", "--format", "directory"]), 2, &[], &["needs --output DIR"]);
    check(&export(&["--all", "--json"]), 2, &[], &["give --output PATH"]);
    check(&export(&["--all", "-o", "good/SKILL.md"]), 2, &[], &["exists and is not overwritten"]);
    let skills = ["--skills", ".", "--all", "--format", "directory", "-o", "out"];
    check(
        &export(&skills),
        0,
        &["2 of 2 playbooks exported to out"],
        &["./bad/SKILL.md:2:7: refused: the name \"Bad\""],
    );
    check(&export(&skills), 0, &["0 of 2 playbooks exported"], &["good: skipped: the same is there already"]);
    fs::write(dir.path().join("out/good/SKILL.md"), skill("good") + "more").unwrap();
    let report = export(&["--skills", "good", "--all", "--format", "directory", "-o", "out", "--json"]);
    assert_eq!(report.status.code(), Some(1));
    let report = json(&report);
    assert_eq!(report["playbooks"][0]["outcome"], "skipped");
    assert_eq!(report["playbooks"][0]["identical"], false);
}
