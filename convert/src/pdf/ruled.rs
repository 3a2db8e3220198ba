//! Tables whose rows are parted by drawn lines and whose columns are not: the text between lines of
//! one width, one above the other, in columns that no run of text crosses.

mod head;

use std::ops::Range;

use super::cuts;
use super::geometry::Area;
use super::lines;
use super::own_rows;
use super::rules::{Rule, Rules};
use super::segments::Segment;
use super::tables::{self, Table};
use super::wrapped::between_rules;

/// How far the ends of the lines of one table may differ, in points.
const SAME_END: f32 = 2.5;

/// Fewest lines of a table, its narrowest width and usual height of a row in points; for higher rows
/// the fewest pieces of their first line, and the widest text, relative to the table.
const MINIMUM_RULES: usize = 3;
const MINIMUM_WIDTH: f32 = 60.0;
const MAXIMUM_ROW: f32 = 160.0;
const MINIMUM_PIECES: usize = 3;
const WIDEST_TEXT: f32 = 0.75;

/// Fewest lines of text between two tables that tell it from a merged cell.
const MINIMUM_PROSE: usize = 2;

/// How much higher than the usual row what stands between two tables is, relative and in points.
const WIDE_GAP: f32 = 3.0;
const MINIMUM_WIDE_GAP: f32 = 40.0;

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
}

/// Takes the text of such tables out of the segments.
pub(super) fn take(segments: Vec<Segment>, rules: &Rules) -> Parted {
    let text = Area::around(segments.iter().map(|segment| segment.area));
    let widest = WIDEST_ENCLOSED * text.map_or(0.0, Area::width);
    let mut parted = Parted {
        rest: segments,
        ..Parted::default()
    };
    if rules.horizontal.len() > MAXIMUM_RULES {
        return parted;
    }
    for stack in stacks(&rules.horizontal, &parted.rest) {
        let rest = std::mem::take(&mut parted.rest);
        let edges = head::with_head(&stack, &rest);
        let (left, right) = (stack_left(&stack), stack_right(&stack));
        let (top, bottom) = (
            edges.first().copied().unwrap_or_default(),
            edges.last().copied().unwrap_or_default(),
        );
        // Text may begin as far from the lines as these may from each other; columns of text beside
        // them stand as near.
        let area = Area {
            left,
            right,
            top,
            bottom,
        };
        let around = Area {
            left: left - SAME_END,
            right: right + SAME_END,
            ..area
        };
        let is_inside =
            |segment: &Segment| around.contains(segment.area.centre(), segment.area.middle());
        let (inside, outside): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_inside);
        parted.rest = outside;
        match between_rules(&inside, &edges).or_else(|| table(&inside, &edges, left..right)) {
            Some(rows) => parted.tables.push(Table {
                area,
                rows,
                ..Table::default()
            }),
            None if area.width() <= widest && columns(&pieces(&inside)).is_some() => {
                parted.enclosed.push(Enclosed { area, text: inside });
            }
            None => parted.rest.extend(inside),
        }
    }
    parted
}

fn stack_left(stack: &[Rule]) -> f32 {
    stack.first().map_or(0.0, |rule| rule.from)
}

fn stack_right(stack: &[Rule]) -> f32 {
    stack.first().map_or(0.0, |rule| rule.to)
}

/// Lines of one width that follow each other from top to bottom.
fn stacks(rules: &[Rule], segments: &[Segment]) -> Vec<Vec<Rule>> {
    let mut stacks: Vec<Vec<Rule>> = Vec::new();
    for rule in rules
        .iter()
        .filter(|rule| rule.to - rule.from >= MINIMUM_WIDTH)
    {
        let goes_on = |stack: &&mut Vec<Rule>| {
            stack.last().is_some_and(|last| {
                (last.from - rule.from).abs() <= SAME_END && (last.to - rule.to).abs() <= SAME_END
            })
        };
        match stacks.iter_mut().rev().find(goes_on) {
            Some(stack) => stack.push(*rule),
            None => stacks.push(vec![*rule]),
        }
    }
    let tables = stacks.iter().flat_map(|stack| tables_of(stack, segments));
    tables
        .filter(|stack| stack.len() >= MINIMUM_RULES)
        .collect()
}

