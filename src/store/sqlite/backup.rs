//! Copies of a database, and the way back.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteJournalMode;
use sqlx::{ConnectOptions as _, Connection as _, SqlitePool};

use super::fault::failed;
use super::open::{Looked, check, examine, lock, make_dir, migrate, of_file, options, pool, unavailable};
use super::rows::int;
use super::{FILE, Sqlite, read};
use crate::app::ports::store::StoreError;
use crate::domain::revision::Revision;

/// How far the revision is moved on where the present one cannot be read: further than it can have come since the backup.
const REVISIONS_UNKNOWN: u64 = 1 << 32;

/// What SQLite appends to the names of the files beside a database.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// What a restore did.
#[derive(Debug)]
pub struct Restored {
    /// The revision that the catalogue has now: above every one that it had.
    pub revision: Revision,
    /// Where the database is that was there before.
    pub replaced: Option<PathBuf>,
}

impl Sqlite {
    /// Writes all that a directory keeps into a new file, as it is at one moment; a server may be at work there.
    ///
    /// # Errors
    /// No database, or one that is none of ours or damaged; a file that is there already.
    pub async fn backup(dir: &Path, to: &Path) -> Result<Revision, StoreError> {
        let from = dir.join(FILE);
        fs::metadata(&from).map_err(|error| unavailable(&from, error))?;
        check(&from).await?;
        if to.exists() {
            return Err(unavailable(to, "is there already, and nothing is overwritten; give another name"));
        }
        let partial = beside(to, ".partial");
        // What an interrupted backup left behind is worth nothing.
        let _ = fs::remove_file(&partial);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial);
        made.map_err(|error| unavailable(&partial, error))?;
        let copied = copy(&from, &partial).await.map_err(|error| of_file(&from, failed(error)));
        let kept = copied.and_then(|revision| {
            // A link, and no rename: it overwrites nothing.
            let kept = File::open(&partial)
                .and_then(|file| file.sync_all())
                .and_then(|()| fs::hard_link(&partial, to))
                .and_then(|()| sync_parent(to));
            kept.map(|()| revision).map_err(|error| unavailable(to, error))
        });
        // It is the backup by its other name, or half of one.
        let _ = fs::remove_file(&partial);
        kept
    }

    /// Makes a backup what a directory keeps. What was withdrawn for security and which tokens were ended since the backup stays so;
    /// the revision goes on from the present one. The database that was there is kept under another name.
    ///
    /// # Errors
    /// A directory that a server has; a backup that is none; a database of somebody else in the way. Nothing is changed then.
    pub async fn restore(dir: &Path, from: &Path) -> Result<Restored, StoreError> {
        fs::metadata(from).map_err(|error| unavailable(from, error))?;
        if beside(from, BESIDE[0]).exists() {
            return Err(unavailable(
                from,
                "is a database at work, and no backup; make one with `maitred backup`",
            ));
        }
        check(from).await?;
        make_dir(dir)?;
        let _lock = lock(dir, "maitred restore")?;
        let (file, fresh) = (dir.join(FILE), dir.join("maitred.db.restoring"));
        // A link to a backup must not be written through.
        let _ = fs::remove_file(&fresh);
        fs::copy(from, &fresh).map_err(|error| unavailable(&fresh, error))?;
        let present = if file.exists() { Some(settle(&file).await?) } else { None };
        let revision = carry_over(&fresh, present.as_ref().map(|present| (file.as_path(), *present))).await?;
        let replaced = present.map(|_| dir.join(format!("maitred.db.replaced-{revision}")));
        put_in_place(&file, &fresh, replaced.as_deref()).map_err(|error| unavailable(&file, error))?;
        Ok(Restored { revision, replaced })
    }
}

async fn copy(from: &Path, to: &Path) -> Result<Revision, sqlx::Error> {
    let mut database = options(from).connect().await?;
    sqlx::query("VACUUM INTO ?").bind(to.to_string_lossy().into_owned()).execute(&mut database).await?;
    database.close().await?;
    let mut made = options(to).connect().await?;
    let revision = read::revision(&mut made).await?;
    made.close().await?;
    Ok(revision)
}

/// What there is of the present database.
#[derive(Clone, Copy)]
enum Present {
    /// It can be read.
    Whole,
    /// It cannot.
    Damaged,
}

/// Brings a database up to date and into one file.
async fn settle(file: &Path) -> Result<Present, StoreError> {
    if matches!(examine(file).await?, Looked::Damaged(_)) {
        return Ok(Present::Damaged);
    }
    check(file).await?;
    let settled = pool(1, options(file).journal_mode(SqliteJournalMode::Delete)).await;
    let settled = settled.map_err(|error| of_file(file, failed(error)))?;
    migrate(&settled).await.map_err(|error| of_file(file, error))?;
    settled.close().await;
    Ok(Present::Whole)
}

/// Brings the restored database up to date, and carries over what must not be undone.
async fn carry_over(fresh: &Path, present: Option<(&Path, Present)>) -> Result<Revision, StoreError> {
    let database = pool(1, options(fresh).journal_mode(SqliteJournalMode::Delete)).await;
    let database = database.map_err(|error| of_file(fresh, failed(error)))?;
    migrate(&database).await.map_err(|error| of_file(fresh, error))?;
    let carried = carry(&database, present).await.map_err(|error| of_file(fresh, failed(error)));
    database.close().await;
    carried
}

async fn carry(database: &SqlitePool, present: Option<(&Path, Present)>) -> Result<Revision, sqlx::Error> {
    let mut one = database.acquire().await?;
    let mut revision = read::revision(&mut *one).await?.number();
    match present {
        None => {}
        Some((_, Present::Damaged)) => revision += REVISIONS_UNKNOWN,
        Some((file, Present::Whole)) => {
            let attach = sqlx::query("ATTACH ? AS present").bind(file.to_string_lossy().into_owned());
            attach.execute(&mut *one).await?;
            let present = sqlx::query_scalar::<_, i64>("SELECT revision FROM present.catalogue");
            revision = revision.max(u64::try_from(present.fetch_one(&mut *one).await?).unwrap_or_default());
            for statement in [
                "INSERT OR IGNORE INTO bars SELECT * FROM present.bars",
                "INSERT OR REPLACE INTO grants SELECT * FROM present.grants WHERE ended IS NOT NULL",
            ] {
                sqlx::query(statement).execute(&mut *one).await?;
            }
        }
    }
    let withdraw = "UPDATE entries SET active = NULL, standing = 'revoked' WHERE EXISTS (SELECT 1 FROM bars WHERE bars.agent IN \
                    ('', entries.agent) AND bars.digest IN (entries.active, entries.newest))";
    sqlx::query(withdraw).execute(&mut *one).await?;
    let revision = Revision::new(revision).next();
    let update = sqlx::query("UPDATE catalogue SET revision = ?").bind(int(revision.number()));
    update.execute(&mut *one).await?;
    Ok(revision)
}

/// Puts the restored database where the present one is. There is one of the two at every moment.
fn put_in_place(file: &Path, fresh: &Path, replaced: Option<&Path>) -> std::io::Result<()> {
    File::open(fresh)?.sync_all()?;
    if let Some(replaced) = replaced {
        fs::hard_link(file, replaced)?;
        for suffix in BESIDE {
            let (from, to) = (beside(file, suffix), beside(replaced, suffix));
            if from.exists() {
                fs::rename(from, to)?;
            }
        }
    }
    fs::rename(fresh, file)?;
    sync_parent(file)
}

fn sync_parent(file: &Path) -> std::io::Result<()> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
