//! gRPC: one file a service, one for the messages, one for the errors.

pub mod client;
pub mod proto;

mod acp;
mod convert;
mod menu;
mod refusals;
mod run;
mod status;

use std::sync::Arc;
use std::time::Duration;

use tonic::server::NamedService;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use self::proto::acp_service_server::AcpServiceServer;
use self::proto::menu_service_server::MenuServiceServer;
use self::proto::run_service_server::RunServiceServer;
use crate::app::read::{Reader, SelectAnswer};
use crate::domain::limits::{
    ENCODE_BODIES_BYTES_MAX, ENCODE_BYTES_MAX, MENU_DECODE_BYTES_MAX, RUN_DECODE_BYTES_MAX,
};

pub use self::refusals::RefusalLayer;

/// Calls in flight on one connection.
pub const STREAMS_PER_CONNECTION: u32 = 256;

/// How often an idle connection is probed.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_mins(1);

/// How long a probe may stay unanswered before the connection is closed.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// The services that a caller can reach, and what reports their health.
pub async fn routes(reader: Arc<Reader>) -> (Routes, HealthReporter) {
    let menu = MenuServiceServer::new(menu::MenuRpc::new(reader))
        .max_decoding_message_size(MENU_DECODE_BYTES_MAX)
        .max_encoding_message_size(ENCODE_BYTES_MAX);
    let run = RunServiceServer::new(run::RunRpc)
        .max_decoding_message_size(RUN_DECODE_BYTES_MAX)
        .max_encoding_message_size(ENCODE_BODIES_BYTES_MAX);
    let acp = AcpServiceServer::new(acp::AcpRpc)
        .max_decoding_message_size(MENU_DECODE_BYTES_MAX)
        .max_encoding_message_size(ENCODE_BODIES_BYTES_MAX);
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<MenuServiceServer<menu::MenuRpc>>().await;
    let routes = Routes::new(menu)
        .add_service(run)
        .add_service(acp)
        .add_service(health)
        .add_service(reflection().build_v1().expect("the descriptors are those of this build"))
        .add_service(reflection().build_v1alpha().expect("the descriptors are those of this build"));
    (routes, reporter)
}

/// The message for an answer, reasons included: what the command line shows is what a caller gets.
#[must_use]
pub fn select_response(answer: SelectAnswer) -> proto::SelectMenuResponse {
    convert::select_response(answer, true)
}

/// Reports that no service takes new calls, and ends the streams that watch for it: a client that watches would
/// otherwise keep its connection, and so the drain, until the deadline.
pub async fn report_draining(reporter: &mut HealthReporter) {
    let menu = <MenuServiceServer<menu::MenuRpc> as NamedService>::NAME;
    for service in ["", menu] {
        reporter.set_service_status(service, ServingStatus::NotServing).await;
    }
    for service in ["", menu] {
        reporter.clear_service_status(service).await;
    }
}

/// Both versions of the reflection service: older tools ask for the first.
fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}
