//! BM25 over name, description, triggers and the whole body.
//!
//! The score of a playbook is the sum over the turn's distinct terms `t` of
//!
//! ```text
//! weight(t) · idf(t) · Σ_field  w_field · tf·(k1+1) / (tf + k1·(1 - b_field + b_field · length/mean_length))
//! idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)),   N = number of playbooks + PSEUDO_PLAYBOOKS
//! ```
//!
//! (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, sections 3.2 and 3.6.)
//! Everything but the sum is computed at build time: a posting is a playbook and its share of the score.
//! **Cost** of a score: a hash look-up a term, an addition a posting, no allocation once the scratch has grown.

mod middle;
mod scores;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};

pub use scores::{LexicalScore, LexicalScores};

use super::ord::PlaybookOrd;
use super::{terms, window};
use crate::domain::playbook::Playbook;
use crate::domain::text::fold_into;

/// Saturation of term frequency.
pub const K1: f32 = 1.2;

/// Playbooks without any term that the collection is thought to hold besides: with one or two playbooks every word
/// would otherwise be as rare, or as common, as any other.
pub const PSEUDO_PLAYBOOKS: f32 = 10.0;

/// Terms of a turn that are scored at most, the most informative ones.
const TERMS_MAX: usize = 256;

/// A field's weight in the sum, and how much its length counts against it.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its weight.
    pub weight: f32,
    /// Its length normalisation, 0 to 1.
    pub b: f32,
}

/// The fields: name with title and triggers, description, body.
pub const FIELDS: [Field; 3] =
    [Field { weight: 1.5, b: 0.3 }, Field { weight: 1.0, b: 0.5 }, Field { weight: 1.0, b: 0.75 }];

/// What name and description can score, and what a body adds once it has [`BODY_TERMS_FULL`] terms: measured, so that
/// one floor serves playbooks with and without bodies, in catalogues of 5 to 364.
const CAPACITY_WITHOUT_BODY: f32 = 2.1;
const CAPACITY_OF_BODY: f32 = 1.4;
const BODY_TERMS_FULL: f32 = 100.0;

/// The lexical index of one agent.
#[derive(Debug, Default)]
pub struct Lexical {
    ids: TermIds,
    /// Where each term's postings begin; one more entry than there are terms.
    starts: Vec<u32>,
    postings: Vec<Posting>,
    /// The same for the terms of names and descriptions alone.
    head_starts: Vec<u32>,
    heads: Vec<Head>,
    idf: Vec<f32>,
    unknown_idf: f32,
    /// What each playbook's text can score, by how much of it there is.
    capacities: Vec<f32>,
}

/// The index of each term, by its hash: a text of a million distinct terms has two of one hash with a chance of 3 in 10^8,
/// and then counts them as one.
type TermIds = HashMap<u64, u32, BuildHasherDefault<Hashed>>;

#[derive(Clone, Copy, Debug)]
struct Posting {
    ord: PlaybookOrd,
    impact: f32,
}

/// What of a posting's score comes from the name and from the description.
#[derive(Clone, Copy, Debug)]
struct Head {
    ord: PlaybookOrd,
    name: f32,
    description: f32,
}

/// Term counts of one playbook, by field.
#[derive(Debug, Default)]
pub struct TermCounts {
    /// The distinct terms by hash, ascending, with their frequency in each field.
    terms: Vec<(u64, [u16; FIELDS.len()])>,
    lengths: [u32; FIELDS.len()],
}

impl Lexical {
    /// Builds the index over the term counts of playbooks in ordinal order.
    #[must_use]
    pub fn build(counts: &[&TermCounts]) -> Self {
        let occurrences = counts.iter().map(|counts| counts.terms.len()).sum();
        let mut ids = TermIds::default();
        // The number of each occurrence's term, and how many playbooks hold each: with both known first, the postings are
        // one list that is filled in place, and a build costs half of what a list a term did.
        let mut numbers = Vec::with_capacity(occurrences);
        let mut holders: Vec<u32> = Vec::new();
        let mut head_holders: Vec<u32> = Vec::new();
        for (term, frequencies) in counts.iter().flat_map(|counts| &counts.terms) {
            let next = position(holders.len());
            let id = *ids.entry(*term).or_insert(next);
            if id == next {
                holders.push(0);
                head_holders.push(0);
            }
            holders[id as usize] += 1;
            head_holders[id as usize] += u32::from(is_head(*frequencies));
            numbers.push(id);
        }
        let playbook_count = counts.len();
        let idf_of = |count: &u32| idf(playbook_count, *count as usize);
        let mut index = Self { ids, unknown_idf: idf_of(&0), ..Self::default() };
        index.idf = holders.iter().map(idf_of).collect();
        index.starts = starts(&holders);
        index.head_starts = starts(&head_holders);
        index.capacities = counts.iter().map(|counts| capacity(counts.lengths)).collect();
        index.fill(counts, &numbers);
        index
    }

