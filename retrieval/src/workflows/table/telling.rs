//! Rows as text: the whole answer of the workflow `table`, and a passage of a general one.

use std::fmt::Write;

use serde_json::Value;
use tributary_schemas::ChunkKind;
use tributary_schemas::ask::Source;
use tributary_schemas::search::Passage;
use tributary_schemas::table_query::{DocumentTable, TableAnswer};

/// Characters of a cell.
const LONGEST_CELL: usize = 200;

/// The answer: a value, or a table, and the citations of its documents.
pub fn rows(answer: &TableAnswer, sources: &[Source], most: usize, is_chinese: bool) -> String {
    let cited: Vec<String> = sources
        .iter()
        .map(|source| format!("[{}]", source.number))
        .collect();
    let cited = cited.join("");
    match answer.rows.as_slice() {
        [] if is_chinese => format!("没有符合条件的行 {cited}"),
        [] => format!("No row of the tables matches. {cited}"),
        [row] if row.len() == 1 => {
            let value = row.first().map_or_else(String::new, cell);
            format!("{value} {cited}")
        }
        _ => format!("{}\n{cited}", table(answer, most, is_chinese)),
    }
}

/// Why the tables that were found could not be asked, and which they are.
pub fn unasked(answer: &TableAnswer, sources: &[Source], is_chinese: bool) -> String {
    let number = |table: &DocumentTable| {
        let source = sources
            .iter()
            .find(|source| source.document_id == table.document_id);
        source.map_or_else(String::new, |source| format!(" [{}]", source.number))
    };
    let tables: Vec<String> = answer
        .tables
        .iter()
        .map(|table| format!("- {}{}", place(table), number(table)))
        .collect();
    let (why, tables) = (&answer.err_msg, tables.join("\n"));
    match is_chinese {
        true => format!("找到了可能有答案的表格，但没能查询（{why}）：\n\n{tables}"),
        false => {
            format!("These tables may have the answer, but could not be asked ({why}):\n\n{tables}")
        }
    }
}

/// The rows as a model reads them, with the statement that they come from.
pub fn passage(answer: &TableAnswer, most: usize) -> String {
    let names = answer.tables.iter().filter(|table| table.used);
    let names: Vec<String> = names.map(place).collect();
    format!(
        "{}\n\n{}\n\n{}",
        names.join("; "),
        answer.sql,
        table(answer, most, false)
    )
}

/// `Sales 2023 (sales.xlsx, Sheet 1)`.
fn place(table: &DocumentTable) -> String {
    let places = [table.source_path.as_str(), table.sheet.as_str()];
    let places: Vec<&str> = places.into_iter().filter(|one| !one.is_empty()).collect();
    format!("{} ({})", table.name, places.join(", "))
}

fn table(answer: &TableAnswer, most: usize, is_chinese: bool) -> String {
    let mut text = String::new();
    let head: Vec<String> = answer
        .columns
        .iter()
        .map(|one| escaped(&one.name))
        .collect();
    writeln!(text, "| {} |", head.join(" | ")).ok();
    writeln!(text, "|{}", "---|".repeat(head.len())).ok();
    for row in answer.rows.iter().take(most) {
        let cells: Vec<String> = row.iter().map(cell).collect();
        writeln!(text, "| {} |", cells.join(" | ")).ok();
    }
    let more = answer.rows.len().saturating_sub(most);
    match (more, answer.truncated, is_chinese) {
        (0, false, _) => {}
        (more, false, true) => {
            writeln!(text, "\n还有 {more} 行。").ok();
        }
        (more, false, false) => {
            writeln!(text, "\n{more} more rows.").ok();
        }
        (_, true, true) => {
            writeln!(text, "\n还有更多行。").ok();
        }
        (_, true, false) => {
            writeln!(text, "\nThere are more rows.").ok();
        }
    }
    text
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => escaped(text),
        other => other.to_string(),
    }
}

/// Text of a cell is text, not Markdown.
fn escaped(text: &str) -> String {
    let mut shown = String::new();
    for one in text.chars().take(LONGEST_CELL) {
        match one {
            '\n' | '\r' | '\t' => shown.push(' '),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '$' | '~' | '&' => {
                shown.push('\\');
                shown.push(one);
            }
            one if one.is_control() => {}
            one => shown.push(one),
        }
    }
    if text.chars().count() > LONGEST_CELL {
        shown.push('…');
    }
    shown
}

/// The beginning of a table's document as a source.
pub fn first_source(number: u32, table: &DocumentTable, passage: Passage) -> Source {
    Source {
        number,
        cited: false,
        chunk_id: passage.chunk_id,
        document_id: table.document_id.clone(),
        version: table.version,
        source: table.source.clone(),
        source_path: table.source_path.clone(),
        title: table.document_title.clone(),
        section_path: passage.section_path,
        pages: Vec::new(),
        url: String::new(),
        kind: ChunkKind::Leaf,
        text: passage.text,
        language: passage.language,
        description: None,
        lines: None,
        images: Vec::new(),
        relevance: None,
        spans: Vec::new(),
        live: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::source;
    use serde_json::json;
    use tributary_schemas::table_query::{ResultColumn, ValueKind};

    fn answer(rows: Vec<Vec<Value>>) -> TableAnswer {
        let column = |name: &str| ResultColumn {
            name: name.to_owned(),
            kind: ValueKind::Text,
        };
        let width = rows.first().map_or(1, Vec::len);
        let names = ["Region", "Units|sold"];
        TableAnswer {
            columns: names.iter().take(width).map(|name| column(name)).collect(),
            rows,
            ..TableAnswer::default()
        }
    }

    #[test]
    fn rows_are_told_with_their_citations_and_cells_are_no_markdown() {
        let sources = [source(1, "x"), source(2, "y")];
        let say = |rows: Vec<Vec<Value>>| super::rows(&answer(rows), &sources, 2, false);
        assert_eq!(say(vec![vec![json!(7)]]), "7 [1][2]");
        assert_eq!(say(Vec::new()), "No row of the tables matches. [1][2]");
        let three = vec![
            vec![json!("a [3] <b>"), json!(1)],
            vec![json!(null), json!(2.5)],
            vec![json!("c"), json!(3)],
        ];
        assert_eq!(
            say(three),
            "| Region | Units\\|sold |\n|---|---|\n| a \\[3\\] \\<b\\> | 1 |\n| – | 2.5 |\n\n1 more rows.\n\n[1][2]"
        );
    }
}
