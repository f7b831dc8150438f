//! Times of the selection engine, each against a floor in the same run: `cargo bench --bench engine`.
//!
//! **Measured**: embedding a turn of 60 tokens with the built-in model; selecting among 30, 1,000 and 20,000 playbooks;
//! publishing an edit; the nearest of 20,000 and 100,000 vectors by scan and by graph, with the graph's recall. **Corpus**: texts made of the
//! library's words. **Not shown**: the network, the tokens of menus, contention between requests.

mod bodies;
mod words;

use bodies::Line;

fn main() {
    // `cargo bench --bench engine -- quick` leaves out what takes minutes: the graphs of more than 2,000 vectors.
    let is_quick = std::env::args().any(|argument| argument == "quick");
    let mut lines = vec![
        bodies::embedding(60, 20_000),
        bodies::tokenising(60, 5_000),
        bodies::pooling_in_tensors(60, 5_000),
    ];
    for (playbooks, rounds) in [(30, 20_000), (1_000, 5_000), (20_000, 500)] {
        lines.push(bodies::selecting(playbooks, rounds));
    }
    for (playbooks, rounds) in [(30, 500), (1_000, 50)] {
        lines.push(bodies::publishing(playbooks, rounds));
    }
    for count in [2_000, 8_000, 20_000, 100_000].into_iter().take(if is_quick { 1 } else { 4 }) {
        lines.extend(bodies::nearest(count, 500));
    }
    print(&lines);
}

fn print(lines: &[Line]) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    for line in lines {
        let Line { what, p50_us, p99_us, floor, floor_us, remark } = line;
        let ratio = p50_us / floor_us;
        writeln!(out, "{what:<44} p50 {p50_us:>9.2} us  p99 {p99_us:>9.2} us  {ratio:>7.2} x {floor} ({floor_us:.2} us) {remark}")
            .expect("standard output takes lines");
    }
}
