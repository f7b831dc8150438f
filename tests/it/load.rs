//! Many calls at once.

use std::time::{Duration, Instant};

use maitred::transport::grpc::proto::menu_service_client::MenuServiceClient;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt as _;

use crate::harness::{TestServer, load_request, turn_request};

async fn channel(server: &TestServer) -> Channel {
    let uri = format!("http://{}", server.running.listen);
    Channel::from_shared(uri).unwrap().connect().await.unwrap()
}

/// True for an answer, false for a shed call; anything else is a fault.
fn is_answered<T>(answer: Result<T, Status>) -> bool {
    let Err(status) = answer else { return true };
    let reason = status.get_details_error_info().map(|info| info.reason);
    assert_eq!(
        (status.code(), reason.as_deref()),
        (Code::ResourceExhausted, Some("OVERLOADED")),
        "{status:?}"
    );
    assert!(status.get_details_retry_info().is_some_and(|retry| retry.retry_delay.is_some()));
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_streams_are_answered_or_shed() {
    const CONNECTIONS: usize = 100;
    const STREAMS: usize = 100;
    let server = TestServer::small().await;
    let token = server.select(turn_request("soup")).await.unwrap().menu_token;
    let mut channels = Vec::new();
    for _ in 0..CONNECTIONS {
        channels.push(channel(&server).await);
    }
    let mut calls = tokio::task::JoinSet::new();
    for stream in 0..CONNECTIONS * STREAMS {
        let mut client = MenuServiceClient::new(channels[stream % CONNECTIONS].clone());
        let token = token.clone();
        calls.spawn(async move {
            if stream % 2 == 0 {
                is_answered(client.select_menu(turn_request("soup")).await)
            } else {
                is_answered(client.load_playbook(load_request(&token, "soup")).await)
            }
        });
    }
    let health = HealthClient::new(server.channel.clone()).check(HealthCheckRequest::default()).await;
    assert_eq!(health.unwrap().into_inner().status(), ServingStatus::Serving);
    let answers = calls.join_all().await;
    let answered = answers.iter().filter(|answered| **answered).count();
    assert_eq!(answers.len(), CONNECTIONS * STREAMS);
    assert!(answered > 256, "{answered}");
    for gauge in ["maitred_queued", "maitred_in_flight", "maitred_panics_total"] {
        assert_eq!(server.metric(gauge).await, 0, "{gauge}");
    }
    drop(channels);
    server.metric_until("maitred_connections{door=\"grpc\"}", |count| count == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_calls_than_a_connection_holds_wait_for_their_turn() {
    let server = TestServer::small().await;
    let one = channel(&server).await;
    let calls: Vec<_> = (0..300)
        .map(|_| {
            let mut client = MenuServiceClient::new(one.clone());
            tokio::spawn(async move { client.select_menu(turn_request("soup")).await })
        })
        .collect();
    for call in calls {
        is_answered(call.await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_with_a_call_each_are_answered() {
    let server = TestServer::small().await;
    let mut calls = Vec::new();
    for _ in 0..300 {
        let mut client = MenuServiceClient::new(channel(&server).await);
        calls.push(tokio::spawn(async move { client.select_menu(turn_request("soup")).await }));
    }
    for call in calls {
        assert!(is_answered(call.await.unwrap()), "they come one after another");
    }
}

/// Nagle's algorithm against delayed acknowledgements shows as 40 ms.
#[tokio::test(flavor = "multi_thread")]
async fn small_answers_do_not_wait_for_each_other() {
    let server = TestServer::small().await;
    let mut stalls = 0;
    for _ in 0..200 {
        let began = Instant::now();
        let (one, other) =
            tokio::join!(server.select(turn_request("soup")), server.select(turn_request("soup")));
        assert_eq!(one.unwrap().items.len() + other.unwrap().items.len(), 2);
        stalls += usize::from(began.elapsed() >= Duration::from_millis(38));
    }
    assert!(stalls < 20, "{stalls} of 200 pairs took 38 ms or more");
}
