//! A document's database as statements see it: the columns have the headings of the document for
//! names, and beside a column of text that holds numbers with units stands one of the numbers. Made
//! once from what the conversion stored, and kept by its hash, so that another version of the document
//! is another entry.

use std::collections::{HashMap, HashSet};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, MAIN_DB, params};
use tributary_schemas::table_query::{TableColumn, ValueKind};

use super::{TableConfig, typed, words};

/// Columns of a table beyond which none are made beside them.
const MOST_COLUMNS: usize = 200;
/// Rows from which words and samples are taken, and by which it is told whether text holds numbers.
const ROWS_READ: usize = 5000;
/// Characters of a name.
const LONGEST_NAME: usize = 80;
/// Share of the values of a column of text that must be numbers with something around them.
const SHARE_OF_NUMBERS: f64 = 0.5;
/// Names of the number of a row, one of which no column has.
const ROW_IDS: [&str; 3] = ["rowid", "_rowid_", "oid"];

/// A database ready to be asked.
pub struct Database {
    /// The SQLite database.
    pub bytes: Vec<u8>,
    /// Its tables, in the order of their names.
    pub tables: Vec<StoredTable>,
}

/// A table of it.
pub struct StoredTable {
    /// Name in the database.
    pub stored: String,
    pub title: String,
    pub sheet: String,
    pub range: String,
    pub rows: u64,
    /// Row of the sheet, from 1, in which the first row of data stands, where it can be told.
    pub first_row: Option<u64>,
    pub columns: Vec<TableColumn>,
    /// What a statement calls the number of a row; `None` where columns have all names for it.
    pub row_id: Option<&'static str>,
    /// Words of the headings.
    pub headings: HashSet<String>,
    /// Words of title, headings and cells.
    pub words: HashSet<String>,
}

/// A column as it was stored.
struct Stored {
    name: String,
    declared: String,
    /// Name of the column that the numbers of this one go into.
    numbers: Option<String>,
    /// How these are read.
    reads: fn(&str) -> Option<f64>,
    shown: TableColumn,
}

/// Makes it from the bytes that a conversion stored. The error says what is wrong with them.
pub fn open(bytes: &[u8], config: &TableConfig) -> Result<Database, String> {
    let failed = |error: rusqlite::Error| format!("the tables cannot be read: {error}");
    let mut connection = Connection::open_in_memory().map_err(failed)?;
    connection
        .deserialize_read_exact(MAIN_DB, bytes, bytes.len(), false)
        .map_err(failed)?;
    check_schema(&connection)?;
    let tables = prepare(&connection, config).map_err(failed)?;
    let bytes = connection.serialize(MAIN_DB).map_err(failed)?.to_vec();
    Ok(Database { bytes, tables })
}

/// Nothing but tables: what else a schema may hold (views, triggers) could run by itself.
fn check_schema(connection: &Connection) -> Result<(), String> {
    let others = "SELECT count(*) FROM sqlite_schema WHERE type <> 'table'";
    let others: rusqlite::Result<i64> = connection.query_row(others, [], |row| row.get(0));
    match others {
        Ok(0) => Ok(()),
        Ok(_) => Err("the tables hold something else than tables".to_owned()),
        Err(error) => Err(format!("the tables cannot be read: {error}")),
    }
}

fn prepare(connection: &Connection, config: &TableConfig) -> rusqlite::Result<Vec<StoredTable>> {
    let catalogue = "SELECT table_name, coalesce(sheet, ''), coalesce(real_title, ''), coalesce(range, ''), coalesce(header_rows, 0), coalesce(rows, 0) \
                     FROM _tables ORDER BY table_name";
    let mut statement = connection.prepare(catalogue)?;
    let tables: Vec<(StoredTable, u64)> = statement
        .query_map([], |row| {
            let table = StoredTable {
                stored: row.get(0)?,
                sheet: row.get(1)?,
                title: row.get(2)?,
                range: row.get(3)?,
                rows: row.get::<_, i64>(5)?.unsigned_abs(),
                first_row: None,
                columns: Vec::new(),
                row_id: None,
                headings: HashSet::new(),
                words: HashSet::new(),
            };
            Ok((table, row.get::<_, i64>(4)?.unsigned_abs()))
        })?
        .collect::<rusqlite::Result<_>>()?;
    connection.execute_batch("BEGIN")?;
    let mut prepared = Vec::new();
    for (mut table, header_rows) in tables {
        table.first_row = first_row(&table, header_rows);
        let mut columns = stored_columns(connection, &table.stored)?;
        survey(connection, &mut table, &mut columns, config)?;
        add_numbers(connection, &table.stored, &mut columns)?;
        rename(connection, &table.stored, &columns)?;
        table.columns = columns.into_iter().map(|column| column.shown).collect();
        table.row_id = ROW_IDS.into_iter().find(|name| {
            let mut columns = table.columns.iter();
            !columns.any(|column| column.name.eq_ignore_ascii_case(name))
        });
        prepared.push(table);
    }
    connection.execute_batch("COMMIT")?;
    Ok(prepared)
}

