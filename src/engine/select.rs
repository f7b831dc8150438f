//! The hot path, top to bottom: one turn to one menu.
//!
//! **Invariants**: a function of the index and the query alone, so equal input gives an equal menu; never more items
//! than the query allows, enforced where items are added; everything that qualified and was cut is counted.
//! **Cost**: microseconds at 30 playbooks; linear in the turn, in the matches, in the postings of its terms, and in the
//! playbooks up to [`SCAN_MAX`](super::nearest::SCAN_MAX).

use super::embed::turn::{Outcome, TurnVector};
use super::judge::{Candidate, Candidates, Judge, by_relevance, more_relevant};
use super::ord::PlaybookOrd;
use super::relevance::{Evidence, Occasion};
use super::scratch::Scratch;
use super::snapshot::AgentIndex;
use super::trigger::found_in;
use super::window::middle;
use crate::domain::limits::CONSIDERED_MAX;
use crate::domain::menu::{Considered, Exclusion, Menu, MenuItem, Reason};
use crate::domain::query::MenuQuery;
use crate::domain::stage::Stage;
use crate::domain::text::fold_into;

/// Playbooks that each kind of evidence proposes where there are too many to judge them all.
const PROPOSED: usize = 128;

/// Selects the menu of a turn. Where the model takes milliseconds a text, embed first: [`select_embedded`].
pub fn select(index: &AgentIndex, query: &MenuQuery, scratch: &mut Scratch) -> Menu {
    scratch.stopwatch.start();
    let mut turn = std::mem::take(&mut scratch.turn);
    turn.embed(&*index.embedder, query, &mut scratch.embed);
    scratch.stopwatch.end(Stage::Embed);
    let menu = compare(index, query, &turn, scratch);
    scratch.turn = turn;
    menu
}

/// Selects the menu of a turn that the index's model has embedded.
pub fn select_embedded(
    index: &AgentIndex,
    query: &MenuQuery,
    turn: &TurnVector,
    scratch: &mut Scratch,
) -> Menu {
    scratch.stopwatch.start();
    compare(index, query, turn, scratch)
}

/// The turn and its vector with the playbooks.
fn compare(index: &AgentIndex, query: &MenuQuery, turn: &TurnVector, scratch: &mut Scratch) -> Menu {
    fold_turn(query, scratch);
    index.triggers.find(&scratch.folded, &mut scratch.hits);
    scratch.stopwatch.end(Stage::Trigger);
    score_terms(index, query, turn, scratch);
    scratch.stopwatch.end(Stage::Lexical);
    propose(index, query, turn, scratch);
    let mut stopwatch = scratch.stopwatch.clone();
    let mut fits = std::mem::take(&mut scratch.fits);
    let mut judge = Judge::new(index, query, turn, scratch);
    stopwatch.end(Stage::Nearest);
    judge.decide(query, &scratch.proposed, &mut fits);
    let candidates = Candidates::collect(&judge, query, scratch, &fits);
    let menu = compose(&judge, query, scratch, candidates);
    stopwatch.end(Stage::Judge);
    scratch.fits = fits;
    scratch.stopwatch = stopwatch;
    menu
}

/// The evidence for every playbook, in slug order, and what it is weighed against: for those who measure it.
pub fn examine(index: &AgentIndex, query: &MenuQuery, scratch: &mut Scratch) -> (Vec<Evidence>, Occasion) {
    let mut turn = TurnVector::default();
    turn.embed(&*index.embedder, query, &mut scratch.embed);
    fold_turn(query, scratch);
    score_terms(index, query, &turn, scratch);
    let judge = Judge::new(index, query, &turn, scratch);
    let all = (0..).map(PlaybookOrd::new).take(index.contents.len()).map(|ord| judge.evidence(ord)).collect();
    (all, judge.occasion)
}

fn fold_turn(query: &MenuQuery, scratch: &mut Scratch) {
    scratch.folded.clear();
    fold_into(query.turn(), &mut scratch.folded);
}

