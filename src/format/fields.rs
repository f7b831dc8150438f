//! The fields of a frontmatter: what is honoured, what is dropped, and what is named as not honoured.

use super::diagnostic::{Diagnostic, Place, Severity};
use super::fences::Parts;
use super::scan;
use super::triggers::{self, TriggerList};
use super::yaml::{Entry, Node, Tree, Value};
use crate::domain::limits::{ORDER_MAX, TITLE_CHARS_MAX};
use crate::domain::playbook::{Part, Playbook, PlaybookParts};
use crate::domain::slug::Slug;
use crate::domain::text;

/// Turns the tree into a playbook; none when a diagnostic refuses the file.
pub(super) fn interpret(
    tree: &Tree,
    parts: &Parts<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Playbook> {
    let mut reader = Reader { diagnostics, parts, draft: Draft::default() };
    for entry in &tree.entries {
        reader.top_level(entry);
    }
    reader.report_comments(tree);
    reader.settle_triggers();
    reader.finish()
}

struct Reader<'a> {
    diagnostics: &'a mut Vec<Diagnostic>,
    parts: &'a Parts<'a>,
    draft: Draft,
}

/// What was read so far.
#[derive(Default)]
struct Draft {
    name: Option<Place>,
    slug: Option<Slug>,
    description: Option<(Place, String)>,
    license: Option<String>,
    metadata: Vec<(String, String)>,
    title: Option<String>,
    order: Option<i32>,
    explicit: bool,
    source: Option<String>,
    own_triggers: Option<TriggerList>,
    /// `triggers` of others: where, under which key, and what it gives.
    foreign_triggers: Option<(Place, String, TriggerList)>,
    /// Where something stands that looks like a trigger field and was not read, and the value it would have given.
    unread_triggers: Option<(Place, TriggerList)>,
}

