//! The SQLite database beside the Markdown: one table for each table of the document, and a
//! catalogue of their real names.
//!
//! `_tables(table_name, sheet, real_title, range, header_rows, rows)`, `_columns(table_name,
//! column_name, real_name, type, position)` and `_notes(sheet, cell, text)` for cells that stand
//! alone. Dates and times are ISO text, truth values 0 and 1; errors such as `#N/A` and
//! words for missing values are NULL in columns of numbers and dates. The bytes depend on the
//! content only.

use std::sync::OnceLock;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql};
use tempfile::NamedTempFile;
use tributary_schemas::{Error, ErrorKind, Result};

use super::classify::{is_missing, understand};
use super::layout::Area;
use super::plan::{Column, Plan};
use super::survey::ColumnType;
use super::value::{Cell, Row, Value};

const CATALOGUE: &str = "
CREATE TABLE _tables(table_name TEXT PRIMARY KEY, sheet TEXT, real_title TEXT, range TEXT, header_rows INTEGER, rows INTEGER) WITHOUT ROWID;
CREATE TABLE _columns(table_name TEXT, column_name TEXT, real_name TEXT, type TEXT, position INTEGER, PRIMARY KEY(table_name, position)) WITHOUT ROWID;
CREATE TABLE _notes(sheet TEXT, cell TEXT, text TEXT);";

/// Bytes of a page: small ones keep the database of a small table small.
const SMALL_PAGE_BYTES: u64 = 1024;
const PAGE_BYTES: u64 = 4096;

/// Nobody reads the file before it is complete, and after a crash it is gone: journals and syncs
/// would protect nothing.
const FAST: &str = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; \
                    PRAGMA cache_size=-16000; BEGIN;";

/// A database being written.
pub(crate) struct Database {
    connection: Connection,
    file: Option<NamedTempFile>,
    maximum_bytes: u64,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Database")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

fn failed(error: rusqlite::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("the database of the document's tables could not be written: {error}"),
    )
}

fn io_failed(error: std::io::Error) -> Error {
    Error::io(
        "a temporary file for the database of the document's tables",
        &error,
    )
}

/// An empty database with its catalogue: a copy of one that is made once, which costs a fraction of
/// making it.
fn empty_in_memory() -> Result<Connection> {
    static EMPTY: OnceLock<Vec<u8>> = OnceLock::new();
    let mut connection = Connection::open_in_memory().map_err(failed)?;
    let empty = match EMPTY.get() {
        Some(empty) => empty,
        None => {
            let made = make_empty().map_err(failed)?;
            EMPTY.get_or_init(|| made)
        }
    };
    connection
        .deserialize_read_exact(rusqlite::MAIN_DB, empty.as_slice(), empty.len(), false)
        .map_err(failed)?;
    Ok(connection)
}

fn make_empty() -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch(&format!(
        "PRAGMA page_size={SMALL_PAGE_BYTES}; BEGIN;{CATALOGUE} COMMIT;"
    ))?;
    connection
        .serialize(rusqlite::MAIN_DB)
        .map(|database| database.to_vec())
}

impl Database {
    /// An empty database, in memory or in a temporary file, of at most `maximum_bytes`.
    pub(crate) fn create(in_memory: bool, maximum_bytes: u64) -> Result<Self> {
        let (connection, file, begin) = if in_memory {
            let begin = format!(
                "PRAGMA max_page_count={}; PRAGMA journal_mode=OFF; BEGIN;",
                maximum_bytes / SMALL_PAGE_BYTES
            );
            (empty_in_memory()?, None, begin)
        } else {
            let file = NamedTempFile::new().map_err(io_failed)?;
            let sizes = format!(
                "PRAGMA page_size={PAGE_BYTES}; PRAGMA max_page_count={};",
                maximum_bytes / PAGE_BYTES
            );
            (
                Connection::open(file.path()).map_err(failed)?,
                Some(file),
                format!("{sizes}{FAST}{CATALOGUE}"),
            )
        };
        connection.execute_batch(&begin).map_err(failed)?;
        Ok(Self {
            connection,
            file,
            maximum_bytes,
        })
    }

