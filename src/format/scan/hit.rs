//! A hit: what a rule found, before it is judged beside the others.

use super::views::{Kind, View};
use super::{Level, Rule};

/// Characters of an excerpt.
pub(super) const EXCERPT_CHARS_MAX: usize = 160;

/// Bytes of the file that an excerpt is cut from at most: enough for its characters.
pub(super) const EXCERPT_BYTES_MAX: usize = 4 * EXCERPT_CHARS_MAX;

/// Bytes behind an excerpt's end that are looked at, so that a secret that begins in it is seen whole.
pub(super) const SECRET_BYTES_MAX: usize = 8_192;

/// What a rule found, in bytes of the file.
pub(super) struct Hit {
    pub(super) rule: &'static Rule,
    pub(super) level: Level,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
    /// What stands there when it is not the file's own text.
    pub(super) shown: Option<String>,
}

impl Hit {
    pub(super) fn new(rule: &'static Rule, level: Level, view: &View<'_>, start: usize, end: usize) -> Self {
        let (from, to) = (view.raw_of(start), view.raw_of(end.saturating_sub(1)) + 1);
        let shown = (view.kind == Kind::Decoded).then(|| {
            let end = end.min(start + EXCERPT_BYTES_MAX);
            // To the end of the word: half a secret has no shape that the mask knows.
            let rest = &view.text[end..view.text.len().min(end + SECRET_BYTES_MAX)];
            let end = end + rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
            String::from_utf8_lossy(&view.text[start..end]).into_owned()
        });
        Self { rule, level, start: from, end: to.max(from + 1), kind: view.kind, shown }
    }

    /// A hit of bytes of the file itself.
    pub(super) fn raw(rule: &'static Rule, level: Level, start: usize, end: usize) -> Self {
        Self { rule, level, start, end, kind: Kind::Raw, shown: None }
    }

    pub(super) fn shown(mut self, shown: String) -> Self {
        self.shown = Some(shown);
        self
    }
}