/// Where the first row of data stands: below titles and header. Only where the rows that are there
/// fill the whole range, so that none was left out in between.
fn first_row(table: &StoredTable, header_rows: u64) -> Option<u64> {
    let (top, bottom) = table.range.split_once(':')?;
    let (top, bottom) = (row_of(top)?, row_of(bottom)?);
    let height = bottom.checked_sub(top)? + 1;
    let titles = height.checked_sub(header_rows + table.rows)?;
    let named = match table.title.is_empty() {
        true => 0,
        false => table.title.split(" – ").count() as u64,
    };
    (titles == 0 || titles == named).then_some(top + titles + header_rows)
}

fn row_of(cell: &str) -> Option<u64> {
    let digits = cell.trim_start_matches(|one: char| one.is_ascii_alphabetic());
    digits.parse().ok()
}

fn stored_columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Stored>> {
    let columns = "SELECT column_name, coalesce(real_name, ''), type FROM _columns WHERE table_name = ? ORDER BY position";
    let mut statement = connection.prepare(columns)?;
    let mut names = Names::default();
    let columns = statement.query_map([table], |row| {
        let name: String = row.get(0)?;
        let heading: String = row.get(1)?;
        let declared: String = row.get(2)?;
        Ok(Stored {
            numbers: None,
            reads: typed::number,
            shown: TableColumn {
                name: names.unique(if heading.trim().is_empty() {
                    &name
                } else {
                    &heading
                }),
                kind: kind(&declared),
                samples: Vec::new(),
                made_from: None,
            },
            name,
            declared,
        })
    })?;
    columns.collect()
}

fn kind(declared: &str) -> ValueKind {
    match declared {
        "INTEGER" | "BOOLEAN" => ValueKind::Integer,
        "REAL" => ValueKind::Number,
        "DATE" | "DATETIME" => ValueKind::Date,
        _ => ValueKind::Text,
    }
}

/// Names that are taken, without regard to the case of ASCII letters, as SQLite compares them.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn unique(&mut self, wanted: &str) -> String {
        let one_line = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        let base: String = one_line
            .chars()
            .filter(|one| !one.is_control() && *one != '"')
            .take(LONGEST_NAME)
            .collect();
        let base = if base.trim().is_empty() {
            "column"
        } else {
            base.trim()
        };
        let mut name = base.to_owned();
        let mut number = 2;
        while !self.0.insert(name.to_lowercase()) {
            name = format!("{base} ({number})");
            number += 1;
        }
        name
    }
}

