//! `MenuService`: the two calls of a turn.
//!
//! **Cost**: microseconds of work on the thread that received the call; a detour through another thread would cost
//! more than the selection.

use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status};

use super::convert;
use super::proto::menu_service_server::MenuService;
use super::proto::{LoadPlaybookRequest, LoadPlaybookResponse, SelectMenuRequest, SelectMenuResponse};
use super::status::to_status;
use crate::app::read::{LoadRequest, Reader};
use crate::app::turns::TurnQueue;
use crate::domain::query::check_caller_id;
use crate::domain::revision::Revision;

#[derive(Debug)]
pub(super) struct MenuRpc {
    reader: Arc<Reader>,
    turns: TurnQueue,
}

impl MenuRpc {
    pub(super) fn new(reader: Arc<Reader>) -> Self {
        let turns = TurnQueue::new(Arc::clone(reader.embedder()));
        Self { reader, turns }
    }
}

#[tonic::async_trait]
impl MenuService for MenuRpc {
    async fn select_menu(
        &self,
        request: Request<SelectMenuRequest>,
    ) -> Result<Response<SelectMenuResponse>, Status> {
        let patience = convert::deadline(request.metadata()).unwrap_or(Duration::MAX);
        let message = request.into_inner();
        let min_revision = message.min_revision;
        let (select, explain) = convert::select_request(message).map_err(|error| to_status(&error))?;
        if let Some(revision) = min_revision {
            let reached = self.reader.wait_for(Revision::new(revision), patience).await;
            reached.map_err(|error| to_status(&error))?;
        }
        let turn = self.turns.embed(&select.query).await;
        let answer = self.reader.select(&select, turn.as_ref()).map_err(|error| to_status(&error))?;
        Ok(Response::new(convert::select_response(answer, explain)))
    }

    async fn load_playbook(
        &self,
        request: Request<LoadPlaybookRequest>,
    ) -> Result<Response<LoadPlaybookResponse>, Status> {
        let message = request.into_inner();
        for (field, id) in [("run_id", &message.run_id), ("turn_id", &message.turn_id)] {
            if let Some(id) = id {
                check_caller_id(field, id).map_err(|error| to_status(&error.into()))?;
            }
        }
        let load = LoadRequest {
            menu_token: &message.menu_token,
            slug: &message.slug,
            run_id: message.run_id.as_deref(),
            turn_id: message.turn_id.as_deref(),
        };
        let answer = self.reader.load(load).map_err(|error| to_status(&error))?;
        Ok(Response::new(convert::load_response(&answer)))
    }
}
