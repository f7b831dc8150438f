//! The open connections of a door, and what is to happen to each.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::ConnectionLimits;
use super::state::{Moved, State};
use crate::domain::limits::HANDSHAKE_TIME_MIN;
use crate::telemetry::metrics::Closed;

/// What a connection's task is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Take no new calls, finish those that are there, and end.
    Finish,
    /// End now.
    Cut(Closed),
}

/// What a connection begins with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Opening {
    /// So many bytes, and it stays until it ends.
    Bytes(usize),
    /// A whole request of HTTP/1.1, after which it may be idle again.
    Request,
}

/// Commands that may wait for a connection's task: each kind once.
const COMMANDS_MAX: usize = 2;

/// The open connections.
#[derive(Debug)]
pub(super) struct Register {
    limits: ConnectionLimits,
    opened: u64,
    entries: BTreeMap<u64, Entry>,
    /// Those that had not begun when they were last looked at, the oldest first; the first may be gone.
    half_open: VecDeque<u64>,
    is_draining: bool,
}

#[derive(Debug)]
struct Entry {
    commands: mpsc::Sender<Command>,
    state: Arc<State>,
    opening: Opening,
    opened: Instant,
    /// When answers last left, or there were none.
    at_ease: (Instant, Moved),
    told_to_finish: Option<Instant>,
}

impl Entry {
    fn is_half_open(&self) -> bool {
        match self.opening {
            Opening::Bytes(count) => self.state.moved().bytes_received < count,
            Opening::Request => self.state.requests().0 == 0,
        }
    }

    /// Whether it may be closed at any time: a client of HTTP/1.1 that is told nothing connects again.
    fn is_idle(&self) -> bool {
        let ((begun, done), moved) = (self.state.requests(), self.state.moved());
        matches!(self.opening, Opening::Request) && begun == done && moved.answers_begun == moved.answers_gone
    }

    /// Tells the task. One that does not listen has been told before, or is at its end.
    fn tell(&self, command: Command) {
        let _ = self.commands.try_send(command);
    }

    fn finish(&mut self, now: Instant) {
        if self.told_to_finish.is_none() {
            self.told_to_finish = Some(now);
            self.tell(Command::Finish);
        }
    }
}

