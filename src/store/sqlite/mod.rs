//! Playbooks in a SQLite database: the store of one server.
//!
//! **Invariants**: a commit is on the disk when it returns (write-ahead log, `synchronous = FULL`) and is whole or not at all; one
//! connection writes, and readers never wait for it; a file that is no database of ours, is damaged or is of a newer version is
//! refused and left as it is; one process has a directory at a time. **Threads**: each connection has one; callers wait without one.

mod backup;
mod fault;
mod open;
mod read;
mod rows;
mod write;

use std::fs::File;

use sqlx::SqlitePool;

pub use self::backup::Restored;
use self::fault::failed;
use crate::app::ports::store::{AgentRecord, Answer, Commit, GivenAnswer, RequestKey, Store};
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::record::{Bar, Document, Event, Grant, OverrideRecord, Usage};
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;
use crate::engine::embed::{ModelId, Vector};

/// The file in the directory.
pub const FILE: &str = "maitred.db";

/// A database that is open.
#[derive(Debug)]
pub struct Sqlite {
    /// One connection.
    writer: SqlitePool,
    readers: SqlitePool,
    /// Says to other processes who has the directory; none for one in memory.
    _lock: Option<File>,
}

impl Store for Sqlite {
    fn revision(&self) -> Answer<'_, Revision> {
        Box::pin(async { read::revision(&self.readers).await.map_err(failed) })
    }

    fn agents(&self) -> Answer<'_, (Revision, Vec<AgentRecord>)> {
        Box::pin(read::agents(&self.readers))
    }

    fn agent<'a>(&'a self, id: &'a AgentId) -> Answer<'a, (Revision, Option<AgentRecord>)> {
        Box::pin(read::agent(&self.readers, id))
    }

    fn documents<'a>(&'a self, digests: &'a [Digest]) -> Answer<'a, Vec<Document>> {
        Box::pin(read::documents(&self.readers, digests))
    }

    fn commit(&self, commit: Commit) -> Answer<'_, Revision> {
        Box::pin(write::commit(&self.writer, commit))
    }

    fn history<'a>(&'a self, agent: &'a AgentId, slug: &'a Slug) -> Answer<'a, Vec<Event>> {
        Box::pin(read::history(&self.readers, agent, slug))
    }

    fn overrides<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<OverrideRecord>> {
        Box::pin(read::overrides(&self.readers, agent))
    }

    fn bars<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<Bar>> {
        Box::pin(read::bars(&self.readers, agent))
    }

    fn vectors<'a>(&'a self, model: ModelId, texts: &'a [Digest]) -> Answer<'a, Vec<(Digest, Vector)>> {
        Box::pin(read::vectors(&self.readers, model, texts))
    }

    fn keep_vectors(&self, model: ModelId, vectors: Vec<(Digest, Vector)>) -> Answer<'_, ()> {
        Box::pin(async move { write::keep_vectors(&self.writer, model, &vectors).await.map_err(failed) })
    }

    fn usage<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<Usage>> {
        Box::pin(read::usage(&self.readers, agent))
    }

    fn add_usage(&self, counts: Vec<(AgentId, Usage)>) -> Answer<'_, ()> {
        Box::pin(async move { write::add_usage(&self.writer, &counts).await.map_err(failed) })
    }

    fn grants(&self) -> Answer<'_, Vec<Grant>> {
        Box::pin(read::grants(&self.readers))
    }

    fn put_grant(&self, grant: Grant) -> Answer<'_, ()> {
        Box::pin(async move { write::put_grant(&self.writer, &grant).await.map_err(failed) })
    }

    fn menu_key(&self, fresh: [u8; 32]) -> Answer<'_, Vec<u8>> {
        Box::pin(async move { write::menu_key(&self.writer, &fresh).await.map_err(failed) })
    }

    fn answered<'a>(&'a self, key: &'a RequestKey) -> Answer<'a, Option<GivenAnswer>> {
        Box::pin(read::answered(&self.readers, key))
    }
}
