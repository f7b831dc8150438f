//! What outlives the process: the store, and what it is told at a first start.

use std::sync::Arc;

use tracing::{info, warn};

use super::ServeError;
use crate::app::auth::Gatekeeper;
use crate::app::catalog::Catalog;
use crate::app::owner::Owner;
use crate::app::packs;
use crate::app::ports::Clock;
use crate::app::ports::store::Store;
use crate::config::ServeConfig;
use crate::domain::agent::{AgentConfig, AgentId};
use crate::domain::revision::Revision;
use crate::store::sqlite::Sqlite;

/// Opens what the server keeps.
pub(super) async fn open(config: &ServeConfig) -> Result<Arc<dyn Store>, ServeError> {
    let Some(dir) = &config.data else {
        warn!("no --data: the menu key, usage and tokens end with this process");
        return Ok(Arc::new(Sqlite::in_memory().await.map_err(|error| error.to_string())?));
    };
    let server = format!("maitred serve on {}", config.listen);
    let store = Sqlite::open(dir, &server).await.map_err(|error| error.to_string())?;
    info!(directory = %dir.display(), "keeping playbooks");
    Ok(Arc::new(store))
}

/// What owners do, over a store. A store of which nothing was ever made gets the agent `default` with the starter packs, unless the
/// playbooks are files.
pub(super) async fn owner(
    config: &ServeConfig,
    store: &Arc<dyn Store>,
    catalog: &Arc<Catalog>,
    clock: Arc<dyn Clock>,
) -> Result<Owner, ServeError> {
    let agent = AgentId::default_agent();
    let files = (!config.catalog.skills.is_empty()).then(|| agent.clone());
    let defaults =
        AgentConfig { settings: config.catalog.settings, playbooks_max: config.catalog.playbooks_max };
    let is_of_files = files.is_some();
    let owner = Owner::open(Arc::clone(store), Arc::clone(catalog), clock, defaults, files).await;
    let owner = owner.map_err(|error| error.to_string())?;
    let revision = store.revision().await.map_err(|error| error.to_string())?;
    if !is_of_files && revision == Revision::default() {
        let packs = packs::library().into_iter().filter(|pack| pack.manifest.starter).collect();
        let count = owner.seed(&agent, packs).await.map_err(|error| error.to_string())?;
        info!(%agent, playbook_count = count, "an empty store: the agent begins with the starter packs");
    }
    Ok(owner)
}

/// Who may do what, as the store has it.
pub(super) async fn gatekeeper(store: &Arc<dyn Store>) -> Result<Arc<Gatekeeper>, ServeError> {
    let gatekeeper = Gatekeeper::default();
    gatekeeper.know(store.grants().await.map_err(|error| error.to_string())?);
    Ok(Arc::new(gatekeeper))
}
