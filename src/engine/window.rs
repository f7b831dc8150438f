//! Long turns to the part of them that relevance reads.
//!
//! A pasted log may be a hundred times the request that stands above or below it, and holds every common word. Relevance
//! reads the head and the tail, and of what lies between the strongest pieces at a low weight; triggers fire in the head
//! and the tail alone, and elsewhere are evidence as other words are. Of recent turns the newest weighs most. **Cost**:
//! constant.

use crate::domain::text::prefix_bytes;

/// Bytes of the head that are read: a request above a paste.
const HEAD_BYTES: usize = 2 * 1024;

/// Bytes of the tail that are read: a request below a paste is the commoner form.
const TAIL_BYTES: usize = 4 * 1024;

/// Bytes of each end that are embedded: what a sentence transformer reads of a text, some 250 tokens.
const EMBEDDED_BYTES: usize = 1024;

/// The weight of the newest recent turn, against 1 of the turn itself, and what each older one has of the next one's. Measured
/// on the halves of two sets of dialogues that may be tuned on: with 0.25 for all, 0.571 of 1,000 follow-ups had the right
/// one first and 0.691 of 163 turns of the other set; so, 0.579 and 0.706; with 0.5 and half of it for each older one, 0.550
/// and 0.730. A change of subject is found as well as without recent turns.
const RECENT_WEIGHT: f32 = 0.4;
const RECENT_DECAY: f32 = 0.7;

/// Recent turns, oldest first, to newest first with their weights.
pub fn weighted(recent: &[String]) -> impl Iterator<Item = (&str, f32)> {
    let weights = std::iter::successors(Some(RECENT_WEIGHT), |weight| Some(weight * RECENT_DECAY));
    recent.iter().rev().map(String::as_str).zip(weights)
}

/// The head and the tail of `folded` for BM25; the tail is empty when the text is short. Cut between characters.
#[must_use]
pub fn head_and_tail(folded: &str) -> (&str, &str) {
    if folded.len() <= HEAD_BYTES + TAIL_BYTES {
        return (folded, "");
    }
    let tail_start = folded.ceil_char_boundary(folded.len() - TAIL_BYTES);
    (prefix_bytes(folded, HEAD_BYTES), &folded[tail_start..])
}

/// What lies between the head and the tail; nothing in a short text.
#[must_use]
pub fn middle(folded: &str) -> &str {
    let (head, tail) = head_and_tail(folded);
    &folded[head.len()..folded.len() - tail.len()]
}

/// Whether this part of `folded` is read in full: any of a short text, the head and the tail of a long one.
#[must_use]
pub fn is_read(folded: &str, (start, end): (usize, usize)) -> bool {
    let (head, tail) = head_and_tail(folded);
    end <= head.len() || start >= folded.len() - tail.len()
}

/// The head and the tail of a turn for the embedding, as above.
#[must_use]
pub fn embedded_ends(turn: &str) -> (&str, &str) {
    if turn.len() <= EMBEDDED_BYTES {
        return (turn, "");
    }
    let head = prefix_bytes(turn, EMBEDDED_BYTES);
    let rest = &turn[head.len()..];
    (head, &rest[rest.ceil_char_boundary(rest.len().saturating_sub(EMBEDDED_BYTES))..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_turns_are_whole_and_long_ones_keep_both_ends() {
        assert_eq!((head_and_tail("short"), middle("short")), (("short", ""), ""));
        let long = format!("begin {} end", "猫".repeat(10_000));
        let (head, tail) = head_and_tail(&long);
        assert!(head.starts_with("begin") && head.len() <= HEAD_BYTES);
        assert!(tail.ends_with("end") && tail.len() <= TAIL_BYTES);
        assert_eq!([head, middle(&long), tail].concat(), long);
        let (head, tail) = embedded_ends(&long);
        assert!(
            head.starts_with("begin")
                && tail.ends_with("end")
                && head.len().max(tail.len()) <= EMBEDDED_BYTES
        );
        let middling = "x".repeat(EMBEDDED_BYTES + 5);
        assert_eq!(embedded_ends(&middling).1, "xxxxx");
    }
}
