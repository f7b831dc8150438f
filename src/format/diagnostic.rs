//! What there is to say about a file: where, how bad, what it is, and what to do.

use std::fmt;
use std::path::PathBuf;

/// One finding about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What it is: lower case, no full stop, names the thing and the limit.
    pub message: String,
    /// What to do about it; may be empty.
    pub hint: String,
    /// The rule of the scanner that found it; none where the parser did.
    pub rule: Option<&'static str>,
    /// What stands there, with controls escaped; may be empty.
    pub excerpt: String,
}

/// How bad a finding is. Ordered from harmless to fatal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Something is not honoured, as documented.
    Note,
    /// Something was repaired, or is probably not what the author meant.
    Warning,
    /// A skill is there and is not served, for a reason that lies not in its file.
    NotServed,
    /// The file is refused.
    Refused,
}

impl Severity {
    /// The severity as a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::NotServed => "not served",
            Self::Refused => "refused",
        }
    }
}

impl Diagnostic {
    /// A note.
    #[must_use]
    pub fn note(place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, place, message)
    }

    /// A warning.
    #[must_use]
    pub fn warning(place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, place, message)
    }

    /// A skill that is not served although nothing is wrong with its file.
    #[must_use]
    pub fn not_served(message: impl Into<String>) -> Self {
        Self::new(Severity::NotServed, Place::line(1), message)
    }

    /// A refusal.
    #[must_use]
    pub fn refused(place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Refused, place, message)
    }

    fn new(severity: Severity, place: Place, message: impl Into<String>) -> Self {
        Self {
            severity,
            line: place.line,
            column: place.column,
            message: message.into(),
            hint: String::new(),
            rule: None,
            excerpt: String::new(),
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn place(&self) -> Place {
        Place { line: self.line, column: self.column }
    }

    /// The same finding with the scanner's rule and what stands there.
    #[must_use]
    pub fn found_by(mut self, rule: &'static str, excerpt: impl Into<String>) -> Self {
        (self.rule, self.excerpt) = (Some(rule), excerpt.into());
        self
    }

    /// The same finding with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}

/// A place in a file, both numbers from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column in characters.
    pub column: usize,
}

impl Place {
    /// The beginning of a line.
    #[must_use]
    pub fn line(line: usize) -> Self {
        Self { line, column: 1 }
    }
}

/// What there is to say about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// What there is to say, in the file's order.
    pub diagnostics: Vec<Diagnostic>,
}
