//! Where calls of a connection run.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::app::admit::Admission;

/// Gives each call a task of its own; when the queue is full, the refusal is made at once, before all that waits.
#[derive(Clone, Debug)]
pub(super) struct Executor {
    admission: Arc<Admission>,
}

impl Executor {
    pub(super) fn new(admission: Arc<Admission>) -> Self {
        Self { admission }
    }
}

impl<F> hyper::rt::Executor<F> for Executor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        if !self.admission.is_full() {
            tokio::spawn(future);
            return;
        }
        let mut future = Box::pin(future);
        // A task that is spawned is polled, and leaves its own waker then.
        if pin!(&mut future).poll(&mut Context::from_waker(Waker::noop())) == Poll::Pending {
            tokio::spawn(future);
        }
    }
}
