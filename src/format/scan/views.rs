//! The texts that patterns run over, and where each byte of them stands in the file.

use std::borrow::Cow;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;
use unicode_script::{Script, UnicodeScript as _};
use unicode_security::confusable_detection::skeleton;

/// A text to run patterns over.
pub(super) struct View<'a> {
    pub(super) text: Cow<'a, [u8]>,
    /// For each byte the byte of the file that it stands for; none where they are the same.
    map: Option<Vec<u32>>,
    pub(super) kind: Kind,
}

/// What a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The file.
    Raw,
    /// The file as it looks.
    Folded,
    /// What is encoded in it.
    Decoded,
}

impl<'a> View<'a> {
    pub(super) fn raw(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text.as_bytes()), map: None, kind: Kind::Raw }
    }

    pub(super) fn mapped(text: Vec<u8>, map: Vec<u32>, kind: Kind) -> Self {
        debug_assert_eq!(text.len(), map.len());
        Self { text: Cow::Owned(text), map: Some(map), kind }
    }

    /// The byte of the file that a byte stands for.
    pub(super) fn raw_of(&self, at: usize) -> usize {
        match &self.map {
            None => at,
            Some(map) => map.get(at).or(map.last()).map_or(0, |raw| *raw as usize),
        }
    }
}

/// The file as it looks; none where it is what it looks like.
pub(super) fn folded(text: &str) -> Option<View<'static>> {
    if text.is_ascii() || !is_disguised(text) {
        return None;
    }
    let (mut out, mut map) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
    let mut buffer = [0; 4];
    for (at, c) in text.char_indices() {
        let at = u32::try_from(at).expect("a file has at most 64 KiB");
        let mut push = |c: char| {
            let bytes = c.encode_utf8(&mut buffer).as_bytes();
            out.extend_from_slice(bytes);
            map.extend(std::iter::repeat_n(at, bytes.len()));
        };
        if c.is_ascii() {
            push(c);
        } else if let Some(plain) = letter(c) {
            plain.iter().filter(|byte| **byte != 0).for_each(|byte| push(char::from(*byte)));
        } else if !is_unseen(c) {
            // A compatibility form may be 18 characters long: the view stays in proportion to the file.
            std::iter::once(c).nfkc().take(4).filter(|c| !is_mark(*c)).for_each(&mut push);
        }
    }
    Some(View::mapped(out, map, Kind::Folded))
}

/// Whether a text holds characters that are not seen or that look like ASCII letters.
pub(super) fn is_disguised(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(|c| !c.is_ascii() && (is_unseen(c) || letter(c).is_some()))
}

/// Characters that take no room. Joiners and emoji selectors among them: where they are legitimate, nothing is hidden.
pub(super) fn is_unseen(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFA0}' | '\u{E0000}'..='\u{E0FFF}')
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{20D0}'..='\u{20FF}')
}

/// The ASCII letters or digits that a character looks like; none for those that look like none.
pub(super) fn letter(c: char) -> Option<Look> {
    if c.is_ascii() || matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}') {
        return None;
    }
    match TABLE.get(c as usize) {
        Some(look) => Some(*look).filter(|look| look[0] != 0),
        None => look(c),
    }
}

/// At most four ASCII bytes, zeros behind them.
type Look = [u8; 4];

/// The answers for the characters that are common, computed once: a file of 32,000 Greek letters asks for each of them.
static TABLE: LazyLock<Vec<Look>> = LazyLock::new(|| {
    let answer =
        |code: u32| char::from_u32(code).filter(|c| !c.is_ascii()).and_then(look).unwrap_or_default();
    (0..0x2E80).map(answer).collect()
});

fn look(c: char) -> Option<Look> {
    if let Some(own) = own_letter(c) {
        return Some([own, 0, 0, 0]);
    }
    let compatible: String = std::iter::once(c).nfkc().take(4).collect();
    if let Some(look) = plain(&compatible) {
        return Some(look);
    }
    if !c.is_alphabetic() {
        return None;
    }
    let looks: String = skeleton(&compatible).take(4).collect();
    // The tables write "m" as "rn".
    plain(if looks == "rn" { "m" } else { &looks })
}

fn plain(text: &str) -> Option<Look> {
    let is_plain = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let mut look = Look::default();
    is_plain.then(|| {
        look[..text.len()].copy_from_slice(text.as_bytes());
        look
    })
}

/// Whether a word mixes ASCII letters with letters that look like ASCII ones.
pub(super) fn is_mixed(word: &[u8]) -> bool {
    let Ok(word) = std::str::from_utf8(word) else { return false };
    let ascii = word.chars().filter(char::is_ascii_alphabetic).count();
    let alike = word.chars().filter(|c| is_foreign_letter(*c)).count();
    let is_all = word.chars().all(|c| c.is_ascii() || is_foreign_letter(c));
    ascii >= 2 && alike >= 1 && is_all
}

fn is_foreign_letter(c: char) -> bool {
    matches!(
        c.script(),
        Script::Cyrillic | Script::Greek | Script::Armenian | Script::Cherokee | Script::Latin
    ) && !matches!(c, '\u{80}'..='\u{24F}')
        && letter(c).is_some()
}

/// Letters whose entry in the tables loses their case or their shape: the tables fold `I` to `l`.
fn own_letter(c: char) -> Option<u8> {
    Some(match c {
        'А' | 'Α' => b'A',
        'В' | 'Β' => b'B',
        'С' => b'C',
        'Е' | 'Ε' => b'E',
        'Н' | 'Η' => b'H',
        'І' | 'Ι' => b'I',
        'Ј' => b'J',
        'К' | 'Κ' => b'K',
        'М' | 'Μ' => b'M',
        'Ν' => b'N',
        'О' | 'Ο' => b'O',
        'Р' | 'Ρ' => b'P',
        'Ѕ' => b'S',
        'Т' | 'Τ' => b'T',
        'Х' | 'Χ' => b'X',
        'У' | 'Ү' | 'Υ' => b'Y',
        'Ζ' => b'Z',
        'а' => b'a',
        'с' => b'c',
        'ԁ' => b'd',
        'е' => b'e',
        'ɡ' | 'ց' => b'g',
        'һ' | 'հ' => b'h',
        'і' | 'ι' | 'ı' => b'i',
        'ј' => b'j',
        'к' => b'k',
        'ӏ' => b'l',
        'м' => b'm',
        'ո' => b'n',
        'о' | 'ο' | 'օ' => b'o',
        'р' | 'ρ' => b'p',
        'ԛ' => b'q',
        'ѕ' => b's',
        'т' => b't',
        'ս' => b'u',
        'ѵ' | 'ν' => b'v',
        'ԝ' | 'ա' => b'w',
        'х' => b'x',
        'у' => b'y',
        _ => return None,
    })
}
