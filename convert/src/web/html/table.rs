//! Tables: layout tables are unfolded into blocks, data tables become Markdown tables with their
//! spans filled, tables within cells follow the table that they stand in.

use scraper::ElementRef;

use super::Tree;
use super::blocks::Builder;
use super::inline::Inline;
use crate::block::Block;
use crate::table::{cell, even_out};

/// Most columns that one `colspan` covers, and most rows of one `rowspan`.
const MAXIMUM_SPAN: usize = 200;

/// Cells that spans may add to a table, beside as many as it has itself.
const SPARE_CELLS: usize = 4096;

/// Average characters of a cell from which a table without header cells is taken for layout.
const LAYOUT_CELL_CHARACTERS: usize = 300;

/// The same for cells with tables or code in them.
const BLOCK_CELL_CHARACTERS: usize = 80;

/// Elements below a cell that are looked at.
const MAXIMUM_LOOK: usize = 2000;

/// Groups of rows within each other that are looked through.
const MAXIMUM_GROUPS: usize = 4;

/// Characters of a cell that names what the rest of its row is about, at most.
const NAME_CHARACTERS: usize = 60;

/// Rows from which on names in front of long texts make a table of records.
const RECORD_ROWS: usize = 3;

/// Elements that make a cell a section of the page.
const SECTIONS: [&str; 9] = ["h1", "h2", "h3", "h4", "h5", "h6", "article", "form", "hr"];

struct Cell<'a> {
    node: Tree<'a>,
    is_header: bool,
    columns: usize,
    rows: usize,
}

/// Adds the blocks of a table.
pub(super) fn table(builder: &mut Builder, node: Tree, blocks: &mut Vec<Block>) {
    let mut found = Parts::default();
    found.collect(builder, node, 0);
    let rows: Vec<Vec<Cell>> = found
        .rows
        .into_iter()
        .map(|row| own_cells(builder, row))
        .filter(|cells| !cells.is_empty())
        .collect();
    for caption in node
        .children()
        .filter(|child| is_named(*child, &["caption"]) && !builder.selection.leaves_out(*child))
    {
        blocks.extend(caption_block(builder, caption));
    }
    if is_layout(builder, node, &rows) {
        for cell in rows.into_iter().flatten() {
            blocks.extend(builder.blocks(cell.node));
        }
        for other in found.others {
            blocks.extend(builder.blocks(other));
        }
        return;
    }
    let mut inner_tables = Vec::new();
    let grid = grid(builder, &rows, &mut inner_tables);
    if !grid.is_empty() {
        blocks.push(Block::Table(grid));
    }
    blocks.extend(inner_tables);
    for other in found.others {
        blocks.extend(builder.blocks(other));
    }
}

/// A caption in bold; `None` if it is empty.
fn caption_block(builder: &mut Builder, caption: Tree) -> Option<Block> {
    let mut inline = Inline::heading();
    builder.inline_children(caption, &mut inline);
    let text = inline.finish();
    (!text.is_empty()).then(|| Block::Paragraph(format!("**{}**", text.replace('\n', " "))))
}

fn is_named(node: Tree, names: &[&str]) -> bool {
    ElementRef::wrap(node).is_some_and(|element| names.contains(&element.value().name()))
}

/// What stands in a table, without what is in tables inside it.
#[derive(Default)]
struct Parts<'a> {
    rows: Vec<Tree<'a>>,
    /// What is neither row nor caption; only a table by its role has such.
    others: Vec<Tree<'a>>,
}

impl<'a> Parts<'a> {
    /// Adds what is below a node. Between a table by its role and its rows there may be anything
    /// that means nothing.
    fn collect(&mut self, builder: &Builder, node: Tree<'a>, depth: usize) {
        for child in node.children().filter(|child| child.value().is_element()) {
            if builder.selection.leaves_out(child)
                || is_named(child, &["caption", "colgroup", "col"])
            {
                continue;
            }
            if is_named(child, &["tr"]) {
                self.rows.push(child);
            } else if is_group(child) && depth < MAXIMUM_GROUPS {
                self.collect(builder, child, depth + 1);
            } else {
                self.others.push(child);
            }
        }
    }
}

