//! What is encoded in a file, decoded once: base64, hexadecimal digits, escapes, entities, and YAML's own escapes.
//!
//! **Cost**: linear; the layers together are at most as long as the file and its frontmatter.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::bytes::Regex;

use super::File;
use super::views::{Kind, View};
use crate::domain::playbook::Playbook;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Base64, over line ends; and hexadecimal digits.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)[A-Za-z0-9+/_-]{16,}(?:[ \t]*\r?\n[ \t]*[A-Za-z0-9+/_-]{8,})*={0,2}").expect("tested")
});

/// One escaped byte or character.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)\\x([0-9A-Fa-f]{2})|\\u\{?([0-9A-Fa-f]{4,6})\}?|%([0-9A-Fa-f]{2})|&#x([0-9A-Fa-f]{2,6});|&#(\d{2,7});|\\([0-3][0-7]{2})")
        .expect("tested")
});

/// What a token decodes to.
pub(super) enum Decoded {
    /// Text.
    Text(Vec<u8>),
    /// A program or an archive.
    Program,
    /// Something else.
    Bytes,
}

/// The tokens of a text that may be encoded: where they stand, and what they decode to.
pub(super) fn tokens(text: &[u8]) -> impl Iterator<Item = (std::ops::Range<usize>, Decoded)> {
    TOKEN.find_iter(text).filter_map(|found| {
        let whole = found.as_bytes();
        let first = whole.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or(whole);
        let decoded = decode(whole)?;
        if matches!(decoded, Decoded::Bytes) && first.len() < whole.len() {
            // A word that only stands above another.
            return Some((found.start()..found.start() + first.len(), decode(first)?));
        }
        Some((found.range(), decoded))
    })
}

fn decode(token: &[u8]) -> Option<Decoded> {
    let bare: Vec<u8> = token.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if bare.len().is_multiple_of(2) && bare.iter().all(u8::is_ascii_hexdigit) {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let bytes: Option<Vec<u8>> = bare
            .as_chunks::<2>()
            .0
            .iter()
            .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
            .collect();
        return Some(kind(bytes?));
    }
    let bytes = STANDARD.decode(&bare).or_else(|_| URL_SAFE.decode(&bare)).ok()?;
    Some(kind(bytes))
}

fn kind(bytes: Vec<u8>) -> Decoded {
    let magics: [&[u8]; 6] =
        [b"\x7FELF", b"MZ\x90", b"PK\x03\x04", b"\xCA\xFE\xBA\xBE", b"\xCF\xFA\xED\xFE", b"\x1F\x8B\x08"];
    if magics.iter().any(|magic| bytes.starts_with(magic)) {
        return Decoded::Program;
    }
    // PowerShell encodes UTF-16.
    let is_wide = bytes.len() >= 12 && bytes.iter().skip(1).step_by(2).all(|byte| *byte == 0);
    let bytes = if is_wide { bytes.into_iter().step_by(2).collect() } else { bytes };
    let is_text = std::str::from_utf8(&bytes).is_ok_and(|text| {
        let plain = text.bytes().filter(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r')).count();
        plain * 10 >= text.len() * 9 && text.len() >= 6
    });
    if is_text { Decoded::Text(bytes) } else { Decoded::Bytes }
}

/// Everything that is encoded in the file, as one text; none where there is nothing.
pub(super) fn decoded(
    file: &File<'_>,
    view: &View<'_>,
    playbook: Option<&Playbook>,
) -> Option<View<'static>> {
    let mut layer = Layer::default();
    for (range, decoded) in tokens(&view.text) {
        if let Decoded::Text(text) = decoded {
            layer.push_all(&text, view.raw_of(range.start));
        }
    }
    unescaped(view, &mut layer);
    if let Some(playbook) = playbook {
        fields(file, playbook, &mut layer);
    }
    (!layer.text.is_empty()).then(|| View::mapped(layer.text, layer.map, Kind::Decoded))
}

#[derive(Default)]
struct Layer {
    text: Vec<u8>,
    map: Vec<u32>,
}

impl Layer {
    fn push(&mut self, byte: u8, at: usize) {
        self.text.push(byte);
        self.map.push(u32::try_from(at).expect("a file has at most 64 KiB"));
    }

    /// A text of its own that stands at one place.
    fn push_all(&mut self, text: &[u8], at: usize) {
        text.iter().chain(b"\n\n").for_each(|byte| self.push(*byte, at));
    }
}

/// Escapes of one line from which on it is a layer.
const ESCAPES_MIN: usize = 3;

/// The lines in which letters are escaped, without the escapes.
fn unescaped(view: &View<'_>, layer: &mut Layer) {
    let text = &*view.text;
    if !text.iter().any(|byte| matches!(byte, b'\\' | b'%' | b'&')) {
        return;
    }
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let escapes =
            ESCAPE.captures_iter(line).filter(|found| character(found).is_some_and(|c| c.is_ascii_graphic()));
        if escapes.count() >= ESCAPES_MIN {
            let mut at = 0;
            for found in ESCAPE.captures_iter(line) {
                let whole = found.get(0).expect("a match has a whole");
                let Some(byte) = character(&found) else { continue };
                (at..whole.start()).for_each(|at| layer.push(line[at], view.raw_of(start + at)));
                layer.push(byte, view.raw_of(start + whole.start()));
                at = whole.end();
            }
            (at..line.len()).for_each(|at| layer.push(line[at], view.raw_of(start + at)));
            if !line.ends_with(b"\n") {
                layer.push(b'\n', view.raw_of(start));
            }
        }
        start += line.len();
    }
}

/// The ASCII character that an escape stands for.
fn character(found: &regex::bytes::Captures<'_>) -> Option<u8> {
    let (group, digits) =
        (1..=6).find_map(|group| found.get(group).map(|digits| (group, digits.as_bytes())))?;
    let radix = match group {
        5 => 10,
        6 => 8,
        _ => 16,
    };
    let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()?;
    u8::try_from(code).ok().filter(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

/// What the parser read in the frontmatter, where YAML's escapes may hide it.
fn fields(file: &File<'_>, playbook: &Playbook, layer: &mut Layer) {
    let head = &file.text[..file.regions.body];
    if !head.contains('\\') {
        return;
    }
    let parts = playbook.parts();
    let metadata = parts.metadata.iter().map(|(_, value)| value);
    let texts =
        [Some(&parts.description), parts.title.as_ref(), parts.source.as_ref(), parts.license.as_ref()];
    let place = |key: &str| head.find(key).unwrap_or(0);
    for text in texts.into_iter().flatten() {
        layer.push_all(text.as_bytes(), place("description"));
    }
    for text in metadata.chain(&parts.triggers) {
        layer.push_all(text.as_bytes(), place("metadata"));
    }
}
