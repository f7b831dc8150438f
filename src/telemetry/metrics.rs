//! Metrics, in Prometheus' text format: every name and label of them.
//!
//! **Invariants**: no label carries an agent, a slug, an address or any text of a caller, so the number of series is
//! bounded by this file. **Threads**: shared by all; observing takes no lock.

use std::sync::OnceLock;
use std::time::Duration;

use prometheus::core::Collector;
use prometheus::process_collector::ProcessCollector;
use prometheus::{
    Encoder as _, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
    Opts, Registry, TextEncoder,
};

use crate::domain::limits::MENU_ITEMS_MAX;
use crate::domain::menu::{Menu, Reason, SemanticState};
use crate::domain::stage::Stage;

/// The upper bounds of times, in seconds: from a microsecond to the longest call.
const SECONDS: [f64; 19] = [
    1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25,
    1.0, 5.0,
];

/// Why a call was shed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shed {
    /// Too many calls waited for a processor.
    Queue,
    /// Too many calls were in flight.
    InFlight,
    /// Too many unfinished messages, or too large ones.
    Receiving,
    /// Too many unfinished calls of health.
    Probes,
}

/// Where a connection comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Calls.
    Grpc,
    /// Metrics and probes.
    Http,
}

/// Why a connection was closed before its client closed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// There were too many.
    Limit,
    /// It did not begin to speak the protocol.
    HalfOpen,
    /// It did not take its answers.
    Stalled,
    /// It kept streams beyond its age and grace.
    Age,
    /// It kept streams beyond the drain.
    Drain,
    /// It broke the protocol, or went silent.
    Protocol,
}

impl Shed {
    const ALL: [Self; 4] = [Self::Queue, Self::InFlight, Self::Receiving, Self::Probes];

    fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::InFlight => "in_flight",
            Self::Receiving => "receiving",
            Self::Probes => "probes",
        }
    }
}

impl Door {
    const ALL: [Self; 2] = [Self::Grpc, Self::Http];

    fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
        }
    }
}

impl Closed {
    const ALL: [Self; 6] =
        [Self::Limit, Self::HalfOpen, Self::Stalled, Self::Age, Self::Drain, Self::Protocol];

    fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::HalfOpen => "half_open",
            Self::Stalled => "stalled",
            Self::Age => "age",
            Self::Drain => "drain",
            Self::Protocol => "protocol",
        }
    }
}

/// Why playbooks are on menus, as counted.
const MENU_REASONS: [&str; 3] = ["always_on", "trigger", "semantic"];

/// Whether the semantic pass took part in menus, as counted.
const SEMANTIC_STATES: [&str; 3] = ["ok", "unavailable", "script_not_covered"];

/// What is looked up when somebody asks for the metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// The revision that is served.
    pub revision: u64,
    /// How long it has been served.
    pub snapshot_age: Duration,
    /// Old snapshots that are not freed yet.
    pub reaper_backlog: usize,
    /// Agents.
    pub agent_count: usize,
    /// Playbooks of all agents.
    pub playbook_count: usize,
    /// Calls that wait for a processor.
    pub queued: usize,
    /// Calls in flight.
    pub in_flight: usize,
}

/// Every metric of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    stages: [Histogram; Stage::ALL.len()],
    menus: [IntCounter; MENU_ITEMS_MAX + 1],
    menu_items: [IntCounter; MENU_REASONS.len()],
    semantic: [IntCounter; SEMANTIC_STATES.len()],
    handled: IntCounterVec,
    handling: HistogramVec,
    refused: IntCounterVec,
    shed: [IntCounter; Shed::ALL.len()],
    closed: [[IntCounter; Closed::ALL.len()]; Door::ALL.len()],
    panics: IntCounter,
    connections: [IntGauge; Door::ALL.len()],
    revision: IntGauge,
    snapshot_age: prometheus::Gauge,
    reaper_backlog: IntGauge,
    agents: IntGauge,
    playbooks: IntGauge,
    queued: IntGauge,
    in_flight: IntGauge,
}