/// Reads the first rows: words, samples, and which columns of text hold numbers.
fn survey(
    connection: &Connection,
    table: &mut StoredTable,
    columns: &mut [Stored],
    config: &TableConfig,
) -> rusqlite::Result<()> {
    words::add(&table.title, &mut table.words);
    words::add(&table.sheet, &mut table.words);
    for column in columns.iter() {
        words::add(&column.shown.name, &mut table.headings);
    }
    table.words.extend(table.headings.iter().cloned());
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let (names, stored) = (names.join(", "), quoted(&table.stored));
    let mut statement =
        connection.prepare(&format!("SELECT {names} FROM {stored} LIMIT {ROWS_READ}"))?;
    let mut counts = vec![Count::default(); columns.len()];
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for (place, (column, count)) in columns.iter_mut().zip(&mut counts).enumerate() {
            let Some(text) = text(row.get_ref(place)?) else {
                continue;
            };
            words::add(&text, &mut table.words);
            count.add(&text);
            let sample: String = text.chars().take(config.sample_characters).collect();
            let samples = &mut column.shown.samples;
            if samples.len() < config.samples && !samples.contains(&sample) {
                samples.push(sample);
            }
        }
    }
    let may_add = columns.len() <= MOST_COLUMNS;
    let mut names = Names(
        columns
            .iter()
            .map(|column| column.shown.name.to_lowercase())
            .collect(),
    );
    for (column, count) in columns.iter_mut().zip(counts) {
        column.reads = count.reads();
        if may_add && column.shown.kind == ValueKind::Text && count.are_numbers() {
            column.numbers = Some(names.unique(&format!("{} (number)", column.shown.name)));
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Default)]
struct Count {
    texts: usize,
    numbers: usize,
    /// Numbers where commas stand before decimals.
    with_commas: usize,
    has_commas: bool,
    has_points: bool,
}

impl Count {
    fn add(&mut self, text: &str) {
        self.texts += 1;
        let is_code = typed::is_code(text);
        self.numbers += usize::from(typed::number(text).is_some() && !is_code);
        self.with_commas += usize::from(typed::number_with_comma(text).is_some() && !is_code);
        let sign = typed::decimal_sign(text);
        self.has_commas |= sign == Some(',');
        self.has_points |= sign == Some('.');
    }

    fn has_decimal_commas(self) -> bool {
        self.has_commas && !self.has_points
    }

    fn reads(self) -> fn(&str) -> Option<f64> {
        match self.has_decimal_commas() {
            true => typed::number_with_comma,
            false => typed::number,
        }
    }

    fn are_numbers(self) -> bool {
        let numbers = match self.has_decimal_commas() {
            true => self.with_commas,
            false => self.numbers,
        };
        numbers > 1 && numbers as f64 >= self.texts as f64 * SHARE_OF_NUMBERS
    }
}

fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            Some(String::from_utf8_lossy(text).into_owned())
        }
    }
}

/// Adds the columns of numbers, each behind all others.
fn add_numbers(
    connection: &Connection,
    table: &str,
    columns: &mut Vec<Stored>,
) -> rusqlite::Result<()> {
    let wanted: Vec<(usize, String)> = columns
        .iter()
        .enumerate()
        .filter_map(|(at, column)| Some((at, column.numbers.clone()?)))
        .collect();
    for (at, name) in wanted {
        let Some(from) = columns.get(at) else {
            continue;
        };
        let (reads, from, made_from) = (from.reads, from.name.clone(), from.shown.name.clone());
        let mut taken = columns.iter().map(|column| column.name.to_lowercase());
        let stored = (0..).map(|number| format!("number_of_{at}_{number}"));
        let taken: HashSet<String> = taken.by_ref().collect();
        let Some(stored) = stored.into_iter().find(|name| !taken.contains(name)) else {
            continue;
        };
        let numbers = numbers(connection, table, &from, reads)?;
        let (quoted_table, quoted_column) = (quoted(table), quoted(&stored));
        connection.execute_batch(&format!(
            "ALTER TABLE {quoted_table} ADD COLUMN {quoted_column} REAL"
        ))?;
        let mut update = connection.prepare(&format!(
            "UPDATE {quoted_table} SET {quoted_column} = ? WHERE rowid = ?"
        ))?;
        for (row, number) in &numbers {
            update.execute(params![number, row])?;
        }
        let samples = numbers.iter().take(3).map(|(_, number)| number.to_string());
        columns.push(Stored {
            name: stored,
            declared: "REAL".to_owned(),
            numbers: None,
            reads: typed::number,
            shown: TableColumn {
                name,
                kind: ValueKind::Number,
                samples: samples.collect(),
                made_from: Some(made_from),
            },
        });
    }
    Ok(())
}

fn numbers(
    connection: &Connection,
    table: &str,
    column: &str,
    reads: fn(&str) -> Option<f64>,
) -> rusqlite::Result<Vec<(i64, f64)>> {
    let (table, column) = (quoted(table), quoted(column));
    let mut statement = connection.prepare(&format!("SELECT rowid, {column} FROM {table}"))?;
    let mut rows = statement.query([])?;
    let mut numbers = Vec::new();
    while let Some(row) = rows.next()? {
        let number = text(row.get_ref(1)?).and_then(|text| reads(&text));
        if let Some(number) = number {
            numbers.push((row.get(0)?, number));
        }
    }
    Ok(numbers)
}

