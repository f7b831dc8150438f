//! The HTTP door: what owners and operators do, metrics and probes.
//!
//! Even where nobody needs a token it is closed to web pages of others: a name that they made point to this machine is not one of
//! its names, and what a page of another origin sends is not done.

mod api;
mod extract;
mod problem;
mod views;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use self::problem::Problem;
use crate::app::auth::Gatekeeper;
use crate::app::observe::Observer;
use crate::app::owner::Owner;
use crate::app::read::Reader;
use crate::domain::text;

/// The media type of Prometheus' text format.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What browsers say of where a request comes from.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

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

/// What this door needs.
#[derive(Clone, Debug)]
pub struct Door {
    /// What is counted.
    pub observer: Arc<Observer>,
    /// Whether the server takes new calls.
    pub readiness: Arc<Readiness>,
    /// What owners do.
    pub owner: Owner,
    /// Who they are.
    pub gatekeeper: Arc<Gatekeeper>,
    /// What a turn is tried with.
    pub reader: Arc<Reader>,
    /// Names of this server besides those of the machine itself, in lower case.
    pub names: Arc<[String]>,
}

/// What this door answers.
pub fn routes(door: Door) -> Router {
    api::router()
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .layer(middleware::from_fn_with_state(door.clone(), no_pages_of_others))
        .with_state(door)
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
    problem(
        StatusCode::NOT_FOUND,
        format!(
            "there is nothing at {path}; /openapi.json lists what there is, besides /metrics, /healthz and /readyz"
        ),
    )
}

async fn not_so(method: Method) -> Response {
    let detail = format!("this address is not used with {method}; /openapi.json says how it is");
    problem(StatusCode::METHOD_NOT_ALLOWED, detail)
}

/// Refuses web pages of others.
async fn no_pages_of_others(State(door): State<Door>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let host =
        text(HOST).filter(|host| is_local(host) || door.names.contains(&name_of(host).to_ascii_lowercase()));
    let Some(host) = host else {
        return problem(
            StatusCode::MISDIRECTED_REQUEST,
            "the Host header must be localhost, a loopback address or a name given with --http-name: this door is not for pages of others",
        );
    };
    if !request.method().is_safe() && is_foreign(headers, host) {
        return problem(
            StatusCode::FORBIDDEN,
            "this comes from a web page of another origin, and is not done",
        );
    }
    next.run(request).await
}

/// Whether a browser says that it sends this for a page of another origin.
fn is_foreign(headers: &HeaderMap, host: &str) -> bool {
    let is_of_another_site =
        headers.get(SEC_FETCH_SITE).is_some_and(|site| site != "same-origin" && site != "none");
    let is_own = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
    };
    is_of_another_site || headers.get(ORIGIN).is_some_and(|origin| !is_own(origin))
}

/// A `Host` header without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Whether a `Host` header names this machine.
fn is_local(host: &str) -> bool {
    let name = name_of(host);
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

fn problem(status: StatusCode, detail: impl Into<String>) -> Response {
    Problem::plain(status, detail).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::ORIGIN;

    use super::{SEC_FETCH_SITE, is_foreign, is_local};

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

    #[test]
    fn what_pages_of_others_send_is_foreign() {
        let own = "127.0.0.1:50052";
        for (origin, site, expected) in [
            (None, None, false),
            (Some("http://127.0.0.1:50052"), Some("same-origin"), false),
            (None, Some("none"), false),
            (Some("http://127.0.0.1:8080"), None, true),
            (Some("https://example.org"), None, true),
            (Some("null"), None, true),
            (None, Some("cross-site"), true),
            (Some("http://127.0.0.1:50052"), Some("same-site"), true),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            if let Some(site) = site {
                headers.insert(SEC_FETCH_SITE, site.parse().unwrap());
            }
            assert_eq!(is_foreign(&headers, own), expected, "{origin:?} {site:?}");
        }
    }
}
