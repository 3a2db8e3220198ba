//! The error kinds and faults that decide what happens to a record, in every stage and in every
//! HTTP answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What went wrong; with the [`Fault`] it says whether trying again can help. Every crate's error
/// has a `kind()` of this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The input breaks a rule it should keep; the sender can fix it.
    Invalid,
    /// The input is well formed, but of a kind that nothing here handles.
    Unsupported,
    /// Bytes that should decode do not.
    Corrupt,
    /// Something named does not exist.
    NotFound,
    /// Something newer is already there.
    Conflict,
    /// The caller may not do this.
    Denied,
    /// A limit was reached (disk, quota, rate); room may appear.
    Exhausted,
    /// A dependency is away; it may come back.
    Unavailable,
    /// An operation took too long.
    Timeout,
    /// A bug of ours, or something nobody foresaw.
    Internal,
}

/// Whose fault a failure is. The call knows: a refused permission is the record's fault where it
/// asks for what it may not have, and the environment's where a store of ours refuses us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The record, or our treatment of it: others may do better.
    Record,
    /// A store, a folder, a model, the machine: no record is to blame, and all would fail alike.
    Environment,
    /// This record alone, whatever the kind: it is given up at once, and its failure says nothing
    /// about others. Said of what somebody's own service makes of a document.
    RecordAlone,
}

/// What the worker loop does with a record that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// To the dead letters at once: trying again cannot help.
    DeadLetter,
    /// Dropped and counted: something newer has taken its place.
    Drop,
    /// Hold the partition and try again with backoff, for as long as it takes.
    Hold,
    /// Hold with backoff for a bounded number of attempts, then to the dead letters.
    HoldThenDeadLetter,
    /// A bounded number of quick attempts, then to the dead letters.
    RetryThenDeadLetter,
}

impl ErrorKind {
    /// All kinds, in the order in which they are documented.
    pub const ALL: [Self; 10] = [
        Self::Invalid,
        Self::Unsupported,
        Self::Corrupt,
        Self::NotFound,
        Self::Conflict,
        Self::Denied,
        Self::Exhausted,
        Self::Unavailable,
        Self::Timeout,
        Self::Internal,
    ];

    /// The name used in headers, JSON and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::Corrupt => "corrupt",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Denied => "denied",
            Self::Exhausted => "exhausted",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Internal => "internal",
        }
    }

    /// Whose fault it is unless the call says otherwise.
    pub fn fault(self) -> Fault {
        match self {
            Self::Exhausted | Self::Unavailable => Fault::Environment,
            _ => Fault::Record,
        }
    }

    /// What the worker loop does with a record that failed this way, if nobody says that the
    /// environment is at fault ([`crate::Error::disposition`]).
    pub fn disposition(self) -> Disposition {
        match self {
            Self::Invalid | Self::Unsupported | Self::Corrupt | Self::NotFound | Self::Denied => {
                Disposition::DeadLetter
            }
            Self::Conflict => Disposition::Drop,
            Self::Exhausted | Self::Unavailable => Disposition::Hold,
            Self::Timeout => Disposition::HoldThenDeadLetter,
            Self::Internal => Disposition::RetryThenDeadLetter,
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl std::str::FromStr for ErrorKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == name)
            .ok_or_else(|| format!("unknown error kind `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        for kind in ErrorKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).ok(), Some(kind.as_str().into()));
        }
        assert!("nonsense".parse::<ErrorKind>().is_err());
    }
}
