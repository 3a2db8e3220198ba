//! Why a call of a chat model failed: a reason that callers decide by, and the error that everybody
//! else understands.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use tributary_schemas::{Error, ErrorKind};

/// Result of a call of a chat model.
pub type ChatResult<T> = Result<T, ChatError>;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No connection.
    Unreachable,
    /// The server wants fewer calls.
    RateLimited,
    /// The server has too much to do, or failed for a moment.
    Overloaded,
    /// Nothing is left of what was paid for.
    QuotaUsedUp,
    /// No key, or a wrong one.
    Denied,
    /// The server does not have the model.
    UnknownModel,
    /// Something else than a chat endpoint answers there.
    NotAnEndpoint,
    /// The server does not take the request.
    Refused,
    /// Prompt and reply do not fit into the context.
    TooLong,
    /// It took too long.
    Deadline,
    /// The reply ended in the middle.
    BrokenOff,
    /// The reply has no text.
    Empty,
    /// The reply reached its largest length where only a whole one is of use.
    CutOff,
    /// The reply cannot be read.
    Malformed,
    /// What came of the reply was reasoning, and no tag had said so.
    Reasoning,
    /// The reply is larger than is read.
    TooLarge,
    /// Our own limit of tokens is reached.
    BudgetUsedUp,
    /// The endpoint failed too often and is left alone for a while.
    CircuitOpen,
}

impl Reason {
    /// The name in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::QuotaUsedUp => "quota_used_up",
            Self::Denied => "denied",
            Self::UnknownModel => "unknown_model",
            Self::NotAnEndpoint => "not_an_endpoint",
            Self::Refused => "refused",
            Self::TooLong => "too_long",
            Self::Deadline => "deadline",
            Self::BrokenOff => "broken_off",
            Self::Empty => "empty",
            Self::CutOff => "cut_off",
            Self::Malformed => "malformed",
            Self::Reasoning => "reasoning",
            Self::TooLarge => "too_large",
            Self::BudgetUsedUp => "budget_used_up",
            Self::CircuitOpen => "circuit_open",
        }
    }

    /// Whether the same call may succeed in a moment.
    pub fn may_pass(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::RateLimited
                | Self::Overloaded
                | Self::BrokenOff
                | Self::Empty
        )
    }

    /// Whether it says that the endpoint is ill, which is what the circuit counts.
    pub fn is_illness(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::Overloaded
                | Self::Deadline
                | Self::BrokenOff
                | Self::NotAnEndpoint
        )
    }

    fn kind(self) -> ErrorKind {
        match self {
            Self::Unreachable
            | Self::RateLimited
            | Self::Overloaded
            | Self::NotAnEndpoint
            | Self::BrokenOff
            | Self::CircuitOpen => ErrorKind::Unavailable,
            Self::QuotaUsedUp | Self::BudgetUsedUp => ErrorKind::Exhausted,
            Self::Denied => ErrorKind::Denied,
            Self::UnknownModel => ErrorKind::NotFound,
            Self::Refused | Self::TooLong => ErrorKind::Invalid,
            Self::Deadline => ErrorKind::Timeout,
            Self::Empty | Self::CutOff | Self::Malformed | Self::Reasoning | Self::TooLarge => {
                ErrorKind::Corrupt
            }
        }
    }

    /// Whether no text is to blame: all calls would fail alike.
    fn is_of_environment(self) -> bool {
        matches!(self, Self::Denied | Self::UnknownModel | Self::Deadline)
    }
}

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatError {
    /// What went wrong.
    pub reason: Reason,
    /// When it may be tried again, where somebody said so.
    pub retry_after: Option<Duration>,
    error: Error,
}

impl ChatError {
    /// A failure; the message says what and where, lowercase, no full stop.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        let error = Error::new(reason.kind(), message);
        Self {
            reason,
            retry_after: None,
            error: match reason.is_of_environment() {
                true => error.of_environment(),
                false => error,
            },
        }
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.error = self.error.with_hint(hint);
        self
    }

    /// Adds when it may be tried again.
    #[must_use]
    pub fn with_retry_after(mut self, pause: Option<Duration>) -> Self {
        self.retry_after = pause;
        self
    }

    /// Without a secret that a server said back.
    #[must_use]
    pub fn without(self, secret: Option<&str>) -> Self {
        let said = self.error.to_string();
        let Some(secret) = secret.filter(|secret| said.contains(secret)) else {
            return self;
        };
        let failed = Self::new(self.reason, said.replace(secret, "…"));
        let failed = failed.with_retry_after(self.retry_after);
        match self.error.hint() {
            Some(hint) => failed.with_hint(hint),
            None => failed,
        }
    }

    /// The error as all crates know it.
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl fmt::Display for ChatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl std::error::Error for ChatError {}

impl From<ChatError> for Error {
    fn from(failed: ChatError) -> Self {
        failed.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_document_is_to_blame_for_an_endpoint() {
        for reason in [
            Reason::Unreachable,
            Reason::Denied,
            Reason::UnknownModel,
            Reason::Deadline,
            Reason::QuotaUsedUp,
            Reason::BudgetUsedUp,
            Reason::CircuitOpen,
        ] {
            let error = Error::from(ChatError::new(reason, "x"));
            assert!(error.is_held(), "{}", reason.as_str());
        }
        let error = Error::from(ChatError::new(Reason::TooLong, "x"));
        assert!(!error.is_held());
    }
}
