//! Records as rows. What does not read back as it was written is damage.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::fault::{damaged, failed};
use crate::app::ports::store::StoreError;
use crate::domain::agent::{AgentConfig, AgentId, AgentSettings, StrayShare, TriggerMatch, Untriggered};
use crate::domain::digest::Digest;
use crate::domain::record::{
    Bar, Deed, Document, Entry, Event, Grant, Origin, OverrideRecord, Role, Standing, Usage,
};
use crate::domain::revision::Revision;
use crate::domain::slug::Slug;
use crate::engine::embed::Vector;

/// A count, a time or a revision as SQLite has numbers: what is larger has never been reached.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A digest as it is bound.
pub(super) fn blob(digest: &Digest) -> &[u8] {
    digest.bytes().as_slice()
}

fn text(row: &SqliteRow, column: &str) -> Result<String, StoreError> {
    row.try_get(column).map_err(failed)
}

/// A count, a time or a revision.
pub(super) fn number(row: &SqliteRow, column: &str) -> Result<u64, StoreError> {
    let number: i64 = row.try_get(column).map_err(failed)?;
    u64::try_from(number).map_err(|_| damaged(format!("the {column} {number}")))
}

pub(super) fn digest(row: &SqliteRow, column: &str) -> Result<Digest, StoreError> {
    let bytes: Vec<u8> = row.try_get(column).map_err(failed)?;
    digest_of(&bytes, column)
}

fn digest_of(bytes: &[u8], column: &str) -> Result<Digest, StoreError> {
    let bytes = bytes.try_into().map_err(|_| damaged(format!("a {column} of {} bytes", bytes.len())))?;
    Ok(Digest::from_bytes(bytes))
}

fn slug(row: &SqliteRow) -> Result<Slug, StoreError> {
    let text = text(row, "slug")?;
    Slug::parse(&text).map_err(|_| damaged(format!("the name \"{text}\"")))
}

fn agent_id(text: &str) -> Result<AgentId, StoreError> {
    AgentId::parse(text).map_err(|_| damaged(format!("the agent \"{text}\"")))
}

/// A name out of a few.
fn named<T>(row: &SqliteRow, column: &str, parse: fn(&str) -> Option<T>) -> Result<T, StoreError> {
    let text = text(row, column)?;
    parse(&text).ok_or_else(|| damaged(format!("the {column} \"{text}\"")))
}

pub(super) fn agent(row: &SqliteRow) -> Result<(AgentId, AgentConfig, Revision), StoreError> {
    let stray_share = u32::try_from(number(row, "stray_share")?).ok().and_then(StrayShare::from_millionths);
    let settings = AgentSettings {
        untriggered: named(row, "untriggered", Untriggered::parse)?,
        trigger_match: named(row, "trigger_match", TriggerMatch::parse)?,
        stray_share: stray_share.ok_or_else(|| damaged("a stray share above one"))?,
    };
    let playbooks_max = number(row, "playbooks_max")?;
    let playbooks_max = usize::try_from(playbooks_max).map_err(|_| damaged("a limit of playbooks"))?;
    let config = AgentConfig { settings, playbooks_max };
    Ok((agent_id(&text(row, "id")?)?, config, Revision::new(number(row, "revision")?)))
}

/// An entry with the agent that it is of.
pub(super) fn entry(row: &SqliteRow) -> Result<(String, Entry), StoreError> {
    let active: Option<Vec<u8>> = row.try_get("active").map_err(failed)?;
    let entry = Entry {
        slug: slug(row)?,
        newest: digest(row, "newest")?,
        file: digest(row, "file")?,
        active: active.map(|bytes| digest_of(&bytes, "digest")).transpose()?,
        standing: named(row, "standing", Standing::parse)?,
        origin: origin(row)?,
        revision: Revision::new(number(row, "revision")?),
        edited_unix_secs: number(row, "edited")?,
    };
    Ok((text(row, "agent")?, entry))
}

fn origin(row: &SqliteRow) -> Result<Origin, StoreError> {
    let kind = text(row, "origin")?;
    Ok(match kind.as_str() {
        "written" => Origin::Written,
        "imported" => Origin::Imported,
        "directory" => Origin::Directory,
        "pack" => Origin::Pack { id: text(row, "pack")?, version: text(row, "pack_version")? },
        _ => return Err(damaged(format!("the origin \"{kind}\""))),
    })
}

