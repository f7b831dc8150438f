//! Composes the server: catalogue, reader, listener, signals; and takes it down in order.

mod listener;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tonic::transport::Server;
use tonic::transport::server::Router;
use tower::layer::util::{Identity, Stack};
use tracing::{error, info, warn};

use self::listener::Listener;
use crate::app::catalog::Catalog;
use crate::app::packs;
use crate::app::ports::{Clock, SystemClock};
use crate::app::read::Reader;
use crate::app::report;
use crate::app::token::{KEY_BYTES_MAX, MenuSigner};
use crate::config::{CatalogConfig, ServeConfig};
use crate::domain::agent::AgentId;
use crate::domain::playbook::Playbook;
use crate::engine::embed::{About, Embedder, builtin};
use crate::store::directory::{Directory, DirectoryError, Refresh, Watch, watch};
use crate::store::model;
use crate::transport::grpc::{self, RefusalLayer};

/// Headers of a request at most, in bytes.
const HEADER_LIST_BYTES: u32 = 16 * 1024;

/// A server that could not start, or stopped for a reason of its own.
pub type ServeError = String;

/// A running server.
#[derive(Debug)]
pub struct Running {
    /// Where it listens, with the port that was chosen.
    pub listen: String,
    stop: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<Result<(), ServeError>>,
}

/// Serves until SIGTERM or an interrupt, then drains.
///
/// # Errors
/// What kept it from starting, or from serving on.
pub async fn serve(config: ServeConfig) -> Result<(), ServeError> {
    let mut signals = StopSignals::listen()?;
    // Loading is not interrupted: a signal that arrives meanwhile waits, and then ends the server in order.
    let running = start(config, Arc::new(SystemClock)).await?;
    let mut served = running.served;
    tokio::select! {
        () = signals.next() => {}
        ended = &mut served => return ended.map_err(|error| error.to_string())?,
    }
    // The receiver is gone only when serving has ended by itself.
    let _ = running.stop.send(());
    tokio::select! {
        ended = served => ended.map_err(|error| error.to_string())?,
        () = signals.next() => Err("stopped by a second signal before the drain was over".to_owned()),
    }
}

