//! Says in the log which playbooks get in each other's way: once the server is ready, and never a reason not to be.
//!
//! **Invariants**: an agent is looked at again when its index is another; a finding is said once for as long as it lasts; an
//! agent of more than [`RIVALS_PLAYBOOKS_MAX`] playbooks is not looked at. **Cost**: a selection a playbook of a changed
//! agent. **Threads**: one agent after another, on a thread that serves no calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use tracing::{error, warn};

use crate::app::catalog::Catalog;
use crate::app::lint::rivals::{Rivals, named, rivals};
use crate::domain::agent::AgentId;
use crate::domain::limits::RIVALS_PLAYBOOKS_MAX;
use crate::engine::snapshot::{AgentIndex, Snapshot};

/// Findings of one look at an agent that are said at most.
const SAID_MAX: usize = 20;

/// What is known of an agent.
struct Looked {
    /// The index that was looked at. It is not kept alive.
    index: Weak<AgentIndex>,
    found: BTreeSet<Rivals>,
}

/// Looks at what is served, and at what changes, until the catalogue is gone.
pub(super) async fn tell(catalog: Arc<Catalog>) {
    let (cell, mut revisions) = (catalog.cell(), catalog.revisions());
    let mut known: BTreeMap<AgentId, Looked> = BTreeMap::new();
    loop {
        known.retain(|agent, _| cell.read(|snapshot| snapshot.agent(agent.as_str()).is_some()));
        for agent in cell.read(|snapshot| changed(snapshot, &known)) {
            let Some(index) = cell.read(|snapshot| snapshot.shared_agent(&agent)) else { continue };
            let looked_at = Arc::downgrade(&index);
            match tokio::task::spawn_blocking(move || rivals(&index)).await {
                Ok(found) => {
                    let found: BTreeSet<Rivals> = found.into_iter().collect();
                    let said = known.get(&agent).map(|looked| &looked.found);
                    log(&agent, found.iter().filter(|one| said.is_none_or(|said| !said.contains(one))));
                    known.insert(agent, Looked { index: looked_at, found });
                }
                Err(error) => error!(%agent, %error, "looking for rivals among playbooks failed"),
            }
        }
        if revisions.changed().await.is_err() {
            return;
        }
    }
}

/// The agents whose index is another than the one that was looked at.
fn changed(snapshot: &Snapshot, known: &BTreeMap<AgentId, Looked>) -> Vec<AgentId> {
    let is_new = |(agent, index): &(&AgentId, &Arc<AgentIndex>)| {
        let looked = known.get(*agent).is_some_and(|looked| looked.index.as_ptr() == Arc::as_ptr(index));
        !looked && index.playbooks().len() <= RIVALS_PLAYBOOKS_MAX
    };
    snapshot.agents().filter(is_new).map(|(agent, _)| agent.clone()).collect()
}

fn log<'a>(agent: &AgentId, found: impl Iterator<Item = &'a Rivals>) {
    for (at, rivals) in found.enumerate() {
        if at == SAID_MAX {
            warn!(%agent, "there are more such playbooks: `maitred check --menu` names them all");
            return;
        }
        match rivals {
            Rivals::Outranked { slug, by } => {
                let by = named(by);
                warn!(%agent, playbook = %slug, by, "its own description does not select this playbook, {by} comes instead: say what it alone does");
            }
            Rivals::Alike(one, other) => {
                warn!(%agent, playbook = %one, %other, "these two playbooks can hardly be told apart: say in both descriptions how they differ");
            }
        }
    }
}
