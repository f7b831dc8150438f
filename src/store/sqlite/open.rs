//! Opening a database: who has it, whether it is one of ours, whether it is whole.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqlSafeStr as _, SqliteConnection, SqlitePool};

use super::fault::failed;
use super::{FILE, Sqlite};
use crate::app::ports::store::{Fault, StoreError};
use crate::domain::text::{escaped, escaped_path};

/// What SQLite writes into the head of our files: `mtrd`.
const APPLICATION_ID: i32 = 0x6d74_7264;

/// The file that says who has the directory.
const LOCK_FILE: &str = "maitred.lock";

/// How every database of SQLite begins.
const HEADER: &[u8; 16] = b"SQLite format 3\0";

/// Connections that read.
const READERS: u32 = 4;

/// How long a statement waits for another process, which there should not be.
const BUSY_TIME_MAX: Duration = Duration::from_secs(5);

/// The migrations, oldest first. One that was released is never changed.
const MIGRATIONS: [(i64, &str, &str); 1] = [(1, "playbooks", include_str!("migrations/0001_playbooks.sql"))];

impl Sqlite {
    /// Opens the database of a directory, or makes it. `server` says to other processes who has it.
    ///
    /// # Errors
    /// A directory that another process has; a file that is no database of ours, is damaged, or is of a newer version. It is left
    /// as it is.
    pub async fn open(dir: &Path, server: &str) -> Result<Self, StoreError> {
        make_dir(dir)?;
        let lock = lock(dir, server)?;
        let file = dir.join(FILE);
        if is_there(&file)? {
            check(&file).await?;
        } else {
            let made = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&file);
            made.map_err(|error| unavailable(&file, error))?;
        }
        let options =
            options(&file).journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        let named = options.clone().pragma("application_id", APPLICATION_ID.to_string());
        let writer = pool(1, named).await.map_err(|error| of_file(&file, failed(error)))?;
        migrate(&writer).await.map_err(|error| of_file(&file, error))?;
        let readers = pool(READERS, options.pragma("query_only", "ON")).await;
        let readers = readers.map_err(|error| of_file(&file, failed(error)))?;
        Ok(Self { writer, readers, _lock: Some(lock) })
    }

    /// A database that ends with the process.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub async fn in_memory() -> Result<Self, StoreError> {
        let writer = pool(1, SqliteConnectOptions::new().in_memory(true).foreign_keys(true)).await;
        let writer = writer.map_err(failed)?;
        migrate(&writer).await?;
        Ok(Self { readers: writer.clone(), writer, _lock: None })
    }
}

pub(super) fn make_dir(dir: &Path) -> Result<(), StoreError> {
    // Others have no business with playbooks and keys.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| unavailable(dir, error))
}

/// Takes the directory for this process, as long as the file is open.
pub(super) fn lock(dir: &Path, server: &str) -> Result<File, StoreError> {
    let path = dir.join(LOCK_FILE);
    let opened =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let mut file = opened.map_err(|error| unavailable(&path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Who has it is worth a word, and no more: the lock itself is the system's.
            let _ = file.take(400).read_to_string(&mut holder);
            let holder = if holder.trim().is_empty() { "another process" } else { holder.trim() };
            let holder = escaped(holder, 200);
            let message = format!(
                "the directory {} is in use by {holder}; stop that first, or give another directory with --data",
                escaped_path(dir)
            );
            return Err(StoreError { fault: Fault::Unavailable, message });
        }
        Err(TryLockError::Error(error)) => return Err(unavailable(&path, error)),
    }
    let named = format!("{server}, process {}\n", std::process::id());
    let written =
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(named.as_bytes()));
    written.map_err(|error| unavailable(&path, error))?;
    Ok(file)
}

/// Whether there is a file with something in it.
fn is_there(file: &Path) -> Result<bool, StoreError> {
    match fs::metadata(file) {
        Ok(metadata) => Ok(metadata.len() > 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unavailable(file, error)),
    }
}

