//! The floor of a call: a bare tonic server that answers bytes with bytes.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// A message that is nothing but bytes.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Blob {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) bytes: prost::bytes::Bytes,
}

/// Answers every call with the same bytes.
#[derive(Clone, Debug)]
pub(crate) struct Echo {
    answer: Blob,
}

impl NamedService for Echo {
    const NAME: &'static str = "bench.Echo";
}

impl UnaryService<Blob> for Echo {
    type Response = Blob;
    type Future = Ready<Result<Response<Blob>, Status>>;

    fn call(&mut self, _: Request<Blob>) -> Self::Future {
        ready(Ok(Response::new(self.answer.clone())))
    }
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let echo = self.clone();
        Box::pin(async move {
            let codec = ProstCodec::<Blob, Blob>::default();
            Ok(Grpc::new(codec).unary(echo, request).await)
        })
    }
}

/// Serves the echo on a loopback port, with answers of so many bytes, until the process ends.
pub(crate) async fn serve(answer_bytes: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let echo = Echo { answer: Blob { bytes: vec![b'x'; answer_bytes].into() } };
    let server = tonic::transport::Server::builder().add_service(echo).serve_with_incoming(incoming);
    tokio::spawn(server);
    address
}
