//! Playbooks that are written, edited and deleted, one at a time.

use super::look::Shown;
use super::turn::{Turn, unknown_playbook};
use super::{Actor, Done, Owner};
use crate::app::error::{Error, Reason};
use crate::app::ports::store::Change;
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::playbook::{Playbook, PlaybookParts};
use crate::domain::record::{Deed, Document, Entry, Origin, OverrideRecord, Standing};
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;
use crate::domain::text;
use crate::format::diagnostic::{Diagnostic, Severity};
use crate::format::export;
use crate::format::gate::admit;
use crate::format::parse::Parsed;
use crate::format::scan::overrides::Overrides;

/// How many names are tried for a playbook whose name is taken.
const PROPOSALS_MAX: usize = 99;

/// A playbook as its owner writes it.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Its name; made from the title where there is none.
    pub slug: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// Phrases that put it on the menu.
    pub triggers: Vec<String>,
    /// The owner's order.
    pub order: Option<i32>,
    /// Whether it is offered only when invoked by name.
    pub explicit: bool,
    /// Its licence.
    pub license: Option<String>,
    /// The steps.
    pub body: String,
}

/// Which version a caller has read that changes a playbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It does not say.
    Missing,
    /// It does not matter to it.
    Any,
    /// This one.
    Version(Digest),
}

/// A playbook that the gate lets in, with what there is to say about it.
pub(super) struct Admitted {
    pub(super) playbook: Playbook,
    pub(super) document: Document,
    /// The digest of the bytes that the gate saw.
    pub(super) file: Digest,
    pub(super) standing: Standing,
    /// The ruleset and the reason of the override that let it in.
    pub(super) let_in: Option<(String, String)>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Owner {
    /// Writes a new playbook: active where nothing is found in it, to be reviewed otherwise.
    ///
    /// # Errors
    /// A name that is taken, an agent that is full, a playbook that the format or the scanner refuses.
    pub async fn write(&self, agent: &AgentId, draft: Draft, actor: &Actor) -> Result<Done<Shown>, Error> {
        let mut turn = self.turn(agent, actor).await?;
        let slug = match &draft.slug {
            Some(slug) => Slug::parse(slug).map_err(|error| Error::field("slug", error))?,
            None => named_by(draft.title.as_deref())?,
        };
        if turn.record.entry(&slug).is_some() {
            return Err(taken(&turn, &slug));
        }
        turn.check_room()?;
        let admitted = admitted(&turn, slug, draft)?;
        let entry = turn.create(&admitted, Origin::Written)?;
        done(turn, entry, admitted).await
    }

    /// Gives a playbook another text. Where a version serves, the new one takes its place unless something is found in it;
    /// then the old one serves until a person activates the new one.
    ///
    /// # Errors
    /// As for [`write`](Self::write); a version that is not the one that the caller has read.
    pub async fn rewrite(
        &self,
        agent: &AgentId,
        slug: &Slug,
        draft: Draft,
        expected: &Expected,
        actor: &Actor,
    ) -> Result<Done<Shown>, Error> {
        let (mut turn, before) = self.turn_on(agent, slug, expected, actor).await?;
        if draft.slug.as_deref().is_some_and(|name| name != slug.as_str()) {
            return Err(Error::field(
                "slug",
                format!("a playbook keeps its name, which is \"{slug}\"; write a new one instead"),
            ));
        }
        let admitted = admitted(&turn, slug.clone(), draft)?;
        let entry = turn.edit(&before, &admitted)?;
        done(turn, entry, admitted).await
    }

    /// Deletes a playbook. Its history stays.
    ///
    /// # Errors
    /// A playbook that is not there, or is another than the caller has read.
    pub async fn delete(
        &self,
        agent: &AgentId,
        slug: &Slug,
        expected: &Expected,
        actor: &Actor,
    ) -> Result<Revision, Error> {
        let mut turn = self.turn(agent, actor).await?;
        let entry = turn.entry(slug)?.clone();
        if *expected != Expected::Missing {
            check_expected(expected, &entry)?;
        }
        turn.remove(slug, entry.newest);
        turn.commit().await
    }
}

impl Turn {
    /// Makes a playbook of what the gate lets in.
    pub(super) fn create(&mut self, admitted: &Admitted, origin: Origin) -> Result<Entry, Error> {
        let digest = admitted.playbook.digest();
        self.check_bar(digest)?;
        let entry = Entry {
            slug: admitted.playbook.slug().clone(),
            newest: digest,
            file: admitted.file,
            active: (admitted.standing == Standing::Clear).then_some(digest),
            standing: admitted.standing,
            origin,
            revision: Revision::default(),
            edited_unix_secs: self.now,
        };
        self.keep_document(admitted);
        Ok(self.put(entry, Deed::Created, digest))
    }

