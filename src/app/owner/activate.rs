//! Which version of a playbook serves: activated, deactivated, withdrawn.

use super::edit::{Expected, digest_missing, mismatch, refused};
use super::look::Shown;
use super::serving::read;
use super::turn::Turn;
use super::{Actor, Done, Owner, failed};
use crate::app::error::Error;
use crate::app::ports::store::Change;
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::record::{Bar, Deed, Entry, Standing};
use crate::domain::slug::Slug;
use crate::format::gate::admit;
use crate::format::scan::overrides::check_reason;

impl Owner {
    /// Lets a version serve: the newest, or an older one, which is then the newest again.
    ///
    /// # Errors
    /// A version that the playbook never had, that was withdrawn for security, or that the scanner blocks by now.
    pub async fn activate(
        &self,
        agent: &AgentId,
        slug: &Slug,
        expected: &Expected,
        actor: &Actor,
    ) -> Result<Done<Shown>, Error> {
        let mut turn = self.turn(agent, actor).await?;
        let before = turn.entry(slug)?.clone();
        let digest = match expected {
            Expected::Version(digest) => *digest,
            Expected::Any => before.newest,
            Expected::Missing => return Err(digest_missing(&before)),
        };
        if digest != before.newest && Some(digest) != before.active {
            let history = self.0.store.history(agent, slug).await.map_err(failed)?;
            if !history.iter().any(|event| event.digest == digest) {
                return Err(mismatch(digest, &before));
            }
        }
        turn.check_bar(digest)?;
        let document = self.document(agent, digest).await?;
        let playbook = read(&document).map_err(failed)?;
        let parsed = admit(document.text.as_bytes(), &turn.overrides);
        if parsed.playbook.is_none() {
            return Err(refused(&parsed, document.text.as_bytes()));
        }
        // Of the file of an older version nothing is known any more but its text.
        let is_newest = digest == before.newest;
        let file = if is_newest { before.file } else { Digest::of_bytes(document.text.as_bytes()) };
        let mut entry =
            Entry { newest: digest, file, active: Some(digest), standing: Standing::Clear, ..before.clone() };
        if entry != before {
            entry = turn.put(entry, Deed::Activated, digest);
        }
        let revision = turn.commit().await?;
        Ok(Done { outcome: Shown::of(entry, playbook, parsed.diagnostics), revision })
    }

    /// Takes a playbook off the menus; it can be activated again.
    ///
    /// # Errors
    /// A playbook that is not there, or is another than the caller has read.
    pub async fn deactivate(
        &self,
        agent: &AgentId,
        slug: &Slug,
        expected: &Expected,
        actor: &Actor,
    ) -> Result<Done<Shown>, Error> {
        let (mut turn, before) = self.turn_on(agent, slug, expected, actor).await?;
        let mut entry = Entry { active: None, ..before.clone() };
        if entry != before {
            entry = turn.put(entry, Deed::Deactivated, before.active.unwrap_or(before.newest));
        }
        self.shown(turn, entry).await
    }

    /// Withdraws a playbook for security: neither its newest version nor the one that serves comes back to this agent, by whatever
    /// way. An older one does when a person activates it.
    ///
    /// # Errors
    /// A playbook that is not there, or is another than the caller has read; no reason.
    pub async fn revoke(
        &self,
        agent: &AgentId,
        slug: &Slug,
        expected: &Expected,
        reason: &str,
        actor: &Actor,
    ) -> Result<Done<Shown>, Error> {
        check_reason(reason).map_err(|fault| Error::field("reason", fault))?;
        let (mut turn, before) = self.turn_on(agent, slug, expected, actor).await?;
        let mut versions = vec![before.newest];
        versions.extend(before.active.filter(|active| *active != before.newest));
        for digest in versions {
            if turn.bar(digest).is_none() {
                let (actor, reason) = (actor.0.clone(), reason.to_owned());
                let bar = Bar { agent: Some(agent.clone()), digest, reason, actor, unix_secs: turn.now };
                turn.change(Change::PutBar(bar));
            }
        }
        let mut entry = Entry { active: None, standing: Standing::Revoked, ..before.clone() };
        if entry != before {
            entry = turn.put(entry, Deed::Revoked, before.newest);
        }
        self.shown(turn, entry).await
    }

    async fn shown(&self, turn: Turn, entry: Entry) -> Result<Done<Shown>, Error> {
        let playbook = read(&self.document(&turn.record.id, entry.newest).await?).map_err(failed)?;
        let revision = turn.commit().await?;
        Ok(Done { outcome: Shown::of(entry, playbook, Vec::new()), revision })
    }
}
