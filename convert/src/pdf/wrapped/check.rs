//! Whether bands of text in columns are the rows of a table.

use super::bands::Band;
use super::run::{self, Line};
use crate::pdf::geometry::{Area, most_aligned};
use crate::pdf::lists::{self, Marker};
use crate::pdf::own_rows;
use crate::pdf::segments::Segment;
use crate::slices::part;

/// Fewest rows, and of a table of four columns or more.
const MINIMUM_ROWS: usize = 3;
const MINIMUM_ROWS_OF_FOUR: usize = 2;

/// Share of the rows with text in two columns, of the pieces at an edge or the middle of their
/// column, of the cells that stand at one height of their rows, and of the lines that were broken
/// because the next word had no room.
const FULL_SHARE: f32 = 0.6;
const ALIGNED_SHARE: f32 = 0.85;
const PLACED_SHARE: f32 = 0.8;
const BROKEN_SHARE: f32 = 0.8;

/// Share of the rows that begin with the sign of an item from which they are a list.
const LIST_SHARE: f32 = 0.4;

/// Share of cells that are signs of source code from which they are that.
const SOURCE_SHARE: f32 = 0.06;

/// Characters of a line (Chinese ones count twice), on average of a column, from which the column is
/// prose; a page has no more than one of them in a table.
const PROSE_LINE: usize = 24;

/// Most characters of a cell of the first column of two, on average (Chinese ones count twice), and
/// share of these cells that have one line: text beside text is longer.
const MAXIMUM_LABEL: usize = 30;
const ONE_LINE_SHARE: f32 = 0.7;

/// How exactly cells stand at the top, in the middle or at the bottom of their row, in sizes.
const SAME_HEIGHT: f32 = 0.35;

/// The lines of one cell, and those of its row.
struct Cell<'a> {
    column: usize,
    lines: Vec<&'a Segment>,
    row: (f32, f32),
}

/// Whether bands are the rows of a table.
pub(super) fn is_table(lines: &[Line], bands: &[Band], columns: &[Area]) -> bool {
    let minimum = if columns.len() >= 4 {
        MINIMUM_ROWS_OF_FOUR
    } else {
        MINIMUM_ROWS
    };
    let wraps = bands.iter().any(|band| band.end > band.first + 1);
    bands.len() >= minimum
        && wraps
        && are_broken(lines, bands, columns)
        && holds(lines, bands, columns)
}

/// The same for bands between drawn lines, of which there may be few, and no cell of which must wrap.
pub(super) fn holds(lines: &[Line], bands: &[Band], columns: &[Area]) -> bool {
    if columns.len() < 2 {
        return false;
    }
    let rows = rows(lines, bands, columns);
    let cells = || rows.iter().flatten();
    let is_code = cells()
        .flat_map(|cell| &cell.lines)
        .all(|piece| piece.is_fixed());
    let full = rows.iter().filter(|row| row.len() >= 2).count();
    !is_code
        && share(full, rows.len()) >= FULL_SHARE
        && !is_list(&rows, columns.len())
        && !rows.iter().any(|row| are_several(row))
        && !is_source(cells())
        && (columns.len() > 2 || has_labels(&rows))
        && aligned_share(cells(), columns.len()) >= ALIGNED_SHARE
        && placed_shares(cells())
            .iter()
            .any(|share| *share >= PLACED_SHARE)
        && broken_share(cells(), columns).is_none_or(|share| share >= BROKEN_SHARE)
}

fn rows<'a>(lines: &'a [Line], bands: &[Band], columns: &[Area]) -> Vec<Vec<Cell<'a>>> {
    let bands = bands.iter().map(|band| part(lines, band.first..band.end));
    bands.map(|band| cells(band, columns)).collect()
}

/// Whether the lines within cells were broken because the next word had no room.
pub(super) fn are_broken(lines: &[Line], bands: &[Band], columns: &[Area]) -> bool {
    let rows = rows(lines, bands, columns);
    let share = broken_share(rows.iter().flatten(), columns);
    share.is_some_and(|share| share >= BROKEN_SHARE)
}

