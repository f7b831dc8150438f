//! What a turn scores, playbook by playbook: the buffers of a selection's lexical pass.

use crate::engine::nearest::best::Best;
use crate::engine::ord::PlaybookOrd;

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
    /// The terms of a piece of a long turn.
    pub(super) piece: Vec<u32>,
    /// The informative weight of all terms of the turn.
    pub(super) total_weight: f32,
    /// How many distinct terms the turn has, those of recent turns by their weight.
    pub(super) term_count: f32,
    /// Whether numbers are no terms.
    pub(super) without_numbers: bool,
    best: Best,
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
    /// What of BM25 comes from the name, in units of an unknown term's rarity.
    pub name: f32,
    /// What of it comes from the description, in the same units.
    pub description: f32,
}

impl LexicalScores {
    /// Says for the next turns whether numbers are no evidence: where the turn's words can hardly be found in the catalogue,
    /// its numbers are all that is, and the steps of nearly every playbook are numbered.
    pub fn set_without_numbers(&mut self, without_numbers: bool) {
        self.without_numbers = without_numbers;
    }

    /// Whether a term of a turn counts.
    pub(super) fn counts(&self, term: &str) -> bool {
        !(self.without_numbers && term.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// Appends the `count` playbooks with the highest scores, in no order.
    pub fn best(&mut self, count: usize, best: &mut Vec<PlaybookOrd>) {
        self.best.begin(count);
        for ord in &self.touched {
            self.best.offer(self.by_ord[ord.index()].bm25, *ord);
        }
        self.best.finish(best);
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

    /// How many distinct terms the turn has.
    #[must_use]
    pub fn term_count(&self) -> f32 {
        self.term_count
    }

    pub(super) fn begin(&mut self, playbook_count: usize) {
        for ord in self.touched.drain(..) {
            if let Some(score) = self.by_ord.get_mut(ord.index()) {
                *score = LexicalScore::default();
            }
        }
        self.by_ord.resize(playbook_count, LexicalScore::default());
        self.known.clear();
        self.unknown.clear();
        self.total_weight = 0.0;
        self.term_count = 0.0;
    }
}
