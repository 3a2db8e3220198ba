//! Tables: spans and merged cells on a grid, nested tables after the one that holds them, each below
//! the names of its row and column.

use tributary_schemas::Result;

use super::body::Story;
use crate::office::blocks::{Block, list_mark, text_of};
use crate::office::xml::XmlReader;
use crate::table::ready_cell;

/// Most columns that a span may cover; Word allows 63.
const MAXIMUM_SPAN: usize = 64;

/// Longest text in bytes that is repeated in the cells that a merged cell covers.
const MAXIMUM_REPEATED_BYTES: usize = 200;

/// Average bytes of a cell above which the table only arranges the page.
const LAYOUT_CELL_BYTES: usize = 4000;

/// Longest name of a row or a column in characters above a nested table.
const MAXIMUM_NAME: usize = 80;

/// Columns from which on a table with more covered places than cells is a form.
const FORM_COLUMNS: usize = 8;

/// How a cell is merged with those above and below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Merge {
    #[default]
    None,
    Begins,
    Continues,
}

#[derive(Debug, Default)]
struct Cell {
    blocks: Vec<Block>,
    span: usize,
    merge: Merge,
    is_deleted: bool,
}

#[derive(Debug, Default)]
struct Row {
    cells: Vec<Cell>,
    /// Columns that are left free before and after the cells.
    before: usize,
    after: usize,
    is_header: bool,
    is_dropped: bool,
}

impl Story<'_, '_> {
    /// Adds the table in the element that was entered last.
    pub(super) fn table(&mut self, xml: &mut XmlReader, out: &mut Vec<Block>) -> Result<()> {
        self.table_depth += 1;
        let outer_pages = std::mem::take(&mut self.pages_in_cell);
        let mut rows = Vec::new();
        let pages = self.rows(xml, &mut rows);
        self.table_depth -= 1;
        let pages = pages?;
        rows.retain(|row| !row.is_dropped);
        self.push_table(rows, out)?;
        self.pages_in_cell = outer_pages;
        if self.table_depth > 0 {
            self.pages_in_cell += pages;
        } else {
            out.extend(std::iter::repeat_n(Block::Page, pages));
        }
        Ok(())
    }

    /// Reads the rows in the element that was entered last; the pages that begin in them.
    fn rows(&mut self, xml: &mut XmlReader, rows: &mut Vec<Row>) -> Result<usize> {
        let mut pages = 0;
        while let Some(element) = xml.child()? {
            match element.name() {
                "tr" => {
                    let mut row = Row::default();
                    pages += self.row(xml, &mut row)?;
                    let free: usize = row.before
                        + row.after
                        + row.cells.iter().map(|cell| cell.span - 1).sum::<usize>();
                    self.document
                        .check_size((free * size_of::<Option<String>>()) as u64)?;
                    rows.push(row);
                }
                "sdt" | "sdtContent" | "ins" | "moveTo" | "customXml" | "smartTag" => {
                    pages += self.rows(xml, rows)?
                }
                _ => xml.skip()?,
            }
        }
        Ok(pages)
    }

    /// A row that is parted by a page break says so in each of its cells: the most of any cell
    /// counts.
    fn row(&mut self, xml: &mut XmlReader, row: &mut Row) -> Result<usize> {
        let mut pages = 0;
        while let Some(element) = xml.child()? {
            match element.name() {
                "trPr" => self.row_properties(xml, row)?,
                "tc" => {
                    self.pages_in_cell = 0;
                    let cell = self.cell(xml)?;
                    pages = pages.max(self.pages_in_cell);
                    row.cells.push(cell);
                }
                "sdt" | "sdtContent" | "ins" | "moveTo" | "customXml" | "smartTag" => {
                    pages = pages.max(self.row(xml, row)?)
                }
                _ => xml.skip()?,
            }
        }
        Ok(pages)
    }

    fn row_properties(&mut self, xml: &mut XmlReader, row: &mut Row) -> Result<()> {
        while let Some(element) = xml.child()? {
            let columns = || {
                element
                    .number()
                    .and_then(|number| usize::try_from(number).ok())
                    .unwrap_or(0)
                    .min(MAXIMUM_SPAN)
            };
            match element.name() {
                "gridBefore" => row.before = columns(),
                "gridAfter" => row.after = columns(),
                "tblHeader" => row.is_header = element.is_on(),
                "del" => row.is_dropped = true,
                "hidden" => {
                    row.is_dropped |= element.is_on() && !self.document.settings.include_hidden_text
                }
                _ => {}
            }
            xml.skip()?;
        }
        Ok(())
    }