/// Gives the columns of a table the names that statements have for them. The rows stay where they
/// are: only the text of the schema changes, which keeps count and types of the columns.
fn rename(connection: &Connection, table: &str, columns: &[Stored]) -> rusqlite::Result<()> {
    let fields: Vec<String> = columns
        .iter()
        .map(|column| format!("{} {}", quoted(&column.shown.name), column.declared_type()))
        .collect();
    if fields.is_empty() {
        return Ok(());
    }
    let sql = format!("CREATE TABLE {}({})", quoted(table), fields.join(", "));
    connection.pragma_update(None, "writable_schema", true)?;
    connection.execute(
        "UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = ?",
        params![sql, table],
    )?;
    connection.pragma_update(None, "writable_schema", false)
}

impl Stored {
    /// One of the types that conversions write, whatever the catalogue says.
    fn declared_type(&self) -> &'static str {
        match self.declared.as_str() {
            "INTEGER" => "INTEGER",
            "REAL" => "REAL",
            "BOOLEAN" => "BOOLEAN",
            "DATE" => "DATE",
            "DATETIME" => "DATETIME",
            "TIME" => "TIME",
            _ => "TEXT",
        }
    }
}

pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Databases by the blob that they were made from, the last ones used, up to a number of bytes.
#[derive(Default)]
pub struct Cache {
    kept: HashMap<String, (std::sync::Arc<Database>, u64)>,
    bytes: usize,
    clock: u64,
}

impl Cache {
    pub fn get(&mut self, blob: &str) -> Option<std::sync::Arc<Database>> {
        self.clock += 1;
        let (database, used) = self.kept.get_mut(blob)?;
        *used = self.clock;
        Some(std::sync::Arc::clone(database))
    }

    pub fn put(&mut self, blob: &str, database: &std::sync::Arc<Database>, limit: usize) {
        let size = database.bytes.len();
        if size > limit || self.kept.contains_key(blob) {
            return;
        }
        while self.bytes + size > limit {
            let oldest = self.kept.iter().min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(blob, _)| blob.clone()) else {
                break;
            };
            if let Some((database, _)) = self.kept.remove(&oldest) {
                self.bytes -= database.bytes.len();
            }
        }
        self.clock += 1;
        self.bytes += size;
        let entry = (std::sync::Arc::clone(database), self.clock);
        self.kept.insert(blob.to_owned(), entry);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod tests {
    use super::*;
    use std::sync::Arc;

    pub const CATALOGUE: &str = "
        CREATE TABLE _tables(table_name TEXT PRIMARY KEY, sheet TEXT, real_title TEXT, range TEXT, header_rows INTEGER, rows INTEGER) WITHOUT ROWID;
        CREATE TABLE _columns(table_name TEXT, column_name TEXT, real_name TEXT, type TEXT, position INTEGER, PRIMARY KEY(table_name, position)) WITHOUT ROWID;
        CREATE TABLE _notes(sheet TEXT, cell TEXT, text TEXT);";

    pub fn config() -> TableConfig {
        TableConfig {
            candidates: 50,
            looked_through: 500,
            tables: 3,
            samples: 3,
            sample_characters: 40,
            reply_tokens: 300,
            deadline_ms: 3000,
            repair: true,
            statement_ms: 5000,
            statement_steps: 2_000_000,
            statement_memory_bytes: 64 << 20,
            maximum_rows: 50,
            maximum_bytes: 20_000,
            maximum_database_bytes: 1 << 20,
            cache_bytes: 4 << 20,
            statements_at_once: 2,
            shown_rows: 20,
        }
    }

    /// A workbook of two sheets, as a conversion stores it.
    pub fn workbook() -> Vec<u8> {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(CATALOGUE).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE Sales(Region TEXT, Units_sold INTEGER, Revenue TEXT, Day DATE);
                 INSERT INTO Sales VALUES ('North', 120, '$1,200', '2023-01-05'), ('South', 80, '$900 (est.)', '2023-02-07'),
                     ('East', 200, '$2.5 million', '2024-03-09'), ('West', NULL, 'n/a', NULL);
                 INSERT INTO _tables VALUES ('Sales', 'Sheet 1', 'Sales 2023', 'A1:D6', 1, 4);
                 INSERT INTO _columns VALUES ('Sales', 'Region', 'Region', 'TEXT', 1), ('Sales', 'Units_sold', 'Units sold', 'INTEGER', 2),
                     ('Sales', 'Revenue', 'Revenue', 'TEXT', 3), ('Sales', 'Day', 'Day', 'DATE', 4);
                 CREATE TABLE Staff(Region TEXT, Manager TEXT, Manager_2 TEXT);
                 INSERT INTO Staff VALUES ('North', 'O''Neil', 'x'), ('South', 'Li', 'y');
                 INSERT INTO _tables VALUES ('Staff', 'Staff', '', 'A1:C3', 1, 2);
                 INSERT INTO _columns VALUES ('Staff', 'Region', 'Region', 'TEXT', 1), ('Staff', 'Manager', 'Manager', 'TEXT', 2),
                     ('Staff', 'Manager_2', 'manager', 'TEXT', 3);
                 INSERT INTO _notes VALUES ('Sheet 1', 'A9', 'a note');",
            )
            .unwrap();
        connection.serialize(MAIN_DB).unwrap().to_vec()
    }

