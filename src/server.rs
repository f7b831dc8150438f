//! Composes the server: catalogue, reader, doors, signals; and takes it down in order.

mod data;
mod files;
mod listener;
mod load;
mod rivals;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::service::TowerToHyperService;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::listener::{Accepted, Listener};
pub use self::load::{builder, embedder, overrides, read_directories};
use crate::app::admit::Admission;
use crate::app::catalog::Catalog;
use crate::app::observe::Observer;
use crate::app::ports::store::Store;
use crate::app::ports::{Clock, SystemClock};
use crate::app::read::Reader;
use crate::app::token::{self, KEY_BYTES_MAX, MenuSigner};
use crate::config::ServeConfig;
use crate::engine::embed::{About, Embedder};
use crate::telemetry::metrics::{Door, Metrics};
use crate::transport::connection::{ConnectionLimits, Connections};
use crate::transport::grpc;
use crate::transport::http::{self, Readiness};

/// A server that could not start, or stopped for a reason of its own.
pub type ServeError = String;

/// What the world provides.
#[derive(Debug)]
pub struct World {
    /// The embedding model.
    pub embedder: Arc<dyn Embedder>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

/// A running server.
#[derive(Debug)]
pub struct Running {
    /// Where it listens, with the port that was chosen.
    pub listen: String,
    /// Where metrics and probes are.
    pub http: Option<String>,
    /// What it serves.
    pub catalog: Arc<Catalog>,
    /// What it counts.
    pub observer: Arc<Observer>,
    stop: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<()>,
}

/// Serves until SIGTERM or an interrupt, then drains.
///
/// # Errors
/// What kept it from starting, or from serving on.
pub async fn serve(mut config: ServeConfig) -> Result<(), ServeError> {
    let mut signals = StopSignals::listen()?;
    let (connections_max, http_connections_max) = files::make_room(config.connections.connections_max);
    config.connections = config.connections.for_at_most(connections_max);
    config.http_connections_max = http_connections_max;
    let embedder = embedder(&config.catalog)?;
    // Loading is not interrupted: a signal that arrives meanwhile waits, and then ends the server in order.
    let running = start(config, World { embedder, clock: Arc::new(SystemClock) }).await?;
    signals.next().await;
    tokio::select! {
        ended = running.stop() => ended,
        () = signals.next() => Err("stopped by a second signal before the drain was over".to_owned()),
    }
}

/// Starts a server; it serves when this returns.
///
/// # Errors
/// What keeps it from starting, in a sentence.
pub async fn start(config: ServeConfig, world: World) -> Result<Running, ServeError> {
    let About { id, dimensions, scripts } = world.embedder.about();
    let scripts = scripts.names().collect::<Vec<_>>().join(", ");
    info!(%id, dimensions, scripts, "embedding model");
    let catalog = Arc::new(Catalog::with_builder(builder(&config.catalog, world.embedder)?));
    let store = data::open(&config).await?;
    let gatekeeper = data::gatekeeper(&store).await?;
    let owner = data::owner(&config, &store, &catalog, Arc::clone(&world.clock)).await?;
    let watching = load::follow(&config.catalog, &owner).await?;
    let listener = Listener::bind("--listen", &config.listen).await?;
    let http_listener = match &config.http {
        Some(listen) => {
            let bound = Listener::bind("--http", listen).await;
            Some(bound.map_err(|error| format!("{error}; `--http off` does without metrics and probes"))?)
        }
        None => None,
    };
    let metrics = Arc::new(Metrics::new());
    let admission = Arc::new(Admission::new(config.admission, Arc::clone(&metrics)));
    let signer = signer(&config, &store).await?;
    let reader = Arc::new(Reader::new(&catalog, signer, world.clock, Arc::clone(&metrics)));
    let usage = Arc::clone(reader.usage());
    let observer = Arc::new(Observer::new(Arc::clone(&metrics), Arc::clone(&admission), catalog.cell()));
    let door = http::Door {
        observer: Arc::clone(&observer),
        readiness: Arc::default(),
        owner,
        gatekeeper,
        reader,
        names: config.http_names.clone().into(),
    };
    let doors = Doors::open(&config, door, admission, metrics).await;
    let (listen, http) =
        (listener.address().to_owned(), http_listener.as_ref().map(|http| http.address().to_owned()));
    let (stop, stopped) = oneshot::channel();
    info!(%listen, http = http.as_deref().unwrap_or("off"), "serving");
    let (stop_counting, counting_stopped) = oneshot::channel();
    let counting = tokio::spawn(async move { usage.keep_on(store.as_ref(), counting_stopped).await });
    let telling = tokio::spawn(rivals::tell(Arc::clone(&catalog)));
    let served = tokio::spawn(async move {
        doors.serve(listener, http_listener, stopped).await;
        telling.abort();
        drop(stop_counting);
        if counting.await.is_err() {
            warn!("usage was not kept at the end, by a fault of ours");
        }
        drop(watching);
    });
    Ok(Running { listen, http, catalog, observer, stop, served })
}

impl Running {
    /// Drains and ends the server.
    ///
    /// # Errors
    /// When serving has ended by a fault of ours.
    pub async fn stop(self) -> Result<(), ServeError> {
        // The receiver is gone only when serving has ended by itself.
        let _ = self.stop.send(());
        self.served.await.map_err(|error| error.to_string())
    }
}

/// The two doors, and what is needed to close them.
struct Doors {
    grpc: Arc<Connections>,
    service: Arc<grpc::GrpcService>,
    admission: Arc<Admission>,
    health: grpc::Health,
    http: Arc<Connections>,
    routes: axum::Router,
    readiness: Arc<Readiness>,
    draining: CancellationToken,
    notice: Duration,
    drain: Duration,
}

impl Doors {
    async fn open(
        config: &ServeConfig,
        door: http::Door,
        admission: Arc<Admission>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let draining = CancellationToken::new();
        let readiness = Arc::clone(&door.readiness);
        let (reader, gatekeeper) = (Arc::clone(&door.reader), Arc::clone(&door.gatekeeper));
        let (service, health) = grpc::services(
            reader,
            gatekeeper,
            Arc::clone(&admission),
            Arc::clone(&metrics),
            draining.clone(),
        )
        .await;
        readiness.set(true);
        Self {
            grpc: Connections::new(Door::Grpc, config.connections, Arc::clone(&metrics)),
            service,
            admission,
            health,
            http: Connections::new(
                Door::Http,
                ConnectionLimits::new(config.http_connections_max, None),
                metrics,
            ),
            routes: http::routes(door),
            readiness,
            draining,
            notice: config.drain_notice,
            drain: config.drain,
        }
    }