    fn cell(&mut self, xml: &mut XmlReader) -> Result<Cell> {
        let mut cell = Cell {
            span: 1,
            ..Cell::default()
        };
        // The properties stand first; whatever follows is read as blocks, up to the end of the
        // cell.
        let outer = self.joined.take();
        while let Some(element) = xml.child()? {
            match element.name() {
                "tcPr" => read_properties(xml, &mut cell)?,
                _ => self.any_block(&element, xml, &mut cell.blocks)?,
            }
        }
        if let Some(rest) =
            std::mem::replace(&mut self.joined, outer).filter(|rest| !rest.is_blank())
        {
            cell.blocks.push(Block::Paragraph(rest.markdown()));
        }
        Ok(cell)
    }

    fn push_table(&mut self, rows: Vec<Row>, out: &mut Vec<Block>) -> Result<()> {
        if arranges_page(&rows) {
            out.extend(
                rows.into_iter()
                    .flat_map(|row| row.cells)
                    .flat_map(|cell| cell.blocks),
            );
            return Ok(());
        }
        let mut inner_tables = Vec::new();
        let grid = grid(rows, &mut inner_tables);
        let size: usize = grid.iter().flatten().map(|cell| cell.len() + 3).sum();
        self.document.check_size(size as u64)?;
        if grid.iter().flatten().any(|cell| !cell.is_empty()) {
            out.push(Block::Table(grid));
        }
        out.extend(inner_tables);
        Ok(())
    }
}

fn read_properties(xml: &mut XmlReader, cell: &mut Cell) -> Result<()> {
    while let Some(element) = xml.child()? {
        match element.name() {
            "gridSpan" => {
                cell.span = element
                    .number()
                    .and_then(|number| usize::try_from(number).ok())
                    .unwrap_or(1)
                    .clamp(1, MAXIMUM_SPAN)
            }
            "vMerge" if element.value().is_some_and(|value| value == "restart") => {
                cell.merge = Merge::Begins
            }
            "vMerge" => cell.merge = Merge::Continues,
            "cellDel" => cell.is_deleted = true,
            _ => {}
        }
        xml.skip()?;
    }
    Ok(())
}

/// Whether the table only arranges the page: one cell, one column with structure in it, or cells as
/// long as pages.
fn arranges_page(rows: &[Row]) -> bool {
    let cells: Vec<&Cell> = rows.iter().flat_map(|row| &row.cells).collect();
    if cells.len() <= 1 {
        return true;
    }
    let is_structure =
        |block: &Block| matches!(block, Block::Heading(..) | Block::Table(_) | Block::Code(_));
    let is_column = rows.iter().all(|row| row.cells.len() == 1);
    if is_column
        && cells
            .iter()
            .any(|cell| cell.blocks.iter().any(is_structure))
    {
        return true;
    }
    let bytes: usize = cells
        .iter()
        .flat_map(|cell| &cell.blocks)
        .filter_map(text_of)
        .map(str::len)
        .sum();
    bytes > cells.len() * LAYOUT_CELL_BYTES
}

/// Text of each cell, spans filled with empty cells, merged cells with short text repeated; all
/// rows of one length.
fn grid(rows: Vec<Row>, inner_tables: &mut Vec<Block>) -> Vec<Vec<String>> {
    let mut grid: Grid = Vec::with_capacity(rows.len());
    for row in rows {
        let mut inner = Vec::new();
        let places = places(row, grid.last(), &mut inner);
        for (column, tables) in inner {
            let name = place_name(&places, grid.first(), column);
            inner_tables.extend(name.map(Block::Paragraph));
            inner_tables.extend(tables);
        }
        grid.push(places);
    }
    even_out(grid)
}

/// What tells where a nested table stands: the first text of its row, and its column in the first
/// row.
fn place_name(
    row: &[Option<String>],
    header: Option<&Vec<Option<String>>>,
    column: usize,
) -> Option<String> {
    let of_row = row.iter().flatten().find(|text| !text.is_empty());
    let of_column = header.and_then(|header| header.get(column)?.as_ref());
    let of_column = of_column.filter(|name| !name.is_empty() && Some(*name) != of_row);
    let names = of_row.into_iter().chain(of_column);
    let names: Vec<String> = names.filter_map(|text| short(text)).collect();
    Some(names.join(" · ")).filter(|name| !name.is_empty())
}

/// A cell's text as a name: the beginning where it is long, unless that would cut through
/// something. Several lines and pictures name nothing.
fn short(text: &str) -> Option<String> {
    let is_short = text.chars().count() <= MAXIMUM_NAME;
    let is_marked = text.contains(['*', '[', '`', '$', '<', '\\']);
    if text.contains("<br>") || text.contains("![") || !is_short && is_marked {
        return None;
    }
    match is_short {
        true => Some(text.to_owned()),
        false => Some(text.chars().take(MAXIMUM_NAME).chain(['…']).collect()),
    }
}

