//! The tool `query_table`: a question to tables of documents, as `POST /v1/tables/query` answers it.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tributary_schemas::table_query::{TableAnswer, TableQueryRequest};
use tributary_schemas::{Filter, strict};

use super::engine::Engine;
use super::{Reply, tools};
use crate::http::table_query;
use crate::problem::Problem;

/// Arguments of `query_table`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryArguments {
    /// The question, in the user's words and language; may be left out where `sql` is given.
    #[serde(default)]
    question: String,
    /// An SQLite SELECT of your own over the names that `tables` of an answer has, instead of one that
    /// the server's model writes.
    #[serde(default)]
    sql: Option<String>,
    /// The only knowledge sets whose tables are asked, by id as `list_knowledge_sets` names them; all
    /// when absent.
    #[serde(default, deserialize_with = "strict::given")]
    knowledge_sets: Option<Vec<String>>,
    /// Conditions on the documents whose tables are asked, joined by AND; values of one condition by
    /// OR.
    #[serde(default, deserialize_with = "strict::object")]
    filter: Filter,
    /// Rows wanted at most; the server's limit when absent.
    #[serde(default)]
    maximum_rows: Option<usize>,
}

/// Calls `query_table`.
pub async fn query(engine: &Engine, arguments: QueryArguments) -> Result<Reply, Problem> {
    let request = TableQueryRequest {
        question: arguments.question,
        sql: arguments.sql,
        knowledge_sets: None,
        filter: tools::with_sets(arguments.filter, arguments.knowledge_sets)?,
        maximum_rows: arguments.maximum_rows,
    };
    let asking = table_query::ask(&engine.state, request, &engine.principal);
    let answer = engine.patiently(asking).await?;
    let text = describe(&answer);
    let reply = Reply::new(&answer, text)?;
    Ok(reply.failed_if(answer.err_code != 0))
}

fn describe(answer: &TableAnswer) -> String {
    let mut text = String::new();
    if answer.err_code != 0 {
        writeln!(text, "No rows ({}): {}", answer.err_code, answer.err_msg).ok();
    }
    if !answer.sql.is_empty() {
        writeln!(text, "{}", answer.sql).ok();
    }
    for row in &answer.rows {
        let names = answer.columns.iter().map(|column| column.name.clone());
        let row = Value::Object(names.zip(row.iter().cloned()).collect());
        writeln!(text, "{row}").ok();
    }
    if answer.truncated {
        writeln!(text, "[there are more rows]").ok();
    }
    for table in &answer.tables {
        let columns = table.columns.iter().map(|column| column.name.as_str());
        let columns = columns.collect::<Vec<_>>().join(", ");
        let is_used = if table.used { "read" } else { "there" };
        let path = format!("{}/{}", table.source, table.source_path);
        writeln!(text, "- `{}` ({path}, {is_used}): {columns}", table.name).ok();
    }
    text
}
