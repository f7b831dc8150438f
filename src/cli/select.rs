//! `maitred select`: the server's answer for one turn, without a server.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use indicatif::ProgressBar;

use super::{Outcome, ToolFormatArg, print, show, turn_text};
use crate::app::catalog::Catalog;
use crate::app::offer::ToolFormat;
use crate::app::ports::SystemClock;
use crate::app::read::{Reader, SelectRequest};
use crate::app::token::MenuSigner;
use crate::app::{packs, report};
use crate::config::{CatalogArgs, CatalogConfig};
use crate::domain::agent::AgentId;
use crate::domain::limits::MENU_TTL_DEFAULT;
use crate::domain::playbook::Playbook;
use crate::domain::query::MenuQuery;
use crate::domain::text;
use crate::format::diagnostic::{FileReport, Severity};
use crate::server;
use crate::store::directory::Refresh;
use crate::transport::grpc;

/// How often the sign of life moves while playbooks are loaded.
const TICK: Duration = Duration::from_millis(200);

/// Findings that are shown before the answer.
const FINDINGS_SHOWN: usize = 5;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    catalog: CatalogArgs,

    /// How many playbooks at most, 1 to 6. Without it 3, which always-on and triggered ones may exceed up to 6.
    #[arg(long, value_name = "N", default_value_t = 0)]
    limit: usize,

    /// An earlier turn, oldest first. Repeatable.
    #[arg(long, value_name = "TEXT")]
    recent: Vec<String>,

    /// The shape of the tool's definition in the JSON.
    #[arg(long, value_name = "SHAPE", default_value = "neutral")]
    tool_format: ToolFormatArg,

    /// Prints the whole answer as JSON.
    #[arg(long)]
    json: bool,

    /// What the user wrote; - reads standard input.
    #[arg(value_name = "TURN")]
    turn: String,
}

pub(super) fn run(args: Args) -> Outcome {
    let query = MenuQuery::new(turn_text(&args.turn)?)
        .and_then(|query| query.with_recent(args.recent))
        .and_then(|query| query.with_limit(args.limit))
        .map_err(|error| error.to_string())?
        .with_explain(true);
    let config = args.catalog.check()?;
    let loading = ProgressBar::new_spinner().with_message("loading playbooks");
    loading.enable_steady_tick(TICK);
    let embedder = server::embedder(&config)?;
    let (playbooks, remarks) = load(&config)?;
    let catalog = Catalog::with_builder(server::builder(&config, embedder)?);
    let agent = AgentId::default_agent();
    catalog.replace(&agent, playbooks, config.settings).map_err(|error| error.to_string())?;
    loading.finish_and_clear();
    for line in &remarks {
        say(line);
    }
    let reader =
        Reader::new(&catalog, MenuSigner::random(MENU_TTL_DEFAULT)?, Arc::new(SystemClock), Arc::default());
    let request = SelectRequest {
        agent_id: agent.to_string(),
        run_id: None,
        turn_id: None,
        query,
        tool_format: match args.tool_format {
            ToolFormatArg::Neutral => ToolFormat::Neutral,
            ToolFormatArg::Openai => ToolFormat::OpenAi,
            ToolFormatArg::Anthropic => ToolFormat::Anthropic,
            ToolFormatArg::Mcp => ToolFormat::Mcp,
        },
    };
    let answer = reader.select(&request, None).map_err(|error| error.to_string())?;
    let response = grpc::select_response(answer);
    print(&if args.json { show::json(&show::menu_view(&response)) } else { show::menu_table(&response) })
}

/// The playbooks, and what there is to say about them before the answer.
fn load(config: &CatalogConfig) -> Result<(Vec<Arc<Playbook>>, Vec<String>), String> {
    if config.skills.is_empty() {
        return Ok((packs::starter_playbooks(), Vec::new()));
    }
    let (_, Refresh { playbooks, reports, .. }) = server::read_directories(config)?;
    let mut remarks = findings(&reports);
    if playbooks.is_empty() {
        let dirs: Vec<String> = config.skills.iter().map(|dir| text::escaped_path(dir)).collect();
        let dirs = dirs.join(", ");
        remarks.push(format!("no playbook was loaded from {dirs}: each is a folder with a SKILL.md"));
    }
    if !config.untriggered_chosen
        && let Some(advice) = report::untriggered_advice(&playbooks, config.settings)
    {
        remarks.push(format!("advice: {advice}"));
    }
    Ok((playbooks, remarks))
}

/// Which skills are there and not served, the first of them one by one; `maitred check` tells the rest.
fn findings(reports: &[FileReport]) -> Vec<String> {
    let findings = reports.iter().flat_map(|report| report.diagnostics.iter().map(|d| (&report.path, d)));
    let unserved: Vec<_> = findings.filter(|(_, finding)| finding.severity >= Severity::NotServed).collect();
    let shown = unserved.iter().take(FINDINGS_SHOWN).map(|(path, finding)| show::finding(path, finding));
    let mut lines: Vec<String> = shown.collect();
    if unserved.len() > FINDINGS_SHOWN {
        let more = unserved.len() - FINDINGS_SHOWN;
        lines.push(format!("and {more} more; `maitred check` names them and says what to do"));
    }
    lines
}

fn say(line: &str) {
    // The answer matters more than a remark that nobody can read.
    let _ = writeln!(std::io::stderr(), "{line}");
}