    #[test]
    fn columns_have_their_headings_and_numbers_stand_beside_their_text() {
        let database = open(&workbook(), &config()).unwrap();
        let [sales, staff] = database.tables.as_slice() else {
            panic!("two tables");
        };
        let names = |table: &StoredTable| -> Vec<String> {
            table.columns.iter().map(|one| one.name.clone()).collect()
        };
        assert_eq!(
            names(sales),
            ["Region", "Units sold", "Revenue", "Day", "Revenue (number)"]
        );
        assert_eq!(names(staff), ["Region", "Manager", "manager (2)"]);
        assert_eq!(
            sales.columns[2].samples,
            ["$1,200", "$900 (est.)", "$2.5 million"]
        );
        assert_eq!(sales.columns[4].made_from.as_deref(), Some("Revenue"));
        // One title and one row of headings above the data.
        assert_eq!((sales.first_row, staff.first_row), (Some(3), Some(2)));
        assert!(sales.words.contains("north") && sales.words.contains("2023"));
        let mut connection = Connection::open_in_memory().unwrap();
        let bytes = database.bytes.as_slice();
        connection
            .deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true)
            .unwrap();
        let read = |sql: &str| -> (String, Option<f64>) {
            connection
                .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap()
        };
        let east = read(
            "SELECT \"Revenue\", \"Revenue (number)\" FROM \"Sales\" WHERE \"Units sold\" = 200",
        );
        assert_eq!(east, ("$2.5 million".to_owned(), Some(2_500_000.0)));
        let west =
            read("SELECT \"Revenue\", \"Revenue (number)\" FROM \"Sales\" WHERE Region = 'West'");
        assert_eq!(west, ("n/a".to_owned(), None));
    }

    #[test]
    fn what_is_no_database_of_tables_is_refused() {
        assert!(open(b"SQLite format 3\0 and no more", &config()).is_err());
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(CATALOGUE).unwrap();
        connection
            .execute_batch("CREATE VIEW v AS SELECT 1")
            .unwrap();
        let bytes = connection.serialize(MAIN_DB).unwrap().to_vec();
        let refused = open(&bytes, &config()).err().unwrap();
        assert!(refused.contains("something else than tables"), "{refused}");
    }

    #[test]
    fn the_cache_keeps_what_was_used_last() {
        let database = |size: usize| {
            Arc::new(Database {
                bytes: vec![0; size],
                tables: Vec::new(),
            })
        };
        let mut cache = Cache::default();
        cache.put("a", &database(40), 100);
        cache.put("b", &database(40), 100);
        assert!(cache.get("a").is_some());
        cache.put("c", &database(40), 100);
        assert!(cache.get("b").is_none() && cache.get("a").is_some() && cache.get("c").is_some());
        cache.put("large", &database(101), 100);
        assert!(cache.get("large").is_none() && cache.bytes == 80);
    }
}
