//! Clients that mean no good, or no sense: what they get, what others notice of it, and what it leaves behind.

mod floods;
mod messages;
mod random;
mod unfinished;

use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use maitred::transport::connection::ConnectionLimits;
use maitred::transport::grpc::proto::SelectMenuResponse;
use maitred::transport::grpc::proto::menu_service_client::MenuServiceClient;
use prost::Message as _;
use tokio::time::{interval, timeout};
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;

use crate::fixture::skill_md;
use crate::harness::{Setup, TestServer, load_request, turn_request};
use crate::raw::{
    ACK, DATA, GOAWAY, INITIAL_WINDOW, LOAD_PLAYBOOK, PATIENCE, PREFACE, REFLECTION, RawConnection,
    SELECT_MENU, WINDOW_UPDATE, frame, settings, stream_ids, whole_call,
};
use crate::wire::get;

const MILLI: Duration = Duration::from_millis(1);

/// A server with a playbook as large as they get, and what its connections were before anything happened.
async fn start(connections: ConnectionLimits) -> (TestServer, Metrics) {
    let server = TestServer::start(Setup { skills: &soup(), connections, ..Setup::default() }).await;
    served(&server).await;
    let before = eventually(&server, "a quiet beginning", |metrics| metrics.connections() == QUIET);
    let before = before.await;
    (server, before)
}