fn share(part: usize, all: usize) -> f32 {
    part as f32 / all.max(1) as f32
}

fn cells<'a>(band: &'a [Line], columns: &[Area]) -> Vec<Cell<'a>> {
    let row = (
        band.first().map_or(0.0, Line::baseline),
        band.last().map_or(0.0, Line::baseline),
    );
    let of = |column: usize| {
        let pieces = band.iter().flat_map(|line| &line.pieces);
        let own = pieces.filter(|piece| run::home(columns, piece) == Some(column));
        let lines: Vec<&Segment> = own.collect();
        (!lines.is_empty()).then_some(Cell { column, lines, row })
    };
    (0..columns.len()).filter_map(of).collect()
}

fn is_list(rows: &[Vec<Cell>], columns: usize) -> bool {
    let first = |row: &Vec<Cell>| {
        let piece = row.first().and_then(|cell| cell.lines.first());
        piece.map(|piece| piece.text.trim().to_owned())
    };
    let firsts: Vec<String> = rows.iter().filter_map(first).collect();
    let is_item = |text: &&String| {
        text.is_empty()
            || lists::is_marker(text)
            || matches!(lists::parse(text), Some(Marker::Bullet(text)) if !text.is_empty())
    };
    let items = firsts.iter().filter(is_item).count();
    let are_references = firsts.iter().all(|text| text.starts_with('['));
    share(items, rows.len()) > LIST_SHARE
        || ((columns == 2 || are_references) && is_counted(&firsts))
}

/// Whether texts are numbers that follow each other, in brackets or not: of references, or of
/// items.
fn is_counted(texts: &[String]) -> bool {
    let number = |text: &String| {
        let inner = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        inner.unwrap_or(text).parse::<u32>().ok()
    };
    let numbers: Option<Vec<u32>> = texts.iter().map(number).collect();
    numbers.is_some_and(|numbers| {
        let mut pairs = numbers.windows(2);
        pairs.all(|pair| matches!(pair, [one, next] if *next == one + 1))
    })
}

fn are_several(row: &[Cell]) -> bool {
    let cells = row.iter().map(|cell| own_rows::Cell {
        pieces: cell.lines.clone(),
        room: f32::MAX,
    });
    own_rows::are_several(&cells.collect::<Vec<_>>())
}

/// Whether cells are signs of source code, or begin with them.
fn is_source<'a>(cells: impl Iterator<Item = &'a Cell<'a>>) -> bool {
    let firsts = cells.filter_map(|cell| cell.lines.first());
    let texts: Vec<&str> = firsts.map(|piece| piece.text.trim()).collect();
    let is_sign = |text: &&&str| {
        text.starts_with([',', ')', ';', '=']) || matches!(**text, "(" | "{" | "}" | "<>")
    };
    share(texts.iter().filter(is_sign).count(), texts.len()) > SOURCE_SHARE
}

/// Whether what stands first in two columns is short.
fn has_labels(rows: &[Vec<Cell>]) -> bool {
    let first = || rows.iter().flatten().filter(|cell| cell.column == 0);
    let pieces = first().flat_map(|cell| &cell.lines);
    let characters: usize = pieces.map(|piece| columns_of(piece)).sum();
    let one_line = first().filter(|cell| cell.lines.len() == 1).count();
    characters <= MAXIMUM_LABEL * first().count()
        && share(one_line, first().count()) >= ONE_LINE_SHARE
}

/// Share of the pieces that share the left edge, the right edge or the middle of their column.
fn aligned_share<'a>(cells: impl Iterator<Item = &'a Cell<'a>>, columns: usize) -> f32 {
    let mut areas: Vec<Vec<Area>> = vec![Vec::new(); columns];
    for cell in cells {
        if let Some(areas) = areas.get_mut(cell.column) {
            areas.extend(cell.lines.iter().map(|piece| piece.area));
        }
    }
    let aligned = areas.iter().map(|areas| {
        let of = |edge: fn(Area) -> f32| most_aligned(areas, edge);
        of(|area| area.left)
            .max(of(|area| area.right))
            .max(of(Area::centre))
    });
    share(aligned.sum(), areas.iter().map(Vec::len).sum())
}

