//! Tables: cells and rows collected from the paragraphs that lie in them, nested ones too.
//!
//! A cell that is merged over columns stands once, one that is merged over rows in each of them; a
//! table within a cell follows the table that it stands in; a table of one cell is a frame, and its
//! content stands as paragraphs.

use super::properties::CellEdge;
use crate::office::blocks::{Block, list_mark, may_fill, repeated};

/// Cells' edges nearer than this, in twips, are one edge.
const EDGE_TOLERANCE: i16 = 60;

#[derive(Debug, Default)]
struct Row {
    cells: Vec<String>,
    edges: Vec<CellEdge>,
}

/// A table that is being read.
#[derive(Debug, Default)]
struct Table {
    rows: Vec<Row>,
    /// Cells of the row that is being read, and blocks of its current cell.
    cells: Vec<Vec<Block>>,
    current: Vec<Block>,
}

/// The tables that are open, outermost first, and finished ones that lay in them.
#[derive(Debug, Default)]
pub(super) struct Tables {
    open: Vec<Table>,
    inner: Vec<Block>,
}

impl Tables {
    /// Opens and closes tables until `depth` are open; returns the blocks of the outermost if that
    /// was closed.
    pub(super) fn set_depth(&mut self, depth: usize) -> Vec<Block> {
        let mut closed = Vec::new();
        while self.open.len() > depth {
            let Some(mut table) = self.open.pop() else {
                break;
            };
            table.end_row(&[]);
            let blocks = table.finish();
            if self.open.is_empty() {
                closed.extend(blocks);
                closed.append(&mut self.inner);
            } else {
                self.inner.extend(blocks);
            }
        }
        while self.open.len() < depth {
            self.open.push(Table::default());
        }
        closed
    }

    /// Adds a block to the current cell of the innermost table.
    pub(super) fn push(&mut self, block: Option<Block>) {
        if let Some(table) = self.open.last_mut() {
            table.current.extend(block);
        }
    }

    /// Keeps blocks until the outermost open table ends; gives them back if none is open.
    pub(super) fn put_behind(&mut self, blocks: Vec<Block>) -> Vec<Block> {
        if self.open.is_empty() {
            return blocks;
        }
        self.inner.extend(blocks);
        Vec::new()
    }

    /// Ends the current cell.
    pub(super) fn end_cell(&mut self) {
        if let Some(table) = self.open.last_mut() {
            let cell = std::mem::take(&mut table.current);
            table.cells.push(cell);
        }
    }

    /// Ends the current row, whose cells have these edges.
    pub(super) fn end_row(&mut self, edges: &[CellEdge]) {
        if let Some(table) = self.open.last_mut() {
            table.end_row(edges);
        }
    }
}

impl Table {
    fn end_row(&mut self, edges: &[CellEdge]) {
        if !self.current.is_empty() {
            let cell = std::mem::take(&mut self.current);
            self.cells.push(cell);
        }
        let cells = std::mem::take(&mut self.cells);
        if !cells.is_empty() {
            self.rows.push(Row {
                cells: cells.into_iter().map(cell_text).collect(),
                edges: edges.to_vec(),
            });
        }
    }

    fn finish(self) -> Vec<Block> {
        let is_frame =
            self.rows.len() == 1 && self.rows.first().is_some_and(|row| row.cells.len() == 1);
        if is_frame {
            let text = self.rows.into_iter().flat_map(|row| row.cells);
            return text.filter_map(Block::paragraph).collect();
        }
        let grid = grid(&self.rows);
        if grid.iter().flatten().all(String::is_empty) {
            Vec::new()
        } else {
            vec![Block::table(grid)]
        }
    }
}

