//! Answers for a person (a table) and for a program (JSON with the contract's names).

use std::path::Path;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;

use crate::domain::text;
use crate::format::diagnostic::Diagnostic;
use crate::transport::grpc::proto;
use crate::transport::grpc::proto::reason::Kind;

/// Playbooks that are named below the table although they are not on the menu.
const NEXT_BEST_MAX: usize = 3;

/// Columns of a table that does not go to a terminal.
const WIDTH_WITHOUT_TERMINAL: u16 = 110;

/// Characters of a cell: a description and its title fit.
const CELL_CHARS_MAX: usize = 2_000;

/// A value as indented JSON with a line feed at the end.
pub(super) fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("an answer is text and numbers");
    text.push('\n');
    text
}

#[derive(Serialize)]
pub(super) struct MenuView<'a> {
    items: Vec<ItemView<'a>>,
    menu_token: &'a str,
    tool: Option<ToolView<'a>>,
    prompt_block: &'a str,
    menu_digest: &'a str,
    omitted: OmittedView,
    semantic: SemanticView<'a>,
    runs: &'static str,
    revision: u64,
    considered: Vec<ConsideredView<'a>>,
}

#[derive(Serialize)]
struct ItemView<'a> {
    slug: &'a str,
    title: &'a str,
    description: &'a str,
    reason: ReasonView<'a>,
    scores: Option<ScoresView>,
    near_duplicates: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum ReasonView<'a> {
    AlwaysOn {},
    Trigger { matched: &'a [String], found_in: &'a [String] },
    Semantic { probability: f64 },
}

#[derive(Serialize)]
struct ScoresView {
    probability: f64,
    bm25: f64,
    cosine: Option<f64>,
    coverage: f64,
}

#[derive(Serialize)]
struct ToolView<'a> {
    name: &'a str,
    description: &'a str,
    input_schema_json: &'a str,
    definition_json: &'a str,
}

#[derive(Serialize)]
struct OmittedView {
    always_on: u32,
    triggered: u32,
    semantic: u32,
    near_duplicate: u32,
}

#[derive(Serialize)]
struct SemanticView<'a> {
    state: String,
    detail: &'a str,
}

#[derive(Serialize)]
struct ConsideredView<'a> {
    slug: &'a str,
    exclusion: String,
    scores: Option<ScoresView>,
}

#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the contract's fields")]
pub(super) struct LoadView<'a> {
    slug: &'a str,
    title: &'a str,
    instructions: &'a str,
    digest: &'a str,
    revision: u64,
    already_loaded: bool,
    revised_since_menu: bool,
    revised_since_load: bool,
    body_bytes: u64,
    pinned: bool,
}

pub(super) fn menu_view(response: &proto::SelectMenuResponse) -> MenuView<'_> {
    let omitted = response.omitted.unwrap_or_default();
    let semantic = response.semantic.as_ref();
    MenuView {
        items: response.items.iter().map(item_view).collect(),
        menu_token: &response.menu_token,
        tool: response.tool.as_ref().map(|tool| ToolView {
            name: &tool.name,
            description: &tool.description,
            input_schema_json: &tool.input_schema_json,
            definition_json: &tool.definition_json,
        }),
        prompt_block: &response.prompt_block,
        menu_digest: &response.menu_digest,
        omitted: OmittedView {
            always_on: omitted.always_on,
            triggered: omitted.triggered,
            semantic: omitted.semantic,
            near_duplicate: omitted.near_duplicate,
        },
        semantic: SemanticView {
            state: semantic
                .map_or_else(String::new, |status| short(status.state().as_str_name(), "SEMANTIC_STATE_")),
            detail: semantic.map_or("", |status| status.detail.as_str()),
        },
        runs: match response.runs() {
            proto::RunsStatus::Ok => "ok",
            proto::RunsStatus::Unavailable => "unavailable",
            proto::RunsStatus::NotAsked | proto::RunsStatus::Unspecified => "not_asked",
        },
        revision: response.revision,
        considered: response.considered.iter().map(considered_view).collect(),
    }
}

fn item_view(item: &proto::MenuItem) -> ItemView<'_> {
    let reason = match item.reason.as_ref().and_then(|reason| reason.kind.as_ref()) {
        Some(Kind::Trigger(hit)) => ReasonView::Trigger { matched: &hit.matched, found_in: &hit.found_in },
        Some(Kind::Semantic(semantic)) => ReasonView::Semantic { probability: semantic.probability },
        Some(Kind::AlwaysOn(_)) | None => ReasonView::AlwaysOn {},
    };
    ItemView {
        slug: &item.slug,
        title: &item.title,
        description: &item.description,
        reason,
        scores: item.scores.as_ref().map(scores_view),
        near_duplicates: &item.near_duplicates,
    }
}

fn scores_view(scores: &proto::Scores) -> ScoresView {
    let proto::Scores { probability, bm25, cosine, coverage } = *scores;
    ScoresView { probability, bm25, cosine, coverage }
}

