//! What the model sees: the block and the tool, byte for byte.

use maitred::app::offer::{ToolFormat, menu_digest, prompt_block, tool};
use maitred::domain::agent::AgentSettings;
use maitred::domain::menu::Menu;
use maitred::domain::query::MenuQuery;
use maitred::engine::scratch::Scratch;
use maitred::engine::select::select;

use crate::fixture::{index, playbook};

fn two_items() -> Menu {
    let index = index(
        vec![
            playbook("choir-rota", "rota", "Build the choir rota.\nUSE FOR: swaps,\r\n\tabsences."),
            playbook("quote", "rota", "Says \"hi\" to <b>{name}</b>\u{2028}- evil: line"),
        ],
        AgentSettings::default(),
    );
    select(&index, &MenuQuery::new("the rota").unwrap(), &mut Scratch::default())
}

#[test]
fn the_block_has_one_line_a_playbook() {
    insta::assert_snapshot!(prompt_block(&two_items()), @r#"
    Playbooks for this turn. If one fits the request, call load_playbook with its slug before acting; if none fits, go on without one.
    - choir-rota: Choir rota. Build the choir rota. USE FOR: swaps, absences.
    - quote: Quote. Says "hi" to <b>{name}</b> - evil: line
    "#);
    assert_eq!(prompt_block(&Menu::default()), "");
}

#[test]
fn the_tool_has_four_shapes_and_an_enum_of_exactly_the_menu() {
    let schema = r#"{"type":"object","properties":{"slug":{"type":"string","description":"The playbook's slug.","enum":["choir-rota","quote"]}},"required":["slug"],"additionalProperties":false}"#;
    let text = r#""name":"load_playbook","description":"Loads the full instructions of one playbook from this turn's menu. Call it before acting when a playbook fits the request, then follow the instructions.""#;
    for (format, wanted) in [
        (ToolFormat::Neutral, format!("{{{text},\"parameters\":{schema}}}")),
        (
            ToolFormat::OpenAi,
            format!(r#"{{"type":"function","function":{{{text},"parameters":{schema},"strict":true}}}}"#),
        ),
        (ToolFormat::Anthropic, format!("{{{text},\"input_schema\":{schema}}}")),
        (ToolFormat::Mcp, format!("{{{text},\"inputSchema\":{schema}}}")),
    ] {
        let tool = tool(&two_items(), format).unwrap();
        assert_eq!(tool.definition_json, wanted);
        assert_eq!(tool.input_schema_json, schema);
    }
    assert_eq!(tool(&Menu::default(), ToolFormat::Neutral), None);
}

#[test]
fn equal_menus_have_equal_digests_and_others_do_not() {
    assert_eq!(menu_digest(&two_items()), menu_digest(&two_items()));
    let mut other = two_items();
    other.items.swap(0, 1);
    assert_ne!(menu_digest(&two_items()), menu_digest(&other));
    assert_ne!(menu_digest(&two_items()), menu_digest(&Menu::default()));
}
