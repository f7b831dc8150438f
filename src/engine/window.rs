//! Long turns to the parts of them that are read in full.
//!
//! A pasted log may be a hundred times the request that stands above or below it, and holds every common word. So of a long
//! turn the first paragraph and the last are read as short turns are, and of what lies between the strongest pieces at a low
//! weight; triggers fire in those two alone, and elsewhere are evidence as other words are. Of recent turns the newest weighs
//! most. **Cost**: constant.

use crate::domain::text::prefix_bytes;

/// Bytes of a turn that is read in full.
const WHOLE_BYTES: usize = 2 * 1024;

/// Bytes of the first or last paragraph of a longer one. Where it is longer, as that of a paste without blank lines is, its
/// outermost line is read.
const END_BYTES: usize = 1024;

/// Bytes without margins that an end has, so that it is more than a greeting: then what is next to it is read, too.
const END_BYTES_MIN: usize = 24;

/// Bytes of each half of a turn that is read in full and is too long to embed as one: what a sentence transformer reads of a
/// text, some 250 tokens.
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

/// The first and the last paragraph of a long text; a short one is all head. Cut between characters.
#[must_use]
pub fn head_and_tail(text: &str) -> (&str, &str) {
    if text.len() <= WHOLE_BYTES {
        return (text, "");
    }
    let lines = text.split_inclusive('\n');
    let head = prefix_bytes(text, end_bytes(lines.clone()));
    let tail_start = text.len() - end_bytes(lines.rev());
    (head, &text[text.ceil_char_boundary(tail_start)..])
}

/// How many bytes of a text belong to its end, whose lines are given from there inwards: those of a paragraph, or else of the
/// least number of lines that say anything.
fn end_bytes<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    let (mut bytes, mut said, mut least) = (0, 0, None);
    for line in lines {
        let words = line.trim();
        if said >= END_BYTES_MIN && is_border(words) {
            return bytes;
        }
        bytes += line.len();
        if bytes > END_BYTES {
            break;
        }
        said += if is_border(words) { 0 } else { words.len() };
        if said >= END_BYTES_MIN {
            least = least.or(Some(bytes));
        }
    }
    least.unwrap_or(END_BYTES)
}

/// Whether a trimmed line stands between paragraphs: a blank one, or the border of a block of code.
fn is_border(line: &str) -> bool {
    line.is_empty() || line.starts_with("```") || line.starts_with("~~~")
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

/// The parts of a turn that are embedded, with what the second weighs: the halves of a middling one by their lengths, the ends
/// of a long one equally.
#[must_use]
pub fn embedded_parts(turn: &str) -> [(&str, f32); 2] {
    if turn.len() > WHOLE_BYTES {
        let (head, tail) = head_and_tail(turn);
        return [(head, 1.0), (tail, 1.0)];
    }
    let head = prefix_bytes(turn, EMBEDDED_BYTES);
    let rest = &turn[head.len()..];
    [(head, 1.0), (rest, ratio(rest.len(), head.len()))]
}

/// Lengths of at most a few thousand bytes.
#[expect(clippy::cast_precision_loss, reason = "f32 holds such lengths exactly")]
fn ratio(a: usize, b: usize) -> f32 {
    a as f32 / b.max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_turns_are_whole_and_long_ones_keep_both_ends() {
        assert_eq!((head_and_tail("short"), middle("short")), (("short", ""), ""));
        let long = format!("begin {} end", "猫".repeat(10_000));
        let (head, tail) = head_and_tail(&long);
        assert!(head.starts_with("begin") && tail.ends_with("end"));
        assert!(head.len().max(tail.len()) <= END_BYTES && head.len().min(tail.len()) > END_BYTES - 4);
        assert_eq!([head, middle(&long), tail].concat(), long);
        let middling = "x".repeat(EMBEDDED_BYTES + 5);
        assert_eq!(embedded_parts(&middling).map(|(part, _)| part.len()), [EMBEDDED_BYTES, 5]);
        assert_eq!(embedded_parts(&long), [(head, 1.0), (tail, 1.0)]);
    }

    #[test]
    fn the_ends_of_a_long_turn_are_its_outermost_paragraphs_or_lines() {
        let log = "2026-12-03 ERROR deploy failed in step 7\n".repeat(100);
        for (above, below, wanted) in [
            (
                "Please sum this up, in short:\n\n",
                "\nThat is all. It is\nfor my manager.\n",
                ("Please sum this up", "That is all"),
            ),
            (
                "Please sum this up, in short:\n",
                "Write it for my manager, please",
                ("Please sum this up", "Write it for"),
            ),
            ("", "```\nWrite it for my manager.\n\nThanks!", ("2026-12-03", "Write it for")),
            ("Hello,\n\nplease sum this up.\n```\n", "", ("Hello,", "2026-12-03")),
            (
                "\r\n\r\nPlease sum this up, in short:\r\n\r\n",
                "\r\n\r\nWrite it for my manager.\r\n",
                ("Please sum", "Write it"),
            ),
        ] {
            let text = format!("{above}{log}{below}");
            let (head, tail) = head_and_tail(&text);
            let (head, tail) = (head.trim_start(), tail.trim_start().trim_start_matches("```\n"));
            assert!(head.starts_with(wanted.0) && tail.starts_with(wanted.1), "{head:?} {tail:?}");
            assert!(head.len().max(tail.len()) < 100, "{head:?} {tail:?}");
        }
    }
}