    /// Writes the postings, each where its term's begin and in the order of the playbooks.
    fn fill(&mut self, counts: &[&TermCounts], numbers: &[u32]) {
        let mean = mean_lengths(counts);
        let nothing = Posting { ord: PlaybookOrd::new(0), impact: 0.0 };
        self.postings = vec![nothing; numbers.len()];
        let no_head = Head { ord: nothing.ord, name: 0.0, description: 0.0 };
        self.heads = vec![no_head; self.head_starts.last().map_or(0, |end| *end as usize)];
        let mut free = self.starts.clone();
        let mut free_heads = self.head_starts.clone();
        let mut numbers = numbers.iter();
        for (ord, counts) in (0..).map(PlaybookOrd::new).zip(counts) {
            for ((_, frequencies), id) in counts.terms.iter().zip(&mut numbers) {
                let idf = self.idf[*id as usize];
                let [name, description, body] =
                    saturated(*frequencies, counts.lengths, mean).map(|share| share * idf);
                let at = &mut free[*id as usize];
                self.postings[*at as usize] = Posting { ord, impact: name + description + body };
                *at += 1;
                if is_head(*frequencies) {
                    let at = &mut free_heads[*id as usize];
                    self.heads[*at as usize] = Head { ord, name, description };
                    *at += 1;
                }
            }
        }
    }

    /// Scores every playbook that shares a term with the folded turn or the recent turns, oldest first.
    pub fn score(&self, folded: &str, recent: &[String], buffer: &mut String, scores: &mut LexicalScores) {
        scores.begin(self.capacities.len());
        self.collect(folded, 1.0, scores);
        self.collect_middle(window::middle(folded), scores);
        for (turn, weight) in window::weighted(recent) {
            buffer.clear();
            fold_into(turn, buffer);
            self.collect(buffer, weight, scores);
        }
        self.settle(scores);
        for (id, weight) in scores.known.iter().copied() {
            let idf = self.idf[id as usize];
            for posting in self.postings_of(id) {
                let score = &mut scores.by_ord[posting.ord.index()];
                if score.bm25 == 0.0 {
                    scores.touched.push(posting.ord);
                }
                score.bm25 += weight * posting.impact;
                score.matched_weight += weight * idf;
            }
            for head in &self.heads[range(&self.head_starts, id)] {
                let score = &mut scores.by_ord[head.ord.index()];
                score.name += weight * head.name;
                score.description += weight * head.description;
            }
        }
        for ord in &scores.touched {
            let score = &mut scores.by_ord[ord.index()];
            score.strength = score.bm25 / (self.unknown_idf * self.capacities[ord.index()]);
            score.name /= self.unknown_idf;
            score.description /= self.unknown_idf;
        }
    }

    /// Adds a text's terms, at a weight.
    fn collect(&self, folded: &str, weight: f32, scores: &mut LexicalScores) {
        let (head, tail) = window::head_and_tail(folded);
        for part in [head, tail] {
            terms::for_each(part, |term| {
                if !scores.counts(term) {
                    return;
                }
                let hash = hash(term);
                match self.ids.get(&hash) {
                    Some(id) => scores.known.push((*id, weight)),
                    None => scores.unknown.push((hash, weight)),
                }
            });
        }
    }

    /// Makes the terms distinct, the heaviest occurrence counting, and bounds them.
    fn settle(&self, scores: &mut LexicalScores) {
        distinct(&mut scores.known);
        distinct(&mut scores.unknown);
        if scores.known.len() > TERMS_MAX {
            let information = |term: &(u32, f32)| term.1 * self.idf[term.0 as usize];
            scores
                .known
                .sort_unstable_by(|a, b| information(b).total_cmp(&information(a)).then(a.0.cmp(&b.0)));
            scores.known.truncate(TERMS_MAX);
        }
        scores.unknown.truncate(TERMS_MAX);
        scores.term_count =
            scores.known.iter().map(|term| term.1).chain(scores.unknown.iter().map(|term| term.1)).sum();
        let known: f32 = scores.known.iter().map(|(id, weight)| weight * self.idf[*id as usize]).sum();
        let unknown: f32 = scores.unknown.iter().map(|(_, weight)| weight * self.unknown_idf).sum();
        scores.total_weight = known + unknown;
    }