    /// Makes what the gate lets in the newest version of a playbook.
    fn edit(&mut self, before: &Entry, admitted: &Admitted) -> Result<Entry, Error> {
        let digest = admitted.playbook.digest();
        self.check_bar(digest)?;
        if digest == before.newest {
            return Ok(before.clone());
        }
        // What was withdrawn for security comes back only when a person has looked at it.
        let standing =
            if before.standing == Standing::Revoked { Standing::NeedsReview } else { admitted.standing };
        let takes_over = standing == Standing::Clear && before.active.is_some();
        let entry = Entry {
            newest: digest,
            file: admitted.file,
            active: if takes_over { Some(digest) } else { before.active },
            standing,
            edited_unix_secs: self.now,
            ..before.clone()
        };
        self.keep_document(admitted);
        Ok(self.put(entry, Deed::Edited, digest))
    }

    fn keep_document(&mut self, admitted: &Admitted) {
        self.change(Change::PutDocument(admitted.document.clone()));
        let file = Digest::of_bytes(admitted.document.text.as_bytes());
        if let Some((ruleset, reason)) = admitted.let_in.clone().filter(|_| file != admitted.file) {
            let (actor, unix_secs) = (self.actor().to_owned(), self.now);
            let record = OverrideRecord { file, ruleset, reason, actor, unix_secs };
            self.change(Change::PutOverride(self.record.id.clone(), record));
        }
    }

    /// Refuses one playbook too many.
    pub(super) fn check_room(&self) -> Result<(), Error> {
        let (count, limit) = (self.record.entries.len(), self.record.config.playbooks_max);
        if count < limit {
            return Ok(());
        }
        let message = format!(
            "the agent \"{}\" has {count} playbooks, the limit is {limit}; delete one, or have the operator raise the limit",
            self.record.id
        );
        Err(Error::new(Reason::PlaybooksTooMany, message).with("limit", limit.to_string()))
    }

