//! The names of a zip's entries: which are refused, which are junk, and which would be one file when unpacked.

use crate::domain::limits::{ARCHIVE_LEVELS_MAX, ARCHIVE_NAME_BYTES_MAX};
use crate::domain::text;

/// Files and directories that systems leave in archives, and the insides of a repository.
const JUNK: [&str; 5] = ["__MACOSX", ".DS_Store", ".git", "Thumbs.db", "desktop.ini"];

/// What is wrong with the name of an entry: somebody who unpacks it writes elsewhere, or to a name that is not the one shown.
pub(super) fn fault(name: &str) -> Option<String> {
    let path = name.strip_suffix('/').unwrap_or(name);
    if path.is_empty() {
        return Some("the name of the entry is empty".to_owned());
    }
    if name.len() > ARCHIVE_NAME_BYTES_MAX {
        return Some(format!("its name has {} bytes, the limit is {ARCHIVE_NAME_BYTES_MAX}", name.len()));
    }
    if name.contains('\0') {
        return Some("its name has a NUL, where some programs end it".to_owned());
    }
    if name.contains('\\') {
        return Some("its name has a backslash, which separates directories on Windows".to_owned());
    }
    if name.chars().any(char::is_control) {
        return Some("its name has a control character".to_owned());
    }
    if name.starts_with('/') {
        return Some("its name is an absolute path".to_owned());
    }
    let mut first = name.chars();
    if first.next().is_some_and(|c| c.is_ascii_alphabetic()) && first.next() == Some(':') {
        return Some("its name begins with a drive letter".to_owned());
    }
    if path.split('/').any(|part| part == "..") {
        return Some("its name leads out of the archive with `..`".to_owned());
    }
    if path.split('/').any(|part| matches!(part, "" | ".")) {
        return Some("its name has an empty part, or one that is `.`".to_owned());
    }
    let levels = path.split('/').count() - 1;
    (levels > ARCHIVE_LEVELS_MAX)
        .then(|| format!("it lies {levels} directories deep, the limit is {ARCHIVE_LEVELS_MAX}"))
}

/// Whether an entry is no part of what its author wanted to give.
pub(super) fn is_junk(name: &str) -> bool {
    name.split('/').any(|part| JUNK.contains(&part) || part.starts_with("._"))
}

/// The form under which two names are one file on some system: caseless, composed, without the blanks and dots that
/// Windows takes off the end of each part.
pub(super) fn unpacked(name: &str) -> String {
    let parts = name.trim_end_matches('/').split('/').map(|part| part.trim_end_matches([' ', '.']));
    text::fold(&parts.collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_escape_or_deceive_are_refused() {
        for (name, wanted) in [
            ("../SKILL.md", "`..`"),
            ("a/../../x/SKILL.md", "`..`"),
            ("a/..", "`..`"),
            ("..", "`..`"),
            ("../", "`..`"),
            ("/etc/SKILL.md", "absolute"),
            ("//host/SKILL.md", "absolute"),
            ("a\\..\\..\\x/SKILL.md", "backslash"),
            ("\\\\host\\x", "backslash"),
            ("C:/x/SKILL.md", "drive letter"),
            ("c:x", "drive letter"),
            ("a\0/SKILL.md", "NUL"),
            ("a\u{1b}[2J/SKILL.md", "control"),
            ("a\u{85}b", "control"),
            ("a//SKILL.md", "empty part"),
            ("a/./SKILL.md", "empty part"),
            ("", "empty"),
            ("/", "empty"),
        ] {
            assert!(fault(name).is_some_and(|fault| fault.contains(wanted)), "{name:?}: {:?}", fault(name));
        }
        assert!(fault(&"a/".repeat(600)).is_some_and(|fault| fault.contains("has 1200 bytes")));
        assert!(fault(&"a/".repeat(40)).is_some_and(|fault| fault.contains("39 directories deep")));
        for name in ["SKILL.md", "a/SKILL.md", "a/", "ä/猫.md", "a/..b/c..", "a/b:c", "...", "a b/SKILL.md"]
        {
            assert_eq!(fault(name), None, "{name:?}");
        }
    }

    #[test]
    fn junk_and_twins() {
        for name in ["__MACOSX/a/SKILL.md", "a/.DS_Store", "a/._SKILL.md", ".git/config", "a/Thumbs.db"] {
            assert!(is_junk(name), "{name}");
        }
        assert!(!is_junk("a/macosx/SKILL.md"));
        for (a, b) in
            [("A/SKILL.md", "a/skill.md"), ("cafe\u{301}/x", "caf\u{e9}/x"), ("a./x ", "a/x"), ("a/", "a")]
        {
            assert_eq!(unpacked(a), unpacked(b));
        }
        assert_ne!(unpacked("a/b"), unpacked("ab"));
    }
}
