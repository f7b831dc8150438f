//! Who is let in: permits, places in the queue, and the time that a call has.
//!
//! A call is *queued* from the arrival of its headers until a processor begins with it, and again whenever more of its
//! message has come; it is *in flight* from the moment its message is read until it is answered. Both are bounded for the
//! process, whatever the number of connections. Health passes no queue, and what is unfinished of it is counted apart.
//! **Invariants**: a place is given back when its guard is dropped, however the call
//! ends. **Threads**: shared by all calls; counters only, no lock.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::error::{Error, Reason};
use crate::domain::limits::{
    CALL_TIME_MAX, PROBES_MAX, QUEUED_PER_CORE, RECEIVING_BYTES_MAX, RETRY_AFTER_MIN, WAITING_CALLS_MAX,
};
use crate::telemetry::metrics::{Metrics, Shed};

/// How long before the caller's deadline a wait ends, so that the caller still gets the answer that says why.
pub const ANSWER_MARGIN: Duration = Duration::from_millis(30);

/// The bounds.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionLimits {
    /// Calls that wait for a processor.
    pub queued_max: usize,
    /// Calls in flight.
    pub in_flight_max: usize,
}

impl AdmissionLimits {
    /// So many calls waiting that the last of them waits some milliseconds on this machine.
    #[must_use]
    pub fn queued_default() -> usize {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        cores * QUEUED_PER_CORE
    }
}

/// Callers that are refused together must not come back together: one refusal after another names another time.
const RETRY_STEPS: usize = 16;

/// Why a call was refused, and which of the times to come back it was told.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    reason: Shed,
    step: usize,
}

impl Refusal {
    /// Its place among [`Admission::queue_refusals`].
    #[must_use]
    pub fn step(self) -> usize {
        self.step
    }
}

/// Whose call it is: neither is in the other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// One of the contract's.
    Contract,
    /// Of health.
    Probe,
}

/// Counts the calls of a process.
#[derive(Debug)]
pub struct Admission {
    limits: AdmissionLimits,
    metrics: Arc<Metrics>,
    queued: AtomicUsize,
    in_flight: AtomicUsize,
    waiting: AtomicUsize,
    receiving_bytes: AtomicUsize,
    probes: AtomicUsize,
    refusals: AtomicUsize,
}

impl Admission {
    /// Nobody is in yet.
    #[must_use]
    pub fn new(limits: AdmissionLimits, metrics: Arc<Metrics>) -> Self {
        Self {
            limits,
            metrics,
            queued: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            receiving_bytes: AtomicUsize::new(0),
            probes: AtomicUsize::new(0),
            refusals: AtomicUsize::new(0),
        }
    }

    /// A place in the queue.
    ///
    /// # Errors
    /// When it is full.
    pub fn queue(self: &Arc<Self>) -> Result<Place, Refusal> {
        self.place_in_queue().ok_or_else(|| self.refuse_queue())
    }

    /// A place in the queue, if there is one.
    pub fn place_in_queue(self: &Arc<Self>) -> Option<Place> {
        Place::take(self, Counter::Queued, 1, self.limits.queued_max)
    }

    /// Refuses a call for want of a place in the queue.
    pub fn refuse_queue(&self) -> Refusal {
        self.shed(Shed::Queue)
    }

    /// A permit for a call whose message is read.
    ///
    /// # Errors
    /// When too many are in flight.
    pub fn permit(self: &Arc<Self>) -> Result<Place, Error> {
        let place = Place::take(self, Counter::InFlight, 1, self.limits.in_flight_max);
        place.ok_or_else(|| self.error(self.shed(Shed::InFlight)))
    }

    /// A place for a call whose message is not complete, if there is one.
    pub fn place_to_wait(self: &Arc<Self>, whose: Caller) -> Option<Place> {
        match whose {
            Caller::Contract => Place::take(self, Counter::Waiting, 1, WAITING_CALLS_MAX),
            Caller::Probe => Place::take(self, Counter::Probes, 1, PROBES_MAX),
        }
    }

