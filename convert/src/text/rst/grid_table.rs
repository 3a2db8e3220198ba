//! Grid tables. Columns are those of a screen, where a Chinese character takes two. Where the lines
//! do not fit (many authors count otherwise), each row is cut at its bars.

use super::parser::Parser;
use super::source::character_width;
use super::tables::push_table;
use crate::block::Block;

/// Most columns of a table; lines with more `+` are no table.
const MAXIMUM_COLUMNS: usize = 256;

/// A line by screen columns; the second column of a wide character is `\0`.
type Columns = Vec<char>;

/// A table cut into the smallest cells that its lines allow.
struct Grid<'a> {
    lines: Vec<Columns>,
    source: &'a [&'a str],
    /// Screen columns of the vertical lines.
    walls: Vec<usize>,
    /// Lines that part rows.
    borders: Vec<usize>,
    /// The border below the header, as index into `borders`.
    header: Option<usize>,
}

impl Parser<'_> {
    pub(super) fn grid_table(
        &mut self,
        line: &str,
        rest: &[&str],
        blocks: &mut Vec<Block>,
    ) -> Option<usize> {
        if !is_border(line) {
            return None;
        }
        let used = rest
            .iter()
            .take_while(|line| line.starts_with(['+', '|']))
            .count();
        let source = rest.get(..used)?;
        let grid = Grid::of(source)?;
        let mut inner_tables = Vec::new();
        let mut rows = Vec::new();
        for (row, cells) in grid.rows().into_iter().enumerate() {
            let is_header = grid.header.is_some_and(|header| row < header);
            let mut shown: Vec<String> = Vec::with_capacity(cells.len());
            for cell in cells {
                shown.push(match cell {
                    Cell::Text(text) => self.cell_of(&text, &mut inner_tables),
                    // A header over several columns names each of them; in the body the text stands
                    // once.
                    Cell::FromLeft if is_header => shown.last().cloned().unwrap_or_default(),
                    Cell::FromLeft => String::new(),
                });
            }
            rows.push(shown);
        }
        push_table(rows, inner_tables, blocks);
        Some(used)
    }
}

/// A cell of the smallest kind.
enum Cell {
    /// The text of the cell that it is part of.
    Text(String),
    /// Part of the cell on its left.
    FromLeft,
}

/// `+---+---+` or `+===+===+`.
fn is_border(line: &str) -> bool {
    line.len() >= 3
        && line.starts_with("+-") | line.starts_with("+=")
        && line.ends_with('+')
        && line
            .bytes()
            .all(|byte| matches!(byte, b'+' | b'-' | b'=' | b' '))
}

