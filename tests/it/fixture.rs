//! Playbooks to test with.

use std::sync::Arc;

use maitred::domain::agent::{AgentSettings, StrayShare, TriggerMatch, Untriggered};
use maitred::domain::playbook::{Playbook, PlaybookParts};
use maitred::domain::slug::Slug;
use maitred::engine::builder::{Builder, Circumstances};
use maitred::engine::snapshot::AgentIndex;

pub(crate) const RANKED: AgentSettings = AgentSettings {
    untriggered: Untriggered::Ranked,
    trigger_match: TriggerMatch::Substring,
    stray_share: StrayShare::DEFAULT,
};

/// What a playbook is made of when only its name and description matter.
pub(crate) fn parts(slug: &str, description: &str) -> PlaybookParts {
    PlaybookParts::new(Slug::parse(slug).unwrap(), description)
}

/// A playbook with triggers, separated by `|`; none when the text is empty.
pub(crate) fn playbook(slug: &str, triggers: &str, description: &str) -> Arc<Playbook> {
    let triggers = triggers.split('|').filter(|trigger| !trigger.is_empty()).map(str::to_owned).collect();
    build(PlaybookParts { triggers, ..parts(slug, description) })
}

/// A ranked or always-on playbook that differs from others of its kind in the slug alone.
pub(crate) fn copy(slug: &str, description: &str) -> Arc<Playbook> {
    build(PlaybookParts { title: Some("Copy".to_owned()), ..parts(slug, description) })
}

pub(crate) fn build(parts: PlaybookParts) -> Arc<Playbook> {
    Arc::new(Playbook::new(parts).unwrap())
}

pub(crate) fn index(playbooks: Vec<Arc<Playbook>>, settings: AgentSettings) -> AgentIndex {
    Builder::default().build(playbooks, settings, Circumstances::default()).unwrap().index
}

/// A SKILL.md as text.
pub(crate) fn skill_md(slug: &str, triggers: &str, description: &str, body: &str) -> String {
    let metadata = if triggers.is_empty() {
        String::new()
    } else {
        format!("metadata:\n  maitred-triggers: \"{triggers}\"\n")
    };
    format!("---\nname: {slug}\ndescription: \"{description}\"\n{metadata}---\n{body}\n")
}
