//! `maitred backup` and `maitred restore`: what a server keeps, in one file.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Outcome, print, runtime};
use crate::config::user_data;
use crate::domain::text::escaped_path;
use crate::store::sqlite::Sqlite;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory that playbooks are kept in. Default: `maitred` in the user's directory for data.
    #[arg(long, value_name = "DIR", env = "MAITRED_DATA")]
    data: Option<PathBuf>,

    /// Prints one JSON object.
    #[arg(long)]
    json: bool,

    /// The backup. It holds the menu key: keep it where others cannot read it.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn backup(args: Args) -> Outcome {
    let Args { data, json, file } = args;
    let data = data.map_or_else(user_data, Ok)?;
    let revision = runtime()?.block_on(Sqlite::backup(&data, &file)).map_err(|error| error.to_string())?;
    if json {
        return print(&format!("{}\n", json!({ "file": name(&file), "revision": revision.number() })));
    }
    print(&format!("{} holds revision {revision} of {}\n", name(&file), name(&data)))
}

pub(super) fn restore(args: Args) -> Outcome {
    let Args { data, json, file } = args;
    let data = data.map_or_else(user_data, Ok)?;
    let restored = runtime()?.block_on(Sqlite::restore(&data, &file)).map_err(|error| error.to_string())?;
    let (revision, replaced) = (restored.revision, restored.replaced.as_deref().map(name));
    if json {
        return print(&format!("{}\n", json!({ "revision": revision.number(), "replaced": replaced })));
    }
    let kept = replaced.map(|replaced| format!("; what was there is {replaced}")).unwrap_or_default();
    print(&format!("{} is what {} keeps, as revision {revision}{kept}\n", name(&file), name(&data)))
}

fn name(path: &Path) -> String {
    escaped_path(path)
}
