//! The bodies of calls, watched while they arrive and while they leave.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::Status;

use super::status::to_status;
use crate::app::admit::{Admission, Place};
use crate::transport::connection::Sending;

/// A request as it arrives: what is unfinished counts against the process's memory, and a stream of requests ends when
/// the drain begins.
pub(super) struct RequestBody<B> {
    inner: B,
    admission: Arc<Admission>,
    room: Option<Place>,
    /// Only where requests come as a stream.
    draining: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl<B> RequestBody<B> {
    pub(super) fn new(
        inner: B,
        admission: &Arc<Admission>,
        draining: Option<WaitForCancellationFutureOwned>,
    ) -> Self {
        let draining = draining.map(Box::pin);
        Self { inner, admission: Arc::clone(admission), room: None, draining }
    }
}

impl<B> Body for RequestBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<tonic::codegen::StdError>,
{
    type Data = Bytes;
    type Error = tonic::codegen::StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(draining) = &mut self.draining
            && draining.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
        }
        let frame = match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => return Poll::Pending,
        };
        // A message that is complete with its first frame, as most are, is counted nowhere.
        if let Some(data) = frame.data_ref()
            && self.draining.is_none()
            && !self.inner.is_end_stream()
        {
            let bytes = data.remaining();
            let Self { admission, room, .. } = &mut *self;
            if let Err(error) = admission.receive(bytes, room) {
                return Poll::Ready(Some(Err(Box::new(to_status(&error)))));
            }
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// An answer as it leaves.
#[derive(Debug)]
pub(crate) struct AnswerBody {
    inner: tonic::body::Body,
    /// None for an answer that may stay open for as long as its caller likes.
    _sending: Option<Sending>,
}

impl AnswerBody {
    pub(super) fn new(inner: tonic::body::Body, sending: Option<Sending>) -> Self {
        Self { inner, _sending: sending }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
