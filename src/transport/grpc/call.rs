//! One call from its arrival to its answer.
//!
//! **Invariants**: a call whose time is over does no more work; a panic becomes `INTERNAL` and takes nothing
//! else down; every answer of the contract is counted once, a cancelled call as `Canceled`. **Cost**: a call that does not
//! wait starts no timer.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use http::{HeaderValue, Response};
use tokio::time::Sleep;
use tonic::body::Body;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::methods::{GrpcService, Work};
use super::receive::{Fault, Receiving};
use super::refusals::rewritten;
use super::status::{to_grpc, to_status};
use crate::app::admit::{Deadline, Place, Refusal, too_late};
use crate::app::auth::Principal;
use crate::app::error::{Error, Reason};
use crate::domain::limits::DISCARD_TIME_MAX;

/// A call.
pub(crate) struct Call {
    state: State,
}

#[expect(clippy::large_enum_variant, reason = "a box would cost every call an allocation")]
enum State {
    /// Its answer is a stream, and so is what it asks.
    Stream(Work),
    OneMessage(OneMessage),
}

/// A call with one message.
struct OneMessage {
    service: Arc<GrpcService>,
    /// None where there is no such method.
    method: Option<(usize, usize)>,
    arrival: Instant,
    deadline: Deadline,
    /// Who calls; none where the call is refused.
    principal: Option<Arc<Principal>>,
    /// The place in the queue, until a processor begins.
    queued: Option<Place>,
    step: Step,
    /// Only for a call that waits.
    timer: Option<Pin<Box<Sleep>>>,
}

enum Step {
    /// The message arrives, and how it is compressed if it is.
    Receiving(Receiving, Option<HeaderValue>),
    Working(Work),
    /// The answer is a refusal, and waits for the end of the message.
    Refused(Receiving, Response<Body>, Code),
    Over,
}

impl Call {
    /// A call that is not begun.
    pub(super) fn refused(
        service: &Arc<GrpcService>,
        method: Option<(usize, usize)>,
        arrival: Instant,
        receiving: Receiving,
        error: &Error,
    ) -> Self {
        let (reason, code) = error.reason().row();
        let step = Step::Refused(receiving, to_status(error).into_http(), to_grpc(code));
        Self::new_refused(service, method, arrival, reason, step)
    }

    /// A call that finds no place in the queue.
    pub(super) fn shed(
        service: &Arc<GrpcService>,
        method: (usize, usize),
        arrival: Instant,
        receiving: Receiving,
        refusal: Refusal,
    ) -> Self {
        let step = Step::Refused(receiving, service.busy(refusal), Code::ResourceExhausted);
        Self::new_refused(service, Some(method), arrival, Reason::Overloaded.row().0, step)
    }

    fn new_refused(
        service: &Arc<GrpcService>,
        method: Option<(usize, usize)>,
        arrival: Instant,
        reason: &str,
        step: Step,
    ) -> Self {
        service.shared().metrics.refused(reason);
        let soon = Deadline::after(arrival, Some(DISCARD_TIME_MAX));
        Self::new(service, method, (arrival, soon), (None, None), step)
    }

    /// A stream.
    pub(super) fn stream(work: Work) -> Self {
        Self { state: State::Stream(work) }
    }

    /// A call whose message arrives.
    pub(super) fn begun(
        service: &Arc<GrpcService>,
        method: (usize, usize),
        times: (Instant, Deadline),
        (principal, queued): (Arc<Principal>, Option<Place>),
        (receiving, encoding): (Receiving, Option<HeaderValue>),
    ) -> Self {
        Self::new(
            service,
            Some(method),
            times,
            (Some(principal), queued),
            Step::Receiving(receiving, encoding),
        )
    }

