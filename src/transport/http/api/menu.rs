//! A turn that an owner tries: the menu with its reasons, and why not the others.

use std::time::Instant;

use axum::Json as Sent;
use axum::extract::State;

use super::super::Door;
use super::super::extract::{Json, OwnerOf};
use super::super::problem::Problem;
use super::super::views::menu::{MenuView, TurnView};
use crate::app::admit::Deadline;
use crate::app::error::Error;
use crate::domain::revision::Revision;

/// Tries a turn: the menu that it gets, with reasons and evidence, and why each other playbook is not on it. It is not counted as
/// usage, and its text is kept nowhere.
#[utoipa::path(post, path = "/api/agents/{agent}/menu", tag = "playbooks", params(("agent" = String, Path)),
    request_body = TurnView,
    responses((status = 200, body = MenuView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn try_turn(
    State(door): State<Door>,
    owner: OwnerOf,
    Json(turn): Json<TurnView>,
) -> Result<Sent<MenuView>, Error> {
    let min_revision = turn.min_revision;
    let query = turn.query()?;
    if let Some(revision) = min_revision {
        door.reader.wait_for(Revision::new(revision), Deadline::after(Instant::now(), None)).await?;
    }
    let tried = door.reader.try_turn(owner.agent, query).await?;
    Ok(Sent(MenuView::of(&tried)))
}
