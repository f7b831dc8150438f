//! The compute pool: CPU work in parallel, off the threads that answer requests.
//!
//! **Threads**: one pool for the process, as many workers as cores, started at first use.

use std::sync::LazyLock;

use rayon::prelude::*;

static POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    rayon::ThreadPoolBuilder::new()
        .thread_name(|index| format!("compute-{index}"))
        .build()
        .expect("a machine that runs this process can start its compute threads")
});

/// Items that are worked on where they are: waking the pool costs as much as they do, as for an edit of one playbook.
const FEW: usize = 4;

/// Applies `work` to each item on the pool; the results are in the order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    if items.len() <= FEW {
        return items.iter().map(work).collect();
    }
    POOL.install(|| items.par_iter().map(work).collect())
}
