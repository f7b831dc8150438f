//! Messages that are none, or too large, or too many, and headers without measure: each has its answer.

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use http::{HeaderMap, Request};
use maitred::app::admit::AdmissionLimits;
use prost::Message as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;

use super::{at_rest, limits, soup, start, while_served};
use crate::harness::{Setup, TestServer, check_refused, turn_request};
use crate::raw::{PATIENCE, SELECT_MENU, message};

/// A client that keeps to HTTP/2 and to nothing above it.
pub(super) struct H2Client(SendRequest<Bytes>);

/// What a call brought.
#[derive(Debug)]
pub(super) enum Answer {
    /// An answer of HTTP alone.
    Http(u16),
    /// An answer of gRPC.
    Grpc(Result<Vec<u8>, Status>),
    /// The stream or the connection was ended instead.
    Ended(h2::Error),
}

impl Answer {
    #[track_caller]
    fn grpc(self) -> Result<Vec<u8>, Status> {
        match self {
            Self::Grpc(answer) => answer,
            Self::Http(_) | Self::Ended(_) => panic!("{self:?}"),
        }
    }
}

impl H2Client {
    pub(super) async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (calls, connection) = h2::client::handshake(stream).await.unwrap();
        // How it ends is seen by those who call.
        tokio::spawn(connection);
        Self(calls)
    }

    /// Begins a call.
    pub(super) async fn begin(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        let mut request = Request::post(format!("http://localhost{path}"));
        for (name, value) in [("te", "trailers"), ("content-type", "application/grpc")].iter().chain(headers)
        {
            request = request.header(*name, *value);
        }
        self.0.clone().ready().await?.send_request(request.body(()).unwrap(), false)
    }

    /// Calls with these bytes as the body, a frame each, and ends the body.
    pub(super) async fn call(&self, path: &str, frames: &[&[u8]], headers: &[(&str, &str)]) -> Answer {
        let exchange = self.exchange(path, frames, headers);
        timeout(PATIENCE, exchange).await.expect("every call is answered").unwrap_or_else(Answer::Ended)
    }

    async fn exchange(
        &self,
        path: &str,
        frames: &[&[u8]],
        headers: &[(&str, &str)],
    ) -> Result<Answer, h2::Error> {
        let (answer, mut body) = self.begin(path, headers).await?;
        for bytes in frames {
            // A server that has answered already takes no more.
            let _ = body.send_data(Bytes::copy_from_slice(bytes), false);
        }
        let _ = body.send_data(Bytes::new(), true);
        let (head, mut body) = answer.await?.into_parts();
        if head.status != 200 {
            return Ok(Answer::Http(head.status.as_u16()));
        }
        let mut bytes = Vec::new();
        while let Some(data) = body.data().await {
            bytes.extend(data?);
        }
        let trailers = body.trailers().await?.unwrap_or(head.headers);
        Ok(Answer::Grpc(of_trailers(&trailers).map(|()| bytes)))
    }
}