fn score_terms(index: &AgentIndex, query: &MenuQuery, turn: &TurnVector, scratch: &mut Scratch) {
    scratch.lexical.set_without_numbers(turn.outcome == Outcome::ScriptNotCovered);
    index.lexical.score(&scratch.folded, query.recent(), &mut scratch.folded_recent, &mut scratch.lexical);
}

/// Fills `proposed` with the playbooks that are worth judging, in ordinal order: all of them in most catalogues; in a
/// large one, what is near, what shares most terms, and what the caller names.
fn propose(index: &AgentIndex, query: &MenuQuery, turn: &TurnVector, scratch: &mut Scratch) {
    let proposed = &mut scratch.proposed;
    proposed.clear();
    if index.vectors.judges_all() {
        proposed.extend((0..).map(PlaybookOrd::new).take(index.contents.len()));
        return;
    }
    if query.allowed().is_empty() {
        scratch.lexical.best(PROPOSED, proposed);
        if turn.outcome == Outcome::Embedded {
            index.vectors.propose(&turn.values, PROPOSED, &mut scratch.nearest, proposed);
        }
    } else {
        let named = query.allowed().iter().filter_map(|slug| index.position(slug));
        proposed.extend(named.filter_map(|at| u32::try_from(at).ok()).map(PlaybookOrd::new));
    }
    proposed.sort_unstable();
    proposed.dedup();
}

/// A menu in the making.
struct Composition<'a> {
    judge: &'a Judge<'a>,
    menu: Menu,
    placed: Vec<PlaybookOrd>,
    /// Triggered ones that say nearly what one on the menu says.
    triggered_twins: Vec<Candidate>,
    /// Such ones that relevance alone speaks for.
    ranked_twins: Vec<Candidate>,
    left_out: Vec<(Candidate, Exclusion)>,
}

