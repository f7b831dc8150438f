//! More calls than a server can bear.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tonic::Code;
use tonic::transport::Channel;
use tonic_types::StatusExt as _;

use super::Target;

/// What became of calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    /// Microseconds of calls that were answered.
    answered: Vec<f64>,
    /// Microseconds of calls that were shed.
    shed: Vec<f64>,
    /// Any other end, by its words.
    failed: Vec<String>,
    secs: f64,
}

impl Outcomes {
    pub(crate) fn goodput(&self) -> f64 {
        f64::from(u32::try_from(self.answered.len()).expect("a bounded load")) / self.secs
    }

    pub(crate) fn shed(&self) -> usize {
        self.shed.len()
    }

    pub(crate) fn failed(&self) -> &[String] {
        &self.failed
    }

    /// Median and 99th percentile of the refusals, in milliseconds.
    pub(crate) fn shed_ms(&self) -> (f64, f64) {
        percentiles(&self.shed)
    }

    /// The same of the answers.
    pub(crate) fn answered_ms(&self) -> (f64, f64) {
        percentiles(&self.answered)
    }

    fn add(&mut self, call: Call) {
        match call {
            Call::Answered(us) => self.answered.push(us),
            Call::Shed(us, _) => self.shed.push(us),
            Call::Failed(words) => self.failed.push(words),
        }
    }
}

fn percentiles(us: &[f64]) -> (f64, f64) {
    let mut sorted = us.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: usize| sorted.get(sorted.len().saturating_sub(1) * share / 100).copied().unwrap_or(0.0);
    (at(50) / 1e3, at(99) / 1e3)
}

enum Call {
    Answered(f64),
    /// With the time after which to call again.
    Shed(f64, Duration),
    Failed(String),
}

async fn call(target: &Target, channel: &Channel) -> Call {
    let began = Instant::now();
    let answer = target.call(channel).await;
    let us = began.elapsed().as_secs_f64() * 1e6;
    match answer {
        Ok(_) => Call::Answered(us),
        Err(status) if status.code() == Code::ResourceExhausted => {
            let retry = status.get_details_retry_info().and_then(|info| info.retry_delay);
            Call::Shed(us, retry.expect("a refusal says when to call again"))
        }
        Err(status) => Call::Failed(format!("{:?}: {}", status.code(), status.message())),
    }
}

/// So many calls at once, over so many connections, of the targets in turns.
pub(crate) async fn burst(targets: &[&Target], calls: usize, connections: usize) -> Outcomes {
    let channels = targets[0].connections(connections).await;
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for at in 0..calls {
        let (target, channel) = (targets[at % targets.len()].clone(), channels[at % connections].clone());
        tasks.spawn(async move { call(&target, &channel).await });
    }
    let mut outcomes = Outcomes::default();
    while let Some(done) = tasks.join_next().await {
        outcomes.add(done.expect("a call does not panic"));
    }
    outcomes.secs = began.elapsed().as_secs_f64();
    outcomes
}

/// Callers that call again at once when they are answered, and when they are told to where they are refused.
pub(crate) async fn callers(target: &Target, callers: usize, connections: usize, time: Duration) -> Outcomes {
    let channels = target.connections(connections).await;
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for caller in 0..callers {
        let (target, channel) = (target.clone(), channels[caller % connections].clone());
        tasks.spawn(async move {
            let mut outcomes = Outcomes::default();
            while began.elapsed() < time {
                let done = call(&target, &channel).await;
                if let Call::Shed(_, retry_after) = done {
                    tokio::time::sleep(retry_after).await;
                }
                outcomes.add(done);
            }
            outcomes
        });
    }
    let mut all = Outcomes::default();
    while let Some(done) = tasks.join_next().await {
        let mut outcomes = done.expect("a caller does not panic");
        all.answered.append(&mut outcomes.answered);
        all.shed.append(&mut outcomes.shed);
        all.failed.append(&mut outcomes.failed);
    }
    all.secs = began.elapsed().as_secs_f64();
    all
}

/// Calls that come at a rate, whatever becomes of those before: a burst each millisecond.
pub(crate) async fn at_rate(
    target: &Target,
    calls_per_sec: f64,
    connections: usize,
    time: Duration,
) -> Outcomes {
    let channels = target.connections(connections).await;
    let began = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    let mut tasks = JoinSet::new();
    let mut outcomes = Outcomes::default();
    let mut sent = 0_u32;
    while began.elapsed() < time {
        ticks.tick().await;
        while f64::from(sent) < began.elapsed().as_secs_f64() * calls_per_sec {
            let (target, channel) = (target.clone(), channels[sent as usize % connections].clone());
            tasks.spawn(async move { call(&target, &channel).await });
            sent += 1;
        }
        while let Some(done) = tasks.try_join_next() {
            outcomes.add(done.expect("a call does not panic"));
        }
    }
    // What is answered later counts neither as answered in this time nor as anything else: nobody waits for it.
    outcomes.secs = began.elapsed().as_secs_f64();
    tasks.shutdown().await;
    outcomes
}
