//! Trigger lists in the spellings that files have.

use std::collections::HashSet;

use super::diagnostic::{Diagnostic, Place};
use super::yaml::{Node, Value};
use crate::domain::limits::{TRIGGER_CHARS_SHORT, TRIGGERS_MAX};
use crate::domain::playbook::{is_everywhere, is_fragment, trigger_fault};
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
        Value::Scalar { text, plain } if is_null(text, *plain) => {}
        Value::Scalar { text, .. } => list.split_text(text, node.place, spelling, &mut candidates),
        Value::Sequence(items) => {
            for item in items {
                list.item(item, spelling, &mut candidates);
            }
        }
        Value::Mapping(_) => {
            list.skip(node.place, "the triggers are a mapping, not a list or text".to_owned());
        }
    }
    list.keep(candidates, node.place);
    list
}

/// The value of a field that gives these triggers: separated by commas, or a JSON array where one of them would not
/// come back that way.
pub(super) fn write(triggers: &[String]) -> String {
    let (place, mut read, mut list) = (Place::line(1), Vec::new(), TriggerList::default());
    let text = triggers.join(", ");
    list.split_text(&text, place, Spelling::Own, &mut read);
    if read == triggers || triggers.is_empty() {
        return text;
    }
    serde_json::to_string(triggers).expect("a list of texts is JSON")
}

/// The line that gives a playbook these triggers.
pub(super) fn line_to_write(triggers: &[String]) -> String {
    if triggers.is_empty() {
        return "maitred-triggers: \"first phrase, second phrase\"".to_owned();
    }
    let shown = triggers.iter().take(6).map(|trigger| text::escaped(trigger, 60)).collect::<Vec<_>>();
    format!("maitred-triggers: \"{}\"", shown.join(", "))
}

/// Whether a value is YAML's word for nothing.
fn is_null(text: &str, plain: bool) -> bool {
    plain && matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn unquote(piece: &str) -> String {
    let piece = piece.trim();
    [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’'), ('«', '»'), ('「', '」'), ('`', '`')]
        .iter()
        .find_map(|(open, close)| piece.strip_prefix(*open)?.strip_suffix(*close))
        .unwrap_or(piece)
        .trim()
        .to_owned()
}

impl TriggerList {
    fn item(&mut self, item: &Node, spelling: Spelling, out: &mut Vec<String>) {
        match &item.value {
            Value::Scalar { text, plain } if is_null(text, *plain) => out.push(String::new()),
            Value::Scalar { text, plain: true } => self.split_text(text, item.place, spelling, out),
            Value::Scalar { text, plain: false } => out.push(text.clone()),
            // An unquoted colon in a list item: `- pitch deck: now`.
            Value::Mapping(entries) if entries.len() == 1 && entries[0].node.text().is_some() => {
                let text = format!("{}: {}", entries[0].key, entries[0].node.text().unwrap_or_default());
                let shown = text::escaped(&text, 60);
                self.skip(item.place, format!("a trigger has an unquoted colon; read as \"{shown}\""));
                out.push(text);
            }
            _ => self.skip(item.place, format!("a trigger is {}, not text, and is ignored", item.kind())),
        }
    }

    fn split_text(&mut self, text: &str, place: Place, spelling: Spelling, out: &mut Vec<String>) {
        let trimmed = text.trim();
        if trimmed.starts_with('[') {
            if let Ok(items) = serde_json::from_str::<Vec<String>>(trimmed) {
                out.extend(items);
                return;
            }
            let message = "the triggers begin like a JSON array and are none; read as separated by commas";
            self.skip(place, message.to_owned());
        }
        let bare = trimmed.strip_prefix('[').unwrap_or(trimmed);
        let bare = bare.strip_suffix(']').unwrap_or(bare);
        for piece in bare.split([',', '，', '、', '،', '\n', '\r']) {
            let piece = piece.trim();
            let piece = ["- ", "* ", "• "].iter().find_map(|mark| piece.strip_prefix(mark)).unwrap_or(piece);
            if spelling == Spelling::Foreign && piece.contains(" OR ") {
                out.extend(piece.split(" OR ").map(unquote));
            } else {
                out.push(unquote(piece));
            }
        }
    }

    fn skip(&mut self, place: Place, message: String) {
        self.diagnostics.push(Diagnostic::warning(place, message));
    }

    fn keep(&mut self, candidates: Vec<String>, place: Place) {
        let mut seen = HashSet::new();
        let (mut blank, mut everywhere) = (0, Vec::new());
        let mut over = 0;
        for (index, candidate) in candidates.into_iter().enumerate() {
            let trigger = text::one_line(&candidate);
            if text::is_blank(&trigger) {
                blank += 1;
            } else if let Some(fault) = trigger_fault(&trigger) {
                self.skip(place, format!("trigger {} {fault}; it is ignored", index + 1));
            } else if is_everywhere(&trigger) {
                if seen.insert(text::fold(&trigger)) {
                    everywhere.push(format!("\"{}\"", text::escaped(&trigger, 9)));
                }
            } else if self.triggers.len() == TRIGGERS_MAX {
                over += 1;
            } else if seen.insert(text::fold(&trigger)) {
                self.triggers.push(trigger);
            }
        }
        if blank > 0 {
            self.skip(place, format!("blank triggers are ignored ({blank}): they would match every turn"));
        }
        if !everywhere.is_empty() {
            let message =
                format!("triggers that are in nearly every turn are ignored: {}", everywhere.join(", "));
            self.diagnostics
                .push(Diagnostic::warning(place, message).hint("write phrases of the playbook's subject"));
        }
        if let Some(trigger) = self.triggers.iter().find(|trigger| trigger.contains([';', '|'])) {
            let message =
                format!("\"{}\" is one trigger: commas separate triggers", text::escaped(trigger, 60));
            self.diagnostics
                .push(Diagnostic::warning(place, message).hint("write commas if these are several"));
        }
        if over > 0 {
            self.skip(place, format!("triggers beyond the limit of {TRIGGERS_MAX} are ignored ({over})"));
        }
        self.report_short(place);
    }

    fn report_short(&mut self, place: Place) {
        let is_short = |trigger: &&String| {
            trigger.is_ascii() && trigger.len() <= TRIGGER_CHARS_SHORT && !is_fragment(&text::fold(trigger))
        };
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
