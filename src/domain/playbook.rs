//! A playbook: what a SKILL.md means once everything that is not honoured is gone.

use std::sync::LazyLock;

use super::digest::Digest;
use super::limits::{
    BODY_BYTES_MAX, DESCRIPTION_CHARS_MAX, TITLE_CHARS_MAX, TRIGGER_BYTES_MAX, TRIGGER_CHARS_SHORT,
    TRIGGERS_MAX,
};
use super::slug::Slug;
use super::text;
use super::words::{FUNCTION_WORDS, NEUTRAL_TURNS};

/// A playbook within its limits, with its digest. Immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Playbook {
    parts: PlaybookParts,
    title: String,
    description_line: String,
    digest: Digest,
}

/// What a playbook is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaybookParts {
    /// Its name.
    pub slug: Slug,
    /// Its title, when it has one of its own; otherwise the title is the name in words.
    pub title: Option<String>,
    /// What it is for, as authored.
    pub description: String,
    /// Phrases that put it on the menu, as authored, without repetition.
    pub triggers: Vec<String>,
    /// Whether its author wrote a trigger field of which nothing could be read. Such a playbook is never always-on.
    pub triggers_wanted: bool,
    /// The owner's order, lower first; without one it comes last.
    pub order: Option<i32>,
    /// Whether it is offered only when invoked by name.
    pub explicit: bool,
    /// Its licence, as authored.
    pub license: Option<String>,
    /// Where it came from, in its own words.
    pub source: Option<String>,
    /// Metadata of others, as authored, in the file's order: kept and exported again.
    pub metadata: Vec<(String, String)>,
    /// The instructions, byte for byte.
    pub body: String,
}

impl PlaybookParts {
    /// Of a name and a description alone.
    #[must_use]
    pub fn new(slug: Slug, description: impl Into<String>) -> Self {
        Self {
            slug,
            title: None,
            description: description.into(),
            triggers: Vec::new(),
            triggers_wanted: false,
            order: None,
            explicit: false,
            license: None,
            source: None,
            metadata: Vec::new(),
            body: String::new(),
        }
    }
}

/// A part that is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaybookError {
    /// Which part.
    pub part: Part,
    /// A sentence that names the part, its size and the limit.
    pub message: String,
}

/// The part of a playbook that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The title.
    Title,
    /// The description.
    Description,
    /// The triggers.
    Triggers,
    /// The body.
    Body,
}

impl Playbook {
    /// Checks the limits and computes the digest.
    ///
    /// # Errors
    /// The first part that is out of bounds.
    pub fn new(parts: PlaybookParts) -> Result<Self, PlaybookError> {
        check_limits(&parts)?;
        let digest = digest_of(&parts);
        let title = parts.title.as_deref().map_or_else(|| parts.slug.in_words(), text::one_line);
        let description_line = text::one_line(&parts.description);
        Ok(Self { parts, title, description_line, digest })
    }

    /// Its name.
    #[must_use]
    pub fn slug(&self) -> &Slug {
        &self.parts.slug
    }

    /// Its title, on one line.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Its description as authored.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.parts.description
    }

    /// Its description on one line, nothing cut.
    #[must_use]
    pub fn description_line(&self) -> &str {
        &self.description_line
    }

    /// Its body, byte for byte.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.parts.body
    }

    /// Its triggers, as authored.
    #[must_use]
    pub fn triggers(&self) -> &[String] {
        &self.parts.triggers
    }

    /// Everything it is made of.
    #[must_use]
    pub fn parts(&self) -> &PlaybookParts {
        &self.parts
    }

    /// The digest over everything that defines it; equal digests mean equal playbooks.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

