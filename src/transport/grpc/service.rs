//! Every method that a caller can reach, and what each connection calls them through.
//!
//! **Invariants**: every call of the contract passes the queue and has a deadline; health and reflection pass neither, so
//! that a busy server still says that it lives.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use http::{HeaderMap, Request, Response};
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tonic::server::NamedService;

use super::bodies::{AnswerBody, RequestBody, discard};
use super::call::Call;
use super::status::to_status;
use super::timeout;
use crate::app::admit::{Admission, Deadline};
use crate::telemetry::metrics::{MethodMetrics, Metrics};
use crate::transport::connection::State;

/// What a method is called through.
type Handler = Box<dyn Fn(Request<RequestBody>) -> BoxFuture<Response<Body>, Infallible> + Send + Sync>;

/// A generated service, whatever its type.
pub(super) struct Endpoint {
    name: &'static str,
    handler: Handler,
}

impl Endpoint {
    pub(super) fn new<S>(service: S) -> Self
    where
        S: NamedService + Clone + Send + Sync + 'static,
        S: Service<Request<RequestBody>, Response = Response<Body>, Error = Infallible>,
        S: Service<Request<RequestBody>, Future = BoxFuture<Response<Body>, Infallible>>,
    {
        Self { name: S::NAME, handler: Box::new(move |request| service.clone().call(request)) }
    }
}

/// One service of the contract, or beside it.
struct Entry {
    endpoint: Endpoint,
    /// The methods of the contract; none for services that are never limited.
    methods: Vec<(&'static str, MethodMetrics)>,
}

/// The services, and what their calls share.
pub struct GrpcService {
    entries: Vec<Entry>,
    shared: Arc<Shared>,
}

/// What calls need.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) admission: Arc<Admission>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) draining: CancellationToken,
    /// Calls of no method.
    pub(super) elsewhere: MethodMetrics,
    /// The answers to calls that find no place in the queue: a server that is busy has no time to write them.
    pub(super) refusals: Vec<HeaderMap>,
}

impl std::fmt::Debug for GrpcService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.entries.iter().map(|entry| entry.endpoint.name).collect();
        f.debug_struct("GrpcService").field("services", &names).finish_non_exhaustive()
    }
}

impl GrpcService {
    pub(super) fn new(admission: Arc<Admission>, metrics: Arc<Metrics>, draining: CancellationToken) -> Self {
        let elsewhere = metrics.method("unknown", "unknown");
        let written = |refusal| to_status(&admission.error(refusal)).into_http::<Body>().headers().clone();
        let refusals = Admission::queue_refusals().map(written).collect();
        let shared = Arc::new(Shared { admission, metrics, draining, elsewhere, refusals });
        Self { entries: Vec::new(), shared }
    }

    /// Adds a service of the contract.
    pub(super) fn with_limits(mut self, endpoint: Endpoint, methods: &[&'static str]) -> Self {
        let metrics = &self.shared.metrics;
        let methods = methods.iter().map(|method| (*method, metrics.method(endpoint.name, method))).collect();
        self.entries.push(Entry { endpoint, methods });
        self
    }

    /// Adds a service that is never limited.
    pub(super) fn without_limits(mut self, endpoint: Endpoint) -> Self {
        self.entries.push(Entry { endpoint, methods: Vec::new() });
        self
    }

    /// Begins a call.
    fn begin(self: &Arc<Self>, request: Request<Incoming>) -> Call {
        let arrival = Instant::now();
        let shared = &self.shared;
        let Some((at, method)) = self.find(request.uri().path()) else {
            discard(request.into_body());
            return Call::unknown(self, arrival);
        };
        let entry = &self.entries[at];
        if entry.methods.is_empty() {
            let draining = shared.draining.clone().cancelled_owned();
            let request = request.map(|body| RequestBody::new(body, &shared.admission, Some(draining)));
            return Call::unlimited((entry.endpoint.handler)(request));
        }
        let place = match shared.admission.queue() {
            Ok(place) => place,
            Err(refusal) => {
                discard(request.into_body());
                return Call::refused(self, (at, method), arrival, refusal);
            }
        };
        let deadline = Deadline::after(arrival, timeout::given(request.headers()));
        let mut request = request.map(|body| RequestBody::new(body, &shared.admission, None));
        request.extensions_mut().insert(deadline);
        let work = (entry.endpoint.handler)(request);
        Call::limited(self, (at, method), (arrival, deadline), place, work)
    }

    /// The places of a path's service and method; a method that is not in the contract gets the place after the last.
    fn find(&self, path: &str) -> Option<(usize, usize)> {
        let (service, method) = path.strip_prefix('/')?.rsplit_once('/')?;
        let at = self.entries.iter().position(|entry| entry.endpoint.name == service)?;
        let methods = &self.entries[at].methods;
        let method = methods.iter().position(|(name, _)| *name == method).unwrap_or(methods.len());
        Some((at, method))
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// What is counted of the method at these places.
    pub(super) fn method(&self, (at, method): (usize, usize)) -> &MethodMetrics {
        let methods = &self.entries[at].methods;
        methods.get(method).map_or(&self.shared.elsewhere, |(_, metrics)| metrics)
    }
}

/// The services as one connection calls them.
#[derive(Debug)]
pub(crate) struct OnConnection {
    service: Arc<GrpcService>,
    connection: Arc<State>,
}

impl OnConnection {
    pub(crate) fn new(service: Arc<GrpcService>, connection: Arc<State>) -> Self {
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
pub(crate) struct Answering {
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
