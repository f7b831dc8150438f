//! Every buffer that a selection reuses. One a thread; nothing in it outlives a selection but its capacity.

use super::embed::EmbedScratch;
use super::embed::turn::TurnVector;
use super::lexical::LexicalScores;
use super::nearest::codes::CodeScratch;
use super::ord::PlaybookOrd;
use super::stopwatch::Stopwatch;
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
    /// What the embedding needs.
    pub embed: EmbedScratch,
    /// The turn, embedded.
    pub turn: TurnVector,
    /// What the search for near playbooks needs.
    pub nearest: CodeScratch,
    /// The playbooks that are worth judging.
    pub proposed: Vec<PlaybookOrd>,
    /// How well each of them fits the turn.
    pub fits: Vec<f64>,
    /// How long each step took.
    pub stopwatch: Stopwatch,
}
