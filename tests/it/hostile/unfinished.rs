//! Calls whose messages do not end: what they cost, whom they are in the way of, and how they are counted.

use std::time::{Duration, Instant};

use bytes::Bytes;
use maitred::app::admit::AdmissionLimits;
use prost::Message as _;
use tokio::time::timeout;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::messages::H2Client;
use super::{Metrics, at_rest, eventually, limits, served, soup, start, while_served};
use crate::harness::{Setup, TestServer, turn_request};
use crate::raw::{
    DATA, END_STREAM, GOAWAY, HEADERS, LOAD_PLAYBOOK, PATIENCE, PING, PLAN_COMPACTION, RST_STREAM,
    RawConnection, SELECT_MENU, call, frame, message, stream_ids,
};
use crate::wire::Wire;

const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";

/// Streams that a connection may have open.
const STREAMS: usize = 256;

/// A turn as a message.
fn turn() -> Vec<u8> {
    message(&turn_request("soup").encode_to_vec())
}

/// Connections that have begun so many calls of a method, without their messages.
async fn begin(server: &TestServer, path: &str, connections: usize) -> Vec<RawConnection> {
    let calls: Vec<u8> = stream_ids().take(STREAMS).flat_map(|stream| call(stream, path)).collect();
    let mut open = Vec::new();
    for _ in 0..connections {
        let mut connection = RawConnection::open(&server.running.listen, &[]).await;
        connection.send(&calls).await.unwrap();
        open.push(connection);
    }
    open
}

/// Waits until the server has taken all that was sent.
async fn taken(connection: &mut RawConnection) {
    connection.send(&frame(PING, 0, 0, &[9; 8])).await.unwrap();
    while connection.next().await.expect("it is open").kind != PING {}
}