impl<'a> Grid<'a> {
    fn of(source: &'a [&'a str]) -> Option<Self> {
        let lines: Vec<Columns> = source.iter().map(|line| columns(line)).collect();
        let mut walls = Vec::new();
        let mut borders = Vec::new();
        let mut header = None;
        for (index, (line, text)) in lines.iter().zip(source).enumerate() {
            let has_border = text.contains("+-") || text.contains("+=") || text.contains("-+");
            if !has_border || !holds_border(line) {
                continue;
            }
            if text.contains("+=") && header.is_none() && !borders.is_empty() {
                header = Some(borders.len());
            }
            borders.push(index);
            walls.extend(
                line.iter()
                    .enumerate()
                    .filter(|(_, character)| **character == '+')
                    .map(|(column, _)| column),
            );
        }
        walls.sort_unstable();
        walls.dedup();
        let fits = (2..=MAXIMUM_COLUMNS).contains(&walls.len()) && borders.len() >= 2;
        fits.then_some(Self {
            lines,
            source,
            walls,
            borders,
            header,
        })
    }

    fn at(&self, line: usize, column: usize) -> char {
        self.lines
            .get(line)
            .and_then(|line| line.get(column))
            .copied()
            .unwrap_or(' ')
    }

    /// Rows of cells.
    fn rows(&self) -> Vec<Vec<Cell>> {
        let bands: Vec<(usize, usize)> = self
            .borders
            .iter()
            .zip(self.borders.iter().skip(1))
            .map(|(above, below)| (*above, *below))
            .collect();
        let mut rows: Vec<Vec<Cell>> = Vec::with_capacity(bands.len());
        for (row, (above, below)) in bands.iter().enumerate() {
            let cells = match self.by_bars(*above, *below) {
                Some(cells) => cells,
                None => self.by_walls(row, &bands),
            };
            rows.push(cells);
        }
        rows
    }

    /// Cells cut at their bars, where all borders are whole and each line has all bars.
    fn by_bars(&self, above: usize, below: usize) -> Option<Vec<Cell>> {
        let whole = [above, below]
            .iter()
            .all(|line| self.source.get(*line).is_some_and(|line| is_border(line)));
        let count = self.walls.len() - 1;
        let mut texts = vec![String::new(); count];
        for line in self.source.get(above + 1..below)? {
            let inside = line.strip_prefix('|')?.strip_suffix('|')?;
            let parts: Vec<&str> = inside.split('|').collect();
            if !whole || parts.len() != count {
                return None;
            }
            for (text, part) in texts.iter_mut().zip(parts) {
                text.push_str(part);
                text.push('\n');
            }
        }
        Some(texts.into_iter().map(Cell::Text).collect())
    }

    /// Cells between walls; one without a wall on its left belongs to its neighbour, one without a
    /// border above to the row above.
    fn by_walls(&self, row: usize, bands: &[(usize, usize)]) -> Vec<Cell> {
        let mut cells = Vec::with_capacity(self.walls.len() - 1);
        let mut left = 0;
        while left + 1 < self.walls.len() {
            let Some((above, below)) = bands.get(row).copied() else {
                break;
            };
            let mut right = left + 1;
            while right + 1 < self.walls.len() && !self.has_wall(right, above, below) {
                right += 1;
            }
            let first = (0..=row)
                .rev()
                .find(|row| *row == 0 || self.is_closed_above(bands, *row, left, right))
                .unwrap_or(row);
            let last = (row..bands.len())
                .find(|row| self.is_closed_above(bands, row + 1, left, right))
                .unwrap_or(row);
            let from = bands.get(first).map_or(above, |band| band.0) + 1;
            let to = bands.get(last).map_or(below, |band| band.1);
            cells.push(Cell::Text(self.text(from, to, left, right)));
            cells.extend((left + 1..right).map(|_| Cell::FromLeft));
            left = right;
        }
        cells
    }

    fn has_wall(&self, wall: usize, above: usize, below: usize) -> bool {
        let Some(column) = self.walls.get(wall).copied() else {
            return true;
        };
        let bars = (above + 1..below)
            .filter(|line| matches!(self.at(*line, column), '|' | '+'))
            .count();
        bars > 0 && bars + 1 >= below - above - 1
    }

    /// Whether a border runs above that row between two walls; the last border closes everything.
    fn is_closed_above(
        &self,
        bands: &[(usize, usize)],
        row: usize,
        left: usize,
        right: usize,
    ) -> bool {
        let Some((border, _)) = bands.get(row) else {
            return true;
        };
        let (Some(from), Some(to)) = (self.walls.get(left), self.walls.get(right)) else {
            return true;
        };
        (from + 1..*to).all(|column| matches!(self.at(*border, column), '-' | '=' | '+'))
    }

    fn text(&self, from: usize, to: usize, left: usize, right: usize) -> String {
        let (Some(start), Some(end)) = (self.walls.get(left), self.walls.get(right)) else {
            return String::new();
        };
        let mut text = String::new();
        for line in self.lines.get(from..to).unwrap_or_default() {
            let part = line
                .get(start + 1..(*end).min(line.len()))
                .unwrap_or_default();
            text.extend(part.iter().filter(|character| **character != '\0'));
            text.push('\n');
        }
        text
    }
}

/// Whether a run of `-` or `=` between two `+` is on the line.
fn holds_border(line: &Columns) -> bool {
    let text: String = line.iter().collect();
    text.split('+').skip(1).any(|part| {
        part.len() >= 2
            && (part.bytes().all(|byte| byte == b'-') || part.bytes().all(|byte| byte == b'='))
    })
}

fn columns(line: &str) -> Columns {
    let mut columns = Vec::with_capacity(line.len());
    for character in line.chars() {
        match character_width(character) {
            0 => {}
            1 => columns.push(character),
            _ => columns.extend([character, '\0']),
        }
    }
    columns
}
