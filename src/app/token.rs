//! Menu tokens: a signed statement of what a turn was offered.
//!
//! A token is base64url (no padding) over the claims (postcard) and an HMAC-SHA-256 of them. Any replica with the key
//! checks it; none keeps state for it. **Invariants**: nothing of a token is looked at before its signature holds; the
//! comparison takes the same time wherever the difference is.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::error::{Error, Reason};
use crate::domain::limits::MENU_TOKEN_BYTES_MAX;
use crate::domain::menu::Menu;

/// Bytes of a signature.
const MAC_BYTES: usize = 32;

/// Bytes of a key at least: as many as the signature has.
pub const KEY_BYTES_MIN: usize = 32;

/// Bytes of a key at most; a larger file is not a key.
pub const KEY_BYTES_MAX: usize = 4 * 1024;

/// The layout of [`Claims`]. A token of another layout is not valid.
const LAYOUT: u8 = 1;

/// What a token states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    layout: u8,
    /// The agent whose menu it was.
    pub agent: String,
    /// The run, when the caller named one.
    pub run: Option<String>,
    /// The turn, when the caller named one.
    pub turn: Option<String>,
    /// When the token's time is over, in seconds since 1970.
    pub expires_unix_secs: u64,
    /// The slugs on the menu with the digests that they had.
    pub items: Vec<(String, [u8; 32])>,
}

/// [`Claims`] as they are written, from what the call has anyway: one selection, one token.
#[derive(Debug, Serialize)]
struct ClaimsMade<'a> {
    layout: u8,
    agent: &'a str,
    run: Option<&'a str>,
    turn: Option<&'a str>,
    expires_unix_secs: u64,
    items: Vec<(&'a str, [u8; 32])>,
}

/// Makes and checks tokens.
pub struct MenuSigner {
    mac: Hmac<Sha256>,
    ttl: Duration,
}

impl fmt::Debug for MenuSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MenuSigner").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

/// Whose menu a token is for.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The run, when the caller named one.
    pub run: Option<&'a str>,
    /// The turn, when the caller named one.
    pub turn: Option<&'a str>,
}

impl MenuSigner {
    /// A signer with this key.
    ///
    /// # Errors
    /// A key outside its bounds.
    pub fn new(key: &[u8], ttl: Duration) -> Result<Self, String> {
        if !(KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len()) {
            return Err(format!(
                "a menu key has {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes, this one has {}; \
                 make one with `head -c 32 /dev/urandom > FILE`",
                key.len()
            ));
        }
        let mac = Hmac::new_from_slice(key).map_err(|error| error.to_string())?;
        Ok(Self { mac, ttl })
    }

    /// A signer with a key that dies with the process.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn random(ttl: Duration) -> Result<Self, String> {
        Self::new(&new_key()?, ttl)
    }

    /// The token for a menu made now.
    #[must_use]
    pub fn sign(&self, menu: &Menu, binding: Binding<'_>, now_unix_secs: u64) -> String {
        let items = menu.items.iter().map(|item| (item.slug.as_str(), *item.digest.bytes()));
        let claims = ClaimsMade {
            layout: LAYOUT,
            agent: binding.agent,
            run: binding.run,
            turn: binding.turn,
            expires_unix_secs: now_unix_secs.saturating_add(self.ttl.as_secs()),
            items: items.collect(),
        };
        let mut bytes =
            postcard::to_allocvec(&claims).expect("claims hold nothing that postcard cannot write");
        let signature = self.mac.clone().chain_update(&bytes).finalize().into_bytes();
        bytes.extend_from_slice(&signature);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Checks a token: the signature first, then the time, then whose it is.
    ///
    /// # Errors
    /// Each fault has its own reason.
    pub fn verify(
        &self,
        token: &str,
        run: Option<&str>,
        turn: Option<&str>,
        now_unix_secs: u64,
    ) -> Result<Claims, Error> {
        let claims = self.authentic(token)?;
        if claims.expires_unix_secs <= now_unix_secs {
            let late = now_unix_secs - claims.expires_unix_secs;
            return Err(Error::new(
                Reason::MenuTokenExpired,
                format!("the menu token expired {late} s ago; select a menu for the current turn"),
            ));
        }
        check_id(Reason::MenuTokenOtherRun, "run_id", claims.run.as_deref(), run)?;
        check_id(Reason::MenuTokenOtherTurn, "turn_id", claims.turn.as_deref(), turn)?;
        Ok(claims)
    }

    fn authentic(&self, token: &str) -> Result<Claims, Error> {
        if token.is_empty() {
            return Err(Error::field("menu_token", "is empty: send the token that SelectMenu answered"));
        }
        if token.len() > MENU_TOKEN_BYTES_MAX {
            let message = format!("has {} bytes, the limit is {MENU_TOKEN_BYTES_MAX}", token.len());
            return Err(Error::field("menu_token", message));
        }
        let invalid = || {
            Error::new(
                Reason::MenuTokenInvalid,
                "the menu token was not made with this server's key, or was changed; send it as SelectMenu answered it",
            )
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| invalid())?;
        let at = bytes.len().checked_sub(MAC_BYTES).ok_or_else(invalid)?;
        let (claims, signature) = bytes.split_at(at);
        self.mac.clone().chain_update(claims).verify_slice(signature).map_err(|_| invalid())?;
        postcard::from_bytes::<Claims>(claims)
            .ok()
            .filter(|claims| claims.layout == LAYOUT)
            .ok_or_else(invalid)
    }
}

