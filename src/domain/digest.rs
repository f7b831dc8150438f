//! Content digests: `sha256:` and 64 hexadecimal digits.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::text;

/// A SHA-256 digest of some content. Equal digests mean equal content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of the `parts` in order. Each part is preceded by its length, so that moving a byte from one part to
    /// the next changes the digest.
    #[must_use]
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// The digest of some bytes, as every tool computes it.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of these bytes, which were one once.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads `sha256:` and 64 hexadecimal digits.
    ///
    /// # Errors
    /// A sentence that says what a digest looks like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix("sha256:").filter(|digits| digits.len() == 64);
        let value = |digit: &u8| char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        let mut bytes = [0; 32];
        let pairs = digits.map_or(&[][..], |digits| digits.as_bytes().as_chunks().0);
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let (Some(high), Some(low)) = (value(high), value(low)) else { return Err(not_one(text)) };
            *byte = high << 4 | low;
        }
        if pairs.len() == bytes.len() { Ok(Self(bytes)) } else { Err(not_one(text)) }
    }

    /// The digest as bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

fn not_one(text: &str) -> String {
    let shown = text::escaped(text, 80);
    format!("\"{shown}\" is no digest: it is `sha256:` and 64 hexadecimal digits")
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIX: &[u8] = b"sha256:";
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // Every answer shows two digests: a formatter call a byte would be felt.
        let mut text = [0; PREFIX.len() + 64];
        text[..PREFIX.len()].copy_from_slice(PREFIX);
        for (pair, byte) in text[PREFIX.len()..].as_chunks_mut().0.iter_mut().zip(self.0) {
            *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        }
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let split = |a: &'static str, b: &'static str| Digest::of_parts([a.as_bytes(), b.as_bytes()]);
        assert_ne!(split("ab", "c"), split("a", "bc"));
        assert!(split("a", "b").to_string().starts_with("sha256:"));
        assert_eq!(split("a", "b").to_string().len(), 7 + 64);
        let shown = Digest([0x0f; 32]).to_string();
        assert_eq!(Digest::parse(&shown), Ok(Digest([0x0f; 32])));
        assert_eq!(Digest::parse(&shown.to_uppercase().replace("SHA", "sha")), Ok(Digest([0x0f; 32])));
        for wrong in
            ["", "sha256:", &shown[..70], &shown[7..], &format!("{shown}0"), &shown.replace('f', "g")]
        {
            assert!(
                Digest::parse(wrong).is_err_and(|error| error.contains("64 hexadecimal digits")),
                "{wrong}"
            );
        }
        assert_eq!(shown, format!("sha256:{}", "0f".repeat(32)));
        assert!(Digest([0xa9; 32]).to_string().ends_with("a9a9"));
    }
}