/// Starts a server; it serves when this returns.
///
/// # Errors
/// What keeps it from starting, in a sentence.
pub async fn start(config: ServeConfig, clock: Arc<dyn Clock>) -> Result<Running, ServeError> {
    let embedder = embedder(&config.catalog)?;
    let About { id, dimensions, scripts } = embedder.about();
    let scripts = scripts.names().collect::<Vec<_>>().join(", ");
    info!(%id, dimensions, scripts, "embedding model");
    let catalog = Arc::new(Catalog::new(embedder));
    let watching = load(&config.catalog, &catalog)?;
    let signer = signer(&config)?;
    let reader = Arc::new(Reader::new(&catalog, signer, clock));
    let listener = Listener::bind(&config.listen).await?;
    let listen = listener.address().to_owned();
    let (services, mut health) = grpc::routes(reader).await;
    let router = Server::builder()
        .max_concurrent_streams(grpc::STREAMS_PER_CONNECTION)
        .http2_keepalive_interval(Some(grpc::KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(grpc::KEEPALIVE_TIMEOUT))
        .http2_max_header_list_size(HEADER_LIST_BYTES)
        .layer(RefusalLayer)
        .add_routes(services);
    let (stop, stopped) = oneshot::channel();
    let shutdown = async move {
        // A dropped handle stops the server too.
        let _ = stopped.await;
        info!("draining: no new calls");
        grpc::report_draining(&mut health).await;
    };
    let drain = config.drain;
    let served = tokio::spawn(async move {
        let outcome = run(router, listener, shutdown, drain).await;
        drop(watching);
        outcome
    });
    info!(%listen, "serving");
    Ok(Running { listen, stop, served })
}

/// The embedding model that is asked for.
///
/// # Errors
/// What is wrong with its files.
pub fn embedder(config: &CatalogConfig) -> Result<Arc<dyn Embedder>, ServeError> {
    config.model.as_deref().map_or_else(|| Ok(builtin::model()), model::open)
}

impl Running {
    /// Drains and ends the server.
    ///
    /// # Errors
    /// What went wrong while it served.
    pub async fn stop(self) -> Result<(), ServeError> {
        // The receiver is gone only when serving has ended by itself.
        let _ = self.stop.send(());
        self.served.await.map_err(|error| error.to_string())?
    }
}

/// Serves until `shutdown`, then lets calls in flight finish for at most `drain`: a connection that never ends does not
/// keep the process.
async fn run(
    router: Router<Stack<RefusalLayer, Identity>>,
    listener: Listener,
    shutdown: impl Future<Output = ()> + Send + 'static,
    drain: Duration,
) -> Result<(), ServeError> {
    let (draining, drain_began) = oneshot::channel();
    let shutdown = async move {
        shutdown.await;
        // The receiver waits for as long as serving takes.
        let _ = draining.send(());
    };
    let mut serving = pin!(listener.serve(router, shutdown));
    tokio::select! {
        outcome = &mut serving => return outcome,
        _ = drain_began => {}
    }
    if let Ok(outcome) = tokio::time::timeout(drain, serving).await {
        info!("drained");
        return outcome;
    }
    warn!(drain_secs = drain.as_secs(), "connections were still open at the end of the drain; closing them");
    Ok(())
}

/// Loads the first catalogue and, where there are directories, keeps it current.
fn load(config: &CatalogConfig, catalog: &Arc<Catalog>) -> Result<Option<Watch>, ServeError> {
    let agent = AgentId::default_agent();
    if config.skills.is_empty() {
        let playbooks = packs::starter_playbooks();
        info!(playbook_count = playbooks.len(), "no --skills: serving the starter packs");
        catalog.replace(&agent, playbooks, config.settings).map_err(|error| error.to_string())?;
        return Ok(None);
    }
    info!(directory_count = config.skills.len(), "reading skills");
    let (directory, Refresh { playbooks, reports, .. }) = read_directories(config)?;
    report::log(&reports);
    advise(config, &playbooks);
    catalog.replace(&agent, playbooks, config.settings).map_err(|error| error.to_string())?;
    let (catalog, settings) = (Arc::clone(catalog), config.settings);
    let mut last_failure = String::new();
    let on_change = move |refresh: Result<Refresh, DirectoryError>| match refresh {
        Ok(Refresh { playbooks, reports, mended }) => {
            if !std::mem::take(&mut last_failure).is_empty() {
                info!("the directories are in order again");
            }
            report::log(&reports);
            report::log_mended(&mended);
            if let Err(error) = catalog.replace(&agent, playbooks, settings) {
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
    let mut directory = Directory::new(config.skills.clone(), config.playbooks_max);
    let refresh = directory.refresh(&BTreeSet::new()).map_err(|error| error.to_string())?;
    Ok((directory, refresh))
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

fn signer(config: &ServeConfig) -> Result<MenuSigner, ServeError> {
    let Some(path) = &config.menu_key_file else {
        warn!("no --menu-key-file: menu tokens hold until this process ends, and on no other replica");
        return MenuSigner::random(config.menu_ttl);
    };
    if let Ok(metadata) = std::fs::metadata(path)
        && metadata.permissions().mode() & 0o077 != 0
    {
        warn!(path = %path.display(), "others can read the menu key, and could make tokens; give it mode 0600");
    }
    let key = read_key(path).map_err(|error| format!("--menu-key-file {}: {error}", path.display()))?;
    MenuSigner::new(&key, config.menu_ttl)
        .map_err(|error| format!("--menu-key-file {}: {error}", path.display()))
}

/// Reads a key; a trailing line feed, which editors add, does not belong to it.
fn read_key(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut key = Vec::new();
    std::fs::File::open(path)?.take(KEY_BYTES_MAX as u64 + 2).read_to_end(&mut key)?;
    if key.len() > crate::app::token::KEY_BYTES_MIN && key.last() == Some(&b'\n') {
        key.pop();
    }
    Ok(key)
}

/// The signals that end a server: SIGTERM and an interrupt.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> Result<Self, ServeError> {
        let listen = |kind| signal(kind).map_err(|error| format!("signals cannot be waited for: {error}"));
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
