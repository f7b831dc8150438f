//! `AcpService`: declared, not built yet.

use tokio_stream::Empty;
use tonic::{Request, Response, Status};

use super::proto::acp_service_server::AcpService;
use super::proto::{AdvertiseRequest, AdvertiseResponse, WatchCommandsRequest, WatchCommandsResponse};
use super::status::to_status;
use crate::app::error::Error;

/// The methods of the service.
pub(super) const METHODS: [&str; 2] = ["Advertise", "WatchCommands"];

#[derive(Debug)]
pub(super) struct AcpRpc;

#[tonic::async_trait]
impl AcpService for AcpRpc {
    type WatchCommandsStream = Empty<Result<WatchCommandsResponse, Status>>;

    async fn advertise(&self, _: Request<AdvertiseRequest>) -> Result<Response<AdvertiseResponse>, Status> {
        Err(to_status(&Error::method_not_built("AcpService.Advertise")))
    }

    async fn watch_commands(
        &self,
        _: Request<WatchCommandsRequest>,
    ) -> Result<Response<Self::WatchCommandsStream>, Status> {
        Err(to_status(&Error::method_not_built("AcpService.WatchCommands")))
    }
}