impl Register {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self { limits, opened: 0, entries: BTreeMap::new(), half_open: VecDeque::new(), is_draining: false }
    }

    /// Enters a connection; none when there are too many. Makes room among those that have not begun.
    pub(super) fn enter(
        &mut self,
        state: Arc<State>,
        opening: Opening,
        now: Instant,
    ) -> Option<(u64, mpsc::Receiver<Command>)> {
        if self.is_draining {
            return None;
        }
        self.make_room(now);
        if self.is_full() {
            return None;
        }
        let (commands, told) = mpsc::channel(COMMANDS_MAX);
        self.opened += 1;
        let at_ease = (now, state.moved());
        let entry = Entry { commands, state, opening, opened: now, at_ease, told_to_finish: None };
        self.entries.insert(self.opened, entry);
        self.half_open.push_back(self.opened);
        Some((self.opened, told))
    }

    /// Cuts the oldest of those that have not begun when they are too many, once it has had the time to begin: clients that
    /// mean well and come among many others are not cut for it. A full door waits for nobody. Each is looked at once. A door that is still full
    /// cuts the oldest of those that are idle.
    fn make_room(&mut self, now: Instant) {
        while let Some(oldest) = self.half_open.front() {
            let Some(entry) = self.entries.get(oldest).filter(|entry| entry.is_half_open()) else {
                self.half_open.pop_front();
                continue;
            };
            let has_too_many = self.half_open.len() >= self.limits.half_open_max;
            let had_time = now.saturating_duration_since(entry.opened) >= HANDSHAKE_TIME_MIN;
            if self.is_full() || (has_too_many && had_time) {
                entry.tell(Command::Cut(Closed::HalfOpen));
                self.entries.remove(oldest);
            }
            break;
        }
        if self.is_full()
            && let Some((number, entry)) = self.entries.iter().find(|(_, entry)| entry.is_idle())
        {
            let number = *number;
            entry.tell(Command::Cut(Closed::Limit));
            self.entries.remove(&number);
        }
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= self.limits.connections_max
    }

    pub(super) fn leave(&mut self, number: u64) {
        self.entries.remove(&number);
    }

    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }

    /// Looks at every connection. Linear in their number; once in a while.
    pub(super) fn inspect(&mut self, now: Instant) {
        let ConnectionLimits { handshake_time, stall_time, age, grace, .. } = self.limits;
        let entries = &self.entries;
        self.half_open.retain(|number| entries.get(number).is_some_and(Entry::is_half_open));
        for (number, entry) in &mut self.entries {
            let moved = entry.state.moved();
            if !moved.is_stuck_since(&entry.at_ease.1) {
                entry.at_ease = (now, moved);
            }
            let since = |then: Instant| now.saturating_duration_since(then);
            if entry.is_half_open() && since(entry.opened) >= handshake_time {
                entry.tell(Command::Cut(Closed::HalfOpen));
            } else if since(entry.at_ease.0) >= stall_time {
                entry.tell(Command::Cut(Closed::Stalled));
            } else if !self.is_draining && entry.told_to_finish.is_some_and(|then| since(then) >= grace) {
                entry.tell(Command::Cut(Closed::Age));
            } else if age.is_some_and(|age| since(entry.opened) >= spread(age, *number)) {
                entry.finish(now);
            }
        }
    }

    /// Lets every connection finish; one that has not begun has nothing to finish.
    pub(super) fn drain(&mut self, now: Instant) {
        self.is_draining = true;
        for entry in self.entries.values_mut() {
            if entry.is_half_open() {
                entry.tell(Command::Cut(Closed::HalfOpen));
            } else {
                entry.finish(now);
            }
        }
    }

    /// Cuts what is left.
    pub(super) fn cut_all(&mut self) {
        for entry in self.entries.values() {
            entry.tell(Command::Cut(Closed::Drain));
        }
    }
}