/// Whether an element groups rows.
fn is_group(node: Tree) -> bool {
    is_named(node, &["thead", "tbody", "tfoot"])
        || (is_named(node, &["div", "span"]) && holds(node, &["tr"]))
}

fn own_cells<'a>(builder: &Builder, row: Tree<'a>) -> Vec<Cell<'a>> {
    let mut cells = Vec::new();
    push_cells(builder, row, &mut cells, 0);
    cells
}

/// Adds the cells below a node. What is no cell in a row by its role is one all the same.
fn push_cells<'a>(builder: &Builder, row: Tree<'a>, cells: &mut Vec<Cell<'a>>, depth: usize) {
    for node in row.children() {
        let Some(element) = ElementRef::wrap(node) else {
            continue;
        };
        if builder.selection.leaves_out(node) {
            continue;
        }
        let name = element.value().name();
        if matches!(name, "div" | "span") && depth < MAXIMUM_GROUPS && holds(node, &["td", "th"]) {
            push_cells(builder, node, cells, depth + 1);
            continue;
        }
        // A form that is begun between cells leaves an empty element.
        if !matches!(name, "td" | "th") && builder.selection.characters(node) == 0 {
            continue;
        }
        let span = |name: &str| {
            element
                .attr(name)
                .or_else(|| element.attr(&format!("aria-{name}")))
                .and_then(|text| text.trim().parse::<usize>().ok())
                .unwrap_or(1)
                .clamp(1, MAXIMUM_SPAN)
        };
        cells.push(Cell {
            node,
            is_header: name == "th",
            columns: span("colspan"),
            rows: span("rowspan"),
        });
    }
}

/// Whether the table only arranges the page.
fn is_layout(builder: &Builder, table: Tree, rows: &[Vec<Cell>]) -> bool {
    let role = ElementRef::wrap(table)
        .and_then(|element| element.attr("role"))
        .unwrap_or_default();
    if matches!(role, "presentation" | "none") {
        return true;
    }
    let has_header = rows.iter().flatten().any(|cell| cell.is_header)
        || table
            .children()
            .any(|child| is_named(child, &["caption", "thead"]));
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    if has_header {
        return columns < 2 && rows.len() < 2;
    }
    let cells = rows.iter().map(Vec::len).sum::<usize>();
    if columns < 2 || (rows.len() < 2 && !has_border(table)) {
        return true;
    }
    let characters = rows
        .iter()
        .flatten()
        .map(|cell| builder.selection.characters(cell.node))
        .sum::<usize>();
    let holds = |names: &[&str]| rows.iter().flatten().any(|cell| holds(cell.node, names));
    let arranges_blocks = holds(&["table", "pre"])
        && (characters > cells * BLOCK_CELL_CHARACTERS || is_nested_twice(rows));
    let is_grid = || rows.iter().all(|row| row.len() == columns);
    (arranges_blocks || holds(&SECTIONS) || characters > cells * LAYOUT_CELL_CHARACTERS)
        && !(is_grid() && (are_records(builder, rows) || are_titles(builder, rows)))
}

/// Whether the table says that its cells are parted by lines.
fn has_border(table: Tree) -> bool {
    ElementRef::wrap(table)
        .and_then(|element| element.attr("border"))
        .is_some_and(|border| border.trim() != "0")
}

/// Whether each row begins with a short name and no cell holds a table or code: however long the
/// other cells are, they are about that name.
fn are_records(builder: &Builder, rows: &[Vec<Cell>]) -> bool {
    let is_name =
        |cell: &Cell| (1..=NAME_CHARACTERS).contains(&builder.selection.characters(cell.node));
    rows.len() >= RECORD_ROWS
        && rows.iter().all(|row| row.first().is_some_and(is_name))
        && !rows
            .iter()
            .flatten()
            .any(|cell| holds(cell.node, &SECTIONS) || holds(cell.node, &["table", "pre"]))
}