    /// Serves until `stopped`, gives notice, and lets calls in flight finish: a connection that never ends does not keep
    /// the process.
    async fn serve(self, listener: Listener, http: Option<Listener>, stopped: oneshot::Receiver<()>) {
        let take_http = |accepted| self.take_http(accepted);
        let serve_http = async {
            match &http {
                Some(http) => http.serve(take_http).await,
                None => std::future::pending().await,
            }
        };
        let grpc = async {
            let noticed = async {
                // A dropped handle stops the server too.
                let _ = stopped.await;
                info!("draining: health says so, calls are still taken");
                self.readiness.set(false);
                self.health.report_draining().await;
                tokio::time::sleep(self.notice).await;
            };
            tokio::select! {
                () = listener.serve(|accepted| self.take_grpc(accepted)) => {}
                () = noticed => {}
            }
            drop(listener);
            info!("draining: no new calls");
            self.draining.cancel();
            self.health.end_watches().await;
            self.grpc.drain(self.drain).await
        };
        // Metrics and probes are answered to the end.
        let left = tokio::select! {
            left = grpc => left,
            () = serve_http => unreachable!("a door is open for as long as it is served"),
        };
        drop(http);
        self.http.drain(Duration::ZERO).await;
        if left == 0 {
            info!("drained");
        } else {
            warn!(
                connections = left,
                drain_secs = self.drain.as_secs(),
                "still open at the end of the drain, and cut"
            );
        }
    }

    fn take_grpc(&self, accepted: Accepted) {
        let admission = Arc::clone(&self.admission);
        let service = |state| grpc::OnConnection::new(Arc::clone(&self.service), state);
        match accepted {
            Accepted::Tcp(stream) => self.grpc.serve_http2(stream, admission, service),
            Accepted::Unix(stream) => self.grpc.serve_http2(stream, admission, service),
        }
    }

    fn take_http(&self, accepted: Accepted) {
        let service = TowerToHyperService::new(self.routes.clone());
        match accepted {
            Accepted::Tcp(stream) => self.http.serve_http(stream, service),
            Accepted::Unix(stream) => self.http.serve_http(stream, service),
        }
    }
}

/// What signs menu tokens: the key of a file, or the one that is kept.
async fn signer(config: &ServeConfig, store: &Arc<dyn Store>) -> Result<MenuSigner, ServeError> {
    let Some(path) = &config.menu_key_file else {
        let key = store.menu_key(token::new_key()?).await.map_err(|error| error.to_string())?;
        return MenuSigner::new(&key, config.menu_ttl);
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