    /// The refusal of a call for which there is no place to wait.
    #[must_use]
    pub fn refuse_to_wait(&self, whose: Caller) -> Error {
        self.error(self.shed(match whose {
            Caller::Contract => Shed::Receiving,
            Caller::Probe => Shed::Probes,
        }))
    }

    /// Room for bytes of a message that is not complete.
    ///
    /// # Errors
    /// When unfinished messages take too much memory together.
    pub fn room(self: &Arc<Self>, bytes: usize) -> Result<Place, Error> {
        let room = Place::take(self, Counter::ReceivingBytes, bytes, RECEIVING_BYTES_MAX);
        room.ok_or_else(|| self.error(self.shed(Shed::Receiving)))
    }

    /// Whether the next call would be refused a place in the queue.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.queued.load(Ordering::Relaxed) >= self.limits.queued_max
    }

    /// How many calls wait for a processor.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// How many calls are in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    fn shed(&self, reason: Shed) -> Refusal {
        self.metrics.shed(reason);
        Refusal { reason, step: self.refusals.fetch_add(1, Ordering::Relaxed) % RETRY_STEPS }
    }

    /// What a caller that is refused is told.
    #[must_use]
    pub fn error(&self, refusal: Refusal) -> Error {
        let cause = match refusal.reason {
            Shed::Queue => format!("{} calls wait for a processor already", self.limits.queued_max),
            Shed::InFlight => format!("{} calls are in flight already", self.limits.in_flight_max),
            Shed::Receiving => "the messages that are unfinished are too many or too large".to_owned(),
            Shed::Probes => format!("{PROBES_MAX} calls of health are unfinished already"),
        };
        let retry_after = RETRY_AFTER_MIN * u32::try_from(1 + refusal.step).unwrap_or(1);
        let message = format!("the server is busy: {cause}; call again in {} ms", retry_after.as_millis());
        Error::new(Reason::Overloaded, message).with_retry_after(retry_after)
    }

    /// The refusals for want of a place in the queue: so few that they can be written before they are needed.
    pub fn queue_refusals() -> impl Iterator<Item = Refusal> {
        (0..RETRY_STEPS).map(|step| Refusal { reason: Shed::Queue, step })
    }

    fn counter(&self, counter: Counter) -> &AtomicUsize {
        match counter {
            Counter::Queued => &self.queued,
            Counter::InFlight => &self.in_flight,
            Counter::Waiting => &self.waiting,
            Counter::ReceivingBytes => &self.receiving_bytes,
            Counter::Probes => &self.probes,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Counter {
    Queued,
    InFlight,
    Waiting,
    ReceivingBytes,
    Probes,
}

/// A place that somebody has taken; given back when dropped.
#[derive(Debug)]
pub struct Place {
    admission: Arc<Admission>,
    counter: Counter,
    amount: usize,
}

impl Place {
    fn take(admission: &Arc<Admission>, counter: Counter, amount: usize, max: usize) -> Option<Self> {
        let taken = admission.counter(counter);
        if taken.fetch_add(amount, Ordering::Relaxed) + amount > max {
            taken.fetch_sub(amount, Ordering::Relaxed);
            return None;
        }
        Some(Self { admission: Arc::clone(admission), counter, amount })
    }

    /// How much it is.
    #[must_use]
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Makes two places of one kind one.
    pub fn join(&mut self, mut other: Self) {
        self.amount += std::mem::take(&mut other.amount);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.admission.counter(self.counter).fetch_sub(self.amount, Ordering::Relaxed);
    }
}

/// When a call's time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(Instant);

impl Deadline {
    /// For a call that arrives now; a caller that names no time gets [`CALL_TIME_MAX`], and nobody gets more.
    #[must_use]
    pub fn after(arrival: Instant, given: Option<Duration>) -> Self {
        Self(arrival + given.unwrap_or(CALL_TIME_MAX).min(CALL_TIME_MAX))
    }

    /// What is left; nothing when it is over.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_over(self) -> bool {
        Instant::now() >= self.0
    }

    /// The moment.
    #[must_use]
    pub fn instant(self) -> Instant {
        self.0
    }
}

/// The refusal of a call whose time is over.
#[must_use]
pub fn too_late() -> Error {
    Error::new(Reason::DeadlineExceeded, "the call's time was over before it was answered")
}
