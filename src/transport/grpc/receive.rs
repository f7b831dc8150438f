//! A call's one message, from its first byte to its last.
//!
//! **Invariants**: no message is read before it is whole and its stream has ended, so that what a caller leaves unfinished
//! costs its bytes and no more; while more is to come these count against the process's memory, and so does the call; a
//! call that more has come for waits for a processor, and is counted so. **Cost**: a message that is there when it is first
//! looked at, as most are, is neither copied nor counted.
//!
//! A call that is refused is answered when its message has ended, or after a second. Answered before, it would be over for
//! the caller and not for HTTP/2: what is on its way would count as the caller's fault, and what some clients then forget to
//! send, Go's among them, would keep the stream's place; both ended in hanging up on callers who were only told that the
//! server is busy.

use std::cmp::Ordering;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use crate::app::admit::{Admission, Caller, Place, Refusal};
use crate::app::error::{Error, Reason};
use crate::domain::limits::{DISCARD_BYTES_MAX, WAITING_CALL_BYTES, WAITING_GRACE};

/// A message on its way.
pub(super) struct Receiving {
    /// None when all is there.
    body: Option<Incoming>,
    admission: Arc<Admission>,
    whose: Caller,
    arriving: Arriving,
    /// The first bytes, as they came.
    first: Bytes,
    /// All bytes, once there is more to wait for: a piece of a connection's buffer would keep all of that.
    all: BytesMut,
    /// Once there is more to wait for: the call's place, or for want of one what time it has; and the room of its bytes.
    place: Option<Place>,
    grace: Option<Pin<Box<Sleep>>>,
    room: Option<Place>,
    thrown_away: usize,
    waking: Option<Arc<Waking>>,
}

/// Why there is no message.
pub(super) enum Fault {
    /// It is none, or too large, or there is no room for it.
    Refused(Error),
    /// It is there, and too many calls wait for a processor.
    Busy(Refusal),
    /// The caller has gone.
    Gone,
}

impl Receiving {
    /// A message of so many bytes at most.
    pub(super) fn new(body: Incoming, admission: &Arc<Admission>, whose: Caller, bytes_max: usize) -> Self {
        Self {
            body: Some(body),
            admission: Arc::clone(admission),
            whose,
            arriving: Arriving::new(bytes_max),
            first: Bytes::new(),
            all: BytesMut::new(),
            place: None,
            grace: None,
            room: None,
            thrown_away: 0,
            waking: None,
        }
    }

    /// The message with its prefix, as far as the caller has sent it when it says that this is all.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Fault>> {
        let has_place = self.waking.as_ref().is_none_or(|waking| waking.begin());
        loop {
            match self.next(context) {
                Poll::Pending => return self.wait(context),
                Poll::Ready(None) => break,
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Fault::Gone)),
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data()
                        && let Err(error) = self.take(data)
                    {
                        return Poll::Ready(Err(Fault::Refused(error)));
                    }
                }
            }
        }
        if self.body.as_ref().is_some_and(|body| !body.is_end_stream()) {
            // Some resets look like an end.
            return Poll::Ready(Err(Fault::Gone));
        }
        if !has_place {
            return Poll::Ready(Err(Fault::Busy(self.admission.refuse_queue())));
        }
        self.body = None;
        let first = std::mem::take(&mut self.first);
        Poll::Ready(Ok(if self.all.is_empty() { first } else { std::mem::take(&mut self.all).freeze() }))
    }

    /// Throws away what is still to come, for as long as it may.
    pub(super) fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<()> {
        (self.first, self.all) = (Bytes::new(), BytesMut::new());
        self.room = None;
        while let Some(body) = self.body.as_mut().filter(|body| !body.is_end_stream()) {
            match Pin::new(body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.thrown_away += frame.data_ref().map_or(0, Bytes::len);
                    if self.thrown_away > DISCARD_BYTES_MAX {
                        break;
                    }
                }
                Poll::Pending if self.may_wait(context) => return Poll::Pending,
                Poll::Ready(_) | Poll::Pending => break,
            }
        }
        Poll::Ready(())
    }

    /// The next part. A waker is made only where there is something to wait for.
    fn next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = self.body.as_mut().filter(|body| !body.is_end_stream()) else {
            return Poll::Ready(None);
        };
        let part = Pin::new(&mut *body).poll_frame(&mut Context::from_waker(Waker::noop()));
        if part.is_ready() {
            return part;
        }
        if self.whose == Caller::Probe {
            return Pin::new(body).poll_frame(context);
        }
        let waker = Waker::from(Arc::clone(waking(&mut self.waking, context, &self.admission)));
        Pin::new(body).poll_frame(&mut Context::from_waker(&waker))
    }

    fn take(&mut self, data: Bytes) -> Result<(), Error> {
        self.arriving.take(&data)?;
        if self.first.is_empty() && self.all.is_empty() {
            self.first = data;
        } else {
            self.keep_first();
            self.all.extend_from_slice(&data);
        }
        Ok(())
    }

    fn keep_first(&mut self) {
        self.all.extend_from_slice(&std::mem::take(&mut self.first));
    }

    /// More is to come.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Fault>> {
        self.keep_first();
        let may_wait = if self.may_wait(context) {
            self.make_room()
        } else {
            Err(self.admission.refuse_to_wait(self.whose))
        };
        match may_wait {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(Fault::Refused(error))),
        }
    }

    /// Whether the call has a place to wait, or may still do without. Its message may be on its way: a call is looked at
    /// when its headers are there.
    fn may_wait(&mut self, context: &mut Context<'_>) -> bool {
        if self.place.is_none() {
            self.place = self.admission.place_to_wait(self.whose);
        }
        self.place.is_some() || {
            let grace = self.grace.get_or_insert_with(|| Box::pin(sleep(WAITING_GRACE)));
            grace.as_mut().poll(context).is_pending()
        }
    }

    fn make_room(&mut self) -> Result<(), Error> {
        let has = WAITING_CALL_BYTES + self.room.as_ref().map_or(0, Place::amount);
        let more = self.all.capacity().saturating_sub(has);
        if more > 0 {
            let more = self.admission.room(more)?;
            match &mut self.room {
                Some(room) => room.join(more),
                None => self.room = Some(more),
            }
        }
        Ok(())
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        if let Some(waking) = &self.waking {
            waking.end();
        }
    }
}