/// The texts of a row in their columns, `None` where there is no cell, or where one reaches over;
/// and the tables in its cells by column.
fn places(
    row: Row,
    above: Option<&Vec<Option<String>>>,
    inner_tables: &mut Vec<(usize, Vec<Block>)>,
) -> Vec<Option<String>> {
    let mut places: Vec<Option<String>> = vec![None; row.before];
    for cell in row.cells {
        let column = places.len();
        let mut inner = Vec::new();
        let text = if cell.is_deleted {
            String::new()
        } else {
            cell_text(cell.blocks, &mut inner)
        };
        if !inner.is_empty() {
            inner_tables.push((column, inner));
        }
        let text = match cell.merge {
            Merge::Continues if text.is_empty() => {
                repeated(above.and_then(|above| above.get(column)?.as_ref()))
            }
            _ => text,
        };
        let covered = Some(repeated(Some(&text))).filter(|text| row.is_header && !text.is_empty());
        places.push(Some(text));
        places.extend(std::iter::repeat_n(covered, cell.span - 1));
    }
    places.extend(std::iter::repeat_n(None, row.after));
    places
}

/// Rows of places: the text of the cell that begins there, `None` where none does.
type Grid = Vec<Vec<Option<String>>>;

fn repeated(text: Option<&String>) -> String {
    text.filter(|text| text.len() <= MAXIMUM_REPEATED_BYTES && !text.contains("!["))
        .cloned()
        .unwrap_or_default()
}

/// Gives all rows one length, without the columns in which no cell begins. Forms, whose many
/// columns only serve to place their cells, keep their cells next to each other.
fn even_out(mut grid: Grid) -> Vec<Vec<String>> {
    let places = grid.iter().map(Vec::len).max().unwrap_or(0);
    let begins: Vec<bool> = (0..places)
        .map(|column| {
            grid.iter()
                .any(|row| matches!(row.get(column), Some(Some(_))))
        })
        .collect();
    let columns = begins.iter().filter(|begins| **begins).count();
    if columns == 1 {
        // Empty rows part nothing where there is one column.
        grid.retain(|row| row.iter().flatten().any(|text| !text.is_empty()));
    }
    let cells: usize = grid.iter().flatten().flatten().count();
    if columns >= FORM_COLUMNS && cells * 2 < columns * grid.len() {
        return cells_side_by_side(grid);
    }
    let kept = |row: Vec<Option<String>>| {
        let mut places = row.into_iter();
        let texts = begins
            .iter()
            .map(|begins| (*begins, places.next().flatten().unwrap_or_default()));
        texts
            .filter(|(begins, _)| *begins)
            .map(|(_, text)| text)
            .collect()
    };
    grid.into_iter().map(kept).collect()
}

/// The cells of each row without the places between them, all rows of one length.
fn cells_side_by_side(grid: Grid) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = grid
        .into_iter()
        .map(|row| row.into_iter().flatten().collect())
        .collect();
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    rows.iter_mut()
        .for_each(|row| row.resize_with(longest, String::new));
    rows
}

/// A cell on one line: blocks are joined by `<br>`, tables in it go to `inner_tables`.
fn cell_text(blocks: Vec<Block>, inner_tables: &mut Vec<Block>) -> String {
    let mut lines = Vec::new();
    for block in blocks {
        cell_lines(block, inner_tables, &mut lines);
    }
    let text = lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("<br>");
    ready_cell(&text)
}

fn cell_lines(block: Block, inner_tables: &mut Vec<Block>, lines: &mut Vec<String>) {
    match block {
        Block::Heading(_, text) => lines.push(format!("**{text}**")),
        Block::Paragraph(text) | Block::Quote(text) => lines.push(text),
        Block::Item { number, text, .. } => lines.push(list_mark(number) + &text),
        Block::Code(code) => lines.extend(
            code.lines()
                .filter(|line| !line.trim().is_empty())
                .map(|line| format!("`{}`", line.trim().replace('`', "'"))),
        ),
        Block::Formula(latex) => lines.push(format!("${latex}$")),
        Block::Note(text) => lines.push(text),
        Block::Contents(_, block) | Block::Set { block, .. } => {
            cell_lines(*block, inner_tables, lines)
        }
        Block::Table(_) => inner_tables.push(block),
        Block::Page | Block::Section(_) => {}
    }
}
