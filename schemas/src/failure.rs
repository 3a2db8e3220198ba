//! The one error of every crate below the command line: a kind that decides what happens next, a message, and a hint where the user
//! can help.

use crate::ErrorKind;

/// Result of a call that may fail this way.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl Error {
    /// A failure of the given kind; the message says what and where, lowercase, no full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An input/output failure while doing `what`. A full or read-only disk is `Exhausted` or `Denied`, not `Internal`.
    pub fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let failed = Self::new(ErrorKind::Internal, format!("{what}: {error}"));
        match error.kind() {
            Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => {
                Self { kind: ErrorKind::Exhausted, ..failed }.with_hint("free some disk space; work goes on by itself once there is room")
            }
            Io::PermissionDenied | Io::ReadOnlyFilesystem => {
                Self { kind: ErrorKind::Denied, ..failed }.with_hint("make the data folder writable for this user")
            }
            Io::NotFound => Self { kind: ErrorKind::NotFound, ..failed },
            Io::InvalidData | Io::UnexpectedEof => Self { kind: ErrorKind::Corrupt, ..failed },
            Io::TimedOut => Self { kind: ErrorKind::Timeout, ..failed },
            _ => failed,
        }
    }

    /// Whose fault it is and whether trying again can help.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Message and hint in one line, for logs and dead letters.
    pub fn full_message(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} (hint: {hint})", self.message),
            None => self.message.clone(),
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
