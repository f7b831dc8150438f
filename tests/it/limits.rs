//! What a server does with more than it can bear: sheds, ends in time, survives.

use std::sync::Arc;
use std::time::{Duration, Instant};

use maitred::app::admit::AdmissionLimits;
use maitred::domain::agent::AgentId;
use maitred::engine::embed::{About, EmbedError, EmbedScratch, Embedder, Vector, builtin};
use maitred::transport::grpc::proto::{SelectMenuRequest, SelectMenuResponse, SemanticState};
use prost::Message as _;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt as _;

use crate::fixture::{RANKED, copy, playbook, skill_md};
use crate::harness::{Setup, TestServer, check_refused, load_request, turn_request};
use crate::wire::{Wire, framed};

const SELECT: &str = "/maitred.v1.MenuService/SelectMenu";

/// A request that waits for a revision which never comes.
fn waiting() -> SelectMenuRequest {
    SelectMenuRequest { min_revision: Some(99), ..turn_request("soup") }
}

async fn narrow(queued_max: usize, in_flight_max: usize) -> TestServer {
    let skills = [("soup", skill_md("soup", "soup", "Cooks onion soup.", "Slice the onions."))];
    let admission = AdmissionLimits { queued_max, in_flight_max };
    TestServer::start(Setup { skills: &skills, admission, ..Setup::default() }).await
}

