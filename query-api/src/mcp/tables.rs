//! The tool `get_table`: rows of the tables that a document's SQLite database has, as
//! `/v1/tables/{id}` answers it whole.

use std::collections::BTreeMap;
use std::fmt::Write;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, MAIN_DB, params_from_iter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tributary_retrieval::DocumentParts;
use tributary_schemas::ErrorKind;
use tributary_schemas::document::TABLES_DATABASE;

use super::engine::Engine;
use super::{Reply, documents};
use crate::problem::{Code, Problem};

/// Rows of an answer, unless others are asked for.
const ROWS: usize = 50;
/// No table has more rows.
const LAST_ROW: usize = u32::MAX as usize;
/// Most rows of an answer.
const MAXIMUM_ROWS: usize = 1000;

/// Arguments of `get_table`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableArguments {
    /// The document: its `document_id`, or `source/path`.
    document: String,
    /// Name of the table within its document: `name_in_document` where `query_table` names it; without
    /// one the document's tables are listed, and where there is one only, its rows come too.
    #[serde(default)]
    table: Option<String>,
    /// Columns wanted, by name; all when absent.
    #[serde(default)]
    columns: Vec<String>,
    /// Only rows whose columns have exactly these values, text or numbers.
    #[serde(default)]
    equal: BTreeMap<String, Wanted>,
    /// Rows left out at the beginning.
    #[serde(default)]
    offset: usize,
    /// Rows wanted, at most 1000; 50 when absent.
    #[serde(default)]
    limit: Option<usize>,
}

/// A value that is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Wanted {
    Text(String),
    Whole(i64),
    Number(f64),
    Truth(bool),
}

impl ToSql for Wanted {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Text(text) => text.to_sql(),
            Self::Whole(number) => number.to_sql(),
            Self::Number(number) => number.to_sql(),
            Self::Truth(truth) => truth.to_sql(),
        }
    }
}

/// Answer of `get_table`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TableRows {
    /// The document's tables.
    pub tables: Vec<Table>,
    /// The table whose rows follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Rows by column; `null` where a cell is empty.
    pub rows: Vec<BTreeMap<String, Value>>,
    /// `offset` of the rows that follow; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
}

/// A table of a document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Table {
    /// What `table` takes.
    pub name: String,
    /// The title that stands above it; empty for none.
    pub title: String,
    /// The sheet that it is on; empty where there are none.
    pub sheet: String,
    /// Rows that it has.
    pub rows: i64,
    /// Its columns in their order.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Column {
    /// What `columns` and `equal` take.
    pub name: String,
    /// The heading as it stands in the document.
    pub heading: String,
    /// `TEXT`, `INTEGER`, `REAL` or the like; dates are ISO text.
    pub r#type: String,
}

/// Calls `get_table`.
pub async fn rows(engine: &Engine, arguments: TableArguments) -> Result<Reply, Problem> {
    let database = database(engine, &arguments.document).await?;
    let _turn = engine.state.searches.turn().await?;
    let reading = tokio::task::spawn_blocking(move || read(database, &arguments));
    let stopped = |error| Problem::new(Code::Internal, format!("reading tables stopped: {error}"));
    let found = reading.await.map_err(stopped)??;
    let text = describe(&found);
    Reply::new(&found, text)
}

/// The database of a document that the caller may see.
async fn database(engine: &Engine, name: &str) -> Result<Vec<u8>, Problem> {
    let state = &engine.state;
    let resolved = state
        .documents
        .resolve(name, engine.principal.viewer.as_ref())
        .await;
    let document_id = resolved.map_err(|error| match error.kind() {
        ErrorKind::NotFound => documents::not_found(name, error.hint()),
        _ => error.into(),
    })?;
    let wanted = DocumentParts::default();
    let found = state
        .retriever
        .document(&document_id, wanted, &engine.principal);
    let view = found.await?;
    let mut view = view.ok_or_else(|| documents::not_found(name, None))?;
    let Some(stored) = view.metadata.remove(TABLES_DATABASE) else {
        let what = "the document has no tables of their own";
        return Err(Problem::new(Code::NotFound, what).with_hint(
            "tables of spreadsheets and delimited text have; others are part of the text",
        ));
    };
    Ok(state.blobs.get(&stored).await?.to_vec())
}

fn failed(error: &rusqlite::Error) -> Problem {
    Problem::new(Code::Corrupt, format!("the tables cannot be read: {error}"))
}

