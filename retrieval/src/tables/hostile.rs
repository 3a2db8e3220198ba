//! Hostile and broken statements, made by chance from a seed: none may write, read outside of the
//! tables that it is given, crash, or go over its limits. Each is also given to the database as it is,
//! past the parser, so that the second door is tried too.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::database::tests::{config, workbook};
use super::database::{self, Database};
use super::run::{self, Attached};
use super::statement::{Prepared, Readable, prepare};
use super::{Refused, TableConfig};

/// Statements that are tried.
const STATEMENTS: usize = 2000;
/// Text that stands in a document that the statements are not given.
const SECRET: &str = "the secret of another document";
const SEED: u64 = 17;

/// A generator of numbers without a crate: xorshift.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap_or(0)
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices
            .get(self.below(choices.len()))
            .copied()
            .unwrap_or("")
    }
}

const WRITES: &[&str] = &[
    "DELETE FROM Staff",
    "UPDATE Staff SET Manager = 'x'",
    "INSERT INTO Staff VALUES ('a','b','c')",
    "DROP TABLE Staff",
    "CREATE TABLE x(a)",
    "CREATE TEMP TABLE x AS SELECT * FROM Staff",
    "ALTER TABLE Staff ADD COLUMN x",
    "REPLACE INTO Staff VALUES (1,2,3)",
    "VACUUM",
    "VACUUM INTO '/tmp/out.sqlite'",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "SAVEPOINT s",
    "CREATE VIEW v AS SELECT 1",
    "CREATE TRIGGER t AFTER INSERT ON Staff BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE f USING fts5(a)",
    "CREATE INDEX i ON Staff(Region)",
    "DETACH d0",
    "WITH x AS (SELECT 1) DELETE FROM Staff",
    "WITH x AS (SELECT 1) INSERT INTO Staff SELECT 1,2,3",
    "EXPLAIN SELECT * FROM Staff",
];
const OUTSIDE: &[&str] = &[
    "ATTACH '/etc/passwd' AS p",
    "ATTACH ':memory:' AS m",
    "ATTACH 'file:x?mode=memory' AS m",
    "PRAGMA database_list",
    "PRAGMA query_only=OFF",
    "PRAGMA writable_schema=ON",
    "PRAGMA table_info(Staff)",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM pragma_table_list",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM sqlite_schema",
    "SELECT sql FROM d0.sqlite_master",
    "SELECT * FROM main.sqlite_schema",
    "SELECT * FROM temp.sqlite_master",
    "SELECT * FROM Private",
    "SELECT * FROM d1.Private",
    "SELECT * FROM _notes",
    "SELECT * FROM d0._tables",
    "SELECT * FROM _columns",
    "SELECT load_extension('/tmp/x.so')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('/tmp/x', 'y')",
    "SELECT * FROM fsdir('/')",
    "SELECT * FROM dbstat",
    "SELECT * FROM json_each('[1]')",
    "SELECT fts3_tokenizer('x')",
    "SELECT sqlite_version()",
    "SELECT randomblob(10)",
    "SELECT count(*) FROM sqlite_master",
    "SELECT 'a' IN Private",
    "SELECT 'a' IN d1.Private",
    "SELECT 'a' IN sqlite_master",
    "SELECT * FROM Staff NATURAL JOIN Private",
    "WITH Staff AS (SELECT * FROM Private) SELECT * FROM Staff",
    "SELECT (SELECT Text FROM Private) FROM Staff",
    "SELECT * FROM Staff WHERE EXISTS (SELECT 1 FROM Private)",
    "SELECT Region FROM Staff UNION SELECT Text FROM Private",
    "TABLE Private",
    "SELECT * FROM (TABLE Private)",
    "VALUES ((SELECT Text FROM Private))",
    "SELECT * FROM generate_series(1, 100)",
    "SELECT * FROM Staff ORDER BY (SELECT Text FROM Private)",
];
const HEAVY: &[&str] = &[
    "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT count(*) FROM n",
    "WITH n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT sum(a) FROM n",
    "SELECT count(*) FROM Staff a, Staff b, Staff c, Staff d, Staff e, Staff f, Staff g, Staff h, Staff i, Staff j, Staff k, Staff l, Staff m, Staff n",
    "SELECT a.*, b.*, c.*, d.* FROM Sales a, Sales b, Sales c, Sales d, Sales e, Sales f, Sales g, Sales h",
    "SELECT zeroblob(1000000000)",
    "SELECT hex(zeroblob(500000))",
    "SELECT printf('%.*c', 100000000, 'x')",
    "SELECT replace(replace(replace('aaaaaaaaaa', 'a', 'aaaaaaaaaa'), 'a', 'aaaaaaaaaa'), 'a', Region) FROM Staff",
    "SELECT group_concat(a.Region || b.Region || c.Region || d.Region || e.Region || f.Region) FROM Sales a, Sales b, Sales c, Sales d, Sales e, Sales f, Sales g, Sales h",
    "SELECT DISTINCT a.Region || b.Region || c.Region, replace(a.Region, 'o', 'oooooooooooooooooooooooooooooooo') FROM Sales a, Sales b, Sales c, Sales d, Sales e, Sales f, Sales g, Sales h ORDER BY 1, 2",
    "SELECT replace(replace(replace(replace(replace(replace(Region, 'o', 'oooooooooooooooo'), 'o', 'oooooooooooooooo'), 'o', 'oooooooooooooooo'), 'o', 'oooooooooooooooo'), 'o', 'oooooooo'), 'o', 'oooo') FROM Sales",
    "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%b' FROM Staff",
    "SELECT sum(1) OVER (ORDER BY a.Region) FROM Sales a, Sales b, Sales c, Sales d, Sales e, Sales f, Sales g",
];
const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "(",
    ")",
    ",",
    "*",
    "Staff",
    "Sales",
    "Region",
    "\"Units sold\"",
    "'North'",
    "''",
    "'",
    "\"",
    "`",
    "[",
    "]",
    ";",
    "--",
    "/*",
    "*/",
    "=",
    "<>",
    "||",
    "NULL",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "LIKE",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "1",
    "-1",
    "9223372036854775808",
    "1e999",
    "0x10",
    "GROUP BY",
    "ORDER BY",
    "LIMIT",
    "OFFSET",
    "UNION",
    "ALL",
    "EXCEPT",
    "JOIN",
    "LEFT",
    "ON",
    "AS",
    "WITH",
    "count",
    "max",
    "sum",
    "CAST",
    "INTEGER",
    "DISTINCT",
    "HAVING",
    "OVER",
    "\u{0}",
    "\u{202e}",
    "表",
    "🂡",
    "?",
    ":x",
    "@y",
    "$z",
    "{fn",
    "}",
    "->",
    "->>",
    "COLLATE",
    "NOCASE",
    "ESCAPE",
    "GLOB",
    "REGEXP",
    "MATCH",
    "EXISTS",
    "VALUES",
    "RETURNING",
    "WINDOW",
    "PRAGMA",
    "ATTACH",
];

