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

/// Characters of a message: it travels in headers, reports and answers.
const LONGEST_MESSAGE: usize = 4000;

/// Cuts a text after so many characters; a sign says that more was there.
pub fn cut(text: &mut String, characters: usize) {
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push('…');
    }
}

impl Error {
    /// A failure of the given kind; the message says what and where, lowercase, no full stop. Libraries quote what they do not understand,
    /// however long: a message is cut after 4,000 characters.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        cut(&mut message, LONGEST_MESSAGE);
        Self { kind, message, hint: None }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_between_characters() {
        let error = Error::new(ErrorKind::Corrupt, format!("expected `</a>`, but `{}`", "表".repeat(1_000_000)));
        assert_eq!(error.to_string().chars().count(), LONGEST_MESSAGE + 1);
        assert!(error.full_message().ends_with("表…"));
        let whole = "表".repeat(LONGEST_MESSAGE);
        assert_eq!(Error::new(ErrorKind::Corrupt, whole.clone()).to_string(), whole);
    }
}
