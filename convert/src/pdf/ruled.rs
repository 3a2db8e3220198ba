//! Tables whose rows are parted by drawn lines and whose columns are not: the text between lines of
//! one width, one above the other, in columns that no run of text crosses.

mod head;
mod over_page;
mod stacks;

use std::ops::Range;

use super::cuts;
use super::geometry::Area;
use super::lines;
use super::own_rows;
use super::rules::{Rule, Rules};
use super::segments::Segment;
use super::tables::{self, Table};
use super::wrapped::between_rules;
pub(super) use over_page::Open;

/// How far the ends of the lines of one table may differ, in points.
const SAME_END: f32 = 2.5;

/// Fewest lines of a table.
const MINIMUM_RULES: usize = 3;

/// Narrowest gap between two columns, in sizes of the letters.
const MINIMUM_GAP: f32 = 0.5;

/// One line of text of how many may cross a gap between columns: a merged cell.
const CROSSING: usize = 8;

/// Share of the width of the page's text up to which text between lines stands in a column of it.
const WIDEST_ENCLOSED: f32 = 0.6;

/// Most lines of a page that are searched, and rows of a table.
const MAXIMUM_RULES: usize = 1000;

/// Share of rows that have text in two columns, in percent.
const MINIMUM_FULL_PERCENT: usize = 60;

/// Most lines with text in two columns of a row, on average: more of them are rows without lines
/// between them.
const MAXIMUM_LINES: usize = 4;

/// One row of how many must have text that begins with a column that lies behind wide spaces only.
const BEGINNING: usize = 3;

/// Text between such lines that is no table that can be told, in a part of the page's width: what
/// stands beside it has nothing to do with it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Enclosed {
    /// From line to line.
    pub area: Area,
    pub text: Vec<Segment>,
}

/// The text of a page, apart by such lines.
#[derive(Debug, Default)]
pub(super) struct Parted {
    pub tables: Vec<Table>,
    pub enclosed: Vec<Enclosed>,
    pub rest: Vec<Segment>,
    /// The table that goes on with the next page.
    pub open: Option<Open>,
}

/// Takes the text of such tables out of the segments of a page, `height` points high; `open` is the
/// table that goes on from the page before.
pub(super) fn take(
    segments: Vec<Segment>,
    rules: &Rules,
    height: f32,
    open: Option<Open>,
) -> Parted {
    let text = Area::around(segments.iter().map(|segment| segment.area));
    let widest = WIDEST_ENCLOSED * text.map_or(0.0, Area::width);
    let mut parted = Parted {
        rest: segments,
        ..Parted::default()
    };
    if rules.horizontal.len() > MAXIMUM_RULES {
        return parted;
    }
    if let Some(open) = open {
        open.go_on(&mut parted, rules);
    }
    let lines = parted.around_heads(&rules.horizontal);
    let tables = stacks::of_one_width(&lines);
    let tables = tables
        .iter()
        .flat_map(|stack| stacks::tables_of(stack, &parted.rest));
    let (whole, unended): (Vec<_>, Vec<_>) = tables.partition(|stack| stack.len() >= MINIMUM_RULES);
    for stack in whole {
        let edges = head::with_head(&stack, &parted.rest);
        let (area, inside) = parted.take_inside(&stack, &edges);
        let found = between_rules(&inside, &edges).map(|(rows, _)| rows);
        match found.or_else(|| table(&inside, &edges, area.left..area.right)) {
            Some(rows) => parted.push(area, rows),
            None if area.width() <= widest && columns(&pieces(&inside)).is_some() => {
                parted.enclosed.push(Enclosed { area, text: inside });
            }
            None => parted.rest.extend(inside),
        }
    }
    if let Some(last) = unended.last() {
        over_page::begin(last, &mut parted, rules, height);
    }
    parted
}

impl Parted {
    /// Takes the tables that have lines around their head and below their last row alone; the other
    /// lines.
    fn around_heads(&mut self, rules: &[Rule]) -> Vec<Rule> {
        let mut others = rules.to_vec();
        for stack in stacks::around_heads(rules, &self.rest) {
            let edges = head::with_head(&stack, &self.rest);
            if edges.len() > stack.len() {
                continue;
            }
            let (area, inside) = self.take_inside(&stack, &edges);
            match between_rules(&inside, &edges) {
                Some((rows, _)) => {
                    self.push(area, rows);
                    others.retain(|rule| !stack.contains(rule));
                }
                None => self.rest.extend(inside),
            }
        }
        others
    }

