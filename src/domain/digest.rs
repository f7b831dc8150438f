//! Content digests: `sha256:` and 64 hexadecimal digits.

use std::fmt;

use sha2::{Digest as _, Sha256};

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

    /// The digest as bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
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
        assert_eq!(shown, format!("sha256:{}", "0f".repeat(32)));
        assert!(Digest([0xa9; 32]).to_string().ends_with("a9a9"));
    }
}
