//! Every buffer that a selection reuses. One a thread; nothing in it outlives a selection but its capacity.

use super::lexical::LexicalScores;
use super::trigger::TriggerHits;

/// The buffers of one selection.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The turn, case-folded.
    pub folded: String,
    /// A recent turn, case-folded.
    pub folded_recent: String,
    /// Which triggers matched, and where.
    pub hits: TriggerHits,
    /// The lexical evidence.
    pub lexical: LexicalScores,
}