fn of_trailers(trailers: &HeaderMap) -> Result<(), Status> {
    let status = Status::from_header_map(trailers).expect("every answer has a status");
    if status.code() == Code::Ok { Ok(()) } else { Err(status) }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_broken_message_has_its_reason_and_the_connection_lives() {
    let (server, _) = start(limits()).await;
    let client = H2Client::open(&server.running.listen).await;
    let good = message(&turn_request("soup").encode_to_vec());
    let flagged = |flag: u8| [&[flag][..], &good[1..]].concat();
    let and = |more: &[u8]| [&good[..], more].concat();
    let (malformed, too_large) = ("MESSAGE_MALFORMED", "MESSAGE_TOO_LARGE");
    for (frames, reason, sentence) in [
        (vec![vec![0, 255, 255, 255, 255]], too_large, "found 4294967295 bytes, the limit is: 262144"),
        (vec![message(&vec![0; 300 * 1_024])], too_large, "found 307200 bytes, the limit is: 262144"),
        (vec![flagged(1)], malformed, "compressed-flag but no grpc-encoding"),
        (vec![flagged(9)], malformed, "invalid compression flag: 9"),
        (vec![good[..good.len() - 1].to_vec()], malformed, "Unexpected EOF"),
        (vec![good[..3].to_vec()], malformed, "Unexpected EOF"),
        (vec![vec![], vec![]], malformed, "Missing request message"),
        (vec![], malformed, "Missing request message"),
        (vec![and(&[0, 0, 0])], malformed, "more follows it, and a call has one message"),
        (vec![and(&[7; 40])], malformed, "more follows it, and a call has one message"),
        (vec![and(&good)], malformed, "more follows it, and a call has one message"),
        (vec![good.clone(), good.clone()], malformed, "more follows it, and a call has one message"),
    ] {
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        let code = if reason == too_large { Code::ResourceExhausted } else { Code::InvalidArgument };
        check_refused(client.call(SELECT_MENU, &frames, &[]).await.grpc(), code, reason, sentence);
        let piecemeal: Vec<&[u8]> = good.chunks(7).collect();
        client.call(SELECT_MENU, &piecemeal, &[]).await.grpc().unwrap();
    }
    let compressed = client.call(SELECT_MENU, &[&flagged(1)], &[("grpc-encoding", "gzip")]).await.grpc();
    check_refused(compressed, Code::Unimplemented, "ENCODING_UNSUPPORTED", "`gzip` which isn't supported");
    drop(client);
    at_rest(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_without_measure_are_refused_and_those_beyond_it_end_the_connection() {
    let (server, before) = start(limits()).await;
    let client = H2Client::open(&server.running.listen).await;
    let text = "x".repeat(10_000);
    let headers =
        [("a", &*text), ("b", &text), ("c", &text), ("d", &text), ("e", &text), ("f", &text), ("g", &text)];
    let good = message(&turn_request("soup").encode_to_vec());
    let answer = client.call(SELECT_MENU, &[&good], &headers[..2]).await;
    assert!(matches!(answer, Answer::Http(431)), "{answer:?}");
    client.call(SELECT_MENU, &[&good], &headers[..1]).await.grpc().unwrap();
    let answer = while_served(&server, client.call(SELECT_MENU, &[&good], &headers)).await;
    let Answer::Ended(error) = answer else { panic!("{answer:?}") };
    let told = error.reason();
    let reasons = [Reason::ENHANCE_YOUR_CALM, Reason::COMPRESSION_ERROR];
    assert!(told.is_none_or(|reason| reasons.contains(&reason)), "{error:?}");
    assert_eq!(at_rest(&server).await.closed("protocol") - before.closed("protocol"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_is_told_to_come_back_keeps_its_connection() {
    let admission = AdmissionLimits { queued_max: 0, in_flight_max: 1_024 };
    let server = TestServer::start(Setup { skills: &soup(), admission, ..Setup::default() }).await;
    let callers: Vec<_> = (0..64)
        .map(|_| {
            // More than a frame, so that calls are refused before they have arrived.
            let (mut client, turn) = (server.client.clone(), "soup ".repeat(4_000));
            tokio::spawn(async move {
                for _ in 0..16 {
                    let answer = client.select_menu(turn_request(&turn)).await;
                    check_refused(answer, Code::ResourceExhausted, "OVERLOADED", "call again in");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    assert_eq!(at_rest(&server).await.closed("protocol"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_deadline_takes_small_messages_only() {
    let (server, _) = start(limits()).await;
    let client = H2Client::open(&server.running.listen).await;
    let large = message(&HealthCheckRequest { service: "x".repeat(5_000) }.encode_to_vec());
    for path in ["/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"] {
        let status = client.call(path, &[&large[..100]], &[]).await.grpc().unwrap_err();
        let sentence = "the limit is: 4096 bytes";
        check_refused::<()>(Err(status), Code::ResourceExhausted, "MESSAGE_TOO_LARGE", sentence);
    }
    for version in ["v1", "v1alpha"] {
        let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        // Nothing is waited for: the answers end when the library cannot read a question.
        let (answer, mut questions) = client.begin(&path, &[]).await.unwrap();
        questions.send_data(Bytes::copy_from_slice(&large[..100]), false).unwrap();
        let (_, mut answers) = timeout(PATIENCE, answer).await.unwrap().unwrap().into_parts();
        assert!(timeout(PATIENCE, answers.data()).await.unwrap().is_none(), "{version}");
    }
}