    /// Takes the text between the outer edges of a table out of the rest; with the area of the table.
    fn take_inside(&mut self, stack: &[Rule], edges: &[f32]) -> (Area, Vec<Segment>) {
        let area = Area {
            left: stack_left(stack),
            right: stack_right(stack),
            top: edges.first().copied().unwrap_or_default(),
            bottom: edges.last().copied().unwrap_or_default(),
        };
        // Text may begin as far from the lines as these may from each other; columns of text beside
        // them stand as near.
        let around = Area {
            left: area.left - SAME_END,
            right: area.right + SAME_END,
            ..area
        };
        let (inside, outside): (Vec<_>, Vec<_>) = std::mem::take(&mut self.rest)
            .into_iter()
            .partition(|text| around.contains(text.area.centre(), text.area.middle()));
        self.rest = outside;
        (area, inside)
    }

    fn push(&mut self, area: Area, rows: Vec<Vec<String>>) {
        self.tables.push(Table {
            area,
            rows,
            ..Table::default()
        });
    }
}

fn stack_left(stack: &[Rule]) -> f32 {
    stack.first().map_or(0.0, |rule| rule.from)
}

fn stack_right(stack: &[Rule]) -> f32 {
    stack.first().map_or(0.0, |rule| rule.to)
}

/// The rows of cells where a band between two lines has several, and where their columns begin.
fn between_rules(segments: &[Segment], edges: &[f32]) -> Option<(Vec<Vec<String>>, Vec<f32>)> {
    let pieces = pieces(segments);
    let head_end = edges.get(1).copied()?;
    let is_head = |piece: &&Segment| piece.area.middle() < head_end;
    let (head, body): (Vec<&Segment>, Vec<&Segment>) = pieces.iter().partition(is_head);
    // Cells of the body may be merged, and words of the head stand closer to each other than the
    // columns do, or over several.
    let of_head = head_columns(&head).filter(|columns| {
        let has_text = |at: usize| body.iter().any(|piece| home(columns, piece) == at);
        (0..columns.len()).all(has_text)
    });
    let lines = lines::rows(body.iter().copied().cloned().collect());
    let of_body = columns(&lines.concat());
    let [in_head, in_body] =
        [&of_head, &of_body].map(|columns| columns.as_ref().map_or(0, Vec::len));
    let candidates = [
        of_head.filter(|_| in_head > in_body),
        of_body,
        columns(&pieces),
    ];
    candidates.into_iter().flatten().find_map(|columns| {
        let columns = without_heads(columns, &head, &lines);
        Some((between_rules::rows(&pieces, &columns, edges)?, columns))
    })
}

/// Without columns that have no head and are none but a wide space of a long line.
fn without_heads(columns: Vec<f32>, head: &[&Segment], lines: &[Vec<Segment>]) -> Vec<f32> {
    let kept = without_spaces(columns.clone(), lines);
    let has_head = |at: usize| head.iter().any(|piece| home(&columns, piece) == at);
    let all = columns.iter().enumerate();
    let all = all.filter(|(at, left)| has_head(*at) || kept.contains(left));
    all.map(|(_, left)| *left).collect()
}

/// Left edges of the cells of a head of one line.
fn head_columns(head: &[&Segment]) -> Option<Vec<f32>> {
    let [first, ..] = head else { return None };
    let is_one_line = head
        .iter()
        .all(|piece| (piece.baseline - first.baseline).abs() < SAME_END);
    let mut lefts: Vec<f32> = head.iter().map(|piece| piece.area.left).collect();
    lefts.sort_by(f32::total_cmp);
    (is_one_line && lefts.len() >= 2).then_some(lefts)
}

/// The runs of text, parted at every gap that is wide enough.
fn pieces(segments: &[Segment]) -> Vec<Segment> {
    let parts = segments
        .iter()
        .map(|segment| cuts::split(segment, |_| true));
    parts.flatten().collect()
}

/// The rows of cells between the edges; `None` if the text has no columns, or too little in them.
fn table(segments: &[Segment], edges: &[f32], width: Range<f32>) -> Option<Vec<Vec<String>>> {
    let pieces = pieces(segments);
    let columns = columns(&pieces)?;
    let bands: Vec<Vec<Segment>> = edges
        .windows(2)
        .map(|edge| between(&pieces, edge))
        .filter(|band| !band.is_empty())
        .collect();
    let columns = without_spaces(columns, &bands);
    let lines: usize = bands.iter().map(|band| full_lines(band, &columns)).sum();
    let rooms = rooms(&columns, width);
    let are_rows = |band: &Vec<Segment>| {
        let cells: Vec<own_rows::Cell> = in_columns(band, &columns, &rooms);
        own_rows::are_several(&cells)
    };
    if columns.len() < 2
        || bands.len() < 2
        || lines > bands.len() * MAXIMUM_LINES
        || bands.iter().any(are_rows)
    {
        return None;
    }
    let mut rows: Vec<Vec<String>> = bands.iter().map(|band| cells(band, &columns)).collect();
    let is_full = |row: &&Vec<String>| row.iter().filter(|cell| !cell.is_empty()).count() >= 2;
    let full = rows.iter().filter(is_full).count();
    tables::turn_if_right_to_left(&mut rows, segments.iter());
    (full * 100 >= rows.len() * MINIMUM_FULL_PERCENT).then_some(rows)
}

