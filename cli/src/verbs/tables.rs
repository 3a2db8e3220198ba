//! `tributary tables`: tables of documents listed, and asked by SQL.

use std::fmt::Write;
use std::io::IsTerminal;

use anyhow::{Result, bail};
use serde_json::Value;
use tributary_schemas::table_query::{
    ANSWERED, DocumentTable, RowOrigin, TableAnswer, TableList, TableQueryRequest,
};

use crate::args::{Global, ListTables, QueryTables, Service, ShowTables, Tables};
use crate::client::{Client, segment};
use crate::config::Config;
use crate::names;
use crate::print::{self, Outcome};

/// Characters of a cell that are printed.
const LONGEST_CELL: usize = 60;

/// Runs one of them.
pub fn run(global: &Global, config: &Config, verb: Tables) -> Result<Outcome> {
    let client = Client::connect(global, config, &[Service::Query])?;
    let outcome = match verb {
        Tables::List(wanted) => list(&client, &wanted).map(|()| Outcome::Done)?,
        Tables::Show(wanted) => show(&client, &wanted).map(|()| Outcome::Done)?,
        Tables::Query(wanted) => query(&client, &wanted)?,
    };
    client.close()?;
    Ok(outcome)
}

fn list(client: &Client, wanted: &ListTables) -> Result<()> {
    let conditions = [("source", &wanted.source), ("knowledge_set", &wanted.set)];
    let conditions: String = conditions
        .iter()
        .filter_map(|(name, value)| Some(format!("&{name}={}", segment(value.as_deref()?))))
        .collect();
    let found = all(client, &conditions)?;
    print::result(wanted.output, &found, || {
        let mut text = String::new();
        for table in &found.tables {
            let columns = table.columns.len();
            let place = place(table);
            writeln!(
                text,
                "{}  {} rows, {columns} columns  {place}",
                table.name, table.rows
            )
            .ok();
        }
        if found.tables.is_empty() {
            text.push_str("there are no tables\n");
        }
        text + &left_out(&found)
    })
}

fn show(client: &Client, wanted: &ShowTables) -> Result<()> {
    let found = all(client, &format!("&document={}", segment(&wanted.document)))?;
    if found.tables.is_empty() && found.left_out.is_empty() {
        bail!(
            "`{}` has no tables that can be asked\nhint: spreadsheets and delimited text have them, once they are searchable; `tributary tables list` names all",
            wanted.document
        );
    }
    print::result(wanted.output, &found, || {
        let tables: Vec<String> = found.tables.iter().map(described).collect();
        tables.join("\n") + &left_out(&found)
    })
}

/// All pages.
fn all(client: &Client, conditions: &str) -> Result<TableList> {
    let mut found = TableList::default();
    loop {
        let after = found
            .next
            .take()
            .map(|after| format!("&after={}", segment(&after)));
        let after = after.unwrap_or_default();
        let page: TableList = client.get(&format!("/v1/tables?limit=50{conditions}{after}"))?;
        found.tables.extend(page.tables);
        found.left_out.extend(page.left_out);
        found.next = page.next;
        if found.next.is_none() {
            return Ok(found);
        }
    }
}

fn left_out(found: &TableList) -> String {
    match found.left_out.as_slice() {
        [] => String::new(),
        ids => format!(
            "too large or damaged, the server's log says why: {}\n",
            ids.join(", ")
        ),
    }
}

fn place(table: &DocumentTable) -> String {
    let name = names::of(&table.source, &table.source_path, &table.document_id);
    match table.sheet.is_empty() {
        true => name,
        false => format!("{name}, {} {}", table.sheet, table.range),
    }
}

fn described(table: &DocumentTable) -> String {
    let mut text = format!("{}  {} rows  {}\n", table.name, table.rows, place(table));
    for column in &table.columns {
        let kind = serde_json::json!(column.kind);
        let kind = kind.as_str().unwrap_or_default();
        let samples = column.samples.join(" · ");
        writeln!(text, "  {}  {kind}  {samples}", column.name).ok();
    }
    text
}

