//! How often playbooks are offered and loaded: counted in memory, and kept every few seconds, so that no turn waits for a store.
//!
//! **Threads**: shared by all requests; the lock is held for as long as it takes to add to a few numbers, and never while a store writes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::warn;

use super::ports::store::Store;
use crate::domain::agent::AgentId;
use crate::domain::menu::{MenuItem, Reason};
use crate::domain::record::Usage;
use crate::domain::slug::Slug;

/// How often counts are kept: what a crash loses at most.
const KEPT_EVERY: Duration = Duration::from_secs(10);

/// What was counted and is not kept yet.
#[derive(Debug, Default)]
pub struct UsageCounts(Mutex<HashMap<AgentId, HashMap<Slug, Usage>>>);

impl UsageCounts {
    /// Counts the lines of a menu.
    pub fn offered(&self, agent: &str, items: &[MenuItem], unix_secs: u64) {
        if items.is_empty() {
            return;
        }
        let mut pending = self.pending();
        for item in items {
            add(&mut pending, agent, &item.slug, unix_secs, |usage| match item.reason {
                Reason::AlwaysOn => usage.offered_always_on += 1,
                Reason::Trigger { .. } => usage.offered_trigger += 1,
                Reason::Semantic { .. } => usage.offered_semantic += 1,
            });
        }
    }

    /// Counts a playbook that was fetched.
    pub fn loaded(&self, agent: &str, slug: &Slug, unix_secs: u64) {
        add(&mut self.pending(), agent, slug, unix_secs, |usage| usage.loaded += 1);
    }

    /// Keeps what was counted, every few seconds until `stopped`, and then once more. A write that was begun is finished.
    pub async fn keep_on(&self, store: &dyn Store, mut stopped: oneshot::Receiver<()>) {
        let mut ticks = tokio::time::interval(KEPT_EVERY);
        loop {
            let is_over = tokio::select! {
                _ = ticks.tick() => false,
                // A sender that is gone stops it, too.
                _ = &mut stopped => true,
            };
            self.keep(store).await;
            if is_over {
                return;
            }
        }
    }

    /// Keeps what was counted so far. Where the store fails, it is kept with the next.
    async fn keep(&self, store: &dyn Store) {
        let counted = std::mem::take(&mut *self.pending());
        if counted.is_empty() {
            return;
        }
        let flat = |(agent, playbooks): (&AgentId, &HashMap<Slug, Usage>)| {
            playbooks.values().map(|usage| (agent.clone(), usage.clone())).collect::<Vec<_>>()
        };
        let counts: Vec<(AgentId, Usage)> = counted.iter().flat_map(flat).collect();
        if let Err(error) = store.add_usage(counts.clone()).await {
            warn!(%error, "usage cannot be kept at present; it is tried again");
            let mut pending = self.pending();
            for (agent, counted) in counts {
                let of_agent = pending.entry(agent).or_default();
                match of_agent.entry(counted.slug.clone()) {
                    Entry::Occupied(mut since) => since.get_mut().add(&counted),
                    Entry::Vacant(free) => {
                        free.insert(counted);
                    }
                }
            }
        }
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<AgentId, HashMap<Slug, Usage>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add(
    pending: &mut HashMap<AgentId, HashMap<Slug, Usage>>,
    agent: &str,
    slug: &Slug,
    unix_secs: u64,
    count: impl FnOnce(&mut Usage),
) {
    if !pending.contains_key(agent) {
        // What is served has an id that is valid.
        let Ok(id) = AgentId::parse(agent) else { return };
        pending.insert(id, HashMap::new());
    }
    let Some(of_agent) = pending.get_mut(agent) else { return };
    if !of_agent.contains_key(slug) {
        of_agent.insert(slug.clone(), Usage::none(slug.clone()));
    }
    if let Some(usage) = of_agent.get_mut(slug) {
        count(usage);
        usage.last_unix_secs = usage.last_unix_secs.max(unix_secs);
    }
}