    fn postings_of(&self, id: u32) -> &[Posting] {
        &self.postings[range(&self.starts, id)]
    }
}

/// Counts the terms of a playbook.
#[must_use]
pub fn count(playbook: &Playbook) -> TermCounts {
    let name = [playbook.slug().as_str(), playbook.title()];
    let name = name.into_iter().chain(playbook.triggers().iter().map(String::as_str));
    let fields = name.map(|text| (0, text)).chain([(1, playbook.description()), (2, playbook.body())]);
    let mut counts = TermCounts::default();
    let mut occurrences: Vec<(u64, usize)> = Vec::new();
    let mut folded = String::new();
    for (field, text) in fields {
        folded.clear();
        fold_into(text, &mut folded);
        terms::for_each(&folded, |term| {
            counts.lengths[field] += 1;
            occurrences.push((hash(term), field));
        });
    }
    occurrences.sort_unstable();
    for (term, field) in occurrences {
        if counts.terms.last().is_none_or(|(last, _)| *last != term) {
            counts.terms.push((term, [0; FIELDS.len()]));
        }
        let (_, frequencies) = counts.terms.last_mut().expect("one was pushed if there was none");
        frequencies[field] = frequencies[field].saturating_add(1);
    }
    counts.terms.shrink_to_fit();
    counts
}

fn is_head([name, description, _]: [u16; FIELDS.len()]) -> bool {
    name > 0 || description > 0
}

fn range(starts: &[u32], id: u32) -> std::ops::Range<usize> {
    let id = id as usize;
    starts[id] as usize..starts[id + 1] as usize
}

/// Where each term's postings begin, and the end.
fn starts(holders: &[u32]) -> Vec<u32> {
    let mut end = 0_u32;
    let ends = holders.iter().map(|count| {
        end = end.checked_add(*count).expect("an agent's playbooks hold fewer than 2^32 terms");
        end
    });
    std::iter::once(0).chain(ends).collect()
}

fn mean_lengths(counts: &[&TermCounts]) -> [f32; FIELDS.len()] {
    std::array::from_fn(|field| {
        let sum: f32 = counts.iter().map(|counts| float(counts.lengths[field])).sum();
        (sum / float(position(counts.len().max(1)))).max(1.0)
    })
}

/// What each field adds to a posting, without the rarity of its term.
fn saturated(
    frequencies: [u16; FIELDS.len()],
    lengths: [u32; FIELDS.len()],
    mean: [f32; FIELDS.len()],
) -> [f32; FIELDS.len()] {
    std::array::from_fn(|index| {
        let field = FIELDS[index];
        let tf = f32::from(frequencies[index]);
        let norm = 1.0 - field.b + field.b * float(lengths[index]) / mean[index];
        field.weight * tf * (K1 + 1.0) / (tf + K1 * norm)
    })
}

/// What the text of a playbook can score: less when there is hardly a body to score with.
fn capacity(lengths: [u32; FIELDS.len()]) -> f32 {
    let [_, _, body] = lengths;
    CAPACITY_WITHOUT_BODY + CAPACITY_OF_BODY * (float(body) / BODY_TERMS_FULL).min(1.0)
}

fn idf(playbook_count: usize, with_term: usize) -> f32 {
    let (n, df) = (float(position(playbook_count)) + PSEUDO_PLAYBOOKS, float(position(with_term)));
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// Sorts by term and keeps the heaviest occurrence of each.
fn distinct<T: Ord + Copy>(terms: &mut Vec<(T, f32)>) {
    terms.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    terms.dedup_by_key(|term| term.0);
}

/// The same for the same term in the whole process, whatever the index.
fn hash(term: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(term.as_bytes());
    hasher.finish()
}

/// Takes a hash for what it is.
#[derive(Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("term hashes are written as u64");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

fn position(count: usize) -> u32 {
    u32::try_from(count).expect("an agent's playbooks hold fewer than 2^32 terms")
}

/// Counts are far below 2^24, where `f32` is exact.
#[expect(clippy::cast_precision_loss, reason = "counts are small, and a rounded one changes no ranking")]
fn float(count: u32) -> f32 {
    count as f32
}
