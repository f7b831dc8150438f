//! The small shape of YAML that a frontmatter may have, as a tree of text.
//!
//! **Invariants**: scalars are text as authored, never typed; no anchors, aliases, tags, merge keys, directives or
//! duplicate keys; at most [`YAML_LEVELS_MAX`] levels and [`YAML_KEYS_MAX`] keys a mapping. **Cost**: linear in the
//! frontmatter, which is at most 64 KiB; the parser's own nesting and look-ahead limits hold besides.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Marker, Parser, Placement, ScalarStyle, ScanError, Span};

use super::diagnostic::{Diagnostic, Place};
use crate::domain::limits::{YAML_KEYS_MAX, YAML_LEVELS_MAX};
use crate::domain::text;

/// Our own fields, under `metadata`: an export adds them to what a file has, so they do not count as its keys.
const OWN_FIELDS: [&str; 5] =
    ["maitred-triggers", "maitred-title", "maitred-order", "maitred-explicit", "maitred-source"];

/// A value with its place in the file.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Text as authored, and whether it was written without quotes or a block indicator.
    Scalar { text: String, plain: bool },
    /// A list.
    Sequence(Vec<Node>),
    /// Keys in the file's order.
    Mapping(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) node: Node,
}

impl Node {
    /// The text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// What kind of value it is, for a sentence.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar { .. } => "text",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        }
    }
}

/// Why a frontmatter has no tree.
pub(super) enum YamlError {
    /// It is not YAML, which a repair may change.
    Syntax { place: Place, message: String },
    /// It is YAML of a shape that is not accepted; a repair must not change that.
    Shape(Diagnostic),
}

/// A comment that stands behind a value on its line: some authors meant it as text.
pub(super) struct TrailingComment {
    pub(super) place: Place,
    pub(super) text: String,
}

/// A frontmatter's tree.
pub(super) struct Tree {
    /// The entries of the top-level mapping.
    pub(super) entries: Vec<Entry>,
    /// Comments behind values.
    pub(super) comments: Vec<TrailingComment>,
}

/// Parses the lines of a frontmatter. `lines_before` is added to each line number.
pub(super) fn parse(frontmatter: &str, lines_before: usize) -> Result<Tree, YamlError> {
    let mut options = granit_parser::Options::default();
    options.disallow_directives = true;
    options.emit_unresolved_aliases = true;
    options.emit_anchor_events = true;
    options.max_buffered_comment_events = frontmatter.len() + 1;
    let parser = Parser::new_from_str_with_options(frontmatter, options);
    let lines = frontmatter.lines().collect();
    let mut builder = Builder { lines, lines_before, stack: Vec::new(), root: None, comments: Vec::new() };
    for item in parser {
        let (event, span) = item.map_err(|error| builder.syntax(&error))?;
        builder.take(event, span)?;
    }
    match builder.root {
        None => Err(YamlError::Shape(
            Diagnostic::refused(Place::line(lines_before), "the frontmatter is empty")
                .hint("it needs `name: ...` and `description: ...`"),
        )),
        Some(Node { value: Value::Mapping(entries), .. }) => Ok(Tree { entries, comments: builder.comments }),
        Some(node) => {
            let message = format!("the frontmatter is {}, not `key: value` lines", node.kind());
            let advice = node.text().and_then(colon_advice);
            let hint = advice.unwrap_or("it needs `name: ...` and `description: ...`");
            Err(YamlError::Shape(Diagnostic::refused(node.place, message).hint(hint)))
        }
    }
}

/// Builds the tree from events, refusing what the shape excludes where it stands.
struct Builder<'a> {
    lines: Vec<&'a str>,
    lines_before: usize,
    stack: Vec<Open>,
    root: Option<Node>,
    comments: Vec<TrailingComment>,
}

/// A collection that is not closed yet.
enum Open {
    Sequence(Place, Vec<Node>),
    Mapping { place: Place, entries: Vec<Entry>, key: Option<(String, Place)>, seen: HashMap<String, usize> },
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        let place = self.place(&span.start);
        match event {
            Event::Scalar(text, style, _, tag) => {
                self.check_tag(&span, tag.is_some())?;
                self.check_indentation(place)?;
                if text.contains('\0') {
                    let refusal = Diagnostic::refused(place, "the text has a NUL");
                    return Err(YamlError::Shape(refusal.hint("remove it: a playbook is text")));
                }
                // The parser says "~" for a value that is not there at all.
                let text =
                    if span.is_empty() && style == ScalarStyle::Plain { Cow::Borrowed("") } else { text };
                self.scalar(place, text, style == ScalarStyle::Plain)
            }
            Event::SequenceStart(_, _, tag) => {
                self.check_tag(&span, tag.is_some())?;
                self.open(Open::Sequence(place, Vec::new()), place)
            }
            Event::MappingStart(_, _, tag) => {
                self.check_tag(&span, tag.is_some())?;
                let mapping = Open::Mapping { place, entries: Vec::new(), key: None, seen: HashMap::new() };
                self.open(mapping, place)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.close();
                Ok(())
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => Err(refuse(place, "an alias (`*name`)")),
            Event::Anchor(..) => Err(refuse(place, "an anchor (`&name`)")),
            Event::Comment(text, Placement::Right) => {
                self.comments.push(TrailingComment { place, text: text.into_owned() });
                Ok(())
            }
            Event::DocumentStart(..) if self.root.is_some() => Err(refuse(place, "a second YAML document")),
            _ => Ok(()),
        }
    }

