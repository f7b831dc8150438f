//! Playbooks to an agent's index.
//!
//! **Cost**: linear in the text of the playbooks, in parallel on the compute pool.

use std::sync::Arc;

use super::lexical::Lexical;
use super::ord::PlaybookOrd;
use super::snapshot::AgentIndex;
use super::trigger::{TooManyTriggers, TriggerIndex};
use crate::domain::agent::{AgentSettings, Untriggered};
use crate::domain::playbook::Playbook;

/// Builds the index of one agent.
///
/// # Errors
/// When the triggers are too many for one automaton.
///
/// # Panics
/// When two playbooks have one name: the caller has decided between them.
pub fn build(
    mut playbooks: Vec<Arc<Playbook>>,
    settings: AgentSettings,
) -> Result<AgentIndex, TooManyTriggers> {
    playbooks.sort_by(|a, b| a.slug().cmp(b.slug()));
    assert!(playbooks.windows(2).all(|pair| pair[0].slug() != pair[1].slug()), "names are distinct");
    // A playbook that is never offered has no triggers to find and none to be ranked by.
    let lists = playbooks.iter().map(|p| if p.parts().explicit { &[] } else { p.triggers() });
    let triggers = TriggerIndex::build(lists, settings.trigger_match)?;
    let lexical = Lexical::build(&playbooks);
    let always_on = (0..)
        .zip(&playbooks)
        .filter(|(_, playbook)| is_always_on(playbook, settings))
        .map(|(ord, _)| PlaybookOrd::new(ord))
        .collect();
    Ok(AgentIndex { playbooks, settings, always_on, triggers, lexical })
}

/// Whether a playbook is offered on every turn.
#[must_use]
pub fn is_always_on(playbook: &Playbook, settings: AgentSettings) -> bool {
    let parts = playbook.parts();
    settings.untriggered == Untriggered::AlwaysOn
        && parts.triggers.is_empty()
        && !parts.triggers_wanted
        && !parts.explicit
}
