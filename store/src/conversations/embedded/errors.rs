//! What SQLite reports, in our kinds.

use std::path::Path;

use rusqlite::ErrorCode;
use tributary_schemas::{Error, ErrorKind};

/// Result of statements: SQLite's failure or one of ours.
pub(super) type Result<T> = std::result::Result<T, Failure>;

/// Why statements did not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    /// SQLite says so.
    Database(rusqlite::Error),
    /// We do.
    Ours(Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

impl Failure {
    /// Names the file.
    pub fn in_file(self, path: &Path) -> Error {
        match self {
            Self::Ours(error) => error,
            Self::Database(error) => of_database(&error, path),
        }
    }
}

/// Whether the file is damaged, or is no database.
pub(super) fn is_damage(error: &Error) -> bool {
    error.kind() == ErrorKind::Corrupt
}

/// A failure of SQLite.
pub(super) fn of_database(error: &rusqlite::Error, path: &Path) -> Error {
    let message = format!("conversations in {}: {error}", path.display());
    if is_unreadable_value(error) {
        return damaged(message);
    }
    let of = |kind| Error::new(kind, message.clone()).of_environment();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(message),
        Some(ErrorCode::DiskFull) => {
            of(ErrorKind::Exhausted).with_hint("free some disk space and ask again")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            of(ErrorKind::Denied)
                .with_hint("make the data folder and all in it writable for this user")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => of(ErrorKind::Unavailable)
            .with_hint("another program has the file open: end it, and ask again"),
        Some(ErrorCode::TooBig) => Error::new(ErrorKind::Invalid, message),
        _ => of(ErrorKind::Internal),
    }
}

fn is_unreadable_value(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
    )
}

fn damaged(message: String) -> Error {
    Error::new(ErrorKind::Corrupt, message)
        .of_environment()
        .with_hint(
            "stop the server and restore a backup, or move the file away and start without its \
             conversations; `sqlite3 FILE .recover` reads what is left in it",
        )
}
