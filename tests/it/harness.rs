//! A real server on a port of its own, and a client of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use maitred::app::admit::AdmissionLimits;
use maitred::app::ports::{Clock, SystemClock};
use maitred::config::{CatalogConfig, Listen, ServeConfig};
use maitred::domain::agent::AgentSettings;
use maitred::engine::embed::Embedder;
use maitred::server::{self, Running, World};
use maitred::transport::connection::ConnectionLimits;
use maitred::transport::grpc::proto::menu_service_client::MenuServiceClient;
use maitred::transport::grpc::proto::select_menu_request::Turn;
use maitred::transport::grpc::proto::{
    LoadPlaybookRequest, LoadPlaybookResponse, SelectMenuRequest, SelectMenuResponse,
};
use tempfile::TempDir;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::fixture::skill_md;
use crate::wire;

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub(crate) struct TestClock(AtomicU64);

impl TestClock {
    pub(crate) fn advance(&self, secs: u64) {
        self.0.fetch_add(secs, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn unix_secs(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A server over a directory of its own.
pub(crate) struct TestServer {
    pub(crate) dir: TempDir,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) channel: Channel,
    pub(crate) client: MenuServiceClient<Channel>,
    pub(crate) running: Running,
}

/// What a test server is asked to be.
pub(crate) struct Setup<'a> {
    pub(crate) skills: &'a [(&'a str, String)],
    pub(crate) settings: AgentSettings,
    pub(crate) playbooks_max: usize,
    pub(crate) menu_key_file: Option<PathBuf>,
    pub(crate) model: Option<PathBuf>,
    pub(crate) admission: AdmissionLimits,
    pub(crate) connections: ConnectionLimits,
    pub(crate) drain_notice: Duration,
    /// None: the one of the configuration.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self {
            skills: &[],
            settings: AgentSettings::default(),
            playbooks_max: 30,
            menu_key_file: None,
            model: None,
            admission: AdmissionLimits { queued_max: 256, in_flight_max: 1_024 },
            connections: ConnectionLimits::new(1_024, None),
            drain_notice: Duration::ZERO,
            embedder: None,
        }
    }
}

pub(crate) fn write(dir: &Path, slug: &str, text: &str) {
    let folder = dir.join(slug);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), text).unwrap();
}

pub(crate) fn serve_config(skills: Vec<PathBuf>, setup: &Setup<'_>) -> ServeConfig {
    ServeConfig {
        catalog: CatalogConfig {
            skills,
            model: setup.model.clone(),
            calibration: None,
            allow_file: None,
            settings: setup.settings,
            untriggered_chosen: true,
            playbooks_max: setup.playbooks_max,
        },
        listen: Listen::Tcp("127.0.0.1:0".parse().unwrap()),
        data: None,
        http_names: Vec::new(),
        menu_key_file: setup.menu_key_file.clone(),
        menu_ttl: Duration::from_mins(15),
        drain: Duration::from_secs(5),
        drain_notice: setup.drain_notice,
        http: Some(Listen::Tcp("127.0.0.1:0".parse().unwrap())),
        admission: setup.admission,
        connections: setup.connections,
        http_connections_max: 64,
    }
}

/// Starts a server on the machine's clock.
pub(crate) async fn start(config: ServeConfig) -> Result<Running, String> {
    let embedder = server::embedder(&config.catalog)?;
    server::start(config, World { embedder, clock: Arc::new(SystemClock) }).await
}

