//! Files of skills brought in, as JSON, as a form or as a zip.

use axum::Json as Sent;
use axum::extract::{FromRequest as _, Multipart, Query, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::Door;
use super::super::extract::{OwnerOf, body, from_json, media_type, unsupported};
use super::super::problem::Problem;
use super::super::views::import::{FileView, ImportRequest, ImportedView};
use crate::app::error::{Error, Reason};
use crate::app::owner::File;
use crate::domain::limits::IMPORT_FILES_MAX;
use crate::format::archive;
use crate::format::diagnostic::{Diagnostic, Place};

/// Whether to keep anything.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ImportQuery {
    /// `true` keeps nothing, and answers what would come of each file.
    #[serde(default)]
    dry_run: bool,
}

/// Brings files in, each with an outcome of its own: `imported`, `needs_review`, `skipped` where there is a playbook of its name,
/// which stays as it is, or `refused`. The body is JSON, a form (`multipart/form-data`, a part a file) or a zip.
#[utoipa::path(post, path = "/api/agents/{agent}/playbooks/import", tag = "playbooks",
    params(("agent" = String, Path), ImportQuery),
    request_body(content((ImportRequest = "application/json"), (Vec<u8> = "application/zip"))),
    responses((status = 200, body = ImportedView), (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn import(
    State(door): State<Door>,
    owner: OwnerOf,
    Query(query): Query<ImportQuery>,
    request: Request,
) -> Result<Response, Response> {
    let files = files(request, &door).await?;
    if files.is_empty() {
        return Err(Error::field("files", "is empty: send at least one").into_response());
    }
    if files.len() > IMPORT_FILES_MAX {
        let message =
            format!("has {} files, the limit is {IMPORT_FILES_MAX}; send them in parts", files.len());
        return Err(Error::field("files", message).into_response());
    }
    let actor = owner.principal.actor();
    let done = door.owner.import(&owner.agent, files, query.dry_run, &actor).await;
    let done = done.map_err(IntoResponse::into_response)?;
    Ok(Sent(ImportedView::of(&done, query.dry_run)).into_response())
}

/// The files of a body, in whatever form it has.
async fn files(request: Request, door: &Door) -> Result<Vec<File>, Response> {
    match media_type(request.headers()).as_str() {
        "application/json" => {
            let bytes = body(request, door).await?;
            let ImportRequest { files } = from_json(&bytes).map_err(IntoResponse::into_response)?;
            Ok(files.into_iter().map(of_json).collect())
        }
        "application/zip" => {
            let bytes = body(request, door).await?;
            of_zip(&bytes).map_err(IntoResponse::into_response)
        }
        "multipart/form-data" => of_form(request, door).await,
        _ => Err(unsupported("the body must be application/json, multipart/form-data or application/zip")),
    }
}

fn of_json(view: FileView) -> File {
    let FileView { name, content, content_base64 } = view;
    let content = match (content, content_base64) {
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(encoded)) => STANDARD
            .decode(encoded)
            .map_err(|error| refused(format!("its content_base64 is no base64: {error}"))),
        (Some(_), Some(_)) => Err(refused("it has both content and content_base64: send one")),
        (None, None) => Err(refused("it has neither content nor content_base64")),
    };
    File { name, content }
}

/// The skills of a zip, and what it refuses.
fn of_zip(bytes: &[u8]) -> Result<Vec<File>, Error> {
    let archive = archive::read(bytes)
        .map_err(|said| Error::new(Reason::MessageMalformed, said.to_string()).with_findings(vec![said]))?;
    Ok(archive.entries.into_iter().map(|entry| File { name: entry.name, content: entry.content }).collect())
}

/// The parts of a form: each is a file, or a zip of files.
async fn of_form(request: Request, door: &Door) -> Result<Vec<File>, Response> {
    let malformed = |fault: String| Error::new(Reason::MessageMalformed, fault).into_response();
    let mut form =
        Multipart::from_request(request, door).await.map_err(|fault| malformed(fault.body_text()))?;
    let mut files = Vec::new();
    while let Some(part) =
        form.next_field().await.map_err(|fault| fault_of(fault.status(), fault.body_text()))?
    {
        let name = part.file_name().or_else(|| part.name()).unwrap_or_default().to_owned();
        let bytes = part.bytes().await.map_err(|fault| fault_of(fault.status(), fault.body_text()))?;
        if archive::is_zip(&bytes) {
            files.extend(of_zip(&bytes).map_err(IntoResponse::into_response)?);
        } else {
            files.push(File { name, content: Ok(bytes.to_vec()) });
        }
        if files.len() > IMPORT_FILES_MAX {
            break;
        }
    }
    Ok(files)
}

fn fault_of(status: StatusCode, fault: String) -> Response {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        return Problem::plain(status, "the form has more bytes than this route takes").into_response();
    }
    Error::new(Reason::MessageMalformed, fault).into_response()
}

fn refused(message: impl Into<String>) -> Diagnostic {
    Diagnostic::refused(Place::line(1), message)
}