    /// Creates a table, enters it into the catalogue and prepares the adding of its rows.
    pub(crate) fn add_table(
        &self,
        name: &str,
        sheet: &str,
        plan: &Plan,
        columns: &[Column],
    ) -> Result<Inserter<'_>> {
        let fields: Vec<String> = columns
            .iter()
            .map(|column| format!("{} {}", quoted(&column.name), column.column_type.sql()))
            .collect();
        self.execute(
            &format!("CREATE TABLE {}({})", quoted(name), fields.join(", ")),
            &[],
        )?;
        let rows = plan.data_rows() as i64;
        let range = range_name(plan.area);
        let about: [&dyn ToSql; 6] = [
            &name,
            &sheet,
            &plan.title,
            &range,
            &(plan.header_rows as i64),
            &rows,
        ];
        self.execute("INSERT INTO _tables VALUES (?,?,?,?,?,?)", &about)?;
        let mut enter = self.prepare("INSERT INTO _columns VALUES (?,?,?,?,?)")?;
        for (column, position) in columns.iter().zip(1_i64..) {
            let about: [&dyn ToSql; 5] = [
                &name,
                &column.name,
                &column.real_name,
                &column.column_type.sql(),
                &position,
            ];
            enter.execute(about).map_err(|error| self.explain(error))?;
        }
        let places = vec!["?"; columns.len()].join(",");
        let statement = self.prepare(&format!("INSERT INTO {} VALUES ({places})", quoted(name)))?;
        Ok(Inserter {
            statement,
            database: self,
        })
    }

    /// Adds the text of a cell that belongs to no table.
    pub(crate) fn add_note(&self, sheet: &str, cell: &str, text: &str) -> Result<()> {
        self.execute("INSERT INTO _notes VALUES (?,?,?)", &[&sheet, &cell, &text])
    }

    fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<()> {
        self.prepare(sql)?
            .execute(values)
            .map(|_| ())
            .map_err(|error| self.explain(error))
    }

    fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        self.connection
            .prepare(sql)
            .map_err(|error| self.explain(error))
    }

    /// A full database is a limit of ours.
    fn explain(&self, error: rusqlite::Error) -> Error {
        if error.sqlite_error_code() != Some(rusqlite::ErrorCode::DiskFull) {
            return failed(error);
        }
        let message = format!(
            "the database of the document's tables needs more than {} bytes or more than the disk has",
            self.maximum_bytes
        );
        Error::new(ErrorKind::Invalid, message)
            .with_hint("split the document, or raise `convert.tables.maximum_database_bytes`")
    }

    /// The finished database file.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        self.connection
            .execute_batch("COMMIT")
            .map_err(|error| self.explain(error))?;
        match self.file {
            Some(file) => {
                self.connection
                    .close()
                    .map_err(|(_, error)| failed(error))?;
                std::fs::read(file.path()).map_err(io_failed)
            }
            None => self
                .connection
                .serialize(rusqlite::MAIN_DB)
                .map(|data| data.to_vec())
                .map_err(failed),
        }
    }
}

/// Adds rows to one table.
pub(crate) struct Inserter<'a> {
    statement: Statement<'a>,
    database: &'a Database,
}

/// A value as the database stores it; text is left out of columns that have none.
fn bound<'v>(value: &'v Value<'_>, column_type: ColumnType) -> ValueRef<'v> {
    match value {
        Value::Integer(number) if column_type == ColumnType::Real => ValueRef::Real(*number as f64),
        Value::Integer(number) => ValueRef::Integer(*number),
        Value::Real(number) => ValueRef::Real(*number),
        Value::Boolean(truth) => ValueRef::Integer(i64::from(*truth)),
        Value::Date(text) | Value::DateTime(text) | Value::Time(text) => {
            ValueRef::Text(text.as_bytes())
        }
        Value::Empty | Value::Text(_) | Value::Error(_) => ValueRef::Null,
    }
}

impl Inserter<'_> {
    /// Adds a row; `untyped` cells are text that the column's type tells how to read.
    pub(crate) fn add(&mut self, row: &Row<'_>, columns: &[Column], untyped: bool) -> Result<()> {
        let mut cells = row.cells.iter().peekable();
        for (column, place) in columns.iter().zip(1..) {
            while cells.next_if(|cell| cell.column < column.place).is_some() {}
            let cell = cells.next_if(|cell| cell.column == column.place);
            let bound = match cell {
                Some(cell) => self.bind(place, cell, column.column_type, untyped),
                None => self
                    .statement
                    .raw_bind_parameter(place, rusqlite::types::Null),
            };
            bound.map_err(failed)?;
        }
        self.statement
            .raw_execute()
            .map(|_| ())
            .map_err(|error| self.database.explain(error))
    }

    fn bind(
        &mut self,
        place: usize,
        cell: &Cell<'_>,
        column_type: ColumnType,
        untyped: bool,
    ) -> rusqlite::Result<()> {
        if column_type == ColumnType::Text {
            let text = cell.text();
            let value = if text.trim().is_empty() {
                ValueRef::Null
            } else {
                ValueRef::Text(text.as_bytes())
            };
            return self
                .statement
                .raw_bind_parameter(place, ToSqlOutput::Borrowed(value));
        }
        let understood = match &cell.value {
            Value::Text(text) if untyped && !is_missing(text) => understand(text),
            value => value.clone(),
        };
        let value = bound(&understood, column_type);
        self.statement
            .raw_bind_parameter(place, ToSqlOutput::Borrowed(value))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `B2:D9`.
pub(crate) fn range_name(area: Area) -> String {
    format!(
        "{}:{}",
        cell_name(area.top, area.left),
        cell_name(area.bottom, area.right)
    )
}

/// `A1` for row 0 and column 0.
pub(crate) fn cell_name(row: u32, column: u32) -> String {
    format!("{}{}", column_name(column), u64::from(row) + 1)
}

/// `A` for column 0, `AA` for column 26.
pub(crate) fn column_name(column: u32) -> String {
    let mut letters = Vec::new();
    let mut rest = u64::from(column) + 1;
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_their_spreadsheet_names() {
        assert_eq!(
            range_name(Area {
                top: 0,
                bottom: 9,
                left: 0,
                right: 27
            }),
            "A1:AB10"
        );
        assert_eq!(column_name(16383), "XFD");
    }
}
