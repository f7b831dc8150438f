//! The one name rule: what a playbook may be called, and what to propose when it may not.

use std::fmt;
use std::sync::Arc;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::limits::SLUG_CHARS_MAX;
use super::text;

/// A playbook's name: 1 to 64 lowercase ASCII letters, digits and single hyphens, none at the ends, and not a name
/// that Windows keeps for a device (an export is a directory of this name).
///
/// Cheap to clone. Ordered by its bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(Arc<str>);

impl Slug {
    /// Checks `name` against the rule. Nothing is trimmed, lowercased or normalised: that would make two names one.
    ///
    /// # Errors
    /// The rule that is broken, and a name that keeps it where one can be made.
    pub fn parse(name: &str) -> Result<Self, SlugError> {
        match broken_rule(name) {
            None => Ok(Self(name.into())),
            Some(rule) => Err(SlugError { name: text::escaped(name, 80), rule, suggestion: suggest(name) }),
        }
    }

    /// A name that keeps the rule, made from any text; none where nothing of it can be kept.
    #[must_use]
    pub fn suggest(text: &str) -> Option<Self> {
        suggest(text)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name in words, with a capital: `late-invoice` gives "Late invoice".
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut words = self.0.replace('-', " ");
        if let Some(first) = words.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        words
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name that breaks the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlugError {
    name: String,
    rule: String,
    suggestion: Option<Slug>,
}

impl SlugError {
    /// A name that keeps the rule, made from the one that does not.
    #[must_use]
    pub fn suggestion(&self) -> Option<&Slug> {
        self.suggestion.as_ref()
    }
}

impl fmt::Display for SlugError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name \"{}\" {}", self.name, self.rule)
    }
}

impl std::error::Error for SlugError {}

fn broken_rule(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is empty".to_owned());
    }
    if let Some(c) = name.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-')) {
        let shown = text::escaped(&c.to_string(), 4);
        return Some(format!(
            "contains \"{shown}\"; only lowercase letters a-z, digits and hyphens are allowed"
        ));
    }
    if name.len() > SLUG_CHARS_MAX {
        return Some(format!("has {} characters, the limit is {SLUG_CHARS_MAX}", name.len()));
    }
    if name.starts_with('-') || name.ends_with('-') {
        return Some("begins or ends with a hyphen".to_owned());
    }
    if name.contains("--") {
        return Some("contains two hyphens in a row".to_owned());
    }
    is_device_name(name)
        .then(|| "is a device name on Windows, where no directory can be called that".to_owned())
}

fn is_device_name(name: &str) -> bool {
    let numbered = name.len() == 4
        && (name.starts_with("com") || name.starts_with("lpt"))
        && name.as_bytes()[3].is_ascii_digit();
    numbered || matches!(name, "con" | "prn" | "aux" | "nul")
}

/// Makes a slug out of any text: marks stripped, lowercased, everything else a hyphen.
fn suggest(name: &str) -> Option<Slug> {
    let mut slug = String::new();
    for c in name.chars().nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == SLUG_CHARS_MAX {
            break;
        }
    }
    let trimmed = slug.trim_end_matches('-');
    let safe = if is_device_name(trimmed) { format!("{trimmed}-playbook") } else { trimmed.to_owned() };
    broken_rule(&safe).is_none().then(|| Slug(safe.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_and_its_suggestions() {
        let long = "a".repeat(65);
        for (name, suggestion) in [
            ("", None),
            ("café-notes", Some("cafe-notes")),
            ("data_cleaner", Some("data-cleaner")),
            ("Data-Cleaner", Some("data-cleaner")),
            ("a--b", Some("a-b")),
            ("-a", Some("a")),
            ("a-", Some("a")),
            (long.as_str(), Some(&long[..64])),
            ("ｐｄｆ", Some("pdf")),
            ("étude", Some("etude")),
            ("a.b", Some("a-b")),
            (" pdf ", Some("pdf")),
            ("pdf\n", Some("pdf")),
            ("猫", None),
            ("../evil", Some("evil")),
            ("..", None),
            ("C:\\x", Some("c-x")),
            ("a\0b", Some("a-b")),
            ("%2e%2e", Some("2e-2e")),
            ("con", Some("con-playbook")),
            ("nul", Some("nul-playbook")),
            ("lpt1", Some("lpt1-playbook")),
        ] {
            let error = Slug::parse(name).expect_err(name);
            assert_eq!(error.suggestion().map(Slug::as_str), suggestion, "{name:?}: {error}");
        }
        for name in ["a", "0", "pdf-fill", "con-notes", "a1-b2-c3", &"a".repeat(64)] {
            assert_eq!(Slug::parse(name).expect(name).as_str(), name);
        }
    }

    #[test]
    fn titles_are_the_name_in_words() {
        assert_eq!(Slug::parse("late-invoice").unwrap().in_words(), "Late invoice");
    }
}
