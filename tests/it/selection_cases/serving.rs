//! What a running server says and keeps doing: beside a broken model, beside rivals, beside a long import.

use std::io::BufReader;
use std::process::Stdio;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use maitred::app::catalog::Catalog;
use maitred::app::offer::ToolFormat;
use maitred::app::ports::SystemClock;
use maitred::app::read::{Reader, SelectAnswer, SelectRequest};
use maitred::app::token::MenuSigner;
use maitred::domain::agent::AgentId;
use maitred::domain::menu::Reason;
use maitred::domain::playbook::Playbook;
use maitred::domain::query::MenuQuery;
use maitred::domain::revision::Revision;
use maitred::engine::embed::{About, EmbedError, EmbedScratch, Embedder, Vector, builtin};
use maitred::transport::grpc::proto::SemanticState;
use safetensors::Dtype;
use serde_json::Value;
use tempfile::TempDir;

use crate::cli::{Served, maitred};
use crate::fixture::{RANKED, playbook, skill_md};
use crate::harness::{Setup, TestServer, turn_request, write};
use crate::models;

/// Writes a model whose numbers are none.
fn broken_model(dir: &std::path::Path) {
    let mut files = models::static_model(1, 4, Dtype::F32);
    let tensors = files.get_mut("model.safetensors").unwrap();
    let start = tensors.len() - models::ID_COUNT * 16;
    tensors[start..].chunks_mut(4).for_each(|number| number.copy_from_slice(&f32::NAN.to_le_bytes()));
    models::write(dir, &files);
}

/// CASES 2.07: a model that fails is told of in the answer, in the metrics and in the log, and is no reason to offer
/// everything; an empty menu with a model at work is another answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_model_is_told_of_everywhere_and_nothing_relevant_is_another_answer() {
    let model = TempDir::new().unwrap();
    broken_model(model.path());
    let skills = [
        ("refund", skill_md("refund", "money back", "Decides whether a customer is repaid.", "Steps.")),
        ("shed", skill_md("shed", "", "Tidies the garden shed and sorts the tools.", "Steps.")),
        ("choir", skill_md("choir", "", "Plans which songs a choir rehearses.", "Steps.")),
    ];
    let setup = |model| Setup { skills: &skills, settings: RANKED, model, ..Setup::default() };
    let broken = TestServer::start(setup(Some(model.path().to_owned()))).await;
    let working = TestServer::start(setup(None)).await;
    for (turn, wanted) in [
        ("they want their money back", vec!["refund"]),
        ("sort the tools in the garden shed", vec!["shed"]),
        ("what is the capital of Peru?", vec![]),
    ] {
        for (server, state) in [(&broken, SemanticState::Unavailable), (&working, SemanticState::Ok)] {
            let answer = server.select(turn_request(turn)).await.unwrap();
            let slugs: Vec<&str> = answer.items.iter().map(|item| item.slug.as_str()).collect();
            assert_eq!((slugs, answer.semantic.unwrap().state()), (wanted.clone(), state), "{turn}");
        }
    }
    for (server, counts) in [(&broken, [0, 3]), (&working, [3, 0])] {
        for (state, count) in ["ok", "unavailable"].into_iter().zip(counts) {
            let series = format!("maitred_semantic_total{{state=\"{state}\"}}");
            assert_eq!(server.metric(&series).await, count, "{series}");
        }
    }
}

/// The built-in model, as slow as a sentence transformer may be, until something happens to it.
#[derive(Debug)]
struct Mortal {
    model: Arc<dyn Embedder>,
    fate: Mutex<Option<Fate>>,
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Dies,
    Hangs,
    SpeaksNonsense,
    Fails,
}

