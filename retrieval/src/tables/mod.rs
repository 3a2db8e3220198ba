//! Questions to tables of documents: the tables that a caller may see, a statement brought to the
//! names under which they are stored, and its rows, within limits. A statement is written by a model
//! and is trusted as little as one from a stranger: it is parsed and must be one SELECT over named
//! tables ([`statement`]); it runs on copies that hold nothing but the documents chosen, read-only,
//! under an authorizer, with bounds for steps, time, memory, rows and bytes ([`run`]).

mod chart;
mod choosing;
mod config;
mod database;
mod documents;
#[cfg(test)]
mod hostile;
mod reader;
mod run;
mod statement;
mod typed;
mod words;

pub(crate) use chart::hint;
pub use config::TableConfig;
pub(crate) use reader::{Chosen, Ran, TableReader};

/// Why a statement gave no rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is not one that may be run; what is wrong with it, for who wrote it.
    Statement(String),
    /// It took more than it may; of what.
    Limit(String),
}

impl Refused {
    /// What is wrong.
    pub fn message(&self) -> &str {
        match self {
            Self::Statement(message) | Self::Limit(message) => message,
        }
    }
}