/// The lines of each table among lines below each other: text between two tables makes a gap, if it
/// is no very high row.
fn tables_of(stack: &[Rule], segments: &[Segment]) -> Vec<Vec<Rule>> {
    let mut gaps: Vec<f32> = stack
        .windows(2)
        .filter_map(|pair| Some(pair.last()?.at - pair.first()?.at))
        .collect();
    gaps.sort_by(f32::total_cmp);
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or_default();
    let widest = (WIDE_GAP * usual).clamp(MINIMUM_WIDE_GAP, MAXIMUM_ROW);
    stack
        .chunk_by(|above, below| {
            let is_near = below.at - above.at <= widest || is_row(above, below, segments);
            is_near && !is_prose(above, below, segments)
        })
        .map(<[Rule]>::to_vec)
        .collect()
}

/// The text between two lines.
fn inside<'a>(above: &Rule, below: &Rule, segments: &'a [Segment]) -> Vec<&'a Segment> {
    let is_inside = |segment: &&Segment| {
        let area = segment.area;
        (above.from..above.to).contains(&area.centre())
            && (above.at..below.at).contains(&area.middle())
    };
    segments.iter().filter(is_inside).collect()
}

/// Whether what stands between two lines is text between two tables: lines as wide as these.
fn is_prose(above: &Rule, below: &Rule, segments: &[Segment]) -> bool {
    let inside = inside(above, below, segments);
    let widest = WIDEST_TEXT * (above.to - above.from);
    let wide = inside.iter().filter(|text| text.area.width() > widest);
    let wide = wide.count();
    wide >= MINIMUM_PROSE && wide * 2 > inside.len()
}

/// Whether what stands between two lines far apart is a row: text in columns from the upper line on.
fn is_row(above: &Rule, below: &Rule, segments: &[Segment]) -> bool {
    let inside = inside(above, below, segments);
    let Some(first) = inside
        .iter()
        .min_by(|one, other| one.area.top.total_cmp(&other.area.top))
    else {
        return false;
    };
    let beside = inside
        .iter()
        .filter(|segment| segment.area.shared_height(first.area) > 0.5 * first.area.height());
    let widest = WIDEST_TEXT * (above.to - above.from);
    first.area.top - above.at < first.area.height()
        && beside.count() >= MINIMUM_PIECES
        && inside.iter().all(|segment| segment.area.width() <= widest)
}

