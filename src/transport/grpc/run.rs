//! `RunService`: declared, not built yet.

use tonic::{Request, Response, Status};

use super::proto::run_service_server::RunService;
use super::proto::{
    EndRunRequest, EndRunResponse, ListActivationsRequest, ListActivationsResponse, PlanCompactionRequest,
    PlanCompactionResponse, RestoreActivationsRequest, RestoreActivationsResponse,
};
use super::status::to_status;
use crate::app::error::Error;

/// The methods of the service.
pub(super) const METHODS: [&str; 4] = ["ListActivations", "RestoreActivations", "PlanCompaction", "EndRun"];

#[derive(Debug)]
pub(super) struct RunRpc;

fn not_built<T>(method: &'static str) -> Result<Response<T>, Status> {
    Err(to_status(&Error::method_not_built(method)))
}

#[tonic::async_trait]
impl RunService for RunRpc {
    async fn list_activations(
        &self,
        _: Request<ListActivationsRequest>,
    ) -> Result<Response<ListActivationsResponse>, Status> {
        not_built("RunService.ListActivations")
    }

    async fn restore_activations(
        &self,
        _: Request<RestoreActivationsRequest>,
    ) -> Result<Response<RestoreActivationsResponse>, Status> {
        not_built("RunService.RestoreActivations")
    }

    async fn plan_compaction(
        &self,
        _: Request<PlanCompactionRequest>,
    ) -> Result<Response<PlanCompactionResponse>, Status> {
        not_built("RunService.PlanCompaction")
    }

    async fn end_run(&self, _: Request<EndRunRequest>) -> Result<Response<EndRunResponse>, Status> {
        not_built("RunService.EndRun")
    }
}
