//! One call from its arrival to its answer.
//!
//! **Invariants**: a call whose time is over before it is begun does no work; a panic becomes `INTERNAL` and takes nothing
//! else down; every answer of the contract is counted once, a cancelled call as `Canceled`. **Cost**: a call that does not
//! wait starts no timer.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use http::Response;
use tokio::time::Sleep;
use tonic::body::Body;
use tonic::codegen::BoxFuture;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::refusals::rewritten;
use super::service::GrpcService;
use super::status::{to_grpc, to_status};
use crate::app::admit::{Deadline, Place, Refusal, too_late};
use crate::app::error::{Error, Reason};
use crate::telemetry::metrics::MethodMetrics;

/// What a service answers.
type Work = BoxFuture<Response<Body>, Infallible>;

/// A call.
pub(crate) struct Call {
    state: State,
}

enum State {
    /// Answered without work.
    Refused(Option<Response<Body>>),
    /// Health and reflection.
    Unlimited(Work),
    Limited(Limited),
}

struct Limited {
    service: Arc<GrpcService>,
    method: (usize, usize),
    arrival: Instant,
    deadline: Deadline,
    /// The place in the queue, until a processor begins.
    place: Option<Place>,
    /// None when it is over.
    work: Option<Work>,
    /// Only for a call that waits.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Call {
    /// A path of no service.
    pub(super) fn unknown(service: &GrpcService, arrival: Instant) -> Self {
        let error = rewritten(&Status::unimplemented("")).expect("a status without a word is rewritten");
        let shared = service.shared();
        let answer = to_status(&error).into_http();
        Self::answered(service, &shared.elsewhere, arrival, error.reason(), answer)
    }

    /// A call that finds no place.
    pub(super) fn refused(
        service: &GrpcService,
        method: (usize, usize),
        arrival: Instant,
        refusal: Refusal,
    ) -> Self {
        let mut answer = Response::new(Body::empty());
        *answer.headers_mut() = service.shared().refusals[refusal.step()].clone();
        Self::answered(service, service.method(method), arrival, Reason::Overloaded, answer)
    }

    fn answered(
        service: &GrpcService,
        method: &MethodMetrics,
        arrival: Instant,
        reason: Reason,
        answer: Response<Body>,
    ) -> Self {
        let metrics = &service.shared().metrics;
        let (name, code) = reason.row();
        metrics.refused(name);
        metrics.handled(method, number(to_grpc(code)), arrival.elapsed());
        Self { state: State::Refused(Some(answer)) }
    }

    /// A call of health or reflection.
    pub(super) fn unlimited(work: Work) -> Self {
        Self { state: State::Unlimited(work) }
    }

    /// A call of the contract.
    pub(super) fn limited(
        service: &Arc<GrpcService>,
        method: (usize, usize),
        (arrival, deadline): (Instant, Deadline),
        place: Place,
        work: Work,
    ) -> Self {
        Self {
            state: State::Limited(Limited {
                service: Arc::clone(service),
                method,
                arrival,
                deadline,
                place: Some(place),
                work: Some(work),
                timer: None,
            }),
        }
    }
}

impl Future for Call {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.state {
            State::Refused(answer) => {
                Poll::Ready(Ok(answer.take().expect("a future is not polled after its end")))
            }
            State::Unlimited(work) => work.as_mut().poll(context),
            State::Limited(call) => call.poll(context).map(Ok),
        }
    }
}

impl Limited {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Response<Body>> {
        if self.place.take().is_some() && self.deadline.is_over() {
            return Poll::Ready(self.fail(&too_late()));
        }
        let work = self.work.as_mut().expect("a future is not polled after its end");
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Ready(Ok(answer))) => Poll::Ready(self.finish(answer)),
            Ok(Poll::Pending) => self.wait(context),
            Err(_) => {
                self.service.shared().metrics.panicked();
                let message = "a fault of ours ended this call; it is in the server's log";
                Poll::Ready(self.fail(&Error::new(Reason::Internal, message)))
            }
        }
    }

    fn wait(&mut self, context: &mut Context<'_>) -> Poll<Response<Body>> {
        let deadline = self.deadline.instant().into();
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(self.fail(&too_late())),
            Poll::Pending => Poll::Pending,
        }
    }

    fn finish(&mut self, answer: Response<Body>) -> Response<Body> {
        let Some(status) = Status::from_header_map(answer.headers()) else {
            self.end(Code::Ok);
            return answer;
        };
        if let Some(error) = rewritten(&status) {
            return self.fail(&error);
        }
        if let Some(info) = status.get_details_error_info() {
            self.service.shared().metrics.refused(&info.reason);
        }
        self.end(status.code());
        answer
    }

    fn fail(&mut self, error: &Error) -> Response<Body> {
        let status = to_status(error);
        self.service.shared().metrics.refused(error.reason().row().0);
        self.end(status.code());
        status.into_http()
    }

    /// Gives back what the call holds, and counts it.
    fn end(&mut self, code: Code) {
        self.work = None;
        let metrics = &self.service.shared().metrics;
        metrics.handled(self.service.method(self.method), number(code), self.arrival.elapsed());
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        if self.work.is_some() {
            self.end(Code::Cancelled);
        }
    }
}

fn number(code: Code) -> usize {
    usize::try_from(i32::from(code)).unwrap_or(GRPC_UNKNOWN)
}

const GRPC_UNKNOWN: usize = 2;