/// Refuses a file that is none of ours, or damaged, before anything is written to it.
pub(super) async fn check(file: &Path) -> Result<(), StoreError> {
    let elsewhere = "move it away, or give another directory with --data";
    match examine(file).await? {
        Looked::Ours => Ok(()),
        Looked::NoDatabase => Err(refused(file, &format!("is no SQLite database; {elsewhere}"))),
        Looked::Foreign => Err(refused(file, &format!("is a database of another program; {elsewhere}"))),
        Looked::Damaged(what) => {
            let what = escaped(&what, 160);
            Err(refused(
                file,
                &format!(
                    "is damaged ({what}); put a backup in its place with `maitred restore`, or move it away"
                ),
            ))
        }
    }
}

/// What a file turns out to be.
pub(super) enum Looked {
    Ours,
    NoDatabase,
    Foreign,
    /// With what is wrong.
    Damaged(String),
}

/// Looks at a file; nothing is written to it.
pub(super) async fn examine(file: &Path) -> Result<Looked, StoreError> {
    let mut head = [0; HEADER.len()];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut head));
    if read.is_err() || head != *HEADER {
        return Ok(Looked::NoDatabase);
    }
    let looked = async {
        let mut database = options(file).connect().await?;
        let looked = look(&mut database).await?;
        // A connection that ends badly has still said what it found.
        let _ = database.close().await;
        Ok(looked)
    };
    match looked.await.map_err(failed) {
        Ok(looked) => Ok(looked),
        Err(error) if error.fault == Fault::Damaged => Ok(Looked::Damaged(error.message)),
        Err(error) => Err(of_file(file, error)),
    }
}

async fn look(database: &mut SqliteConnection) -> Result<Looked, sqlx::Error> {
    let id: i32 = sqlx::query("PRAGMA application_id").fetch_one(&mut *database).await?.try_get(0)?;
    if id != APPLICATION_ID {
        // A process that was ended at its first breath leaves a database without anything in it.
        let tables = sqlx::query("SELECT count(*) FROM sqlite_master").fetch_one(&mut *database).await?;
        let is_empty = id == 0 && tables.try_get::<i64, _>(0)? == 0;
        return Ok(if is_empty { Looked::Ours } else { Looked::Foreign });
    }
    let found = sqlx::query("PRAGMA quick_check(1)").fetch_one(database).await?;
    let found: String = found.try_get(0)?;
    Ok(if found == "ok" { Looked::Ours } else { Looked::Damaged(found) })
}

pub(super) fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(file).foreign_keys(true).busy_timeout(BUSY_TIME_MAX)
}

pub(super) async fn pool(connections: u32, options: SqliteConnectOptions) -> Result<SqlitePool, sqlx::Error> {
    // What is in memory ends with its connection: none is closed.
    let pool = SqlitePoolOptions::new().max_connections(connections).min_connections(1);
    pool.idle_timeout(None).max_lifetime(None).test_before_acquire(false).connect_with(options).await
}

pub(super) async fn migrate(writer: &SqlitePool) -> Result<(), StoreError> {
    let migrations = MIGRATIONS.into_iter().map(|(version, name, sql)| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    let migrated = Migrator::with_migrations(migrations.collect()).run(writer).await;
    migrated.map_err(|error| {
        let message = match error {
            MigrateError::VersionMissing(version) => format!(
                "was written by a newer version of maitred (migration {version}; this one knows {}); run that version",
                MIGRATIONS.len()
            ),
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => return failed(error),
            error => format!("cannot be brought up to date: {error}"),
        };
        StoreError { fault: Fault::Damaged, message }
    })
}

fn refused(file: &Path, what: &str) -> StoreError {
    StoreError { fault: Fault::Damaged, message: format!("{} {what}", escaped_path(file)) }
}

/// An error with the file that it is about.
pub(super) fn of_file(file: &Path, StoreError { fault, message }: StoreError) -> StoreError {
    StoreError { fault, message: format!("{}: {message}", escaped_path(file)) }
}

pub(super) fn unavailable(path: &Path, error: impl std::fmt::Display) -> StoreError {
    StoreError { fault: Fault::Unavailable, message: format!("{}: {error}", escaped_path(path)) }
}
