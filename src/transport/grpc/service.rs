//! Calls as they come from connections, and how each begins.
//!
//! **Invariants**: every call of the contract passes the queue; health does not, so that a busy server still says that it
//! lives; every call but a stream has a deadline; of a call that waits nothing is kept of its headers but what it needs.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Request, Response};
use hyper::body::Incoming;

use super::bodies::{AnswerBody, RequestBody};
use super::call::Call;
use super::methods::{ENCODING, GrpcService, Kind};
use super::receive::Receiving;
use super::refusals::no_such_method;
use super::timeout;
use crate::app::admit::{Caller, Deadline};
use crate::app::auth::Principal;
use crate::app::error::Error;
use crate::transport::connection::State;

impl GrpcService {
    /// Begins a call.
    fn begin(self: &Arc<Self>, request: Request<Incoming>) -> Call {
        let arrival = Instant::now();
        let (head, body) = request.into_parts();
        let admission = &self.shared().admission;
        let refuse = |method, body, error: &Error| {
            let receiving = Receiving::new(body, admission, Caller::Contract, 0);
            Call::refused(self, method, arrival, receiving, error)
        };
        let Some(place) = self.find(head.uri.path()) else { return refuse(None, body, &no_such_method()) };
        let entry = self.entry(place.0);
        let method = &entry.methods[place.1];
        match &entry.kind {
            Kind::Calls { whose, bytes_max, .. } => {
                let principal = match self.identify(*whose, &head.headers) {
                    Ok(principal) => principal,
                    Err(error) => return refuse(Some(place), body, &error),
                };
                let deadline = Deadline::after(arrival, timeout::given(&head.headers));
                let receiving = Receiving::new(body, admission, *whose, *bytes_max);
                let queued = match whose {
                    Caller::Contract => admission.queue().map(Some),
                    Caller::Probe => Ok(None),
                };
                match queued {
                    Ok(queued) => {
                        let message = (receiving, encoding(&head.headers));
                        Call::begun(self, place, (arrival, deadline), (principal, queued), message)
                    }
                    Err(refusal) => Call::shed(self, place, arrival, receiving, refusal),
                }
            }
            Kind::Declared => refuse(Some(place), body, &Error::method_not_built(entry.name, method.name)),
            Kind::Streams(endpoint) => {
                let draining = Box::pin(self.shared().draining.clone().cancelled_owned());
                let body = RequestBody::Stream(body, draining);
                Call::stream(endpoint.call(method.path.clone(), encoding(&head.headers), None, body))
            }
        }
    }
}

impl GrpcService {
    /// Who calls; probes need no token.
    fn identify(&self, whose: Caller, headers: &HeaderMap) -> Result<Arc<Principal>, Error> {
        let gatekeeper = &self.shared().gatekeeper;
        match whose {
            Caller::Probe => Ok(gatekeeper.anyone()),
            Caller::Contract => {
                let header = headers.get(AUTHORIZATION).map(|header| header.to_str().unwrap_or_default());
                gatekeeper.identify(header)
            }
        }
    }
}

/// How a message is compressed, where it is.
fn encoding(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(ENCODING).filter(|encoding| *encoding != "identity").cloned()
}

/// The services as one connection calls them.
#[derive(Debug)]
pub struct OnConnection {
    service: Arc<GrpcService>,
    connection: Arc<State>,
}

impl OnConnection {
    /// The services, on a connection of which this is known.
    #[must_use]
    pub fn new(service: Arc<GrpcService>, connection: Arc<State>) -> Self {
        Self { service, connection }
    }
}

impl hyper::service::Service<Request<Incoming>> for OnConnection {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        Answering { call: self.service.begin(request), connection: Arc::clone(&self.connection) }
    }
}

/// A call whose answer leaves on a connection.
pub struct Answering {
    call: Call,
    connection: Arc<State>,
}

impl Future for Answering {
    type Output = Result<Response<AnswerBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.call).poll(context));
        Poll::Ready(answer.map(|answer| answer.map(|body| AnswerBody::new(body, &self.connection))))
    }
}
