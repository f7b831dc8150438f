//! What is written, each in one transaction.

use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, SqlitePool};

use super::fault::failed;
use super::read::revision;
use super::rows::{blob, int, origin_columns, role_columns};
use crate::app::ports::store::{Change, Commit, Fault, GivenAnswer, RequestKey, StoreError};
use crate::domain::agent::{AgentConfig, AgentId};
use crate::domain::digest::Digest;
use crate::domain::record::{Bar, Document, Entry, Event, Grant, OverrideRecord, Usage};
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;
use crate::engine::embed::{ModelId, Vector};

/// How long the answer to a request with an `Idempotency-Key` is kept: a day.
const ANSWER_KEPT_SECS: u64 = 24 * 60 * 60;

/// Answers that a commit clears away at most.
const ANSWERS_CLEARED: i64 = 100;

/// What the key of menu tokens is kept as.
const MENU_KEY: &str = "menu";

type Done = Result<(), sqlx::Error>;

pub(super) async fn commit(writer: &SqlitePool, commit: Commit) -> Result<Revision, StoreError> {
    let after = commit.revision();
    let mut write = writer.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
    let present = revision(&mut *write).await.map_err(failed)?;
    if present != commit.expected {
        let message = format!("the catalogue is at revision {present}, not at {}", commit.expected);
        return Err(StoreError { fault: Fault::Stale, message });
    }
    for change in &commit.changes {
        make(&mut write, change, after).await.map_err(failed)?;
    }
    if let Some((key, given)) = &commit.answer {
        answer(&mut write, key, given, commit.unix_secs).await.map_err(failed)?;
    }
    if after != present {
        let update = sqlx::query("UPDATE catalogue SET revision = ?").bind(int(after.number()));
        update.execute(&mut *write).await.map_err(failed)?;
    }
    write.commit().await.map_err(failed)?;
    Ok(after)
}

async fn make(write: &mut SqliteConnection, change: &Change, after: Revision) -> Done {
    match change {
        Change::PutAgent(agent, config) => put_agent(write, agent, *config, after).await,
        Change::RemoveAgent(agent) => remove_agent(write, agent).await,
        Change::PutDocument(document) => put_document(write, document).await,
        Change::PutEntry(agent, entry) => put_entry(write, agent, entry, after).await,
        Change::RemoveEntry(agent, slug) => remove_entry(write, agent, slug, after).await,
        Change::Happened(agent, slug, event) => happened(write, agent, slug, event, after).await,
        Change::PutOverride(agent, record) => put_override(write, agent, record).await,
        Change::PutBar(bar) => put_bar(write, bar).await,
    }
}

async fn put_agent(write: &mut SqliteConnection, id: &AgentId, config: AgentConfig, after: Revision) -> Done {
    let settings = config.settings;
    let put = sqlx::query(
        "INSERT INTO agents VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET untriggered = excluded.untriggered, \
         trigger_match = excluded.trigger_match, stray_share = excluded.stray_share, playbooks_max = excluded.playbooks_max, \
         revision = excluded.revision",
    );
    let put = put.bind(id.as_str()).bind(settings.untriggered.as_str()).bind(settings.trigger_match.as_str());
    let put = put.bind(i64::from(settings.stray_share.millionths()));
    put.bind(int(config.playbooks_max as u64)).bind(int(after.number())).execute(write).await?;
    Ok(())
}

/// Erases an agent, and the texts that nobody else has.
async fn remove_agent(write: &mut SqliteConnection, id: &AgentId) -> Done {
    let texts = sqlx::query(
        "SELECT newest AS digest FROM entries WHERE agent = ?1 UNION SELECT active FROM entries WHERE agent = ?1 AND active \
         IS NOT NULL UNION SELECT digest FROM events WHERE agent = ?1",
    );
    let texts = texts.bind(id.as_str()).fetch_all(&mut *write).await?;
    // Entries, events, overrides and usage go with it.
    sqlx::query("DELETE FROM agents WHERE id = ?").bind(id.as_str()).execute(&mut *write).await?;
    sqlx::query("DELETE FROM bars WHERE agent = ?").bind(id.as_str()).execute(&mut *write).await?;
    for row in texts {
        let digest: Vec<u8> = row.try_get("digest")?;
        let delete = sqlx::query(
            "DELETE FROM documents WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM entries WHERE newest = ?1 OR active = ?1) \
             AND NOT EXISTS (SELECT 1 FROM events WHERE digest = ?1)",
        );
        delete.bind(digest).execute(&mut *write).await?;
    }
    Ok(())
}

async fn put_document(write: &mut SqliteConnection, document: &Document) -> Done {
    let put = sqlx::query("INSERT INTO documents VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING");
    let checksum = Digest::of_bytes(document.text.as_bytes());
    put.bind(blob(&document.digest)).bind(blob(&checksum)).bind(&document.text).execute(write).await?;
    Ok(())
}

