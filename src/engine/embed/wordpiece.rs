//! BERT's tokenizer, without allocation: clean, lower-case, strip accents, split, longest piece first.
//!
//! Reads only the form in which all-lower-case BERT models and static models made from them come, and declines any
//! other; it gives the ids that the crate `tokenizers` gives, unknown ones left out (`tests/it/embed.rs`).
//! **Cost**: one look-up for a word that is a piece, one a length for others.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;

/// A vocabulary of words and of pieces that continue a word.
#[derive(Debug)]
pub struct WordPiece {
    words: FxHashMap<Box<str>, u32>,
    continuations: FxHashMap<Box<str>, u32>,
    unknown: u32,
    /// Characters of a word above which it is unknown.
    word_chars_max: usize,
    /// Bytes of the longest piece.
    piece_bytes_max: usize,
    /// Special tokens, which stand for themselves wherever they are.
    special: Vec<(Box<str>, u32)>,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    normalizer: Option<Normalizer<'a>>,
    #[serde(borrow)]
    pre_tokenizer: Option<Kind<'a>>,
    #[serde(borrow)]
    model: Model<'a>,
    #[serde(borrow, default)]
    added_tokens: Vec<AddedToken<'a>>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    r#type: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Normalizer<'a> {
    r#type: Cow<'a, str>,
    clean_text: Option<bool>,
    handle_chinese_chars: Option<bool>,
    strip_accents: Option<bool>,
    lowercase: Option<bool>,
}

#[derive(Deserialize)]
struct Model<'a> {
    r#type: Option<Cow<'a, str>>,
    unk_token: Option<Cow<'a, str>>,
    continuing_subword_prefix: Option<Cow<'a, str>>,
    max_input_chars_per_word: Option<usize>,
    vocab: FxHashMap<Cow<'a, str>, u32>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the fields of the file format")]
struct AddedToken<'a> {
    id: u32,
    content: Cow<'a, str>,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
}

impl WordPiece {
    /// Reads a tokenizer.json of this form; `None` for any other.
    #[must_use]
    pub fn parse(json: &[u8]) -> Option<Self> {
        let file: File<'_> = serde_json::from_slice(json).ok()?;
        let normalizer = file.normalizer?;
        let is_lower_case = normalizer.r#type == "BertNormalizer"
            && normalizer.clean_text == Some(true)
            && normalizer.handle_chinese_chars == Some(true)
            && normalizer.strip_accents != Some(false)
            && normalizer.lowercase == Some(true);
        let is_bert = is_lower_case
            && file.pre_tokenizer?.r#type == "BertPreTokenizer"
            && file.model.r#type.as_deref().is_none_or(|kind| kind == "WordPiece")
            && file.model.continuing_subword_prefix.as_deref() == Some("##");
        if !is_bert || file.added_tokens.iter().any(AddedToken::is_unusual) {
            return None;
        }
        let unknown = *file.model.vocab.get(file.model.unk_token?.as_ref())?;
        let mut read = Self {
            words: FxHashMap::default(),
            continuations: FxHashMap::default(),
            unknown,
            word_chars_max: file.model.max_input_chars_per_word?,
            piece_bytes_max: file.model.vocab.keys().map(|piece| piece.len()).max()?,
            special: file.added_tokens.iter().map(|t| (Box::from(t.content.as_ref()), t.id)).collect(),
        };
        for (piece, id) in file.model.vocab {
            // No word begins with "##": punctuation is taken apart before.
            match piece.strip_prefix("##") {
                Some(continuation) if !continuation.is_empty() => {
                    read.continuations.insert(continuation.into(), id)
                }
                _ => read.words.insert(piece.as_ref().into(), id),
            };
        }
        Some(read)
    }

    /// Appends the ids of the text's known tokens until `ids` holds `ids_max`.
    pub fn collect(&self, text: &str, ids_max: usize, word: &mut String, ids: &mut Vec<u32>) {
        let mut rest = text;
        while let Some((at, token, id)) = self.next_special(rest) {
            self.collect_plain(&rest[..at], ids_max, word, ids);
            if id != self.unknown && ids.len() < ids_max {
                ids.push(id);
            }
            rest = &rest[at + token.len()..];
        }
        self.collect_plain(rest, ids_max, word, ids);
    }

