//! Times of calls, each beside a bare tonic echo with messages of the same size, in the same run: `cargo bench --bench rpc`.
//!
//! **Measured**: `SelectMenu` among 30, 1,000 and 20,000 playbooks with a turn of 60 tokens, and `LoadPlaybook`; latencies at 1
//! and 8 calls due together every 2 ms (20 ms among 20,000; open loop, from when a call was due), calls a second with 50 callers; and again
//! while every 20 ms a catalogue is published; `-- overload`: ten thousand streams at once, and five times what the server
//! can answer, with server and callers on a processor each. **How**: each server is a process of its own; client and servers
//! share the machine; rounds of echo and server alternate, and the median of the rounds counts. **Not shown**: a network.

mod load;
mod words;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use load::{Pace, Target, ours};

const PUBLISH_EVERY: Duration = Duration::from_millis(20);

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// How often calls are due, and how many times.
    every: Duration,
    paced_rounds: usize,
    flat_out: Duration,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[1..] {
        ["serve-echo", bytes] => serve_echo(bytes.parse().expect("a number of bytes")),
        ["serve", count, publish] => {
            serve(count.parse().expect("a number of playbooks"), publish == "publish");
        }
        _ if words.contains(&"overload") => overload(),
        _ => measure(&words),
    }
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().build().expect("the machine has threads")
}

/// For a client that takes one processor at most, and leaves the other to the server.
fn one_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("the machine has threads")
}

/// A child of the bench: the floor.
fn serve_echo(answer_bytes: usize) {
    runtime().block_on(async {
        say(&load::echo::serve(answer_bytes).await);
        std::future::pending::<()>().await;
    });
}

/// A child of the bench: the server.
fn serve(count: usize, publishes: bool) {
    runtime().block_on(async {
        let running = ours::serve(count).await;
        if publishes {
            ours::publish_for_ever(&running, count, PUBLISH_EVERY);
        }
        say(&format!("{} {}", running.listen, running.http.as_deref().expect("the door is open")));
        std::future::pending::<()>().await;
    });
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("the bench reads what its children say");
}

/// A server in a process of its own; ended when dropped.
struct Server {
    child: Child,
    said: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        Self::run(Command::new(own_file()).args(arguments))
    }

    /// On one processor alone, which is then all that the server knows of.
    fn start_on(processor: &str, arguments: &[&str]) -> Self {
        Self::run(Command::new("taskset").args(["-c", processor]).arg(own_file()).args(arguments))
    }

    fn run(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a process can be started");
        let mut said = String::new();
        let out = child.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut said).expect("the child says where it listens");
        Self { child, said: said.trim().to_owned() }
    }

    fn address(&self) -> &str {
        self.said.split(' ').next().expect("a line has a first word")
    }

    fn http(&self) -> &str {
        self.said.split(' ').nth(1).expect("the server says both")
    }
}