impl Reader<'_> {
    fn note(&mut self, place: Place, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::note(place, message));
    }

    fn warn(&mut self, place: Place, message: impl Into<String>, hint: impl Into<String>) {
        self.diagnostics.push(Diagnostic::warning(place, message).hint(hint));
    }

    fn refuse(&mut self, place: Place, message: impl Into<String>, hint: impl Into<String>) {
        self.diagnostics.push(Diagnostic::refused(place, message).hint(hint));
    }

    fn top_level(&mut self, entry: &Entry) {
        match entry.key.as_str() {
            "name" => self.name(entry),
            "description" => self.description(entry),
            "license" => self.license(entry),
            "metadata" => self.metadata(entry),
            "allowed-tools" => self.allowed_tools(entry),
            "compatibility" => self.note(
                entry.place,
                "`compatibility` is dropped: it describes the environment of its author, not of this agent",
            ),
            key => self.unknown(entry, key),
        }
    }

    fn unknown(&mut self, entry: &Entry, key: &str) {
        let (shown, lower) = (text::escaped(key, 60), key.to_lowercase());
        let message = format!("`{shown}` is not a field of the specification and is ignored");
        if matches!(lower.as_str(), "name" | "description" | "license" | "metadata") {
            self.warn(entry.place, message, format!("write `{lower}`, in lower case"));
        } else if key.is_empty() {
            self.note(entry.place, "an entry without a key is ignored");
        } else {
            self.note(entry.place, message);
        }
        self.remember_unread_triggers(entry);
    }

    fn name(&mut self, entry: &Entry) {
        self.draft.name = Some(entry.place);
        let Some(name) = entry.node.text() else {
            self.refuse(entry.place, format!("`name` is {}, not text", entry.node.kind()), "write one name");
            return;
        };
        match Slug::parse(name) {
            Ok(slug) => self.draft.slug = Some(slug),
            Err(error) => {
                let hint = error.suggestion().map_or_else(
                    || "choose a name such as `late-invoice`".to_owned(),
                    |slug| format!("`name: {slug}` is a name"),
                );
                self.refuse(entry.node.place, error.to_string(), hint);
            }
        }
    }

    fn description(&mut self, entry: &Entry) {
        if let Some(description) = entry.node.text() {
            self.draft.description = Some((entry.node.place, description.trim().to_owned()));
        } else {
            let message = format!("`description` is {}, not text", entry.node.kind());
            self.refuse(entry.place, message, "write one or two sentences");
            self.draft.description = Some((entry.place, String::new()));
        }
    }

    fn license(&mut self, entry: &Entry) {
        match entry.node.text() {
            Some(license) if !license.trim().is_empty() => {
                self.draft.license = Some(license.trim().to_owned());
            }
            Some(_) => self.note(entry.place, "`license` is empty and is ignored"),
            None => {
                let message = format!("`license` is {}, not text, and is ignored", entry.node.kind());
                self.warn(entry.place, message, "write the licence's name, such as `Apache-2.0`");
            }
        }
    }

    fn allowed_tools(&mut self, entry: &Entry) {
        let mut broad: Vec<String> =
            tool_names(&entry.node).into_iter().filter(|name| is_broad(name)).collect();
        broad.dedup();
        let asked = if broad.is_empty() {
            String::new()
        } else {
            format!("; it asked for broad grants: {}", text::escaped(&broad.join(", "), 120))
        };
        let message = format!("`allowed-tools` is dropped: a file never widens its own tool grant{asked}");
        self.note(entry.place, message);
    }

    fn metadata(&mut self, entry: &Entry) {
        match &entry.node.value {
            Value::Mapping(entries) => entries.iter().for_each(|entry| self.metadata_entry(entry)),
            Value::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null") => {}
            _ => {
                let message = format!("`metadata` is {}, not a mapping, and is ignored", entry.node.kind());
                self.warn(entry.place, message, "write `key: value` lines, indented");
                let mentions = entry.node.text().is_some_and(|text| text.contains("trigger"));
                let unread = mentions.then(|| (entry.place, TriggerList::default()));
                self.draft.unread_triggers =
                    self.draft.unread_triggers.take().or(unread).or(unread_in(&entry.node));
            }
        }
    }

    fn metadata_entry(&mut self, entry: &Entry) {
        match entry.key.as_str() {
            "maitred-triggers" => {
                self.draft.own_triggers = Some(triggers::read(&entry.node, triggers::Spelling::Own));
            }
            "maitred-title" => self.title(entry),
            "maitred-order" => self.order(entry),
            "maitred-explicit" => self.explicit(entry),
            "maitred-source" => self.draft.source = entry.node.text().map(str::to_owned),
            // In capitals, too: beside the field that an export writes it would be a repeated key.
            key if key.to_lowercase().starts_with("maitred-") => {
                let shown = text::escaped(key, 60);
                self.warn(
                    entry.place,
                    format!("`{shown}` is not a field of maitred and is ignored"),
                    "the fields are maitred-triggers, -title, -order, -explicit and -source",
                );
                self.remember_unread_triggers(entry);
            }
            "triggers" | "trigger" => {
                let list = triggers::read(&entry.node, triggers::Spelling::Foreign);
                self.draft.foreign_triggers.get_or_insert((entry.place, entry.key.clone(), list));
                self.foreign(entry);
            }
            _ => {
                self.remember_unread_triggers(entry);
                self.foreign(entry);
            }
        }
    }

    /// Keeps a scalar value of others; names a nested one, and one that is not there.
    fn foreign(&mut self, entry: &Entry) {
        let shown = text::escaped(&entry.key, 60);
        match &entry.node.value {
            Value::Scalar { text, plain } => {
                if *plain && text.is_empty() {
                    self.note(entry.place, format!("`metadata.{shown}` has no value"));
                }
                self.draft.metadata.push((entry.key.clone(), text.clone()));
            }
            _ if matches!(entry.key.as_str(), "triggers" | "trigger") => {}
            _ => {
                let kind = entry.node.kind();
                self.note(entry.place, format!("`metadata.{shown}` is {kind}, not text, and is ignored"));
            }
        }
    }

    fn title(&mut self, entry: &Entry) {
        let Some(title) = entry.node.text().map(text::one_line) else {
            let message = format!("`maitred-title` is {}, not text, and is ignored", entry.node.kind());
            return self.warn(entry.place, message, "without it the title is the name in words");
        };
        let chars = title.chars().count();
        if chars == 0 || chars > TITLE_CHARS_MAX {
            let message = format!(
                "`maitred-title` has {chars} characters and is ignored; 1 to {TITLE_CHARS_MAX} are possible"
            );
            self.warn(entry.place, message, "without it the title is the name in words");
        } else {
            self.draft.title = Some(title);
        }
    }

    fn order(&mut self, entry: &Entry) {
        let number = entry.node.text().and_then(|text| text.trim().parse::<i32>().ok());
        match number.filter(|number| (-ORDER_MAX..=ORDER_MAX).contains(number)) {
            Some(order) => self.draft.order = Some(order),
            None => self.warn(
                entry.place,
                format!("`maitred-order` is not a whole number within ±{ORDER_MAX} and is ignored"),
                "write for example `maitred-order: \"10\"`; lower comes first",
            ),
        }
    }

    fn explicit(&mut self, entry: &Entry) {
        match entry.node.text() {
            Some("true") => self.draft.explicit = true,
            Some("false") => self.draft.explicit = false,
            _ => self.warn(
                entry.place,
                "`maitred-explicit` is neither \"true\" nor \"false\" and is ignored",
                "write `maitred-explicit: \"true\"` to keep the playbook off menus",
            ),
        }
    }

    /// Remembers a field that looks like triggers, or holds one that does, and is not read as such.
    fn remember_unread_triggers(&mut self, entry: &Entry) {
        if self.draft.unread_triggers.is_none() {
            self.draft.unread_triggers = unread_of(entry);
        }
    }

    /// A ` #` in an unquoted value begins a comment in YAML; its author may have meant it as text.
    fn report_comments(&mut self, tree: &Tree) {
        for comment in &tree.comments {
            let honoured = tree.entries.iter().rev().find(|entry| entry.place.line <= comment.place.line);
            if honoured.is_some_and(|entry| matches!(entry.key.as_str(), "name" | "description" | "license"))
            {
                let shown = text::escaped(&scan::masked(comment.text.trim_end()), 60);
                self.warn(
                    comment.place,
                    format!("`#{shown}` is a comment and not part of the value"),
                    "put the value in double quotes if the text belongs to it",
                );
            }
        }
    }

    /// Decides which spelling stands, and says so when a file that wanted triggers has none.
    fn settle_triggers(&mut self) {
        let own = self.draft.own_triggers.take();
        let foreign = self.draft.foreign_triggers.take();
        if let Some((place, key, list)) = &foreign {
            if own.is_some() {
                self.note(*place, format!("`metadata.{key}` is ignored: `maitred-triggers` stands"));
            } else if !list.triggers.is_empty() {
                self.note(*place, format!("`metadata.{key}` is read as triggers"));
            }
        }
        let read = own.or(foreign.map(|(_, _, list)| list));
        let unread = self.draft.unread_triggers.take();
        let wanted = read.is_some() || unread.is_some();
        let mut list = read.unwrap_or_default();
        self.diagnostics.append(&mut list.diagnostics);
        if list.triggers.is_empty() && wanted {
            let top = Place::line(self.parts.fence_line);
            let (place, proposal) = unread.map_or_else(
                || (list.place.unwrap_or(top), Vec::new()),
                |(place, list)| (place, list.triggers),
            );
            let line = triggers::line_to_write(&proposal);
            self.warn(
                place,
                "triggers are intended here, and none could be read: the playbook is not offered always",
                format!("write under `metadata:` the line `{line}`"),
            );
            list.intended = true;
        }
        self.draft.own_triggers = Some(list);
    }

    fn finish(self) -> Option<Playbook> {
        let Self { diagnostics, parts, draft } = self;
        let (top, body_place) = (Place::line(parts.fence_line), Place::line(parts.body_line));
        if draft.name.is_none() {
            let hint = "add a line such as `name: late-invoice`";
            diagnostics.push(Diagnostic::refused(top, "there is no `name`").hint(hint));
        }
        if draft.description.is_none() {
            let hint = "add a line `description: what it does, and when to use it`";
            diagnostics.push(Diagnostic::refused(top, "there is no `description`").hint(hint));
        }
        if text::is_blank(parts.body) {
            let hint = "write the steps below the frontmatter";
            diagnostics.push(Diagnostic::warning(body_place, "the body is empty").hint(hint));
        }
        let list = draft.own_triggers.unwrap_or_default();
        let (description_place, description) = draft.description?;
        // Without a valid name the limits are still checked, so that one look at the answer is enough.
        let slug = draft.slug.clone().unwrap_or_else(|| Slug::parse("unnamed").expect("it keeps the rule"));
        let built = Playbook::new(PlaybookParts {
            slug,
            title: draft.title,
            description,
            triggers: list.triggers,
            triggers_wanted: list.intended,
            order: draft.order,
            explicit: draft.explicit,
            license: draft.license,
            source: draft.source,
            metadata: draft.metadata,
            body: parts.body.to_owned(),
        });
        let error = match built {
            Ok(playbook) => return draft.slug.map(|_| playbook),
            Err(error) => error,
        };
        let (place, hint) = match error.part {
            Part::Description => {
                (description_place, "say in one or two sentences what it does and when to use it")
            }
            Part::Body => (body_place, "a playbook that does not fit is two playbooks"),
            Part::Title | Part::Triggers => (top, "shorten it"),
        };
        // A description that is not text has been refused already.
        if !diagnostics.iter().any(|d| d.severity == Severity::Refused && d.place() == place) {
            diagnostics.push(Diagnostic::refused(place, error.message).hint(hint));
        }
        None
    }
}