/// What wakes a call, made anew when the task of the call is another.
fn waking<'a>(
    kept: &'a mut Option<Arc<Waking>>,
    context: &Context<'_>,
    admission: &Arc<Admission>,
) -> &'a Arc<Waking> {
    if let Some(other) = kept.take_if(|waking| !waking.task.will_wake(context.waker())) {
        other.end();
    }
    kept.get_or_insert_with(|| {
        Arc::new(Waking {
            admission: Arc::clone(admission),
            task: context.waker().clone(),
            turn: Mutex::new(Turn::Asleep),
        })
    })
}

/// Wakes a call that more has come for. From then until a processor looks at it, it is in the queue.
struct Waking {
    admission: Arc<Admission>,
    task: Waker,
    turn: Mutex<Turn>,
}

enum Turn {
    Asleep,
    /// In the queue, or beyond it.
    Awake(Option<Place>),
    Over,
}

impl Waking {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A processor begins; says whether there was a place in the queue.
    fn begin(&self) -> bool {
        !matches!(std::mem::replace(&mut *self.turn(), Turn::Asleep), Turn::Awake(None))
    }

    fn end(&self) {
        *self.turn() = Turn::Over;
    }
}

impl Wake for Waking {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut turn = self.turn();
        if matches!(*turn, Turn::Asleep) {
            *turn = Turn::Awake(self.admission.place_in_queue());
        }
        drop(turn);
        self.task.wake_by_ref();
    }
}

/// Bytes before a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// How far a message has arrived.
#[derive(Debug)]
struct Arriving {
    prefix: [u8; PREFIX_BYTES],
    received: usize,
    bytes_max: usize,
}

impl Arriving {
    fn new(bytes_max: usize) -> Self {
        Self { prefix: [0; PREFIX_BYTES], received: 0, bytes_max }
    }

    /// Takes note of bytes; says what is wrong as soon as it can be known.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for (place, byte) in self.prefix.iter_mut().skip(self.received).zip(bytes) {
            *place = *byte;
        }
        self.received += bytes.len();
        if self.received < PREFIX_BYTES {
            return Ok(());
        }
        let [_, length @ ..] = self.prefix;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > self.bytes_max {
            let limit = self.bytes_max;
            let sizes = format!("found {length} bytes, the limit is: {limit} bytes");
            return Err(Error::new(Reason::MessageTooLarge, format!("the message is too large: {sizes}")));
        }
        match self.received.cmp(&(length + PREFIX_BYTES)) {
            Ordering::Less | Ordering::Equal => Ok(()),
            Ordering::Greater => Err(Error::new(
                Reason::MessageMalformed,
                "the message cannot be read: more follows it, and a call has one message",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_message_is_seen_however_it_is_cut() {
        let message = b"\0\0\0\x01\x02".iter().chain(&[7; 258]).copied().collect::<Vec<u8>>();
        for part_bytes in [1, 2, 3, 4, 5, 6, 100, 262, 263] {
            let mut arriving = Arriving::new(258);
            for part in message.chunks(part_bytes) {
                assert_eq!(arriving.take(part), Ok(()), "{part_bytes}");
            }
            assert_eq!(arriving.take(&[]), Ok(()));
            assert_eq!(arriving.take(&[0]).unwrap_err().reason(), Reason::MessageMalformed);
        }
        assert_eq!(Arriving::new(0).take(&[0; 5]), Ok(()), "it is empty");
        assert!(Arriving::new(0).take(&[0; 6]).is_err());
        assert_eq!(Arriving::new(257).take(&message[..4]), Ok(()));
        assert_eq!(Arriving::new(257).take(&message[..5]).unwrap_err().reason(), Reason::MessageTooLarge);
    }
}
