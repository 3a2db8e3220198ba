//! Bodies of `POST /v1/tables/query` and `GET /v1/tables`: questions to tables of documents, answered
//! by an SQL statement. The same answer is part of an answer of the workflow `table`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Filter, strict};

/// The statement ran.
pub const ANSWERED: u16 = 0;
/// The statement or the model took too long, or used more than it may.
pub const TIMED_OUT: u16 = 3002;
/// There is no table that the question could be asked of.
pub const NO_TABLES: u16 = 3003;
/// The question is unclear to the model, or no statement came of it that may be run.
pub const UNCLEAR: u16 = 3005;

/// Body of `POST /v1/tables/query`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableQueryRequest {
    /// The question, as written. May be empty where `sql` is given: then all tables that fit are
    /// there, up to the server's limit.
    #[serde(default)]
    pub question: String,
    /// A statement to run instead of one that a model writes, over the names that `tables` of an
    /// answer has. The same limits hold for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// The only knowledge sets whose tables are asked: short for `filter.knowledge_sets`, not
    /// together with it.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub knowledge_sets: Option<Vec<String>>,
    /// Which documents' tables are asked.
    #[serde(default, deserialize_with = "strict::object")]
    pub filter: Filter,
    /// Rows of the answer at most; the server's default when absent, which is also the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum_rows: Option<usize>,
}

/// What a column of a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// Whole numbers; truth values are 0 and 1.
    Integer,
    /// Numbers with decimals.
    Number,
    /// Days or moments as ISO text.
    Date,
    /// Anything else.
    Text,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableColumn {
    /// Its name in statements: the heading as it stands in the document, with a number behind it
    /// where two are alike.
    pub name: String,
    /// What it holds.
    pub kind: ValueKind,
    /// Some of its values, as text.
    pub samples: Vec<String>,
    /// The column of text that this one was made from, whose values are numbers with a unit, a sign
    /// of thousands or the like; `None` for a column of the document itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_from: Option<String>,
}

/// A table of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentTable {
    /// Its name in statements, unique among the tables of one answer.
    pub name: String,
    /// Its name within its document, which the tool `get_table` takes.
    #[serde(default)]
    pub name_in_document: String,
    /// The document.
    pub document_id: String,
    /// Version of the document.
    pub version: u64,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// Title of the document.
    pub document_title: String,
    /// The title above the table; empty for none.
    pub title: String,
    /// The sheet that it is on; empty where there are none.
    pub sheet: String,
    /// Its cells, such as `A1:D9`.
    pub range: String,
    /// Rows of data.
    pub rows: u64,
    /// Its columns in their order.
    pub columns: Vec<TableColumn>,
    /// Whether the statement reads it.
    #[serde(default)]
    pub used: bool,
}

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResultColumn {
    /// Its name, as the statement gives it.
    pub name: String,
    /// What its values are.
    pub kind: ValueKind,
}

/// The row of a table that a row of the answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowOrigin {
    /// Position of the table in `tables`, from 0.
    pub table: usize,
    /// Row of data, from 1.
    pub row: u64,
    /// Row of the sheet or line of records of the file, from 1, where it can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet_row: Option<u64>,
}

/// How an answer is best drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// Not at all.
    #[default]
    None,
    /// A bar for each row.
    Bar,
    /// A line over time.
    Line,
}

/// A hint how an answer is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChartHint {
    /// The kind of chart.
    pub kind: ChartKind,
    /// Position of the column that labels the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<usize>,
    /// Positions of the columns that are drawn.
    #[serde(default)]
    pub values: Vec<usize>,
}

/// Answer of `POST /v1/tables/query`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableAnswer {
    /// The question, as received.
    pub question: String,
    /// 0: the statement ran. 3002: it or the model took too long or too much. 3003: there is no table to
    /// ask. 3005: the question is unclear, or no statement came of it that may be run.
    pub err_code: u16,
    /// What is wrong; empty for 0.
    pub err_msg: String,
    /// The statement as the model or the caller wrote it, the last one that was tried.
    pub sql: String,
    /// The statement that ran: the same with the names of the tables as they are stored.
    pub executed_sql: String,
    /// Columns of the answer.
    pub columns: Vec<ResultColumn>,
    /// Its rows, each with a value for each column: numbers, text or null.
    pub rows: Vec<Vec<Value>>,
    /// For each row where it comes from; empty where rows are computed from many, or only text of
    /// the statement.
    pub origins: Vec<Vec<RowOrigin>>,
    /// Whether there are more rows than the limits allow.
    pub truncated: bool,
    /// How it is best drawn.
    pub chart: ChartHint,
    /// The tables that the statement could read, best first.
    pub tables: Vec<DocumentTable>,
    /// Whether a first statement failed and the model mended it.
    pub repaired: bool,
    /// What was done in a lesser way: `sql` (no model wrote a statement), `tables_left_out` (some
    /// documents' tables are too large, damaged or too many to be asked), `embedder`, `reranker`.
    pub degraded: Vec<String>,
    /// The model that wrote the statement, as its server names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Milliseconds from receipt to the end.
    pub took_ms: f64,
}

/// Answer of `GET /v1/tables`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableList {
    /// Tables of documents that the caller may see, by document id.
    pub tables: Vec<DocumentTable>,
    /// Documents whose tables are too large or damaged, by id.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// `after` of the page that follows; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
