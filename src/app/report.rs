//! What there is to say about files, in the log: each finding once, where a person sees it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};

use crate::domain::agent::AgentSettings;
use crate::domain::playbook::Playbook;
use crate::domain::text;
use crate::engine::builder::is_always_on;
use crate::format::diagnostic::{FileReport, Severity};

/// How often long work is told of.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// When long work was last told of: short work never is.
#[derive(Debug)]
pub struct Pace(Mutex<Instant>);

impl Pace {
    /// From now on.
    #[must_use]
    pub fn start() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    /// Whether it is time to tell again.
    #[must_use]
    pub fn is_due(&self) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = told.elapsed() >= PROGRESS_INTERVAL;
        if is_due {
            *told = Instant::now();
        }
        is_due
    }
}

/// Logs the findings: refusals and warnings as such, notes for those who look for them.
pub fn log(reports: &[FileReport]) {
    for report in reports {
        let path = text::escaped_path(&report.path);
        for diagnostic in &report.diagnostics {
            let (line, message, hint) =
                (diagnostic.line, diagnostic.message.as_str(), diagnostic.hint.as_str());
            let rule = diagnostic.rule;
            let excerpt = (!diagnostic.excerpt.is_empty()).then_some(diagnostic.excerpt.as_str());
            match diagnostic.severity {
                Severity::Refused => warn!(%path, line, rule, excerpt, hint, "file refused: {message}"),
                Severity::NotServed => warn!(%path, hint, "not served: {message}"),
                Severity::Warning => warn!(%path, line, rule, excerpt, hint, "{message}"),
                Severity::Note => debug!(%path, line, rule, excerpt, hint, "{message}"),
            }
        }
    }
}

/// Logs how many of how many files are read, when it is time to.
pub fn log_reading(pace: &Pace, done: usize, of: usize) {
    if pace.is_due() {
        info!(done, of, "reading skills");
    }
}

/// Logs the files that were refused and are in order again.
pub fn log_mended(paths: &[PathBuf]) {
    for path in paths {
        info!(path = text::escaped_path(path), "file mended");
    }
}

/// Advice for a catalogue in which most playbooks would be offered on every turn; none when it does not apply.
#[must_use]
pub fn untriggered_advice<P: AsRef<Playbook>>(playbooks: &[P], settings: AgentSettings) -> Option<String> {
    let always_on = playbooks.iter().filter(|playbook| is_always_on((*playbook).as_ref(), settings)).count();
    (always_on * 2 > playbooks.len()).then(|| {
        format!(
            "{always_on} of {} playbooks have no triggers and are offered on every turn; for a directory of public \
             skills give --untriggered ranked, which ranks them by relevance",
            playbooks.len()
        )
    })
}