/// A playbook about as large as they get.
fn soup() -> [(&'static str, String); 1] {
    let body = "Slice the onions. ".repeat(2_700);
    [("soup", skill_md("soup", "soup", "Cooks onion soup.", &body))]
}

/// gRPC connections of a test server that nobody attacks: its client's.
const QUIET: i64 = 1;

/// The metrics at one moment.
#[derive(Debug)]
struct Metrics(String);

impl Metrics {
    async fn read(server: &TestServer) -> Self {
        Self(timeout(PATIENCE, server.metrics()).await.expect("metrics are to be had"))
    }

    /// A series, named as it is shown.
    fn value(&self, series: &str) -> i64 {
        let of_line = |line: &str| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok();
        self.0.lines().find_map(of_line).unwrap_or_else(|| panic!("no {series} in {}", self.0))
    }

    /// Open gRPC connections.
    fn connections(&self) -> i64 {
        self.value("maitred_connections{door=\"grpc\"}")
    }

    /// gRPC connections that were cut for a reason.
    fn closed(&self, reason: &str) -> i64 {
        self.value(&format!("maitred_connections_closed_total{{door=\"grpc\",reason=\"{reason}\"}}"))
    }
}

/// A client that means well gets an answer, on a connection that it has and on a new one.
async fn served(server: &TestServer) {
    let both = async {
        server.select(turn_request("soup")).await.unwrap();
        let channel = Channel::from_shared(format!("http://{}", server.running.listen)).unwrap();
        let mut client = MenuServiceClient::new(channel.connect().await.unwrap());
        client.select_menu(turn_request("soup")).await.unwrap().into_inner()
    };
    let answer = timeout(PATIENCE, both).await.expect("a client that means well is answered");
    assert_eq!(answer.items[0].slug, "soup");
}

/// Carries out an attack while a client that means well calls on and on, and is answered every time.
async fn while_served<T>(server: &TestServer, attack: impl Future<Output = T>) -> T {
    let is_over = AtomicBool::new(false);
    let attack = async {
        let outcome = attack.await;
        is_over.store(true, Ordering::Relaxed);
        outcome
    };
    let others = async {
        // Not at full speed: each new connection takes a port of the machine for a minute.
        let mut ticks = interval(10 * MILLI);
        while !is_over.load(Ordering::Relaxed) {
            ticks.tick().await;
            served(server).await;
        }
    };
    let (outcome, ()) = tokio::join!(attack, others);
    served(server).await;
    outcome
}

/// Asks for the metrics until they are as they should be.
async fn eventually(server: &TestServer, what: &str, is_so: impl Fn(&Metrics) -> bool) -> Metrics {
    let mut ticks = interval(20 * MILLI);
    for _ in 0..250 {
        ticks.tick().await;
        let metrics = Metrics::read(server).await;
        if is_so(&metrics) {
            return metrics;
        }
    }
    panic!("{what} is not to come: {:?}", Metrics::read(server).await);
}

/// Everything that was taken is given back, and nothing broke.
async fn at_rest(server: &TestServer) -> Metrics {
    let metrics = eventually(server, "rest", |metrics| {
        metrics.connections() == QUIET
            && metrics.value("maitred_in_flight") == 0
            && metrics.value("maitred_queued") == 0
    });
    let metrics = metrics.await;
    assert_eq!(metrics.value("maitred_panics_total"), 0);
    metrics
}

/// The usual bounds with other times.
fn limits() -> ConnectionLimits {
    ConnectionLimits::new(1_024, None)
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_say_nothing_are_in_nobodys_way() {
    let (server, before) =
        start(ConnectionLimits { half_open_max: 64, handshake_time: 300 * MILLI, ..limits() }).await;
    let began = Instant::now();
    while_served(&server, async {
        let mut crowd = Vec::new();
        for number in 0..300 {
            let mut connection = RawConnection::connect(&server.running.listen).await;
            if number % 3 == 0 {
                // It may have made room for others already.
                let _ = connection.send(&PREFACE[..number % 24]).await;
            }
            crowd.push(connection);
        }
        for connection in crowd {
            assert_eq!(connection.end().await.go_away, None);
        }
    })
    .await;
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let after = at_rest(&server).await;
    assert_eq!(after.closed("half_open") - before.closed("half_open"), 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_house_makes_room_among_those_who_say_nothing() {
    // As many may be half open as may be open: the bounds of the HTTP door, and of a small gRPC door.
    let (server, _) = start(ConnectionLimits::new(8, None)).await;
    let mut crowd = Vec::new();
    for _ in 0..20 {
        crowd.push(RawConnection::connect(&server.running.listen).await);
    }
    served(&server).await;
    let http = server.running.http.as_ref().unwrap();
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    // Nothing, a beginning, and one that is answered and asks nothing more.
    for bytes in [&request[..0], &request[..1], &request[..30], request] {
        for _ in 0..100 {
            let mut connection = RawConnection::connect(http).await;
            connection.send(bytes).await.unwrap();
            crowd.push(connection);
        }
        let (status, _) = timeout(PATIENCE, get(http, "/readyz", "localhost")).await.unwrap();
        assert_eq!(status, "HTTP/1.1 200 OK");
    }
    drop(crowd);
    at_rest(&server).await;
}

/// Sends bytes one by one with a pause before each, and says how many were taken.
async fn trickle(connection: &mut RawConnection, bytes: &[u8], pause: Duration) -> usize {
    let mut ticks = interval(pause);
    for (number, byte) in bytes.iter().enumerate() {
        ticks.tick().await;
        if connection.send(&[*byte]).await.is_err() {
            return number;
        }
    }
    bytes.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_byte_at_a_time_is_answered_when_it_begins_in_time() {
    let (server, before) = start(ConnectionLimits { handshake_time: 600 * MILLI, ..limits() }).await;
    let listen = &server.running.listen;
    let mut bytes = [PREFACE, &settings(&[])[..]].concat();
    bytes.extend(whole_call(1, SELECT_MENU, &turn_request("soup")));
    let (mut quick, mut slow) = (RawConnection::connect(listen).await, RawConnection::connect(listen).await);
    let attack = async {
        tokio::join!(trickle(&mut quick, &bytes, 3 * MILLI), trickle(&mut slow, &bytes, 60 * MILLI))
    };
    let (of_quick, of_slow) = while_served(&server, attack).await;
    assert_eq!(of_quick, bytes.len());
    assert!(of_slow < 33, "it has sent {of_slow} bytes, and begun");
    let answer = loop {
        let frame = quick.next().await.unwrap();
        if frame.kind == DATA {
            break SelectMenuResponse::decode(&frame.payload[5..]).unwrap();
        }
    };
    assert_eq!(answer.items[0].slug, "soup");
    drop(quick);
    let after = at_rest(&server).await;
    assert_eq!(after.closed("half_open") - before.closed("half_open"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_protocol_is_hung_up_on() {
    let (server, before) = start(limits()).await;
    let mut connection = RawConnection::connect(&server.running.listen).await;
    connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n").await.unwrap();
    connection.end().await;
    assert_eq!(at_rest(&server).await.closed("protocol") - before.closed("protocol"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_waits_for_no_idle_talk() {
    let (server, _) = start(limits()).await;
    let mut crowd = Vec::new();
    for length in [0, 0, 12, 24, 32] {
        let mut connection = RawConnection::connect(&server.running.listen).await;
        connection.send(&[PREFACE, &settings(&[])[..]].concat()[..length]).await.unwrap();
        crowd.push(connection);
    }
    let (asking, questions) = tokio::sync::mpsc::channel(1);
    let list = MessageRequest::ListServices(String::new());
    asking.send(ServerReflectionRequest { host: String::new(), message_request: Some(list) }).await.unwrap();
    let questions = tokio_stream::wrappers::ReceiverStream::new(questions);
    let mut reflection = ServerReflectionClient::new(server.channel.clone());
    let mut answers = reflection.server_reflection_info(questions).await.unwrap().into_inner();
    answers.message().await.unwrap().unwrap();
    let mut watch = HealthClient::new(server.channel.clone());
    let mut watch = watch.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    watch.message().await.unwrap().unwrap();

    let began = Instant::now();
    server.running.stop().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?} of 5 s", began.elapsed());
    for connection in crowd {
        connection.end().await;
    }
    assert_eq!(answers.message().await.unwrap(), None, "the stream ends as it should");
    drop(asking);
}

/// The calls that load the large playbook, as many as a connection may have open.
async fn loads(server: &TestServer) -> Vec<u8> {
    let token = server.select(turn_request("soup")).await.unwrap().menu_token;
    let load = load_request(&token, "soup");
    stream_ids().take(256).flat_map(|stream| whole_call(stream, LOAD_PLAYBOOK, &load)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_take_no_answers_are_cut() {
    let (server, before) = start(ConnectionLimits { stall_time: 400 * MILLI, ..limits() }).await;
    let (listen, loads) = (&server.running.listen, loads(&server).await);
    while_served(&server, async {
        for window in [0, 1, 20_000] {
            let mut connection = RawConnection::open(listen, &[(INITIAL_WINDOW, window)]).await;
            connection.send(&loads).await.unwrap();
            assert!(connection.end().await.is_closed, "{window}");
        }
        // Reflection is never limited, and that is no reason to keep its answers.
        let mut connection = RawConnection::open(listen, &[(INITIAL_WINDOW, 1)]).await;
        let symbol = MessageRequest::FileContainingSymbol("maitred.v1.MenuService".to_owned());
        let question = ServerReflectionRequest { host: String::new(), message_request: Some(symbol) };
        connection.send(&whole_call(1, REFLECTION, &question)).await.unwrap();
        assert!(connection.end().await.is_closed);

        let mut connection = RawConnection::narrow(listen).await;
        connection.begin(&[(INITIAL_WINDOW, 0x7fff_ffff)]).await;
        connection.send(&frame(WINDOW_UPDATE, 0, 0, &0x7fff_0000_u32.to_be_bytes())).await.unwrap();
        connection.send(&loads).await.unwrap();
        eventually(&server, "cut", |metrics| metrics.closed("stalled") - before.closed("stalled") == 5).await;
    })
    .await;
    at_rest(&server).await;
}

/// Calls for a while; says how many calls were answered. The client of tonic gives up calls of its own when a connection
/// ends under it, and says so as if the call had failed; what the server answers never fails.
async fn call_on(server: &TestServer, time: Duration) -> i64 {
    let began = Instant::now();
    let (mut answered, mut given_up_in_a_row) = (0, 0);
    while began.elapsed() < time {
        match server.select(turn_request("soup")).await {
            Ok(_) => (answered, given_up_in_a_row) = (answered + 1, 0),
            Err(status) => {
                let source =
                    status.source().and_then(|source| source.downcast_ref::<tonic::transport::Error>());
                assert!(source.is_some(), "{status:?}");
                given_up_in_a_row += 1;
                assert!(given_up_in_a_row < 5, "{status:?}");
            }
        }
    }
    answered
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_connection_ends_and_no_call_is_refused_for_it() {
    let limits = ConnectionLimits { age: Some(400 * MILLI), grace: 300 * MILLI, ..limits() };
    let server = TestServer::start(Setup { skills: &soup(), connections: limits, ..Setup::default() }).await;
    let mut clinging = RawConnection::open(&server.running.listen, &[]).await;
    let watch = whole_call(1, "/grpc.health.v1.Health/Watch", &HealthCheckRequest::default());
    clinging.send(&watch).await.unwrap();
    let clings = async {
        let mut go_away = clinging.next().await;
        while go_away.as_ref().expect("it is told before it is cut").kind != GOAWAY {
            go_away = clinging.next().await;
        }
        let told = Instant::now();
        assert_eq!(go_away.unwrap().payload[4..8], [0; 4], "it is nobody's fault");
        assert!(clinging.end().await.is_closed);
        told.elapsed()
    };
    let time = 1_200 * MILLI;
    let (grace, one, other) = tokio::join!(clings, call_on(&server, time), call_on(&server, time));
    assert!(grace > 200 * MILLI && grace < 2_000 * MILLI, "{grace:?}");
    let metrics = eventually(&server, "the cut", |metrics| metrics.closed("age") == 1).await;
    let fine = "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"SelectMenu\",\
                grpc_service=\"maitred.v1.MenuService\"}";
    assert!(one > 10 && other > 10 && metrics.value(fine) >= one + other, "{one} and {other}: {metrics:?}");
    assert_eq!((metrics.value("maitred_in_flight"), metrics.value("maitred_panics_total")), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_house_closes_to_one_more_and_opens_when_one_leaves() {
    let (server, before) = start(ConnectionLimits::new(3, None)).await;
    let listen = &server.running.listen;
    let mut guests = Vec::new();
    for _ in 0..2 {
        let mut guest = RawConnection::open(listen, &[]).await;
        while guest.next().await.expect("it is greeted").flags != ACK {}
        guests.push(guest);
    }
    let one_more = RawConnection::connect(listen).await;
    assert_eq!(one_more.end().await.frames, 0);
    let full =
        eventually(&server, "the refusal", |metrics| metrics.closed("limit") > before.closed("limit")).await;
    assert_eq!(full.connections(), QUIET + 2);
    guests.pop();
    eventually(&server, "a place", |metrics| metrics.connections() == QUIET + 1).await;
    served(&server).await;
    drop(guests);
    at_rest(&server).await;
}
