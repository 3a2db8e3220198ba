//! `list-table` and `csv-table`, and what all tables share.

use super::explicit::Directive;
use super::parser::Parser;
use crate::block::Block;
use crate::escape::destination;
use crate::table::{cell, even_out};

/// Cells that may be added to make the rows equally long, beside four times as many as there are.
const SPARE_CELLS: usize = 4096;

/// Adds a table, and after it the tables that stood in its cells.
pub(super) fn push_table(
    rows: Vec<Vec<String>>,
    inner_tables: Vec<Block>,
    blocks: &mut Vec<Block>,
) {
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .filter(|row| row.iter().any(|cell| !cell.is_empty()))
        .collect();
    if !rows.is_empty() {
        blocks.push(Block::Table(even_out(rows, SPARE_CELLS)));
    }
    blocks.extend(inner_tables);
}

impl Parser<'_> {
    /// A list of lists. What is no list of lists stays what it is.
    pub(super) fn list_table(&mut self, directive: &Directive, blocks: &mut Vec<Block>) {
        self.caption(directive.argument, blocks);
        let mut inner_tables = Vec::new();
        let mut rows = Vec::new();
        for block in self.inner(&directive.content) {
            let Block::List(_, items) = block else {
                inner_tables.push(block);
                continue;
            };
            for item in items {
                let mut row = Vec::new();
                for part in item {
                    match part {
                        Block::List(_, cells) => row.extend(
                            cells
                                .into_iter()
                                .map(|blocks| cell(blocks, &mut inner_tables)),
                        ),
                        other => inner_tables.push(other),
                    }
                }
                rows.push(row);
            }
        }
        push_table(rows, inner_tables, blocks);
    }

    /// Comma-separated values in the text; a file with them is named.
    pub(super) fn csv_table(&mut self, directive: &Directive, blocks: &mut Vec<Block>) {
        self.caption(directive.argument, blocks);
        for place in ["file", "url"] {
            if let Some(path) = directive.option(place) {
                blocks.push(Block::Paragraph(format!(
                    "[{}]({})",
                    crate::escape::escaped(path),
                    destination(path)
                )));
            }
        }
        let delimiter = delimiter(directive);
        let mut rows = separated_values(directive.option("header").unwrap_or_default(), delimiter);
        rows.extend(separated_values(&directive.content.join("\n"), delimiter));
        let mut inner_tables = Vec::new();
        let mut shown = Vec::with_capacity(rows.len());
        for row in rows {
            shown.push(
                row.iter()
                    .map(|text| self.cell_of(text, &mut inner_tables))
                    .collect(),
            );
        }
        push_table(shown, inner_tables, blocks);
    }

    /// The text of a cell as body elements on one line.
    pub(super) fn cell_of(&mut self, text: &str, inner_tables: &mut Vec<Block>) -> String {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let blocks = self.inner(&super::source::dedent(&lines));
        cell(blocks, inner_tables)
    }
}

fn delimiter(directive: &Directive) -> char {
    match directive.option("delim") {
        Some("tab") => '\t',
        Some("space") => ' ',
        Some(other) => other.chars().next().unwrap_or(','),
        None => ',',
    }
}

/// Rows of values, which may stand in double quotes, doubled inside.
fn separated_values(text: &str, delimiter: char) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let Some(row) = rows.last_mut() else { break };
        let Some(value) = row.last_mut() else { break };
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                value.push('"');
            }
            '"' if quoted || value.trim().is_empty() => {
                quoted = !quoted;
                if quoted {
                    value.clear();
                }
            }
            '\n' if !quoted => rows.push(vec![String::new()]),
            other if other == delimiter && !quoted => row.push(String::new()),
            other => value.push(other),
        }
    }
    rows.retain(|row| row.iter().any(|value| !value.trim().is_empty()));
    rows
}