/// An origin as it is kept: its kind, and a pack with its version.
pub(super) fn origin_columns(origin: &Origin) -> (&'static str, Option<&str>, Option<&str>) {
    match origin {
        Origin::Written => ("written", None, None),
        Origin::Imported => ("imported", None, None),
        Origin::Directory => ("directory", None, None),
        Origin::Pack { id, version } => ("pack", Some(id), Some(version)),
    }
}

pub(super) fn document(row: &SqliteRow) -> Result<Document, StoreError> {
    let (digest, text) = (digest(row, "digest")?, text(row, "text")?);
    if Digest::of_bytes(text.as_bytes()) != self::digest(row, "checksum")? {
        return Err(damaged(format!("another text for {digest} than was written")));
    }
    Ok(Document { digest, text })
}

pub(super) fn event(row: &SqliteRow) -> Result<Event, StoreError> {
    Ok(Event {
        deed: named(row, "deed", Deed::parse)?,
        digest: digest(row, "digest")?,
        actor: text(row, "actor")?,
        unix_secs: number(row, "time")?,
        revision: Revision::new(number(row, "revision")?),
    })
}

pub(super) fn override_record(row: &SqliteRow) -> Result<OverrideRecord, StoreError> {
    Ok(OverrideRecord {
        file: digest(row, "file")?,
        ruleset: text(row, "ruleset")?,
        reason: text(row, "reason")?,
        actor: text(row, "actor")?,
        unix_secs: number(row, "time")?,
    })
}

pub(super) fn bar(row: &SqliteRow) -> Result<Bar, StoreError> {
    let agent = text(row, "agent")?;
    Ok(Bar {
        agent: if agent.is_empty() { None } else { Some(agent_id(&agent)?) },
        digest: digest(row, "digest")?,
        reason: text(row, "reason")?,
        actor: text(row, "actor")?,
        unix_secs: number(row, "time")?,
    })
}

pub(super) fn vector(row: &SqliteRow) -> Result<(Digest, Vector), StoreError> {
    let bytes: Vec<u8> = row.try_get("vector").map_err(failed)?;
    let (floats, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(damaged(format!("a vector of {} bytes", bytes.len())));
    }
    Ok((digest(row, "text")?, floats.iter().map(|float| f32::from_le_bytes(*float)).collect()))
}

pub(super) fn usage(row: &SqliteRow) -> Result<Usage, StoreError> {
    Ok(Usage {
        slug: slug(row)?,
        offered_always_on: number(row, "offered_always_on")?,
        offered_trigger: number(row, "offered_trigger")?,
        offered_semantic: number(row, "offered_semantic")?,
        loaded: number(row, "loaded")?,
        last_unix_secs: number(row, "last")?,
    })
}

pub(super) fn grant(row: &SqliteRow) -> Result<Grant, StoreError> {
    let role = text(row, "role")?;
    let agent: Option<String> = row.try_get("agent").map_err(failed)?;
    let role = match (role.as_str(), agent) {
        ("operator", None) => Role::Operator,
        ("owner", Some(agent)) => Role::Owner(agent_id(&agent)?),
        ("agent", Some(agent)) => Role::Agent(agent_id(&agent)?),
        _ => return Err(damaged(format!("the role \"{role}\""))),
    };
    let ended: Option<i64> = row.try_get("ended").map_err(failed)?;
    Ok(Grant {
        id: text(row, "id")?,
        token: digest(row, "token")?,
        role,
        label: text(row, "label")?,
        made_unix_secs: number(row, "made")?,
        ended_unix_secs: ended.map(|_| number(row, "ended")).transpose()?,
    })
}

/// A role as it is kept: its name, and its agent.
pub(super) fn role_columns(role: &Role) -> (&'static str, Option<&str>) {
    match role {
        Role::Operator => ("operator", None),
        Role::Owner(agent) => ("owner", Some(agent.as_str())),
        Role::Agent(agent) => ("agent", Some(agent.as_str())),
    }
}