/// From 90 to 110 hundredths of an age, by the number of the connection: so that they do not all end together.
fn spread(age: Duration, number: u64) -> Duration {
    age / 100 * (90 + u32::try_from(number * 7 % 21).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn limits() -> ConnectionLimits {
        ConnectionLimits {
            connections_max: 3,
            half_open_max: 2,
            handshake_time: 10 * SECOND,
            stall_time: 30 * SECOND,
            age: Some(100 * SECOND),
            grace: 20 * SECOND,
        }
    }

    /// A connection that has sent so many bytes.
    fn enter(
        register: &mut Register,
        bytes: usize,
        now: Instant,
    ) -> Option<(Arc<State>, mpsc::Receiver<Command>)> {
        let state = Arc::new(State::default());
        state.received(bytes);
        let (_, told) = register.enter(Arc::clone(&state), Opening::Bytes(33), now)?;
        Some((state, told))
    }

    #[test]
    fn those_that_do_not_begin_are_cut_in_time_and_the_oldest_makes_room() {
        let now = Instant::now();
        let mut register = Register::new(limits());
        let (_, mut first) = enter(&mut register, 24, now).unwrap();
        let (_, mut second) = enter(&mut register, 0, now).unwrap();
        let at_once = enter(&mut register, 33, now).unwrap();
        assert!(first.try_recv().is_err(), "it has had no time to begin");
        drop(at_once);
        register.leave(3);
        let (_, mut third) = enter(&mut register, 33, now + SECOND).unwrap();
        assert_eq!(first.try_recv(), Ok(Command::Cut(Closed::HalfOpen)), "it makes room");
        register.inspect(now + 9 * SECOND);
        assert!(second.try_recv().is_err());
        register.inspect(now + 11 * SECOND);
        assert_eq!(second.try_recv(), Ok(Command::Cut(Closed::HalfOpen)));
        assert!(third.try_recv().is_err(), "it has begun");
    }

    #[test]
    fn a_full_door_takes_a_new_one_in_place_of_one_that_has_not_begun() {
        let now = Instant::now();
        let mut register = Register::new(limits());
        let (_, mut begun) = enter(&mut register, 33, now).unwrap();
        let (_, mut half_open) = enter(&mut register, 32, now).unwrap();
        let _others = [33, 33].map(|bytes| enter(&mut register, bytes, now).unwrap());
        assert_eq!(half_open.try_recv(), Ok(Command::Cut(Closed::HalfOpen)));
        assert!(begun.try_recv().is_err());
        assert!(enter(&mut register, 33, now).is_none(), "three are open, and all have begun");
        assert_eq!(register.count(), 3);
    }

    #[test]
    fn a_full_door_of_requests_takes_a_new_one_in_place_of_one_that_is_idle() {
        let now = Instant::now();
        let mut register = Register::new(limits());
        let mut enter = || {
            let state = Arc::new(State::default());
            let (_, told) = register.enter(Arc::clone(&state), Opening::Request, now)?;
            Some((state, told))
        };
        let (first, mut told_first) = enter().unwrap();
        let (second, mut told_second) = enter().unwrap();
        let busy = [first.answering(), second.answering()];
        let (third, mut told_third) = enter().unwrap();
        third.received(20);
        let (fourth, _told) = enter().unwrap();
        assert_eq!(told_third.try_recv(), Ok(Command::Cut(Closed::HalfOpen)), "it has sent no whole request");
        let _more = fourth.answering();
        assert!(enter().is_none(), "all are answered");
        drop(busy);
        enter().unwrap();
        assert_eq!(told_first.try_recv(), Ok(Command::Cut(Closed::Limit)), "it is the oldest that is idle");
        assert!(told_second.try_recv().is_err());
    }

    #[test]
    fn one_that_takes_no_answers_is_cut_and_one_that_takes_some_is_not() {
        let now = Instant::now();
        let mut register = Register::new(limits());
        let (slow, mut told_slow) = enter(&mut register, 33, now).unwrap();
        let (stuck, mut told_stuck) = enter(&mut register, 33, now).unwrap();
        let _kept = stuck.sending();
        let mut answers: Vec<_> = (0..5).map(|_| slow.sending()).collect();
        for second in 1..=60 {
            register.inspect(now + second * SECOND);
            if second % 20 == 0 {
                answers.pop();
            }
        }
        assert_eq!(told_stuck.try_recv(), Ok(Command::Cut(Closed::Stalled)));
        assert!(told_slow.try_recv().is_err());
    }

    #[test]
    fn an_old_one_finishes_and_is_cut_after_the_grace() {
        let now = Instant::now();
        let mut register = Register::new(limits());
        let (_, mut told) = enter(&mut register, 33, now).unwrap();
        register.inspect(now + 89 * SECOND);
        assert!(told.try_recv().is_err());
        register.inspect(now + 110 * SECOND);
        assert_eq!(told.try_recv(), Ok(Command::Finish));
        register.inspect(now + 129 * SECOND);
        assert!(told.try_recv().is_err());
        register.inspect(now + 130 * SECOND);
        assert_eq!(told.try_recv(), Ok(Command::Cut(Closed::Age)));
    }

    #[test]
    fn a_drain_lets_calls_finish_and_takes_no_new_connection() {
        let now = Instant::now();
        let mut register = Register::new(limits());
        let (_, mut begun) = enter(&mut register, 33, now).unwrap();
        let (_, mut half_open) = enter(&mut register, 32, now).unwrap();
        register.drain(now);
        assert_eq!(begun.try_recv(), Ok(Command::Finish));
        assert_eq!(half_open.try_recv(), Ok(Command::Cut(Closed::HalfOpen)));
        assert!(enter(&mut register, 33, now).is_none());
        register.inspect(now + 25 * SECOND);
        assert!(begun.try_recv().is_err(), "the drain has its own end");
        register.cut_all();
        assert_eq!(begun.try_recv(), Ok(Command::Cut(Closed::Drain)));
    }
}
