//! Who asks, and what they may do: the one check of both doors.
//!
//! A bearer token is `mtd_` and 256 random bits; what is kept of it is its SHA-256. With no token made, everybody who can
//! reach the server may do everything: it then listens on loopback and Unix sockets alone. **Invariants**: an agent of
//! somebody else is unknown, not forbidden: nobody learns that it is there; tokens are looked up by digest, so that how long
//! that takes says nothing about them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::error::{Error, Reason};
use super::owner::{Actor, unknown_agent};
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::record::{Grant, Role};

/// What every token begins with, so that scanners for secrets know one.
const PREFIX: &str = "mtd_";

/// Characters of a header with a token at most.
const HEADER_CHARS_MAX: usize = 200;

/// Knows the tokens that hold.
#[derive(Debug)]
pub struct Gatekeeper {
    known: RwLock<Arc<Known>>,
    /// Everybody, where nobody needs a token.
    anyone: Arc<Principal>,
}

#[derive(Debug, Default)]
struct Known {
    /// Whether a token was ever made: from then on everybody needs one.
    is_closed: bool,
    by_token: HashMap<Digest, Arc<Principal>>,
}

/// Somebody who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The name of the token, or `local` where there is none.
    pub id: String,
    /// What it may do.
    pub role: Role,
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right<'a> {
    /// What is about all agents, or makes one.
    Operate,
    /// What an agent's owner does.
    Own(&'a AgentId),
    /// What an agent does.
    Use(&'a str),
}

impl Default for Gatekeeper {
    fn default() -> Self {
        let anyone = Principal { id: "local".to_owned(), role: Role::Operator };
        Self { known: RwLock::default(), anyone: Arc::new(anyone) }
    }
}

impl Gatekeeper {
    /// Knows these grants from now on, and no others.
    pub fn know(&self, grants: Vec<Grant>) {
        let is_closed = !grants.is_empty();
        let holding = grants.into_iter().filter(|grant| grant.ended_unix_secs.is_none());
        let principal = |grant: Grant| (grant.token, Arc::new(Principal { id: grant.id, role: grant.role }));
        let by_token = holding.map(principal).collect();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Known { is_closed, by_token });
    }

    /// Whether everybody needs a token.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.known().is_closed
    }

    /// Who sends this `Authorization`.
    ///
    /// # Errors
    /// No token where one is needed, or one that does not hold.
    pub fn identify(&self, authorization: Option<&str>) -> Result<Arc<Principal>, Error> {
        let known = self.known();
        if !known.is_closed {
            return Ok(Arc::clone(&self.anyone));
        }
        let Some(header) = authorization else {
            return Err(unauthenticated("this server wants a token: send `Authorization: Bearer <token>`"));
        };
        let token = header.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, token)) = token.filter(|_| header.len() <= HEADER_CHARS_MAX) else {
            return Err(unauthenticated("the Authorization header must be `Bearer <token>`"));
        };
        let found = known.by_token.get(&Digest::of_bytes(token.trim().as_bytes())).cloned();
        found.ok_or_else(|| {
            unauthenticated("the token does not hold: it was never made here, or has been revoked")
        })
    }

    /// Everybody: who asks for what nobody needs a token for.
    #[must_use]
    pub fn anyone(&self) -> Arc<Principal> {
        Arc::clone(&self.anyone)
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Principal {
    /// Lets it do what it may do.
    ///
    /// # Errors
    /// An agent that is not its own is unknown; what its role does not allow is refused.
    pub fn check(&self, right: Right<'_>) -> Result<(), Error> {
        let (own, is_owner) = match &self.role {
            Role::Operator => return Ok(()),
            Role::Owner(agent) => (agent, true),
            Role::Agent(agent) => (agent, false),
        };
        match right {
            Right::Own(agent) if agent != own => Err(unknown_agent(agent.as_str())),
            Right::Use(agent) if agent != own.as_str() => Err(unknown_agent(agent)),
            Right::Use(_) => Ok(()),
            Right::Own(_) if is_owner => Ok(()),
            Right::Own(_) => {
                Err(self.forbidden("an agent's token selects and loads; this is done with its owner's"))
            }
            Right::Operate => Err(self.forbidden("this is done with an operator's token")),
        }
    }

    /// Its name in histories and logs.
    #[must_use]
    pub fn actor(&self) -> Actor {
        Actor(self.id.clone())
    }

    fn forbidden(&self, sentence: &str) -> Error {
        Error::new(Reason::NotPermitted, format!("the token \"{}\" may not do this: {sentence}", self.id))
    }
}

/// A new token. Whoever makes it keeps it; the server keeps its digest.
///
/// # Errors
/// When the system has no randomness.
pub fn new_token() -> Result<(String, Digest), String> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).map_err(|error| format!("the system gives no random bytes: {error}"))?;
    let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bits));
    let digest = Digest::of_bytes(token.as_bytes());
    Ok((token, digest))
}

