//! Blocks inside a table cell on one line.

use crate::block::Block;

/// A cell on one line: blocks are joined by `<br>`, tables in it go to `inner_tables`, `|` is
/// escaped.
pub fn cell(blocks: Vec<Block>, inner_tables: &mut Vec<Block>) -> String {
    let mut lines = Vec::new();
    for block in blocks {
        cell_lines(block, "", &mut lines, inner_tables);
    }
    lines.join("<br>").replace('|', "\\|")
}

/// Gives all rows the length of the longest, unless that would multiply the table by more than
/// four.
pub fn even_out(mut rows: Vec<Vec<String>>, spare_cells: usize) -> Vec<Vec<String>> {
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells: usize = rows.iter().map(Vec::len).sum();
    let columns = if longest * rows.len() <= 4 * cells + spare_cells {
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
        Block::Math(formula) => lines.push(format!(
            "{mark}${}$",
            formula.split_whitespace().collect::<Vec<_>>().join(" ")
        )),
        Block::Footnote(label, content) => {
            let mark = format!("{mark}[^{label}]: ");
            content
                .into_iter()
                .for_each(|block| cell_lines(block, &mark, lines, inner_tables));
        }
        Block::Rule => {}
    }
}
