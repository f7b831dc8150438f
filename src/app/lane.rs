//! Selections among so many playbooks that they take a millisecond: off the threads that serve connections.
//!
//! There, a few hundred of them in line would keep everybody from being heard, health and refusals included: with 20,000
//! playbooks and five times the calls that two processors can answer, `/healthz` took 3 seconds. **Invariants**: at most as
//! many run as there are processors; those that wait are counted as queued, and shed when there are too many.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::admit::Admission;
use super::error::Error;

/// Where long work is done.
#[derive(Debug)]
pub struct Lane {
    processors: Arc<Semaphore>,
    admission: Arc<Admission>,
}

impl Lane {
    /// A lane of this machine's width.
    #[must_use]
    pub fn new(admission: Arc<Admission>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self { processors: Arc::new(Semaphore::new(processors)), admission }
    }

    /// Does the work when a processor is free. Dropped before, it is not done; a panic of it goes on to the caller.
    ///
    /// # Errors
    /// When too many wait.
    pub async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Error> {
        let place = self.admission.queue().map_err(|refusal| self.admission.error(refusal))?;
        let processor = Arc::clone(&self.processors).acquire_owned().await;
        let processor = processor.expect("the semaphore is never closed");
        drop(place);
        let done = spawn_blocking(move || {
            let done = work();
            drop(processor);
            done
        });
        match done.await {
            Ok(done) => Ok(done),
            Err(failure) => resume_unwind(failure.into_panic()),
        }
    }
}