/// A trigger field at or below an entry that is not read.
fn unread_of(entry: &Entry) -> Option<(Place, TriggerList)> {
    if entry.key.to_lowercase().contains("trigger") {
        return Some((entry.place, triggers::read(&entry.node, triggers::Spelling::Foreign)));
    }
    unread_in(&entry.node)
}

fn unread_in(node: &Node) -> Option<(Place, TriggerList)> {
    match &node.value {
        Value::Scalar { .. } => None,
        Value::Sequence(items) => items.iter().find_map(unread_in),
        Value::Mapping(entries) => entries.iter().find_map(unread_of),
    }
}

/// The tool names of an `allowed-tools` value in any spelling.
fn tool_names(node: &Node) -> Vec<String> {
    match &node.value {
        Value::Scalar { text, .. } => text
            .split([',', ' ', '\n'])
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        Value::Sequence(items) => items.iter().flat_map(tool_names).collect(),
        Value::Mapping(entries) => entries.iter().map(|entry| entry.key.clone()).collect(),
    }
}

/// Whether a grant covers everything that a tool, or any tool, can do.
fn is_broad(name: &str) -> bool {
    name == "*"
        || name == "Bash"
        || name.contains("(*)")
        || (name.starts_with("mcp__") && name.ends_with('*'))
}
