//! The findings as GitHub's workflow commands: each becomes an annotation of its line in a pull request.
//!
//! **Invariants**: one command a line, whatever stands in paths and messages. The escapes are those of GitHub's toolkit:
//! `%`, carriage return and line feed in data; colon and comma besides in properties.

use std::path::Path;

use crate::cli::sources::Source;
use crate::domain::text;
use crate::format::diagnostic::{Diagnostic, Severity};

/// One command a finding.
pub(super) fn commands(sources: &[Source]) -> String {
    let mut out = String::new();
    for source in sources {
        for diagnostic in &source.parsed.diagnostics {
            out += &command(&source.file, source.entry.as_deref(), diagnostic);
            out.push('\n');
        }
    }
    out
}

fn command(file: &Path, entry: Option<&str>, diagnostic: &Diagnostic) -> String {
    let command = match diagnostic.severity {
        Severity::Refused => "error",
        Severity::Warning | Severity::NotServed => "warning",
        Severity::Note => "notice",
    };
    let title = diagnostic.rule.map_or_else(
        || format!("maitred: {}", diagnostic.severity.as_str()),
        |rule| format!("maitred: {rule}"),
    );
    // An annotation belongs to a file of the repository; the place in a zip is told in words.
    let (line, column, inside) = match entry {
        None => (diagnostic.line, diagnostic.column, String::new()),
        Some(entry) => (1, 1, format!("{}:{}: ", text::escaped(entry, 200), diagnostic.line)),
    };
    let message = format!("{inside}{}", sentence(diagnostic));
    format!(
        "::{command} file={},line={line},col={column},title={}::{}",
        property(&text::escaped_path(file)),
        property(&title),
        data(&message)
    )
}

/// What it is, what stands there, what to do.
pub(super) fn sentence(diagnostic: &Diagnostic) -> String {
    let Diagnostic { message, excerpt, hint, .. } = diagnostic;
    let excerpt = if excerpt.is_empty() { String::new() } else { format!(": `{excerpt}`") };
    let hint = if hint.is_empty() { String::new() } else { format!("; {hint}") };
    format!("{message}{excerpt}{hint}")
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::diagnostic::Place;

    #[test]
    fn a_finding_is_one_command_whatever_stands_in_it() {
        let place = Place { line: 3, column: 7 };
        let refused = Diagnostic::refused(place, "100% wrong,\r\n::error::forged").hint("a: b");
        assert_eq!(
            command(Path::new("a,b:c/SKILL.md"), None, &refused),
            "::error file=a%2Cb%3Ac/SKILL.md,line=3,col=7,title=maitred%3A refused::100%25 wrong,%0D%0A::error::forged; a: b"
        );
        let found = Diagnostic::warning(place, "fetches and runs").found_by("RCE001", "curl u | sh");
        assert_eq!(
            command(Path::new("x.zip"), Some("a/SKILL.md"), &found),
            "::warning file=x.zip,line=1,col=1,title=maitred%3A RCE001::a/SKILL.md:3: fetches and runs: `curl u | sh`"
        );
        let note = Diagnostic::note(place, "x");
        assert!(command(Path::new("a\nb"), None, &note).starts_with("::notice file=a\\u{a}b,line=3"));
    }
}
