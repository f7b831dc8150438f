//! `maitred client`: calls a running server.

use clap::Subcommand;

use super::{Outcome, ToolFormatArg, print, runtime, show, turn_text};
use crate::config::LISTEN_DEFAULT;
use crate::transport::grpc::client::Client;
use crate::transport::grpc::proto::select_menu_request::Turn;
use crate::transport::grpc::proto::{LoadPlaybookRequest, SelectMenuRequest, ToolFormat};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The server: host:port or unix:PATH.
    #[arg(long, global = true, value_name = "ADDR", default_value = LISTEN_DEFAULT, env = "MAITRED_SERVER")]
    server: String,

    /// The run that the call belongs to.
    #[arg(long, global = true, value_name = "ID")]
    run_id: Option<String>,

    /// The turn that the call belongs to.
    #[arg(long, global = true, value_name = "ID")]
    turn_id: Option<String>,

    /// Prints the whole answer as JSON.
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Call {
    /// Selects a menu for a turn.
    Select {
        /// The agent.
        #[arg(long, value_name = "ID", default_value = "default")]
        agent: String,
        /// How many playbooks at most, 1 to 6.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
        /// An earlier turn, oldest first. Repeatable.
        #[arg(long, value_name = "TEXT")]
        recent: Vec<String>,
        /// The shape of the tool's definition in the JSON.
        #[arg(long, value_name = "SHAPE", default_value = "neutral")]
        tool_format: ToolFormatArg,
        /// What the user wrote; - reads standard input.
        #[arg(value_name = "TURN")]
        turn: String,
    },
    /// Loads a playbook from a menu that was selected.
    Load {
        /// The token of the menu: `menu_token` of the answer.
        #[arg(long, value_name = "TOKEN")]
        menu_token: String,
        /// The playbook.
        #[arg(value_name = "SLUG")]
        slug: String,
    },
}

pub(super) fn run(args: Args) -> Outcome {
    let runtime = runtime()?;
    runtime.block_on(async {
        let Args { server, run_id, turn_id, json, call } = args;
        let mut client = Client::connect(&server).await.map_err(|error| error.to_string())?;
        match call {
            Call::Select { agent, limit, recent, tool_format, turn } => {
                let request = SelectMenuRequest {
                    agent_id: agent,
                    run_id,
                    turn_id,
                    turn: Some(Turn::Text(turn_text(&turn)?)),
                    recent,
                    limit,
                    tool_format: match tool_format {
                        ToolFormatArg::Neutral => ToolFormat::Neutral,
                        ToolFormatArg::Openai => ToolFormat::Openai,
                        ToolFormatArg::Anthropic => ToolFormat::Anthropic,
                        ToolFormatArg::Mcp => ToolFormat::Mcp,
                    }
                    .into(),
                    explain: true,
                    ..SelectMenuRequest::default()
                };
                let response = client.select(request).await.map_err(|error| error.to_string())?;
                print(&if json {
                    show::json(&show::menu_view(&response))
                } else {
                    format!("{}menu_token: {}\n", show::menu_table(&response), response.menu_token)
                })
            }
            Call::Load { menu_token, slug } => {
                let request = LoadPlaybookRequest { menu_token, slug, run_id, turn_id };
                let response = client.load(request).await.map_err(|error| error.to_string())?;
                print(&if json { show::json(&show::load_view(&response)) } else { response.instructions })
            }
        }
    })
}
