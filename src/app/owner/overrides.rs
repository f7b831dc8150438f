//! What an owner lets in although the scanner blocks it.

use std::sync::Arc;

use super::{Actor, Owner, failed};
use crate::app::error::Error;
use crate::app::ports::store::Change;
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::record::OverrideRecord;
use crate::format::scan::overrides::{Overrides, check_reason, check_ruleset};

impl Owner {
    /// Lets a file in by the digest of its bytes, for the rules that were looked at: the same bytes then land, to be reviewed.
    ///
    /// # Errors
    /// An agent that is not there; a ruleset or a reason that is none.
    pub async fn let_in(
        &self,
        agent: &AgentId,
        file: Digest,
        ruleset: &str,
        reason: &str,
        actor: &Actor,
    ) -> Result<OverrideRecord, Error> {
        check_ruleset(ruleset).map_err(|fault| Error::field("ruleset", fault))?;
        check_reason(reason).map_err(|fault| Error::field("reason", fault))?;
        let mut turn = self.turn(agent, actor).await?;
        let (ruleset, reason) = (ruleset.to_owned(), reason.trim().to_owned());
        let record = OverrideRecord { file, ruleset, reason, actor: actor.0.clone(), unix_secs: turn.now };
        turn.change(Change::PutOverride(agent.clone(), record.clone()));
        turn.commit().await?;
        Ok(record)
    }

    /// The overrides of an agent.
    ///
    /// # Errors
    /// An agent that is not there.
    pub async fn let_in_so_far(&self, agent: &AgentId) -> Result<Vec<OverrideRecord>, Error> {
        self.record(agent).await?;
        self.0.store.overrides(agent).await.map_err(failed)
    }

    pub(super) async fn overrides_of(&self, agent: &AgentId) -> Result<Arc<Overrides>, Error> {
        let all = self.0.store.overrides(agent).await.map_err(failed)?;
        Ok(Arc::new(Overrides::of_owner(all.into_iter().map(|one| (one.file, one.ruleset, one.reason)))))
    }
}