/// How wide the text of each column may be: cells have as much room before and behind their text as
/// the first one before it.
fn rooms(columns: &[f32], width: Range<f32>) -> Vec<f32> {
    let first = columns.first().copied().unwrap_or(width.start);
    let padding = (first - width.start).max(0.0);
    let ends = columns.iter().skip(1).map(|next| next - padding);
    let ends = ends.chain([width.end]);
    let room = |(left, end): (&f32, f32)| end - padding - left;
    columns.iter().zip(ends).map(room).collect()
}

/// The cells of a row that have text.
fn in_columns<'a>(band: &'a [Segment], columns: &[f32], rooms: &[f32]) -> Vec<own_rows::Cell<'a>> {
    let of = |(at, room): (usize, &f32)| {
        let own = band.iter().filter(|piece| home(columns, piece) == at);
        own_rows::Cell {
            pieces: own.collect(),
            room: *room,
        }
    };
    let cells = rooms.iter().enumerate().map(of);
    cells.filter(|cell| !cell.pieces.is_empty()).collect()
}

/// Lines of a row that have text in two columns.
fn full_lines(band: &[Segment], columns: &[f32]) -> usize {
    let is_full = |line: &&Vec<Segment>| {
        let mut homes = line.iter().map(|piece| home(columns, piece));
        let first = homes.next();
        homes.any(|home| Some(home) != first)
    };
    lines::rows(band.to_vec()).iter().filter(is_full).count()
}

/// Without columns that are none but the wide spaces of justified lines: few rows have text that
/// begins there.
fn without_spaces(columns: Vec<f32>, bands: &[Vec<Segment>]) -> Vec<f32> {
    let needed = bands.len().div_ceil(BEGINNING).min(bands.len());
    let has_text = |at: usize| {
        let inside = |band: &&Vec<Segment>| band.iter().any(|piece| home(&columns, piece) == at);
        bands.iter().filter(inside).count() >= needed
    };
    let kept = columns.iter().enumerate();
    let kept = kept.filter(|(at, _)| *at == 0 || has_text(*at));
    kept.map(|(_, left)| *left).collect()
}

fn between(pieces: &[Segment], edge: &[f32]) -> Vec<Segment> {
    let (Some(top), Some(bottom)) = (edge.first(), edge.last()) else {
        return Vec::new();
    };
    let is_inside = |piece: &&Segment| (*top..*bottom).contains(&piece.area.middle());
    pieces.iter().filter(is_inside).cloned().collect()
}

/// Left edges of the columns: where hardly any run of text crosses a gap; `None` of fewer than two.
fn columns(pieces: &[Segment]) -> Option<Vec<f32>> {
    let mut ends: Vec<(f32, bool)> = Vec::new();
    for piece in pieces {
        ends.push((piece.area.left, true));
        ends.push((piece.area.right, false));
    }
    // At one place what begins counts first, so that touching runs are no gap.
    ends.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
    let size = pieces
        .iter()
        .map(|piece| piece.size)
        .fold(f32::MAX, f32::min);
    let allowed = lines::rows(pieces.to_vec()).len() / CROSSING;
    let mut columns = vec![ends.first()?.0];
    let (mut depth, mut gap_from): (usize, Option<f32>) = (0, None);
    for (x, is_begin) in ends {
        if is_begin {
            if gap_from
                .take()
                .is_some_and(|from| x - from >= MINIMUM_GAP * size)
            {
                columns.push(x);
            }
            depth += 1;
        } else {
            depth = depth.saturating_sub(1);
            // What crosses the gap, or ends in it, leaves its beginning.
            gap_from = (depth <= allowed).then(|| gap_from.unwrap_or(x));
        }
    }
    (columns.len() >= 2).then_some(columns)
}

/// The text of each column of a row, its lines joined.
fn cells(band: &[Segment], columns: &[f32]) -> Vec<String> {
    let mut cells = vec![Vec::new(); columns.len()];
    for piece in band {
        if let Some(cell) = cells.get_mut(home(columns, piece)) {
            cell.push(piece.clone());
        }
    }
    cells.into_iter().map(text).collect()
}

/// The column in which a piece begins.
fn home(columns: &[f32], piece: &Segment) -> usize {
    let behind = columns.partition_point(|left| *left <= piece.area.left + 1.0);
    behind.saturating_sub(1)
}

/// The text of a cell, its lines joined.
pub(super) fn text(cell: Vec<Segment>) -> String {
    let mut text = String::new();
    for line in lines::rows(cell).iter().filter_map(|row| lines::line(row)) {
        lines::append(&mut text, &line.text, line.ends_with_hyphen);
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests;