/// A statement of chance: one of the lists, spoiled, joined with another, or words in a row.
fn statement(chance: &mut Chance) -> String {
    let lists: [&[&str]; 3] = [WRITES, OUTSIDE, HEAVY];
    let pick = |chance: &mut Chance| {
        let list = lists
            .get(chance.below(lists.len()))
            .copied()
            .unwrap_or(WRITES);
        chance.of(list).to_owned()
    };
    match chance.below(8) {
        0 | 1 => pick(chance),
        2 => format!("SELECT * FROM Staff; {}", pick(chance)),
        3 => format!("SELECT * FROM Staff WHERE Region IN ({})", pick(chance)),
        4 => format!(
            "SELECT * FROM Staff /* {} */ UNION {}",
            chance.of(WORDS),
            pick(chance)
        ),
        5 => spoiled(&pick(chance), chance),
        6 => nested(chance),
        _ => {
            let count = 1 + chance.below(40);
            let words: Vec<&str> = (0..count).map(|_| chance.of(WORDS)).collect();
            format!("SELECT {}", words.join(" "))
        }
    }
}

/// One character taken out, doubled or replaced, some times.
fn spoiled(text: &str, chance: &mut Chance) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=chance.below(4) {
        let at = chance.below(characters.len().max(1));
        let other = chance.of(WORDS).chars().next().unwrap_or(' ');
        match chance.below(3) {
            0 if at < characters.len() => {
                characters.remove(at);
            }
            1 => characters.insert(at, other),
            _ => {
                if let Some(one) = characters.get_mut(at) {
                    *one = other;
                }
            }
        }
    }
    characters.into_iter().collect()
}

