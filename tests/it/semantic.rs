//! What a menu is when the embedding works, when it fails, and when it does not know the script.

use std::sync::Arc;
use std::time::{Duration, Instant};

use maitred::app::admit::Deadline;
use maitred::app::turns::TurnQueue;
use maitred::domain::menu::{Menu, SemanticState};
use maitred::domain::query::MenuQuery;
use maitred::engine::builder::{Builder, Circumstances};
use maitred::engine::embed::script::Covered;
use maitred::engine::embed::turn::Outcome;
use maitred::engine::embed::{About, EmbedError, EmbedScratch, Embedder, ModelId, Vector, builtin};
use maitred::engine::scratch::Scratch;
use maitred::engine::select::{select, select_embedded};
use maitred::engine::snapshot::AgentIndex;
use maitred::transport::grpc::proto::SemanticState as Sent;
use safetensors::Dtype;
use tempfile::TempDir;

use crate::fixture::{RANKED, playbook, skill_md};
use crate::harness::{Setup, TestServer, turn_request};
use crate::models;

/// A model that fails, or takes its time.
#[derive(Debug)]
struct Troubled {
    fails: bool,
    takes: Duration,
    about: About,
}

impl Troubled {
    fn new(fails: bool, takes: Duration) -> Arc<Self> {
        let words: Vec<String> = (0..500).map(|at| format!("aa{at}")).collect();
        let scripts = Covered::by(words.iter().map(String::as_str));
        let id = ModelId::of_files([b"troubled".as_slice()]);
        Arc::new(Self { fails, takes, about: About { id, dimensions: 2, scripts } })
    }
}

