//! The first catalogue, and what keeps it current.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Handle;
use tracing::{error, info, warn};

use super::ServeError;
use crate::app::owner::Owner;
use crate::app::report;
use crate::config::CatalogConfig;
use crate::domain::playbook::Playbook;
use crate::domain::text::escaped_path;
use crate::engine::builder::Builder;
use crate::engine::embed::{Embedder, builtin};
use crate::format::scan::overrides::Overrides;
use crate::store::directory::{Directory, DirectoryError, Refresh, Watch, watch};
use crate::store::model;

/// The embedding model that is asked for.
///
/// # Errors
/// What is wrong with its files.
pub fn embedder(config: &CatalogConfig) -> Result<Arc<dyn Embedder>, ServeError> {
    config.model.as_deref().map_or_else(|| Ok(builtin::model()), model::open)
}

/// What builds indexes with this model, with the calibration that is asked for.
///
/// # Errors
/// What is wrong with its file.
pub fn builder(config: &CatalogConfig, embedder: Arc<dyn Embedder>) -> Result<Builder, ServeError> {
    let calibration = model::calibration(config.calibration.as_deref())?;
    let own = embedder.about().id.to_string();
    if config.calibration.is_some() && calibration.model_id != own {
        let fitted_for = &calibration.model_id;
        warn!(%fitted_for, model = %own, "the calibration was fitted for another model; fit one with `maitred calibrate --model`");
    }
    Ok(Builder::new(embedder).with_calibration(calibration))
}

/// Follows the directories of skills, where there are any.
pub(super) async fn follow(config: &CatalogConfig, owner: &Owner) -> Result<Option<Watch>, ServeError> {
    if config.skills.is_empty() {
        return Ok(None);
    }
    info!(directory_count = config.skills.len(), "reading skills");
    let (directory, Refresh { playbooks, reports, .. }) = read_directories(config)?;
    report::log(&reports);
    advise(config, &playbooks);
    owner.follow_files(playbooks, config.settings).await.map_err(|error| error.to_string())?;
    let (owner, settings, runtime) = (owner.clone(), config.settings, Handle::current());
    let mut last_failure = String::new();
    let on_change = move |refresh: Result<Refresh, DirectoryError>| match refresh {
        Ok(Refresh { playbooks, reports, mended }) => {
            if !std::mem::take(&mut last_failure).is_empty() {
                info!("the directories are in order again");
            }
            report::log(&reports);
            report::log_mended(&mended);
            if let Err(error) = runtime.block_on(owner.follow_files(playbooks, settings)) {
                error!(%error, "the last good snapshot stays");
            }
        }
        Err(failure) => {
            let failure = failure.to_string();
            if failure != last_failure {
                error!("{failure}; the last good snapshot stays");
                last_failure = failure;
            }
        }
    };
    let on_blind = |cause: &str| warn!(cause, "no file events; looking for changes twice a second instead");
    watch(directory, on_change, on_blind)
        .map(Some)
        .map_err(|error| format!("the watch cannot start: {error}"))
}

/// Reads the directories of a configuration once.
///
/// # Errors
/// A directory that cannot be read, or too many playbooks.
pub fn read_directories(config: &CatalogConfig) -> Result<(Directory, Refresh), ServeError> {
    let overrides = overrides(config.allow_file.as_deref())?;
    let mut directory =
        Directory::new(config.skills.clone(), config.playbooks_max).with_overrides(Arc::clone(&overrides));
    let refresh = directory.refresh(&BTreeSet::new()).map_err(|error| error.to_string())?;
    for line in overrides.unused() {
        warn!(line, "no file has the digest of this line of the allow file: it can go");
    }
    Ok((directory, refresh))
}

/// What an allow file lets in; nothing without one.
///
/// # Errors
/// What is wrong with the file, and on which line.
pub fn overrides(file: Option<&Path>) -> Result<Arc<Overrides>, ServeError> {
    let Some(file) = file else { return Ok(Arc::default()) };
    let shown = escaped_path(file);
    let text = std::fs::read_to_string(file).map_err(|error| format!("--allow-file {shown}: {error}"))?;
    let overrides = Overrides::parse(&text).map_err(|fault| format!("--allow-file {shown}: {fault}"))?;
    Ok(Arc::new(overrides))
}

fn advise(config: &CatalogConfig, playbooks: &[Arc<Playbook>]) {
    if playbooks.is_empty() {
        let dirs: Vec<String> = config.skills.iter().map(|dir| dir.display().to_string()).collect();
        warn!("no playbook was found in {}: each is a folder with a SKILL.md", dirs.join(", "));
    } else if !config.untriggered_chosen
        && let Some(advice) = report::untriggered_advice(playbooks, config.settings)
    {
        warn!("{advice}");
    }
}
