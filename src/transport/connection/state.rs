//! What is known of a connection while it is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counts what moves on a connection; shared by its stream of bytes, its calls and its watch.
#[derive(Debug, Default)]
pub struct State {
    bytes_received: AtomicUsize,
    answers_begun: AtomicU64,
    answers_gone: AtomicU64,
    requests_begun: AtomicU64,
    requests_done: AtomicU64,
}

/// What has moved so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes from the client.
    pub bytes_received: usize,
    /// Parts of answers that were to be sent, and writes that had to wait.
    pub answers_begun: u64,
    /// Those of them that were sent, or given up.
    pub answers_gone: u64,
}

impl State {
    /// Counts bytes from the client.
    pub fn received(&self, bytes: usize) {
        self.bytes_received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A part of an answer is to be sent; it is gone when the guard is dropped.
    #[must_use]
    pub fn sending(self: &Arc<Self>) -> Sending {
        self.answers_begun.fetch_add(1, Ordering::Relaxed);
        Sending(Arc::clone(self))
    }

    /// A request of HTTP/1.1 is answered; it is done when the guard is dropped.
    #[must_use]
    pub fn answering(self: &Arc<Self>) -> Answering {
        self.requests_begun.fetch_add(1, Ordering::Relaxed);
        Answering(Arc::clone(self))
    }

    /// Requests of HTTP/1.1 that have begun, and those of them that are done.
    #[must_use]
    pub fn requests(&self) -> (u64, u64) {
        let done = self.requests_done.load(Ordering::Relaxed);
        (self.requests_begun.load(Ordering::Relaxed), done)
    }

    /// What has moved so far.
    #[must_use]
    pub fn moved(&self) -> Moved {
        Moved {
            answers_gone: self.answers_gone.load(Ordering::Relaxed),
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
            answers_begun: self.answers_begun.load(Ordering::Relaxed),
        }
    }
}

impl Moved {
    /// Whether something is to be sent and nothing has left since `before`.
    #[must_use]
    pub fn is_stuck_since(&self, before: &Self) -> bool {
        before.answers_begun > before.answers_gone && self.answers_gone == before.answers_gone
    }
}

/// A part of an answer on its way out.
#[derive(Debug)]
pub struct Sending(Arc<State>);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.answers_gone.fetch_add(1, Ordering::Relaxed);
    }
}

/// A request that is answered.
#[derive(Debug)]
pub struct Answering(Arc<State>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.requests_done.fetch_add(1, Ordering::Relaxed);
    }
}