fn unauthenticated(sentence: &str) -> Error {
    Error::new(Reason::Unauthenticated, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(id: &str, role: Role) -> (String, Grant) {
        let (token, digest) = new_token().unwrap();
        let (id, label) = (id.to_owned(), String::new());
        (token, Grant { id, token: digest, role, label, made_unix_secs: 0, ended_unix_secs: None })
    }

    fn agent(id: &str) -> AgentId {
        AgentId::parse(id).unwrap()
    }

    #[test]
    fn nobody_is_asked_until_there_is_a_token() {
        let keeper = Gatekeeper::default();
        assert_eq!(keeper.identify(None).unwrap().role, Role::Operator);
        let (token, made) = grant("t", Role::Owner(agent("a")));
        keeper.know(vec![made.clone()]);
        assert!(keeper.is_closed());
        let bearer = format!("Bearer {token}");
        assert_eq!(keeper.identify(Some(&bearer)).unwrap().id, "t");
        let wrong = format!("Bearer {token}x");
        for header in
            [None, Some(""), Some("Bearer"), Some("Basic abc"), Some(token.as_str()), Some(wrong.as_str())]
        {
            assert_eq!(keeper.identify(header).unwrap_err().reason(), Reason::Unauthenticated, "{header:?}");
        }
        // The last token that is ended does not open the server.
        keeper.know(vec![Grant { ended_unix_secs: Some(1), ..made }]);
        assert_eq!(keeper.identify(Some(&bearer)).unwrap_err().reason(), Reason::Unauthenticated);
        assert_eq!(keeper.identify(None).unwrap_err().reason(), Reason::Unauthenticated);
    }

    #[test]
    fn rights_end_at_the_agent_and_at_the_role() {
        let (mine, other) = (agent("mine"), agent("other"));
        let may = |role, right| {
            let principal = Principal { id: "t".to_owned(), role };
            principal.check(right).map_err(|error| error.reason())
        };
        for right in [Right::Operate, Right::Own(&mine), Right::Use("mine"), Right::Own(&other)] {
            assert_eq!(may(Role::Operator, right), Ok(()));
        }
        for (right, of_owner, of_agent) in [
            (Right::Operate, Err(Reason::NotPermitted), Err(Reason::NotPermitted)),
            (Right::Own(&mine), Ok(()), Err(Reason::NotPermitted)),
            (Right::Use("mine"), Ok(()), Ok(())),
            (Right::Own(&other), Err(Reason::AgentUnknown), Err(Reason::AgentUnknown)),
            (Right::Use("other"), Err(Reason::AgentUnknown), Err(Reason::AgentUnknown)),
        ] {
            assert_eq!(may(Role::Owner(mine.clone()), right), of_owner, "{right:?}");
            assert_eq!(may(Role::Agent(mine.clone()), right), of_agent, "{right:?}");
        }
    }
}