impl TestServer {
    pub(crate) async fn start(setup: Setup<'_>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (slug, text) in setup.skills {
            write(dir.path(), slug, text);
        }
        let skills = vec![dir.path().to_owned()];
        Self { dir, ..Self::over(skills, setup).await }
    }

    /// A server over directories that the test made; its own stays empty.
    pub(crate) async fn over(skills: Vec<PathBuf>, setup: Setup<'_>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock(AtomicU64::new(1_000_000)));
        let config = serve_config(skills, &setup);
        let embedder = setup.embedder.unwrap_or_else(|| server::embedder(&config.catalog).unwrap());
        let running = server::start(config, World { embedder, clock: clock.clone() }).await.unwrap();
        let channel =
            Channel::from_shared(format!("http://{}", running.listen)).unwrap().connect().await.unwrap();
        let client = MenuServiceClient::new(channel.clone());
        Self { dir, clock, channel, client, running }
    }

    /// A server with two triggered playbooks.
    pub(crate) async fn small() -> Self {
        let skills = [
            (
                "late-invoice",
                skill_md("late-invoice", "overdue", "Chases an unpaid invoice.", "Step one.\n\nStep two."),
            ),
            ("soup", skill_md("soup", "soup", "Cooks onion soup.", "Slice the onions.")),
        ];
        Self::start(Setup { skills: &skills, ..Setup::default() }).await
    }

    pub(crate) async fn select(&self, request: SelectMenuRequest) -> Result<SelectMenuResponse, Status> {
        self.client.clone().select_menu(request).await.map(tonic::Response::into_inner)
    }

    pub(crate) async fn load(&self, request: LoadPlaybookRequest) -> Result<LoadPlaybookResponse, Status> {
        self.client.clone().load_playbook(request).await.map(tonic::Response::into_inner)
    }

    /// The metrics, as text.
    pub(crate) async fn metrics(&self) -> String {
        let (status, text) = wire::get(self.running.http.as_ref().unwrap(), "/metrics", "localhost").await;
        assert_eq!(status, "HTTP/1.1 200 OK", "{text}");
        text
    }

    /// A counter or gauge by its name and labels, as they are written.
    pub(crate) async fn metric(&self, series: &str) -> u64 {
        let text = self.metrics().await;
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {series} in {text}")).parse().unwrap()
    }

    /// Waits until a counter or gauge is as wanted.
    pub(crate) async fn metric_until(&self, series: &str, is_wanted: impl Fn(u64) -> bool) {
        let began = Instant::now();
        loop {
            let value = self.metric(series).await;
            if is_wanted(value) {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(5), "{series} stays at {value}");
        }
    }

    /// The slugs of the menu for a turn, once the catalogue has reached a revision. A call waits for it as long as the
    /// server lets it; on a busy machine that may take more than one call.
    pub(crate) async fn menu_at(&self, revision: u64, turn: &str) -> Vec<String> {
        for _ in 0..10 {
            let request = SelectMenuRequest { min_revision: Some(revision), ..turn_request(turn) };
            match self.select(request).await {
                Ok(answer) => return answer.items.into_iter().map(|item| item.slug).collect(),
                Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status:?}"),
            }
        }
        panic!("revision {revision} was not reached");
    }
}

/// A turn of the default agent.
pub(crate) fn turn_request(turn: &str) -> SelectMenuRequest {
    SelectMenuRequest {
        agent_id: "default".to_owned(),
        turn: Some(Turn::Text(turn.to_owned())),
        ..SelectMenuRequest::default()
    }
}

pub(crate) fn load_request(token: &str, slug: &str) -> LoadPlaybookRequest {
    LoadPlaybookRequest {
        menu_token: token.to_owned(),
        slug: slug.to_owned(),
        ..LoadPlaybookRequest::default()
    }
}

/// Checks code, reason and a part of the sentence of a refusal, and that its message is short.
#[track_caller]
pub(crate) fn check_refused<T: std::fmt::Debug>(
    answer: Result<T, Status>,
    code: Code,
    reason: &str,
    sentence: &str,
) {
    let status = answer.expect_err(sentence);
    let info = status.get_details_error_info();
    let found = info.as_ref().map(|info| (info.domain.as_str(), info.reason.as_str()));
    assert_eq!((status.code(), found), (code, Some(("maitred", reason))), "{status:?}");
    assert!(status.message().contains(sentence), "{:?} does not contain {sentence:?}", status.message());
    assert!(status.message().len() <= 1_000, "{} bytes", status.message().len());
}
