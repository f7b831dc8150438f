//! `MenuService`: the two calls of a turn.
//!
//! **Cost**: microseconds of work on the thread that received the call; a detour through another thread would cost
//! more than the selection, unless an agent has thousands of playbooks.

use std::sync::Arc;
use std::time::Instant;

use tonic::{Request, Response, Status};

use super::convert;
use super::proto::menu_service_server::MenuService;
use super::proto::{LoadPlaybookRequest, LoadPlaybookResponse, SelectMenuRequest, SelectMenuResponse};
use super::status::to_status;
use crate::app::admit::{Admission, Deadline};
use crate::app::auth::{Principal, Right};
use crate::app::error::Error;
use crate::app::lane::Lane;
use crate::app::read::{LoadRequest, Reader};
use crate::app::turns::TurnQueue;
use crate::domain::query::check_caller_id;
use crate::domain::revision::Revision;
use crate::domain::stage::Stage;

/// The methods of the service.
pub(super) const METHODS: [&str; 2] = ["SelectMenu", "LoadPlaybook"];

#[derive(Debug)]
pub(super) struct MenuRpc {
    reader: Arc<Reader>,
    turns: TurnQueue,
    lane: Lane,
    admission: Arc<Admission>,
}

impl MenuRpc {
    pub(super) fn new(reader: Arc<Reader>, admission: Arc<Admission>) -> Self {
        let turns = TurnQueue::new(Arc::clone(reader.embedder()));
        let lane = Lane::new(Arc::clone(&admission));
        Self { reader, turns, lane, admission }
    }

    async fn select(
        &self,
        message: SelectMenuRequest,
        principal: &Principal,
        deadline: Deadline,
    ) -> Result<SelectMenuResponse, Error> {
        let metrics = self.reader.metrics();
        let arrival = Instant::now();
        let min_revision = message.min_revision;
        let (select, explain) = convert::select_request(message)?;
        principal.check(Right::Use(&select.agent_id))?;
        let converted = Instant::now();
        let _permit = self.admission.permit()?;
        metrics.stage(Stage::Admit, converted.elapsed());
        if let Some(revision) = min_revision {
            self.reader.wait_for(Revision::new(revision), deadline).await?;
        }
        let turn = self.turns.embed(&select.query, deadline).await;
        let answer = if self.reader.is_long(&select.agent_id) {
            let reader = Arc::clone(&self.reader);
            self.lane.run(move || reader.select(&select, turn.as_ref())).await??
        } else {
            self.reader.select(&select, turn.as_ref())?
        };
        let began = Instant::now();
        let response = convert::select_response(answer, explain);
        metrics.stage(Stage::Convert, began.elapsed() + (converted - arrival));
        Ok(response)
    }

    fn load(
        &self,
        message: &LoadPlaybookRequest,
        principal: &Principal,
    ) -> Result<LoadPlaybookResponse, Error> {
        for (field, id) in [("run_id", &message.run_id), ("turn_id", &message.turn_id)] {
            if let Some(id) = id {
                check_caller_id(field, id)?;
            }
        }
        let _permit = self.admission.permit()?;
        let load = LoadRequest {
            menu_token: &message.menu_token,
            slug: &message.slug,
            run_id: message.run_id.as_deref(),
            turn_id: message.turn_id.as_deref(),
            principal,
        };
        Ok(convert::load_response(&self.reader.load(load)?))
    }
}

#[tonic::async_trait]
impl MenuService for MenuRpc {
    async fn select_menu(
        &self,
        request: Request<SelectMenuRequest>,
    ) -> Result<Response<SelectMenuResponse>, Status> {
        let (principal, deadline) = (principal(&request), deadline(&request));
        let answer = self.select(request.into_inner(), &principal, deadline).await;
        answer.map(Response::new).map_err(|error| to_status(&error))
    }

    async fn load_playbook(
        &self,
        request: Request<LoadPlaybookRequest>,
    ) -> Result<Response<LoadPlaybookResponse>, Status> {
        let answer = self.load(request.get_ref(), &principal(&request));
        answer.map(Response::new).map_err(|error| to_status(&error))
    }
}

/// Who calls.
fn principal<T>(request: &Request<T>) -> Arc<Principal> {
    let known = request.extensions().get::<Arc<Principal>>();
    Arc::clone(known.expect("no call reaches a method before it is known whose it is"))
}

/// When the call's time is over.
fn deadline<T>(request: &Request<T>) -> Deadline {
    let known = request.extensions().get::<Deadline>().copied();
    known.unwrap_or_else(|| Deadline::after(Instant::now(), None))
}