/// Whether bands of three columns or more have their cells in the middle, not at the top.
pub(super) fn is_centred(lines: &[Line], bands: &[Band], columns: &[Area]) -> bool {
    let rows = bands.iter().map(|band| part(lines, band.first..band.end));
    let rows: Vec<Vec<Cell>> = rows.map(|lines| cells(lines, columns)).collect();
    let [top, middle, _] = placed_shares(rows.iter().flatten());
    columns.len() >= 3
        && middle >= PLACED_SHARE
        && top < PLACED_SHARE
        && prose_columns(&rows, columns.len()) <= 1
}

/// How many columns have lines as long as those of prose.
fn prose_columns(rows: &[Vec<Cell>], columns: usize) -> usize {
    let is_prose = |column: &usize| {
        let cells = rows.iter().flatten().filter(|cell| cell.column == *column);
        let pieces: Vec<&&Segment> = cells.flat_map(|cell| &cell.lines).collect();
        let characters: usize = pieces.iter().map(|piece| columns_of(piece)).sum();
        characters > PROSE_LINE * pieces.len()
    };
    (0..columns).filter(is_prose).count()
}

/// Share of the cells at the top, in the middle and at the bottom of their row.
fn placed_shares<'a>(cells: impl Iterator<Item = &'a Cell<'a>>) -> [f32; 3] {
    let (mut places, mut all) = ([0; 3], 0);
    for cell in cells {
        let (Some(first), Some(last)) = (cell.lines.first(), cell.lines.last()) else {
            continue;
        };
        let same = SAME_HEIGHT * first.size;
        let (above, below) = (first.baseline - cell.row.0, cell.row.1 - last.baseline);
        let found = [
            above < same,
            (above - below).abs() < 2.0 * same,
            below < same,
        ];
        for (place, is_there) in places.iter_mut().zip(found) {
            *place += usize::from(is_there);
        }
        all += 1;
    }
    places.map(|count| share(count, all))
}

/// Share of the line ends within cells at which the first word of the next line had no room; `None`
/// where no cell has two lines.
fn broken_share<'a>(cells: impl Iterator<Item = &'a Cell<'a>>, columns: &[Area]) -> Option<f32> {
    let (mut broken, mut all) = (0, 0);
    for cell in cells {
        let Some(column) = columns.get(cell.column) else {
            continue;
        };
        for pair in cell.lines.windows(2) {
            let [line, next] = pair else { continue };
            if next.baseline - line.baseline < SAME_HEIGHT * line.size {
                continue;
            }
            all += 1;
            broken += usize::from(is_broken(line, line.area.width(), next, *column));
        }
    }
    (all > 0).then(|| share(broken, all))
}

/// Whether a line of this width ended because the first word of the next one had no room in the
/// column. Figures below figures never did.
pub(super) fn is_broken(line: &Segment, width: f32, next: &Segment, column: Area) -> bool {
    let are_figures = !has_letter(line) && !has_letter(next);
    !are_figures && column.width() - width < needed(next)
}

/// Characters of a piece; Chinese ones count twice.
pub(super) fn columns_of(piece: &Segment) -> usize {
    piece.characters + piece.wide
}

fn has_letter(piece: &Segment) -> bool {
    piece.text.chars().any(char::is_alphabetic)
}

/// Room that the first word of a piece needs behind another, in points.
fn needed(piece: &Segment) -> f32 {
    if piece
        .text
        .chars()
        .next()
        .is_some_and(crate::escape::is_wide)
    {
        return 2.5 * piece.size;
    }
    let word = piece
        .text
        .split(' ')
        .next()
        .unwrap_or_default()
        .chars()
        .count();
    let each = piece.area.width() / piece.characters.max(1) as f32;
    word as f32 * each + 0.6 * piece.size
}
