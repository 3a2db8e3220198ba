//! Why a search is refused or fails.

use tributary_schemas::{Error, ErrorKind};

/// Why a search is refused or fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// A search without a question.
    #[error("query is empty")]
    EmptyQuery,
    /// A question over the size limit; both in bytes.
    #[error("query is {bytes} bytes long, at most {maximum} are accepted")]
    QueryTooLong {
        /// What was asked.
        bytes: usize,
        /// What is accepted.
        maximum: usize,
    },
    /// A log over the size limit; both in bytes.
    #[error("the log is {bytes} bytes long, at most {maximum} are taken")]
    LogTooLong {
        /// What was asked.
        bytes: usize,
        /// What is accepted.
        maximum: usize,
    },
    /// A value breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// A knowledge set that does not exist; the error names it and the nearest known one.
    #[error("{0}")]
    UnknownKnowledgeSet(Error),
    /// A part that the search needs failed.
    #[error("{0}")]
    Failed(#[from] Error),
}

impl SearchError {
    /// What the caller can do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::EmptyQuery => Some("put the question into `query`"),
            Self::QueryTooLong { .. } => {
                Some("search for the part of the text that names the problem")
            }
            Self::LogTooLong { .. } => Some(
                "send the part with the error; query_api.answer.error_map.log_limit_bytes sets how much is taken",
            ),
            Self::Invalid(_) => None,
            Self::UnknownKnowledgeSet(error) | Self::Failed(error) => error.hint(),
        }
    }

    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::EmptyQuery
            | Self::QueryTooLong { .. }
            | Self::LogTooLong { .. }
            | Self::Invalid(_) => ErrorKind::Invalid,
            Self::UnknownKnowledgeSet(_) => ErrorKind::NotFound,
            Self::Failed(error) => error.kind(),
        }
    }
}
