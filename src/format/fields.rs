//! The fields of a frontmatter: what is honoured, what is dropped, and what is named as not honoured.

use super::diagnostic::{Diagnostic, Place};
use super::fences::Parts;
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
    let mut reader = Reader { diagnostics, fence_line: parts.fence_line, draft: Draft::default() };
    for entry in &tree.entries {
        reader.top_level(entry);
    }
    reader.report_comments(tree);
    reader.settle_triggers();
    reader.finish(parts.body)
}

struct Reader<'a> {
    diagnostics: &'a mut Vec<Diagnostic>,
    fence_line: usize,
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
    foreign_triggers: Option<TriggerList>,
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
            key => {
                let shown = text::escaped(key, 60);
                self.note(
                    entry.place,
                    format!("`{shown}` is not a field of the specification and is ignored"),
                );
                self.maybe_unread_triggers(entry);
            }
        }
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
            Value::Scalar { text, .. } if text.is_empty() => {}
            _ => {
                let message = format!("`metadata` is {}, not a mapping, and is ignored", entry.node.kind());
                self.warn(entry.place, message, "write `key: value` lines, indented");
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
            key if key.starts_with("maitred-") => {
                let shown = text::escaped(key, 60);
                self.warn(
                    entry.place,
                    format!("`{shown}` is not a field of maitred and is ignored"),
                    "the fields are maitred-triggers, -title, -order, -explicit and -source",
                );
            }
            "triggers" | "trigger" => {
                let list = triggers::read(&entry.node, triggers::Spelling::Foreign);
                let shown = entry.key.clone();
                self.note(entry.place, format!("`metadata.{shown}` is read as triggers"));
                self.draft.foreign_triggers.get_or_insert(list);
                self.foreign(entry);
            }
            _ => {
                self.maybe_unread_triggers(entry);
                self.foreign(entry);
            }
        }
    }

    /// Keeps a scalar value of others; names a nested one.
    fn foreign(&mut self, entry: &Entry) {
        match entry.node.text() {
            Some(text) => self.draft.metadata.push((entry.key.clone(), text.to_owned())),
            None if matches!(entry.key.as_str(), "triggers" | "trigger") => {}
            None => {
                let (shown, kind) = (text::escaped(&entry.key, 60), entry.node.kind());
                self.note(entry.place, format!("`metadata.{shown}` is {kind}, not text, and is ignored"));
            }
        }
    }

    fn title(&mut self, entry: &Entry) {
        let title = entry.node.text().map(text::one_line).unwrap_or_default();
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

    /// Remembers a field that looks like triggers and is not read as such.
    fn maybe_unread_triggers(&mut self, entry: &Entry) {
        if entry.key.to_lowercase().contains("trigger") && self.draft.unread_triggers.is_none() {
            let list = triggers::read(&entry.node, triggers::Spelling::Foreign);
            self.draft.unread_triggers = Some((entry.place, list));
        }
    }

    /// A ` #` in an unquoted value begins a comment in YAML; its author may have meant it as text.
    fn report_comments(&mut self, tree: &Tree) {
        for comment in &tree.comments {
            let honoured = tree.entries.iter().rev().find(|entry| entry.place.line <= comment.place.line);
            if honoured.is_some_and(|entry| matches!(entry.key.as_str(), "name" | "description" | "license"))
            {
                let shown = text::escaped(comment.text.trim_end(), 60);
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
        let draft = &mut self.draft;
        let read = draft.own_triggers.take().or(draft.foreign_triggers.take());
        let wanted = read.is_some() || draft.unread_triggers.is_some();
        let mut list = read.unwrap_or_default();
        self.diagnostics.append(&mut list.diagnostics);
        if list.triggers.is_empty() && wanted {
            let (place, proposal) = draft.unread_triggers.take().map_or_else(
                || (list.place.unwrap_or(Place::line(self.fence_line)), Vec::new()),
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

    fn finish(self, body: &str) -> Option<Playbook> {
        let Self { diagnostics, fence_line, draft } = self;
        let top = Place::line(fence_line);
        if draft.name.is_none() {
            let hint = "add a line such as `name: late-invoice`";
            diagnostics.push(Diagnostic::refused(top, "there is no `name`").hint(hint));
        }
        if draft.description.is_none() {
            let hint = "add a line `description: what it does, and when to use it`";
            diagnostics.push(Diagnostic::refused(top, "there is no `description`").hint(hint));
        }
        if body.trim().is_empty() {
            let hint = "write the steps below the frontmatter";
            diagnostics.push(Diagnostic::warning(top, "the body is empty").hint(hint));
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
            body: body.to_owned(),
        });
        match built {
            Ok(playbook) => draft.slug.map(|_| playbook),
            Err(error) => {
                let place = if error.part == Part::Description { description_place } else { top };
                let already =
                    diagnostics.iter().any(|d| d.place() == place && d.message.contains("`description`"));
                if !already {
                    diagnostics.push(Diagnostic::refused(place, error.message));
                }
                None
            }
        }
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