/// Deep or long: brackets, operators, subqueries, cases, unions.
fn nested(chance: &mut Chance) -> String {
    let depth = 1 + chance.below(600);
    match chance.below(7) {
        0 => format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth)),
        1 => format!("SELECT 1{}", "+1".repeat(depth)),
        2 => format!("SELECT {}1{}", "(SELECT ".repeat(depth), ")".repeat(depth)),
        3 => format!("SELECT {}1{}", "NOT ".repeat(depth), ""),
        4 => format!("SELECT 1{}", " UNION SELECT 1".repeat(depth)),
        5 => format!("SELECT 1{}", " AND Region = 1 OR 2".repeat(depth)),
        _ => format!(
            "SELECT {} 1 {}",
            "CASE WHEN 1 THEN".repeat(depth),
            "END".repeat(depth)
        ),
    }
}

fn secret() -> Vec<u8> {
    let made = || -> rusqlite::Result<Vec<u8>> {
        let mut connection = rusqlite::Connection::open_in_memory()?;
        connection.execute_batch(database::tests::CATALOGUE)?;
        connection.execute_batch(&format!(
            "CREATE TABLE Private(Text TEXT); INSERT INTO Private VALUES ('{SECRET}');
             INSERT INTO _tables VALUES ('Private', 'p', '', 'A1:A2', 1, 1);
             INSERT INTO _columns VALUES ('Private', 'Text', 'Text', 'TEXT', 1);"
        ))?;
        Ok(connection.serialize(rusqlite::MAIN_DB)?.to_vec())
    };
    made().unwrap_or_else(|error| panic!("{error}"))
}

struct World {
    databases: Vec<Attached>,
    tables: Vec<Readable>,
    config: TableConfig,
    before: Vec<Vec<u8>>,
}

/// The workbook as `d0`, whose tables may be read, and beside it, as no caller would attach it, a
/// document whose table may not.
fn world() -> World {
    let config = TableConfig {
        statement_ms: 2000,
        statement_steps: 300_000,
        ..config()
    };
    let open = |bytes: &[u8]| {
        let opened = database::open(bytes, &config);
        Arc::new(opened.unwrap_or_else(|error| panic!("{error}")))
    };
    let databases: Vec<Attached> = vec![
        ("d0".to_owned(), open(&workbook())),
        ("d1".to_owned(), open(&secret())),
    ];
    let readable = |(name, table): (&str, &database::StoredTable)| Readable::new(name, "d0", table);
    let tables = ["Sales", "Staff"].into_iter().zip(&databases[0].1.tables);
    let bytes = |(_, database): &(String, Arc<Database>)| database.bytes.clone();
    World {
        tables: tables.map(readable).collect(),
        before: databases.iter().map(bytes).collect(),
        databases,
        config,
    }
}

impl World {
    fn run(&self, prepared: &Prepared) -> Result<run::Rows, Refused> {
        let nobody = Arc::new(AtomicBool::new(false));
        run::run(
            prepared,
            &self.tables,
            &self.databases,
            &self.config,
            &nobody,
        )
    }

    /// What a statement gave breaks no limit and holds no secret.
    fn check(&self, sql: &str, ran: &Result<run::Rows, Refused>) {
        let Ok(rows) = ran else { return };
        assert!(rows.rows.len() <= self.config.maximum_rows, "{sql}");
        let text = serde_json::json!(rows.rows).to_string();
        assert!(!text.contains(SECRET), "{sql} reads outside");
        for outside in ["root:", "CREATE TABLE", "a note"] {
            assert!(!text.contains(outside), "{sql} reads outside: {text}");
        }
        assert!(text.len() <= 8 * self.config.maximum_bytes, "{sql}");
    }
}

