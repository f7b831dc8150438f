//! What the model sees of a menu: the block of text, and the tool.
//!
//! **Invariants**: byte-stable for equal menus; no scores, times or counters; one line a playbook, so that an author's
//! text cannot pose as another line; no tool without a menu.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::domain::digest::Digest;
use crate::domain::menu::{Menu, MenuItem};

/// The tool's name.
pub const TOOL_NAME: &str = "load_playbook";

/// The tool's description, the same on every turn.
pub const TOOL_DESCRIPTION: &str = "Loads the full instructions of one playbook from this turn's menu. Call it before \
                                    acting when a playbook fits the request, then follow the instructions.";

const BLOCK_HEAD: &str = "Playbooks for this turn. If one fits the request, call load_playbook with its slug before \
                          acting; if none fits, go on without one.";

/// The shape of a tool definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolFormat {
    /// name, description, parameters.
    #[default]
    Neutral,
    /// OpenAI chat completions.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// Model Context Protocol.
    Mcp,
}

/// The tool through which a playbook of one menu is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The JSON Schema of the arguments.
    pub input_schema_json: String,
    /// The whole definition in the shape that was asked for.
    pub definition_json: String,
}

/// The menu as text for the tail of the prompt; empty when the menu is.
#[must_use]
pub fn prompt_block(menu: &Menu) -> String {
    if menu.items.is_empty() {
        return String::new();
    }
    let item_bytes =
        |item: &MenuItem| item.slug.as_str().len() + item.title.len() + item.description.len() + 8;
    let bytes = BLOCK_HEAD.len() + menu.items.iter().map(item_bytes).sum::<usize>() + 1;
    let mut block = String::with_capacity(bytes);
    block.push_str(BLOCK_HEAD);
    for item in &menu.items {
        block.push_str("\n- ");
        block.push_str(item.slug.as_str());
        block.push_str(": ");
        block.push_str(&item.title);
        block.push_str(". ");
        block.push_str(&item.description);
    }
    block.push('\n');
    block
}

/// The digest over the items as shown.
#[must_use]
pub fn menu_digest(menu: &Menu) -> Digest {
    Digest::of_parts(
        menu.items
            .iter()
            .flat_map(|item| [item.slug.as_str(), &item.title, &item.description])
            .map(str::as_bytes),
    )
}

/// The tool for a menu; none without one.
#[must_use]
pub fn tool(menu: &Menu, format: ToolFormat) -> Option<Tool> {
    if menu.items.is_empty() {
        return None;
    }
    // The schema is in the answer twice, and is written once.
    let schema = Schema::new(menu.items.iter().map(|item| item.slug.as_str()).collect());
    let schema = to_raw_value(&schema).expect(FIXED_SHAPE);
    let (name, description) = (TOOL_NAME, TOOL_DESCRIPTION);
    let definition_json = match format {
        ToolFormat::Neutral => json(&Neutral { name, description, parameters: &schema }),
        ToolFormat::OpenAi => json(&OpenAi {
            r#type: "function",
            function: OpenAiFunction { name, description, parameters: &schema, strict: true },
        }),
        ToolFormat::Anthropic => json(&Anthropic { name, description, input_schema: &schema }),
        ToolFormat::Mcp => json(&Mcp { name, description, input_schema: &schema }),
    };
    Some(Tool { input_schema_json: schema.get().to_owned(), definition_json })
}

/// Why a tool's definition can be written.
const FIXED_SHAPE: &str = "a tool definition is text in a fixed shape";

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect(FIXED_SHAPE)
}

#[derive(Serialize)]
struct Schema<'a> {
    r#type: &'static str,
    properties: Properties<'a>,
    required: [&'static str; 1],
    #[serde(rename = "additionalProperties")]
    additional_properties: bool,
}

#[derive(Serialize)]
struct Properties<'a> {
    slug: SlugProperty<'a>,
}

#[derive(Serialize)]
struct SlugProperty<'a> {
    r#type: &'static str,
    description: &'static str,
    r#enum: Vec<&'a str>,
}

impl<'a> Schema<'a> {
    fn new(slugs: Vec<&'a str>) -> Self {
        let slug = SlugProperty { r#type: "string", description: "The playbook's slug.", r#enum: slugs };
        Self {
            r#type: "object",
            properties: Properties { slug },
            required: ["slug"],
            additional_properties: false,
        }
    }
}

#[derive(Serialize)]
struct Neutral<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize)]
struct OpenAi<'a> {
    r#type: &'static str,
    function: OpenAiFunction<'a>,
}

#[derive(Serialize)]
struct OpenAiFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    strict: bool,
}

#[derive(Serialize)]
struct Anthropic<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

#[derive(Serialize)]
struct Mcp<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(rename = "inputSchema")]
    input_schema: &'a RawValue,
}
