//! A statement as a model writes it, over names of headings and tables, becomes one over stored names:
//! parsed, checked, every name mapped in the syntax tree, and written anew. Text that was not
//! understood never reaches the database.
//!
//! Allowed is one SELECT over the named tables, with joins, subqueries, common tables, set operations,
//! and functions of a list. Names are also found by their letters and digits alone, since models write
//! `Units_Sold` for `Units sold`; what a comparison has in double quotes and no column is called is
//! text; `YEAR(x)` and `EXTRACT(YEAR FROM x)`, which SQLite lacks, become what it has for them.

mod bare_names;
mod columns;
mod functions;
mod names;
mod origins;
mod parsing;
mod tables;
mod text_numbers;

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Visit, VisitMut};
use tributary_schemas::table_query::ValueKind;

use self::columns::Columns;
pub use self::functions::is_allowed;
use self::origins::add_origins;
use self::parsing::parse;
use self::tables::Tables;
use self::text_numbers::TextNumbers;
use super::Refused;
use super::database::StoredTable;

/// Stack of the thread that reads a statement; only what is used of it takes memory.
const STACK_BYTES: usize = 64 << 20;

/// A table that a statement may read.
#[derive(Clone, Debug)]
pub struct Readable {
    /// What the statement calls it.
    pub name: String,
    /// Name of the database that holds it.
    pub database: String,
    /// Name that it is stored under.
    pub stored: String,
    pub columns: Vec<String>,
    /// Columns of text, each with the column of its numbers.
    pub numbers: Vec<(String, String)>,
    /// Columns of text that have none.
    pub texts: Vec<String>,
    /// What the number of a row is called.
    pub row_id: Option<&'static str>,
}

impl Readable {
    /// A table of a database, by the name that statements have for it.
    pub fn new(name: &str, database: &str, table: &StoredTable) -> Self {
        let columns = table.columns.iter();
        let numbers = columns.clone().filter_map(|one| {
            let text = one.made_from.clone()?;
            Some((text, one.name.clone()))
        });
        let numbers: Vec<(String, String)> = numbers.collect();
        let has_numbers = |name: &String| numbers.iter().any(|(text, _)| text == name);
        let texts = columns.clone().filter(|one| one.kind == ValueKind::Text);
        let texts = texts.map(|one| one.name.clone());
        Self {
            texts: texts.filter(|name| !has_numbers(name)).collect(),
            name: name.to_owned(),
            database: database.to_owned(),
            stored: table.stored.clone(),
            columns: columns.map(|one| one.name.clone()).collect(),
            numbers,
            row_id: table.row_id,
        }
    }
}

/// A statement that may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Its text.
    pub sql: String,
    /// Positions of the tables that it reads.
    pub reads: Vec<usize>,
    /// Tables whose row numbers stand in the last columns, in their order.
    pub origins: Vec<usize>,
    /// Names of its common tables, in lower case.
    pub common: Vec<String>,
}

/// Prepares a statement over these tables. Blocks.
///
/// It does so on a stack of its own: a statement is nested as deep as it has parts, and each way
/// through it goes down all the way.
pub fn prepare(sql: &str, tables: &[Readable]) -> Result<Prepared, Refused> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("statement".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || prepare_nested(sql, tables));
        let ended = thread.ok().and_then(|thread| thread.join().ok());
        ended.unwrap_or_else(|| {
            Err(refused(
                "the statement could not be read for want of a thread",
            ))
        })
    })
}

fn prepare_nested(sql: &str, tables: &[Readable]) -> Result<Prepared, Refused> {
    let mut query = parse(sql, tables)?;
    let mut mapping = Tables {
        tables,
        common: HashSet::new(),
        reads: Vec::new(),
        aliases: HashSet::new(),
        factors: 0,
    };
    run(VisitMut::visit(query.as_mut(), &mut mapping))?;
    let Tables {
        common,
        mut reads,
        aliases,
        ..
    } = mapping;
    reads.sort_unstable();
    reads.dedup();
    let mut numbers = TextNumbers::new(tables, &reads, &aliases);
    let mut names = Columns::new(tables, &reads, aliases);
    run(VisitMut::visit(query.as_mut(), &mut names))?;
    run(Visit::visit(query.as_ref(), &mut numbers))?;
    let origins = add_origins(&mut query, tables);
    Ok(Prepared {
        sql: query.to_string(),
        reads,
        origins,
        common: common.into_iter().collect(),
    })
}

