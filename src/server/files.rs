//! How many files the process may have open: every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

use crate::domain::limits::{FILES_RESERVED, HTTP_CONNECTIONS_MAX};

/// Raises the limit of open files as far as so many connections need and the system allows; says how many connections
/// of callers there is room for, and how many of metrics and probes.
pub(super) fn make_room(connections_max: usize) -> (usize, usize) {
    let needed = connections_max.saturating_add(HTTP_CONNECTIONS_MAX + FILES_RESERVED);
    let limit = raise(needed);
    let (room, http) = shares(limit);
    if room < connections_max {
        warn!(
            limit,
            connections = room,
            "the system lets this process open fewer files than --max-connections {connections_max} needs; raise \
             `ulimit -n` to {needed}, or ask for fewer"
        );
    }
    (room.min(connections_max), http)
}

/// Of so many files: connections of callers, and those of metrics and probes. Each part of a small limit is small.
fn shares(limit: usize) -> (usize, usize) {
    let reserved = FILES_RESERVED.min(limit / 2);
    let http = HTTP_CONNECTIONS_MAX.min(limit / 6).max(1);
    (limit.saturating_sub(reserved + http).max(1), http)
}

/// The limit of open files, raised to what is needed where that is allowed.
fn raise(needed: usize) -> usize {
    let count =
        |limit: Option<u64>| limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = needed.min(count(maximum));
    if count(current) >= wanted {
        return count(current);
    }
    let raised = Rlimit { current: Some(wanted as u64), maximum };
    if setrlimit(Resource::Nofile, raised).is_ok() { wanted } else { count(current) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_limit_is_shared_and_a_large_one_gives_all() {
        assert_eq!(shares(4_096 + 64 + 128), (4_096, 64));
        assert_eq!(shares(220), (220 - 110 - 36, 36));
        assert_eq!(shares(40), (40 - 20 - 6, 6));
        assert_eq!(shares(0), (1, 1));
    }
}
