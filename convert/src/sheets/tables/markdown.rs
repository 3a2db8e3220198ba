//! Tables as Markdown, in groups of rows with the header repeated, and within a budget of bytes.

use super::plan::Plan;
use super::value::{Cell, Row, Value};
use crate::config::TablesConfig;
use crate::escape::{destination, escape_starts, needs_escape};
use crate::links::MAXIMUM_LINK_BYTES;
use crate::table::{push_row, push_rule};

/// How much is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Data rows between two headers.
    pub rows_per_group: u64,
    /// Data rows of a table.
    pub maximum_rows: u64,
    /// Bytes that the whole Markdown may have before a row is left out.
    pub maximum_bytes: usize,
}

impl Extent {
    /// As the settings say.
    pub(crate) fn of(config: &TablesConfig) -> Self {
        Self {
            rows_per_group: config.rows_per_group,
            maximum_rows: config.maximum_markdown_rows,
            maximum_bytes: config.maximum_markdown_bytes,
        }
    }
}

/// Writes one table row by row.
#[derive(Debug)]
pub(crate) struct TableWriter<'a> {
    out: &'a mut String,
    plan: &'a Plan,
    extent: Extent,
    /// The line or lines of the header that stand at the top of each further group.
    header: String,
    rows: u64,
    data_rows: u64,
    /// Rows left out.
    pub left_out: u64,
}

impl<'a> TableWriter<'a> {
    /// Begins a table; the Markdown ends with a blank line.
    pub(crate) fn new(out: &'a mut String, plan: &'a Plan, extent: Extent) -> Self {
        Self {
            out,
            plan,
            extent,
            header: String::new(),
            rows: 0,
            data_rows: 0,
            left_out: 0,
        }
    }

    /// Adds the next row of the table, titles and header among them.
    pub(crate) fn add(&mut self, row: &Row<'_>) {
        let head = (self.plan.titles + self.plan.header_rows) as u64;
        let index = self.rows;
        self.rows += 1;
        // Titles stand above the header, not in its place.
        let first = if self.plan.header_rows > 0 {
            self.plan.titles as u64
        } else {
            0
        };
        if index < first {
            if let Some(cell) = row.cells.iter().find(|cell| !cell.is_blank()) {
                self.out.extend([paragraph(cell).as_str(), "\n\n"]);
            }
            return;
        }
        if index >= head {
            if self.data_rows >= self.extent.maximum_rows
                || self.out.len() >= self.extent.maximum_bytes
            {
                self.left_out += 1;
                return;
            }
            if self.data_rows > 0
                && self
                    .data_rows
                    .is_multiple_of(self.extent.rows_per_group.max(1))
            {
                self.begin_group();
            }
            self.data_rows += 1;
        }
        let start = self.out.len();
        write_row(row, self.plan, self.out);
        if index == first {
            push_rule(self.plan.columns.len(), self.out);
        }
        if (self.plan.titles as u64..head).contains(&index) {
            let line = self
                .out
                .get(start..)
                .and_then(|text| text.lines().next())
                .unwrap_or_default();
            self.header.push_str(line);
            self.header.push('\n');
            if index == self.plan.titles as u64 {
                push_rule(self.plan.columns.len(), &mut self.header);
            }
        }
    }

    /// The header again; a table without one shows the columns' names in the database.
    fn begin_group(&mut self) {
        if self.header.is_empty() {
            let names: Vec<String> = self
                .plan
                .columns
                .iter()
                .map(|column| escaped(&column.name))
                .collect();
            push_row(&names, &mut self.header);
            push_rule(names.len(), &mut self.header);
        }
        self.out.push('\n');
        self.out.push_str(&self.header);
    }
}

/// Cells are written as they come, and an empty one takes no more than a blank: tables of workbooks are
/// large and have gaps.
fn write_row(row: &Row<'_>, plan: &Plan, out: &mut String) {
    out.push('|');
    let mut cells = row.cells.iter().peekable();
    for column in &plan.columns {
        while cells.next_if(|cell| cell.column < column.place).is_some() {}
        out.push(' ');
        if let Some(cell) = cells.next_if(|cell| cell.column == column.place) {
            let before = out.len();
            write_cell(cell, out);
            if out.len() == before {
                out.pop();
            }
        } else {
            out.pop();
        }
        out.push_str(" |");
    }
    out.push('\n');
}

/// A cell's text on one line.
pub(crate) fn write_cell(cell: &Cell<'_>, out: &mut String) {
    let text = cell.text();
    let link = cell.link.as_deref().map(str::trim).filter(|link| {
        !link.is_empty() && link.len() <= MAXIMUM_LINK_BYTES && *link != text.trim()
    });
    match link {
        Some(link) if !text.trim().is_empty() => {
            out.push('[');
            write_escaped(text.trim(), true, out);
            // A `|` would end the cell.
            let target = destination(&clean(link)).replace('|', "%7C");
            out.push_str("](");
            out.push_str(&target);
            out.push(')');
        }
        _ if matches!(cell.value, Value::Text(_)) || cell.shown.is_some() => {
            write_escaped(text.trim(), false, out)
        }
        _ => out.push_str(&text),
    }
}

fn clean(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_control())
        .collect()
}

/// Text of a table cell.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    write_escaped(text.trim(), false, &mut out);
    out
}

/// Text on one line with the marks escaped that Markdown would read; line ends become `<br>`, other
/// control characters blanks.
fn write_escaped(text: &str, in_link: bool, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    let mut previous = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' | '\r' | '\u{B}' | '\u{2028}' | '\u{2029}' | '\u{85}' => out.push_str("<br>"),
            _ if character.is_control() => out.push(' '),
            _ => {
                if character == '|'
                    || needs_escape(character, previous, characters.peek().copied(), in_link)
                {
                    out.push('\\');
                }
                out.push(character);
            }
        }
        previous = Some(character);
    }
}

/// Whether no character of the text means anything to Markdown.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || byte >= 0x80
            || matches!(byte, b' ' | b'.' | b',' | b':' | b'-' | b'/' | b'(' | b')')
    };
    text.bytes().all(is_plain) && !text.contains(['\u{2028}', '\u{2029}', '\u{85}'])
}

/// A paragraph of one cell: what would begin a heading, list, quote or rule is escaped.
pub(crate) fn paragraph(cell: &Cell<'_>) -> String {
    let mut text = String::new();
    write_cell(cell, &mut text);
    match cell.value {
        Value::Text(_) => escape_starts(&text),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_on_one_line_and_in_their_cell() {
        assert_eq!(escaped("a|b\r\nc\u{C}d\0"), "a\\|b<br>c d ");
        assert_eq!(
            escaped("*a* <b> snake_case 2 * 3 `x` [t](u)"),
            "\\*a\\* \\<b> snake_case 2 * 3 \\`x\\` [t\\](u)"
        );
        let mut linked = Cell::new(0, Value::Text("see [1]".into()));
        linked.link = Some("https://host/a b|c".into());
        let mut out = String::new();
        write_cell(&linked, &mut out);
        assert_eq!(out, "[see \\[1\\]](<https://host/a b%7Cc>)");
    }

    #[test]
    fn paragraphs_begin_no_other_block() {
        for (text, expected) in [
            ("# x", "\\# x"),
            ("- x", "\\- x"),
            ("12. x", "12\\. x"),
            ("1.5 m", "1.5 m"),
            ("plain", "plain"),
        ] {
            assert_eq!(paragraph(&Cell::new(0, Value::Text(text.into()))), expected);
        }
        assert_eq!(paragraph(&Cell::new(0, Value::Integer(-3))), "-3");
    }
}
