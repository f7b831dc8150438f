//! Connections: how many, how they begin, how long they last, and how they end.
//!
//! **Invariants**: a connection that does not begin to speak, does not take its answers, or outlives its age and grace is
//! cut; when too many have not begun, or the door is full, the one of these that has waited longest is cut, so that new
//! clients get in; nothing of a connection outlives its task. **Threads**: one task a connection, and one a door that
//! looks at them all.

mod executor;
mod io;
mod register;
mod state;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};

use self::executor::Executor;
use self::io::Counted;
use self::register::{Command, Opening, Register};
pub use self::state::{Sending, State};
use crate::app::admit::Admission;
use crate::domain::limits::{
    CONNECTION_GRACE, FAULTY_STREAMS_MAX, HALF_OPEN_MAX, HANDSHAKE_TIME_MAX, HEADER_LIST_BYTES_MAX,
    KEEPALIVE_INTERVAL, KEEPALIVE_TIMEOUT, PENDING_RESETS_MAX, STALL_TIME_MAX, STREAMS_PER_CONNECTION,
};
use crate::telemetry::metrics::{Closed, Door, Metrics};

/// Bytes with which HTTP/2 begins: the preface, and the head of the first frame.
const HTTP2_OPENING_BYTES: usize = 24 + 9;

/// How often at most, and how seldom at most, all connections are looked at.
const INSPECTION: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The bounds of a door's connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Open connections.
    pub connections_max: usize,
    /// Those that have not begun to speak.
    pub half_open_max: usize,
    /// How long one may take to begin.
    pub handshake_time: Duration,
    /// How long one may leave all its answers unread.
    pub stall_time: Duration,
    /// How old one may get; a tenth more or less, so that they do not all end together. None: as old as it likes.
    pub age: Option<Duration>,
    /// How long an old one may take to finish its calls.
    pub grace: Duration,
}

impl ConnectionLimits {
    /// The usual bounds, for so many connections of such an age.
    #[must_use]
    pub fn new(connections_max: usize, age: Option<Duration>) -> Self {
        Self {
            connections_max,
            half_open_max: HALF_OPEN_MAX.min(connections_max),
            handshake_time: HANDSHAKE_TIME_MAX,
            stall_time: STALL_TIME_MAX,
            age,
            grace: CONNECTION_GRACE,
        }
    }

    /// The same bounds for fewer connections.
    #[must_use]
    pub fn for_at_most(self, connections_max: usize) -> Self {
        let connections_max = self.connections_max.min(connections_max);
        Self { connections_max, half_open_max: self.half_open_max.min(connections_max), ..self }
    }

    /// How often connections are looked at: a quarter of the shortest time, within bounds.
    fn inspection(&self) -> Duration {
        let shortest = [self.handshake_time, self.stall_time, self.grace].into_iter().chain(self.age).min();
        (shortest.unwrap_or_default() / 4).clamp(INSPECTION.0, INSPECTION.1)
    }
}

/// The connections of one door.
#[derive(Debug)]
pub struct Connections {
    register: Mutex<Register>,
    door: Door,
    metrics: Arc<Metrics>,
    handshake_time: Duration,
    /// Every task holds one; the receiver learns when all are gone.
    tasks: Mutex<Option<mpsc::Sender<()>>>,
    gone: Mutex<Option<mpsc::Receiver<()>>>,
}

/// A bidirectional stream of bytes.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

impl Connections {
    /// No connection yet. Call it within a runtime: a task looks after the connections until this is dropped.
    #[must_use]
    pub fn new(door: Door, limits: ConnectionLimits, metrics: Arc<Metrics>) -> Arc<Self> {
        let (tasks, gone) = mpsc::channel(1);
        let connections = Arc::new(Self {
            register: Mutex::new(Register::new(limits)),
            door,
            metrics,
            handshake_time: limits.handshake_time,
            tasks: Mutex::new(Some(tasks)),
            gone: Mutex::new(Some(gone)),
        });
        let weak = Arc::downgrade(&connections);
        tokio::spawn(async move {
            let mut ticks = interval(limits.inspection());
            loop {
                ticks.tick().await;
                let Some(connections) = weak.upgrade() else { return };
                connections.register().inspect(Instant::now());
            }
        });
        connections
    }

