//! gRPC: one file a service, one for the messages, one for the errors.

pub mod client;
pub mod proto;

mod bodies;
mod call;
mod convert;
mod menu;
mod methods;
mod receive;
mod refusals;
mod service;
mod status;
mod timeout;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use self::methods::Endpoint;
pub use self::methods::GrpcService;
use self::proto::acp_service_server::AcpServiceServer;
use self::proto::menu_service_server::MenuServiceServer;
use self::proto::run_service_server::RunServiceServer;
pub use self::service::OnConnection;
use crate::app::admit::{Admission, Caller};
use crate::app::auth::Gatekeeper;
use crate::app::read::{Reader, SelectAnswer};
use crate::domain::limits::{ENCODE_BYTES_MAX, MENU_DECODE_BYTES_MAX, PROBE_DECODE_BYTES_MAX};
use crate::telemetry::metrics::Metrics;

/// The methods of `RunService` and of `AcpService`, which are declared and not built yet.
const RUN_METHODS: [&str; 4] = ["ListActivations", "RestoreActivations", "PlanCompaction", "EndRun"];
const ACP_METHODS: [&str; 2] = ["Advertise", "WatchCommands"];

/// The methods beside the contract.
const HEALTH_METHODS: [&str; 2] = ["Check", "Watch"];
const REFLECTION: [&str; 1] = ["ServerReflectionInfo"];

/// The services that a caller can reach, and what reports their health. Streams of requests end when `draining` is
/// cancelled.
pub async fn services(
    reader: Arc<Reader>,
    gatekeeper: Arc<Gatekeeper>,
    admission: Arc<Admission>,
    metrics: Arc<Metrics>,
    draining: CancellationToken,
) -> (Arc<GrpcService>, Health) {
    let menu = MenuServiceServer::new(menu::MenuRpc::new(reader, Arc::clone(&admission)))
        .max_decoding_message_size(MENU_DECODE_BYTES_MAX)
        .max_encoding_message_size(ENCODE_BYTES_MAX);
    let (reporter, health) = tonic_health::server::health_reporter();
    let health = health.max_decoding_message_size(PROBE_DECODE_BYTES_MAX);
    reporter.set_serving::<MenuServiceServer<menu::MenuRpc>>().await;
    let reflection_v1 = reflection().build_v1().expect(VALID);
    let reflection_v1alpha = reflection().build_v1alpha().expect(VALID);
    let service = GrpcService::new(gatekeeper, admission, metrics, draining)
        .with_calls(Endpoint::new(menu), &menu::METHODS, Caller::Contract, MENU_DECODE_BYTES_MAX)
        .declared(RunServiceServer::<()>::NAME, &RUN_METHODS)
        .declared(AcpServiceServer::<()>::NAME, &ACP_METHODS)
        .with_calls(Endpoint::new(health), &HEALTH_METHODS, Caller::Probe, PROBE_DECODE_BYTES_MAX)
        .with_streams(
            Endpoint::new(reflection_v1.max_decoding_message_size(PROBE_DECODE_BYTES_MAX)),
            &REFLECTION,
        )
        .with_streams(
            Endpoint::new(reflection_v1alpha.max_decoding_message_size(PROBE_DECODE_BYTES_MAX)),
            &REFLECTION,
        );
    (Arc::new(service), Health(reporter))
}

/// The message for an answer, reasons included: what the command line shows is what a caller gets.
#[must_use]
pub fn select_response(answer: SelectAnswer) -> proto::SelectMenuResponse {
    convert::select_response(answer, true)
}

/// Reports the health of the services.
#[derive(Debug)]
pub struct Health(HealthReporter);

impl Health {
    /// The services whose health is reported.
    const SERVICES: [&str; 2] = ["", <MenuServiceServer<menu::MenuRpc> as NamedService>::NAME];

    /// Reports that no service takes new calls.
    pub async fn report_draining(&self) {
        for service in Self::SERVICES {
            self.0.set_service_status(service, ServingStatus::NotServing).await;
        }
    }

    /// Ends the streams that watch for health: a client that watches would otherwise keep its connection, and so the
    /// drain, until the deadline.
    pub async fn end_watches(&self) {
        let mut reporter = self.0.clone();
        for service in Self::SERVICES {
            reporter.clear_service_status(service).await;
        }
    }
}

/// Why the reflection services can be made.
const VALID: &str = "the descriptors are those of this build";

/// Both versions of the reflection service: older tools ask for the first.
fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}
