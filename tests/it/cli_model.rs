//! `maitred eval`, `distill` and `embed`: the commands about models.

use std::io::Write as _;
use std::process::Stdio;

use crate::cli::{check, json, maitred, run};
use crate::models;

/// A corpus of two playbooks and turns about them, beside turns about nothing.
fn labelled(dir: &std::path::Path) -> [String; 3] {
    let playbooks = [
        r#"{"id":"a","name":"tide-tables","description":"Reads tide tables for sailing boats."}"#,
        r#"{"id":"b","name":"refund","description":"Gives a customer their money back.","body":"Check the order."}"#,
    ];
    let turns = [
        r#"{"id":"1","text":"when is high tide for my boat","relevant":["a"]}"#,
        r#"{"id":"2","text":"check this order, the buyer asks for a reimbursement","relevant":["b"]}"#,
        r#"{"id":"3","text":"refund!","relevant":["b"],"names_skill":true}"#,
        r#"{"id":"4","text":"nothing of these","relevant":[],"kind":"none"}"#,
        r#"{"id":"5","text":"the money of my boat","relevant":[],"negative_for":"b"}"#,
        r#"{"id":"6","text":"later","relevant":["b"],"maybe_deferred":true}"#,
        r#"{"id":"7","text":"of a playbook that is not there","relevant":["c"]}"#,
        r#"{"id":"8","text":"and on Tuesday?","relevant":["a"],"kind":"continuing","context":[{"role":"user","text":"high tide for my boat"}]}"#,
    ];
    let outside = [r#"{"id":"9","text":"how tall is the tower"}"#, r#"{"id":"10","text":"tell me a joke"}"#];
    [("corpus", playbooks.join("\n")), ("queries", turns.join("\n")), ("background", outside.join("\n"))].map(
        |(name, text)| {
            let path = dir.join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        },
    )
}

#[test]
fn eval_tells_ranking_floor_and_near_misses_apart() {
    let dir = tempfile::tempdir().unwrap();
    let [corpus, queries, background] = &labelled(dir.path());
    let base = ["eval", "--json", "--corpus", corpus, "--queries", queries, "--background", background];
    let report = json(&run(&base));
    assert_eq!((&report["playbooks"], &report["in_scope"]), (&2.into(), &3.into()));
    assert_eq!((&report["out_of_scope"], &report["near_misses"]), (&3.into(), &1.into()));
    assert_eq!(report["all"]["in_scope"], 4);
    for figures in [&report, &report["all"], &report["lexical_alone"]] {
        assert_eq!((&figures["hit_at_1"], &figures["hit_at_6"]), (&1.0.into(), &1.0.into()), "{report}");
    }
    assert!(report["us_per_select_p50"].as_f64().unwrap() > 0.0 && report["ece"].is_number());
    assert_eq!(report["offered_out_of_scope"], 0.0);

    let open = json(&run(&[&base[..], &["--stray-share", "1"]].concat()));
    assert_eq!((&open["kept_in_scope"], &open["kept_of_all"]), (&1.0.into(), &1.0.into()));
    assert!(
        open["offered_out_of_scope"].as_f64().unwrap() > 0.5,
        "without a floor a turn about nothing has a menu"
    );

    let pooled = json(&run(&[&base[..], &["--pool", "1"]].concat()));
    assert_eq!((&pooled["pool"], &pooled["hit_at_1"]), (&1.into(), &1.0.into()));
    let halves = ["tune", "report"].map(|half| json(&run(&[&base[..], &["--half", half]].concat())));
    let turns = |report: &serde_json::Value| report["all"]["in_scope"].as_u64().unwrap();
    assert_eq!(turns(&halves[0]) + turns(&halves[1]), 4);

    let kinds = |at: &str| (&report["kinds"][at]["in_scope"], &report["kinds"][at]["out_of_scope"]);
    assert_eq!(kinds("continuing"), (&1.into(), &0.into()));
    assert_eq!(kinds("none"), (&0.into(), &1.into()));
    let table = [&base[..1], &base[2..]].concat();
    check(&run(&table), 0, &["continuing", "none", "right one on the menu"], &[]);
}

#[test]
fn eval_takes_distractors_that_equal_nothing_of_the_corpus() {
    let dir = tempfile::tempdir().unwrap();
    let [corpus, queries, _] = &labelled(dir.path());
    let archive = dir.path().join("skills.tar.gz");
    let file = std::fs::File::create(&archive).unwrap();
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(file, flate2::Compression::fast()));
    for (name, text) in [
        ("one/SKILL.md", "---\nname: one\ndescription: Waters the plants.\n---\nTwice.\n"),
        ("same/SKILL.md", "---\nname: same\ndescription: Reads tide tables for sailing boats.\n---\nx\n"),
        ("refund/SKILL.md", "---\nname: refund\ndescription: Another one.\n---\ny\n"),
        ("bad/SKILL.md", "no frontmatter"),
        ("one/README.md", "not looked at"),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap();
    let archive = archive.to_str().unwrap();
    let base = ["eval", "--corpus", corpus, "--queries", queries, "--distractors", archive];
    let report = json(&run(&[&base[..], &["--json"]].concat()));
    assert_eq!(report["playbooks"], 3);
    assert_eq!(report["distractors"], serde_json::json!({"added": 1, "equal": 2, "refused": 1}));
    check(&run(&base), 0, &["first 1, 3, 6", "distractors: 1 added, 2 dropped", "1 are no playbooks"], &[]);
}

#[test]
fn eval_says_what_it_cannot_read() {
    let dir = tempfile::tempdir().unwrap();
    let [corpus, queries, _] = &labelled(dir.path());
    let of = |corpus, queries| run(&["eval", "--corpus", corpus, "--queries", queries]);
    check(
        &of(corpus, corpus),
        2,
        &[],
        &["corpus line 1, column ", ": missing field `text`; a turn is a line like {"],
    );
    let no_playbook =
        ["queries line 1, column ", ": missing field `description`; a playbook is a line like {"];
    check(&of(queries, queries), 2, &[], &no_playbook);
    let none = dir.path().join("none");
    std::fs::write(&none, "").unwrap();
    check(&of(none.to_str().unwrap(), queries), 2, &[], &["holds no playbooks"]);
    check(&of(corpus, none.to_str().unwrap()), 2, &[], &["none: holds no turns"]);
    check(&of(corpus, "absent"), 2, &[], &["absent: No such file"]);
    let turns = dir.path().join("turns");
    let of_turns = |text: &str, more: &[&str]| {
        std::fs::write(&turns, text).unwrap();
        run(&[&["eval", "--corpus", corpus, "--queries", turns.to_str().unwrap()], more].concat())
    };
    let known = std::fs::read_to_string(queries).unwrap();
    let cut = of_turns(&format!("{known}\n{{\"id\": \"x\", \"text\":"), &[]);
    check(&cut, 2, &[], &["turns line ", ", column 19: EOF while parsing a value; a turn is a line like"]);
    let misspelt = "{\"id\": \"x\", \"text\": \"mend it\", \"relevant\": [\"tapp\"]}";
    let why = "the first, \"x\": its relevant playbook \"tapp\" is not in the corpus";
    check(&of_turns(misspelt, &[]), 2, &[], &["turns: holds no turns that can be asked", why]);
    let both = format!("{known}\n{misspelt}");
    check(
        &of_turns(&both, &["--pool", "50"]),
        0,
        &[
            "turns left out: 2; the first, \"7\": its relevant playbook \"c\" is not in the corpus",
            "no more than --pool 50",
        ],
        &[],
    );
    assert_eq!(json(&of_turns(&both, &["--json"]))["left_out"], 2);
    let nothing = none.to_str().unwrap();
    check(&of_turns(&known, &["--background", nothing]), 2, &[], &["none: holds no turns"]);
    check(&of_turns(&known, &["--distractors", corpus]), 2, &[], &["corpus: cannot be read as a .tar.gz: "]);
    check(&of_turns(&known, &["--pool", "0"]), 2, &[], &["invalid value '0' for '--pool <N>'"]);
    check(
        &run(&["eval", "--corpus", corpus, "--queries", queries, "--stray-share", "2"]),
        2,
        &[],
        &["2 is no share"],
    );
}

#[test]
fn distill_makes_a_model_that_embeds() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (teacher, texts, out, vectors) = (path("teacher"), path("texts"), path("out"), path("vectors"));
    let turns = path("turns");
    std::fs::create_dir(&teacher).unwrap();
    models::write(teacher.as_ref(), &models::transformer(3));
    let words = models::WORDS;
    let documents =
        (0..120).map(|at| format!("{} {}\n{} the shed", words[at % 8], words[at % 5], words[at % 7]));
    std::fs::write(&texts, documents.collect::<Vec<_>>().join("\n\n")).unwrap();
    std::fs::write(&turns, format!("{}\n{}\n\n{}\n{}\n", words[0], words[1], words[2], words[3])).unwrap();
    let mut distill =
        vec!["distill", "--teacher", &teacher, "--corpus", &texts, "--out", &out, "--vectors", &vectors];
    distill.extend(["--dimensions", "8", "--steps", "40", "--batch", "32", "--pair-steps", "50", "--json"]);
    let report = json(&run(&distill));
    assert_eq!((&report["texts"], &report["documents"]), (&240.into(), &120.into()));
    assert!(report["best_step"].as_u64().unwrap() > 0, "{report}");
    let model = std::fs::read(format!("{out}/model.safetensors")).unwrap();
    assert_eq!(json(&run(&distill)), report);
    assert_eq!(std::fs::read(format!("{out}/model.safetensors")).unwrap(), model, "equal input, equal model");
    let tuned = json(&run(&[&distill[..], &["--turns", &turns]].concat()));
    assert_eq!((&tuned["texts"], &tuned["loss_aside"]), (&report["texts"], &report["loss_aside"]));
    assert_ne!(tuned["pair_loss"], report["pair_loss"], "turns are tuned on");
    assert!(report["pair_loss"].as_f64().unwrap() > 0.0, "{report}");

    let mut child =
        maitred(&["embed", "--model", &out]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("tidy the shed\n🙂\n".as_bytes()).unwrap();
    let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let [vector, nothing] = printed.lines().collect::<Vec<_>>()[..] else { panic!("{printed}") };
    assert_eq!(serde_json::from_str::<Vec<f32>>(vector).unwrap().len(), 8);
    assert_eq!(nothing, "null");

    check(
        &run(&["distill", "--teacher", &out, "--corpus", &texts, "--out", &out]),
        2,
        &[],
        &["out/config.json: "],
    );
    distill[10] = "17";
    check(&run(&distill), 2, &[], &["--dimensions 17: 1 to 16 are possible with this teacher"]);
}

#[test]
fn calibrate_fits_to_labelled_turns_and_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let [corpus, _, _] = &labelled(dir.path());
    let write = |name: &str, lines: Vec<String>| {
        let path = dir.path().join(name);
        std::fs::write(&path, lines.join("\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let about =
        [("a", "high tide for my boat"), ("b", "the customer wants their money back, check the order")];
    let inside = (0..40).map(|at| {
        let (id, text) = about[at % 2];
        format!(r#"{{"id":"in {at}","text":"{text} {at}","relevant":["{id}"]}}"#)
    });
    let outside = (0..40).map(|at| format!(r#"{{"id":"out {at}","text":"how tall is tower {at}"}}"#));
    let (queries, background) = (write("turns", inside.collect()), write("outside", outside.collect()));
    let out = dir.path().join("calibration.json");
    let out = out.to_str().unwrap();
    let base = ["calibrate", "--corpus", corpus, "--queries", &queries, "--out", out, "--pool", "0"];
    check(&run(&base), 2, &[], &["no turn is out of scope", "--background"]);
    let with = [&base[..], &["--background", &background]].concat();
    let report = json(&run(&[&with[..], &["--json"]].concat()));
    assert_eq!(report["after"]["kept_in_scope"], 1.0, "{report}");
    assert!(report["after"]["offered_out_of_scope"].as_f64().unwrap() <= 0.1, "{report}");
    check(&run(&with), 0, &["on the turns kept aside", "kept above the floor", "written to"], &[]);

    let turn = "check the order, the customer wants their money back";
    let select = ["select", "--untriggered", "ranked", "--json", "--calibration"];
    json(&run(&[&select[..], &[out, turn]].concat()));
    check(&run(&[&select[..], &[corpus, turn]].concat()), 2, &[], &["is no calibration"]);
}