/// The rows of cells where a band between two lines has several.
fn between_rules(segments: &[Segment], edges: &[f32]) -> Option<Vec<Vec<String>>> {
    let pieces = pieces(segments);
    between_rules::rows(&pieces, &columns(&pieces)?, edges)
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
            gap_from = (depth <= allowed).then_some(x);
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
mod tests {
    use super::*;
    use crate::pdf::segments::samples::text as text_at;

    fn rules(heights: &[f32]) -> Rules {
        let rule = |at: &f32| Rule {
            at: *at,
            from: 0.0,
            to: 300.0,
        };
        Rules {
            horizontal: heights.iter().map(rule).collect(),
            ..Rules::default()
        }
    }

    #[test]
    fn lines_between_rows_make_a_table() {
        let segments = vec![
            text_at("Name", 5.0, 12.0),
            text_at("Value", 100.0, 12.0),
            text_at("gain", 5.0, 32.0),
            text_at("3 dB, as", 100.0, 32.0),
            text_at("measured", 100.0, 44.0),
            text_at("noise", 5.0, 64.0),
            text_at("1 dB", 100.0, 64.0),
            text_at("What follows is text of its own.", 5.0, 90.0),
        ];
        let found = take(segments.clone(), &rules(&[18.0, 50.0, 70.0]));
        let rows: Vec<_> = found
            .tables
            .iter()
            .flat_map(|table| table.rows.clone())
            .collect();
        let wanted = [
            ["Name", "Value"],
            ["gain", "3 dB, as measured"],
            ["noise", "1 dB"],
        ];
        assert_eq!(rows, wanted);
        assert_eq!(found.rest.len(), 1);
        assert!(take(segments, &rules(&[18.0, 50.0])).tables.is_empty());
    }

    /// A run of text that goes on at `left`.
    fn close_by(mut segment: Segment, next: &str, left: f32) -> Segment {
        let right = segment.area.right;
        segment.cuts.push(cuts::Cut::behind(&segment, right, left));
        let whole = text_at(next, left, segment.baseline);
        segment.text = format!("{} {next}", segment.text);
        segment.characters += whole.characters;
        segment.area = segment.area.joined(whole.area);
        segment
    }

    #[test]
    fn heads_and_words_that_wrap_in_narrow_columns_are_one_row() {
        let segments = vec![
            text_at("The first", 5.0, 0.0),
            text_at("value of it", 5.0, 12.0),
            close_by(text_at("Unit", 100.0, 6.0), "Note", 260.0),
            text_at("gain", 5.0, 52.0),
            text_at("Each", 260.0, 34.0),
            text_at("station", 260.0, 46.0),
            text_at("band", 260.0, 58.0),
            text_at("power", 260.0, 70.0),
            text_at("dB", 100.0, 52.0),
            text_at("noise", 5.0, 92.0),
            text_at("dB", 100.0, 92.0),
            text_at("loss", 5.0, 112.0),
            text_at("%", 100.0, 112.0),
            text_at("Of", 260.0, 112.0),
        ];
        let found = take(segments, &rules(&[18.0, 76.0, 98.0, 118.0]));
        let rows: Vec<_> = found
            .tables
            .into_iter()
            .flat_map(|table| table.rows)
            .collect();
        let wanted = [
            ["The first value of it", "Unit", "Note"],
            ["gain", "dB", "Each station band power"],
            ["noise", "dB", ""],
            ["loss", "%", "Of"],
        ];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn text_between_two_tables_parts_them() {
        let cells = |height: f32| {
            [
                text_at("Name", 5.0, height),
                text_at("Value", 200.0, height),
            ]
        };
        let prose = |height: f32| text_at(&"prose ".repeat(9), 5.0, height);
        let heights = [12.0, 32.0, 92.0, 112.0];
        let mut segments: Vec<Segment> = heights.into_iter().flat_map(cells).collect();
        segments.extend([prose(52.0), prose(64.0)]);
        let edges = [2.0, 18.0, 38.0, 82.0, 98.0, 118.0];
        let found = take(segments, &rules(&edges));
        let sizes: Vec<_> = found.tables.iter().map(|table| table.rows.len()).collect();
        assert_eq!((sizes, found.rest.len()), (vec![2, 2], 2));
    }

    #[test]
    fn what_is_no_table_in_a_column_is_read_by_itself() {
        let mut segments: Vec<Segment> = (0..8_u8)
            .flat_map(|line| {
                let height = 12.0 + 12.0 * f32::from(line);
                let room = if line % 3 == 1 { "of a text" } else { "" };
                [
                    text_at("Text beside it", 700.0, height),
                    text_at(&format!("one {line} {room}"), 5.0, height),
                ]
            })
            .collect();
        segments.push(text_at("two", 200.0, 36.0));
        let found = take(segments, &rules(&[2.0, 18.0, 110.0]));
        assert!(found.tables.is_empty(), "{found:?}");
        assert_eq!((found.enclosed.len(), found.rest.len()), (1, 8));
    }

    #[test]
    fn lines_between_paragraphs_make_none() {
        let segments: Vec<Segment> = (0..4)
            .map(|line| text_at(&"prose ".repeat(9), 5.0, 12.0 + 20.0 * line as f32))
            .collect();
        assert!(
            take(segments, &rules(&[18.0, 38.0, 58.0]))
                .tables
                .is_empty()
        );
    }
}
