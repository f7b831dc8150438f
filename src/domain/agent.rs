//! An agent: whose playbooks they are, and how its menus are made.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use super::limits::AGENT_ID_CHARS_MAX;
use super::text;

/// An agent's id: 1 to 128 ASCII letters, digits and `.`, `_`, `-`, `:`, the first a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(Arc<str>);

impl AgentId {
    /// Checks an id.
    ///
    /// # Errors
    /// A sentence that names the rule.
    pub fn parse(id: &str) -> Result<Self, String> {
        if id.is_empty() {
            return Err("is empty".to_owned());
        }
        if id.len() > AGENT_ID_CHARS_MAX {
            return Err(format!("has {} bytes, the limit is {AGENT_ID_CHARS_MAX}", id.len()));
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
        if !id.starts_with(|c: char| c.is_ascii_alphanumeric()) || !id.chars().all(allowed) {
            return Err(format!(
                "\"{}\" may hold only ASCII letters, digits and . _ - : and begins with a letter or digit",
                text::escaped(id, 80)
            ));
        }
        Ok(Self(id.into()))
    }

    /// The agent that a directory or the starter packs belong to.
    #[must_use]
    pub fn default_agent() -> Self {
        Self("default".into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for AgentId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How an agent's menus are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentSettings {
    /// What a playbook without triggers is.
    pub untriggered: Untriggered,
    /// How triggers match a turn.
    pub trigger_match: TriggerMatch,
}

/// What a playbook without triggers is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Untriggered {
    /// Always offered, exempt from the floor.
    #[default]
    AlwaysOn,
    /// An ordinary candidate: offered when it is relevant enough. Right for directories of public skills.
    Ranked,
}

/// How a trigger matches a turn; both sides are case-folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TriggerMatch {
    /// Anywhere, inside other words too.
    #[default]
    Substring,
    /// An edge of the trigger that is an ASCII letter or digit must lie at the edge of a word; other edges match
    /// anywhere, as scripts without spaces need it.
    Word,
}