async fn put_entry(write: &mut SqliteConnection, agent: &AgentId, entry: &Entry, after: Revision) -> Done {
    let put = sqlx::query("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    let (origin, pack, version) = origin_columns(&entry.origin);
    let put =
        put.bind(agent.as_str()).bind(entry.slug.as_str()).bind(blob(&entry.newest)).bind(blob(&entry.file));
    let put = put.bind(entry.active.as_ref().map(blob)).bind(entry.standing.as_str());
    let put = put.bind(origin).bind(pack).bind(version);
    put.bind(int(after.number())).bind(int(entry.edited_unix_secs)).execute(&mut *write).await?;
    touch(write, agent, after).await
}

async fn remove_entry(write: &mut SqliteConnection, agent: &AgentId, slug: &Slug, after: Revision) -> Done {
    for delete in
        ["DELETE FROM entries WHERE agent = ? AND slug = ?", "DELETE FROM usage WHERE agent = ? AND slug = ?"]
    {
        sqlx::query(delete).bind(agent.as_str()).bind(slug.as_str()).execute(&mut *write).await?;
    }
    touch(write, agent, after).await
}

/// Says when an agent was changed last.
async fn touch(write: &mut SqliteConnection, agent: &AgentId, after: Revision) -> Done {
    let touch = sqlx::query("UPDATE agents SET revision = ? WHERE id = ?").bind(int(after.number()));
    touch.bind(agent.as_str()).execute(write).await?;
    Ok(())
}

async fn happened(
    write: &mut SqliteConnection,
    agent: &AgentId,
    slug: &Slug,
    event: &Event,
    after: Revision,
) -> Done {
    let put = sqlx::query(
        "INSERT INTO events (agent, slug, deed, digest, actor, time, revision) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    let put =
        put.bind(agent.as_str()).bind(slug.as_str()).bind(event.deed.as_str()).bind(blob(&event.digest));
    put.bind(&event.actor).bind(int(event.unix_secs)).bind(int(after.number())).execute(write).await?;
    Ok(())
}

async fn put_override(write: &mut SqliteConnection, agent: &AgentId, record: &OverrideRecord) -> Done {
    let put = sqlx::query("INSERT OR REPLACE INTO overrides VALUES (?, ?, ?, ?, ?, ?)");
    let put = put.bind(agent.as_str()).bind(blob(&record.file)).bind(&record.ruleset).bind(&record.reason);
    put.bind(&record.actor).bind(int(record.unix_secs)).execute(write).await?;
    Ok(())
}

async fn put_bar(write: &mut SqliteConnection, bar: &Bar) -> Done {
    let put = sqlx::query("INSERT OR REPLACE INTO bars VALUES (?, ?, ?, ?, ?)");
    let put = put.bind(bar.agent.as_ref().map_or("", AgentId::as_str)).bind(blob(&bar.digest));
    put.bind(&bar.reason).bind(&bar.actor).bind(int(bar.unix_secs)).execute(write).await?;
    Ok(())
}

/// Keeps an answer, and clears old ones away.
async fn answer(write: &mut SqliteConnection, key: &RequestKey, given: &GivenAnswer, now: u64) -> Done {
    let put = sqlx::query("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)");
    let put = put.bind(&key.principal).bind(&key.key).bind(blob(&given.request)).bind(&given.answer);
    put.bind(int(now)).execute(&mut *write).await?;
    let clear = sqlx::query(
        "DELETE FROM answers WHERE (principal, key) IN (SELECT principal, key FROM answers WHERE time < ? LIMIT ?)",
    );
    clear.bind(int(now.saturating_sub(ANSWER_KEPT_SECS))).bind(ANSWERS_CLEARED).execute(write).await?;
    Ok(())
}

pub(super) async fn keep_vectors(writer: &SqlitePool, model: ModelId, vectors: &[(Digest, Vector)]) -> Done {
    let mut write = writer.begin_with("BEGIN IMMEDIATE").await?;
    for (text, vector) in vectors {
        let bytes: Vec<u8> = vector.iter().flat_map(|float| float.to_le_bytes()).collect();
        let put = sqlx::query("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)");
        put.bind(blob(model.digest())).bind(blob(text)).bind(bytes).execute(&mut *write).await?;
    }
    write.commit().await
}

pub(super) async fn add_usage(writer: &SqlitePool, counts: &[(AgentId, Usage)]) -> Done {
    let mut write = writer.begin_with("BEGIN IMMEDIATE").await?;
    for (agent, usage) in counts {
        let mut put: QueryBuilder<Sqlite> = QueryBuilder::new("INSERT INTO usage SELECT ");
        let mut values = put.separated(", ");
        values.push_bind(agent.as_str()).push_bind(usage.slug.as_str());
        for count in [usage.offered_always_on, usage.offered_trigger, usage.offered_semantic, usage.loaded] {
            values.push_bind(int(count));
        }
        values.push_bind(int(usage.last_unix_secs));
        put.push(" WHERE EXISTS (SELECT 1 FROM agents WHERE id = ").push_bind(agent.as_str());
        put.push(
            ") ON CONFLICT (agent, slug) DO UPDATE SET offered_always_on = offered_always_on + excluded.offered_always_on, \
             offered_trigger = offered_trigger + excluded.offered_trigger, \
             offered_semantic = offered_semantic + excluded.offered_semantic, loaded = loaded + excluded.loaded, \
             last = max(last, excluded.last)",
        );
        put.build().execute(&mut *write).await?;
    }
    write.commit().await
}

pub(super) async fn put_grant(writer: &SqlitePool, grant: &Grant) -> Done {
    let put = sqlx::query("INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?, ?, ?, ?)");
    let (role, agent) = role_columns(&grant.role);
    let put = put.bind(&grant.id).bind(blob(&grant.token)).bind(role).bind(agent).bind(&grant.label);
    put.bind(int(grant.made_unix_secs)).bind(grant.ended_unix_secs.map(int)).execute(writer).await?;
    Ok(())
}

pub(super) async fn menu_key(writer: &SqlitePool, fresh: &[u8]) -> Result<Vec<u8>, sqlx::Error> {
    let mut write = writer.begin_with("BEGIN IMMEDIATE").await?;
    let put = sqlx::query("INSERT INTO keys VALUES (?, ?) ON CONFLICT (purpose) DO NOTHING");
    put.bind(MENU_KEY).bind(fresh).execute(&mut *write).await?;
    let key = sqlx::query("SELECT bytes FROM keys WHERE purpose = ?").bind(MENU_KEY);
    let key = key.fetch_one(&mut *write).await?.try_get("bytes")?;
    write.commit().await?;
    Ok(key)
}
