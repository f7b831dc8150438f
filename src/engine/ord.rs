//! Ordinals: how the engine names a playbook inside one index.

/// A playbook's position in its agent's index: dense, dies with the index, never leaves the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaybookOrd(u32);

impl PlaybookOrd {
    /// The playbook at this position.
    #[must_use]
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its position.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
