//! What is kept of playbooks beside their text: which version serves, what happened, who may do what.

use super::agent::AgentId;
use super::digest::Digest;
use super::revision::Revision;
use super::slug::Slug;

/// The text of a playbook, as the exporter writes it: a SKILL.md that is read as the playbook with this digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The digest of the playbook.
    pub digest: Digest,
    /// The SKILL.md.
    pub text: String,
}

/// A playbook of an agent: its versions, by digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub slug: Slug,
    /// The newest version.
    pub newest: Digest,
    /// The digest of the file that the newest version was read from.
    pub file: Digest,
    /// The version that serves, if any.
    pub active: Option<Digest>,
    /// What the newest version waits for.
    pub standing: Standing,
    /// Where it came from.
    pub origin: Origin,
    /// The revision of its newest change.
    pub revision: Revision,
    /// When its text was changed last, in seconds since 1970.
    pub edited_unix_secs: u64,
}

/// Whether the newest version may serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing stands in its way.
    Clear,
    /// A person has to look at it and activate it.
    NeedsReview,
    /// It was withdrawn for security, and does not come back.
    Revoked,
}

/// What a playbook is at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The newest version serves.
    Active,
    /// None serves.
    Inactive,
    /// The newest version waits for a person; an older one may serve.
    NeedsReview,
    /// It was withdrawn for security.
    Revoked,
}

impl Status {
    /// Its name, as it is sent and kept.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Inactive => "inactive",
            Self::NeedsReview => "needs_review",
            Self::Revoked => "revoked",
        }
    }
}

impl Entry {
    /// What it is at a glance.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.standing {
            Standing::Revoked => Status::Revoked,
            Standing::NeedsReview => Status::NeedsReview,
            Standing::Clear if self.active.is_some() => Status::Active,
            Standing::Clear => Status::Inactive,
        }
    }
}

impl Standing {
    /// Its name, as it is kept.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::NeedsReview => "needs_review",
            Self::Revoked => "revoked",
        }
    }

    /// The standing of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Clear, Self::NeedsReview, Self::Revoked].into_iter().find(|standing| standing.as_str() == name)
    }
}

/// Where a playbook came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was written by its owner.
    Written,
    /// It was imported.
    Imported,
    /// It is a file of a directory.
    Directory,
    /// It came with a pack, which says its version.
    Pack {
        /// The pack's id.
        id: String,
        /// The pack's version.
        version: String,
    },
}

/// Something that happened to a playbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub deed: Deed,
    /// The version that it was about.
    pub digest: Digest,
    /// Who did it.
    pub actor: String,
    /// When, in seconds since 1970.
    pub unix_secs: u64,
    /// The revision since which it is so.
    pub revision: Revision,
}

/// What can happen to a playbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It was written for the first time, imported or installed.
    Created,
    /// Its text was changed.
    Edited,
    /// A version was activated.
    Activated,
    /// It was deactivated.
    Deactivated,
    /// It was withdrawn for security.
    Revoked,
    /// It was deleted.
    Deleted,
}

impl Deed {
    const ALL: [Self; 6] =
        [Self::Created, Self::Edited, Self::Activated, Self::Deactivated, Self::Revoked, Self::Deleted];

    /// Its name, as it is sent and kept.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Edited => "edited",
            Self::Activated => "activated",
            Self::Deactivated => "deactivated",
            Self::Revoked => "revoked",
            Self::Deleted => "deleted",
        }
    }

    /// The deed of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|deed| deed.as_str() == name)
    }
}

/// A file that is let in although the scanner blocks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverrideRecord {
    /// The digest of the file's bytes.
    pub file: Digest,
    /// The rules that were known when it was looked at.
    pub ruleset: String,
    /// Why.
    pub reason: String,
    /// Who let it in.
    pub actor: String,
    /// When, in seconds since 1970.
    pub unix_secs: u64,
}

/// A version that must not serve again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// For which agent; none for all.
    pub agent: Option<AgentId>,
    /// The digest of the playbook.
    pub digest: Digest,
    /// Why.
    pub reason: String,
    /// Who barred it.
    pub actor: String,
    /// When, in seconds since 1970.
    pub unix_secs: u64,
}

/// How often a playbook was offered and loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Its name.
    pub slug: Slug,
    /// Offered because it is always on.
    pub offered_always_on: u64,
    /// Offered because a trigger matched.
    pub offered_trigger: u64,
    /// Offered because it is relevant.
    pub offered_semantic: u64,
    /// Loaded.
    pub loaded: u64,
    /// When last offered or loaded, in seconds since 1970.
    pub last_unix_secs: u64,
}

impl Usage {
    /// Of a playbook that was never offered.
    #[must_use]
    pub fn none(slug: Slug) -> Self {
        let (offered_always_on, offered_trigger, offered_semantic) = (0, 0, 0);
        Self { slug, offered_always_on, offered_trigger, offered_semantic, loaded: 0, last_unix_secs: 0 }
    }

    /// Adds the counts of the same playbook at another time.
    pub fn add(&mut self, other: &Self) {
        self.offered_always_on += other.offered_always_on;
        self.offered_trigger += other.offered_trigger;
        self.offered_semantic += other.offered_semantic;
        self.loaded += other.loaded;
        self.last_unix_secs = self.last_unix_secs.max(other.last_unix_secs);
    }
}

/// A bearer token that was handed out: what it allows, and its digest; the token itself is kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its name in lists and logs.
    pub id: String,
    /// The SHA-256 of the token.
    pub token: Digest,
    /// What it allows.
    pub role: Role,
    /// What it is for, in its maker's words.
    pub label: String,
    /// When it was made, in seconds since 1970.
    pub made_unix_secs: u64,
    /// When it was ended, if it was.
    pub ended_unix_secs: Option<u64>,
}

/// What a bearer of a token may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Operator,
    /// Everything that an agent's owner does.
    Owner(AgentId),
    /// Select and load for an agent.
    Agent(AgentId),
}
