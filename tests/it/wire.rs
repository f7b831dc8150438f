//! A client that sends what it is told, however wrong, and shows what comes back.

use std::time::Duration;

use h2::client::SendRequest;
use http::Request;
use prost::bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// An HTTP/2 connection.
pub(crate) struct Wire {
    sender: SendRequest<Bytes>,
}

/// A call of which more can be sent.
pub(crate) struct Open {
    answer: h2::client::ResponseFuture,
    /// Dropping it resets the stream.
    pub(crate) body: h2::SendStream<Bytes>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Code,
    pub(crate) reason: String,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
    status: Status,
}

impl Answer {
    /// The answer as a client of the contract has it.
    pub(crate) fn result(self) -> Result<Vec<u8>, Status> {
        if self.code == Code::Ok { Ok(self.body) } else { Err(self.status) }
    }
}

/// A message with its prefix.
pub(crate) fn framed(message: &impl prost::Message) -> Bytes {
    prefixed(&message.encode_to_vec())
}

/// Bytes with a message's prefix, whatever they are.
pub(crate) fn prefixed(bytes: &[u8]) -> Bytes {
    let length = u32::try_from(bytes.len()).unwrap();
    [&[0], &length.to_be_bytes()[..], bytes].concat().into()
}

impl Wire {
    pub(crate) async fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = h2::client::handshake(stream).await.unwrap();
        // It ends when the server closes it, in whatever way.
        tokio::spawn(async move { connection.await.is_ok() });
        Self { sender }
    }

    /// Begins a call, with a `grpc-timeout` where one is given.
    pub(crate) async fn begin(&mut self, path: &str, timeout: Option<&str>) -> Open {
        let mut request = Request::post(format!("http://localhost{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        if let Some(timeout) = timeout {
            request = request.header("grpc-timeout", timeout);
        }
        let mut sender = self.sender.clone().ready().await.unwrap();
        let (answer, body) = sender.send_request(request.body(()).unwrap(), false).unwrap();
        Open { answer, body }
    }

    /// A whole call.
    pub(crate) async fn call(&mut self, path: &str, timeout: Option<&str>, body: Bytes) -> Answer {
        let mut open = self.begin(path, timeout).await;
        // A call whose time is over may be answered, and its stream closed, before its message is sent.
        let _ = open.body.send_data(body, true);
        open.answer().await
    }
}

impl Open {
    pub(crate) async fn answer(self) -> Answer {
        let answer = self.answer.await.unwrap();
        let headers = answer.headers().clone();
        let mut incoming = answer.into_body();
        let mut body = Vec::new();
        while let Some(data) = incoming.data().await {
            let data = data.unwrap();
            incoming.flow_control().release_capacity(data.len()).unwrap();
            body.extend_from_slice(&data);
        }
        let trailers = incoming.trailers().await.unwrap();
        let status = trailers.as_ref().and_then(Status::from_header_map);
        let status = status.or_else(|| Status::from_header_map(&headers)).expect("an answer has a status");
        let details = status.get_error_details();
        Answer {
            code: status.code(),
            reason: details.error_info().map_or_else(String::new, |info| info.reason.clone()),
            retry_after: details.retry_info().and_then(|retry| retry.retry_delay),
            body,
            status,
        }
    }
}

/// The answer of the HTTP door: its status line and the rest.
pub(crate) async fn get(address: &str, path: &str, host: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (status, rest) = text.split_once("\r\n").unwrap();
    (status.to_owned(), rest.to_owned())
}

/// What the HTTP door answered.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) json: serde_json::Value,
}

/// Sends a request to the HTTP door; `headers` are whole lines.
pub(crate) async fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> HttpAnswer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let headers = headers.iter().fold(String::new(), |lines, line| lines + line + "\r\n");
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    // What is no JSON has none.
    let json = serde_json::from_str(body).unwrap_or_default();
    HttpAnswer { status, head: head.to_ascii_lowercase(), json }
}
