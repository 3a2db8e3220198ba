//! Runs a prepared statement on copies of databases in memory. They are attached read-only; from then
//! on an authorizer allows reading of the tables that the statement names and functions of a list, and
//! nothing else. A progress handler ends it when it takes too many steps, too long, too much memory, or
//! when nobody waits any more. Blocks: call it where blocking is allowed.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tributary_schemas::table_query::{ResultColumn, ValueKind};

use super::database::{Database, quoted};
use super::statement::{self, Prepared, Readable};
use super::{Refused, TableConfig};

/// Steps of SQLite's machine between two looks at the clock. One step makes a value of
/// [`LONGEST_VALUE`] at most.
const STEPS_AT_ONCE: i32 = 100;
/// How SQLite begins to say that a name is none of a column.
const NO_COLUMN: &str = "no such column";
/// Bytes of a value or a row.
const LONGEST_VALUE: i32 = 1_000_000;
/// Least rows, cells or labels that a bound of ours may be set to.
const LIMITS: [(Limit, i32); 9] = [
    (Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 20_000),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 20),
    (Limit::SQLITE_LIMIT_VDBE_OP, 200_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 32),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 0),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// What a statement gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    pub columns: Vec<ResultColumn>,
    pub rows: Vec<Vec<Value>>,
    /// For each row the numbers of the rows that it is made of, as [`Prepared::origins`] names their
    /// tables; `None` where an outer join has none. Empty where they cannot be told.
    pub origins: Vec<Vec<Option<i64>>>,
    /// Whether there are more.
    pub truncated: bool,
}

/// Databases by the name under which statements know them.
pub type Attached = (String, Arc<Database>);

/// Runs the statement; it ends early when `given_up` becomes true.
pub fn run(
    prepared: &Prepared,
    tables: &[Readable],
    databases: &[Attached],
    config: &TableConfig,
    given_up: &Arc<AtomicBool>,
) -> Result<Rows, Refused> {
    let mut connection = attach(databases).map_err(|error| internal(&error))?;
    let ended = Arc::new(AtomicU8::new(0));
    guard(&mut connection, prepared, tables).map_err(|error| internal(&error))?;
    bound(&mut connection, config, &ended, given_up).map_err(|error| internal(&error))?;
    let read = read(&connection, prepared, config);
    read.map_err(|error| match explain(&error, &ended, config) {
        Refused::Statement(why) if why.starts_with(NO_COLUMN) => {
            Refused::Statement(format!("{why}; {}", columns(prepared, tables)))
        }
        other => other,
    })
}

/// Columns of the tables that a statement reads, as it must write them.
fn columns(prepared: &Prepared, tables: &[Readable]) -> String {
    let read = prepared.reads.iter().filter_map(|at| tables.get(*at));
    let of = |table: &Readable| {
        let names: Vec<String> = table.columns.iter().map(|name| quoted(name)).collect();
        format!("{} has {}", quoted(&table.name), names.join(", "))
    };
    read.map(of).collect::<Vec<_>>().join("; ")
}

fn internal(error: &rusqlite::Error) -> Refused {
    Refused::Limit(format!("the tables cannot be opened: {error}"))
}

fn attach(databases: &[Attached]) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_MEMORY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_in_memory_with_flags(flags)?;
    for (name, database) in databases {
        connection.execute_batch(&format!("ATTACH ':memory:' AS {}", quoted(name)))?;
        let bytes = database.bytes.as_slice();
        connection.deserialize_read_exact(name.as_str(), bytes, bytes.len(), true)?;
    }
    connection.execute_batch("PRAGMA temp_store=MEMORY; PRAGMA query_only=ON;")?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // A name in double quotes that no column has is an error, not text.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    for (limit, value) in LIMITS {
        connection.set_limit(limit, value)?;
    }
    Ok(connection)
}

/// From here on nothing but reading of the named tables is possible.
fn guard(
    connection: &mut Connection,
    prepared: &Prepared,
    tables: &[Readable],
) -> rusqlite::Result<()> {
    let named = prepared.reads.iter().filter_map(|at| tables.get(*at));
    let allowed: HashSet<(String, String)> = named
        .map(|table| (table.database.clone(), table.stored.clone()))
        .collect();
    let common: HashSet<String> = prepared.common.iter().cloned().collect();
    let is_allowed = move |context: &AuthContext<'_>| match context.action {
        AuthAction::Select => true,
        AuthAction::Read {
            table_name,
            column_name,
        } => match context.database_name {
            Some(database) => allowed.contains(&(database.to_owned(), table_name.to_owned())),
            // A common table of which no column is read, such as in `count(*)`.
            None => column_name.is_empty() && common.contains(&table_name.to_lowercase()),
        },
        AuthAction::Function { function_name } => statement::is_allowed(function_name),
        _ => false,
    };
    let decide = move |context: AuthContext<'_>| match is_allowed(&context) {
        true => Authorization::Allow,
        false => Authorization::Deny,
    };
    connection.authorizer(Some(decide))
}

/// Why a statement was ended.
const STEPS: u8 = 1;
const TIME: u8 = 2;
const MEMORY: u8 = 3;
const GIVEN_UP: u8 = 4;

