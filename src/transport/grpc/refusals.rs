//! Gives the refusals of the gRPC library itself the codes and reasons of the error table.
//!
//! The library answers an oversized message with `OUT_OF_RANGE`, a malformed one with `INTERNAL` and an unknown method
//! without a word. They never reach a service, so the answer is rewritten on its way out.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderMap, Request, Response};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use super::status::to_status;
use crate::app::error::{Error, Reason};
use crate::domain::text;

/// Puts the rewriting around the services.
#[derive(Clone, Copy, Debug, Default)]
pub struct RefusalLayer;

impl<S> Layer<S> for RefusalLayer {
    type Service = Refusals<S>;

    fn layer(&self, inner: S) -> Refusals<S> {
        Refusals { inner }
    }
}

/// Rewrites the answers of the inner service that carry a status and no details.
#[derive(Clone, Debug)]
pub struct Refusals<S> {
    inner: S,
}

impl<S, B> Service<Request<B>> for Refusals<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            Ok(match rewritten(answer.headers()) {
                Some(status) => status.into_http(),
                None => answer,
            })
        })
    }
}

/// The status to send instead; none when the answer is not a bare refusal.
fn rewritten(headers: &HeaderMap) -> Option<Status> {
    let status = Status::from_header_map(headers)?;
    if !status.details().is_empty() {
        return None;
    }
    let said = text::escaped(status.message(), 400);
    let error = match status.code() {
        Code::OutOfRange => {
            let sizes = said.trim_start_matches("Error, decoded message length too large: ");
            Error::new(Reason::MessageTooLarge, format!("the message is too large: {sizes}"))
        }
        Code::Internal => Error::new(Reason::MessageMalformed, format!("the message cannot be read: {said}")),
        Code::Unimplemented if said.is_empty() => Error::new(
            Reason::MethodUnknown,
            "there is no such method; server reflection lists those that exist",
        ),
        Code::Unimplemented => {
            Error::new(Reason::EncodingUnsupported, format!("{said}; send it uncompressed"))
        }
        _ => return None,
    };
    Some(to_status(&error))
}
