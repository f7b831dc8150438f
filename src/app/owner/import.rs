//! Files of skills that are brought in, each with an outcome of its own.

use std::sync::Arc;

use super::edit::{Admitted, keep};
use super::turn::Turn;
use super::{Actor, Done, Owner};
use crate::app::error::{Error, Reason};
use crate::compute;
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::record::{Origin, Standing};
use crate::domain::slug::Slug;
use crate::format::diagnostic::Diagnostic;
use crate::format::gate::admit;
use crate::format::scan::overrides::Overrides;

/// A file to bring in.
#[derive(Clone, Debug)]
pub struct File {
    /// What its outcome is labelled with; the playbook's name is the one in the file.
    pub name: String,
    /// Its bytes, or why there are none.
    pub content: Result<Vec<u8>, Diagnostic>,
}

/// What came of the files.
#[derive(Clone, Debug)]
pub struct Imported {
    /// One outcome a file, in the order of the files.
    pub files: Vec<FileOutcome>,
}

/// What came of a file.
#[derive(Clone, Debug)]
pub struct FileOutcome {
    /// Its label.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
    /// The name of the playbook, where one was read.
    pub slug: Option<Slug>,
    /// The digest of the playbook.
    pub digest: Option<Digest>,
    /// The digest of the file, by which it can be let in; none where there are no bytes.
    pub file: Option<Digest>,
    /// What there is to say about it.
    pub diagnostics: Vec<Diagnostic>,
}

/// What can come of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It serves.
    Imported,
    /// It is kept, and waits for a person.
    NeedsReview,
    /// There is a playbook of its name, which stays as it is.
    Skipped {
        /// Whether it is the same.
        identical: bool,
    },
    /// It is not kept.
    Refused {
        /// Why, to branch on.
        reason: Reason,
        /// Why, to read.
        message: String,
    },
}

/// How many files came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Those that serve.
    pub imported: usize,
    /// Those that wait for a person.
    pub needs_review: usize,
    /// Those whose name is taken.
    pub skipped: usize,
    /// Those that are not kept.
    pub refused: usize,
}

impl Imported {
    /// How many files came to what.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for file in &self.files {
            match file.outcome {
                Outcome::Imported => summary.imported += 1,
                Outcome::NeedsReview => summary.needs_review += 1,
                Outcome::Skipped { .. } => summary.skipped += 1,
                Outcome::Refused { .. } => summary.refused += 1,
            }
        }
        summary
    }
}

impl Owner {
    /// Brings files in: each is looked at by itself, and those that are let in are kept together, durably, or none of them. With
    /// `dry_run` nothing is kept, and the outcomes are those that there would be.
    ///
    /// # Errors
    /// An agent that is not there, a store that fails; a bad file is an outcome.
    pub async fn import(
        &self,
        agent: &AgentId,
        files: Vec<File>,
        dry_run: bool,
        actor: &Actor,
    ) -> Result<Done<Imported>, Error> {
        let mut turn = self.turn(agent, actor).await?;
        let overrides = Arc::clone(&turn.overrides);
        let looked_at = tokio::task::spawn_blocking(move || look_at(&files, &overrides));
        let looked_at = looked_at.await.expect("the gate does not panic");
        let files = looked_at.into_iter().map(|(file, admitted)| turn.take(file, admitted)).collect();
        let revision = if dry_run { turn.revision() } else { turn.commit().await? };
        Ok(Done { outcome: Imported { files }, revision })
    }
}

type LookedAt = (FileOutcome, Option<Admitted>);

/// Takes every file through the gate, in parallel.
fn look_at(files: &[File], overrides: &Overrides) -> Vec<LookedAt> {
    compute::map(files, |file| {
        let outcome = |outcome, diagnostics| FileOutcome {
            name: file.name.clone(),
            outcome,
            slug: None,
            digest: None,
            file: file.content.as_ref().ok().map(|bytes| Digest::of_bytes(bytes)),
            diagnostics,
        };
        let bytes = match &file.content {
            Ok(bytes) => bytes,
            Err(said) => {
                let refused = Outcome::Refused { reason: Reason::PlaybookRefused, message: said.to_string() };
                return (outcome(refused, vec![said.clone()]), None);
            }
        };
        match keep(admit(bytes, overrides), bytes, overrides) {
            Ok(admitted) => {
                let mut outcome = outcome(Outcome::Imported, admitted.diagnostics.clone());
                outcome.slug = Some(admitted.playbook.slug().clone());
                outcome.digest = Some(admitted.playbook.digest());
                (outcome, Some(admitted))
            }
            Err(error) => (outcome(refusal(&error), error.findings().to_vec()), None),
        }
    })
}

fn refusal(error: &Error) -> Outcome {
    Outcome::Refused { reason: error.reason(), message: error.message().to_owned() }
}

impl Turn {
    /// Keeps what the gate lets in, unless its name is taken, there is no room, or it was withdrawn.
    fn take(&mut self, file: FileOutcome, admitted: Option<Admitted>) -> FileOutcome {
        let Some(admitted) = admitted else { return file };
        let outcome = match self.record.entry(admitted.playbook.slug()) {
            Some(entry) => Outcome::Skipped { identical: entry.newest == admitted.playbook.digest() },
            None => match self.check_room().and_then(|()| self.create(&admitted, Origin::Imported)) {
                Ok(entry) if entry.standing == Standing::NeedsReview => Outcome::NeedsReview,
                Ok(_) => Outcome::Imported,
                Err(error) => refusal(&error),
            },
        };
        FileOutcome { outcome, ..file }
    }
}