    fn check_tag(&self, span: &Span, is_tagged: bool) -> Result<(), YamlError> {
        let place = self.place(span.tag_start.as_ref().unwrap_or(&span.start));
        if is_tagged { Err(refuse(place, "a tag (`!name`)")) } else { Ok(()) }
    }

    /// The parser takes a tab behind the spaces of an indentation for a blank; other readers do not.
    fn check_indentation(&self, place: Place) -> Result<(), YamlError> {
        let line = self.lines.get(place.line - self.lines_before - 1).copied().unwrap_or_default();
        let indentation = line.chars().take(place.column - 1).take_while(|c| matches!(c, ' ' | '\t'));
        if indentation.clone().count() + 1 == place.column && indentation.clone().any(|c| c == '\t') {
            return Err(YamlError::Shape(tab_refusal(Place::line(place.line))));
        }
        Ok(())
    }

    fn scalar(&mut self, place: Place, text: Cow<'_, str>, plain: bool) -> Result<(), YamlError> {
        let level = self.stack.len();
        if let Some(Open::Mapping { key: key @ None, seen, entries, .. }) = self.stack.last_mut() {
            if plain && text == "<<" {
                return Err(refuse(place, "a merge key (`<<`)"));
            }
            let is_own = |key: &str| OWN_FIELDS.contains(&key);
            let counted = entries.iter().filter(|entry| !is_own(&entry.key)).count();
            if counted == YAML_KEYS_MAX && !is_own(&text) {
                let message = format!("a mapping has more than {YAML_KEYS_MAX} keys");
                return Err(YamlError::Shape(Diagnostic::refused(place, message)));
            }
            if let Some(first) = seen.insert(duplicate_form(&text, level), place.line) {
                return Err(duplicate_key(&text, first, place));
            }
            *key = Some((text.into_owned(), place));
            return Ok(());
        }
        self.attach(Node { place, value: Value::Scalar { text: text.into_owned(), plain } });
        Ok(())
    }

    fn open(&mut self, open: Open, place: Place) -> Result<(), YamlError> {
        if self.stack.len() == YAML_LEVELS_MAX {
            let message = format!("more than {YAML_LEVELS_MAX} levels of nesting");
            return Err(YamlError::Shape(Diagnostic::refused(place, message)));
        }
        if let Some(Open::Mapping { key: None, .. }) = self.stack.last() {
            return Err(refuse(place, "a key that is a list or a mapping"));
        }
        self.stack.push(open);
        Ok(())
    }

    fn close(&mut self) {
        let node = match self.stack.pop().expect("the parser closes only what it opened") {
            Open::Sequence(place, items) => Node { place, value: Value::Sequence(items) },
            Open::Mapping { place, entries, .. } => Node { place, value: Value::Mapping(entries) },
        };
        self.attach(node);
    }

    fn attach(&mut self, node: Node) {
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Open::Sequence(_, items)) => items.push(node),
            Some(Open::Mapping { entries, key, .. }) => {
                let (key, place) = key.take().expect("the parser gives a key before its value");
                entries.push(Entry { key, place, node });
            }
        }
    }

    fn place(&self, marker: &Marker) -> Place {
        Place { line: marker.line() + self.lines_before, column: marker.col() + 1 }
    }

    fn syntax(&self, error: &ScanError) -> YamlError {
        let place = self.place(error.marker());
        YamlError::Syntax { place, message: error.info().to_lowercase() }
    }
}

/// What to do about a colon that YAML does not take for one.
pub(super) fn colon_advice(line: &str) -> Option<&'static str> {
    let key = line.trim_start().split([':', '：']).next().unwrap_or_default();
    let is_key = key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let rest = line.trim_start().get(key.len()..).filter(|_| is_key && !key.is_empty())?;
    if rest.starts_with('：') {
        return Some("write an ASCII colon and a space behind the key");
    }
    let is_joined =
        rest.strip_prefix(':').is_some_and(|rest| !rest.is_empty() && !rest.starts_with([' ', '\t']));
    is_joined.then_some("put a space behind the colon")
}

/// The refusal of a tab where the depth of a line is told.
pub(super) fn tab_refusal(place: Place) -> Diagnostic {
    Diagnostic::refused(place, "a tab is used for indentation, which YAML does not allow")
        .hint("indent with spaces")
}

fn refuse(place: Place, what: &str) -> YamlError {
    YamlError::Shape(
        Diagnostic::refused(place, format!("{what} is not accepted in a frontmatter"))
            .hint("write the value out, in quotes if it is text"),
    )
}

/// The form under which a key counts as seen. On the two levels that are honoured, keys that differ in case alone are
/// the same: one reader's `Description` is another's `description`.
fn duplicate_form(key: &str, level: usize) -> String {
    if level <= 2 { key.to_lowercase() } else { key.to_owned() }
}

fn duplicate_key(key: &str, first_line: usize, place: Place) -> YamlError {
    let message = format!("the key `{}` of line {first_line} is repeated", text::escaped(key, 60));
    YamlError::Shape(Diagnostic::refused(place, message).hint("keep one of the two"))
}