async fn check_healthy(server: &TestServer) {
    let answer = HealthClient::new(server.channel.clone()).check(HealthCheckRequest::default()).await;
    assert_eq!(answer.unwrap().into_inner().status(), ServingStatus::Serving);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_too_many_is_shed_at_once_and_a_cancelled_one_gives_its_permit_back() {
    let server = narrow(256, 1).await;
    let first = tokio::spawn({
        let mut client = server.client.clone();
        async move { client.select_menu(waiting()).await }
    });
    server.metric_until("maitred_in_flight", |count| count == 1).await;
    let began = Instant::now();
    let status = server.select(turn_request("soup")).await.unwrap_err();
    let took = began.elapsed();
    let retry = status.get_details_retry_info().and_then(|retry| retry.retry_delay);
    assert!(retry.is_some_and(|time| (20..=320).contains(&time.as_millis())), "{retry:?}");
    check_refused::<()>(Err(status), Code::ResourceExhausted, "OVERLOADED", "1 calls are in flight already");
    // The waiting call would take 2 s; the refusal takes microseconds, and this machine may be busy.
    assert!(took < Duration::from_millis(200), "{took:?}");
    check_healthy(&server).await;

    first.abort();
    server.metric_until("maitred_in_flight", |count| count == 0).await;
    assert_eq!(server.select(turn_request("soup")).await.unwrap().items[0].slug, "soup");
    assert_eq!(server.metric("maitred_shed_total{reason=\"in_flight\"}").await, 1);
    assert_eq!(server.metric("maitred_refused_total{reason=\"OVERLOADED\"}").await, 1);
    let cancelled = "grpc_server_handled_total{grpc_code=\"Canceled\",grpc_method=\"SelectMenu\",\
                     grpc_service=\"maitred.v1.MenuService\"}";
    assert_eq!(server.metric(cancelled).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_sheds_calls_and_not_the_question_whether_it_lives() {
    let server = narrow(0, 1_024).await;
    for _ in 0..20 {
        let answer = server.select(turn_request("soup")).await;
        check_refused(answer, Code::ResourceExhausted, "OVERLOADED", "calls wait for a processor already");
    }
    let answer = server.load(load_request("x", "soup")).await;
    check_refused(answer, Code::ResourceExhausted, "OVERLOADED", "call again in");
    check_healthy(&server).await;
    assert_eq!(server.metric("maitred_shed_total{reason=\"queue\"}").await, 21);
    assert_eq!(server.metric("maitred_queued").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_ends_in_its_time_with_the_code_for_it() {
    let server = narrow(256, 1_024).await;
    let mut wire = Wire::connect(&server.running.listen).await;
    let turn = framed(&turn_request("soup"));
    for (timeout, code) in [
        ("1n", Code::DeadlineExceeded),
        ("0S", Code::DeadlineExceeded),
        ("20S", Code::Ok),
        // Not what the protocol has: as if it had not been sent.
        ("999999999S", Code::Ok),
        ("-1S", Code::Ok),
        ("soon", Code::Ok),
    ] {
        let answer = wire.call(SELECT, Some(timeout), turn.clone()).await;
        assert_eq!(answer.code, code, "{timeout}: {answer:?}");
        if code != Code::Ok {
            assert_eq!((answer.reason.as_str(), answer.retry_after), ("DEADLINE_EXCEEDED", None));
        }
    }
    // A message that does not come.
    let mut open = wire.begin(SELECT, Some("100m")).await;
    open.body.send_data(turn.slice(..7), false).unwrap();
    let answer = open.answer().await;
    assert_eq!((answer.code, answer.reason.as_str()), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"));
    let late = "grpc_server_handled_total{grpc_code=\"DeadlineExceeded\",grpc_method=\"SelectMenu\",\
                grpc_service=\"maitred.v1.MenuService\"}";
    assert_eq!(server.metric(late).await, 3);
    server.metric_until("maitred_in_flight", |count| count == 0).await;
    assert_eq!(wire.call(SELECT, None, turn).await.code, Code::Ok);
}

/// The built-in model, but for some words.
#[derive(Debug)]
struct Moody {
    model: Arc<dyn Embedder>,
    is_immediate: bool,
}

impl Embedder for Moody {
    fn about(&self) -> &About {
        self.model.about()
    }

    fn is_immediate(&self) -> bool {
        self.is_immediate
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, EmbedError> {
        let began = Instant::now();
        while texts.iter().any(|text| text.contains("slowly")) && began.elapsed() < Duration::from_millis(400)
        {
            std::hint::spin_loop();
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
        assert!(!text.contains("explode"), "a fault of ours, for this test");
        self.model.add(text, weight, scratch, sum)
    }
}

async fn moody(is_immediate: bool) -> TestServer {
    let skills = [("soup", skill_md("soup", "soup", "Cooks onion soup.", "Slice the onions."))];
    let embedder = Some(Arc::new(Moody { model: builtin::model(), is_immediate }) as Arc<dyn Embedder>);
    TestServer::start(Setup { skills: &skills, embedder, ..Setup::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_ends_one_call_is_counted_and_takes_nothing_else_down() {
    let server = moody(true).await;
    let neighbours: Vec<_> = (0..8)
        .map(|_| {
            let mut client = server.client.clone();
            tokio::spawn(async move { client.select_menu(turn_request("soup")).await })
        })
        .collect();
    for _ in 0..3 {
        let answer = server.select(turn_request("explode the soup")).await;
        check_refused(answer, Code::Internal, "INTERNAL", "a fault of ours ended this call");
    }
    for neighbour in neighbours {
        assert_eq!(neighbour.await.unwrap().unwrap().into_inner().items[0].slug, "soup");
    }
    assert_eq!(server.metric("maitred_panics_total").await, 3);
    assert_eq!(server.metric("maitred_in_flight").await, 0);
    assert_eq!(server.select(turn_request("soup")).await.unwrap().items[0].slug, "soup");
}

/// CASES 2.07.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_model_does_not_outlast_the_deadline() {
    let server = moody(false).await;
    let mut wire = Wire::connect(&server.running.listen).await;
    let began = Instant::now();
    let answer = wire.call(SELECT, Some("150m"), framed(&turn_request("slowly, soup"))).await;
    let took = began.elapsed();
    assert_eq!(answer.code, Code::Ok, "{answer:?}");
    let menu = SelectMenuResponse::decode(&answer.body[5..]).unwrap();
    assert_eq!(menu.semantic.unwrap().state(), SemanticState::Unavailable);
    assert_eq!(menu.items[0].slug, "soup");
    assert!(took < Duration::from_millis(250), "{took:?}: the model takes 400 ms");
    // The next turn, in line behind it, gets its vector as usual.
    let next = server.select(turn_request("onion soup")).await.unwrap();
    assert_eq!(next.items[0].slug, "soup");
}

/// Long selections wait in their own line: health, metrics and refusals do not wait behind them.
#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_of_thousands_does_not_keep_others_from_being_heard() {
    let server = TestServer::start(Setup {
        admission: AdmissionLimits { queued_max: 8, in_flight_max: 1_024 },
        ..Setup::default()
    })
    .await;
    let shelf = (0..2_100).map(|at| copy(&format!("p-{at}"), "Fills one more place on a long shelf."));
    let playbooks = shelf.chain([playbook("soup", "soup", "Cooks onion soup.")]);
    // The directory keeps the agent `default` as it is.
    let agent = AgentId::parse("shelf").unwrap();
    let catalog = Arc::clone(&server.running.catalog);
    catalog.replace(&agent, playbooks.collect(), RANKED).unwrap();
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let mut client = server.client.clone();
            let request =
                SelectMenuRequest { agent_id: "shelf".to_owned(), ..turn_request("onion soup, please") };
            tokio::spawn(async move { client.select_menu(request).await })
        })
        .collect();
    check_healthy(&server).await;
    let (mut answered, mut shed) = (0, 0);
    for call in calls {
        match call.await.unwrap() {
            Ok(menu) => {
                assert_eq!(menu.into_inner().items[0].slug, "soup");
                answered += 1;
            }
            Err(status) => {
                check_refused::<()>(
                    Err(status),
                    Code::ResourceExhausted,
                    "OVERLOADED",
                    "wait for a processor",
                );
                shed += 1;
            }
        }
    }
    assert!(answered >= 2 && answered + shed == 200, "{answered} {shed}");
    assert_eq!(server.metric("maitred_shed_total{reason=\"queue\"}").await, shed);
    for gauge in ["maitred_queued", "maitred_in_flight"] {
        server.metric_until(gauge, |count| count == 0).await;
    }
}
