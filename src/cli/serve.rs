//! `maitred serve`.

use std::process::ExitCode;

use super::Outcome;
use crate::config::ServeArgs;
use crate::{server, telemetry};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    serve: ServeArgs,
}

pub(super) fn run(args: Args) -> Outcome {
    telemetry::log::start(args.serve.log_format, &args.serve.log)?;
    let config = args.serve.check()?;
    super::runtime()?.block_on(server::serve(config))?;
    Ok(ExitCode::SUCCESS)
}