    fn new(
        service: &Arc<GrpcService>,
        method: Option<(usize, usize)>,
        (arrival, deadline): (Instant, Deadline),
        (principal, queued): (Option<Arc<Principal>>, Option<Place>),
        step: Step,
    ) -> Self {
        let service = Arc::clone(service);
        let call = OneMessage { service, method, arrival, deadline, principal, queued, step, timer: None };
        Self { state: State::OneMessage(call) }
    }
}

impl Future for Call {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.state {
            State::Stream(work) => work.as_mut().poll(context),
            State::OneMessage(call) => call.poll(context).map(Ok),
        }
    }
}

impl OneMessage {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Response<Body>> {
        self.queued = None;
        if self.deadline.is_over() {
            return Poll::Ready(self.late());
        }
        match &mut self.step {
            Step::Receiving(receiving, encoding) => match receiving.poll(context) {
                Poll::Pending => self.wait(context),
                Poll::Ready(Ok(message)) => {
                    let method = self.method.expect("what is received has a method");
                    let principal = self.principal.take().expect("who is let in is known");
                    let known = (self.deadline, principal);
                    let work = self.service.call(method, known, encoding.take(), message);
                    self.step = Step::Working(work);
                    self.work(context)
                }
                Poll::Ready(Err(fault)) => self.give_up(fault, context),
            },
            Step::Working(_) => self.work(context),
            Step::Refused(receiving, ..) => match receiving.poll_rest(context) {
                Poll::Pending => self.wait(context),
                Poll::Ready(()) => Poll::Ready(self.late()),
            },
            Step::Over => panic!("a future is not polled after its end"),
        }
    }

    fn work(&mut self, context: &mut Context<'_>) -> Poll<Response<Body>> {
        let Step::Working(work) = &mut self.step else { unreachable!("it is asked for at this step alone") };
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

    /// There is no message.
    fn give_up(&mut self, fault: Fault, context: &mut Context<'_>) -> Poll<Response<Body>> {
        let (answer, code, reason) = match fault {
            Fault::Refused(error) => {
                let (reason, code) = error.reason().row();
                (to_status(&error).into_http(), to_grpc(code), reason)
            }
            Fault::Busy(refusal) => {
                (self.service.busy(refusal), Code::ResourceExhausted, Reason::Overloaded.row().0)
            }
            Fault::Gone => {
                self.end(Code::Cancelled);
                return Poll::Ready(Status::cancelled("the caller has gone").into_http());
            }
        };
        self.service.shared().metrics.refused(reason);
        let Step::Receiving(receiving, _) = std::mem::replace(&mut self.step, Step::Over) else {
            unreachable!("it was received a moment ago")
        };
        self.step = Step::Refused(receiving, answer, code);
        let soon = Deadline::after(Instant::now(), Some(DISCARD_TIME_MAX));
        if soon.instant() < self.deadline.instant() {
            (self.deadline, self.timer) = (soon, None);
        }
        self.poll(context)
    }

    fn wait(&mut self, context: &mut Context<'_>) -> Poll<Response<Body>> {
        let deadline = self.deadline.instant().into();
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(self.late()),
            Poll::Pending => Poll::Pending,
        }
    }

    /// The answer when there is no more to wait for.
    fn late(&mut self) -> Response<Body> {
        match std::mem::replace(&mut self.step, Step::Over) {
            Step::Refused(_, answer, code) => {
                self.end(code);
                answer
            }
            _ => self.fail(&too_late()),
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
        self.step = Step::Over;
        let metrics = &self.service.shared().metrics;
        metrics.handled(self.service.metrics(self.method), number(code), self.arrival.elapsed());
    }
}

impl Drop for OneMessage {
    fn drop(&mut self) {
        match self.step {
            Step::Over => {}
            Step::Refused(_, _, code) => self.end(code),
            Step::Receiving(..) | Step::Working(_) => self.end(Code::Cancelled),
        }
    }
}

fn number(code: Code) -> usize {
    usize::try_from(i32::from(code)).unwrap_or(GRPC_UNKNOWN)
}

const GRPC_UNKNOWN: usize = 2;
