//! What requests say, checked: every fault is a problem that names the field.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, IF_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::de::DeserializeOwned;

use super::Door;
use super::problem::Problem;
use crate::app::auth::{Principal, Right};
use crate::app::error::{Error, Reason};
use crate::app::owner::Expected;
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::slug::Slug;

/// The media type of our requests and answers.
const JSON_TYPE: &str = "application/json";

/// An operator.
pub(super) struct Operator;

/// The owner of the agent in the path.
pub(super) struct OwnerOf {
    pub(super) agent: AgentId,
    pub(super) principal: Arc<Principal>,
}

/// The playbook in the path, and the owner of its agent.
pub(super) struct PlaybookOf {
    pub(super) agent: AgentId,
    pub(super) slug: Slug,
    pub(super) principal: Arc<Principal>,
}

fn identify(parts: &Parts, door: &Door) -> Result<Arc<Principal>, Error> {
    let header = parts.headers.get(AUTHORIZATION);
    let header = header.map(|header| header.to_str().unwrap_or_default());
    door.gatekeeper.identify(header)
}

impl FromRequestParts<Door> for Operator {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Error> {
        let principal = identify(parts, door)?;
        principal.check(Right::Operate)?;
        Ok(Self)
    }
}

/// The owner's principal, and the parts of the path.
async fn owned<P: DeserializeOwned + Send>(
    parts: &mut Parts,
    door: &Door,
    agent_of: fn(&P) -> &str,
) -> Result<(Arc<Principal>, AgentId, P), Error> {
    // Who asks comes first: a stranger learns nothing about paths.
    let principal = identify(parts, door)?;
    let path = Path::<P>::from_request_parts(parts, door).await;
    let Path(path) = path.map_err(|fault| Error::field("path", fault.body_text()))?;
    let agent = AgentId::parse(agent_of(&path)).map_err(|fault| Error::field("agent", fault))?;
    principal.check(Right::Own(&agent))?;
    Ok((principal, agent, path))
}

impl FromRequestParts<Door> for OwnerOf {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Error> {
        let (principal, agent, _) = owned::<String>(parts, door, |agent| agent).await?;
        Ok(Self { agent, principal })
    }
}

impl FromRequestParts<Door> for PlaybookOf {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Error> {
        let (principal, agent, (_, slug)) =
            owned::<(String, String)>(parts, door, |(agent, _)| agent).await?;
        let slug = Slug::parse(&slug).map_err(|error| Error::field("slug", error))?;
        Ok(Self { agent, slug, principal })
    }
}

/// The version that a request says its caller has read.
pub(super) struct IfMatch(pub(super) Expected);

impl FromRequestParts<Door> for IfMatch {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &Door) -> Result<Self, Error> {
        Ok(Self(if_match(&parts.headers)?))
    }
}

fn if_match(headers: &HeaderMap) -> Result<Expected, Error> {
    let Some(header) = headers.get(IF_MATCH) else { return Ok(Expected::Missing) };
    let text = header.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(Expected::Any);
    }
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let digest = quoted.unwrap_or(text);
    Digest::parse(digest).map(Expected::Version).map_err(|fault| Error::field("If-Match", fault))
}

/// A body of JSON.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Door> for Json<T> {
    type Rejection = Response;

    async fn from_request(request: Request, door: &Door) -> Result<Self, Response> {
        if media_type(request.headers()) != JSON_TYPE {
            return Err(unsupported(&format!("the body must be {JSON_TYPE}")));
        }
        let bytes = body(request, door).await?;
        from_json(&bytes).map(Self).map_err(axum::response::IntoResponse::into_response)
    }
}

/// Reads JSON.
pub(super) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("the body is not the JSON that is wanted here: {error}");
        Error::new(Reason::MessageMalformed, message)
    })
}

/// The whole body, within the limit of its route.
pub(super) async fn body(request: Request, door: &Door) -> Result<Bytes, Response> {
    Bytes::from_request(request, door).await.map_err(|rejection| {
        let status = rejection.status();
        let detail = match status {
            StatusCode::PAYLOAD_TOO_LARGE => "the body has more bytes than this route takes".to_owned(),
            _ => rejection.body_text(),
        };
        Problem::plain(status, detail).into_response()
    })
}

/// The media type of a body, without its parameters, in lower case.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let header = headers.get(CONTENT_TYPE).and_then(|header| header.to_str().ok()).unwrap_or_default();
    header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(super) fn unsupported(detail: &str) -> Response {
    Problem::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).into_response()
}
