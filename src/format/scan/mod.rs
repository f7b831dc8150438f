//! The scanner: what in a SKILL.md looks like an attack, as a deterministic scan without network or model.
//!
//! It is triage, not a proof: rules see code-like attacks, hidden characters and encodings; they do not understand
//! prose. What is guaranteed rests elsewhere (dropped tool grants, menus bound to a turn, digests).
//!
//! Each pattern runs over up to three views: the raw text; the text as it looks (NFKC, invisible characters gone,
//! confusables folded), where anything is disguised; and what is encoded in it, one layer deep. Positions are always
//! those of the file.
//!
//! **Invariants**: equal bytes give an equal scan; nothing in the file can lower a severity but the documented guards,
//! and no guard lowers a hidden or encoded hit. **Cost**: linear; each view is at most as long as the file, and each
//! guard looks at a window of bounded size.

mod guards;
mod hit;
mod layers;
mod pattern;
mod regions;
mod search;
mod settle;
mod sink;
mod views;
mod words;

mod credentials;
mod destruction;
mod downloads;
mod encoded;
mod exfiltration;
mod grants;
mod hidden;
mod injection;
mod persistence;
mod remote_execution;
mod secrets;
mod structure;
mod urls;

pub mod overrides;

use std::sync::LazyLock;

use self::hit::Hit;
pub use self::regions::Region;
use self::views::View;
use crate::domain::limits::FILE_BYTES_MAX;
use crate::domain::playbook::Playbook;

/// The version of the rules. A verdict holds for a digest and a ruleset; it changes with every change of a rule.
pub const RULESET: &str = "2026-12-03";

/// How bad a finding is. Ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Probably harmless.
    Low,
    /// A person should look at it.
    Medium,
    /// The file is refused, unless its owner says otherwise.
    High,
    /// The file is refused, whatever anyone says.
    Critical,
}

impl Level {
    /// The level as a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }

    fn raised(self) -> Self {
        match self {
            Self::Info => Self::Low,
            Self::Low => Self::Medium,
            Self::Medium => Self::High,
            Self::High | Self::Critical => Self::Critical,
        }
    }

    fn lowered(self) -> Self {
        match self {
            Self::Info | Self::Low => Self::Info,
            Self::Medium => Self::Low,
            Self::High => Self::Medium,
            Self::Critical => Self::High,
        }
    }
}

/// A rule: what it finds and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, stable for ever.
    pub id: &'static str,
    /// How bad a plain hit is.
    pub level: Level,
    /// What it finds: lower case, no full stop.
    pub what: &'static str,
    /// What to do about it.
    pub hint: &'static str,
    /// What others call it: Cisco's `AITech`, OWASP's LLM Top 10, Snyk's codes.
    pub taxonomy: &'static [&'static str],
}

/// Something that a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// How bad it is here, after its guards.
    pub level: Level,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What stands there: at most 160 characters, controls escaped, secrets cut to a prefix and their length.
    pub excerpt: String,
    /// Where in the file it stands.
    pub region: Region,
    /// Whether it was encoded.
    pub decoded: bool,
}

/// What a scan found. Findings stand in the file's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The findings: at most one of a rule on a line, and five of a rule.
    pub findings: Vec<Finding>,
    /// How many more there are.
    pub more: usize,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing above LOW.
    Clean,
    /// A MEDIUM finding: a person should look at it.
    NeedsReview,
    /// A finding of this level, HIGH or CRITICAL.
    Blocked(Level),
}

impl Scan {
    /// What becomes of the file.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.findings.iter().map(|finding| finding.level).max() {
            None | Some(Level::Info | Level::Low) => Verdict::Clean,
            Some(Level::Medium) => Verdict::NeedsReview,
            Some(level) => Verdict::Blocked(level),
        }
    }
}

/// Every rule, in the order of the documentation.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

static FAMILIES: [&[Rule]; 12] = [
    hidden::RULES,
    injection::RULES,
    exfiltration::RULES,
    credentials::RULES,
    remote_execution::RULES,
    destruction::RULES,
    persistence::RULES,
    grants::RULES,
    secrets::RULES,
    encoded::RULES,
    urls::RULES,
    structure::RULES,
];

static PATTERNS: LazyLock<pattern::Patterns> = LazyLock::new(|| {
    pattern::Patterns::new(&[
        injection::PATTERNS,
        exfiltration::PATTERNS,
        credentials::PATTERNS,
        remote_execution::PATTERNS,
        destruction::PATTERNS,
        persistence::PATTERNS,
        grants::PATTERNS,
        hidden::PATTERNS,
        urls::PATTERNS,
    ])
});

/// A text of the file as a report may quote it: of secrets the first characters and the length.
pub(in crate::format) fn masked(text: &str) -> String {
    secrets::masked(text)
}

/// The rule of this name.
fn rule(id: &str) -> &'static Rule {
    rules().find(|rule| rule.id == id).expect("a family names its own rules")
}

/// A file that is being scanned.
struct File<'a> {
    text: &'a str,
    regions: regions::Regions,
    subject: guards::Subject,
}

/// Scans the bytes of a SKILL.md. What the parser made of them, if anything, is scanned too: a YAML escape hides text.
///
/// Bytes that the parser refuses as such (too many, not UTF-8) have no findings.
#[must_use]
pub fn scan(bytes: &[u8], playbook: Option<&Playbook>) -> Scan {
    let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= FILE_BYTES_MAX) else {
        return Scan::default();
    };
    let regions = regions::Regions::of(text);
    let subject = guards::Subject::of(text, &regions);
    let file = File { text, regions, subject };
    let mut hits: Vec<Hit> = Vec::new();
    hidden::check(&file, &mut hits);
    structure::check(&file, playbook, &mut hits);
    let raw = View::raw(text);
    let folded = views::folded(text);
    encoded::check(&file, folded.as_ref().unwrap_or(&raw), &mut hits);
    let decoded = layers::decoded(&file, folded.as_ref().unwrap_or(&raw), playbook);
    for view in [Some(&raw), folded.as_ref(), decoded.as_ref()].into_iter().flatten() {
        PATTERNS.run(&file, view, &mut hits);
        downloads::check(&file, view, &mut hits);
        secrets::check(&file, view, &mut hits);
        urls::check(&file, view, &mut hits);
    }
    settle::settle(&file, hits)
}
