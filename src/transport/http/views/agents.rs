//! Agents, what they let in, and how often their playbooks are used.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::error::Error;
use crate::app::ports::store::AgentRecord;
use crate::domain::agent::{AgentConfig, AgentSettings, StrayShare, TriggerMatch, Untriggered};
use crate::domain::record::{OverrideRecord, Usage};

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct AgentView {
    id: String,
    #[serde(flatten)]
    config: ConfigView,
    /// How many playbooks it has, whatever their status.
    playbook_count: usize,
    active_count: usize,
    /// The revision of its newest change.
    revision: u64,
}

impl AgentView {
    pub(in crate::transport::http) fn of(record: &AgentRecord) -> Self {
        Self {
            id: record.id.to_string(),
            config: ConfigView::of(record.config),
            playbook_count: record.entries.len(),
            active_count: record.entries.iter().filter(|entry| entry.active.is_some()).count(),
            revision: record.revision.number(),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct AgentsView {
    pub(in crate::transport::http) revision: u64,
    pub(in crate::transport::http) agents: Vec<AgentView>,
}

/// How an agent is configured. What is left out is as it is for an agent that nobody has configured.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::transport::http) struct ConfigView {
    /// What a playbook without triggers is: `always_on` or `ranked`.
    untriggered: Option<String>,
    /// How triggers match: `substring` or `word`.
    trigger_match: Option<String>,
    /// The share of turns about no playbook that may see a menu, 0 to 1: the floor is set by it.
    stray_share: Option<f64>,
    /// How many playbooks it may have.
    playbooks_max: Option<usize>,
}

impl ConfigView {
    fn of(config: AgentConfig) -> Self {
        let AgentSettings { untriggered, trigger_match, stray_share } = config.settings;
        Self {
            untriggered: Some(untriggered.as_str().to_owned()),
            trigger_match: Some(trigger_match.as_str().to_owned()),
            stray_share: Some(stray_share.get()),
            playbooks_max: Some(config.playbooks_max),
        }
    }

    pub(in crate::transport::http) fn over(self, config: AgentConfig) -> Result<AgentConfig, Error> {
        let mut config = config;
        if let Some(name) = self.untriggered {
            let known = Untriggered::parse(&name);
            config.settings.untriggered =
                known.ok_or_else(|| Error::field("untriggered", "is `always_on` or `ranked`"))?;
        }
        if let Some(name) = self.trigger_match {
            let known = TriggerMatch::parse(&name);
            config.settings.trigger_match =
                known.ok_or_else(|| Error::field("trigger_match", "is `substring` or `word`"))?;
        }
        if let Some(share) = self.stray_share {
            config.settings.stray_share =
                StrayShare::new(share).map_err(|fault| Error::field("stray_share", fault))?;
        }
        if let Some(limit) = self.playbooks_max {
            config.playbooks_max = limit;
        }
        Ok(config)
    }
}

/// A file that is let in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::transport::http) struct OverrideRequest {
    /// The digest of the file's bytes, as the refusal told it.
    pub(in crate::transport::http) digest: String,
    /// The ruleset that was looked at, or `*`.
    pub(in crate::transport::http) ruleset: String,
    /// Why.
    pub(in crate::transport::http) reason: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct OverrideView {
    digest: String,
    ruleset: String,
    reason: String,
    actor: String,
    unix_secs: u64,
}

impl OverrideView {
    pub(in crate::transport::http) fn of(record: &OverrideRecord) -> Self {
        let OverrideRecord { file, ruleset, reason, actor, unix_secs } = record.clone();
        Self { digest: file.to_string(), ruleset, reason, actor, unix_secs }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct OverridesView {
    pub(in crate::transport::http) overrides: Vec<OverrideView>,
}

/// How often a playbook was offered and loaded.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct UsageView {
    slug: String,
    offered_always_on: u64,
    offered_trigger: u64,
    offered_semantic: u64,
    loaded: u64,
    last_unix_secs: u64,
}

impl UsageView {
    pub(in crate::transport::http) fn of(usage: &Usage) -> Self {
        let Usage { slug, offered_always_on, offered_trigger, offered_semantic, loaded, last_unix_secs } =
            usage;
        Self {
            slug: slug.to_string(),
            offered_always_on: *offered_always_on,
            offered_trigger: *offered_trigger,
            offered_semantic: *offered_semantic,
            loaded: *loaded,
            last_unix_secs: *last_unix_secs,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::transport::http) struct UsagesView {
    pub(in crate::transport::http) playbooks: Vec<UsageView>,
}