impl Embedder for Mortal {
    fn about(&self) -> &About {
        self.model.about()
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, EmbedError> {
        let fate = *self.fate.lock().unwrap();
        match fate {
            None => self.model.embed(texts),
            Some(Fate::Dies) => panic!("the model has died"),
            Some(Fate::Hangs) => {
                let began = Instant::now();
                while began.elapsed() < Duration::from_secs(2) {
                    thread::park_timeout(Duration::from_millis(100));
                }
                self.model.embed(texts)
            }
            Some(Fate::SpeaksNonsense) => {
                Ok(vec![Some(vec![f32::NAN; self.about().dimensions].into()); texts.len()])
            }
            Some(Fate::Fails) => Err(EmbedError::new("out of order")),
        }
    }

    fn add(
        &self,
        text: &str,
        weight: f32,
        scratch: &mut EmbedScratch,
        sum: &mut [f32],
    ) -> Result<bool, EmbedError> {
        self.model.add(text, weight, scratch, sum)
    }
}

/// CASES 2.07: a model that dies, hangs, speaks nonsense or fails after the start: triggers and words are served in bounded time,
/// the answer says what is missing, nothing else is offered for it; and it is taken back when it recovers.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_to_a_model_triggers_and_words_are_served_in_time() {
    let mortal = Arc::new(Mortal { model: builtin::model(), fate: Mutex::new(None) });
    let skills = [
        ("refund", skill_md("refund", "money back", "Decides whether a customer is repaid.", "Steps.")),
        ("shed", skill_md("shed", "", "Tidies the garden shed and sorts the tools.", "Steps.")),
        ("choir", skill_md("choir", "", "Plans which songs a choir rehearses.", "Steps.")),
    ];
    let embedder: Arc<dyn Embedder> = mortal.clone();
    let setup = Setup { skills: &skills, settings: RANKED, embedder: Some(embedder), ..Setup::default() };
    let server = TestServer::start(setup).await;
    let fates = [Some(Fate::Fails), Some(Fate::SpeaksNonsense), Some(Fate::Dies), None, Some(Fate::Hangs)];
    for fate in fates {
        *mortal.fate.lock().unwrap() = fate;
        for (turn, wanted) in [
            ("they want their money back", vec!["refund"]),
            ("sort the tools in the garden shed", vec!["shed"]),
            ("what is the capital of Peru?", vec![]),
        ] {
            let began = Instant::now();
            let answer = server.select(turn_request(turn)).await.unwrap();
            let took = began.elapsed();
            let slugs: Vec<&str> = answer.items.iter().map(|item| item.slug.as_str()).collect();
            let state = answer.semantic.unwrap().state();
            let is_expected =
                state == if fate.is_some() { SemanticState::Unavailable } else { SemanticState::Ok };
            assert!(is_expected && slugs == wanted, "{fate:?}, {turn}: {slugs:?} {state:?}");
            assert!(took < Duration::from_secs(1), "{fate:?}: {took:?}");
        }
    }
    assert_eq!(server.metric("maitred_semantic_total{state=\"unavailable\"}").await, 12);
    assert_eq!(server.metric("maitred_semantic_total{state=\"ok\"}").await, 3);
}

/// A served directory, its log being read.
fn served(dir: &std::path::Path, more: &[&str]) -> (Served, BufReader<std::process::ChildStderr>) {
    let serve = ["serve", "--log-format", "json", "--http", "127.0.0.1:0", "--listen", "127.0.0.1:0"];
    let skills = ["--untriggered", "ranked", "--skills", dir.to_str().unwrap()];
    let mut command = maitred(&[&serve[..], &skills[..], more].concat());
    command.stdout(Stdio::null());
    let mut served = Served::spawn(command);
    let mut log = BufReader::new(served.child.stderr.take().unwrap());
    served.await_log(&mut log, "serving");
    (served, log)
}

/// CASES 2.07: the log of it, once for all calls of a minute.
#[test]
fn the_log_says_that_the_model_fails() {
    let (model, dir) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    broken_model(model.path());
    write(dir.path(), "soup", &skill_md("soup", "soup", "Cooks onion soup.", "Steps."));
    let (mut served, mut log) = served(dir.path(), &["--model", model.path().to_str().unwrap()]);
    for _ in 0..3 {
        let select = crate::cli::run(&["client", "--server", &served.address, "select", "soup"]);
        crate::cli::check(&select, 0, &["soup"], &[]);
    }
    let message = "the embedding model fails or is late: menus are made of triggers and words alone";
    served.await_log(&mut log, message);
    write(dir.path(), "bread", &skill_md("bread", "bread", "Bakes bread.", "Steps."));
    served.await_log(&mut log, "published snapshot");
    let told = served.log.iter().filter(|line| line.contains(message)).count();
    assert_eq!((told, served.terminate()), (1, Some(0)));
}

/// CASES 2.24: the floor belongs to a model, and one for another model is told of.
#[test]
fn a_floor_that_was_fitted_for_another_model_is_told_of() {
    let shipped: Value =
        serde_json::from_str(include_str!("../../../models/static/calibration.json")).unwrap();
    let dir = TempDir::new().unwrap();
    write(dir.path(), "soup", &skill_md("soup", "soup", "Cooks onion soup.", "Steps."));
    let file = dir.path().join("calibration.json");
    let mut foreign = shipped.clone();
    foreign["model_id"] = "sha256:0000".into();
    for (calibration, is_told) in [(&foreign, true), (&shipped, false)] {
        std::fs::write(&file, calibration.to_string()).unwrap();
        let (served, _) = served(dir.path(), &["--calibration", file.to_str().unwrap()]);
        let told =
            served.log.iter().any(|line| line.contains("the calibration was fitted for another model"));
        assert_eq!((told, served.terminate()), (is_told, Some(0)));
    }
}