    /// One more than the greatest id.
    #[must_use]
    pub fn id_count(&self) -> usize {
        let special = self.special.iter().map(|(_, id)| id);
        let ids = self.words.values().chain(self.continuations.values()).chain(special);
        ids.max().map_or(0, |greatest| *greatest as usize + 1)
    }

    /// The pieces of the vocabulary, without their marks.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.words.keys().chain(self.continuations.keys()).map(AsRef::as_ref)
    }

    fn next_special(&self, text: &str) -> Option<(usize, &str, u32)> {
        if !text.contains('[') && self.special.iter().all(|(token, _)| token.starts_with('[')) {
            return None;
        }
        let found = self.special.iter().filter_map(|(token, id)| Some((text.find(&**token)?, &**token, *id)));
        // Of two at one place the longer, as the crate's automaton takes them.
        found.min_by_key(|(at, token, _)| (*at, usize::MAX - token.len()))
    }

    fn collect_plain(&self, text: &str, ids_max: usize, word: &mut String, ids: &mut Vec<u32>) {
        word.clear();
        for c in text.chars() {
            if ids.len() >= ids_max {
                return;
            }
            if c.is_ascii() {
                self.push_ascii(c, word, ids);
            } else {
                self.push_other(c, word, ids);
            }
        }
        self.end_word(word, ids);
        ids.truncate(ids_max);
    }

    fn push_ascii(&self, c: char, word: &mut String, ids: &mut Vec<u32>) {
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            self.end_word(word, ids);
        } else if c.is_ascii_punctuation() {
            self.end_word(word, ids);
            word.push(c);
            self.end_word(word, ids);
        }
        // What is left are control characters, which vanish.
    }

    fn push_other(&self, c: char, word: &mut String, ids: &mut Vec<u32>) {
        if c == '\u{FFFD}' || c.is_other() {
            return;
        }
        if c.is_whitespace() {
            return self.end_word(word, ids);
        }
        let stands_alone = is_han(c);
        if stands_alone {
            self.end_word(word, ids);
        }
        for part in std::iter::once(c).nfd().filter(|part| !part.is_mark_nonspacing()) {
            for lower in part.to_lowercase() {
                if lower.is_whitespace() {
                    self.end_word(word, ids);
                } else if lower.is_ascii_punctuation() || lower.is_punctuation() {
                    self.end_word(word, ids);
                    word.push(lower);
                    self.end_word(word, ids);
                } else {
                    word.push(lower);
                }
            }
        }
        if stands_alone {
            self.end_word(word, ids);
        }
    }

    /// Takes the word apart into pieces, the longest first; a word with a part that is no piece is unknown.
    fn end_word(&self, word: &mut String, ids: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        let before = ids.len();
        if word.len() > self.word_chars_max && word.chars().count() > self.word_chars_max {
            word.clear();
            return;
        }
        let mut rest = word.as_str();
        let mut pieces = &self.words;
        while !rest.is_empty() {
            let Some((id, length)) = longest(pieces, rest, self.piece_bytes_max) else {
                ids.truncate(before);
                break;
            };
            ids.push(id);
            rest = &rest[length..];
            pieces = &self.continuations;
        }
        if ids[before..].contains(&self.unknown) {
            ids.truncate(before);
        }
        word.clear();
    }
}

impl AddedToken<'_> {
    fn is_unusual(&self) -> bool {
        self.single_word
            || self.lstrip
            || self.rstrip
            || self.normalized
            || self.content.is_empty()
            || self.content.contains(char::is_whitespace)
    }
}

fn longest(pieces: &FxHashMap<Box<str>, u32>, word: &str, bytes_max: usize) -> Option<(u32, usize)> {
    let mut end = word.floor_char_boundary(bytes_max);
    while end > 0 {
        if let Some(id) = pieces.get(&word[..end]) {
            return Some((*id, end));
        }
        end = word.floor_char_boundary(end - 1);
    }
    None
}

/// The blocks that BERT's tokenizer puts spaces around.
fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2A6DF}'
        | '\u{2A700}'..='\u{2B73F}' | '\u{2B740}'..='\u{2B81F}' | '\u{2B920}'..='\u{2CEAF}'
        | '\u{2F800}'..='\u{2FA1F}')
}
