//! Agents: made, configured, erased.

use super::turn::Turn;
use super::{Actor, Done, Owner};
use crate::app::error::Error;
use crate::app::ports::store::{AgentRecord, Change};
use crate::domain::agent::{AgentConfig, AgentId};
use crate::domain::limits::PLAYBOOKS_MAX;
use crate::domain::revision::Revision;

impl Owner {
    /// Makes an agent, or configures the one that is there. Says whether it is new.
    ///
    /// # Errors
    /// A limit that is out of bounds, a store that fails.
    pub async fn put_agent(
        &self,
        agent: &AgentId,
        config: AgentConfig,
        actor: &Actor,
    ) -> Result<(bool, Done<AgentRecord>), Error> {
        if !(1..=PLAYBOOKS_MAX).contains(&config.playbooks_max) {
            let message = format!("{}: 1 to {PLAYBOOKS_MAX} are possible", config.playbooks_max);
            return Err(Error::field("playbooks_max", message));
        }
        let (is_new, mut turn) = self.turn_of_any(agent, config, actor).await?;
        if is_new || turn.record.config != config {
            turn.record.config = config;
            turn.change(Change::PutAgent(agent.clone(), config));
        }
        let record = turn.record.clone();
        let revision = turn.commit().await?;
        Ok((is_new, Done { outcome: AgentRecord { revision, ..record }, revision }))
    }

    /// Erases an agent with everything that is its own.
    ///
    /// # Errors
    /// An agent that is not there.
    pub async fn remove_agent(&self, agent: &AgentId, actor: &Actor) -> Result<Revision, Error> {
        let mut turn: Turn = self.turn(agent, actor).await?;
        turn.erase();
        turn.commit().await
    }
}