fn considered_view(considered: &proto::Considered) -> ConsideredView<'_> {
    ConsideredView {
        slug: &considered.slug,
        exclusion: short(considered.exclusion().as_str_name(), "EXCLUSION_"),
        scores: considered.scores.as_ref().map(scores_view),
    }
}

/// An enum value as the JSON has it: without its prefix, in lower case.
fn short(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_lowercase()
}

pub(super) fn load_view(response: &proto::LoadPlaybookResponse) -> LoadView<'_> {
    LoadView {
        slug: &response.slug,
        title: &response.title,
        instructions: &response.instructions,
        digest: &response.digest,
        revision: response.revision,
        already_loaded: response.already_loaded,
        revised_since_menu: response.revised_since_menu,
        revised_since_load: response.revised_since_load,
        body_bytes: response.body_bytes,
        pinned: response.pinned,
    }
}

/// A finding about a file: `path:line:column: severity: message; what to do`.
pub(super) fn finding(path: &Path, diagnostic: &Diagnostic) -> String {
    let Diagnostic { line, column, message, hint, severity, rule, excerpt } = diagnostic;
    let rule = rule.map_or_else(String::new, |rule| format!("{rule}: "));
    let excerpt = if excerpt.is_empty() { String::new() } else { format!(": `{excerpt}`") };
    let hint = if hint.is_empty() { String::new() } else { format!("; {hint}") };
    let (path, severity) = (text::escaped_path(path), severity.as_str());
    format!("{path}:{line}:{column}: {severity}: {rule}{message}{excerpt}{hint}")
}

/// Author's text in a table: nothing in it that a terminal would obey or hide.
fn cell(text: &str) -> String {
    text::escaped(text, CELL_CHARS_MAX)
}

/// The menu as a table, with what was left out and why below it.
pub(super) fn menu_table(response: &proto::SelectMenuResponse) -> String {
    let mut text = String::new();
    if response.items.is_empty() {
        text.push_str("No playbook fits this turn: the menu is empty, and no tool is offered.\n");
    } else {
        let mut table = Table::new();
        table.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
        if table.width().is_none() {
            table.set_width(WIDTH_WITHOUT_TERMINAL);
        }
        table.set_header(["slug", "why", "P(relevant)", "BM25", "cosine", "title and description"]);
        for item in &response.items {
            let scores = item.scores.unwrap_or_default();
            let (probability, bm25) = (format!("{:.2}", scores.probability), format!("{:.1}", scores.bm25));
            let cosine = scores.cosine.map_or_else(|| "-".to_owned(), |cosine| format!("{cosine:.2}"));
            let line = cell(&format!("{}. {}", item.title, item.description));
            table.add_row([item.slug.clone(), cell(&why(item)), probability, bm25, cosine, line]);
        }
        text.push_str(&table.to_string());
        text.push('\n');
    }
    text.push_str(&remarks(response));
    text
}

fn why(item: &proto::MenuItem) -> String {
    let mut why = reason(item);
    if !item.near_duplicates.is_empty() {
        why.push_str("; says nearly the same as ");
        why.push_str(&item.near_duplicates.join(", "));
    }
    why
}

fn reason(item: &proto::MenuItem) -> String {
    match item.reason.as_ref().and_then(|reason| reason.kind.as_ref()) {
        Some(Kind::Trigger(hit)) => {
            let shown =
                hit.matched.iter().enumerate().map(|(index, trigger)| match hit.found_in.get(index) {
                    Some(word) if !trigger.eq_ignore_ascii_case(word) && !trigger.contains(' ') => {
                        format!("\"{trigger}\" in \"{word}\"")
                    }
                    _ => format!("\"{trigger}\""),
                });
            format!("trigger {}", shown.collect::<Vec<_>>().join(", "))
        }
        Some(Kind::Semantic(_)) => "relevance".to_owned(),
        Some(Kind::AlwaysOn(_)) | None => "always on".to_owned(),
    }
}

fn remarks(response: &proto::SelectMenuResponse) -> String {
    let omitted = response.omitted.unwrap_or_default();
    let mut lines = Vec::new();
    lines.extend(
        response.semantic.as_ref().map(|status| status.detail.clone()).filter(|detail| !detail.is_empty()),
    );
    let counts =
        [("always-on", omitted.always_on), ("triggered", omitted.triggered), ("relevant", omitted.semantic)];
    let cut: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    if !cut.is_empty() {
        lines.push(format!("left out for want of a place: {} (raise --limit, up to 6)", cut.join(", ")));
    }
    let next: Vec<String> = response
        .considered
        .iter()
        .filter(|considered| considered.exclusion() == proto::Exclusion::BelowFloor)
        .filter_map(|considered| {
            Some((considered, considered.scores.as_ref().filter(|s| s.probability > 0.0)?))
        })
        .take(NEXT_BEST_MAX)
        .map(|(considered, scores)| format!("{} {:.3}", considered.slug, scores.probability))
        .collect();
    if !next.is_empty() {
        lines.push(format!("not offered: {}", next.join(", ")));
    }
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}