impl Composition<'_> {
    /// The line of the menu that says nearly what this one would.
    fn twin(&self, candidate: Candidate) -> Option<usize> {
        self.placed.iter().position(|other| self.judge.index.are_near_duplicates(*other, candidate.ord))
    }

    /// Whether one for which there is a place should leave it to others.
    fn may_wait(&self, candidate: Candidate, limit: usize) -> bool {
        self.menu.items.len() < limit && self.twin(candidate).is_some()
    }

    /// Says at a line which other playbook says nearly the same, whether that is on the menu or not.
    fn tell_twin(&mut self, line: usize, candidate: Candidate) {
        self.menu.items[line].near_duplicates.push(self.judge.index.at(candidate.ord).slug().clone());
    }

    /// Puts a candidate on the menu while it has fewer than `limit` lines; returns whether it did.
    fn offer(&mut self, candidate: Candidate, limit: usize, reason: impl FnOnce() -> Reason) -> bool {
        if self.menu.items.len() >= limit {
            self.left_out.push((candidate, Exclusion::NoPlace));
            return false;
        }
        if let Some(twin) = self.twin(candidate) {
            self.tell_twin(twin, candidate);
        }
        self.menu.items.push(item(self.judge.index, candidate, reason()));
        self.placed.push(candidate.ord);
        true
    }

    /// Offers the always-on ones: of near-duplicates the first, when not all of them have a place.
    fn offer_always_on(&mut self, query: &MenuQuery, always_on: &[Candidate]) {
        let limit = query.menu_limit();
        let is_crowded = always_on.len() > limit;
        let mut twins = Vec::new();
        for candidate in always_on {
            if is_crowded && self.may_wait(*candidate, limit) {
                twins.push(*candidate);
            } else if !self.offer(*candidate, limit, || Reason::AlwaysOn) {
                self.menu.omitted.always_on += 1;
            }
        }
        for candidate in twins {
            let is_placed = self.offer(candidate, limit, || Reason::AlwaysOn);
            self.menu.omitted.always_on += usize::from(!is_placed);
        }
    }

    /// Offers the triggered ones, and returns how many places they have left to relevance: one for the most probable playbook
    /// of all, whether a trigger names it or not, and one beside the triggers of a long turn, which a paste may hold. A
    /// trigger inside a longer word may not be meant: it takes no place from what is more relevant, nor from a trigger that
    /// stands as a word. One that says nearly what another does waits for what nobody else wants.
    fn offer_triggered(&mut self, query: &MenuQuery, scratch: &Scratch, candidates: &Candidates) -> usize {
        let Candidates { triggered, ranked, .. } = candidates;
        let may_be_chance = |candidate: &Candidate| scratch.hits.are_inside_words(candidate.ord);
        let is_first = |best: &Candidate| triggered.iter().all(|other| more_relevant(best, other).is_lt());
        let is_long = !middle(&scratch.folded).is_empty() && query.menu_limit() > 1;
        let for_first = usize::from(ranked.first().is_some_and(|best| is_long || is_first(best)));
        let mut kept = for_first;
        let mut words_to_come = triggered.iter().filter(|candidate| !may_be_chance(candidate)).count();
        let best = if words_to_come < triggered.len() { self.best(ranked, query) } else { Vec::new() };
        for candidate in triggered {
            let (left, others) = if may_be_chance(candidate) {
                let better = best.partition_point(|other| more_relevant(other, candidate).is_lt());
                (better.max(for_first), words_to_come)
            } else {
                words_to_come -= 1;
                (for_first, 0)
            };
            if self.may_wait(*candidate, query.menu_limit()) {
                self.triggered_twins.push(*candidate);
                continue;
            }
            let limit = query.menu_limit().saturating_sub(left + others);
            let reason = || trigger_reason(self.judge.index, query, scratch, candidate.ord);
            if self.offer(*candidate, limit, reason) {
                kept = kept.max(left);
            } else {
                self.menu.omitted.triggered += 1;
            }
        }
        kept
    }

    /// The best of those that relevance alone speaks for, as many as it may fill the menu with: of near-duplicates the first.
    fn best(&self, ranked: &[Candidate], query: &MenuQuery) -> Vec<Candidate> {
        let index = self.judge.index;
        let mut best: Vec<Candidate> = Vec::new();
        for candidate in ranked {
            if best.len() == query.top_up_limit() {
                break;
            }
            if !best.iter().any(|other| index.are_near_duplicates(other.ord, candidate.ord)) {
                best.push(*candidate);
            }
        }
        best
    }

    /// The same as `offer` for one that relevance alone speaks for. Beside one that says the same it does not stand; beside one
    /// that says nearly the same it stands where nobody else wants the place. Either way the other's line tells of it.
    fn offer_ranked(&mut self, candidate: Candidate, limit: usize, is_last_chance: bool) {
        let index = self.judge.index;
        if let Some(twin) = self.twin(candidate) {
            let is_copy = self.placed.iter().any(|other| index.have_one_description(*other, candidate.ord));
            if !is_copy && !is_last_chance {
                self.ranked_twins.push(candidate);
                return;
            }
            if is_copy || self.menu.items.len() >= limit {
                self.tell_twin(twin, candidate);
                self.menu.omitted.near_duplicate += 1;
                self.left_out.push((candidate, Exclusion::NearDuplicate));
                return;
            }
        }
        let probability = candidate.scores.probability;
        if !self.offer(candidate, limit, || Reason::Semantic { probability }) {
            self.menu.omitted.semantic += 1;
        }
    }

    /// Offers the places that are left to those who waited: triggered ones after the other triggered ones.
    fn offer_twins(&mut self, query: &MenuQuery, scratch: &Scratch, triggered_end: usize, for_ranked: usize) {
        for candidate in std::mem::take(&mut self.ranked_twins) {
            self.offer_ranked(candidate, for_ranked, true);
        }
        let before = self.menu.items.len();
        for candidate in std::mem::take(&mut self.triggered_twins) {
            let reason = || trigger_reason(self.judge.index, query, scratch, candidate.ord);
            let is_placed = self.offer(candidate, query.menu_limit(), reason);
            self.menu.omitted.triggered += usize::from(!is_placed);
        }
        let placed = self.menu.items.len() - before;
        self.menu.items[triggered_end..].rotate_right(placed);
    }
}

