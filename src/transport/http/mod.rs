//! The HTTP door: metrics and probes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;

use crate::app::observe::Observer;
use crate::domain::text;

/// The media type of Prometheus' text format.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The media type of an error.
const PROBLEM_TYPE: &str = "application/problem+json";

/// Whether the server takes new calls.
#[derive(Debug, Default)]
pub struct Readiness(AtomicBool);

impl Readiness {
    /// Says whether it does.
    pub fn set(&self, is_ready: bool) {
        self.0.store(is_ready, Ordering::Release);
    }

    fn is_ready(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Clone, Debug)]
struct Door {
    observer: Arc<Observer>,
    readiness: Arc<Readiness>,
}

/// What this door answers.
pub fn routes(observer: Arc<Observer>, readiness: Arc<Readiness>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .layer(middleware::from_fn(local_names_only))
        .with_state(Door { observer, readiness })
}

async fn metrics(State(door): State<Door>) -> Response {
    ([(CONTENT_TYPE, METRICS_TYPE)], door.observer.metrics()).into_response()
}

async fn ready(State(door): State<Door>) -> Response {
    if door.readiness.is_ready() {
        "ready\n".into_response()
    } else {
        problem(StatusCode::SERVICE_UNAVAILABLE, "the server drains, and takes no new calls")
    }
}

async fn nowhere(uri: Uri) -> Response {
    let path = text::escaped(uri.path(), 80);
    problem(StatusCode::NOT_FOUND, format!("there is nothing at {path}; try /metrics, /healthz or /readyz"))
}

async fn not_so() -> Response {
    problem(StatusCode::METHOD_NOT_ALLOWED, "this address is read with GET or HEAD")
}

/// Refuses web pages of others: a name that they made point to this machine is not a name of it.
async fn local_names_only(request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(is_local) {
        return next.run(request).await;
    }
    problem(
        StatusCode::MISDIRECTED_REQUEST,
        "the Host header must be localhost or a loopback address: this door is for this machine",
    )
}

/// Whether a `Host` header names this machine.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// RFC 9457.
#[derive(Serialize)]
struct Problem {
    title: &'static str,
    status: u16,
    detail: String,
}

fn problem(status: StatusCode, detail: impl Into<String>) -> Response {
    let title = status.canonical_reason().unwrap_or("Error");
    let problem = Problem { title, status: status.as_u16(), detail: detail.into() };
    let json = serde_json::to_string(&problem).expect("a problem is text in a fixed shape");
    (status, [(CONTENT_TYPE, PROBLEM_TYPE)], json).into_response()
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in ["localhost", "LOCALHOST:50052", "127.0.0.1:50052", "127.9.9.9", "[::1]", "[::1]:80"] {
            assert!(is_local(host), "{host}");
        }
        for host in
            ["", "example.org", "localhost.example.org", "127.0.0.1.nip.io:80", "192.0.2.1:50052", ":80", "1"]
        {
            assert!(!is_local(host), "{host}");
        }
    }
}