/// Whether headings are nothing but the look of the first row: each is all of its cell.
fn are_titles(builder: &Builder, rows: &[Vec<Cell>]) -> bool {
    let heading = |cell: &Cell| {
        let mut below = cell.node.descendants().skip(1).take(MAXIMUM_LOOK);
        below
            .find(|below| is_named(*below, &SECTIONS))
            .map(|heading| builder.selection.characters(heading))
    };
    let is_title = |cell: &Cell| {
        heading(cell)
            .is_some_and(|length| length > 0 && length == builder.selection.characters(cell.node))
    };
    let Some((first, others)) = rows.split_first() else {
        return false;
    };
    first.iter().any(is_title)
        && first
            .iter()
            .all(|cell| is_title(cell) || heading(cell).is_none())
        && others.iter().flatten().all(|cell| {
            heading(cell).is_none()
                && builder.selection.characters(cell.node) <= LAYOUT_CELL_CHARACTERS
                && !holds(cell.node, &["table", "pre"])
        })
}

/// Whether an element of one of the names is below a node.
fn holds(node: Tree, names: &[&str]) -> bool {
    node.descendants()
        .skip(1)
        .take(MAXIMUM_LOOK)
        .any(|below| is_named(below, names))
}

/// Whether a table stands in a table in one of the cells.
fn is_nested_twice(rows: &[Vec<Cell>]) -> bool {
    let tables = |node: Tree| {
        node.descendants()
            .skip(1)
            .take(MAXIMUM_LOOK)
            .filter(|below| is_named(*below, &["table"]))
            .count()
    };
    rows.iter().flatten().any(|cell| {
        let below = cell
            .node
            .descendants()
            .skip(1)
            .take(MAXIMUM_LOOK)
            .filter(|below| is_named(*below, &["table"]));
        tables(cell.node) > 1 && below.take(8).any(|table| tables(table) > 0)
    })
}

/// Cells by row and column, spans filled, empty rows left out.
fn grid(
    builder: &mut Builder,
    rows: &[Vec<Cell>],
    inner_tables: &mut Vec<Block>,
) -> Vec<Vec<String>> {
    let mut spare = SPARE_CELLS + rows.iter().map(Vec::len).sum::<usize>();
    // For each column: rows that a cell from above still covers, and its text.
    let mut from_above: Vec<(usize, String)> = Vec::new();
    let mut grid = Vec::with_capacity(rows.len());
    for cells in rows {
        let mut row: Vec<String> = Vec::with_capacity(cells.len());
        for cell in cells {
            cover(&mut row, &mut from_above, &mut spare);
            let text = cell_text(builder, cell.node, inner_tables);
            let columns = cell.columns.min(1 + spare);
            for column in 0..columns {
                // A header over several columns names each of them; in the body the text stands
                // once.
                let repeated = if column == 0 || cell.is_header {
                    text.clone()
                } else {
                    String::new()
                };
                if cell.rows > 1 && spare > 0 {
                    from_above.resize_with(from_above.len().max(row.len() + 1), Default::default);
                    if let Some(covered) = from_above.get_mut(row.len()) {
                        *covered = (cell.rows - 1, repeated.clone());
                    }
                }
                row.push(repeated);
            }
            spare = spare.saturating_sub(columns - 1);
        }
        cover(&mut row, &mut from_above, &mut spare);
        if row.iter().any(|cell| !cell.is_empty()) {
            grid.push(row);
        }
        if builder.is_late() {
            break;
        }
    }
    even_out(grid, SPARE_CELLS)
}

/// Adds the cells that rows above reach down into, as long as they come next.
fn cover(row: &mut Vec<String>, from_above: &mut [(usize, String)], spare: &mut usize) {
    while let Some((rows, text)) = from_above.get_mut(row.len()).filter(|(rows, _)| *rows > 0) {
        *rows -= 1;
        if *spare == 0 {
            *rows = 0;
            return;
        }
        *spare -= 1;
        row.push(text.clone());
    }
}

/// A cell on one line; tables in it go to `inner_tables`.
fn cell_text(builder: &mut Builder, node: Tree, inner_tables: &mut Vec<Block>) -> String {
    let blocks = builder.blocks(node);
    cell(blocks, inner_tables)
}
