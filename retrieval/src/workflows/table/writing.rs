//! A model writes the statement: it is shown the tables with names, types and samples, as data, and a
//! statement that failed with what is wrong with it.

use std::fmt::Write;
use std::time::{Duration, Instant};

use tributary_models::chat::{ChatModel, Role};
use tributary_schemas::table_query::{DocumentTable, NO_TABLES, TIMED_OUT, UNCLEAR, ValueKind};

use super::super::Asker;
use super::super::calling::Calls;
use crate::prompts::{SqlReply, TABLE_SQL, ToWriteSql};

/// There is no model of the role `sql`.
pub const NO_MODEL: u16 = 1;
/// Columns of a table that a model is shown.
const MOST_COLUMNS: usize = 80;

/// What a model replied.
pub enum Written {
    Statement(String),
    /// A code of an answer, and why.
    Nothing(u16, String),
}

/// Has statements written for one question.
pub struct Writer<'a> {
    asker: &'a Asker,
    question: &'a str,
    tables: Vec<String>,
}

impl<'a> Writer<'a> {
    pub fn new(asker: &'a Asker, question: &'a str, tables: &[DocumentTable]) -> Self {
        Self {
            asker,
            question,
            tables: tables.iter().map(shown).collect(),
        }
    }

    /// The model that writes.
    pub fn model(&self) -> Option<String> {
        let model = self.asker.parts.chat.role(Role::Sql)?;
        Some(model.describe().model)
    }

    /// A statement, or a better one than the one that failed so.
    pub async fn write(&self, failed: Option<(&str, &str)>) -> Written {
        if self.asker.parts.chat.role(Role::Sql).is_none() {
            let message = "no language model of the role `sql` is configured";
            return Written::Nothing(NO_MODEL, message.to_owned());
        }
        let config = self.asker.config().table;
        let calls = Calls {
            asker: self.asker,
            question: self.question,
            deadline: Instant::now() + Duration::from_millis(config.deadline_ms),
            reply_tokens: config.reply_tokens,
        };
        let (sql, error) = failed.unwrap_or(("", ""));
        let values = |tables: &[String]| ToWriteSql {
            question: self.question,
            tables: tables.to_vec(),
            sql,
            error,
        };
        let reply: Option<SqlReply> = calls.ask_of_parts(TABLE_SQL, &self.tables, values).await;
        match reply {
            None => Written::Nothing(TIMED_OUT, self.unwritten(calls.deadline).to_owned()),
            Some(reply) => read(reply),
        }
    }

    /// Why there is no statement.
    fn unwritten(&self, deadline: Instant) -> &'static str {
        let role = self.asker.parts.chat.role(Role::Sql);
        if role.is_some_and(|role| role.endpoint().is_away()) {
            return "the language model failed several times in a row and is left alone for some \
                seconds, so that it wrote no statement; ask again then, or give one";
        }
        match Instant::now() < deadline {
            true => "the language model could not be asked, or wrote no statement that can be read",
            false => "the language model wrote no statement in time",
        }
    }
}

fn read(reply: SqlReply) -> Written {
    let sql = reply.sql.trim();
    // A statement that is there is tried, whatever the code says: small models mix them up.
    if !sql.is_empty() {
        return Written::Statement(sql.to_owned());
    }
    let code = match reply.err_code {
        code if code == i64::from(NO_TABLES) => NO_TABLES,
        _ => UNCLEAR,
    };
    let message = match reply.err_msg.trim() {
        "" => "the language model wrote no statement",
        message => message,
    };
    Written::Nothing(code, message.to_owned())
}

/// A table as a model is shown it.
fn shown(table: &DocumentTable) -> String {
    let mut text = format!("Table \"{}\": {} rows", table.name, table.rows);
    let about = [
        ("title", &table.title),
        ("sheet", &table.sheet),
        ("document", &table.document_title),
    ];
    for (what, value) in about.iter().filter(|(_, value)| !value.is_empty()) {
        write!(text, ", {what} {value}").ok();
    }
    for column in table.columns.iter().take(MOST_COLUMNS) {
        let kind = match column.kind {
            ValueKind::Integer => "INTEGER",
            ValueKind::Number => "REAL",
            ValueKind::Date => "TEXT, ISO date",
            ValueKind::Text => "TEXT",
        };
        write!(text, "\n- \"{}\" {kind}", column.name).ok();
        if let Some(from) = &column.made_from {
            write!(text, ", the number in \"{from}\"").ok();
        }
        if !column.samples.is_empty() {
            write!(text, ": {}", samples(&column.samples, column.kind)).ok();
        }
    }
    if table.columns.len() > MOST_COLUMNS {
        write!(text, "\n- and {} more", table.columns.len() - MOST_COLUMNS).ok();
    }
    text
}

fn samples(samples: &[String], kind: ValueKind) -> String {
    let is_number = matches!(kind, ValueKind::Integer | ValueKind::Number);
    let sample = |text: &String| match is_number {
        true => text.clone(),
        false => format!("'{}'", text.replace('\'', "''")),
    };
    samples.iter().map(sample).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(sql: &str, err_code: i64, err_msg: &str) -> Written {
        read(SqlReply {
            sql: sql.to_owned(),
            err_code,
            err_msg: err_msg.to_owned(),
        })
    }

    #[test]
    fn a_reply_is_a_statement_or_says_why_there_is_none() {
        assert!(matches!(reply(" SELECT 1 ", 0, ""), Written::Statement(sql) if sql == "SELECT 1"));
        assert!(
            matches!(reply("", 3003, "no such table"), Written::Nothing(3003, why) if why == "no such table")
        );
        assert!(
            matches!(reply("", 3005, "which year?"), Written::Nothing(3005, why) if why == "which year?")
        );
        assert!(matches!(reply("", 0, ""), Written::Nothing(3005, _)));
    }
}