fn bound(
    connection: &mut Connection,
    config: &TableConfig,
    ended: &Arc<AtomicU8>,
    given_up: &Arc<AtomicBool>,
) -> rusqlite::Result<()> {
    let (ended, given_up) = (Arc::clone(ended), Arc::clone(given_up));
    let until = Instant::now() + Duration::from_millis(config.statement_ms);
    let most_memory = memory_used().saturating_add(config.statement_memory_bytes);
    let mut steps_left = config.statement_steps;
    let is_over = move || {
        steps_left = steps_left.saturating_sub(u64::from(STEPS_AT_ONCE.unsigned_abs()));
        let why = if steps_left == 0 {
            STEPS
        } else if Instant::now() >= until {
            TIME
        } else if memory_used() > most_memory {
            MEMORY
        } else if given_up.load(Ordering::Relaxed) {
            GIVEN_UP
        } else {
            return false;
        };
        ended.store(why, Ordering::Relaxed);
        true
    };
    connection.progress_handler(STEPS_AT_ONCE, Some(is_over))
}

/// Bytes that SQLite uses in this process: others that use it meanwhile count too.
fn memory_used() -> u64 {
    // SAFETY: it only reads a counter, and may be called at any time from any thread.
    let used = unsafe { rusqlite::ffi::sqlite3_memory_used() };
    u64::try_from(used).unwrap_or(0)
}

fn read(
    connection: &Connection,
    prepared: &Prepared,
    config: &TableConfig,
) -> rusqlite::Result<Rows> {
    let mut statement = connection.prepare(&prepared.sql)?;
    let names = statement.column_names();
    let shown = names.len().saturating_sub(prepared.origins.len());
    let names: Vec<String> = names.into_iter().take(shown).map(str::to_owned).collect();
    let mut found = Rows::default();
    let mut bytes = 0;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells = (0..shown).map(|at| row.get_ref(at).map(value));
        let cells: Vec<Value> = cells.collect::<rusqlite::Result<_>>()?;
        bytes += cells.iter().map(size).sum::<usize>();
        if found.rows.len() == config.maximum_rows || bytes > config.maximum_bytes {
            found.truncated = true;
            break;
        }
        if !prepared.origins.is_empty() {
            let numbers = (shown..shown + prepared.origins.len()).map(|at| row.get(at));
            found
                .origins
                .push(numbers.collect::<rusqlite::Result<_>>()?);
        }
        found.rows.push(cells);
    }
    let column = |(at, name): (usize, String)| ResultColumn {
        kind: kind(&found.rows, at),
        name,
    };
    found.columns = names.into_iter().enumerate().map(column).collect();
    Ok(found)
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) if number.is_finite() => number.into(),
        // As SQLite itself writes what JSON has no number for; an empty value would say something else.
        ValueRef::Real(number) => if number > 0.0 { "Inf" } else { "-Inf" }.into(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into(),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        _ => 8,
    }
}

/// What the values of a column are.
fn kind(rows: &[Vec<Value>], at: usize) -> ValueKind {
    let values = rows.iter().filter_map(|row| row.get(at));
    let values: Vec<&Value> = values.filter(|value| !value.is_null()).collect();
    let all = |holds: fn(&Value) -> bool| values.iter().all(|value| holds(value));
    if values.is_empty() {
        ValueKind::Text
    } else if all(Value::is_i64) {
        ValueKind::Integer
    } else if all(Value::is_number) {
        ValueKind::Number
    } else if all(|value| value.as_str().is_some_and(is_date)) {
        ValueKind::Date
    } else {
        ValueKind::Text
    }
}

/// `2024-02-09`, perhaps with a time behind it.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes
            .get(range)
            .is_some_and(|some| some.iter().all(u8::is_ascii_digit))
    };
    let dash = |at: usize| bytes.get(at) == Some(&b'-');
    let ends = bytes.get(10).is_none_or(|next| matches!(next, b' ' | b'T'));
    digits(0..4) && dash(4) && digits(5..7) && dash(7) && digits(8..10) && ends
}

fn explain(error: &rusqlite::Error, ended: &AtomicU8, config: &TableConfig) -> Refused {
    let limit = |what: String| Refused::Limit(format!("the statement was ended: {what}"));
    match ended.load(Ordering::Relaxed) {
        STEPS => limit(format!(
            "it takes more than {} steps",
            config.statement_steps
        )),
        TIME => limit(format!("it takes longer than {} ms", config.statement_ms)),
        MEMORY => limit(format!(
            "it needs more than {} bytes of memory",
            config.statement_memory_bytes
        )),
        GIVEN_UP => limit("nobody waits for it any more".to_owned()),
        _ => Refused::Statement(message(error)),
    }
}

/// What SQLite says, without the statement, which its errors repeat.
fn message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_all_bounds_are_said_and_not_left_empty() {
        assert_eq!(value(ValueRef::Real(2.5)), 2.5);
        assert_eq!(value(ValueRef::Real(f64::INFINITY)), "Inf");
        assert_eq!(value(ValueRef::Real(f64::NEG_INFINITY)), "-Inf");
        assert_eq!(value(ValueRef::Null), Value::Null);
    }
}
