//! Messages to domain values and back. Nothing later validates again.

use super::proto;
use super::proto::reason::Kind;
use super::proto::select_menu_request::Turn;
use crate::app::error::Error;
use crate::app::offer::{TOOL_DESCRIPTION, TOOL_NAME, Tool, ToolFormat};
use crate::app::read::{LoadAnswer, RunsStatus, SelectAnswer, SelectRequest};
use crate::domain::agent::AgentId;
use crate::domain::menu::{Considered, Exclusion, MenuItem, Omitted, Reason, Scores, SemanticState};
use crate::domain::query::{MenuQuery, check_caller_id};

/// A checked request, and whether reasons are wanted.
pub(super) fn select_request(message: proto::SelectMenuRequest) -> Result<(SelectRequest, bool), Error> {
    refuse_unbuilt(&message)?;
    AgentId::parse(&message.agent_id).map_err(|fault| Error::field("agent_id", fault))?;
    for (field, id) in [("run_id", &message.run_id), ("turn_id", &message.turn_id)] {
        if let Some(id) = id {
            check_caller_id(field, id)?;
        }
    }
    let tool_format = tool_format(message.tool_format)?;
    let Some(Turn::Text(text)) = message.turn else {
        return Err(Error::field("text", "is missing: send what the user wrote"));
    };
    let limit = usize::try_from(message.limit.unwrap_or(0)).unwrap_or(usize::MAX);
    let query = MenuQuery::new(text)?
        .with_recent(message.recent)?
        .with_limit(limit)?
        .with_allowed(&message.allowed_slugs)?
        .with_explain(message.explain);
    let request = SelectRequest {
        agent_id: message.agent_id,
        run_id: message.run_id,
        turn_id: message.turn_id,
        query,
        tool_format,
    };
    Ok((request, message.explain))
}

/// Fields that are declared and not built yet: refused by name, never ignored.
fn refuse_unbuilt(message: &proto::SelectMenuRequest) -> Result<(), Error> {
    let unbuilt = [
        ("parent_run_id", message.parent_run_id.is_some()),
        ("language", message.language.is_some()),
        ("acp_prompt", matches!(message.turn, Some(Turn::AcpPrompt(_)))),
        ("previous_menu_token", message.previous_menu_token.is_some()),
    ];
    match unbuilt.into_iter().find(|(_, is_set)| *is_set) {
        Some((field, _)) => Err(Error::field_not_built(field)),
        None => Ok(()),
    }
}

fn tool_format(number: i32) -> Result<ToolFormat, Error> {
    match proto::ToolFormat::try_from(number) {
        Ok(proto::ToolFormat::Unspecified | proto::ToolFormat::Neutral) => Ok(ToolFormat::Neutral),
        Ok(proto::ToolFormat::Openai) => Ok(ToolFormat::OpenAi),
        Ok(proto::ToolFormat::Anthropic) => Ok(ToolFormat::Anthropic),
        Ok(proto::ToolFormat::Mcp) => Ok(ToolFormat::Mcp),
        Err(_) => Err(Error::field("tool_format", format!("{number} is not one of the formats 0 to 4"))),
    }
}

pub(super) fn select_response(answer: SelectAnswer, explain: bool) -> proto::SelectMenuResponse {
    let menu = answer.menu;
    proto::SelectMenuResponse {
        items: menu.items.into_iter().map(|item| menu_item(item, explain)).collect(),
        menu_token: answer.menu_token,
        tool: answer.tool.map(tool),
        prompt_block: answer.prompt_block,
        menu_digest: answer.menu_digest.to_string(),
        loaded: Vec::new(),
        invoked: Vec::new(),
        omitted: Some(omitted(menu.omitted)),
        semantic: Some(semantic(menu.semantic, answer.model_id.to_string())),
        runs: runs(answer.runs).into(),
        revision: answer.revision.number(),
        considered: menu.considered.iter().map(considered).collect(),
        acp_blocks_json: None,
    }
}

fn semantic(state: SemanticState, model_id: String) -> proto::SemanticStatus {
    use proto::SemanticState as Sent;
    let (state, detail) = match state {
        SemanticState::Ok => (Sent::Ok, ""),
        SemanticState::Unavailable => (Sent::Unavailable, "the embedding failed: relevance is lexical"),
        SemanticState::ScriptNotCovered => (
            Sent::ScriptNotCovered,
            "the embedding model does not cover the turn's script: relevance is lexical",
        ),
    };
    proto::SemanticStatus {
        state: state.into(),
        detail: detail.to_owned(),
        model_id,
        language: String::new(),
    }
}

fn runs(status: RunsStatus) -> proto::RunsStatus {
    match status {
        RunsStatus::Unavailable => proto::RunsStatus::Unavailable,
        RunsStatus::NotAsked => proto::RunsStatus::NotAsked,
    }
}

fn menu_item(item: MenuItem, explain: bool) -> proto::MenuItem {
    let kind = match item.reason {
        Reason::AlwaysOn => Kind::AlwaysOn(proto::AlwaysOn {}),
        Reason::Trigger { matched, found_in } => Kind::Trigger(proto::TriggerMatch { matched, found_in }),
        Reason::Semantic { probability } => Kind::Semantic(proto::Semantic { probability }),
    };
    proto::MenuItem {
        slug: item.slug.as_str().to_owned(),
        title: item.title,
        description: item.description,
        reason: Some(proto::Reason { kind: Some(kind) }),
        scores: explain.then(|| scores(item.scores)),
        near_duplicates: item.near_duplicates.iter().map(ToString::to_string).collect(),
    }
}

fn scores(scores: Scores) -> proto::Scores {
    let Scores { probability, bm25, cosine, coverage } = scores;
    proto::Scores { probability, bm25, cosine, coverage }
}

fn tool(tool: Tool) -> proto::Tool {
    proto::Tool {
        name: TOOL_NAME.to_owned(),
        description: TOOL_DESCRIPTION.to_owned(),
        input_schema_json: tool.input_schema_json,
        definition_json: tool.definition_json,
    }
}

fn omitted(omitted: Omitted) -> proto::Omitted {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    proto::Omitted {
        always_on: count(omitted.always_on),
        triggered: count(omitted.triggered),
        semantic: count(omitted.semantic),
        near_duplicate: count(omitted.near_duplicate),
    }
}

fn considered(considered: &Considered) -> proto::Considered {
    let exclusion = match considered.exclusion {
        Exclusion::BelowFloor => proto::Exclusion::BelowFloor,
        Exclusion::NoPlace => proto::Exclusion::NoPlace,
        Exclusion::ExplicitOnly => proto::Exclusion::ExplicitOnly,
        Exclusion::NotAllowed => proto::Exclusion::NotAllowed,
        Exclusion::NearDuplicate => proto::Exclusion::NearDuplicate,
    };
    proto::Considered {
        slug: considered.slug.to_string(),
        exclusion: exclusion.into(),
        scores: Some(scores(considered.scores)),
    }
}

pub(super) fn load_response(answer: &LoadAnswer) -> proto::LoadPlaybookResponse {
    let playbook = &answer.playbook;
    proto::LoadPlaybookResponse {
        slug: playbook.slug().as_str().to_owned(),
        title: playbook.title().to_owned(),
        instructions: playbook.body().to_owned(),
        digest: playbook.digest().to_string(),
        revision: answer.revision.number(),
        already_loaded: false,
        revised_since_menu: answer.revised_since_menu,
        revised_since_load: false,
        body_bytes: playbook.body().len() as u64,
        pinned: false,
    }
}