/// An id that the token binds must be presented, and one that it does not bind must not.
fn check_id(
    reason: Reason,
    field: &'static str,
    bound: Option<&str>,
    presented: Option<&str>,
) -> Result<(), Error> {
    let message = match (bound, presented) {
        (bound, presented) if bound == presented => return Ok(()),
        (Some(_), None) => format!("the menu token is bound to a {field}, and the call names none"),
        (None, Some(_)) => format!("the menu token was made without a {field}, and the call names one"),
        _ => format!("the menu token is bound to another {field}"),
    };
    Err(Error::new(reason, format!("{message}; send the {field} that SelectMenu was given"))
        .with("field", field))
}

/// A new key.
///
/// # Errors
/// When the system has no randomness.
pub fn new_key() -> Result<[u8; KEY_BYTES_MIN], String> {
    let mut key = [0; KEY_BYTES_MIN];
    getrandom::fill(&mut key).map_err(|error| format!("the system gives no random bytes: {error}"))?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::digest::Digest;
    use crate::domain::menu::{MenuItem, Reason as MenuReason, Scores};
    use crate::domain::slug::Slug;

    const NOW: u64 = 1_000_000;

    fn signer(key: u8) -> MenuSigner {
        MenuSigner::new(&[key; 32], Duration::from_mins(1)).unwrap()
    }

    fn menu(count: usize) -> Menu {
        let items = (0..count).map(|i| MenuItem {
            slug: Slug::parse(&format!("{i}{}", "x".repeat(63))).unwrap(),
            title: String::new(),
            description: String::new(),
            digest: Digest::of_parts([[u8::try_from(i).unwrap()].as_slice()]),
            reason: MenuReason::AlwaysOn,
            scores: Scores::default(),
            near_duplicates: Vec::new(),
        });
        Menu { items: items.collect(), ..Menu::default() }
    }

    const BOUND: Binding<'static> = Binding { agent: "a", run: Some("r"), turn: Some("t") };

    #[track_caller]
    fn check(result: &Result<Claims, Error>, reason: Option<Reason>) {
        assert_eq!(result.as_ref().err().map(Error::reason), reason, "{result:?}");
    }

    #[test]
    fn what_was_signed_is_what_is_read() {
        let claims =
            signer(1).verify(&signer(1).sign(&menu(2), BOUND, NOW), Some("r"), Some("t"), NOW).unwrap();
        assert_eq!((claims.agent.as_str(), claims.items.len()), ("a", 2));
        check(&signer(1).verify(&signer(1).sign(&menu(0), BOUND, NOW), Some("r"), Some("t"), NOW), None);
    }

    #[test]
    fn every_changed_bit_and_every_cut_is_refused() {
        let token = signer(1).sign(&menu(1), BOUND, NOW);
        for at in 0..token.len() {
            for bit in 0..7 {
                let mut bytes = token.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let changed = String::from_utf8(bytes).unwrap();
                check(&signer(1).verify(&changed, Some("r"), Some("t"), NOW), Some(Reason::MenuTokenInvalid));
            }
            let expected = if at == 0 { Reason::FieldInvalid } else { Reason::MenuTokenInvalid };
            check(&signer(1).verify(&token[..at], Some("r"), Some("t"), NOW), Some(expected));
        }
        check(&signer(2).verify(&token, Some("r"), Some("t"), NOW), Some(Reason::MenuTokenInvalid));
    }

    #[test]
    fn time_and_binding_each_have_their_reason() {
        let token = signer(1).sign(&menu(1), BOUND, NOW);
        let verify = |run, turn, now| signer(1).verify(&token, run, turn, now);
        check(&verify(Some("r"), Some("t"), NOW + 59), None);
        check(&verify(Some("r"), Some("t"), NOW + 60), Some(Reason::MenuTokenExpired));
        check(&verify(Some("s"), Some("t"), NOW), Some(Reason::MenuTokenOtherRun));
        check(&verify(None, Some("t"), NOW), Some(Reason::MenuTokenOtherRun));
        check(&verify(Some("r"), Some("u"), NOW), Some(Reason::MenuTokenOtherTurn));
        check(&verify(Some("r"), None, NOW), Some(Reason::MenuTokenOtherTurn));
        let free = signer(1).sign(&menu(1), Binding { agent: "a", run: None, turn: None }, NOW);
        check(&signer(1).verify(&free, None, None, NOW), None);
        check(&signer(1).verify(&free, Some("r"), None, NOW), Some(Reason::MenuTokenOtherRun));
    }

    #[test]
    fn the_largest_token_keeps_its_limit() {
        let id = "i".repeat(128);
        let binding = Binding { agent: &id, run: Some(&id), turn: Some(&id) };
        let token = signer(1).sign(&menu(6), binding, NOW);
        assert!(token.len() <= MENU_TOKEN_BYTES_MAX, "{}", token.len());
        check(
            &signer(1).verify(&"x".repeat(MENU_TOKEN_BYTES_MAX + 1), None, None, NOW),
            Some(Reason::FieldInvalid),
        );
    }

    #[test]
    fn keys_keep_their_bounds() {
        assert!(MenuSigner::new(&[0; 31], Duration::ZERO).is_err());
        assert!(MenuSigner::new(&[0; 4097], Duration::ZERO).is_err());
        assert!(MenuSigner::random(Duration::ZERO).is_ok());
    }
}