    /// Serves HTTP/2 on a connection, in a task of its own, by the service that is made for it; one too many is closed.
    pub fn serve_http2<S, B>(
        self: &Arc<Self>,
        stream: impl Stream,
        admission: Arc<Admission>,
        service: impl FnOnce(Arc<State>) -> S,
    ) where
        S: hyper::service::Service<http::Request<hyper::body::Incoming>, Response = http::Response<B>>
            + Send
            + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: Send,
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Some((place, state)) = self.open(Opening::Bytes(HTTP2_OPENING_BYTES)) else { return };
        let stream = TokioIo::new(Counted::new(stream, Arc::clone(&state)));
        let connection = http2::Builder::new(Executor::new(admission))
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_PER_CONNECTION)
            .max_header_list_size(HEADER_LIST_BYTES_MAX)
            .max_pending_accept_reset_streams(PENDING_RESETS_MAX)
            .max_local_error_reset_streams(FAULTY_STREAMS_MAX)
            .keep_alive_interval(KEEPALIVE_INTERVAL)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT)
            .auto_date_header(false)
            .serve_connection(stream, service(state));
        tokio::spawn(place.drive(connection));
    }

    /// Serves HTTP/1.1 on a connection, in a task of its own; one too many is closed.
    pub fn serve_http<S, B>(self: &Arc<Self>, stream: impl Stream, service: S)
    where
        S: hyper::service::Service<http::Request<hyper::body::Incoming>, Response = http::Response<B>>
            + Send
            + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: Send,
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Some((place, state)) = self.open(Opening::Request) else { return };
        let stream = TokioIo::new(Counted::new(stream, Arc::clone(&state)));
        let service = service_fn(move |request| {
            let (answering, answer) = (state.answering(), service.call(request));
            async move {
                let answer = answer.await;
                drop(answering);
                answer
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.handshake_time)
            .serve_connection(stream, service);
        tokio::spawn(place.drive(connection));
    }

    /// Takes no new connections, lets the calls of each finish, and returns when all connections are gone. After
    /// `patience` those that are left are cut, and their number is returned.
    pub async fn drain(&self, patience: Duration) -> usize {
        self.register().drain(Instant::now());
        drop(take(&self.tasks));
        let Some(mut gone) = take(&self.gone) else { return 0 };
        if timeout(patience, gone.recv()).await.is_ok() {
            return 0;
        }
        let left = {
            let mut register = self.register();
            register.cut_all();
            register.count()
        };
        gone.recv().await;
        left
    }

    fn register(&self) -> MutexGuard<'_, Register> {
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(self: &Arc<Self>, opening: Opening) -> Option<(Place, Arc<State>)> {
        let task = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let state = Arc::new(State::default());
        let entered = self.register().enter(Arc::clone(&state), opening, Instant::now());
        let Some((number, told)) = entered else {
            self.metrics.cut(self.door, Closed::Limit);
            return None;
        };
        self.metrics.connected(self.door);
        Some((Place { connections: Arc::clone(self), number, told, cut: None, _task: task }, state))
    }
}

fn take<T>(cell: &Mutex<Option<T>>) -> Option<T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// A place among the connections; given back when dropped.
struct Place {
    connections: Arc<Connections>,
    number: u64,
    told: mpsc::Receiver<Command>,
    cut: Option<Closed>,
    _task: mpsc::Sender<()>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.register().leave(self.number);
        self.connections.metrics.disconnected(self.connections.door, self.cut);
    }
}

impl Place {
    /// Drives a connection to its end, whoever brings that about.
    async fn drive(mut self, connection: impl GracefulConnection) {
        let mut connection = pin!(connection);
        self.cut = loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => break ended.err().map(|_| Closed::Protocol),
                command = self.told.recv() => match command {
                    Some(Command::Finish) => connection.as_mut().graceful_shutdown(),
                    Some(Command::Cut(reason)) => break Some(reason),
                    None => unreachable!("the register keeps the sender until it has told this one to end"),
                },
            }
        };
    }
}
