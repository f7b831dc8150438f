//! Logs: fields on standard error, as text or JSON.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// A line for a person.
    Text,
    /// A JSON object a line.
    Json,
}

/// Starts logging for the whole process. Later calls change nothing.
///
/// # Errors
/// A filter that cannot be read.
pub fn start(format: LogFormat, filter: &str) -> Result<(), String> {
    let is_level = |word: &str| word.trim().parse::<LevelFilter>().is_ok();
    if let Some(word) = filter.split(',').find(|part| !part.contains('=') && !is_level(part)) {
        return Err(format!("--log {filter}: \"{word}\" is not one of off, error, warn, info, debug, trace"));
    }
    // The watcher's own remarks are about its inner workings.
    let filter = EnvFilter::try_new(format!("notify=error,{filter}"))
        .map_err(|error| format!("--log {filter}: {error}"))?;
    // A closed standard error must not take the server down: what cannot be logged is not reported there either.
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .log_internal_errors(false)
        .with_writer(std::io::stderr);
    // An error means that logging has been started before.
    let _ = match format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    Ok(())
}