#[tokio::test(flavor = "multi_thread")]
async fn what_some_leave_unfinished_keeps_no_small_call_out() {
    let (server, _) = start(limits()).await;
    let hoarders =
        [H2Client::open(&server.running.listen).await, H2Client::open(&server.running.listen).await];
    // A message as large as they get, but for its end, on more streams than the process has room for.
    let part = Bytes::from(message(&vec![0; 256 * 1_024]));
    let mut hoard = Vec::new();
    for hoarder in &hoarders {
        for _ in 0..150 {
            let (answer, mut body) = hoarder.begin(SELECT_MENU, &[]).await.unwrap();
            body.send_data(part.clone(), false).unwrap();
            hoard.push((answer, body));
        }
    }
    let shed = "maitred_shed_total{reason=\"receiving\"}";
    while_served(&server, eventually(&server, "no room", |metrics| metrics.value(shed) > 0)).await;
    for _ in 0..20 {
        served(&server).await;
    }
    drop((hoard, hoarders));
    at_rest(&server).await;
    let large = "soup ".repeat(20_000);
    timeout(Duration::from_secs(5), server.select(turn_request(&large))).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_do_not_end_are_bounded_in_number_and_small_ones_that_do_are_taken() {
    let server = TestServer::start(Setup { skills: &soup(), ..Setup::default() }).await;
    let hoard = begin(&server, SELECT_MENU, 68).await;
    let receiving = "maitred_shed_total{reason=\"receiving\"}";
    let shed = eventually(&server, "no place", |metrics| metrics.value(receiving) > 0).await;
    // One whose message is on its way needs no place.
    let mut wire = Wire::connect(&server.running.listen).await;
    for _ in 0..20 {
        assert_eq!(wire.call(SELECT_MENU, None, turn().into()).await.code, Code::Ok);
    }
    let mut open = wire.begin(SELECT_MENU, None).await;
    open.body.send_data(turn()[..9].to_vec().into(), false).unwrap();
    let answer = open.answer().await;
    assert_eq!((answer.code, answer.reason.as_str()), (Code::ResourceExhausted, "OVERLOADED"));
    assert!(shed.value("maitred_queued") <= 256, "{shed:?}");
    drop((hoard, wire));
    at_rest(&server).await;
    served(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_questions_whether_it_lives_are_bounded_in_number() {
    let server = TestServer::start(Setup { skills: &soup(), ..Setup::default() }).await;
    let hoard = begin(&server, HEALTH_CHECK, 36).await;
    eventually(&server, "no place", |metrics| metrics.value("maitred_shed_total{reason=\"probes\"}") > 0)
        .await;
    served(&server).await;
    // One that is whole is never refused.
    for _ in 0..20 {
        let health = HealthClient::new(server.channel.clone()).check(HealthCheckRequest::default()).await;
        assert!(health.is_ok_and(|health| health.get_ref().status() == ServingStatus::Serving));
    }
    drop(hoard);
    at_rest(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_waits_for_its_message_and_not_for_ever() {
    let (server, before) = start(limits()).await;
    let mut wire = Wire::connect(&server.running.listen).await;
    for (path, sent, reason) in [
        (PLAN_COMPACTION, vec![], "NOT_BUILT_YET"),
        ("/maitred.v1.MenuService/Nothing", vec![0; 3], "METHOD_UNKNOWN"),
        (SELECT_MENU, vec![0, 255, 255, 255, 255, 1, 2], "MESSAGE_TOO_LARGE"),
        (HEALTH_CHECK, vec![0, 0, 255, 255, 255], "MESSAGE_TOO_LARGE"),
        ("/grpc.health.v1.Health/Nothing", vec![], "METHOD_UNKNOWN"),
    ] {
        let began = Instant::now();
        let mut open = wire.begin(path, None).await;
        open.body.send_data(sent.into(), false).unwrap();
        let answer = timeout(PATIENCE, open.answer()).await.expect("it is not waited for for ever");
        assert_eq!(answer.reason, reason);
        assert!(began.elapsed() >= Duration::from_millis(900), "{path}: {:?}", began.elapsed());
    }
    assert_eq!(Metrics::read(&server).await.closed("protocol"), before.closed("protocol"));
}

/// Clients of Go forget a call that is answered before they have sent its message, and end it in no way.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_forgets_the_calls_that_were_refused_keeps_its_connection() {
    let admission = AdmissionLimits { queued_max: 0, in_flight_max: 1_024 };
    let server = TestServer::start(Setup { skills: &soup(), admission, ..Setup::default() }).await;
    let mut connection = RawConnection::open(&server.running.listen, &[]).await;
    let mut ids = stream_ids();
    for _ in 0..3 {
        for stream in ids.by_ref().take(STREAMS) {
            let begun = [call(stream, SELECT_MENU), frame(DATA, 0, stream, &turn()[..9])].concat();
            connection.send(&begun).await.unwrap();
        }
        let mut answers = 0;
        while answers < STREAMS {
            let frame = connection.next().await.expect("the connection is open");
            let is_refused = frame.kind == RST_STREAM && frame.payload == 7_u32.to_be_bytes();
            assert!(!is_refused && frame.kind != GOAWAY, "{frame:?}");
            answers += usize::from(frame.kind == HEADERS);
        }
    }
    drop(connection);
    at_rest(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_read_when_its_stream_has_ended() {
    let (server, before) = start(limits()).await;
    let menus = "maitred_menus_total{size=\"1\"}";
    let mut wire = Wire::connect(&server.running.listen).await;
    let mut open = wire.begin(SELECT_MENU, None).await;
    open.body.send_data(turn().into(), false).unwrap();
    for _ in 0..20 {
        assert_eq!(wire.call(SELECT_MENU, None, turn().into()).await.code, Code::Ok);
    }
    assert_eq!(Metrics::read(&server).await.value(menus) - before.value(menus), 20);
    open.body.send_data(Bytes::new(), true).unwrap();
    assert_eq!(open.answer().await.code, Code::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_completed_together_pass_the_queue() {
    let admission = AdmissionLimits { queued_max: 4, in_flight_max: 1_024 };
    let server = TestServer::start(Setup { skills: &soup(), admission, ..Setup::default() }).await;
    let mut connection = RawConnection::open(&server.running.listen, &[]).await;
    let turn = turn();
    let (most, last) = turn.split_at(turn.len() - 1);
    let streams: Vec<u32> = stream_ids().take(STREAMS).collect();
    for stream in &streams {
        // One after the other, so that each finds a place when it begins.
        let begun = [call(*stream, SELECT_MENU), frame(DATA, 0, *stream, most)].concat();
        connection.send(&begun).await.unwrap();
        taken(&mut connection).await;
    }
    let shed = "maitred_shed_total{reason=\"queue\"}";
    let before = Metrics::read(&server).await.value(shed);
    let ends: Vec<u8> = streams.iter().flat_map(|stream| frame(DATA, END_STREAM, *stream, last)).collect();
    connection.send(&ends).await.unwrap();
    for _ in 0..STREAMS - usize::try_from(before).unwrap() {
        // What is served has trailers, what is shed has them at once.
        while connection.next().await.expect("it is open").flags & END_STREAM == 0 {}
    }
    let after = Metrics::read(&server).await.value(shed);
    assert!(after > before, "4 places, and {STREAMS} calls at once");
    drop(connection);
    served(&server).await;
    at_rest(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_reset_before_its_message_is_whole_is_cancelled() {
    let (server, _) = start(limits()).await;
    let mut connection = RawConnection::open(&server.running.listen, &[]).await;
    // Given up, and without an error, which some take for an end.
    let cancel =
        |stream| frame(RST_STREAM, 0, stream, &(if stream % 4 == 1 { 8_u32 } else { 0 }).to_be_bytes());
    let parts = [0, 3, 9, turn().len()];
    for (stream, part) in stream_ids().zip(parts.into_iter().flat_map(|part| [part, part])) {
        let part = frame(DATA, 0, stream, &turn()[..part]);
        connection.send(&[call(stream, LOAD_PLAYBOOK), part].concat()).await.unwrap();
        taken(&mut connection).await;
        connection.send(&cancel(stream)).await.unwrap();
    }
    let cancelled = "grpc_server_handled_total{grpc_code=\"Canceled\",grpc_method=\"LoadPlaybook\",\
                     grpc_service=\"maitred.v1.MenuService\"}";
    server.metric_until(cancelled, |count| count == 8).await;
    drop(connection);
    at_rest(&server).await;
}

/// The server and the test share a thread, so that the end of the message and the end of its time are seen together.
#[tokio::test]
async fn a_message_that_ends_after_its_deadline_does_no_work() {
    let (server, before) = start(limits()).await;
    let mut wire = Wire::connect(&server.running.listen).await;
    let turn = Bytes::from(turn());
    for _ in 0..10 {
        let mut open = wire.begin(SELECT_MENU, Some("60m")).await;
        open.body.send_data(turn.slice(..9), false).unwrap();
        assert_eq!(wire.call(SELECT_MENU, None, turn.clone()).await.code, Code::Ok);
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(80) {
            std::hint::spin_loop();
        }
        open.body.send_data(turn.slice(9..), true).unwrap();
        let answer = open.answer().await;
        assert_eq!((answer.code, answer.reason.as_str()), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"));
    }
    let menus = "maitred_menus_total{size=\"1\"}";
    assert_eq!(Metrics::read(&server).await.value(menus) - before.value(menus), 10);
}
