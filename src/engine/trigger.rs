//! Trigger phrases to the playbooks that carry them.
//!
//! One Aho-Corasick automaton per agent over the distinct folded triggers; every occurrence is found, overlapping ones
//! too. **Cost**: linear in the turn and in the matches; the matches at one position are at most
//! [`TRIGGER_BYTES_MAX`](crate::domain::limits::TRIGGER_BYTES_MAX), since distinct triggers that end there differ in
//! length.

use std::collections::BTreeMap;
use std::fmt;

use aho_corasick::AhoCorasick;

use super::ord::PlaybookOrd;
use super::terms::is_spaceless;
use super::window::is_read;
use crate::domain::agent::TriggerMatch;
use crate::domain::limits::FOUND_IN_CHARS_MAX;
use crate::domain::playbook::is_fragment;
use crate::domain::text::fold;

/// The triggers of one agent.
#[derive(Debug)]
pub struct TriggerIndex {
    automaton: AhoCorasick,
    /// For each pattern the playbooks that carry it, with the trigger's position in the playbook's list.
    owners: Vec<Vec<Owner>>,
    /// For each pattern whether it has to stand as a word.
    as_word: Vec<bool>,
}

/// A playbook that carries a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The playbook.
    pub ord: PlaybookOrd,
    /// The trigger's position in the playbook's list.
    pub position: u32,
}

/// Triggers that one automaton cannot hold.
#[derive(Debug)]
pub struct TooManyTriggers(aho_corasick::BuildError);

impl fmt::Display for TooManyTriggers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the triggers of this agent are too many for one automaton; give it fewer playbooks or triggers",
        )
    }
}

impl std::error::Error for TooManyTriggers {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl TriggerIndex {
    /// Builds the index; `triggers` holds the list of each playbook in ordinal order.
    ///
    /// # Errors
    /// When the automaton would be too large for its state numbers.
    pub fn build<'a>(
        triggers: impl IntoIterator<Item = &'a [String]>,
        mode: TriggerMatch,
    ) -> Result<Self, TooManyTriggers> {
        let mut patterns: BTreeMap<String, Vec<Owner>> = BTreeMap::new();
        for (ord, list) in (0..).zip(triggers) {
            for (position, trigger) in (0..).zip(list) {
                let owner = Owner { ord: PlaybookOrd::new(ord), position };
                patterns.entry(fold(trigger)).or_default().push(owner);
            }
        }
        let automaton = AhoCorasick::new(patterns.keys()).map_err(TooManyTriggers)?;
        let as_word =
            patterns.keys().map(|pattern| mode == TriggerMatch::Word || is_fragment(pattern)).collect();
        Ok(Self { automaton, owners: patterns.into_values().collect(), as_word })
    }

    /// Finds the triggers in a folded turn: each pattern once, at its first valid occurrence, and whether any stands as a
    /// word. Of a long turn only its first paragraph and its last count, as for relevance: a pasted log holds every common word.
    pub fn find(&self, folded: &str, hits: &mut TriggerHits) {
        hits.begin(self.owners.len());
        if self.owners.is_empty() {
            return;
        }
        for found in self.automaton.find_overlapping_iter(folded) {
            let pattern = found.pattern().as_usize();
            let span = (found.start(), found.end());
            if hits.is_settled(pattern) || !is_read(folded, span) || !self.is_valid(pattern, folded, span) {
                continue;
            }
            hits.add(pattern, span, is_word(folded, span), &self.owners[pattern]);
            if hits.settled_count() == self.owners.len() {
                break;
            }
        }
        hits.finish();
    }

    fn is_valid(&self, pattern: usize, folded: &str, (start, end): (usize, usize)) -> bool {
        if !self.as_word[pattern] {
            return true;
        }
        let before = folded[..start].chars().next_back();
        let after = folded[end..].chars().next();
        let bytes = folded.as_bytes();
        is_edge(bytes[start], before) && is_edge(bytes[end - 1], after)
    }
}

/// Whether a match may end here: an ASCII letter or digit needs a neighbour that is not part of a word; anything else
/// needs nothing. A neighbour of a script without spaces is not part of the word.
fn is_edge(edge: u8, neighbour: Option<char>) -> bool {
    !edge.is_ascii_alphanumeric()
        || neighbour.is_none_or(|c| is_spaceless(c) || !(c.is_alphanumeric() || is_mark(c)))
}

