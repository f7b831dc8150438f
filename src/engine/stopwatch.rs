//! How long each step of a selection took. Reading the clock takes some 20 ns a step.

use std::time::{Duration, Instant};

use crate::domain::stage::Stage;

/// The times of one selection's steps.
#[derive(Clone, Debug)]
pub struct Stopwatch {
    last: Instant,
    spent: [Duration; Stage::ALL.len()],
}

impl Default for Stopwatch {
    fn default() -> Self {
        Self { last: Instant::now(), spent: [Duration::ZERO; Stage::ALL.len()] }
    }
}

impl Stopwatch {
    /// Begins a selection.
    pub fn start(&mut self) {
        *self = Self::default();
    }

    /// Ends a step that began where the one before ended.
    pub fn end(&mut self, stage: Stage) {
        let now = Instant::now();
        self.spent[stage as usize] += now - self.last;
        self.last = now;
    }

    /// The steps that took time, with their times.
    pub fn spent(&self) -> impl Iterator<Item = (Stage, Duration)> {
        Stage::ALL.into_iter().zip(self.spent).filter(|(_, spent)| !spent.is_zero())
    }
}
