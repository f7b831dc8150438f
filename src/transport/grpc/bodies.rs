//! The bodies of calls: as a service reads them, and as they leave.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::Status;

use crate::transport::connection::{Sending, State};

/// The body of a request as a service gets it.
pub(super) enum RequestBody {
    /// A call's one message; none once it is taken.
    Whole(Option<Bytes>),
    /// A stream of messages, which ends when the drain begins.
    Stream(Incoming, Pin<Box<WaitForCancellationFutureOwned>>),
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = tonic::codegen::StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut *self {
            Self::Whole(message) => Poll::Ready(message.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(inner, draining) => {
                if draining.as_mut().poll(context).is_ready() {
                    return Poll::Ready(None);
                }
                let frame = ready!(Pin::new(inner).poll_frame(context));
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(message) => message.is_none(),
            Self::Stream(inner, _) => inner.is_end_stream(),
        }
    }
}

/// An answer as it leaves.
#[derive(Debug)]
pub struct AnswerBody {
    inner: tonic::body::Body,
    connection: Arc<State>,
}

impl AnswerBody {
    pub(super) fn new(inner: tonic::body::Body, connection: &Arc<State>) -> Self {
        Self { inner, connection: Arc::clone(connection) }
    }
}

impl Body for AnswerBody {
    type Data = AnswerData;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<AnswerData>, Status>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        let on_its_way = |bytes| AnswerData { bytes, _sending: self.connection.sending() };
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(on_its_way))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A part of an answer. HTTP/2 keeps it until the caller has made room for all of it, when the body is long gone; for so
/// long the connection has something to send.
#[derive(Debug)]
pub struct AnswerData {
    bytes: Bytes,
    _sending: Sending,
}

impl Buf for AnswerData {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}