fn own_file() -> std::path::PathBuf {
    std::env::current_exe().expect("the bench runs from a file")
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was measured of one target.
#[derive(Clone, Debug, Default)]
struct Figures {
    one: [f64; 3],
    eight: [f64; 3],
    throughput: f64,
}

fn measure(words: &[&str]) {
    // `-- quick` is a glance; `-- 30` and the like choose a catalogue.
    let is_quick = words.contains(&"quick");
    let every = Duration::from_millis(2);
    let full = Effort { rounds: 3, every, paced_rounds: 1_500, flat_out: Duration::from_secs(2) };
    let effort = if is_quick {
        Effort { rounds: 1, paced_rounds: 500, flat_out: Duration::from_millis(500), ..full }
    } else {
        full
    };
    let all = [30, 1_000, 20_000];
    let chosen: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let sizes = all
        .into_iter()
        .filter(|size| if chosen.is_empty() { !is_quick || *size == 30 } else { chosen.contains(size) });
    for count in sizes {
        // Eight calls of a millisecond each are more than come every 2 ms.
        let slower = Effort { every: Duration::from_millis(20), paced_rounds: 200, ..effort };
        let effort = if count > 1_000 { slower } else { effort };
        let text = count.to_string();
        let still = Server::start(&["serve", &text, "still"]);
        let calls = one_thread().block_on(ours::calls(still.address()));
        compare(&format!("SelectMenu, {count} playbooks"), &calls.select, effort);
        if count == all[0] {
            compare("LoadPlaybook", &calls.load, effort);
        }
        profile(still.http());
        let moving = Server::start(&["serve", &text, "publish"]);
        let again = one_thread().block_on(ours::calls(moving.address()));
        let [before, with] = alternate([&calls.select.0, &again.select.0], effort);
        print(
            &format!("SelectMenu, {count} playbooks, a publish every 20 ms"),
            &with,
            "without publishes",
            &before,
        );
    }
}

/// Measures a call beside an echo of its size.
fn compare(what: &str, (target, answer_bytes): &(Target, usize), effort: Effort) {
    let echo = Server::start(&["serve-echo", &answer_bytes.to_string()]);
    let message = load::echo::Blob { bytes: target.message.clone() };
    let floor = Target {
        address: echo.address().to_owned(),
        path: "/bench.Echo/Call",
        message: prost::Message::encode_to_vec(&message).into(),
    };
    let [floor, figures] = alternate([&floor, target], effort);
    let what = format!("{what} ({} bytes to {answer_bytes})", target.message.len());
    print(&what, &figures, "bare echo", &floor);
}

/// Rounds of the two in turns; the median of each figure.
fn alternate(targets: [&Target; 2], effort: Effort) -> [Figures; 2] {
    let mut rounds = [Vec::new(), Vec::new()];
    for _ in 0..effort.rounds {
        for (target, rounds) in targets.iter().zip(&mut rounds) {
            rounds.push(figures(target, effort));
        }
    }
    rounds.map(|rounds| {
        let median = |figure: &dyn Fn(&Figures) -> f64| {
            let mut all: Vec<f64> = rounds.iter().map(figure).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        Figures {
            one: [0, 1, 2].map(|at| median(&|figures: &Figures| figures.one[at])),
            eight: [0, 1, 2].map(|at| median(&|figures: &Figures| figures.eight[at])),
            throughput: median(&|figures: &Figures| figures.throughput),
        }
    })
}

fn figures(target: &Target, effort: Effort) -> Figures {
    let latencies = |together| {
        let pace = Pace { together, every: effort.every, rounds: effort.paced_rounds };
        let latencies = one_thread().block_on(load::paced(target, pace));
        [500, 990, 999].map(|share| latencies.per_mille(share))
    };
    let (one, eight) = (latencies(1), latencies(8));
    let throughput = runtime().block_on(load::flat_out(target, 50, 5, effort.flat_out));
    Figures { one, eight, throughput }
}

fn print(what: &str, figures: &Figures, floor_name: &str, floor: &Figures) {
    say(&format!("\n{what}; beside it {floor_name}"));
    for (name, own, floor) in
        [("1 in flight", figures.one, floor.one), ("8 in flight", figures.eight, floor.eight)]
    {
        let cells: Vec<String> = ["p50", "p99", "p99.9"]
            .iter()
            .zip(own.iter().zip(floor))
            .map(|(share, (own, floor))| format!("{share} {own:>7.0} / {floor:>7.0} us = {:.2}", own / floor))
            .collect();
        say(&format!("  {name:<12} {}", cells.join("   ")));
    }
    let ratio = figures.throughput / floor.throughput;
    say(&format!(
        "  50 in flight {:>7.0} / {:>7.0} calls/s = {ratio:.2}",
        figures.throughput, floor.throughput
    ));
}

/// More than the server can bear: a burst, five times the callers that fill it, and five times the calls that it answers.
fn overload() {
    let server = Server::start(&["serve", "30", "still"]);
    let calls = one_thread().block_on(ours::calls(server.address()));
    let (select, load) = (&calls.select.0, &calls.load.0);
    let resident = || metric(server.http(), "process_resident_memory_bytes") / 1024.0 / 1024.0;
    let before = resident();
    for round in 1..=3 {
        let outcomes = runtime().block_on(load::flood::burst(&[select, load], 10_000, 100));
        report(&format!("10,000 streams over 100 connections, round {round}"), &outcomes);
        say(&format!("    the server takes {:.0} MiB, {before:.0} before", resident()));
    }
    drop(server);
    take_processor("0");
    for count in ["30", "1000", "20000"] {
        flood(count);
    }
}

/// What a server on one processor answers to callers on another: as many as fill it, and five times as many.
fn flood(count: &str) {
    let server = Server::start_on("1", &["serve", count, "still"]);
    let calls = one_thread().block_on(ours::calls(server.address()));
    let select = &calls.select.0;
    say(&format!("\n{count} playbooks, the server on one processor, the callers on another"));
    let time = Duration::from_secs(4);
    let callers = |count| {
        let outcomes = one_thread().block_on(load::flood::callers(select, count, CONNECTIONS, time));
        report(&format!("{count} callers"), &outcomes);
        outcomes.goodput()
    };
    let fillings = [4, 8, 16, 32, 64].map(|count| (count, callers(count)));
    let best = fillings.iter().fold(0.0, |best: f64, own| best.max(own.1));
    // The fewest callers that keep the server as busy as any number does.
    let filling = fillings.iter().find(|own| own.1 >= 0.95 * best).expect("the best is one of them").0;
    let mut rounds: Vec<(f64, f64)> = (0..3).map(|_| (callers(filling), callers(5 * filling))).collect();
    let share = median(rounds.iter().map(|(filled, five)| five / filled));
    say(&format!("    goodput with five times the callers: {share:.2}, the median of three rounds"));
    let peak = median(rounds.drain(..).map(|(filled, _)| filled));
    let asked = 5.0 * peak;
    if asked > CLIENT_CALLS_PER_SEC_MAX {
        say(&format!("    {asked:.0} calls a second are more than the client can make on one processor"));
        return;
    }
    let flood = one_thread().block_on(load::flood::at_rate(select, asked, CONNECTIONS, time));
    report(&format!("{asked:.0} calls/s asked for"), &flood);
    say(&format!("    goodput with five times the calls: {:.2} of the peak", flood.goodput() / peak));
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = figures.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Calls a second that the client makes on a processor of its own without falling behind.
const CLIENT_CALLS_PER_SEC_MAX: f64 = 20_000.0;

/// Connections of the callers, few or many.
const CONNECTIONS: usize = 16;

/// Keeps this process on one processor, with every thread that it has.
fn take_processor(processor: &str) {
    let own = std::process::id().to_string();
    let done = Command::new("taskset").args(["-acp", processor, &own]).stdout(Stdio::null()).status();
    assert!(done.is_ok_and(|status| status.success()), "taskset gives server and callers a processor each");
}

fn report(what: &str, outcomes: &load::flood::Outcomes) {
    let ((shed_p50, shed_p99), (p50, p99)) = (outcomes.shed_ms(), outcomes.answered_ms());
    say(&format!(
        "  {what:<44} {:>6.0}/s answered (p50 {p50:.1} ms, p99 {p99:.1} ms), {} shed (p50 {shed_p50:.1} ms, p99 {shed_p99:.1} ms), {} failed {:?}",
        outcomes.goodput(),
        outcomes.shed(),
        outcomes.failed().len(),
        outcomes.failed().first(),
    ));
}

/// Where the server says that its time went: the mean of each step.
fn profile(http: &str) {
    let text = metrics(http);
    let value = |name: &str, label: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(name) && line.contains(label));
        line.and_then(|line| line.rsplit(' ').next()).and_then(|value| value.parse().ok()).unwrap_or(0.0)
    };
    let steps =
        ["convert", "admit", "embed", "trigger", "lexical", "nearest", "judge", "sign"].map(|stage| {
            let label = format!("stage=\"{stage}\"");
            let (sum, count) =
                (value("maitred_stage_seconds_sum", &label), value("maitred_stage_seconds_count", &label));
            format!("{stage} {:.1}", sum / count.max(1.0) * 1e6)
        });
    say(&format!("  mean of each step, us: {}", steps.join(", ")));
}

fn metric(http: &str, name: &str) -> f64 {
    let text = metrics(http);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).expect("the metric is there")
}

fn metrics(http: &str) -> String {
    use std::io::Read as _;
    let mut stream = std::net::TcpStream::connect(http).expect("the door is open");
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("the door takes requests");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the door answers with text");
    text
}