/// CASES 2.05 and 2.18: what a server says of its playbooks once it serves, and again of what changes. It is ready all the
/// same.
#[test]
fn playbooks_that_outrank_or_equal_each_other_are_named_after_readiness() {
    let dir = TempDir::new().unwrap();
    // Long enough to be a body: descriptions alone are judged by other numbers.
    let steps = "Do it step by step, and look twice. ".repeat(4);
    let wide = "Answers every question about the office printer: paper, toner, jams and drivers.";
    write(dir.path(), "printer", &skill_md("printer", "", wide, &steps));
    write(dir.path(), "vague", &skill_md("vague", "", "Helps.", &steps));
    for copy in ["copy-one", "copy-two"] {
        write(dir.path(), copy, &skill_md(copy, "", "Plans the rota of the canteen kitchen.", &steps));
    }
    let (mut served, mut log) = served(dir.path(), &[]);
    let vague =
        "its own description does not select this playbook, nothing comes instead: say what it alone does";
    served.await_log(&mut log, vague);
    let alike = "these two playbooks can hardly be told apart: say in both descriptions how they differ";
    served.await_log(&mut log, alike);
    let entry = |served: &Served| serde_json::from_str::<Value>(served.log.last().unwrap()).unwrap();
    assert_eq!(
        (&entry(&served)["playbook"], &entry(&served)["other"]),
        (&"copy-one".into(), &"copy-two".into())
    );
    assert_eq!(entry(&served)["level"], "WARN");

    // An edit is looked at, and nothing is said twice.
    let narrow = skill_md("printer-toner", "printer|toner", "Printer toner.", &steps);
    write(dir.path(), "printer-toner", &narrow);
    write(dir.path(), "vaguer", &skill_md("vaguer", "", "Does.", &steps));
    served.await_log(&mut log, vague);
    assert_eq!(entry(&served)["playbook"], "vaguer");
    for (message, count) in [(vague, 2), (alike, 1)] {
        assert_eq!(
            served.log.iter().filter(|line| line.contains(message)).count(),
            count,
            "{:#?}",
            served.log
        );
    }
    assert_eq!(served.terminate(), Some(0));
}

/// The built-in model; embedding new stock begins and ends when the test says so.
#[derive(Debug)]
struct Gated {
    model: Arc<dyn Embedder>,
    begins: Barrier,
    ends: Barrier,
}

impl Embedder for Gated {
    fn about(&self) -> &About {
        self.model.about()
    }

    fn is_immediate(&self) -> bool {
        true
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, EmbedError> {
        if texts.iter().any(|text| text.contains("new stock")) {
            self.begins.wait();
            self.ends.wait();
        }
        self.model.embed(texts)
    }

    fn add(
        &self,
        text: &str,
        weight: f32,
        scratch: &mut EmbedScratch,
        sum: &mut [f32],
    ) -> Result<bool, EmbedError> {
        self.model.add(text, weight, scratch, sum)
    }
}

fn shelf(count: usize) -> Vec<Arc<Playbook>> {
    let one = |at: usize| {
        let trigger = if at < 2_000 { "old stock" } else { "new stock" };
        playbook(&format!("p{at:04}"), trigger, "Keeps one shelf in order.")
    };
    (0..count).map(one).collect()
}

fn ask(reader: &Reader, turn: &str) -> (SelectAnswer, usize) {
    let request = SelectRequest {
        agent_id: "default".to_owned(),
        run_id: None,
        turn_id: None,
        query: MenuQuery::new(turn).unwrap(),
        tool_format: ToolFormat::Neutral,
    };
    let answer = reader.select(&request, None).unwrap();
    let triggered = answer.menu.items.iter().filter(|item| matches!(item.reason, Reason::Trigger { .. }));
    let found = triggered.count() + answer.menu.omitted.triggered;
    (answer, found)
}

/// CASES 2.26: a hundred playbooks come to two thousand while turns are asked about. No turn waits for it, and each sees
/// none of them or all.
#[test]
fn turns_are_answered_while_an_import_is_built_and_see_it_whole_or_not_at_all() {
    let gated = Arc::new(Gated { model: builtin::model(), begins: Barrier::new(2), ends: Barrier::new(2) });
    let catalog = Catalog::new(gated.clone());
    let agent = AgentId::default_agent();
    catalog.replace(&agent, shelf(2_000), RANKED).unwrap();
    let signer = MenuSigner::random(Duration::from_mins(1)).unwrap();
    let reader = Reader::new(&catalog, signer, Arc::new(SystemClock), Arc::default());
    thread::scope(|scope| {
        let import = scope.spawn(|| catalog.replace(&agent, shelf(2_100), RANKED).unwrap());
        gated.begins.wait();
        // The import cannot end before these have: they do not wait for it.
        for _ in 0..200 {
            let (answer, found) = ask(&reader, "where is the new stock");
            assert_eq!((answer.revision, found), (Revision::new(1), 0));
            // What fits by relevance is of the old ones, too.
            assert!(answer.menu.items.iter().all(|item| item.slug.as_str() < "p2000"), "{:?}", answer.menu);
        }
        gated.ends.wait();
        loop {
            let (answer, found) = ask(&reader, "where is the new stock");
            assert_eq!(found, if answer.revision == Revision::new(1) { 0 } else { 100 });
            if answer.revision == Revision::new(2) {
                break;
            }
        }
        assert_eq!(import.join().unwrap(), Revision::new(2));
    });
    assert_eq!(ask(&reader, "where is the old stock").1, 2_000);
}
