//! Times of the scanner: `cargo bench --bench scan`, and `-- DIRECTORY` for every SKILL.md below a directory.
//!
//! **Measured**: a scan of 64 KiB, of ordinary text and of each of some hundreds of hostile ones (`hostile/mod.rs`); the library's
//! files. **Floor**: reading the text character by character. **Not shown**: the parser, reading files.

mod hostile;

use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use maitred::format::scan::scan;

/// Scans of one text.
const ROUNDS: usize = 3;

fn main() {
    let started = Instant::now();
    black_box(scan(b"---\nname: first\ndescription: The first scan.\n---\nSing.\n", None));
    say(&format!("first scan {:.2} ms", ms(started)));
    let library = files("library".as_ref());
    report("library", &library);
    for folder in std::env::args().skip(1).filter(|argument| std::path::Path::new(argument).is_dir()) {
        report(&folder, &files(folder.as_ref()));
    }
    let words: Vec<String> = library.iter().map(|(_, text)| text.clone()).collect();
    if std::env::args().any(|argument| argument == "files") {
        return;
    }
    report("ordinary, 64 KiB", &[("library".to_owned(), hostile::filled(&words.concat()))]);
    report("hostile, 64 KiB", &hostile::texts());
}

fn files(folder: &std::path::Path) -> Vec<(String, String)> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
    let skills = entries.filter(|entry| entry.file_name() == "SKILL.md");
    let read = |path: &std::path::Path| {
        std::fs::read_to_string(path).ok().map(|text| (path.display().to_string(), text))
    };
    skills.filter_map(|entry| read(entry.path())).collect()
}

/// Scans each text some times, of which the fastest counts (what else runs on the machine is not measured); prints what half and all
/// but one of a hundred take, and those that take longest.
fn report(what: &str, texts: &[(String, String)]) {
    let mut times: Vec<(f64, f64, &str)> = texts.iter().map(|(name, text)| measured(name, text)).collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |share: usize| times[(times.len() - 1) * share / 100].0;
    let (scanned, floor) = times.iter().fold((0.0, 0.0), |sums, time| (sums.0 + time.0, sums.1 + time.1));
    say(&format!(
        "{what:<18} {:>5} texts  mean {:>7.3} ms  p50 {:>7.3}  p99 {:>7.3}  worst {:>7.3}  {:>6.0} x reading its characters",
        texts.len(),
        scanned / f64::from(u32::try_from(times.len()).expect("some thousands of texts")),
        at(50),
        at(99),
        at(100),
        scanned / floor
    ));
    for (time, _, name) in times.iter().rev().take(if texts.len() > 100 { 10 } else { 0 }) {
        say(&format!("    {time:>7.3} ms  {name}"));
    }
}

fn measured<'n>(name: &'n str, text: &str) -> (f64, f64, &'n str) {
    let fastest = |work: &dyn Fn()| {
        let once = |_| {
            let started = Instant::now();
            work();
            ms(started)
        };
        (0..ROUNDS).map(once).fold(f64::INFINITY, f64::min)
    };
    let scanned = fastest(&|| {
        black_box(scan(black_box(text.as_bytes()), None));
    });
    let read = fastest(&|| {
        black_box(black_box(text).chars().map(u32::from).fold(0_u32, u32::wrapping_add));
    });
    (scanned, read, name)
}

fn ms(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1e3
}

fn say(line: &str) {
    writeln!(std::io::stdout().lock(), "{line}").expect("standard output takes lines");
}