fn check_limits(parts: &PlaybookParts) -> Result<(), PlaybookError> {
    let refuse = |part, message| Err(PlaybookError { part, message });
    let chars = parts.description.chars().count();
    if text::is_blank(&parts.description) {
        return refuse(Part::Description, "the description is empty".to_owned());
    }
    if chars > DESCRIPTION_CHARS_MAX {
        let message = format!("the description has {chars} characters, the limit is {DESCRIPTION_CHARS_MAX}");
        return refuse(Part::Description, message);
    }
    let title_chars = parts.title.as_ref().map_or(0, |title| title.chars().count());
    if title_chars > TITLE_CHARS_MAX {
        let message = format!("the title has {title_chars} characters, the limit is {TITLE_CHARS_MAX}");
        return refuse(Part::Title, message);
    }
    if parts.triggers.len() > TRIGGERS_MAX {
        let message = format!("there are {} triggers, the limit is {TRIGGERS_MAX}", parts.triggers.len());
        return refuse(Part::Triggers, message);
    }
    for (index, trigger) in parts.triggers.iter().enumerate() {
        if let Some(fault) = trigger_fault(trigger) {
            return refuse(Part::Triggers, format!("trigger {} {fault}", index + 1));
        }
    }
    if parts.body.len() > BODY_BYTES_MAX {
        let message = format!("the body has {} bytes, the limit is {BODY_BYTES_MAX}", parts.body.len());
        return refuse(Part::Body, message);
    }
    Ok(())
}

/// What is wrong with a trigger, if anything; the one rule for every way in.
#[must_use]
pub fn trigger_fault(trigger: &str) -> Option<String> {
    if text::is_blank(trigger) {
        return Some("is blank: it would match every turn".to_owned());
    }
    (trigger.len() > TRIGGER_BYTES_MAX)
        .then(|| format!("has {} bytes, the limit is {TRIGGER_BYTES_MAX}", trigger.len()))
}

/// Whether a trigger is in nearly every turn: a single digit or mark of ASCII, or a function word of English. A file's are
/// not taken, so that nobody wins every turn with them; of other common ones `maitred check --menu` tells how often they
/// fire. Other single letters (R, C) are names, and fire as whole words alone.
#[must_use]
pub fn is_everywhere(trigger: &str) -> bool {
    let folded = text::fold(trigger.trim());
    let is_mark = folded.is_ascii() && folded.len() == 1 && !is_letter(&folded);
    is_mark || FUNCTION_WORDS.binary_search(&folded.as_str()).is_ok()
}

/// Whether a text is one letter of ASCII.
fn is_letter(text: &str) -> bool {
    matches!(text.as_bytes(), [byte] if byte.is_ascii_alphabetic())
}

/// Whether a folded text is a piece of so many words that as a trigger it has to stand as a word, whatever the agent's rule is: a
/// letter, or a few of them that more than a tenth of [`NEUTRAL_TURNS`] contain, such as "er" (29%) and "ing" (13%), and not
/// "ai" (8%) or "ui" (3%). Linear in those turns.
#[must_use]
pub fn is_fragment(folded: &str) -> bool {
    static TURNS: LazyLock<Vec<String>> = LazyLock::new(|| NEUTRAL_TURNS.lines().map(text::fold).collect());
    let is_short =
        folded.len() <= TRIGGER_CHARS_SHORT && folded.bytes().all(|byte| byte.is_ascii_alphabetic());
    let count = || TURNS.iter().filter(|turn| turn.contains(folded)).count();
    is_letter(folded) || (is_short && count() * 10 > TURNS.len())
}

/// Over a fixed list of parts; a new part is appended, so that playbooks without it keep their digest.
fn digest_of(parts: &PlaybookParts) -> Digest {
    let order = parts.order.map(|order| order.to_string()).unwrap_or_default();
    let flags = [u8::from(parts.explicit), u8::from(parts.triggers_wanted)];
    let counts = format!("{} {}", parts.triggers.len(), parts.metadata.len());
    let optional = |text: &Option<String>| text.as_ref().map_or_else(String::new, |text| format!("={text}"));
    let (title, license, source) =
        (optional(&parts.title), optional(&parts.license), optional(&parts.source));
    let fixed = [
        parts.slug.as_str().as_bytes(),
        title.as_bytes(),
        parts.description.as_bytes(),
        order.as_bytes(),
        &flags,
        license.as_bytes(),
        source.as_bytes(),
        parts.body.as_bytes(),
        counts.as_bytes(),
    ];
    let lists = parts
        .triggers
        .iter()
        .map(String::as_bytes)
        .chain(parts.metadata.iter().flat_map(|(key, value)| [key.as_bytes(), value.as_bytes()]));
    Digest::of_parts(fixed.into_iter().chain(lists))
}
