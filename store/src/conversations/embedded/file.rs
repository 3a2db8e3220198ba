//! The file of the conversations.
//!
//! ```text
//! <data folder>/conversations/conversations.sqlite      SQLite 3, user_version 4; beside it -wal while it is open
//!   conversations   id, owner, title, title_folded, created_at_ms, updated_at_ms, turns,
//!                   summary (JSON as of `schemas`, since 2)
//!   turns           id, conversation_id, number, question, state, asked_at_ms, ended_at_ms,
//!                   answer, failure, feedback (JSON as of `schemas`), idempotency_key, fingerprint (since 3)
//!   user_profiles   owner, user, profile (JSON as of `schemas`), updated_at_ms (since 2)
//!   reports         number, owner, id, fingerprint, request (JSON as of `schemas`), conversation_id,
//!                   updated_at_ms (since 4)
//!   report_parts    report, part (0 is the plan, others are sections by number), content (JSON as of
//!                   `schemas`, since 4)
//! ```
//! A file of an earlier version is brought to this one when it is opened.
//!
//! A write-ahead log that is synced with every transaction; deleted texts are overwritten
//! (`secure_delete`), in the log by emptying it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tributary_schemas::{Error, ErrorKind, Result};

use super::errors::{self, Failure, of_database};
use super::{Transaction, TransactionBehavior};
use crate::data_folder::{create_private_folder, require_folder, sync_folder};

/// Name of the file.
pub const NAME: &str = "conversations.sqlite";
/// Nobody else has the file open, but somebody may look into it while no process runs.
const PATIENCE: Duration = Duration::from_secs(5);

/// Locked by the one connection that there is, so that no memory is shared through a file.
const SETTINGS: &str = "
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA secure_delete = ON;
    PRAGMA trusted_schema = OFF;
";