fn compose(judge: &Judge<'_>, query: &MenuQuery, scratch: &Scratch, candidates: Candidates) -> Menu {
    let menu = Menu { semantic: judge.semantic, ..Menu::default() };
    let mut made = Composition {
        judge,
        menu,
        placed: Vec::new(),
        triggered_twins: Vec::new(),
        ranked_twins: Vec::new(),
        left_out: Vec::new(),
    };
    made.offer_always_on(query, &candidates.always_on);
    let kept = made.offer_triggered(query, scratch, &candidates);
    let triggered_end = made.menu.items.len();
    let with_kept = (triggered_end + kept).min(query.menu_limit());
    let for_ranked = query.top_up_limit().max(with_kept);
    for candidate in candidates.ranked {
        made.offer_ranked(candidate, for_ranked, false);
    }
    made.offer_twins(query, scratch, triggered_end, for_ranked);
    let Composition { mut menu, left_out, .. } = made;
    if query.explain() {
        menu.considered = explain(judge, query, left_out, &menu);
    }
    menu
}

fn item(index: &AgentIndex, candidate: Candidate, reason: Reason) -> MenuItem {
    let playbook = index.at(candidate.ord);
    MenuItem {
        slug: playbook.slug().clone(),
        title: playbook.title().to_owned(),
        description: playbook.description_line().to_owned(),
        digest: playbook.digest(),
        reason,
        scores: candidate.scores,
        near_duplicates: Vec::new(),
    }
}

fn trigger_reason(index: &AgentIndex, query: &MenuQuery, scratch: &Scratch, ord: PlaybookOrd) -> Reason {
    let triggers = index.at(ord).triggers();
    let hits = scratch.hits.of(ord);
    let matched = hits.iter().map(|hit| triggers[hit.owner.position as usize].clone()).collect();
    let found_in = if query.explain() {
        hits.iter().map(|hit| found_in(&scratch.folded, hit.span)).collect()
    } else {
        Vec::new()
    };
    Reason::Trigger { matched, found_in }
}

/// Why the others are not on the menu: what qualified first, then by relevance. Not on the hot path.
fn explain(
    judge: &Judge<'_>,
    query: &MenuQuery,
    left_out: Vec<(Candidate, Exclusion)>,
    menu: &Menu,
) -> Vec<Considered> {
    let index = judge.index;
    let mut known: Vec<bool> = vec![false; index.contents.len()];
    for (candidate, _) in &left_out {
        known[candidate.ord.index()] = true;
    }
    for at in menu.items.iter().filter_map(|item| index.position(&item.slug)) {
        known[at] = true;
    }
    let rest = (0..).map(PlaybookOrd::new).zip(&known).filter(|(_, known)| !**known).map(|(ord, _)| {
        let playbook = index.at(ord);
        let exclusion = if playbook.parts().explicit {
            Exclusion::ExplicitOnly
        } else if query.allows(playbook.slug()) {
            Exclusion::BelowFloor
        } else {
            Exclusion::NotAllowed
        };
        (judge.candidate(ord), exclusion)
    });
    let mut all: Vec<_> = left_out.into_iter().chain(rest).collect();
    all.sort_by(|(a, excluded_a), (b, excluded_b)| {
        let qualified = |exclusion: &Exclusion| {
            u8::from(!matches!(exclusion, Exclusion::NoPlace | Exclusion::NearDuplicate))
        };
        qualified(excluded_a).cmp(&qualified(excluded_b)).then_with(|| by_relevance(a, b))
    });
    all.truncate(CONSIDERED_MAX);
    all.into_iter()
        .map(|(candidate, exclusion)| Considered {
            slug: index.at(candidate.ord).slug().clone(),
            exclusion,
            scores: candidate.scores,
        })
        .collect()
}
