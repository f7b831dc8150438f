//! Every method that a caller can reach, and what its calls share.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tonic::server::NamedService;

use super::bodies::RequestBody;
use super::status::to_status;
use crate::app::admit::{Admission, Caller, Deadline, Refusal};
use crate::app::auth::{Gatekeeper, Principal};
use crate::telemetry::metrics::{MethodMetrics, Metrics};

/// What a service answers.
pub(super) type Work = BoxFuture<Response<Body>, Infallible>;

/// The header that says how messages are compressed.
pub(super) const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// A generated service, whatever its type.
pub(super) struct Endpoint {
    name: &'static str,
    handler: Box<dyn Fn(Request<RequestBody>) -> Work + Send + Sync>,
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

    /// Calls a method with what services look at, and nothing else of what the caller has sent.
    pub(super) fn call(
        &self,
        path: Uri,
        encoding: Option<HeaderValue>,
        known: Option<(Deadline, Arc<Principal>)>,
        body: RequestBody,
    ) -> Work {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = path;
        if let Some(encoding) = encoding {
            request.headers_mut().insert(ENCODING, encoding);
        }
        if let Some((deadline, principal)) = known {
            request.extensions_mut().insert(deadline);
            request.extensions_mut().insert(principal);
        }
        (self.handler)(request)
    }
}

/// One service of the contract, or beside it.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) methods: Vec<Named>,
}

pub(super) enum Kind {
    /// A service of calls with one message each, of so many bytes at most.
    Calls { endpoint: Endpoint, whose: Caller, bytes_max: usize },
    /// Of the contract, and not built yet.
    Declared,
    /// Beside the contract, with streams of messages.
    Streams(Endpoint),
}

/// A method.
pub(super) struct Named {
    pub(super) name: &'static str,
    pub(super) path: Uri,
    metrics: MethodMetrics,
}

/// The services, and what their calls share.
pub struct GrpcService {
    entries: Vec<Entry>,
    shared: Arc<Shared>,
}

/// What calls need.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) gatekeeper: Arc<Gatekeeper>,
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
        let names: Vec<&str> = self.entries.iter().map(|entry| entry.name).collect();
        f.debug_struct("GrpcService").field("services", &names).finish_non_exhaustive()
    }
}

impl GrpcService {
    pub(super) fn new(
        gatekeeper: Arc<Gatekeeper>,
        admission: Arc<Admission>,
        metrics: Arc<Metrics>,
        draining: CancellationToken,
    ) -> Self {
        let elsewhere = metrics.method("unknown", "unknown");
        let written = |refusal| to_status(&admission.error(refusal)).into_http::<Body>().headers().clone();
        let refusals = Admission::queue_refusals().map(written).collect();
        let shared = Arc::new(Shared { gatekeeper, admission, metrics, draining, elsewhere, refusals });
        Self { entries: Vec::new(), shared }
    }

    /// Adds a service of calls with one message each, of so many bytes at most.
    pub(super) fn with_calls(
        self,
        endpoint: Endpoint,
        methods: &[&'static str],
        whose: Caller,
        bytes_max: usize,
    ) -> Self {
        self.with(endpoint.name, methods, Kind::Calls { endpoint, whose, bytes_max })
    }

    /// Adds a service of the contract that is not built yet.
    pub(super) fn declared(self, service: &'static str, methods: &[&'static str]) -> Self {
        self.with(service, methods, Kind::Declared)
    }

    /// Adds a service whose calls are streams.
    pub(super) fn with_streams(self, endpoint: Endpoint, methods: &[&'static str]) -> Self {
        self.with(endpoint.name, methods, Kind::Streams(endpoint))
    }

    fn with(mut self, name: &'static str, methods: &[&'static str], kind: Kind) -> Self {
        let methods = self.methods(name, methods);
        self.entries.push(Entry { name, kind, methods });
        self
    }

    fn methods(&self, service: &'static str, names: &[&'static str]) -> Vec<Named> {
        let method = |name: &&'static str| Named {
            name,
            path: format!("/{service}/{name}").parse().expect("names of protobuf are paths"),
            metrics: self.shared.metrics.method(service, name),
        };
        names.iter().map(method).collect()
    }

    /// The places of a path's service and method.
    pub(super) fn find(&self, path: &str) -> Option<(usize, usize)> {
        let (service, name) = path.strip_prefix('/')?.rsplit_once('/')?;
        let at = self.entries.iter().position(|entry| entry.name == service)?;
        Some((at, self.entries[at].methods.iter().position(|method| method.name == name)?))
    }

    /// Gives a message to the method at these places.
    pub(super) fn call(
        &self,
        (at, method): (usize, usize),
        known: (Deadline, Arc<Principal>),
        encoding: Option<HeaderValue>,
        message: Bytes,
    ) -> Work {
        let Entry { kind: Kind::Calls { endpoint, .. }, methods, .. } = &self.entries[at] else {
            unreachable!("what is refused or has streams is not called with a message")
        };
        endpoint.call(methods[method].path.clone(), encoding, Some(known), RequestBody::Whole(Some(message)))
    }

    /// The service at this place.
    pub(super) fn entry(&self, at: usize) -> &Entry {
        &self.entries[at]
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The answer to a call that finds no place in the queue.
    pub(super) fn busy(&self, refusal: Refusal) -> Response<Body> {
        let mut answer = Response::new(Body::empty());
        *answer.headers_mut() = self.shared.refusals[refusal.step()].clone();
        answer
    }

    /// What is counted of the method at these places.
    pub(super) fn metrics(&self, method: Option<(usize, usize)>) -> &MethodMetrics {
        let counted = method.and_then(|(at, method)| self.entries[at].methods.get(method));
        counted.map_or(&self.shared.elsewhere, |method| &method.metrics)
    }
}
