//! What owners and operators do: the routes, one table with their document.

mod agents;
mod export;
mod import;
mod menu;
mod playbooks;

use axum::extract::DefaultBodyLimit;
use axum::http::header::ETAG;
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde::Serialize;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Door;
use crate::domain::digest::Digest;
use crate::domain::limits::{API_BODY_BYTES_MAX, IMPORT_BODY_BYTES_MAX};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Maitred",
        description = "What an owner does with an agent's playbooks. Errors are application/problem+json (RFC 9457)."
    ),
    tags(
        (name = "agents", description = "Who has playbooks."),
        (name = "playbooks", description = "What an agent may be offered."),
    )
)]
struct Document;

/// The routes with their document.
pub(super) fn routes() -> OpenApiRouter<Door> {
    let bulk = OpenApiRouter::new()
        .routes(routes!(import::import))
        .layer(DefaultBodyLimit::max(IMPORT_BODY_BYTES_MAX));
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(agents::list))
        .routes(routes!(agents::show, agents::put, agents::remove))
        .routes(routes!(agents::overrides, agents::let_in))
        .routes(routes!(agents::usage))
        .routes(routes!(playbooks::list, playbooks::write))
        .routes(routes!(playbooks::show, playbooks::rewrite, playbooks::delete))
        .routes(routes!(playbooks::activate))
        .routes(routes!(playbooks::deactivate))
        .routes(routes!(playbooks::revoke))
        .routes(routes!(playbooks::history))
        .routes(routes!(export::export))
        .routes(routes!(menu::try_turn))
        .layer(DefaultBodyLimit::max(API_BODY_BYTES_MAX))
        .merge(bulk)
}

/// The routes, and beside them `/openapi.json`.
pub(super) fn router() -> Router<Door> {
    let (router, document) = routes().split_for_parts();
    let document = document.to_pretty_json().expect("the document is made of names and numbers");
    let answer = ([(axum::http::header::CONTENT_TYPE, "application/json")], document);
    router.route("/openapi.json", axum::routing::get(move || std::future::ready(answer.clone())))
}

/// An answer about a playbook: its digest is the entity tag.
fn tagged<T: Serialize>(status: StatusCode, digest: Digest, view: T) -> Response {
    let tag: [(HeaderName, String); 1] = [(ETAG, format!("\"{digest}\""))];
    (status, tag, Json(view)).into_response()
}
