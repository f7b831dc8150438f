//! An agent: whose playbooks they are, and how its menus are made.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use super::limits::{AGENT_ID_CHARS_MAX, PLAYBOOKS_DEFAULT};
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

/// What its owner and the operator decide about an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentConfig {
    /// How its menus are made.
    pub settings: AgentSettings,
    /// How many playbooks it may have.
    pub playbooks_max: usize,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self { settings: AgentSettings::default(), playbooks_max: PLAYBOOKS_DEFAULT }
    }
}

/// How an agent's menus are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentSettings {
    /// What a playbook without triggers is.
    pub untriggered: Untriggered,
    /// How triggers match a turn.
    pub trigger_match: TriggerMatch,
    /// What the floor lets through.
    pub stray_share: StrayShare,
}

/// The share of turns that are about no playbook and may see a menu all the same, 0 to 1; in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StrayShare(u32);

impl StrayShare {
    /// One turn in a hundred.
    pub const DEFAULT: Self = Self(10_000);

    /// No floor: what there is of a ranking is offered.
    pub const ALL: Self = Self(1_000_000);

    /// A share.
    ///
    /// # Errors
    /// A number that is none.
    pub fn new(share: f64) -> Result<Self, String> {
        if !(0.0..=1.0).contains(&share) {
            return Err(format!(
                "{share} is no share: 0 to 1 are possible, and 0.01 means one turn in a hundred"
            ));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and a million"
        )]
        Ok(Self((share * 1e6).round() as u32))
    }

    /// The share, 0 to 1.
    #[must_use]
    pub fn get(self) -> f64 {
        f64::from(self.0) / 1e6
    }

    /// The share in millionths.
    #[must_use]
    pub fn millionths(self) -> u32 {
        self.0
    }

    /// The share of so many millionths; none above a million.
    #[must_use]
    pub fn from_millionths(millionths: u32) -> Option<Self> {
        (millionths <= Self::ALL.0).then_some(Self(millionths))
    }
}

impl Default for StrayShare {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl std::str::FromStr for StrayShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = text.parse().map_err(|_| format!("\"{}\" is no number", text::escaped(text, 40)))?;
        Self::new(share)
    }
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

impl Untriggered {
    /// Its name, as it is sent and kept.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlwaysOn => "always_on",
            Self::Ranked => "ranked",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::AlwaysOn, Self::Ranked].into_iter().find(|one| one.as_str() == name)
    }
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

impl TriggerMatch {
    /// Its name, as it is sent and kept.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Substring => "substring",
            Self::Word => "word",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Substring, Self::Word].into_iter().find(|one| one.as_str() == name)
    }
}
