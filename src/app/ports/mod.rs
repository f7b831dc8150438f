//! What the application needs of the world.

pub mod store;

use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of day, for what outlives a process: menu tokens.
pub trait Clock: Debug + Send + Sync {
    /// Seconds since 1970-01-01T00:00:00Z.
    fn unix_secs(&self) -> u64;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn unix_secs(&self) -> u64 {
        // A clock before 1970 is as good as one at 1970: tokens made then expire then.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
    }
}
