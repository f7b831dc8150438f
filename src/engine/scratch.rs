//! Every buffer that a selection reuses. One a thread; nothing in it outlives a selection but its capacity.

use super::snapshot::PlaybookOrd;
use super::trigger::Owner;

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

/// Triggers found in a turn.
#[derive(Debug, Default)]
pub struct TriggerHits {
    seen: Vec<bool>,
    seen_count: usize,
    hits: Vec<TriggerHit>,
}

/// One trigger of one playbook, found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TriggerHit {
    /// Whose trigger it is.
    pub owner: Owner,
    /// The bytes of the folded turn that it covers.
    pub span: (usize, usize),
}

impl TriggerHits {
    pub(super) fn begin(&mut self, pattern_count: usize) {
        self.seen.clear();
        self.seen.resize(pattern_count, false);
        self.seen_count = 0;
        self.hits.clear();
    }

    pub(super) fn is_seen(&self, pattern: usize) -> bool {
        self.seen[pattern]
    }

    pub(super) fn seen_count(&self) -> usize {
        self.seen_count
    }

    pub(super) fn add(&mut self, pattern: usize, span: (usize, usize), owners: &[Owner]) {
        self.seen[pattern] = true;
        self.seen_count += 1;
        self.hits.extend(owners.iter().map(|owner| TriggerHit { owner: *owner, span }));
    }

    pub(super) fn finish(&mut self) {
        self.hits.sort_unstable();
    }

    /// The hits, by playbook and then in the order of its triggers.
    #[must_use]
    pub fn all(&self) -> &[TriggerHit] {
        &self.hits
    }

    /// The hits of one playbook, in the order of its triggers. Logarithmic.
    #[must_use]
    pub fn of(&self, ord: PlaybookOrd) -> &[TriggerHit] {
        let start = self.hits.partition_point(|hit| hit.owner.ord < ord);
        let end = start + self.hits[start..].partition_point(|hit| hit.owner.ord == ord);
        &self.hits[start..end]
    }
}

/// BM25 scores by playbook, with the terms of the turn behind them.
#[derive(Debug, Default)]
pub struct LexicalScores {
    /// Per playbook: the score and the matched weight; zero where no term is shared.
    pub(super) by_ord: Vec<LexicalScore>,
    /// Playbooks that share a term, in the order of finding.
    pub(super) touched: Vec<PlaybookOrd>,
    /// The turn's terms that the index knows, with their weights.
    pub(super) known: Vec<(u32, f32)>,
    /// The turn's terms that the index does not know, hashed, so that a repeated one counts once.
    pub(super) unknown: Vec<(u64, f32)>,
    /// The informative weight of all terms of the turn.
    pub(super) total_weight: f32,
}

/// The lexical evidence for one playbook.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LexicalScore {
    /// BM25 over the fields.
    pub bm25: f32,
    /// BM25 by what a playbook of this size can score in a catalogue of this size: what a floor can be held against.
    pub strength: f32,
    /// The informative weight of the turn's terms that the playbook contains.
    pub matched_weight: f32,
}

impl LexicalScores {
    /// Playbooks that share a term with the turn.
    #[must_use]
    pub fn touched(&self) -> &[PlaybookOrd] {
        &self.touched
    }

    /// The evidence for a playbook.
    #[must_use]
    pub fn of(&self, ord: PlaybookOrd) -> LexicalScore {
        self.by_ord.get(ord.index()).copied().unwrap_or_default()
    }

    /// The informative weight of the whole turn.
    #[must_use]
    pub fn total_weight(&self) -> f32 {
        self.total_weight
    }
}
