//! Playbooks handed out as files that other hosts take.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::http::header::{ACCEPT, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};

use super::super::Door;
use super::super::extract::PlaybookOf;
use super::super::problem::Problem;
use super::playbooks::VersionQuery;
use crate::app::error::Error;
use crate::format::archive;

const ZIP_TYPE: &str = "application/zip";
const MARKDOWN_TYPE: &str = "text/markdown";

/// A playbook as a file: a zip of `<name>/SKILL.md`, or with `Accept: text/markdown` the bare SKILL.md. What the scanner blocks
/// by now is not handed out.
#[utoipa::path(get, path = "/api/agents/{agent}/playbooks/{slug}/export", tag = "playbooks",
    params(("agent" = String, Path), ("slug" = String, Path), VersionQuery),
    responses((status = 200, content((Vec<u8> = "application/zip"), (String = "text/markdown"))),
        (status = "default", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn export(
    State(door): State<Door>,
    of: PlaybookOf,
    Query(query): Query<VersionQuery>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or(ZIP_TYPE);
    let Some(kind) = kind(accept) else {
        let detail = format!("a playbook is handed out as {ZIP_TYPE} or {MARKDOWN_TYPE}");
        return Ok(Problem::plain(StatusCode::NOT_ACCEPTABLE, detail).into_response());
    };
    let exported = door.owner.export(&of.agent, &of.slug, query.version()?).await?;
    let tag = (ETAG, format!("\"{}\"", exported.digest));
    if kind == MARKDOWN_TYPE {
        let kind = (CONTENT_TYPE, format!("{MARKDOWN_TYPE}; charset=utf-8"));
        return Ok(([kind, tag], exported.text).into_response());
    }
    let name = (CONTENT_DISPOSITION, format!("attachment; filename=\"{}.zip\"", of.slug));
    let zip = archive::write(&BTreeMap::from([(of.slug, exported.text)]));
    Ok(([(CONTENT_TYPE, ZIP_TYPE.to_owned()), tag, name], zip).into_response())
}

/// The first kind that an `Accept` names and that there is; weights are not asked for by any client of this.
fn kind(accept: &str) -> Option<&'static str> {
    accept.split(',').find_map(|range| match range.split(';').next().unwrap_or_default().trim() {
        MARKDOWN_TYPE | "text/*" => Some(MARKDOWN_TYPE),
        ZIP_TYPE | "application/*" | "*/*" => Some(ZIP_TYPE),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{MARKDOWN_TYPE, ZIP_TYPE, kind};

    #[test]
    fn the_first_kind_that_there_is_is_taken() {
        for (accept, expected) in [
            ("*/*", Some(ZIP_TYPE)),
            ("text/markdown", Some(MARKDOWN_TYPE)),
            ("text/html, text/markdown;q=0.9, */*;q=0.1", Some(MARKDOWN_TYPE)),
            ("application/zip, text/markdown", Some(ZIP_TYPE)),
            ("image/png", None),
            ("", None),
        ] {
            assert_eq!(kind(accept), expected, "{accept}");
        }
    }
}
