//! The one error of every crate below the command line: a kind and whose fault it is, which decide
//! what happens next, a message, and a hint where the user can help.

use crate::error_kind::{Disposition, ErrorKind, Fault};

/// Result of a call that may fail this way.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    fault: Fault,
    message: String,
    hint: Option<String>,
    /// What callers of an interface are told in the place of the message, which names files of ours.
    outward: Option<&'static str>,
}

/// Characters of a message: it travels in headers, reports and answers.
const MAXIMUM_MESSAGE_CHARACTERS: usize = 4000;

/// Cuts a text after so many characters; a sign says that more was there.
pub fn cut(text: &mut String, characters: usize) {
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push('…');
    }
}

impl Error {
    /// A failure of the given kind; the message says what and where, lowercase, no full stop.
    /// Libraries quote what they do not understand, however long: a message is cut after 4,000
    /// characters. Whose fault it is follows from the kind, see [`ErrorKind::fault`].
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        cut(&mut message, MAXIMUM_MESSAGE_CHARACTERS);
        Self {
            kind,
            fault: kind.fault(),
            message,
            hint: None,
            outward: None,
        }
    }

    /// The same as a fault of the environment, whatever its kind: said where a store, a folder or a
    /// model of ours failed, which no record is to blame for. Work is held until it passes.
    #[must_use]
    pub fn of_environment(mut self) -> Self {
        self.fault = Fault::Environment;
        self
    }

    /// The same as a fault of this record alone, whatever its kind: it is given up without another
    /// attempt, and no conclusion is drawn about others. Said where attempts were made already.
    #[must_use]
    pub fn of_record_alone(mut self) -> Self {
        self.fault = Fault::RecordAlone;
        self
    }

    /// Whether nothing follows from it for other records.
    pub fn is_of_record_alone(&self) -> bool {
        self.fault == Fault::RecordAlone
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An input/output failure of a file of ours while doing `what`. A full or read-only disk is
    /// `Exhausted` or `Denied`, not `Internal`. A fault of the environment (no free descriptor,
    /// no memory, a broken disk), unless bytes were read that do not decode.
    pub fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Self {
        let kind = io_kind(error.kind());
        let failed = Self {
            outward: Some(outward(kind)),
            ..Self::new(kind, format!("{what}: {error}"))
        };
        match kind {
            _ if lacks_handles(error) => failed.of_environment().with_hint(MORE_HANDLES),
            // Too long to be read as a whole: room on the disk does not help.
            ErrorKind::Exhausted if error.kind() == std::io::ErrorKind::FileTooLarge => failed,
            ErrorKind::Exhausted => {
                failed.with_hint("free some disk space; work goes on by itself once there is room")
            }
            ErrorKind::Denied => failed
                .of_environment()
                .with_hint("make the data folder writable for this user"),
            ErrorKind::Corrupt => failed,
            _ => failed.of_environment(),
        }
    }

    /// What callers of an interface are told in the place of the message; `None` if it is for them.
    pub fn outward(&self) -> Option<&'static str> {
        self.outward
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What the worker loop does with a record that failed this way: the kind says so, unless the
    /// environment is at fault.
    pub fn disposition(&self) -> Disposition {
        match self.fault {
            Fault::Environment => Disposition::Hold,
            Fault::Record => self.kind.disposition(),
            Fault::RecordAlone => Disposition::DeadLetter,
        }
    }

    /// Whether work waits for this to pass, for as long as it takes.
    pub fn is_held(&self) -> bool {
        self.disposition() == Disposition::Hold
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

/// What helps a process, or a machine, that has no file handle left.
pub const MORE_HANDLES: &str = "let this process have more file handles (`ulimit -n`, `LimitNOFILE=` of systemd, `--ulimit nofile=` of a container)";

/// Whether no file handle is left, of the process (EMFILE) or of the machine (ENFILE).
pub fn lacks_handles(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}

fn outward(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Exhausted => "the disk of the server is full, or a file of it is too large",
        ErrorKind::Denied => "the server may not use its data folder",
        _ => "the server cannot use one of its files",
    }
}

fn io_kind(kind: std::io::ErrorKind) -> ErrorKind {
    use std::io::ErrorKind as Io;
    match kind {
        Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => ErrorKind::Exhausted,
        Io::PermissionDenied | Io::ReadOnlyFilesystem => ErrorKind::Denied,
        Io::NotFound => ErrorKind::NotFound,
        Io::InvalidData | Io::UnexpectedEof => ErrorKind::Corrupt,
        Io::TimedOut => ErrorKind::Timeout,
        _ => ErrorKind::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_between_characters() {
        let error = Error::new(
            ErrorKind::Corrupt,
            format!("expected `</a>`, but `{}`", "表".repeat(1_000_000)),
        );
        assert_eq!(
            error.to_string().chars().count(),
            MAXIMUM_MESSAGE_CHARACTERS + 1
        );
        assert!(error.full_message().ends_with("表…"));
        let whole = "表".repeat(MAXIMUM_MESSAGE_CHARACTERS);
        assert_eq!(
            Error::new(ErrorKind::Corrupt, whole.clone()).to_string(),
            whole
        );
    }

    #[test]
    fn the_call_says_whose_fault_it_is() {
        for kind in [
            ErrorKind::Denied,
            ErrorKind::NotFound,
            ErrorKind::Internal,
            ErrorKind::Timeout,
        ] {
            assert!(!Error::new(kind, "x").is_held(), "{kind} of a record");
            assert!(
                Error::new(kind, "x").of_environment().is_held(),
                "{kind} of a store"
            );
        }
    }

    #[test]
    fn a_failure_of_a_record_alone_is_its_end() {
        for kind in ErrorKind::ALL {
            let error = Error::new(kind, "x").of_record_alone();
            assert_eq!(error.disposition(), Disposition::DeadLetter, "{kind}");
        }
    }

    #[test]
    fn no_record_is_to_blame_for_a_file_of_ours() {
        // EIO, ENOMEM, ENFILE, EMFILE, EACCES, ENOENT, EROFS, ENOSPC.
        for code in [5, 12, 23, 24, 13, 2, 30, 28] {
            let error = std::io::Error::from_raw_os_error(code);
            let failed = Error::io("cannot read /a/file", &error);
            assert!(failed.is_held(), "{error}");
            assert!(failed.outward().is_some_and(|told| !told.contains('/')));
            assert_eq!(failed.hint() == Some(MORE_HANDLES), matches!(code, 23 | 24));
        }
        let cut = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        assert_eq!(
            Error::io("cannot read", &cut).disposition(),
            Disposition::DeadLetter
        );
    }
}
