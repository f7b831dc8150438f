//! Load on a server over loopback: calls that are due at fixed times, and calls as fast as they are answered.

pub(crate) mod echo;
pub(crate) mod flood;
pub(crate) mod ours;

use std::time::{Duration, Instant};

use prost::bytes::{Buf, BufMut, Bytes};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Status};

/// A call that is made again and again: the client's part is the same whatever the message means.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) address: String,
    pub(crate) path: &'static str,
    pub(crate) message: Bytes,
}

/// Bytes to bytes.
#[derive(Clone, Copy, Debug, Default)]
struct RawCodec;

impl Codec for RawCodec {
    type Encode = Bytes;
    type Decode = usize;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(item);
        Ok(())
    }
}

impl Decoder for RawCodec {
    type Item = usize;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<usize>, Status> {
        let bytes = from.remaining();
        from.advance(bytes);
        Ok(Some(bytes))
    }
}

impl Target {
    pub(crate) async fn connect(&self) -> Channel {
        let uri = format!("http://{}", self.address);
        let endpoint = Channel::from_shared(uri).expect("an address makes a URI").tcp_nodelay(true);
        endpoint.connect().await.expect("the server listens")
    }

    /// So many connections.
    pub(crate) async fn connections(&self, count: usize) -> Vec<Channel> {
        let mut channels = Vec::with_capacity(count);
        for _ in 0..count {
            channels.push(self.connect().await);
        }
        channels
    }

    /// Makes the call once; returns the size of the answer.
    pub(crate) async fn call(&self, channel: &Channel) -> Result<usize, Status> {
        let mut grpc = Grpc::new(channel.clone());
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let path = PathAndQuery::from_static(self.path);
        Ok(grpc.unary(Request::new(self.message.clone()), path, RawCodec).await?.into_inner())
    }
}

/// Latencies of calls, in microseconds, in order of size.
#[derive(Clone, Debug)]
pub(crate) struct Latencies(Vec<f64>);

impl Latencies {
    fn new(mut all: Vec<f64>) -> Self {
        all.sort_by(f64::total_cmp);
        Self(all)
    }

    /// The latency that so many of a thousand calls do not exceed.
    pub(crate) fn per_mille(&self, share: usize) -> f64 {
        self.0[(self.0.len() - 1) * share / 1_000]
    }
}

/// How calls come: so many at once, again and again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) together: usize,
    pub(crate) every: Duration,
    pub(crate) rounds: usize,
}

/// How late a call may be sent because timers are coarse: later than that, somebody was kept waiting.
const TIMER_SLACK: Duration = Duration::from_micros(200);

/// An open loop: calls are due whether those before are answered or not, and a latency counts from when the call was due
/// (give or take the timer's slack), so that a stall is seen in all calls that it delays: no coordinated omission.
pub(crate) async fn paced(target: &Target, pace: Pace) -> Latencies {
    let channel = target.connect().await;
    let mut due = clock(pace);
    let mut calls = tokio::task::JoinSet::new();
    while let Some(due) = due.recv().await {
        let counted_from = Instant::now().min(due + TIMER_SLACK);
        for _ in 0..pace.together {
            let (target, channel) = (target.clone(), channel.clone());
            calls.spawn(async move {
                target.call(&channel).await.expect("the server answers");
                counted_from.elapsed().as_secs_f64() * 1e6
            });
        }
    }
    let mut latencies = calls.join_all().await;
    // The first calls warm up connection and server.
    latencies.drain(..latencies.len() / 10);
    Latencies::new(latencies)
}

/// Tells when calls are due: a thread of its own, because the runtime's timers have a grain of a millisecond.
fn clock(pace: Pace) -> tokio::sync::mpsc::UnboundedReceiver<Instant> {
    let (tell, told) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut due = Instant::now();
        for _ in 0..pace.rounds {
            due += pace.every;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if tell.send(due).is_err() {
                return;
            }
        }
    });
    told
}

/// A closed loop: so many callers over so many connections, each calling again when it has its answer. Calls a second.
pub(crate) async fn flat_out(target: &Target, callers: usize, connections: usize, time: Duration) -> f64 {
    let channels = target.connections(connections).await;
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let (target, channel) = (target.clone(), channels[caller % connections].clone());
        tasks.spawn(async move {
            let mut count = 0_u32;
            while began.elapsed() < time {
                target.call(&channel).await.expect("the server answers");
                count += 1;
            }
            count
        });
    }
    let count: u32 = tasks.join_all().await.into_iter().sum();
    f64::from(count) / began.elapsed().as_secs_f64()
}
