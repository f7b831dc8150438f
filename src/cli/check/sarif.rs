//! The findings as SARIF 2.1.0 (OASIS Standard, 2020), which code-scanning dashboards take.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::github::sentence;
use crate::cli::show;
use crate::cli::sources::Source;
use crate::domain::digest::Digest;
use crate::domain::text;
use crate::format::diagnostic::{Diagnostic, Severity};

/// Characters of a message: an excerpt and its advice fit.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// The scheme of characters that may stand in a path of a URI as they are (RFC 3986, `pchar` without `:`).
const URI_SAFE: &[u8] = b"-._~/@!$&'()*+,;=";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Value,
    locations: [Value; 1],
    partial_fingerprints: Value,
}

/// One run with everything that was found.
pub(super) fn log(sources: &[Source]) -> String {
    let findings =
        || sources.iter().flat_map(|source| source.parsed.diagnostics.iter().map(move |d| (source, d)));
    let mut rules: BTreeMap<&'static str, &Diagnostic> = BTreeMap::new();
    for (_, diagnostic) in findings() {
        let worst = rules.entry(rule_id(diagnostic)).or_insert(diagnostic);
        if diagnostic.severity > worst.severity {
            *worst = diagnostic;
        }
    }
    let index = |id| rules.keys().position(|rule| *rule == id).expect("every rule was entered above");
    let mut occurrences: BTreeMap<String, usize> = BTreeMap::new();
    let mut results = Vec::new();
    for (source, diagnostic) in findings() {
        let id = rule_id(diagnostic);
        let identity = identity(source, diagnostic);
        let count = occurrences.entry(identity.clone()).or_default();
        *count += 1;
        results.push(Found {
            rule_id: id,
            rule_index: index(id),
            level: level(diagnostic.severity),
            message: json!({ "text": message(source, diagnostic) }),
            locations: [location(source, diagnostic)],
            partial_fingerprints: json!({ "maitred/v1": format!("{identity}:{count}") }),
        });
    }
    let rules: Vec<Value> = rules.iter().map(|(id, diagnostic)| rule(id, diagnostic)).collect();
    show::json(&json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "maitred",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{ "executionSuccessful": true }],
            "results": results,
        }],
    }))
}

/// The scanner's rule; the parser's findings are told apart by what becomes of the file.
fn rule_id(diagnostic: &Diagnostic) -> &'static str {
    diagnostic.rule.unwrap_or(match diagnostic.severity {
        Severity::Refused => "SKILL-REFUSED",
        Severity::NotServed => "SKILL-NOT-SERVED",
        Severity::Warning => "SKILL-WARNING",
        Severity::Note => "SKILL-NOTE",
    })
}

fn rule(id: &str, diagnostic: &Diagnostic) -> Value {
    let severity = diagnostic.severity;
    let text = match (diagnostic.rule, severity) {
        (Some(_), _) => format!("A finding of the scanner's rule {id}."),
        (None, Severity::Refused) => "The file is refused: it is not read as a playbook.".to_owned(),
        (None, Severity::NotServed) => "A skill is there and is not served.".to_owned(),
        (None, Severity::Warning) => {
            "Something was repaired, or is probably not what the author meant.".to_owned()
        }
        (None, Severity::Note) => "Something is not honoured, as documented.".to_owned(),
    };
    let mut rule = json!({
        "id": id,
        "shortDescription": { "text": text },
        "defaultConfiguration": { "level": level(severity) },
    });
    if diagnostic.rule.is_some() {
        // Dashboards sort by this number: 7.0 to 8.9 is high, 4.0 to 6.9 medium, below that low.
        let number = match severity {
            Severity::Refused => "8.0",
            Severity::Warning | Severity::NotServed => "5.0",
            Severity::Note => "2.0",
        };
        rule["properties"] = json!({ "security-severity": number, "tags": ["security"] });
    }
    rule
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Refused => "error",
        Severity::Warning | Severity::NotServed => "warning",
        Severity::Note => "note",
    }
}

/// In SARIF's messages braces are placeholders and doubled where they are meant, and `[text](target)` is a link.
fn message(source: &Source, diagnostic: &Diagnostic) -> String {
    let inside = source
        .entry
        .as_ref()
        .map_or_else(String::new, |entry| format!("{}:{}: ", text::escaped(entry, 200), diagnostic.line));
    let text = text::escaped(&format!("{inside}{}", sentence(diagnostic)), MESSAGE_CHARS_MAX);
    text.replace('{', "{{").replace('}', "}}").replace("](", "] (")
}

/// The place; in a zip that of the zip, which is the file that a dashboard has.
fn location(source: &Source, diagnostic: &Diagnostic) -> Value {
    let (line, column) = match source.entry {
        None => (diagnostic.line, diagnostic.column),
        Some(_) => (1, 1),
    };
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&source.file) },
        "region": { "startLine": line, "startColumn": column },
    } })
}

/// A relative reference where the path is relative, or below the current directory; otherwise a `file` URI.
fn uri(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let path = here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path);
    let path = path.strip_prefix(".").unwrap_or(path);
    let mut uri = if path.is_absolute() { "file://".to_owned() } else { String::new() };
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || URI_SAFE.contains(byte) {
            uri.push(char::from(*byte));
        } else {
            write!(uri, "%{byte:02X}").expect("a string takes what is written to it");
        }
    }
    uri
}

/// What makes a finding the same one after lines were added above it.
fn identity(source: &Source, diagnostic: &Diagnostic) -> String {
    let path = uri(&source.file);
    let parts = [
        rule_id(diagnostic),
        &path,
        source.entry.as_deref().unwrap_or_default(),
        &diagnostic.message,
        &diagnostic.excerpt,
    ];
    let digest = Digest::of_parts(parts.map(str::as_bytes)).to_string();
    digest.trim_start_matches("sha256:").chars().take(32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::diagnostic::Place;
    use crate::format::parse::Parsed;

    #[test]
    fn paths_are_uris_and_messages_have_no_placeholders_and_no_links() {
        assert_eq!(uri(Path::new("./a b/ä:%/SKILL.md")), "a%20b/%C3%A4%3A%25/SKILL.md");
        assert_eq!(uri(Path::new("/nowhere/a#b?c")), "file:///nowhere/a%23b%3Fc");
        let diagnostic =
            Diagnostic::refused(Place::line(4), "has {0} and [a](https://x)").found_by("RCE001", "x\ny");
        let parsed = Parsed { playbook: None, diagnostics: vec![diagnostic] };
        let source = Source { file: "x.zip".into(), entry: Some("a/SKILL.md".to_owned()), parsed };
        assert_eq!(
            message(&source, &source.parsed.diagnostics[0]),
            "a/SKILL.md:4: has {{0}} and [a] (https://x): `x\\u{{a}}y`"
        );
        let log: Value = serde_json::from_str(&log(&[source])).unwrap();
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"][0]["properties"]["security-severity"], "8.0");
        assert_eq!(run["results"][0]["ruleId"], "RCE001");
        assert_eq!(run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"], 1);
    }
}
