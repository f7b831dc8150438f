//! What is read.

use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteExecutor, SqlitePool};

use super::fault::failed;
use super::rows::{self, blob};
use crate::app::ports::store::{AgentRecord, GivenAnswer, RequestKey, StoreError};
use crate::domain::agent::AgentId;
use crate::domain::digest::Digest;
use crate::domain::record::{Bar, Document, Event, Grant, OverrideRecord, Usage};
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;
use crate::engine::embed::{ModelId, Vector};

/// Digests that are asked for in one statement.
const ASKED_TOGETHER: usize = 500;

pub(super) async fn revision(executor: impl SqliteExecutor<'_>) -> Result<Revision, sqlx::Error> {
    let row = sqlx::query("SELECT revision FROM catalogue").fetch_one(executor).await?;
    let number: i64 = row.try_get("revision")?;
    Ok(Revision::new(u64::try_from(number).map_err(|error| sqlx::Error::Decode(error.into()))?))
}

pub(super) async fn agents(readers: &SqlitePool) -> Result<(Revision, Vec<AgentRecord>), StoreError> {
    let mut read = readers.begin().await.map_err(failed)?;
    let revision = revision(&mut *read).await.map_err(failed)?;
    let agents =
        sqlx::query("SELECT * FROM agents ORDER BY id").fetch_all(&mut *read).await.map_err(failed)?;
    let entries = sqlx::query("SELECT * FROM entries ORDER BY agent, slug").fetch_all(&mut *read).await;
    let mut entries = entries.map_err(failed)?.into_iter().map(|row| rows::entry(&row)).peekable();
    let mut records = Vec::with_capacity(agents.len());
    for row in &agents {
        let mut record = record(row)?;
        while let Some(entry) = entries.next_if(|entry| of(entry, &record.id)) {
            record.entries.push(entry?.1);
        }
        records.push(record);
    }
    Ok((revision, records))
}

/// Whether an entry is of this agent; one that cannot be read is everybody's.
fn of<T>(entry: &Result<(String, T), StoreError>, id: &AgentId) -> bool {
    entry.as_ref().map_or(true, |(agent, _)| agent == id.as_str())
}

fn record(row: &SqliteRow) -> Result<AgentRecord, StoreError> {
    let (id, config, revision) = rows::agent(row)?;
    Ok(AgentRecord { id, config, revision, entries: Vec::new() })
}

pub(super) async fn agent(
    readers: &SqlitePool,
    id: &AgentId,
) -> Result<(Revision, Option<AgentRecord>), StoreError> {
    let mut read = readers.begin().await.map_err(failed)?;
    let revision = revision(&mut *read).await.map_err(failed)?;
    let agent = sqlx::query("SELECT * FROM agents WHERE id = ?").bind(id.as_str());
    let Some(row) = agent.fetch_optional(&mut *read).await.map_err(failed)? else {
        return Ok((revision, None));
    };
    let mut record = record(&row)?;
    let entries = sqlx::query("SELECT * FROM entries WHERE agent = ? ORDER BY slug").bind(id.as_str());
    let entries = entries.fetch_all(&mut *read).await.map_err(failed)?;
    record.entries = entries.iter().map(|row| Ok(rows::entry(row)?.1)).collect::<Result<_, StoreError>>()?;
    Ok((revision, Some(record)))
}

pub(super) async fn documents(readers: &SqlitePool, digests: &[Digest]) -> Result<Vec<Document>, StoreError> {
    let select = "SELECT digest, checksum, text FROM documents WHERE digest IN (";
    let mut documents = Vec::with_capacity(digests.len());
    for asked in digests.chunks(ASKED_TOGETHER) {
        let found =
            among(QueryBuilder::new(select), asked).build().fetch_all(readers).await.map_err(failed)?;
        documents.extend(found.iter().map(rows::document).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(documents)
}

/// Ends a statement with a list of digests.
fn among(mut statement: QueryBuilder<Sqlite>, digests: &[Digest]) -> QueryBuilder<Sqlite> {
    let mut list = statement.separated(", ");
    for digest in digests {
        list.push_bind(blob(digest).to_vec());
    }
    statement.push(")");
    statement
}

pub(super) async fn history(
    readers: &SqlitePool,
    agent: &AgentId,
    slug: &Slug,
) -> Result<Vec<Event>, StoreError> {
    let events = sqlx::query("SELECT * FROM events WHERE agent = ? AND slug = ? ORDER BY id DESC");
    let events = events.bind(agent.as_str()).bind(slug.as_str()).fetch_all(readers).await.map_err(failed)?;
    events.iter().map(rows::event).collect()
}

pub(super) async fn overrides(
    readers: &SqlitePool,
    agent: &AgentId,
) -> Result<Vec<OverrideRecord>, StoreError> {
    let overrides = sqlx::query("SELECT * FROM overrides WHERE agent = ? ORDER BY file").bind(agent.as_str());
    let overrides = overrides.fetch_all(readers).await.map_err(failed)?;
    overrides.iter().map(rows::override_record).collect()
}

pub(super) async fn bars(readers: &SqlitePool, agent: &AgentId) -> Result<Vec<Bar>, StoreError> {
    let bars = sqlx::query("SELECT * FROM bars WHERE agent IN (?, '') ORDER BY digest, agent");
    let bars = bars.bind(agent.as_str()).fetch_all(readers).await.map_err(failed)?;
    bars.iter().map(rows::bar).collect()
}

pub(super) async fn vectors(
    readers: &SqlitePool,
    model: ModelId,
    texts: &[Digest],
) -> Result<Vec<(Digest, Vector)>, StoreError> {
    let mut vectors = Vec::with_capacity(texts.len());
    for asked in texts.chunks(ASKED_TOGETHER) {
        let mut select = QueryBuilder::new("SELECT text, vector FROM vectors WHERE model = ");
        select.push_bind(blob(model.digest()).to_vec()).push(" AND text IN (");
        let found = among(select, asked).build().fetch_all(readers).await.map_err(failed)?;
        vectors.extend(found.iter().map(rows::vector).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(vectors)
}

pub(super) async fn usage(readers: &SqlitePool, agent: &AgentId) -> Result<Vec<Usage>, StoreError> {
    let usage = sqlx::query("SELECT * FROM usage WHERE agent = ? ORDER BY slug").bind(agent.as_str());
    let usage = usage.fetch_all(readers).await.map_err(failed)?;
    usage.iter().map(rows::usage).collect()
}

pub(super) async fn grants(readers: &SqlitePool) -> Result<Vec<Grant>, StoreError> {
    let grants = sqlx::query("SELECT * FROM grants ORDER BY id").fetch_all(readers).await.map_err(failed)?;
    grants.iter().map(rows::grant).collect()
}

pub(super) async fn answered(
    readers: &SqlitePool,
    key: &RequestKey,
) -> Result<Option<GivenAnswer>, StoreError> {
    let answer = sqlx::query("SELECT request, answer FROM answers WHERE principal = ? AND key = ?");
    let answer = answer.bind(&key.principal).bind(&key.key).fetch_optional(readers).await.map_err(failed)?;
    let given = |row: SqliteRow| {
        Ok(GivenAnswer {
            request: rows::digest(&row, "request")?,
            answer: row.try_get("answer").map_err(failed)?,
        })
    };
    answer.map(given).transpose()
}
