//! The server under measurement, with catalogues of any size, and publishes in the middle.

use std::sync::Arc;
use std::time::Duration;

use maitred::app::admit::AdmissionLimits;
use maitred::app::ports::SystemClock;
use maitred::config::{CatalogConfig, Listen, ServeConfig};
use maitred::domain::agent::{AgentId, AgentSettings, Untriggered};
use maitred::domain::playbook::Playbook;
use maitred::engine::embed::builtin;
use maitred::server::{self, Running, World};
use maitred::transport::connection::ConnectionLimits;
use maitred::transport::grpc::proto::select_menu_request::Turn;
use maitred::transport::grpc::proto::{LoadPlaybookRequest, SelectMenuRequest, SelectMenuResponse};
use prost::Message as _;
use prost::bytes::Bytes;
use tonic::transport::Channel;

use super::super::words::Words;
use super::Target;

/// How playbooks are ranked in the measured catalogues: as public skills are.
const SETTINGS: AgentSettings = AgentSettings {
    untriggered: Untriggered::Ranked,
    trigger_match: maitred::domain::agent::TriggerMatch::Substring,
    stray_share: maitred::domain::agent::StrayShare::DEFAULT,
};

/// A catalogue of so many playbooks.
pub(crate) fn playbooks(count: usize) -> Vec<Arc<Playbook>> {
    let mut words = Words::new(2);
    (0..count).map(|at| words.playbook(at)).collect()
}

/// Serves a catalogue on loopback ports.
pub(crate) async fn serve(count: usize) -> Running {
    let nowhere = Listen::Tcp("127.0.0.1:0".parse().expect("an address"));
    let config = ServeConfig {
        data: None,
        http_names: Vec::new(),
        catalog: CatalogConfig {
            skills: Vec::new(),
            model: None,
            calibration: None,
            allow_file: None,
            settings: SETTINGS,
            untriggered_chosen: true,
            playbooks_max: count.max(12),
        },
        listen: nowhere.clone(),
        menu_key_file: None,
        menu_ttl: Duration::from_mins(15),
        drain: Duration::from_secs(1),
        drain_notice: Duration::ZERO,
        http: Some(nowhere),
        admission: AdmissionLimits { queued_max: AdmissionLimits::queued_default(), in_flight_max: 1_024 },
        connections: ConnectionLimits::new(1_024, None),
        http_connections_max: 64,
    };
    let world = World { embedder: builtin::model(), clock: Arc::new(SystemClock) };
    let running = server::start(config, world).await.expect("a loopback port is free");
    let agent = AgentId::default_agent();
    running.catalog.replace(&agent, playbooks(count), SETTINGS).expect("there are no triggers");
    running
}

/// Publishes every so often, for as long as the server lives: the measured agent where it is of an agent's size, another
/// one of that size otherwise. Each publish changes one playbook.
pub(crate) fn publish_for_ever(running: &Running, count: usize, every: Duration) {
    let catalog = Arc::downgrade(&running.catalog);
    let agent =
        if count <= 30 { AgentId::default_agent() } else { AgentId::parse("another").expect("a valid id") };
    let mut words = Words::new(9);
    let mut own = playbooks(count.min(30));
    std::thread::spawn(move || {
        for at in 0.. {
            std::thread::sleep(every);
            let Some(catalog) = catalog.upgrade() else { return };
            let changed = at % own.len();
            own[changed] = words.playbook(changed);
            catalog.replace(&agent, own.clone(), SETTINGS).expect("there are no triggers");
        }
    });
}

/// The turn that is asked about: 60 tokens.
fn turn() -> SelectMenuRequest {
    SelectMenuRequest {
        agent_id: "default".to_owned(),
        turn: Some(Turn::Text(Words::new(4).text(25))),
        ..SelectMenuRequest::default()
    }
}

/// The two calls of a turn, with the sizes of their answers.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) select: (Target, usize),
    pub(crate) load: (Target, usize),
}

/// Makes each call once, to know what is sent and answered.
pub(crate) async fn calls(address: &str) -> Calls {
    let target =
        |path, message: Vec<u8>| Target { address: address.to_owned(), path, message: Bytes::from(message) };
    let select = target("/maitred.v1.MenuService/SelectMenu", turn().encode_to_vec());
    let channel = select.connect().await;
    let answer = menu(channel.clone()).await;
    let slug = answer.items.first().expect("the turn is about some playbook").slug.clone();
    let load =
        LoadPlaybookRequest { menu_token: answer.menu_token.clone(), slug, ..LoadPlaybookRequest::default() };
    let load = target("/maitred.v1.MenuService/LoadPlaybook", load.encode_to_vec());
    let load_bytes = load.call(&channel).await.expect("the menu offers it");
    Calls { select: (select, answer.encoded_len()), load: (load, load_bytes) }
}

async fn menu(channel: Channel) -> SelectMenuResponse {
    let mut client = maitred::transport::grpc::proto::menu_service_client::MenuServiceClient::new(channel);
    client.select_menu(turn()).await.expect("the server answers").into_inner()
}
