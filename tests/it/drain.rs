//! How a server ends: health first, calls in flight to their end, nothing answered lost, in its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use maitred::transport::grpc::proto::SelectMenuRequest;
use tokio::net::TcpStream;
use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;

use crate::harness::{Setup, TestServer, check_refused, turn_request};
use crate::wire::{self, get};

#[tokio::test(flavor = "multi_thread")]
async fn health_turns_before_the_drain_and_the_socket_is_released() {
    let server = TestServer::small().await;
    let mut health = HealthClient::new(server.channel.clone());
    for service in ["", "maitred.v1.MenuService"] {
        let request = HealthCheckRequest { service: service.to_owned() };
        let status = health.check(request).await.unwrap().into_inner().status();
        assert_eq!(status, ServingStatus::Serving, "{service:?}");
    }
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let stopped = tokio::spawn(server.running.stop());
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    // The server ends the watching itself: the clients are still there, and the drain does not wait for them.
    let began = Instant::now();
    stopped.await.unwrap().unwrap();
    assert!(began.elapsed() < Duration::from_secs(4), "{:?} of 5 s", began.elapsed());
    drop((watch, health, server.client, server.channel));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_taken_while_health_gives_notice() {
    let server = TestServer::start(Setup {
        drain_notice: Duration::from_millis(600),
        skills: &[("soup", crate::fixture::skill_md("soup", "soup", "Cooks.", "Slice."))],
        ..Setup::default()
    })
    .await;
    let (listen, http) = (server.running.listen.clone(), server.running.http.clone().unwrap());
    let mut health = HealthClient::new(server.channel.clone());
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let stopped = tokio::spawn(server.running.stop());
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    // A client that comes now still finds the door open.
    let mut late = wire::Wire::connect(&listen).await;
    let answer =
        late.call("/maitred.v1.MenuService/SelectMenu", None, wire::framed(&turn_request("soup"))).await;
    assert_eq!(answer.code, Code::Ok);
    let (status, text) = get(&http, "/readyz", "localhost").await;
    assert!(
        status.ends_with("503 Service Unavailable") && text.contains("the server drains"),
        "{status} {text}"
    );
    assert!(get(&http, "/healthz", "localhost").await.0.ends_with("200 OK"));
    stopped.await.unwrap().unwrap();
    assert!(TcpStream::connect(&listen).await.is_err(), "the port is closed");
}

/// Calls go on while the server drains: as many answers arrive as the server gave; other calls never reached it.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_answered_is_lost() {
    let server = TestServer::small().await;
    // In flight when the drain begins, and answered a second later.
    let waiting = tokio::spawn({
        let mut client = server.client.clone();
        let mut request =
            tonic::Request::new(SelectMenuRequest { min_revision: Some(99), ..turn_request("soup") });
        request.set_timeout(Duration::from_secs(1));
        async move { client.select_menu(request).await }
    });
    server.metric_until("maitred_in_flight", |count| count == 1).await;
    let ends = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let (mut client, ends) = (server.client.clone(), Arc::clone(&ends));
            tokio::spawn(async move {
                let mut answers = 0;
                loop {
                    match client.select_menu(turn_request("soup")).await {
                        Ok(answer) => assert_eq!(answer.into_inner().items[0].slug, "soup"),
                        Err(status) => {
                            assert!(ends.load(Ordering::SeqCst), "before the drain: {status:?}");
                            return answers;
                        }
                    }
                    answers += 1;
                }
            })
        })
        .collect();
    server.metric_until("maitred_menus_total{size=\"1\"}", |count| count > 50).await;
    ends.store(true, Ordering::SeqCst);
    let observer = Arc::clone(&server.running.observer);
    server.running.stop().await.unwrap();
    check_refused(waiting.await.unwrap(), Code::Unavailable, "REVISION_NOT_REACHED", "at revision 1");
    let mut answers = 0;
    for caller in callers {
        answers += caller.await.unwrap();
    }
    let metrics = observer.metrics();
    let answered = format!(
        "grpc_server_handled_total{{grpc_code=\"OK\",grpc_method=\"SelectMenu\",\
         grpc_service=\"maitred.v1.MenuService\"}} {answers}\n"
    );
    assert!(metrics.contains(&answered), "{answers} answers arrived: {metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_ends_does_not_keep_the_drain() {
    let server = TestServer::small().await;
    let silent = TcpStream::connect(&server.running.listen).await.unwrap();
    let mut half = TcpStream::connect(&server.running.listen).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut half, b"PRI * HTTP/2.0\r\n").await.unwrap();
    // A reflection stream whose client never ends it.
    let ask = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let questions = tokio_stream::once(ask).chain(tokio_stream::pending());
    let mut client = ServerReflectionClient::new(server.channel.clone());
    let mut answers = client.server_reflection_info(questions).await.unwrap().into_inner();
    assert!(answers.message().await.unwrap().is_some());
    server.metric_until("maitred_connections{door=\"grpc\"}", |count| count == 3).await;
    let began = Instant::now();
    server.running.stop().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?} of 5 s", began.elapsed());
    assert!(answers.message().await.unwrap().is_none(), "the stream ended in order");
    drop((silent, half));
}
