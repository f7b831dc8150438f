//! The one door for the bytes of a SKILL.md: parsed, scanned, and refused where the scan says so.
//!
//! Whatever reads a SKILL.md comes through here, so that no way in skips the scanner. The file has no say: only its owner
//! has, by [`Overrides`].

use super::diagnostic::{Diagnostic, Place};
use super::parse::{Parsed, parse};
use super::scan::overrides::Overrides;
use super::scan::{self, Finding, Level, RULESET, Scan, Verdict};
use crate::domain::digest::Digest;

/// Parses and scans a file.
///
/// A HIGH or CRITICAL finding is a refusal, MEDIUM a warning, what is below a note. Of a refused file nothing but its
/// findings comes back.
#[must_use]
pub fn admit(bytes: &[u8], overrides: &Overrides) -> Parsed {
    let mut parsed = parse(bytes);
    let scan = scan::scan(bytes, parsed.playbook.as_ref());
    // What the parser quotes is the author's text, a secret as likely as not.
    for said in &mut parsed.diagnostics {
        said.message = scan::masked(&said.message);
        said.hint = scan::masked(&said.hint);
    }
    let is_let_in = settle(bytes, &scan, overrides, &mut parsed);
    parsed.diagnostics.extend(scan.findings.iter().filter_map(|finding| diagnostic(finding, is_let_in)));
    if scan.more > 0 {
        let message = format!("the scan has {} more findings of these rules", scan.more);
        parsed.diagnostics.push(Diagnostic::note(Place::line(1), message));
    }
    parsed.diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
    if parsed.refusal().is_some() {
        parsed.playbook = None;
    }
    parsed
}

/// Whether the owner lets a blocked file in; says so, or how.
fn settle(bytes: &[u8], scan: &Scan, overrides: &Overrides, parsed: &mut Parsed) -> bool {
    let entry = overrides.of(bytes);
    let Verdict::Blocked(level) = scan.verdict() else {
        if let Some(entry) = entry {
            let message = format!("{} is not needed: nothing here is blocked", entry.by);
            parsed.diagnostics.push(Diagnostic::note(Place::line(1), message));
        }
        return false;
    };
    match entry {
        Some(entry) if level == Level::Critical => {
            let message = format!("{} has no effect: CRITICAL is never let in", entry.by);
            parsed.diagnostics.push(Diagnostic::warning(Place::line(1), message));
            false
        }
        Some(entry) if parsed.playbook.is_none() => {
            let message = format!("{} has no effect: the file is no playbook", entry.by);
            parsed.diagnostics.push(Diagnostic::warning(Place::line(1), message));
            false
        }
        Some(entry) if entry.holds() => {
            let message = format!(
                "let in by {} in spite of its findings: {}",
                entry.by,
                crate::domain::text::escaped(&entry.reason, 500)
            );
            parsed.diagnostics.push(Diagnostic::warning(Place::line(1), message));
            true
        }
        Some(entry) => {
            let ruleset = entry.ruleset.as_deref().unwrap_or_default();
            let message = format!(
                "{} holds for the ruleset {}, the rules are {RULESET} now",
                entry.by,
                crate::domain::text::escaped(ruleset, 40)
            );
            parsed.diagnostics.push(Diagnostic::warning(Place::line(1), message).hint("look at it again"));
            false
        }
        // A file that the parser refuses cannot be let in: first it has to be read.
        None if level == Level::High && parsed.playbook.is_some() => {
            let digest = Digest::of_bytes(bytes);
            let message =
                format!("its owner may let it in: `{digest} {RULESET} <reason>` in the --allow-file");
            parsed.diagnostics.push(Diagnostic::note(Place::line(1), message));
            false
        }
        None => false,
    }
}

/// What there is to say about a finding; none where the parser says it already.
fn diagnostic(finding: &Finding, is_let_in: bool) -> Option<Diagnostic> {
    let place = Place { line: finding.line, column: finding.column };
    let encoded = if finding.decoded { ", encoded" } else { "" };
    let message = format!("{}{encoded} ({})", finding.rule.what, finding.level.as_str());
    let is_parsers = matches!(finding.rule.id, "TGW001" | "TGW002") && finding.level == Level::Info;
    let said = match finding.level {
        Level::Critical => Diagnostic::refused(place, message),
        Level::High if !is_let_in => Diagnostic::refused(place, message),
        Level::High => Diagnostic::warning(place, message),
        Level::Medium => Diagnostic::warning(place, format!("{message}; it needs review")),
        Level::Low | Level::Info if is_parsers => return None,
        Level::Low | Level::Info => Diagnostic::note(place, message),
    };
    Some(said.hint(finding.rule.hint).found_by(finding.rule.id, finding.excerpt.clone()))
}