/// A cell's blocks, parted by line ends.
fn cell_text(blocks: Vec<Block>) -> String {
    let lines = blocks.into_iter().filter_map(|block| match block {
        Block::Heading(_, text) | Block::Paragraph(text) => Some(text),
        Block::Item { number, text, .. } => Some(list_mark(number) + &text),
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Rows of equal length: cells are placed by their edges where rows have different numbers of
/// cells.
fn grid(rows: &[Row]) -> Vec<Vec<String>> {
    let edges = usable_edges(rows);
    let mut grid: Vec<Vec<String>> = Vec::with_capacity(rows.len());
    for row in rows {
        let placed = place(row, &edges, grid.last().map_or(&[], Vec::as_slice));
        grid.push(placed);
    }
    grid
}

/// All edges of cells, if they are needed to place them; none if they fit nowhere.
fn usable_edges(rows: &[Row]) -> Vec<i16> {
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let has_edges = rows.iter().all(|row| row.edges.len() == row.cells.len());
    let is_even = rows.iter().all(|row| row.cells.len() == columns);
    let edges = if has_edges && !is_even {
        all_edges(rows)
    } else {
        Vec::new()
    };
    // Edges that fit nowhere would tear the table apart.
    let cells = rows.iter().map(|row| row.cells.len()).sum();
    let is_usable = edges.len() <= 3 * columns && may_fill(rows.len(), edges.len(), cells);
    if is_usable { edges } else { Vec::new() }
}

/// The right edges of all rows, in order.
fn all_edges(rows: &[Row]) -> Vec<i16> {
    let mut edges: Vec<i16> = rows
        .iter()
        .flat_map(|row| row.edges.iter().map(|edge| edge.right))
        .collect();
    edges.sort_unstable();
    edges.dedup_by(|next, kept| next.saturating_sub(*kept) <= EDGE_TOLERANCE);
    edges
}

/// Cells in their columns; rows that are too short are filled when they are written.
fn place(row: &Row, edges: &[i16], above: &[String]) -> Vec<String> {
    let mut placed: Vec<String> = Vec::new();
    for (index, text) in row.cells.iter().enumerate() {
        let cell = row.edges.get(index).copied().unwrap_or_default();
        let continued = above
            .get(placed.len())
            .filter(|_| cell.continues_above && text.is_empty());
        placed.push(continued.map_or_else(|| text.clone(), |above| repeated(above)));
        let covered =
            edges.partition_point(|edge| *edge < cell.right.saturating_sub(EDGE_TOLERANCE)) + 1;
        while !edges.is_empty() && placed.len() < covered.min(edges.len()) {
            placed.push(String::new());
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(right: i16) -> CellEdge {
        CellEdge {
            right,
            ..CellEdge::default()
        }
    }

    fn row(tables: &mut Tables, cells: &[&str], edges: &[CellEdge]) {
        for cell in cells {
            tables.push(Block::paragraph((*cell).to_owned()));
            tables.end_cell();
        }
        tables.end_row(edges);
    }

    #[test]
    fn merged_cells_are_placed_by_their_edges() {
        let mut tables = Tables::default();
        assert!(tables.set_depth(1).is_empty());
        row(
            &mut tables,
            &["a", "b", "c"],
            &[edge(100), edge(200), edge(300)],
        );
        row(
            &mut tables,
            &["d", "e"],
            &[
                edge(205),
                CellEdge {
                    right: 300,
                    continues_above: true,
                    continues_left: false,
                },
            ],
        );
        row(
            &mut tables,
            &["f", "g", ""],
            &[
                edge(100),
                edge(200),
                CellEdge {
                    continues_above: true,
                    ..edge(300)
                },
            ],
        );
        let expected = vec![vec!["a", "b", "c"], vec!["d", "", "e"], vec!["f", "g", "e"]];
        let expected = expected
            .into_iter()
            .map(|row| row.into_iter().map(str::to_owned).collect())
            .collect();
        assert_eq!(tables.set_depth(0), [Block::Table(expected)]);
    }

    #[test]
    fn nested_tables_follow_and_frames_vanish() {
        let mut tables = Tables::default();
        tables.set_depth(2);
        row(&mut tables, &["x"], &[]);
        tables.set_depth(1);
        row(&mut tables, &["a", "b"], &[]);
        let table = Block::Table(vec![vec!["a".to_owned(), "b".to_owned()]]);
        assert_eq!(tables.set_depth(0), [table, Block::Paragraph("x".into())]);
    }
}