/// What is counted of one method of the contract.
#[derive(Debug)]
pub struct MethodMetrics {
    service: &'static str,
    method: &'static str,
    seconds: Histogram,
    handled: [OnceLock<IntCounter>; GRPC_CODES.len()],
}

/// The codes of gRPC, by number.
pub const GRPC_CODES: [&str; 17] = [
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
];

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Metrics that count from zero.
    #[must_use]
    pub fn new() -> Self {
        let registry = Registry::new();
        let add = Adding(&registry);
        add.register(ProcessCollector::for_self());
        let stages = add.histograms("maitred_stage_seconds", "Time of a step of SelectMenu.", &["stage"]);
        let menus =
            add.counters("maitred_menus_total", "Menus, by how many playbooks they offer.", &["size"]);
        let items = add.counters("maitred_menu_items_total", "Playbooks on menus, by why.", &["reason"]);
        let semantic = add.counters(
            "maitred_semantic_total",
            "Menus, by whether the semantic pass took part.",
            &["state"],
        );
        let shed = add.counters("maitred_shed_total", "Calls refused because of load.", &["reason"]);
        let closed = add.counters(
            "maitred_connections_closed_total",
            "Connections that were cut.",
            &["door", "reason"],
        );
        let open = add.gauges("maitred_connections", "Open connections.", &["door"]);
        let size = |size: usize| menus.with_label_values(&[size.to_string().as_str()]);
        Self {
            stages: Stage::ALL.map(|stage| stages.with_label_values(&[stage.name()])),
            menus: std::array::from_fn(size),
            menu_items: MENU_REASONS.map(|reason| items.with_label_values(&[reason])),
            semantic: SEMANTIC_STATES.map(|state| semantic.with_label_values(&[state])),
            handled: add.counters(
                "grpc_server_handled_total",
                "Calls that were answered.",
                &["grpc_service", "grpc_method", "grpc_code"],
            ),
            handling: add.histograms(
                "grpc_server_handling_seconds",
                "Time from a call's arrival to its answer.",
                &["grpc_service", "grpc_method"],
            ),
            refused: add.counters(
                "maitred_refused_total",
                "Calls refused, by the error's reason.",
                &["reason"],
            ),
            shed: Shed::ALL.map(|reason| shed.with_label_values(&[reason.name()])),
            closed: Door::ALL.map(|door| {
                Closed::ALL.map(|reason| closed.with_label_values(&[door.name(), reason.name()]))
            }),
            panics: add.counter("maitred_panics_total", "Faults of ours that a call survived as INTERNAL."),
            connections: Door::ALL.map(|door| open.with_label_values(&[door.name()])),
            revision: add.gauge("maitred_revision", "The revision that is served."),
            snapshot_age: add.seconds("maitred_snapshot_age_seconds", "How long it has been served."),
            reaper_backlog: add.gauge("maitred_reaper_backlog", "Old snapshots that are not freed yet."),
            agents: add.gauge("maitred_agents", "Agents."),
            playbooks: add.gauge("maitred_playbooks", "Playbooks of all agents."),
            queued: add.gauge("maitred_queued", "Calls that wait for a processor."),
            in_flight: add.gauge("maitred_in_flight", "Calls in flight."),
            registry,
        }
    }

    /// Records how long a step took.
    pub fn stage(&self, stage: Stage, time: Duration) {
        self.stages[stage as usize].observe(time.as_secs_f64());
    }

    /// Counts a menu, its items, and what they were selected by.
    pub fn menu(&self, menu: &Menu) {
        for item in &menu.items {
            let place = match item.reason {
                Reason::AlwaysOn => 0,
                Reason::Trigger { .. } => 1,
                Reason::Semantic { .. } => 2,
            };
            self.menu_items[place].inc();
        }
        self.menus[menu.items.len()].inc();
        let state = match menu.semantic {
            SemanticState::Ok => 0,
            SemanticState::Unavailable => 1,
            SemanticState::ScriptNotCovered => 2,
        };
        self.semantic[state].inc();
    }

    /// What is counted of a method.
    #[must_use]
    pub fn method(&self, service: &'static str, method: &'static str) -> MethodMetrics {
        let seconds = self.handling.with_label_values(&[service, method]);
        MethodMetrics { service, method, seconds, handled: [const { OnceLock::new() }; GRPC_CODES.len()] }
    }

    /// Counts an answer, by the number of its code.
    pub fn handled(&self, method: &MethodMetrics, code: usize, time: Duration) {
        let code = if code < GRPC_CODES.len() { code } else { 2 };
        let of_code = method.handled[code].get_or_init(|| {
            self.handled.with_label_values(&[method.service, method.method, GRPC_CODES[code]])
        });
        of_code.inc();
        method.seconds.observe(time.as_secs_f64());
    }

    /// Counts a refusal by the reason that is sent.
    pub fn refused(&self, reason: &str) {
        self.refused.with_label_values(&[reason]).inc();
    }

    /// Counts a call that was shed.
    pub fn shed(&self, reason: Shed) {
        self.shed[reason as usize].inc();
    }

    /// Counts a panic.
    pub fn panicked(&self) {
        self.panics.inc();
    }

    /// Counts a connection that was opened.
    pub fn connected(&self, door: Door) {
        self.connections[door as usize].inc();
    }

    /// Counts a connection that is gone, and why where it was cut.
    pub fn disconnected(&self, door: Door, cut: Option<Closed>) {
        self.connections[door as usize].dec();
        if let Some(reason) = cut {
            self.cut(door, reason);
        }
    }

    /// Counts a connection that was cut.
    pub fn cut(&self, door: Door, reason: Closed) {
        self.closed[door as usize][reason as usize].inc();
    }

    /// The whole, in Prometheus' text format 0.0.4.
    #[must_use]
    pub fn render(&self, facts: &Facts) -> String {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.revision.set(i64::try_from(facts.revision).unwrap_or(i64::MAX));
        self.snapshot_age.set(facts.snapshot_age.as_secs_f64());
        self.reaper_backlog.set(count(facts.reaper_backlog));
        self.agents.set(count(facts.agent_count));
        self.playbooks.set(count(facts.playbook_count));
        self.queued.set(count(facts.queued));
        self.in_flight.set(count(facts.in_flight));
        let mut text = Vec::new();
        let written = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        written.expect("a vector takes what is written to it");
        String::from_utf8(text).expect("names, labels and numbers are text")
    }
}