#[test]
fn no_statement_writes_reads_outside_crashes_or_goes_over_its_limits() {
    let world = world();
    let mut chance = Chance(SEED);
    let (mut ran, mut refused, mut limited, mut past) = (0, 0, 0, 0);
    for _ in 0..STATEMENTS {
        let sql = statement(&mut chance);
        let started = Instant::now();
        match prepare(&sql, &world.tables) {
            Ok(prepared) => {
                let result = world.run(&prepared);
                world.check(&sql, &result);
                match result {
                    Ok(_) => ran += 1,
                    Err(Refused::Limit(_)) => limited += 1,
                    Err(Refused::Statement(_)) => refused += 1,
                }
            }
            Err(_) => refused += 1,
        }
        // The second door by itself: as if the parser had let everything through.
        let unchecked = Prepared {
            sql: sql.clone(),
            reads: vec![0, 1],
            ..Prepared::default()
        };
        let result = world.run(&unchecked);
        world.check(&sql, &result);
        past += usize::from(result.is_ok());
        let most = Duration::from_millis(10 * world.config.statement_ms);
        assert!(
            started.elapsed() < most,
            "{sql} takes {:?}",
            started.elapsed()
        );
    }
    for ((_, database), before) in world.databases.iter().zip(&world.before) {
        assert!(database.bytes == *before, "a database has changed");
    }
    assert_eq!(ran + refused + limited, STATEMENTS);
    // Without some of each the statements would show nothing.
    assert!(
        ran > 20 && limited > 5 && refused > 1000,
        "{ran} {limited} {refused} {past}"
    );
}

#[test]
fn what_takes_too_much_is_ended_and_says_of_what() {
    let world = world();
    let joined = "SELECT count(*) FROM Sales a, Sales b, Sales c, Sales d, Sales e, Sales f, Sales g, Sales h, Sales i, Sales j, Sales k, Sales l, Sales m, Sales n";
    let run = |config: TableConfig, sql: &str| {
        let prepared = prepare(sql, &world.tables);
        let prepared = prepared.unwrap_or_else(|refused| panic!("{refused:?}"));
        let nobody = Arc::new(AtomicBool::new(false));
        run::run(&prepared, &world.tables, &world.databases, &config, &nobody)
    };
    let patient = TableConfig {
        statement_steps: u64::MAX,
        statement_ms: 100,
        ..world.config
    };
    let greedy = TableConfig {
        statement_steps: u64::MAX,
        statement_ms: 60_000,
        statement_memory_bytes: 20_000_000,
        ..world.config
    };
    let sorted = "SELECT DISTINCT a.Region || b.Region || c.Region || d.Region || e.Region || f.Region || g.Region || h.Region || i.Region FROM Sales a, Sales b, Sales c, Sales d, Sales e, Sales f, Sales g, Sales h, Sales i ORDER BY 1";
    let table = [
        (world.config, joined, "steps"),
        (patient, joined, "longer than"),
        (greedy, sorted, "memory"),
    ];
    for (config, sql, expected) in table {
        match run(config, sql) {
            Err(Refused::Limit(message)) => assert!(message.contains(expected), "{message}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
    let given_up = Arc::new(AtomicBool::new(true));
    let prepared = prepare(joined, &world.tables).unwrap_or_else(|refused| panic!("{refused:?}"));
    let ended = run::run(
        &prepared,
        &world.tables,
        &world.databases,
        &patient,
        &given_up,
    );
    assert!(matches!(ended, Err(Refused::Limit(message)) if message.contains("nobody")));
    let few = TableConfig {
        maximum_rows: 3,
        ..world.config
    };
    let rows = run(few, "SELECT a.Region FROM Sales a, Sales b");
    assert!(rows.is_ok_and(|rows| rows.rows.len() == 3 && rows.truncated));
}