fn refused(message: impl Into<String>) -> Refused {
    Refused::Statement(message.into())
}

fn run(flow: ControlFlow<Refused>) -> Result<(), Refused> {
    match flow {
        ControlFlow::Break(refused) => Err(refused),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn flow(result: Result<(), Refused>) -> ControlFlow<Refused> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(refused) => ControlFlow::Break(refused),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn tables() -> Vec<Readable> {
        let table = |name: &str, database: &str, stored: &str, columns: &[&str]| Readable {
            name: name.to_owned(),
            database: database.to_owned(),
            stored: stored.to_owned(),
            columns: columns.iter().map(|one| (*one).to_owned()).collect(),
            numbers: match columns.contains(&"Revenue (number)") {
                true => vec![("Revenue".to_owned(), "Revenue (number)".to_owned())],
                false => Vec::new(),
            },
            texts: vec!["Region".to_owned()],
            row_id: Some("rowid"),
        };
        vec![
            table(
                "Sales 2023",
                "d0",
                "Sales",
                &["Region", "Units sold", "Revenue", "Day", "Revenue (number)"],
            ),
            table(
                "Staff",
                "d0",
                "Staff",
                &["Region", "Manager", "manager (2)"],
            ),
        ]
    }

    fn prepared(sql: &str) -> Prepared {
        prepare(sql, &tables()).unwrap_or_else(|refused| panic!("{sql}: {refused:?}"))
    }

    #[test]
    fn names_are_mapped_where_they_are_names_and_nowhere_else() {
        let table = [
            (
                r#"SELECT Units_Sold FROM "sales 2023" WHERE Region = "North" LIMIT 5;"#,
                r#"SELECT "Units sold", "Sales 2023".rowid AS "origin 0" FROM "d0"."Sales" AS "Sales 2023" WHERE "Region" = 'North' LIMIT 5"#,
            ),
            (
                r#"SELECT s.region, manager FROM Sales_2023 s JOIN staff ON s.Region = staff.Region WHERE note = 'FROM Staff'"#,
                r#"SELECT s."Region", "Manager", s.rowid AS "origin 0", "Staff".rowid AS "origin 1" FROM "d0"."Sales" s JOIN "d0"."Staff" AS "Staff" ON s."Region" = staff."Region" WHERE note = 'FROM Staff'"#,
            ),
            (
                r#"SELECT count(*) AS region FROM Staff"#,
                r#"SELECT count(*) AS region FROM "d0"."Staff" AS "Staff""#,
            ),
            (
                "SELECT YEAR(Day), max(\"Revenue (number)\") FROM \"Sales 2023\" GROUP BY 1",
                r#"SELECT CAST(strftime('%Y', "Day") AS INTEGER), max("Revenue (number)") FROM "d0"."Sales" AS "Sales 2023" GROUP BY 1"#,
            ),
            (
                "WITH top AS (SELECT Region FROM Staff) SELECT * FROM top",
                r#"WITH top AS (SELECT "Region" FROM "d0"."Staff" AS "Staff") SELECT * FROM top"#,
            ),
        ];
        for (sql, expected) in table {
            assert_eq!(prepared(sql).sql, expected);
        }
        assert_eq!(prepared(table[1].0).origins, [0, 1]);
        assert_eq!(prepared(table[2].0).reads, [1]);
        // A subquery in the columns makes one of its own rows, not of these.
        let sql = "SELECT Region, (SELECT max(\"Units sold\") FROM \"Sales 2023\") FROM Staff";
        assert_eq!(prepared(sql).origins, [1]);
    }

    #[test]
    fn numbers_in_text_are_not_reckoned_with() {
        let table = "FROM \"Sales 2023\"";
        for (sql, what) in [
            (format!("SELECT sum(Revenue) {table}"), "given to sum()"),
            (format!("SELECT max(s.revenue) {table} s"), "given to max()"),
            (format!("SELECT Revenue * 2 {table}"), "reckoned with"),
            (format!("SELECT CAST(revenue AS REAL) {table}"), "cast"),
            (format!("SELECT 1 {table} WHERE Revenue > -5"), "compared"),
            (
                format!("SELECT 1 {table} WHERE (Revenue) BETWEEN 1 AND 2"),
                "compared",
            ),
            (
                format!("SELECT 1 {table} WHERE Revenue < '12,500'"),
                "compared",
            ),
            (
                format!("SELECT 1 {table} WHERE Revenue BETWEEN '1' AND '2'"),
                "compared",
            ),
            (
                format!("SELECT Region {table} ORDER BY Units_Sold, Revenue DESC"),
                "put in order",
            ),
            (
                format!("SELECT rank() OVER (ORDER BY Revenue) {table}"),
                "put in order",
            ),
            (
                format!("WITH a AS (SELECT avg(Revenue) {table}) SELECT * FROM a"),
                "given to avg()",
            ),
        ] {
            let refused = prepare(&sql, &tables()).err();
            let message = refused.as_ref().map_or("", Refused::message);
            let names_both = message.contains(what) && message.contains("\"Revenue (number)\"");
            assert!(names_both, "{sql}: {message}");
        }
        for sql in [
            format!("SELECT avg(Region) {table}"),
            format!("SELECT Region + 1 {table}"),
            format!("SELECT 1 {table} WHERE Region < 60"),
            format!("SELECT 1 {table} WHERE Region > '80'"),
            format!("SELECT 1 {table} WHERE Region BETWEEN 1 AND 2"),
        ] {
            let refused = prepare(&sql, &tables()).err();
            let message = refused.as_ref().map_or("", Refused::message);
            assert!(
                message.contains("CAST(\"Region\" AS REAL)"),
                "{sql}: {message}"
            );
        }
        for sql in [
            format!("SELECT sum(\"Revenue (number)\") AS Revenue {table} ORDER BY Revenue"),
            format!("SELECT Revenue, count(Revenue) {table} WHERE Revenue = '$1,200' GROUP BY 1"),
            format!("SELECT Revenue {table} ORDER BY \"Revenue (number)\", lower(Revenue)"),
            "SELECT max(manager) FROM Staff ORDER BY Manager".to_owned(),
            format!("SELECT max(Region), count(Region) {table} WHERE Region = 101 ORDER BY Region"),
            format!("SELECT avg(CAST(Region AS REAL)) {table} WHERE Region <> 'none'"),
            format!("SELECT 1 {table} WHERE Region >= '2023' AND Region = '80'"),
            format!("SELECT 1 {table} WHERE Region > '1a' AND Region < '2023-05-01'"),
        ] {
            prepared(&sql);
        }
    }

    #[test]
    fn what_is_not_one_select_over_these_tables_is_refused() {
        let table = [
            ("", "no statement"),
            ("DELETE FROM Staff", "only a SELECT"),
            ("SELECT 1; SELECT 2", "more than one"),
            (
                "SELECT * FROM Customers",
                "the tables are \"Sales 2023\", \"Staff\"",
            ),
            ("SELECT * FROM sqlite_master", "no table `sqlite_master`"),
            ("SELECT * FROM d0.Sales", "is no table"),
            ("SELECT load_extension('x') FROM Staff", "not allowed"),
            ("SELECT * FROM json_each('[1]')", "nothing else"),
            ("SELECT * FROM Staff WHERE Region = ?", "placeholder"),
            (
                "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT * FROM t",
                "RECURSIVE",
            ),
            ("PRAGMA table_info(Staff)", "cannot be read"),
            ("ATTACH 'x' AS y", "SELECT"),
            ("SELECT * INTO x FROM Staff", ""),
            ("nonsense", "cannot be read"),
            ("SELECT Region FROM Staff WHERE (", "cannot be read"),
        ];
        for (sql, expected) in table {
            let refused = prepare(sql, &tables()).err();
            let message = refused.as_ref().map_or("", Refused::message);
            assert!(
                refused.is_some() && message.contains(expected),
                "{sql}: {refused:?}"
            );
        }
        let long = format!("SELECT {}1 FROM Staff", "1+".repeat(3000));
        let deep = format!("SELECT {}1{} FROM Staff", "(".repeat(500), ")".repeat(500));
        for sql in [long, deep] {
            assert!(prepare(&sql, &tables()).is_err());
        }
    }
}