impl Embedder for Troubled {
    fn about(&self) -> &About {
        &self.about
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, EmbedError> {
        let began = Instant::now();
        while began.elapsed() < self.takes {
            std::hint::spin_loop();
        }
        if self.fails {
            return Err(EmbedError::new("out of order"));
        }
        Ok(vec![Some([0.6, 0.8].into()); texts.len()])
    }

    fn add(&self, text: &str, _: f32, _: &mut EmbedScratch, sum: &mut [f32]) -> Result<bool, EmbedError> {
        let vector = self.embed(&[text])?.remove(0);
        sum.copy_from_slice(&vector.unwrap());
        Ok(true)
    }
}

fn index(embedder: Arc<dyn Embedder>) -> AgentIndex {
    let playbooks = vec![
        playbook("refund", "refund", "Gives a customer their money back."),
        playbook("shed", "", "Tidies the garden shed and sorts the tools."),
        playbook("fapiao", "发票", "开具发票并寄给客户。"),
    ];
    Builder::new(embedder).build(playbooks, RANKED, Circumstances::default()).unwrap().index
}

fn slugs(menu: &Menu) -> Vec<&str> {
    menu.items.iter().map(|item| item.slug.as_str()).collect()
}

/// CASES 2.07.
#[test]
fn a_broken_model_leaves_triggers_and_words() {
    let broken = index(Troubled::new(true, Duration::ZERO));
    let menu_of = |turn| select(&broken, &MenuQuery::new(turn).unwrap(), &mut Scratch::default());
    let menu = menu_of("a refund please");
    assert_eq!((slugs(&menu), menu.semantic), (vec!["refund"], SemanticState::Unavailable));
    let menu = menu_of("sort the tools in the garden shed");
    assert_eq!((slugs(&menu), menu.semantic), (vec!["shed"], SemanticState::Unavailable));
    assert!(slugs(&menu_of("what is the capital of Peru?")).is_empty());
}

/// CASES 2.07.
#[test]
fn a_model_of_numbers_that_are_none_is_broken_too() {
    let mut files = models::static_model(1, 4, Dtype::F32);
    let tensors = files.get_mut("model.safetensors").unwrap();
    let rows = models::ID_COUNT * 16;
    let start = tensors.len() - rows;
    tensors[start..].chunks_mut(4).for_each(|number| number.copy_from_slice(&f32::NAN.to_le_bytes()));
    let dir = TempDir::new().unwrap();
    models::write(dir.path(), &files);
    let broken = index(maitred::store::model::open(dir.path()).unwrap());
    let menu = select(&broken, &MenuQuery::new("tidy the shed, a refund").unwrap(), &mut Scratch::default());
    assert_eq!((slugs(&menu)[0], menu.semantic), ("refund", SemanticState::Unavailable));
}

/// CASES 2.19.
#[test]
fn a_script_that_the_model_does_not_cover_is_said() {
    let index = index(builtin::model());
    let menu_of = |turn| select(&index, &MenuQuery::new(turn).unwrap(), &mut Scratch::default());
    let menu = menu_of("我想开发票");
    assert_eq!((slugs(&menu), menu.semantic), (vec!["fapiao"], SemanticState::ScriptNotCovered));
    assert_eq!(menu.items[0].scores.cosine, None);
    let menu = menu_of("the customer wants their money back");
    assert_eq!((slugs(&menu), menu.semantic), (vec!["refund"], SemanticState::Ok));
    assert!(menu.items[0].scores.cosine.unwrap() > 0.4, "{menu:?}");
    assert_eq!(menu_of("🙂🙂").semantic, SemanticState::Ok);
}

#[test]
fn recent_turns_count_less_than_the_turn() {
    let index = index(builtin::model());
    let cosine = |turn: &str, recent: &[&str]| {
        let query = MenuQuery::new(turn).unwrap().with_explain(true);
        let query = query.with_recent(recent.iter().map(|turn| (*turn).to_owned()).collect()).unwrap();
        let menu = select(&index, &query, &mut Scratch::default());
        let shown = menu.items.iter().map(|item| (&item.slug, item.scores));
        let mut all =
            shown.chain(menu.considered.iter().map(|considered| (&considered.slug, considered.scores)));
        all.find(|(slug, _)| slug.as_str() == "shed").unwrap().1.cosine.unwrap()
    };
    let (alone, followed) = (
        cosine("and the same for the other one", &[]),
        cosine("and the same for the other one", &["tidy the garden shed"]),
    );
    assert!(followed > alone + 0.05, "{alone} {followed}");
    assert!(cosine("tidy the garden shed", &["and the same for the other one"]) > followed + 0.2);
}

/// A deadline that no test reaches.
fn in_time() -> Deadline {
    Deadline::after(std::time::Instant::now(), None)
}

/// CASES 2.07: with a bounded wait.
#[tokio::test]
async fn turns_of_a_slow_model_are_embedded_together_and_not_waited_for_long() {
    let query = |turn: &str| MenuQuery::new(turn).unwrap();
    let quick = Troubled::new(false, Duration::ZERO);
    let queue = TurnQueue::new(quick.clone());
    let turn = queue.embed(&query("tidy the shed"), in_time()).await.unwrap();
    assert_eq!((turn.outcome, turn.values.as_slice()), (Outcome::Embedded, [0.6, 0.8].as_slice()));
    assert_eq!(
        queue.embed(&query("我想开发票"), in_time()).await.unwrap().outcome,
        Outcome::ScriptNotCovered
    );
    let index = index(quick);
    let menu = select_embedded(&index, &query("tidy the garden shed"), &turn, &mut Scratch::default());
    assert_eq!(menu.semantic, SemanticState::Ok);

    let broken = TurnQueue::new(Troubled::new(true, Duration::ZERO));
    assert_eq!(broken.embed(&query("tidy the shed"), in_time()).await.unwrap().outcome, Outcome::Failed);
    let slow = TurnQueue::new(Troubled::new(false, Duration::from_millis(600)));
    let began = Instant::now();
    assert_eq!(slow.embed(&query("tidy the shed"), in_time()).await.unwrap().outcome, Outcome::Failed);
    assert!(began.elapsed() < Duration::from_millis(550), "{:?}", began.elapsed());
    assert!(TurnQueue::new(builtin::model()).embed(&query("tidy the shed"), in_time()).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_runs_with_a_sentence_transformer_of_ones_own() {
    let dir = TempDir::new().unwrap();
    models::write(dir.path(), &models::transformer(4));
    let skills = [("shed", skill_md("shed", "", "tidy the shed", "Clean!"))];
    let setup =
        Setup { skills: &skills, settings: RANKED, model: Some(dir.path().into()), ..Setup::default() };
    let server = TestServer::start(setup).await;
    let answer = server.select(turn_request("tidy the shed")).await.unwrap();
    let semantic = answer.semantic.unwrap();
    // The small vocabulary covers no script.
    assert_eq!((semantic.state(), answer.items[0].slug.as_str()), (Sent::ScriptNotCovered, "shed"));
    let own = maitred::store::model::open(dir.path()).unwrap();
    assert_eq!(semantic.model_id, own.about().id.to_string());
}
