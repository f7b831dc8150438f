//! A playbook to SKILL.md: the way out, which the parser reads back.
//!
//! **Invariants**: equal playbooks give equal bytes; what is given out has been parsed again and is the same playbook; the
//! frontmatter has the fields of the specification alone, every value of `metadata` is a quoted string, and `---` stands
//! nowhere between the fences (the specification's validator takes the first one for the closing fence, wherever it is).
//! **Cost**: linear; one parse.

use std::fmt;

use super::parse::parse;
use super::{triggers, yaml_text};
use crate::domain::limits::FILE_BYTES_MAX;
use crate::domain::playbook::Playbook;
use crate::domain::slug::Slug;

/// Why a playbook cannot be written as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportError {
    /// The file would have more bytes than one may have.
    TooLarge {
        /// The playbook.
        slug: Slug,
        /// How many it would have.
        bytes: usize,
    },
    /// A file cannot say what the playbook says: it was not made from one.
    NotAFile {
        /// The playbook.
        slug: Slug,
        /// The field that would be read otherwise.
        field: &'static str,
    },
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { slug, bytes } => write!(
                f,
                "the file of playbook \"{slug}\" would have {bytes} bytes, the limit is {FILE_BYTES_MAX}; shorten its \
                 body or its metadata"
            ),
            Self::NotAFile { slug, field } => write!(
                f,
                "the {field} of playbook \"{slug}\" would be read otherwise from a file; write them as a file may have \
                 them"
            ),
        }
    }
}

impl std::error::Error for ExportError {}

/// The SKILL.md of a playbook: `name`, `description` and `license`, then `metadata` with our own fields first and those of
/// others in their order; the body byte for byte.
///
/// # Errors
/// When the file would be too large, or would not be read as this playbook.
pub fn skill_md(playbook: &Playbook) -> Result<String, ExportError> {
    let text = render(playbook);
    if text.len() > FILE_BYTES_MAX {
        return Err(ExportError::TooLarge { slug: playbook.slug().clone(), bytes: text.len() });
    }
    let read = parse(text.as_bytes()).playbook;
    match unequal_field(playbook, read.as_ref()) {
        None => Ok(text),
        Some(field) => Err(ExportError::NotAFile { slug: playbook.slug().clone(), field }),
    }
}

fn render(playbook: &Playbook) -> String {
    let parts = playbook.parts();
    let mut text = String::with_capacity(parts.body.len() + 1024);
    text.push_str("---\n");
    line(&mut text, "", "name", &yaml_text::shortest(parts.slug.as_str()));
    line(&mut text, "", "description", &yaml_text::shortest(&parts.description));
    if let Some(license) = &parts.license {
        line(&mut text, "", "license", &yaml_text::shortest(license));
    }
    let own = own_fields(playbook);
    if !own.is_empty() || !parts.metadata.is_empty() {
        text.push_str("metadata:\n");
    }
    for (key, value) in &own {
        line(&mut text, "  ", key, &yaml_text::quoted(value));
    }
    for (key, value) in &parts.metadata {
        line(&mut text, "  ", key, &yaml_text::quoted(value));
    }
    text.push_str("---\n");
    text.push_str(&parts.body);
    text
}

/// Our extensions, as strings.
fn own_fields(playbook: &Playbook) -> Vec<(&'static str, String)> {
    let parts = playbook.parts();
    let mut fields = Vec::new();
    if let Some(title) = &parts.title {
        fields.push(("maitred-title", title.clone()));
    }
    // Without the empty field, a playbook whose triggers could not be read would come back as always-on.
    if parts.triggers_wanted || !parts.triggers.is_empty() {
        fields.push(("maitred-triggers", triggers::write(&parts.triggers)));
    }
    if let Some(order) = parts.order {
        fields.push(("maitred-order", order.to_string()));
    }
    if parts.explicit {
        fields.push(("maitred-explicit", "true".to_owned()));
    }
    if let Some(source) = &parts.source {
        fields.push(("maitred-source", source.clone()));
    }
    fields
}

fn line(out: &mut String, indent: &str, key: &str, value: &str) {
    let key = yaml_text::shortest(key);
    if key.len() > yaml_text::KEY_BYTES_MAX {
        // YAML wants a long key announced.
        out.extend([indent, "? ", &key, "\n", indent, ": ", value, "\n"]);
    } else {
        out.extend([indent, &key, ": ", value, "\n"]);
    }
}

/// The first field that differs.
fn unequal_field(playbook: &Playbook, read: Option<&Playbook>) -> Option<&'static str> {
    let Some(read) = read else { return Some("fields") };
    let (a, b) = (playbook.parts(), read.parts());
    let fields = [
        ("name", a.slug == b.slug),
        ("title", a.title == b.title),
        ("description", a.description == b.description),
        ("triggers", a.triggers == b.triggers && a.triggers_wanted == b.triggers_wanted),
        ("order", a.order == b.order),
        ("license", a.license == b.license),
        ("metadata", a.metadata == b.metadata),
        ("body", a.body == b.body),
    ];
    let unequal = fields.iter().find(|(_, is_equal)| !is_equal).map(|(field, _)| *field);
    unequal.or((playbook.digest() != read.digest()).then_some("fields"))
}
