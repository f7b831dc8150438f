//! The bodies of calls, watched while they arrive and while they leave.

use std::cmp::Ordering;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::Status;

use super::status::to_status;
use crate::app::admit::{Admission, Place};
use crate::app::error::{Error, Reason};
use crate::domain::limits::{DISCARD_BYTES_MAX, DISCARD_TIME_MAX};
use crate::transport::connection::{Sending, State};

/// A request as it arrives: what is unfinished counts against the process's memory, what follows the one message of a
/// call is refused, and a stream of requests ends when the drain begins.
pub(super) struct RequestBody {
    /// None when it is dropped.
    inner: Option<Incoming>,
    admission: Arc<Admission>,
    message: Arriving,
    room: Option<Place>,
    /// Only where requests come as a stream.
    draining: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl RequestBody {
    pub(super) fn new(
        inner: Incoming,
        admission: &Arc<Admission>,
        draining: Option<WaitForCancellationFutureOwned>,
    ) -> Self {
        let draining = draining.map(Box::pin);
        let admission = Arc::clone(admission);
        Self { inner: Some(inner), admission, message: Arriving::default(), room: None, draining }
    }

    /// Looks at a part of a call's one message. A message that is complete with its first frame, as most are, is counted
    /// nowhere: small calls are taken however much others leave unfinished.
    fn receive(&mut self, data: &Bytes) -> Result<(), Error> {
        if self.message.is_complete_with(data)? {
            return Ok(());
        }
        self.admission.receive(data.len(), &mut self.room)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        // What comes as a stream has no end to wait for.
        if self.draining.is_none()
            && let Some(rest) = self.inner.take()
        {
            discard(rest);
        }
    }
}

/// Throws away what is still to come of a call that is answered, for a while. A call's body must not just be dropped:
/// HTTP/2 then takes what is on its way for the caller's fault, and after [`FAULTY_STREAMS_MAX`] of these the server
/// would hang up on a caller whom it has only told that it is busy.
///
/// [`FAULTY_STREAMS_MAX`]: crate::domain::limits::FAULTY_STREAMS_MAX
pub(super) fn discard(mut body: Incoming) {
    if body.is_end_stream() {
        return;
    }
    let mut rest = Box::pin(async move {
        let mut bytes = 0;
        while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            bytes += frame.data_ref().map_or(0, Bytes::len);
            if bytes > DISCARD_BYTES_MAX {
                return;
            }
        }
    });
    // Mostly it is there already. A task that is spawned is polled, and leaves its own waker then.
    if rest.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
        && let Ok(runtime) = Handle::try_current()
    {
        runtime.spawn(timeout(DISCARD_TIME_MAX, rest));
    }
}

impl Body for RequestBody {
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
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let frame = match ready!(Pin::new(inner).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
            None => return Poll::Ready(None),
        };
        if let Some(data) = frame.data_ref()
            && self.draining.is_none()
            && let Err(error) = self.receive(data)
        {
            return Poll::Ready(Some(Err(Box::new(to_status(&error)))));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(SizeHint::default, Incoming::size_hint)
    }
}

/// Bytes before a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// How far the one message of a call has arrived.
#[derive(Debug, Default)]
struct Arriving {
    prefix: [u8; PREFIX_BYTES],
    received: usize,
}

impl Arriving {
    /// Takes note of bytes, and says whether the message is there.
    fn is_complete_with(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        for (place, byte) in self.prefix.iter_mut().skip(self.received).zip(bytes) {
            *place = *byte;
        }
        self.received += bytes.len();
        let [_, length @ ..] = self.prefix;
        if self.received < PREFIX_BYTES {
            return Ok(false);
        }
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        match self.received.cmp(&length.saturating_add(PREFIX_BYTES)) {
            Ordering::Less => Ok(false),
            Ordering::Equal => Ok(true),
            Ordering::Greater => Err(Error::new(
                Reason::MessageMalformed,
                "the message cannot be read: more follows it, and a call has one message",
            )),
        }
    }
}

/// An answer as it leaves.
#[derive(Debug)]
pub(crate) struct AnswerBody {
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
pub(crate) struct AnswerData {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_there_when_its_last_byte_is_however_it_is_cut() {
        let message = b"\0\0\0\x01\x02".iter().chain(&[7; 258]).copied().collect::<Vec<u8>>();
        for part_bytes in [1, 2, 3, 4, 5, 6, 100, 262, 263] {
            let mut arriving = Arriving::default();
            let mut received = 0;
            for part in message.chunks(part_bytes) {
                received += part.len();
                assert_eq!(arriving.is_complete_with(part), Ok(received == message.len()), "{part_bytes}");
            }
            assert_eq!(arriving.is_complete_with(&[]), Ok(true));
            assert_eq!(arriving.is_complete_with(&[0]).unwrap_err().reason(), Reason::MessageMalformed);
        }
        assert_eq!(Arriving::default().is_complete_with(&[0; 5]), Ok(true), "it is empty");
        assert!(Arriving::default().is_complete_with(&[0; 6]).is_err());
        assert_eq!(Arriving::default().is_complete_with(&[255; 6]), Ok(false));
    }
}