fn read(database: Vec<u8>, wanted: &TableArguments) -> Result<TableRows, Problem> {
    let mut connection = Connection::open_in_memory().map_err(|error| failed(&error))?;
    connection
        .deserialize_read_exact(MAIN_DB, database.as_slice(), database.len(), true)
        .map_err(|error| failed(&error))?;
    let tables = catalogue(&connection).map_err(|error| failed(&error))?;
    let chosen = match &wanted.table {
        Some(name) => Some(named(&tables, name)?),
        None => tables.first().filter(|_| tables.len() == 1),
    };
    let Some(table) = chosen else {
        return Ok(TableRows {
            tables,
            table: None,
            rows: Vec::new(),
            next: None,
        });
    };
    let limit = wanted.limit.unwrap_or(ROWS).clamp(1, MAXIMUM_ROWS);
    let columns = columns(table, wanted)?;
    let rows = select(&connection, table, &columns, wanted, limit);
    let mut rows = rows.map_err(|error| failed(&error))?;
    let goes_on = rows.len() > limit;
    rows.truncate(limit);
    Ok(TableRows {
        table: Some(table.name.clone()),
        next: goes_on.then(|| wanted.offset.saturating_add(limit)),
        rows,
        tables,
    })
}

/// The tables as `convert/src/sheets/tables/database.rs` enters them.
fn catalogue(connection: &Connection) -> rusqlite::Result<Vec<Table>> {
    const TABLES: &str = "SELECT table_name, coalesce(real_title, ''), coalesce(sheet, ''), rows FROM _tables ORDER BY table_name";
    const COLUMNS: &str =
        "SELECT column_name, real_name, type FROM _columns WHERE table_name = ? ORDER BY position";
    let mut statement = connection.prepare(TABLES)?;
    let mut of_table = connection.prepare(COLUMNS)?;
    let tables = statement.query_map([], |row| {
        Ok(Table {
            name: row.get(0)?,
            title: row.get(1)?,
            sheet: row.get(2)?,
            rows: row.get(3)?,
            columns: Vec::new(),
        })
    })?;
    let with_columns = |table: rusqlite::Result<Table>| {
        let table = table?;
        let columns = of_table.query_map([&table.name], |row| {
            Ok(Column {
                name: row.get(0)?,
                heading: row.get(1)?,
                r#type: row.get(2)?,
            })
        })?;
        let columns = columns.collect::<rusqlite::Result<_>>()?;
        Ok(Table { columns, ..table })
    };
    tables.map(with_columns).collect()
}

fn named<'a>(tables: &'a [Table], name: &str) -> Result<&'a Table, Problem> {
    let found = tables.iter().find(|table| table.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        let what = format!("the document has no table `{name:.200}`");
        Problem::new(Code::NotFound, what)
            .with_hint(format!("its tables are: {}", names.join(", ")))
    })
}

/// The columns that are wanted, each one that the table has.
fn columns(table: &Table, wanted: &TableArguments) -> Result<Vec<String>, Problem> {
    let all: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let asked = wanted.columns.iter().chain(wanted.equal.keys());
    for name in asked {
        if !all.contains(&name.as_str()) {
            let what = format!("the table `{}` has no column `{name:.200}`", table.name);
            return Err(Problem::new(Code::Invalid, what)
                .with_hint(format!("its columns are: {}", all.join(", "))));
        }
    }
    Ok(match wanted.columns.is_empty() {
        true => all.into_iter().map(str::to_owned).collect(),
        false => wanted.columns.clone(),
    })
}

/// One row more than the limit, where there is one.
fn select(
    connection: &Connection,
    table: &Table,
    columns: &[String],
    wanted: &TableArguments,
    limit: usize,
) -> rusqlite::Result<Vec<BTreeMap<String, Value>>> {
    let shown: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
    let mut sql = format!("SELECT {} FROM {}", shown.join(", "), quoted(&table.name));
    for (place, name) in wanted.equal.keys().enumerate() {
        let joint = if place == 0 { "WHERE" } else { "AND" };
        write!(
            sql,
            " {joint} CAST({} AS TEXT) = CAST(? AS TEXT)",
            quoted(name)
        )
        .ok();
    }
    let end = limit.saturating_add(1);
    write!(sql, " LIMIT {end} OFFSET {}", wanted.offset.min(LAST_ROW)).ok();
    let mut statement = connection.prepare(&sql)?;
    let values = params_from_iter(wanted.equal.values());
    let rows = statement.query_map(values, |row| {
        let cell = |(place, name): (usize, &String)| Ok((name.clone(), json(row.get_ref(place)?)));
        columns.iter().enumerate().map(cell).collect()
    })?;
    rows.collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into(),
    }
}

fn describe(found: &TableRows) -> String {
    let mut text = String::new();
    if found.table.is_none() {
        writeln!(text, "Tables:").ok();
        for table in &found.tables {
            let columns = table.columns.iter().map(|column| column.name.as_str());
            let columns = columns.collect::<Vec<_>>().join(", ");
            let about = format!("{} {}", table.title, table.sheet);
            let about = about.trim();
            writeln!(
                text,
                "- `{}` {about}: {} rows of {columns}",
                table.name, table.rows
            )
            .ok();
        }
    }
    for row in &found.rows {
        writeln!(text, "{}", Value::from_iter(row.clone())).ok();
    }
    if let Some(next) = found.next {
        writeln!(text, "[more from offset {next}]").ok();
    }
    text
}