    /// Refuses a version that was withdrawn for security.
    pub(super) fn check_bar(&self, digest: Digest) -> Result<(), Error> {
        let Some(bar) = self.bar(digest) else { return Ok(()) };
        let reason = text::escaped(&bar.reason, 200);
        let message =
            format!("this version was withdrawn for security and does not come back: {reason}; edit it");
        Err(Error::new(Reason::DigestBarred, message).with("digest", digest.to_string()))
    }
}

/// Takes a draft through the gate, as the file that it would be.
fn admitted(turn: &Turn, slug: Slug, draft: Draft) -> Result<Admitted, Error> {
    let parts = PlaybookParts {
        slug,
        title: draft.title.filter(|title| !text::is_blank(title)),
        description: draft.description,
        triggers: draft.triggers,
        triggers_wanted: false,
        order: draft.order,
        explicit: draft.explicit,
        license: draft.license,
        source: None,
        metadata: Vec::new(),
        body: draft.body,
    };
    let refuse = |message: String| Error::new(Reason::PlaybookRefused, message);
    let playbook = Playbook::new(parts).map_err(|error| refuse(error.message))?;
    let text = export::skill_md(&playbook).map_err(|error| refuse(error.to_string()))?;
    admit_file(text.as_bytes(), turn)
}

/// Takes the bytes of a file through the gate.
fn admit_file(bytes: &[u8], turn: &Turn) -> Result<Admitted, Error> {
    keep(admit(bytes, &turn.overrides), bytes, &turn.overrides)
}

/// What the gate lets in, as it is kept.
pub(super) fn keep(parsed: Parsed, bytes: &[u8], overrides: &Overrides) -> Result<Admitted, Error> {
    let standing = standing(&parsed);
    let Some(playbook) = &parsed.playbook else { return Err(refused(&parsed, bytes)) };
    let playbook = playbook.clone();
    let text = export::skill_md(&playbook)
        .map_err(|error| Error::new(Reason::PlaybookRefused, error.to_string()))?;
    let document = Document { digest: playbook.digest(), text };
    let file = Digest::of_bytes(bytes);
    // What is kept is the exporter's text: whoever lets the file in lets that in, too.
    let let_in = overrides.reason_for(file).map(|(ruleset, reason)| (ruleset.to_owned(), reason.to_owned()));
    Ok(Admitted { playbook, document, file, standing, let_in, diagnostics: parsed.diagnostics })
}

/// Whether a person has to look at it: a finding of the scanner that warns, or a trigger field of which nothing was read.
fn standing(parsed: &Parsed) -> Standing {
    let is_found = |said: &Diagnostic| said.rule.is_some() && said.severity >= Severity::Warning;
    let wants_triggers = parsed.playbook.as_ref().is_some_and(|playbook| playbook.parts().triggers_wanted);
    if wants_triggers || parsed.diagnostics.iter().any(is_found) {
        Standing::NeedsReview
    } else {
        Standing::Clear
    }
}

pub(super) fn refused(parsed: &Parsed, bytes: &[u8]) -> Error {
    let first = parsed.refusal().map(ToString::to_string).unwrap_or_default();
    Error::new(Reason::PlaybookRefused, first)
        .with("file", Digest::of_bytes(bytes).to_string())
        .with_findings(parsed.diagnostics.clone())
}

async fn done(turn: Turn, entry: Entry, admitted: Admitted) -> Result<Done<Shown>, Error> {
    let revision = turn.commit().await?;
    Ok(Done { outcome: Shown::of(entry, admitted.playbook.into(), admitted.diagnostics), revision })
}

fn named_by(title: Option<&str>) -> Result<Slug, Error> {
    let title = title.unwrap_or_default();
    Slug::suggest(title).ok_or_else(|| {
        let message = "is missing, and no name can be made from the title; write one of lowercase letters, digits and hyphens";
        Error::field("slug", message)
    })
}

fn taken(turn: &Turn, slug: &Slug) -> Error {
    let free = |number: usize| {
        let proposal = Slug::parse(&format!("{slug}-{number}")).ok()?;
        turn.record.entry(&proposal).is_none().then_some(proposal)
    };
    let message = format!("the agent \"{}\" has a playbook \"{slug}\" already", turn.record.id);
    match (2..=PROPOSALS_MAX).find_map(free) {
        Some(proposal) => Error::new(Reason::SlugTaken, format!("{message}; \"{proposal}\" is free"))
            .with("proposal", proposal.to_string()),
        None => Error::new(Reason::SlugTaken, format!("{message}; choose another name")),
    }
}

/// Refuses a change of what the caller has not read.
pub(super) fn check_expected(expected: &Expected, entry: &Entry) -> Result<(), Error> {
    match expected {
        Expected::Any => Ok(()),
        Expected::Version(digest) if *digest == entry.newest || Some(*digest) == entry.active => Ok(()),
        Expected::Version(digest) => Err(mismatch(*digest, entry)),
        Expected::Missing => Err(digest_missing(entry)),
    }
}

pub(super) fn mismatch(digest: Digest, entry: &Entry) -> Error {
    let message = format!(
        "the playbook \"{}\" has no version {digest}; the newest is {}: read it again",
        entry.slug, entry.newest
    );
    Error::new(Reason::DigestMismatch, message).with("digest", entry.newest.to_string())
}

pub(super) fn digest_missing(entry: &Entry) -> Error {
    let message = format!(
        "say which version of \"{}\" you have read: send `If-Match: \"<digest>\"`, or `If-Match: *` for any",
        entry.slug
    );
    Error::new(Reason::DigestMissing, message)
}

impl Owner {
    /// Waits for the right to write to a playbook that its caller has read.
    pub(super) async fn turn_on(
        &self,
        agent: &AgentId,
        slug: &Slug,
        expected: &Expected,
        actor: &Actor,
    ) -> Result<(Turn, Entry), Error> {
        let turn = self.turn(agent, actor).await?;
        let entry = turn.entry(slug)?.clone();
        check_expected(expected, &entry)?;
        Ok((turn, entry))
    }

    /// The document of a digest that an entry refers to.
    pub(super) async fn document(&self, agent: &AgentId, digest: Digest) -> Result<Document, Error> {
        let found = self.0.documents(agent, &[digest]).await?;
        found.into_iter().next().ok_or_else(|| {
            Error::new(Reason::VersionUnknown, format!("the version {digest} is not kept any more"))
        })
    }

    /// The entry of a playbook.
    pub(super) async fn entry(&self, agent: &AgentId, slug: &Slug) -> Result<Entry, Error> {
        let (_, record) = self.record(agent).await?;
        record.entry(slug).cloned().ok_or_else(|| unknown_playbook(agent, slug))
    }
}
