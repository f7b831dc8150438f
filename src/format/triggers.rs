//! Trigger lists in the spellings that files have.

use std::collections::HashSet;

use super::diagnostic::{Diagnostic, Place};
use super::yaml::{Node, Value};
use crate::domain::limits::{TRIGGER_CHARS_SHORT, TRIGGERS_MAX};
use crate::domain::playbook::trigger_fault;
use crate::domain::text;

/// Whose field it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `maitred-triggers`.
    Own,
    /// `triggers` of others, where ` OR ` separates too.
    Foreign,
}

/// What was read from one field.
#[derive(Default)]
pub(super) struct TriggerList {
    pub(super) place: Option<Place>,
    /// Trimmed, unquoted, without repetition, within their limits, in the order of the file.
    pub(super) triggers: Vec<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Whether the author wanted triggers although none could be read.
    pub(super) intended: bool,
}

/// Reads a field: a list, comma-separated text, or a JSON array of strings as text (for triggers that hold a comma).
pub(super) fn read(node: &Node, spelling: Spelling) -> TriggerList {
    let mut list = TriggerList { place: Some(node.place), ..TriggerList::default() };
    let mut candidates = Vec::new();
    match &node.value {
        Value::Scalar { text, .. } => split_text(text, spelling, &mut candidates),
        Value::Sequence(items) => {
            for item in items {
                match &item.value {
                    Value::Scalar { text, plain: true } => split_text(text, spelling, &mut candidates),
                    Value::Scalar { text, plain: false } => candidates.push(text.trim().to_owned()),
                    _ => list
                        .skip(item.place, format!("a trigger is {}, not text, and is ignored", item.kind())),
                }
            }
        }
        Value::Mapping(_) => {
            list.skip(node.place, "the triggers are a mapping, not a list or text".to_owned());
        }
    }
    list.keep(candidates, node.place);
    list
}

/// The line that gives a playbook these triggers.
pub(super) fn line_to_write(triggers: &[String]) -> String {
    if triggers.is_empty() {
        return "maitred-triggers: \"first phrase, second phrase\"".to_owned();
    }
    let shown = triggers.iter().take(6).map(|trigger| text::escaped(trigger, 60)).collect::<Vec<_>>();
    format!("maitred-triggers: \"{}\"", shown.join(", "))
}

fn split_text(text: &str, spelling: Spelling, out: &mut Vec<String>) {
    let trimmed = text.trim();
    if trimmed.starts_with('[')
        && let Ok(items) = serde_json::from_str::<Vec<String>>(trimmed)
    {
        out.extend(items);
        return;
    }
    let bare = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(trimmed);
    for piece in bare.split([',', '，', '、', '،', '\n', '\r']) {
        let piece = piece.trim();
        let piece = piece.strip_prefix("- ").unwrap_or(piece);
        if spelling == Spelling::Foreign && piece.contains(" OR ") {
            out.extend(piece.split(" OR ").map(unquote));
        } else {
            out.push(unquote(piece));
        }
    }
}

fn unquote(piece: &str) -> String {
    let piece = piece.trim();
    [('"', '"'), ('\'', '\''), ('“', '”'), ('`', '`')]
        .iter()
        .find_map(|(open, close)| piece.strip_prefix(*open)?.strip_suffix(*close))
        .unwrap_or(piece)
        .trim()
        .to_owned()
}

impl TriggerList {
    fn skip(&mut self, place: Place, message: String) {
        self.diagnostics.push(Diagnostic::warning(place, message));
    }

    fn keep(&mut self, candidates: Vec<String>, place: Place) {
        let mut seen = HashSet::new();
        let mut blank = 0;
        let mut over = 0;
        for (index, trigger) in candidates.into_iter().enumerate() {
            if trigger.trim().is_empty() {
                blank += 1;
            } else if let Some(fault) = trigger_fault(&trigger) {
                self.skip(place, format!("trigger {} {fault}; it is ignored", index + 1));
            } else if self.triggers.len() == TRIGGERS_MAX {
                over += 1;
            } else if seen.insert(text::fold(&trigger)) {
                self.triggers.push(trigger);
            }
        }
        if blank > 0 {
            self.skip(place, format!("{blank} blank triggers are ignored: they would match every turn"));
        }
        if over > 0 {
            self.skip(place, format!("{over} triggers beyond the limit of {TRIGGERS_MAX} are ignored"));
        }
        self.report_short(place);
    }

    fn report_short(&mut self, place: Place) {
        let is_short = |trigger: &&String| trigger.is_ascii() && trigger.trim().len() <= TRIGGER_CHARS_SHORT;
        let short: Vec<String> = self
            .triggers
            .iter()
            .filter(is_short)
            .map(|trigger| format!("\"{}\"", text::escaped(trigger, 9)))
            .collect();
        if !short.is_empty() {
            let message = format!(
                "triggers of {TRIGGER_CHARS_SHORT} characters or fewer fire inside other words: {}",
                short.join(", ")
            );
            self.diagnostics.push(
                Diagnostic::warning(place, message)
                    .hint("write longer phrases, or match whole words (`trigger_match = word`)"),
            );
        }
    }
}
