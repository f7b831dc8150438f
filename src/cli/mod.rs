//! The command line: one file a subcommand.

mod backup;
mod calibrate;
mod check;
mod client;
mod distill;
mod embed;
mod eval;
mod export;
mod import;
mod labelled;
mod select;
mod serve;
mod show;
mod sources;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::domain::limits::TURN_BYTES_MAX;

/// What a command answers: its exit code, or a sentence for standard error.
type Outcome = Result<ExitCode, String>;

/// Which few playbooks deserve a line in this turn's prompt.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves menus and playbooks over gRPC, from skill directories or the starter packs.
    Serve(serve::Args),
    /// Selects a menu for one turn, without a server.
    Select(select::Args),
    /// Tells what the parser accepts, repairs, drops and refuses. Exit code 1 when it refuses a file.
    Check(check::Args),
    /// Puts skills from files, directories and zips into a directory.
    Import(import::Args),
    /// Writes playbooks of a directory or of the library as a zip, as SKILL.md files, or as one file.
    Export(export::Args),
    /// Writes what a server keeps into a new file, also while it serves.
    Backup(backup::Args),
    /// Makes a backup what a server keeps; the server must be stopped.
    Restore(backup::Args),
    /// Calls a running server.
    Client(client::Args),
    /// Measures how well playbooks are found for labelled turns.
    Eval(eval::Args),
    /// Fits probabilities and floors to labelled turns of your own.
    Calibrate(calibrate::Args),
    /// Embeds texts from standard input, one a line.
    Embed(embed::Args),
    /// Makes a static embedding model from a sentence transformer.
    Distill(distill::Args),
}

/// `--tool-format`: the shape of the tool's definition.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum ToolFormatArg {
    /// name, description, parameters
    #[default]
    Neutral,
    /// OpenAI chat completions
    Openai,
    /// Anthropic messages
    Anthropic,
    /// Model Context Protocol
    Mcp,
}

/// Runs the command line of this process.
#[must_use]
pub fn run() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => serve::run(args),
        Command::Select(args) => select::run(args),
        Command::Check(args) => check::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Backup(args) => backup::backup(args),
        Command::Restore(args) => backup::restore(args),
        Command::Client(args) => client::run(args),
        Command::Eval(args) => eval::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Embed(args) => embed::run(&args),
        Command::Distill(args) => distill::run(&args),
    };
    outcome.unwrap_or_else(|sentence| {
        // Nothing is left to be said when standard error is closed.
        let _ = writeln!(std::io::stderr(), "maitred: {sentence}");
        ExitCode::from(2)
    })
}

/// Writes to standard output; a closed pipe, as `head` leaves it, ends the command without a word.
fn print(text: &str) -> Outcome {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(format!("standard output: {error}")),
    }
}

/// The turn on the command line, or standard input for `-`.
fn turn_text(argument: &str) -> Result<String, String> {
    use std::io::Read as _;
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(TURN_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input: {error}"))?;
    if bytes.len() > TURN_BYTES_MAX {
        return Err(format!("standard input has more bytes than a turn may have, which is {TURN_BYTES_MAX}"));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("standard input is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
}

/// A runtime for the commands that talk over the network.
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string())
}