const SCHEMA: &str = "
    CREATE TABLE conversations (
        id TEXT PRIMARY KEY NOT NULL,
        owner TEXT,
        title TEXT NOT NULL,
        title_folded TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL,
        turns INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX conversations_by_change ON conversations (owner, updated_at_ms, id);
    CREATE TABLE turns (
        id TEXT PRIMARY KEY NOT NULL,
        conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        question TEXT NOT NULL,
        state TEXT NOT NULL,
        asked_at_ms INTEGER NOT NULL,
        ended_at_ms INTEGER,
        answer TEXT,
        failure TEXT,
        feedback TEXT,
        idempotency_key TEXT,
        UNIQUE (conversation_id, number)
    ) STRICT;
    CREATE UNIQUE INDEX turns_pending ON turns (conversation_id) WHERE state = 'pending';
    CREATE UNIQUE INDEX turns_by_key ON turns (conversation_id, idempotency_key)
        WHERE idempotency_key IS NOT NULL;
    CREATE INDEX turns_with_feedback ON turns (id) WHERE feedback IS NOT NULL;
    PRAGMA user_version = 1;
";

/// From version 1 to 2.
const SECOND: &str = "
    ALTER TABLE conversations ADD COLUMN summary TEXT;
    CREATE TABLE user_profiles (
        owner TEXT,
        user TEXT NOT NULL,
        profile TEXT NOT NULL,
        updated_at_ms INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX user_profiles_by_name ON user_profiles (ifnull(owner, ''), owner IS NULL, user);
    PRAGMA user_version = 2;
";

/// From version 2 to 3.
const THIRD: &str = "
    ALTER TABLE turns ADD COLUMN fingerprint TEXT;
    PRAGMA user_version = 3;
";

/// From version 3 to 4.
const FOURTH: &str = "
    CREATE TABLE reports (
        number INTEGER PRIMARY KEY,
        owner TEXT,
        id TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        request TEXT NOT NULL,
        conversation_id TEXT REFERENCES conversations (id) ON DELETE CASCADE,
        updated_at_ms INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX reports_by_id ON reports (ifnull(owner, ''), owner IS NULL, id);
    CREATE INDEX reports_of_conversation ON reports (conversation_id)
        WHERE conversation_id IS NOT NULL;
    CREATE TABLE report_parts (
        report INTEGER NOT NULL REFERENCES reports (number) ON DELETE CASCADE,
        part INTEGER NOT NULL,
        content TEXT NOT NULL,
        PRIMARY KEY (report, part)
    ) STRICT;
    PRAGMA user_version = 4;
";

/// What brings a file of each version to the next one, from version 0, which is an empty file.
const STEPS: [&str; 4] = [SCHEMA, SECOND, THIRD, FOURTH];

/// Opens the file, or makes it; a damaged one goes to `aside` first.
pub fn open(folder: &Path, aside: &Path, now_ms: u64) -> Result<Connection> {
    require_folder(folder)?;
    if !folder.exists() {
        create_private_folder(folder).map_err(|error| {
            Error::io(format_args!("cannot create {}", folder.display()), &error)
        })?;
    }
    let path = folder.join(NAME);
    match open_file(&path) {
        Err(error) if errors::is_damage(&error) => {
            let place = put_aside(folder, aside, now_ms)?;
            tracing::error!(
                error = %error,
                aside = %place.display(),
                "the file of the conversations is damaged and was put aside; none of them is here \
                 any more: restore a backup, or read what is left by `sqlite3 FILE .recover`"
            );
            open_file(&path)
        }
        opened => opened,
    }
}

fn open_file(path: &Path) -> Result<Connection> {
    let failed = |error: rusqlite::Error| of_database(&error, path);
    let mut connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    connection.execute_batch(SETTINGS).map_err(failed)?;
    transaction(&mut connection, path, |transaction| {
        prepare(transaction, path)
    })?;
    Ok(connection)
}

/// Makes the tables of a new file, and looks into those of one that is there.
fn prepare(transaction: &Transaction<'_>, path: &Path) -> errors::Result<()> {
    let format: i64 = transaction.query_row("PRAGMA user_version", (), |row| row.get(0))?;
    match usize::try_from(format) {
        Ok(older) if older < STEPS.len() => {
            for step in STEPS.iter().skip(older) {
                transaction.execute_batch(step)?;
            }
        }
        Ok(same) if same == STEPS.len() => {
            for table in ["conversations", "turns", "user_profiles", "reports"] {
                let count = format!("SELECT count(*) FROM {table}");
                transaction.query_row(&count, (), |row| row.get::<_, i64>(0))?;
            }
        }
        _ => {
            let message = format!(
                "{} has format {format}, this build reads format {}",
                path.display(),
                STEPS.len()
            );
            return Err(Error::new(ErrorKind::Unsupported, message)
                .with_hint("use the build that wrote it, or a newer one")
                .into());
        }
    }
    Ok(())
}

/// Moves the file and what belongs to it, and gives where to.
fn put_aside(folder: &Path, aside: &Path, now_ms: u64) -> Result<PathBuf> {
    let place = aside.join(format!("conversations-{now_ms}"));
    fs::create_dir_all(&place)
        .map_err(|error| Error::io(format_args!("cannot create {}", place.display()), &error))?;
    for ending in ["", "-wal", "-shm"] {
        let from = folder.join(format!("{NAME}{ending}"));
        match fs::rename(&from, place.join(format!("{NAME}{ending}"))) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(
                    format_args!("cannot put {} aside", from.display()),
                    &error,
                ));
            }
            _ => {}
        }
    }
    sync_folder(folder)?;
    sync_folder(&place)?;
    Ok(place.join(NAME))
}

/// One transaction; nothing of it is kept if it fails.
pub fn transaction<T>(
    connection: &mut Connection,
    path: &Path,
    work: impl FnOnce(&Transaction<'_>) -> errors::Result<T>,
) -> Result<T> {
    let run = || -> errors::Result<T> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    };
    run().map_err(|failure: Failure| failure.in_file(path))
}

/// Moves all of the write-ahead log into the file and empties it.
pub fn empty_journal(connection: &Connection, path: &Path) -> Result<()> {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))
        .map_err(|error| of_database(&error, path))
}

/// Moves all of the write-ahead log into the file, and begins it anew in the room that it has.
pub fn reuse_journal(connection: &Connection, path: &Path) -> Result<()> {
    connection
        .query_row("PRAGMA wal_checkpoint(RESTART)", (), |_| Ok(()))
        .map_err(|error| of_database(&error, path))
}

/// Writes a copy of the whole file as of one moment.
pub fn copy(connection: &Connection, path: &Path, to: &Path) -> Result<()> {
    let to = to.to_str().ok_or_else(|| {
        let message = format!("{} is no name that SQLite can write", to.display());
        Error::new(ErrorKind::Invalid, message)
    })?;
    connection
        .execute("VACUUM INTO ?1", [to])
        .map_err(|error| of_database(&error, path))
        .map(drop)
}
