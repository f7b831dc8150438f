//! `maitred eval`, `distill` and `embed`: the commands about models.

use std::io::Write as _;
use std::process::Stdio;

use crate::cli::{check, json, maitred, run};
use crate::models;

#[test]
fn eval_counts_hits_by_each_kind_of_evidence() {
    let dir = tempfile::tempdir().unwrap();
    let (corpus, queries) = (dir.path().join("corpus.jsonl"), dir.path().join("queries.jsonl"));
    let playbooks = [
        r#"{"id":"a","name":"tide-tables","description":"Reads tide tables for sailing boats."}"#,
        r#"{"id":"b","name":"refund","description":"Gives a customer their money back.","body":"Check the order."}"#,
    ];
    let turns = [
        r#"{"text":"when is high tide for my boat","relevant":["a"]}"#,
        r#"{"text":"check this order, the buyer asks for a reimbursement","relevant":["b"]}"#,
        r#"{"text":"refund!","relevant":["b"],"names_skill":true}"#,
        r#"{"text":"nothing of these","relevant":[]}"#,
    ];
    std::fs::write(&corpus, playbooks.join("\n")).unwrap();
    std::fs::write(&queries, turns.join("\n")).unwrap();
    let (corpus, queries) = (corpus.to_str().unwrap(), queries.to_str().unwrap());
    let report = json(&run(&["eval", "--json", "--corpus", corpus, "--queries", queries]));
    let set = &report["sets"][0];
    assert_eq!((&set["playbooks"], &set["turns"]), (&2.into(), &2.into()));
    for kind in ["lexical", "semantic", "fused"] {
        assert_eq!((&set[kind]["hit@1"], &set[kind]["hit@3"]), (&1.0.into(), &1.0.into()), "{kind}");
    }
    check(&run(&["eval", "--corpus", corpus, "--queries", queries]), 0, &["hit@3", "fused"], &[]);
    check(
        &run(&["eval", "--corpus", corpus, "--queries", corpus]),
        2,
        &[],
        &["line 1: missing field `text`"],
    );
    let uneven = ["eval", "--corpus", corpus, "--corpus", corpus, "--queries", queries];
    check(&run(&uneven), 2, &[], &["--corpus is given 2 times and --queries 1"]);
}

#[test]
fn distill_makes_a_model_that_embeds() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (teacher, texts, out, vectors) = (path("teacher"), path("texts"), path("out"), path("vectors"));
    std::fs::create_dir(&teacher).unwrap();
    models::write(teacher.as_ref(), &models::transformer(3));
    let words = models::WORDS;
    let documents =
        (0..120).map(|at| format!("{} {}\n{} the shed", words[at % 8], words[at % 5], words[at % 7]));
    std::fs::write(&texts, documents.collect::<Vec<_>>().join("\n\n")).unwrap();
    let mut distill =
        vec!["distill", "--teacher", &teacher, "--corpus", &texts, "--out", &out, "--vectors", &vectors];
    distill.extend(["--dimensions", "8", "--steps", "40", "--batch", "32", "--json"]);
    let report = json(&run(&distill));
    assert_eq!((&report["texts"], &report["documents"]), (&240.into(), &120.into()));
    assert!(report["best_step"].as_u64().unwrap() > 0, "{report}");
    let model = std::fs::read(format!("{out}/model.safetensors")).unwrap();
    assert_eq!(json(&run(&distill)), report);
    assert_eq!(std::fs::read(format!("{out}/model.safetensors")).unwrap(), model, "equal input, equal model");

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
