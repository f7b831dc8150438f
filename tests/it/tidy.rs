//! The house rules that a text scan can check: layers, homes of dependencies, lengths, openings.

use std::fs;
use std::path::{Path, PathBuf};

/// Which parts of the crate each part may name. In the order of the layers.
const LAYERS: [(&str, &[&str]); 11] = [
    ("domain", &[]),
    ("compute", &[]),
    ("format", &["domain"]),
    ("engine", &["domain", "compute"]),
    ("telemetry", &["domain"]),
    ("app", &["domain", "format", "engine", "telemetry", "compute"]),
    ("store", &["domain", "format", "engine", "app", "compute"]),
    ("transport", &["domain", "format", "app", "telemetry"]),
    ("config", &["domain", "app", "telemetry", "transport"]),
    ("server", &["domain", "format", "engine", "app", "store", "transport", "config", "telemetry"]),
    (
        "cli",
        &[
            "domain",
            "format",
            "engine",
            "app",
            "store",
            "transport",
            "config",
            "telemetry",
            "server",
            "compute",
        ],
    ),
];

/// The only places that may name a dependency.
const HOMES: [(&str, &[&str]); 40] = [
    ("tonic::", &["transport/grpc"]),
    ("tonic_", &["transport/grpc"]),
    ("prost::", &["transport/grpc"]),
    ("http::", &["transport", "server.rs"]),
    ("http_body::", &["transport"]),
    ("axum::", &["transport/http", "server.rs"]),
    ("hyper::", &["transport"]),
    ("hyper_util::", &["transport", "server.rs"]),
    ("tower::", &["transport/grpc"]),
    ("utoipa::", &["transport/http"]),
    ("utoipa_axum::", &["transport/http/api"]),
    ("sqlx::", &["store/sqlite"]),
    ("dirs::", &["config.rs"]),
    ("rustix::", &["server/files.rs"]),
    ("prometheus::", &["telemetry/metrics.rs"]),
    (
        "tokio::",
        &[
            "transport",
            "server",
            "app/catalog.rs",
            "app/lane.rs",
            "app/owner",
            "app/read.rs",
            "app/turns.rs",
            "app/usage.rs",
            "cli/mod.rs",
        ],
    ),
    ("clap::", &["cli", "config.rs", "telemetry/log.rs"]),
    ("comfy_table::", &["cli"]),
    ("indicatif::", &["cli"]),
    ("aho_corasick::", &["engine/trigger.rs", "format/scan/search.rs"]),
    ("arc_swap::", &["engine/publish.rs"]),
    ("candle_core::", &["engine/embed"]),
    ("candle_nn::", &["engine/embed"]),
    ("candle_transformers::", &["engine/embed"]),
    ("half::", &["engine/embed"]),
    ("hnsw_rs::", &["engine/nearest/graph.rs"]),
    ("nalgebra::", &["engine/embed/distill", "engine/calibrate.rs"]),
    ("safetensors::", &["engine/embed"]),
    ("tokenizers::", &["engine/embed"]),
    ("unicode_script::", &["engine/embed/script.rs", "format/scan"]),
    ("unicode_security::", &["format/scan/views.rs"]),
    ("regex::", &["format/scan"]),
    ("regex_syntax::", &["format/scan/words.rs"]),
    ("rayon::", &["compute.rs"]),
    ("granit_parser::", &["format/yaml.rs"]),
    ("zip::", &["format/archive"]),
    ("flate2::", &["format/archive", "cli/labelled"]),
    ("notify::", &["store/directory"]),
    ("walkdir::", &["store/directory"]),
    ("tracing::", &["app", "server"]),
];

/// Lines of a file, and of a function.
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

struct Source {
    /// The path below `src/`.
    name: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(files.len() > 30, "the scan sees {} files", files.len());
    let name = |path: &Path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    files.iter().map(|path| Source { name: name(path), text: fs::read_to_string(path).unwrap() }).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The part of the crate that a file belongs to: its folder or its own name.
fn part(name: &str) -> &str {
    name.split(['/', '.']).next().unwrap()
}

/// A line without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap()
}

#[test]
fn layers_point_one_way() {
    for source in sources().iter().filter(|source| !["lib.rs", "main.rs"].contains(&source.name.as_str())) {
        let own = part(&source.name);
        let allowed = LAYERS.iter().find(|(layer, _)| *layer == own).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("src/{} belongs to no layer", source.name));
        for (number, line) in source.text.lines().enumerate() {
            for path in code(line).split("crate::").skip(1) {
                let target = path.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap();
                let is_fine = target == own || allowed.contains(&target) || target.is_empty();
                assert!(is_fine, "src/{}:{}: `{own}` may not name `{target}`", source.name, number + 1);
            }
        }
    }
}

#[test]
fn each_dependency_has_one_home() {
    for source in &sources() {
        for (number, line) in source.text.lines().enumerate() {
            for (dependency, homes) in HOMES {
                let named = code(line).match_indices(dependency).any(|(at, _)| {
                    let before = code(line)[..at].chars().next_back();
                    before.is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == ':'))
                });
                let is_home = homes.iter().any(|home| source.name.starts_with(home));
                assert!(
                    !named || is_home,
                    "src/{}:{}: {dependency} lives in {homes:?}",
                    source.name,
                    number + 1
                );
            }
        }
    }
}

#[test]
fn files_and_functions_are_short_and_files_say_what_they_are() {
    for source in &sources() {
        let lines: Vec<&str> = source.text.lines().collect();
        assert!(source.text.starts_with("//! "), "src/{} does not open with what it is", source.name);
        assert!(lines.len() <= FILE_LINES_MAX, "src/{} has {} lines", source.name, lines.len());
        let mut start = None;
        for (number, line) in lines.iter().enumerate() {
            let trimmed = line.trim_start();
            let indent = line.len() - trimmed.len();
            let is_function =
                ["fn ", "pub fn ", "async fn ", "pub async fn ", "pub(super) fn ", "pub(super) async fn "]
                    .iter()
                    .any(|opening| trimmed.starts_with(opening));
            if is_function && !trimmed.ends_with(';') {
                start = Some((number, indent));
            }
            if let Some((first, at)) = start
                && indent == at
                && trimmed == "}"
            {
                let length = number - first + 1;
                assert!(length <= FUNCTION_LINES_MAX, "src/{}:{}: {length} lines", source.name, first + 1);
                start = None;
            }
        }
    }
}

#[test]
fn every_dependency_says_why_it_is_there() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let mut in_dependencies = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_dependencies = line.contains("dependencies]");
        } else if in_dependencies && line.contains('=') {
            let reason = line.rsplit_once('#').map(|(_, reason)| reason.trim());
            assert!(reason.is_some_and(|reason| reason.len() >= 8), "no reason: {line}");
        }
    }
}