/// Whether a match is not a part of a longer word. In a run of a script without spaces nobody can tell, and it is not.
fn is_word(folded: &str, (start, end): (usize, usize)) -> bool {
    let found = &folded[start..end];
    let goes_on = |edge: Option<char>, neighbour: Option<char>| {
        let (Some(edge), Some(neighbour)) = (edge, neighbour) else { return false };
        edge.is_alphanumeric()
            && (neighbour.is_alphanumeric() || is_mark(neighbour))
            && is_spaceless(edge) == is_spaceless(neighbour)
    };
    !goes_on(found.chars().next(), folded[..start].chars().next_back())
        && !goes_on(found.chars().next_back(), folded[end..].chars().next())
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// The word of the turn around a match, so that "form" found in "perform" is seen at once. Of a very long word the part
/// around the match, with an ellipsis where it is cut.
#[must_use]
pub fn found_in(folded: &str, span: (usize, usize)) -> String {
    let (before, found, after) = (&folded[..span.0], &folded[span.0..span.1], &folded[span.1..]);
    let start = before.rfind(char::is_whitespace).map_or(0, |at| before.ceil_char_boundary(at + 1));
    let end = after.find(char::is_whitespace).unwrap_or(after.len());
    let side_max = FOUND_IN_CHARS_MAX / 4;
    let left: Vec<char> = before[start..].chars().rev().take(side_max + 1).collect();
    let right: Vec<char> = after[..end].chars().take(side_max + 1).collect();
    let mut word = String::new();
    if left.len() > side_max {
        word.push('…');
    }
    word.extend(left.iter().take(side_max).rev());
    word.extend(found.chars().take(FOUND_IN_CHARS_MAX / 2));
    word.extend(right.iter().take(side_max));
    if right.len() > side_max {
        word.push('…');
    }
    word
}

/// Triggers found in a turn.
#[derive(Debug, Default)]
pub struct TriggerHits {
    seen: Vec<Seen>,
    settled_count: usize,
    hits: Vec<TriggerHit>,
}

/// How a pattern has been found so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Not,
    InsideWords,
    AsWord,
}

/// One trigger of one playbook, found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TriggerHit {
    /// Whose trigger it is.
    pub owner: Owner,
    /// The bytes of the folded turn that it covers.
    pub span: (usize, usize),
    /// The number of the trigger among all of the agent.
    pattern: usize,
}

impl TriggerHits {
    fn begin(&mut self, pattern_count: usize) {
        self.seen.clear();
        self.seen.resize(pattern_count, Seen::Not);
        self.settled_count = 0;
        self.hits.clear();
    }

    /// Whether a further occurrence would say nothing new.
    fn is_settled(&self, pattern: usize) -> bool {
        self.seen[pattern] == Seen::AsWord
    }

    fn settled_count(&self) -> usize {
        self.settled_count
    }

    fn add(&mut self, pattern: usize, span: (usize, usize), is_word: bool, owners: &[Owner]) {
        if self.seen[pattern] == Seen::Not {
            self.hits.extend(owners.iter().map(|owner| TriggerHit { owner: *owner, span, pattern }));
            self.seen[pattern] = Seen::InsideWords;
        }
        if is_word {
            self.seen[pattern] = Seen::AsWord;
            self.settled_count += 1;
        }
    }

    fn finish(&mut self) {
        self.hits.sort_unstable();
    }

    /// The hits, by playbook and then in the order of its triggers.
    #[must_use]
    pub fn all(&self) -> &[TriggerHit] {
        &self.hits
    }

    /// Whether a playbook's triggers were found inside longer words alone.
    #[must_use]
    pub fn are_inside_words(&self, ord: PlaybookOrd) -> bool {
        self.of(ord).iter().all(|hit| self.seen[hit.pattern] == Seen::InsideWords)
    }

    /// The hits of one playbook, in the order of its triggers. Logarithmic.
    #[must_use]
    pub fn of(&self, ord: PlaybookOrd) -> &[TriggerHit] {
        let start = self.hits.partition_point(|hit| hit.owner.ord < ord);
        let end = start + self.hits[start..].partition_point(|hit| hit.owner.ord == ord);
        &self.hits[start..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_around_a_match_is_shown_and_a_long_one_is_cut_visibly() {
        assert_eq!(found_in("to perform well", (6, 10)), "perform");
        assert_eq!(found_in("form", (0, 4)), "form");
        let long = format!("{}ui{}", "x".repeat(70), "y".repeat(70));
        assert_eq!(found_in(&long, (70, 72)), format!("…{}ui{}…", "x".repeat(16), "y".repeat(16)));
        assert_eq!(found_in("猫发票猫", (3, 9)), "猫发票猫");
    }
}
