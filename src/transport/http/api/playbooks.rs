//! Playbooks: written, edited, activated, withdrawn, one at a time.

use axum::Json as Sent;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::Door;
use super::super::extract::{IfMatch, Json, OwnerOf, PlaybookOf};
use super::super::problem::Problem;
use super::super::views::{
    ChangedView, DraftView, EventView, HistoryView, PlaybookView, PlaybooksView, ReasonView, RevisionView,
};
use super::tagged;
use crate::app::error::Error;
use crate::app::owner::{Done, Shown, Version};
use crate::domain::digest::Digest;

/// Which version of a playbook is meant.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionQuery {
    /// `newest` (the default), `active`, or a digest out of its history.
    version: Option<String>,
}

impl VersionQuery {
    pub(super) fn version(&self) -> Result<Version, Error> {
        match self.version.as_deref() {
            None | Some("newest") => Ok(Version::Newest),
            Some("active") => Ok(Version::Active),
            Some(digest) => {
                Digest::parse(digest).map(Version::Of).map_err(|fault| Error::field("version", fault))
            }
        }
    }
}

/// The playbooks of an agent, without their bodies.
#[utoipa::path(get, path = "/api/agents/{agent}/playbooks", tag = "playbooks", params(("agent" = String, Path)),
    responses((status = 200, body = PlaybooksView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(State(door): State<Door>, owner: OwnerOf) -> Result<Sent<PlaybooksView>, Error> {
    let (revision, shown) = door.owner.playbooks(&owner.agent).await?;
    let playbooks = shown.iter().map(|shown| PlaybookView::of(shown, false)).collect();
    Ok(Sent(PlaybooksView { revision: revision.number(), playbooks }))
}

/// Writes a playbook. It is active at once where nothing is found in it.
#[utoipa::path(post, path = "/api/agents/{agent}/playbooks", tag = "playbooks", params(("agent" = String, Path)),
    request_body = DraftView,
    responses((status = 201, body = ChangedView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn write(
    State(door): State<Door>,
    owner: OwnerOf,
    Json(draft): Json<DraftView>,
) -> Result<Response, Error> {
    let done = door.owner.write(&owner.agent, draft.into(), &owner.principal.actor()).await?;
    Ok(changed(StatusCode::CREATED, &done))
}

/// One playbook.
#[utoipa::path(get, path = "/api/agents/{agent}/playbooks/{slug}", tag = "playbooks",
    params(("agent" = String, Path), ("slug" = String, Path), VersionQuery),
    responses((status = 200, body = PlaybookView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn show(
    State(door): State<Door>,
    of: PlaybookOf,
    Query(query): Query<VersionQuery>,
) -> Result<Response, Error> {
    let shown = door.owner.playbook(&of.agent, &of.slug, query.version()?).await?;
    Ok(tagged(StatusCode::OK, shown.playbook.digest(), PlaybookView::of(&shown, true)))
}

/// Gives a playbook another text. A clean edit of an active one serves at once; where something is found, the old text
/// serves until the new digest is activated.
#[utoipa::path(put, path = "/api/agents/{agent}/playbooks/{slug}", tag = "playbooks",
    params(("agent" = String, Path), ("slug" = String, Path), ("If-Match" = Option<String>, Header, description = "The digest that was read, or *")),
    request_body = DraftView,
    responses((status = 200, body = ChangedView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn rewrite(
    State(door): State<Door>,
    of: PlaybookOf,
    IfMatch(expected): IfMatch,
    Json(draft): Json<DraftView>,
) -> Result<Response, Error> {
    let done =
        door.owner.rewrite(&of.agent, &of.slug, draft.into(), &expected, &of.principal.actor()).await?;
    Ok(changed(StatusCode::OK, &done))
}

/// Deletes a playbook; its history stays.
#[utoipa::path(delete, path = "/api/agents/{agent}/playbooks/{slug}", tag = "playbooks",
    params(("agent" = String, Path), ("slug" = String, Path), ("If-Match" = Option<String>, Header, description = "The digest that was read, or *")),
    responses((status = 200, body = RevisionView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn delete(
    State(door): State<Door>,
    of: PlaybookOf,
    IfMatch(expected): IfMatch,
) -> Result<Response, Error> {
    let revision = door.owner.delete(&of.agent, &of.slug, &expected, &of.principal.actor()).await?;
    Ok(Sent(RevisionView { revision: revision.number() }).into_response())
}

/// Lets the version serve that If-Match names: the one that a person has read. An older one is rolled back to.
#[utoipa::path(post, path = "/api/agents/{agent}/playbooks/{slug}/activate", tag = "playbooks",
    params(("agent" = String, Path), ("slug" = String, Path), ("If-Match" = String, Header, description = "The digest that was read, or * for the newest")),
    responses((status = 200, body = ChangedView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn activate(
    State(door): State<Door>,
    of: PlaybookOf,
    IfMatch(expected): IfMatch,
) -> Result<Response, Error> {
    let done = door.owner.activate(&of.agent, &of.slug, &expected, &of.principal.actor()).await?;
    Ok(changed(StatusCode::OK, &done))
}

/// Takes a playbook off the menus. It can be activated again.
#[utoipa::path(post, path = "/api/agents/{agent}/playbooks/{slug}/deactivate", tag = "playbooks",
    params(("agent" = String, Path), ("slug" = String, Path), ("If-Match" = String, Header, description = "The digest that was read, or *")),
    responses((status = 200, body = ChangedView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn deactivate(
    State(door): State<Door>,
    of: PlaybookOf,
    IfMatch(expected): IfMatch,
) -> Result<Response, Error> {
    let done = door.owner.deactivate(&of.agent, &of.slug, &expected, &of.principal.actor()).await?;
    Ok(changed(StatusCode::OK, &done))
}

/// Withdraws a playbook for security: neither its newest version nor the one that serves comes back to this agent, by whatever way.
#[utoipa::path(post, path = "/api/agents/{agent}/playbooks/{slug}/revoke", tag = "playbooks",
    params(("agent" = String, Path), ("slug" = String, Path), ("If-Match" = String, Header, description = "The digest that was read, or *")),
    request_body = ReasonView,
    responses((status = 200, body = ChangedView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn revoke(
    State(door): State<Door>,
    of: PlaybookOf,
    IfMatch(expected): IfMatch,
    Json(ReasonView { reason }): Json<ReasonView>,
) -> Result<Response, Error> {
    let actor = of.principal.actor();
    let done = door.owner.revoke(&of.agent, &of.slug, &expected, &reason, &actor).await?;
    Ok(changed(StatusCode::OK, &done))
}

/// What happened to a playbook, the newest first; also to one that is deleted.
#[utoipa::path(get, path = "/api/agents/{agent}/playbooks/{slug}/history", tag = "playbooks",
    params(("agent" = String, Path), ("slug" = String, Path)),
    responses((status = 200, body = HistoryView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn history(State(door): State<Door>, of: PlaybookOf) -> Result<Sent<HistoryView>, Error> {
    let events = door.owner.history(&of.agent, &of.slug).await?;
    Ok(Sent(HistoryView { events: events.iter().map(EventView::of).collect() }))
}

fn changed(status: StatusCode, done: &Done<Shown>) -> Response {
    let playbook = PlaybookView::of(&done.outcome, true);
    tagged(status, done.outcome.playbook.digest(), ChangedView { revision: done.revision.number(), playbook })
}