/// Makes metrics and registers them.
struct Adding<'a>(&'a Registry);

/// Why a metric of this file is valid.
const VALID: &str = "names and labels are constants, each used once";

impl Adding<'_> {
    fn register(&self, metric: impl Collector + 'static) {
        self.0.register(Box::new(metric)).expect(VALID);
    }

    fn histograms(&self, name: &str, help: &str, labels: &[&str]) -> HistogramVec {
        let options = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
        let metric = HistogramVec::new(options, labels).expect(VALID);
        self.register(metric.clone());
        metric
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        let metric = IntCounterVec::new(Opts::new(name, help), labels).expect(VALID);
        self.register(metric.clone());
        metric
    }

    fn counter(&self, name: &str, help: &str) -> IntCounter {
        let metric = IntCounter::new(name, help).expect(VALID);
        self.register(metric.clone());
        metric
    }

    fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        let metric = IntGaugeVec::new(Opts::new(name, help), labels).expect(VALID);
        self.register(metric.clone());
        metric
    }

    fn gauge(&self, name: &str, help: &str) -> IntGauge {
        let metric = IntGauge::new(name, help).expect(VALID);
        self.register(metric.clone());
        metric
    }

    fn seconds(&self, name: &str, help: &str) -> prometheus::Gauge {
        let metric = prometheus::Gauge::new(name, help).expect(VALID);
        self.register(metric.clone());
        metric
    }
}