/// Failed where there are no rows because something went wrong, which the answer says.
fn query(client: &Client, wanted: &QueryTables) -> Result<Outcome> {
    let request = TableQueryRequest {
        question: wanted.question.clone().unwrap_or_default(),
        sql: wanted.sql.clone(),
        filter: wanted.filter.filter(),
        maximum_rows: wanted.rows,
        ..TableQueryRequest::default()
    };
    let answer: TableAnswer = client.post("/v1/tables/query", &request)?;
    let is_terminal = std::io::stdout().is_terminal();
    print::result(wanted.output, &answer, || told(&answer, is_terminal))?;
    Ok(match answer.err_code {
        ANSWERED => Outcome::Done,
        _ => Outcome::Failed,
    })
}

fn told(answer: &TableAnswer, is_terminal: bool) -> String {
    let mut text = String::new();
    if !answer.sql.is_empty() {
        writeln!(text, "{}\n", answer.sql).ok();
    }
    if answer.err_code == ANSWERED {
        text.push_str(&rows(answer, is_terminal));
    } else {
        writeln!(text, "{} ({})", answer.err_msg, answer.err_code).ok();
    }
    if answer.truncated {
        text.push_str("there are more rows\n");
    }
    list_tables(answer, &mut text);
    if answer.repaired {
        text.push_str("a first statement failed and was mended\n");
    }
    if !answer.degraded.is_empty() {
        writeln!(text, "degraded: {}", answer.degraded.join(", ")).ok();
    }
    text
}

/// The tables that were read, or else those that could have been.
fn list_tables(answer: &TableAnswer, text: &mut String) {
    let is_read = answer.tables.iter().any(|table| table.used);
    let tables = answer.tables.iter().filter(|table| table.used || !is_read);
    for table in tables {
        let what = if is_read { "from" } else { "could be asked" };
        writeln!(text, "{what}: {}  {}", table.name, place(table)).ok();
    }
}

/// The rows, and the row of the sheet behind each where it is known.
fn rows(answer: &TableAnswer, is_terminal: bool) -> String {
    let names = answer.columns.iter().map(|column| column.name.clone());
    let mut rows = vec![names.collect::<Vec<_>>()];
    for (at, row) in answer.rows.iter().enumerate() {
        let mut cells: Vec<String> = row.iter().map(cell).collect();
        let origins = answer.origins.get(at).map_or(&[][..], Vec::as_slice);
        let origins: Vec<String> = origins.iter().map(origin).collect();
        if !origins.is_empty() {
            cells.push(format!("({})", origins.join(", ")));
        }
        rows.push(cells);
    }
    print::rows(&rows, is_terminal)
}

fn origin(origin: &RowOrigin) -> String {
    format!("row {}", origin.sheet_row.unwrap_or(origin.row))
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        // SQLite's numbers that were made from text are real: 336.0.
        other => {
            let text = other.to_string();
            text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
        }
    };
    let shown = text
        .chars()
        .map(|one| if one.is_control() { ' ' } else { one });
    shown.take(LONGEST_CELL).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_shows_statement_rows_and_places() {
        let answer = json!({"question": "q", "err_code": 0, "err_msg": "", "sql": "SELECT 1",
            "executed_sql": "SELECT 1", "columns": [{"name": "Region", "kind": "text"}, {"name": "Units", "kind": "integer"}],
            "rows": [["North\n", 120], [null, 2]], "origins": [[{"table": 0, "row": 1, "sheet_row": 3}], [{"table": 0, "row": 2}]],
            "truncated": true, "chart": {"kind": "bar", "label": 0, "values": [1]},
            "tables": [{"name": "Sales", "document_id": "d", "version": 1, "source": "s", "source_path": "a.xlsx",
                "document_title": "A", "title": "", "sheet": "Sheet 1", "range": "A1:B4", "rows": 2, "columns": [], "used": true}],
            "repaired": true, "degraded": ["reranker"], "took_ms": 1.0});
        let answer: TableAnswer =
            serde_json::from_value(answer).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            told(&answer, false),
            "SELECT 1\n\nRegion\tUnits\nNorth \t120\t(row 3)\n\t2\t(row 2)\nthere are more rows\n\
             from: Sales  s/a.xlsx, Sheet 1 A1:B4\na first statement failed and was mended\ndegraded: reranker\n"
        );
    }
}
