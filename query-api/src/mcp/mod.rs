//! The Model Context Protocol: the engine as tools and resources of a language model's program.
//! Messages, versions and the Streamable HTTP transport are `rmcp`'s; here are the tools, the way
//! from actix to it (`endpoint.rs`), and the bridge from standard input and output (`stdio.rs`).
//!
//! A call goes the way of the HTTP interface: the same principal, filter and turns.

mod ask;
pub mod documents;
pub mod endpoint;
mod engine;
mod headings;
mod judge;
pub mod knowledge_sets;
pub mod query_table;
pub mod resources;
mod schema;
pub mod search;
mod sections;
pub mod stdio;
pub mod tables;
mod tools;

use serde::Serialize;
use serde_json::Value;

use crate::problem::{Code, Problem};

/// What a tool answers: the same as data for programs and as text for models.
pub struct Reply {
    data: Value,
    text: String,
    is_failure: bool,
}

impl Reply {
    /// Joins both; the data must be an object, as the protocol wants it.
    fn new(answer: &impl Serialize, text: String) -> Result<Self, Problem> {
        let data = serde_json::to_value(answer).map_err(|error| {
            Problem::new(
                Code::Internal,
                format!("cannot write the answer of a tool: {error}"),
            )
        })?;
        Ok(Self {
            data,
            text,
            is_failure: false,
        })
    }

    /// The same where the tool did not do what it was asked for, though it has something to say.
    fn failed_if(self, is_failure: bool) -> Self {
        Self { is_failure, ..self }
    }
}

/// Titles above a passage in one line: `Radio › Tilt`.
pub(crate) fn heading(title: &str, section_path: &[String]) -> String {
    let mut titles = vec![title];
    // The first title of a document is often its own.
    let above = section_path.iter().map(String::as_str);
    titles.extend(above.skip_while(|first| *first == title));
    titles.retain(|title| !title.is_empty());
    titles.join(" › ")
}
