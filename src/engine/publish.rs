//! The one cell that readers take the snapshot from, and where old snapshots go to die.
//!
//! **Invariants**: the revision in the cell only grows; a reader sees one snapshot from beginning to end; no reader
//! ever frees a snapshot: the reaper holds each old one until the last reader is gone. **Threads**: any number of
//! readers, which never wait; publishers take turns.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::snapshot::Snapshot;
use crate::domain::revision::Revision;

/// Old snapshots that may wait for the reaper before a publisher waits for it.
const RETIRED_MAX: usize = 1_024;

/// How often the reaper looks at snapshots that still had readers.
const REAP_INTERVAL: Duration = Duration::from_millis(50);

/// Holds the current snapshot.
#[derive(Debug)]
pub struct SnapshotCell {
    current: ArcSwap<Snapshot>,
    retired: Mutex<SyncSender<Arc<Snapshot>>>,
    backlog: Arc<AtomicUsize>,
}

/// A snapshot that is not newer than the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleSnapshot {
    /// The revision in the cell.
    pub current: Revision,
    /// The revision that was refused.
    pub offered: Revision,
}

impl SnapshotCell {
    /// A cell with an empty catalogue at revision 0, and its reaper thread, which ends with the cell.
    ///
    /// # Panics
    /// When the system cannot start a thread.
    #[must_use]
    pub fn new() -> Self {
        let (retired, arrivals) = sync_channel(RETIRED_MAX);
        let backlog = Arc::<AtomicUsize>::default();
        let unfreed = Arc::clone(&backlog);
        let spawned =
            thread::Builder::new().name("reaper".to_owned()).spawn(move || reap(&arrivals, &unfreed));
        spawned.expect("a machine that runs this process can start one more thread");
        Self { current: ArcSwap::from_pointee(Snapshot::default()), retired: Mutex::new(retired), backlog }
    }

    /// Lets `reader` look at the current snapshot. The only way in; it must not keep the reader waiting.
    pub fn read<R>(&self, reader: impl FnOnce(&Snapshot) -> R) -> R {
        reader(&self.current.load())
    }

    /// Makes `snapshot` the current one.
    ///
    /// # Errors
    /// When it is not newer than the current one, which then stays.
    pub fn publish(&self, snapshot: Snapshot) -> Result<Revision, StaleSnapshot> {
        let retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        let (current, offered) = (self.current.load().revision(), snapshot.revision());
        if offered <= current {
            return Err(StaleSnapshot { current, offered });
        }
        let old = self.current.swap(Arc::new(snapshot));
        self.backlog.fetch_add(1, Ordering::Relaxed);
        // The reaper lives as long as this sender: the old snapshot always arrives.
        let _ = retired.send(old);
        Ok(offered)
    }

    /// How many old snapshots are not freed yet.
    #[must_use]
    pub fn reaper_backlog(&self) -> usize {
        self.backlog.load(Ordering::Relaxed)
    }
}

impl Default for SnapshotCell {
    fn default() -> Self {
        Self::new()
    }
}

/// Drops each retired snapshot once nobody else holds it, until the cell is gone.
fn reap(arrivals: &Receiver<Arc<Snapshot>>, unfreed: &AtomicUsize) {
    let mut waiting: Vec<Arc<Snapshot>> = Vec::new();
    loop {
        let arrived = if waiting.is_empty() {
            arrivals.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            arrivals.recv_timeout(REAP_INTERVAL)
        };
        match arrived {
            Ok(snapshot) => waiting.push(snapshot),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let before = waiting.len();
        waiting.retain(|snapshot| Arc::strong_count(snapshot) > 1);
        unfreed.fetch_sub(before - waiting.len(), Ordering::Relaxed);
    }
}
