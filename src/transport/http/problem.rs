//! The error table as HTTP has it: RFC 9457.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::views::FindingView;
use crate::app::error::{Code, Error, Reason};

/// The media type of an error.
const PROBLEM_TYPE: &str = "application/problem+json";

/// Why a request was not done.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Problem {
    /// What the status is called.
    pub(super) title: String,
    /// The status.
    pub(super) status: u16,
    /// Why, in a sentence.
    pub(super) detail: String,
    /// Why, to branch on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// Facts about it, by name.
    #[serde(skip_serializing_if = "Facts::is_empty")]
    pub(super) facts: Facts,
    /// What there is to say about a playbook that is refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) findings: Vec<FindingView>,
}

type Facts = std::collections::BTreeMap<String, String>;

impl Problem {
    /// A problem that no use case has.
    pub(super) fn plain(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error").to_owned();
        let (facts, findings) = (Facts::new(), Vec::new());
        Self { title, status: status.as_u16(), detail: detail.into(), reason: None, facts, findings }
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let (reason, _) = error.reason().row();
        let facts = error.metadata().iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Self {
            reason: Some(reason.to_owned()),
            facts: facts.collect(),
            findings: error.findings().iter().map(FindingView::of).collect(),
            ..Self::plain(status(error.reason()), error.message())
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).expect("a problem has a status of HTTP");
        let json = serde_json::to_string(&self).expect("a problem is text in a fixed shape");
        (status, [(CONTENT_TYPE, PROBLEM_TYPE)], json).into_response()
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let mut response = Problem::from(&self).into_response();
        let headers = response.headers_mut();
        if let Some(time) = self.retry_after() {
            // Whole seconds, and not zero.
            let secs = time.as_secs() + u64::from(time.subsec_nanos() > 0);
            headers.insert(RETRY_AFTER, HeaderValue::from(secs));
        }
        if self.reason() == Reason::Unauthenticated {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The status of a reason: that of its code, where HTTP has no better one.
fn status(reason: Reason) -> StatusCode {
    match reason {
        Reason::PlaybookRefused | Reason::RequestKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        Reason::DigestMissing => StatusCode::PRECONDITION_REQUIRED,
        Reason::MessageTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Reason::StoreFull => StatusCode::INSUFFICIENT_STORAGE,
        _ => match reason.row().1 {
            Code::InvalidArgument => StatusCode::BAD_REQUEST,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::Unauthenticated => StatusCode::UNAUTHORIZED,
            Code::PermissionDenied => StatusCode::FORBIDDEN,
            Code::FailedPrecondition => StatusCode::PRECONDITION_FAILED,
            Code::Conflict => StatusCode::CONFLICT,
            Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
            Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        },
    }
}
