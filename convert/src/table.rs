//! Tables of Markdown: rows, and what stands in a cell.

use crate::blanks::collapsed;
use crate::block::Block;

/// Adds a table of ready cells; the first row is the header.
pub(crate) fn push_table(rows: &[Vec<String>], out: &mut String) {
    for (index, row) in rows.iter().enumerate() {
        push_row(row, out);
        if index == 0 {
            push_rule(row.len(), out);
        }
    }
}

/// Adds a row of ready cells.
pub(crate) fn push_row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>, out: &mut String) {
    out.push('|');
    for cell in cells {
        out.push(' ');
        out.push_str(cell.as_ref());
        out.push_str(" |");
    }
    out.push('\n');
}

/// Adds what parts a header of so many columns from the rows below it.
pub(crate) fn push_rule(columns: usize, out: &mut String) {
    out.push('|');
    (0..columns).for_each(|_| out.push_str(" --- |"));
    out.push('\n');
}

/// Markdown as a cell: on one line, without what would end the cell.
pub(crate) fn ready_cell(markdown: &str) -> String {
    markdown.replace('|', "\\|").replace('\n', "<br>")
}

/// Whether a table of that many cells may be filled up to so many rows and columns, which `spare`
/// more cells are free for, without being multiplied by more than four.
pub(crate) fn may_fill(rows: usize, columns: usize, cells: usize, spare: usize) -> bool {
    rows.saturating_mul(columns) <= 4 * cells + spare
}

/// A cell on one line: blocks are joined by `<br>`, tables in it go to `inner_tables`, `|` is
/// escaped.
pub(crate) fn cell(blocks: Vec<Block>, inner_tables: &mut Vec<Block>) -> String {
    let mut lines = Vec::new();
    for block in blocks {
        cell_lines(block, "", &mut lines, inner_tables);
    }
    lines.join("<br>").replace('|', "\\|")
}

/// Gives all rows the length of the longest, unless that would multiply the table by more than
/// four.
pub(crate) fn even_out(mut rows: Vec<Vec<String>>, spare_cells: usize) -> Vec<Vec<String>> {
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells: usize = rows.iter().map(Vec::len).sum();
    let columns = if may_fill(rows.len(), longest, cells, spare_cells) {
        longest
    } else {
        0
    };
    for row in &mut rows {
        if row.len() < columns {
            row.resize(columns, String::new());
        }
    }
    rows
}

fn cell_lines(block: Block, mark: &str, lines: &mut Vec<String>, inner_tables: &mut Vec<Block>) {
    match block {
        Block::Heading(_, text) => lines.push(format!("{mark}**{text}**")),
        Block::Paragraph(text) => lines.push(format!("{mark}{}", text.replace('\n', "<br>"))),
        Block::Code(_, code) => lines.extend(
            code.lines()
                .filter(|line| !line.trim().is_empty())
                .map(|line| format!("`{}`", line.trim().replace('`', "'"))),
        ),
        Block::List(start, items) => {
            for (item, number) in items.into_iter().zip(start.unwrap_or(0)..) {
                let mark = if start.is_some() {
                    format!("{number}. ")
                } else {
                    "- ".to_owned()
                };
                for (place, block) in item.into_iter().enumerate() {
                    cell_lines(
                        block,
                        if place == 0 { &mark } else { "" },
                        lines,
                        inner_tables,
                    );
                }
            }
        }
        Block::Quote(content) => content
            .into_iter()
            .for_each(|block| cell_lines(block, mark, lines, inner_tables)),
        Block::Table(_) => inner_tables.push(block),
        Block::Math(formula) => lines.push(format!("{mark}${}$", collapsed(&formula))),
        Block::Footnote(label, content) => {
            let mark = format!("{mark}[^{label}]: ");
            content
                .into_iter()
                .for_each(|block| cell_lines(block, &mark, lines, inner_tables));
        }
        Block::Rule => {}
    }
}
