//! Agents: listed, made, configured, erased; what they let in; how often their playbooks are used.

use axum::Json as Sent;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::super::Door;
use super::super::extract::{Json, Operator, OwnerOf};
use super::super::problem::Problem;
use super::super::views::RevisionView;
use super::super::views::agents::{
    AgentView, AgentsView, ConfigView, OverrideRequest, OverrideView, OverridesView, UsageView, UsagesView,
};
use crate::app::auth::Right;
use crate::app::error::Error;
use crate::domain::digest::Digest;

/// All agents.
#[utoipa::path(get, path = "/api/agents", tag = "agents",
    responses((status = 200, body = AgentsView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(State(door): State<Door>, _: Operator) -> Result<Sent<AgentsView>, Error> {
    let (revision, agents) = door.owner.agents().await?;
    let agents = agents.iter().map(AgentView::of).collect();
    Ok(Sent(AgentsView { revision: revision.number(), agents }))
}

/// One agent.
#[utoipa::path(get, path = "/api/agents/{agent}", tag = "agents", params(("agent" = String, Path)),
    responses((status = 200, body = AgentView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn show(State(door): State<Door>, owner: OwnerOf) -> Result<Sent<AgentView>, Error> {
    let (_, record) = door.owner.agent(&owner.agent).await?;
    Ok(Sent(AgentView::of(&record)))
}

/// Makes an agent, or configures it. The limit of playbooks is the operator's to set.
#[utoipa::path(put, path = "/api/agents/{agent}", tag = "agents", params(("agent" = String, Path)), request_body = ConfigView,
    responses((status = 200, body = AgentView), (status = 201, body = AgentView),
        (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn put(
    State(door): State<Door>,
    owner: OwnerOf,
    Json(config): Json<ConfigView>,
) -> Result<Response, Error> {
    let present = match door.owner.agent(&owner.agent).await {
        Ok((_, record)) => Some(record.config),
        Err(_) => None,
    };
    let before = door.owner.default_config();
    let config = config.over(before)?;
    let limit = present.unwrap_or(before).playbooks_max;
    if present.is_none() || config.playbooks_max != limit {
        owner.principal.check(Right::Operate)?;
    }
    let (is_new, done) = door.owner.put_agent(&owner.agent, config, &owner.principal.actor()).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Sent(AgentView::of(&done.outcome))).into_response())
}

/// Erases an agent with its playbooks and everything else that is its own.
#[utoipa::path(delete, path = "/api/agents/{agent}", tag = "agents", params(("agent" = String, Path)),
    responses((status = 200, body = RevisionView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn remove(State(door): State<Door>, owner: OwnerOf) -> Result<Sent<RevisionView>, Error> {
    owner.principal.check(Right::Operate)?;
    let revision = door.owner.remove_agent(&owner.agent, &owner.principal.actor()).await?;
    Ok(Sent(RevisionView { revision: revision.number() }))
}

/// The files that an agent lets in although the scanner blocks them.
#[utoipa::path(get, path = "/api/agents/{agent}/overrides", tag = "agents", params(("agent" = String, Path)),
    responses((status = 200, body = OverridesView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn overrides(
    State(door): State<Door>,
    owner: OwnerOf,
) -> Result<Sent<OverridesView>, Error> {
    let overrides = door.owner.let_in_so_far(&owner.agent).await?;
    Ok(Sent(OverridesView { overrides: overrides.iter().map(OverrideView::of).collect() }))
}

/// Lets a file in whose finding is HIGH: the same bytes then land, to be reviewed. CRITICAL is never let in.
#[utoipa::path(post, path = "/api/agents/{agent}/overrides", tag = "agents", params(("agent" = String, Path)),
    request_body = OverrideRequest,
    responses((status = 201, body = OverrideView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn let_in(
    State(door): State<Door>,
    owner: OwnerOf,
    Json(request): Json<OverrideRequest>,
) -> Result<Response, Error> {
    let file = Digest::parse(&request.digest).map_err(|fault| Error::field("digest", fault))?;
    let actor = owner.principal.actor();
    let record = door.owner.let_in(&owner.agent, file, &request.ruleset, &request.reason, &actor).await?;
    Ok((StatusCode::CREATED, Sent(OverrideView::of(&record))).into_response())
}

/// How often the playbooks of an agent were offered and loaded, ten seconds behind at most; what a crash loses is no more.
#[utoipa::path(get, path = "/api/agents/{agent}/usage", tag = "agents", params(("agent" = String, Path)),
    responses((status = 200, body = UsagesView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn usage(State(door): State<Door>, owner: OwnerOf) -> Result<Sent<UsagesView>, Error> {
    let usage = door.owner.usage(&owner.agent).await?;
    Ok(Sent(UsagesView { playbooks: usage.iter().map(UsageView::of).collect() }))
}
