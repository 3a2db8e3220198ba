//! Tables with drawn lines: the grid of the lines, its merged cells, the text in them.

use super::geometry::Area;
use super::lines;
use super::lists;
use super::rules::{Rule, Rules};
use super::segments::Segment;

/// How far lines may miss each other and still meet, and how near two lines are one, in points.
const MEETING: f32 = 3.0;
const SAME_EDGE: f32 = 2.5;

/// How far a line sticks out of the outermost crossing line before it stands for a side that is not
/// drawn, in points.
const OPEN_SIDE: f32 = 10.0;

/// Most cells of one grid, and most lines of a page that are searched for grids.
const MAXIMUM_CELLS: usize = 20_000;
const MAXIMUM_RULES: usize = 3000;

/// Share of cells with text, in percent, below which a grid is a drawing.
const MINIMUM_FILLED_PERCENT: usize = 12;

/// Lines of text that the cells of one row need before they are taken for several rows without
/// lines between them.
const MINIMUM_UNRULED_ROWS: usize = 3;

/// Most characters of a cell of such rows.
const MAXIMUM_UNRULED_CHARACTERS: usize = 40;

/// A table as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// Its place.
    pub area: Area,
    /// Rows of cells, all of one length; `\n` parts lines of a cell. A merged cell has its text in
    /// its first row and column.
    pub rows: Vec<Vec<String>>,
    /// Whether the tags of the page say that the first row is its head; `None` of a table that no
    /// tags tell.
    pub is_head_told: Option<bool>,
    /// Its first row below the head goes on from the page before, as the tags say.
    pub goes_on: bool,
    /// The head of the table that it goes on with from the page before.
    pub head_before: Option<Vec<String>>,
}

impl Table {
    /// Its head: its first row, or that of the pages before.
    pub(super) fn head(&self) -> Option<&Vec<String>> {
        self.head_before.as_ref().or(self.rows.first())
    }
}

/// Takes the text that stands in drawn tables out of the segments.
pub(super) fn take(segments: Vec<Segment>, rules: &Rules) -> (Vec<Table>, Vec<Segment>) {
    let mut rest = segments;
    let mut tables = Vec::new();
    for grid in grids(rules) {
        let (inside, outside): (Vec<_>, Vec<_>) = rest.into_iter().partition(|segment| {
            grid.area()
                .contains(segment.area.centre(), segment.area.middle())
        });
        rest = outside;
        match table(&grid, &inside) {
            Some(table) => tables.push(table),
            None => rest.extend(inside),
        }
    }
    (tables, rest)
}

/// Puts the cells of a table that is read from right to left in that order.
pub(super) fn turn_if_right_to_left<'a>(
    rows: &mut [Vec<String>],
    segments: impl Iterator<Item = &'a Segment>,
) {
    let (mut right_to_left, mut all) = (0, 0);
    for segment in segments {
        right_to_left += usize::from(segment.is_right_to_left);
        all += usize::from(segment.text.chars().any(char::is_alphabetic));
    }
    if right_to_left * 2 > all {
        rows.iter_mut().for_each(|row| row.reverse());
    }
}

/// Places of all grids on a page, tables or not.
pub(super) fn places(rules: &Rules) -> Vec<Area> {
    grids(rules).iter().map(Grid::area).collect()
}

/// The lines of one table.
struct Grid {
    /// x of the sides of its columns, y of the sides of its rows.
    columns: Vec<f32>,
    rows: Vec<f32>,
    horizontal: Vec<Rule>,
    vertical: Vec<Rule>,
}

impl Grid {
    fn area(&self) -> Area {
        let edge = |edge: Option<&f32>| edge.copied().unwrap_or(0.0);
        Area {
            left: edge(self.columns.first()),
            right: edge(self.columns.last()),
            top: edge(self.rows.first()),
            bottom: edge(self.rows.last()),
        }
    }

    fn size(&self) -> (usize, usize) {
        (
            self.rows.len().saturating_sub(1),
            self.columns.len().saturating_sub(1),
        )
    }

    /// For each cell, row by row, the number of the first cell of its merged cell.
    fn owners(&self) -> Vec<usize> {
        let (rows, columns) = self.size();
        let mut owners: Vec<usize> = (0..rows * columns).collect();
        for row in 0..rows {
            let y = middle(&self.rows, row);
            for column in 0..columns {
                let cell = row * columns + column;
                let x = middle(&self.columns, column);
                let left = edge(&self.columns, column);
                let top = edge(&self.rows, row);
                if row > 0 && !has_line(&self.horizontal, top, x) {
                    join(&mut owners, cell, cell - columns);
                }
                if column > 0 && !has_line(&self.vertical, left, y) {
                    join(&mut owners, cell, cell - 1);
                }
            }
        }
        (0..owners.len()).map(|cell| root(&owners, cell)).collect()
    }
}

fn middle(edges: &[f32], index: usize) -> f32 {
    let edge = |index: usize| edges.get(index).copied().unwrap_or_default();
    f32::midpoint(edge(index), edge(index + 1))
}

fn has_line(rules: &[Rule], at: f32, along: f32) -> bool {
    rules
        .iter()
        .any(|rule| (rule.at - at).abs() <= SAME_EDGE && rule.from <= along && along <= rule.to)
}

fn root(owners: &[usize], cell: usize) -> usize {
    let mut cell = cell;
    while let Some(owner) = owners.get(cell).copied().filter(|owner| *owner != cell) {
        cell = owner;
    }
    cell
}

/// Joins two groups; the smaller number owns.
fn join(owners: &mut [usize], one: usize, other: usize) {
    let (one, other) = (root(owners, one), root(owners, other));
    if let Some(owner) = owners.get_mut(one.max(other)) {
        *owner = one.min(other);
    }
}

/// Groups of lines that meet each other and part an area into cells.
fn grids(rules: &Rules) -> Vec<Grid> {
    let (horizontal, vertical) = (&rules.horizontal, &rules.vertical);
    if horizontal.len() + vertical.len() > MAXIMUM_RULES {
        return Vec::new();
    }
    let mut owners: Vec<usize> = (0..horizontal.len() + vertical.len()).collect();
    for (index, across) in horizontal.iter().enumerate() {
        for (other, down) in vertical.iter().enumerate() {
            let meets = across.from - MEETING <= down.at && down.at <= across.to + MEETING;
            if meets && down.from - MEETING <= across.at && across.at <= down.to + MEETING {
                join(&mut owners, index, horizontal.len() + other);
            }
        }
    }
    let mut groups: std::collections::BTreeMap<usize, (Vec<Rule>, Vec<Rule>)> =
        std::collections::BTreeMap::new();
    for (index, rule) in horizontal.iter().chain(vertical).enumerate() {
        let group = groups.entry(root(&owners, index)).or_default();
        if index < horizontal.len() {
            group.0.push(*rule)
        } else {
            group.1.push(*rule)
        }
    }
    groups
        .into_values()
        .filter_map(|(horizontal, vertical)| grid(horizontal, vertical))
        .collect()
}

fn grid(horizontal: Vec<Rule>, vertical: Vec<Rule>) -> Option<Grid> {
    if horizontal.len() < 2 || vertical.is_empty() {
        return None;
    }
    let columns = edges(&vertical, &horizontal);
    let rows = edges(&horizontal, &vertical);
    let is_grid =
        columns.len() >= 3 && rows.len() >= 2 && columns.len() * rows.len() <= MAXIMUM_CELLS;
    let mut grid = Grid {
        columns,
        rows,
        horizontal,
        vertical,
    };
    close_sides(&mut grid);
    is_grid.then_some(grid)
}

/// Places of lines, with sides that are not drawn where the crossing lines stick out.
fn edges(rules: &[Rule], crossing: &[Rule]) -> Vec<f32> {
    let mut edges: Vec<f32> = rules.iter().map(|rule| rule.at).collect();
    edges.sort_by(f32::total_cmp);
    edges.dedup_by(|next, kept| *next - *kept <= SAME_EDGE);
    let from = crossing
        .iter()
        .map(|rule| rule.from)
        .fold(f32::MAX, f32::min);
    let to = crossing.iter().map(|rule| rule.to).fold(f32::MIN, f32::max);
    if edges.first().is_some_and(|first| first - from > OPEN_SIDE) {
        edges.insert(0, from);
    }
    if edges.last().is_some_and(|last| to - last > OPEN_SIDE) {
        edges.push(to);
    }
    edges
}

/// Draws the outer sides, so that open tables have cells like closed ones.
fn close_sides(grid: &mut Grid) {
    let area = grid.area();
    grid.horizontal
        .extend([area.top, area.bottom].map(|at| Rule {
            at,
            from: area.left,
            to: area.right,
        }));
    grid.vertical.extend([area.left, area.right].map(|at| Rule {
        at,
        from: area.top,
        to: area.bottom,
    }));
}

/// The table of a grid; `None` if it has too little text for one.
fn table(grid: &Grid, segments: &[Segment]) -> Option<Table> {
    let (_, column_count) = grid.size();
    let owners = grid.owners();
    let cells = cells_of(grid, &owners, segments)?;
    let groups = owners
        .iter()
        .enumerate()
        .filter(|(cell, owner)| cell == *owner)
        .count();
    let filled = cells.iter().filter(|cell| !cell.is_empty()).count();
    if filled < 3
        || filled * 100 < groups * MINIMUM_FILLED_PERCENT
        || cells.iter().any(|cell| is_frame(cell, segments))
    {
        return None;
    }
    let widths: Vec<f32> = grid
        .columns
        .windows(2)
        .map(|edges| {
            edges
                .last()
                .zip(edges.first())
                .map_or(0.0, |(right, left)| right - left)
        })
        .collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in cells.chunks(column_count) {
        rows.extend(row_texts(row, &widths));
    }
    let mut rows = without_empty(rows);
    turn_if_right_to_left(&mut rows, segments.iter());
    let is_table = rows.len() >= 2 && rows.first().is_some_and(|row| row.len() >= 2);
    is_table.then(|| Table {
        area: grid.area(),
        rows,
        ..Table::default()
    })
}

/// The segments of each cell, those of merged ones in the cell that owns them; `None` if one lies
/// outside of the grid.
fn cells_of(grid: &Grid, owners: &[usize], segments: &[Segment]) -> Option<Vec<Vec<Segment>>> {
    let (row_count, column_count) = grid.size();
    let mut cells: Vec<Vec<Segment>> = vec![Vec::new(); row_count * column_count];
    for segment in segments {
        let row = grid
            .rows
            .partition_point(|edge| *edge <= segment.area.middle())
            .saturating_sub(1);
        let column = grid
            .columns
            .partition_point(|edge| *edge <= segment.area.centre())
            .saturating_sub(1);
        let owner = owners.get(row * column_count + column.min(column_count - 1))?;
        cells.get_mut(*owner)?.push(segment.clone());
    }
    Some(cells)
}

/// Whether a cell holds so much of the text that the lines are the frame of a page or form: most of
/// it, or columns of its own.
fn is_frame(cell: &[Segment], all: &[Segment]) -> bool {
    let characters = |segments: &[Segment]| {
        segments
            .iter()
            .map(|segment| segment.characters)
            .sum::<usize>()
    };
    let (own, total) = (characters(cell), characters(all));
    if own > 600 && own * 10 > total * 7 {
        return true;
    }
    let parted = |rows: &[Vec<Segment>]| rows.iter().filter(|row| row.len() >= 2).count();
    own * 5 > total && parted(&lines::rows(cell.to_vec())) >= 3
}

/// The texts of a row of the grid; several rows if the cells' lines of text stand side by side
/// throughout.
fn row_texts(cells: &[Vec<Segment>], widths: &[f32]) -> Vec<Vec<String>> {
    let lines: Vec<Vec<lines::Line>> = cells.iter().map(|cell| cell_lines(cell.clone())).collect();
    let Some(longest) = lines.iter().max_by_key(|cell| cell.len()) else {
        return Vec::new();
    };
    if !is_unruled(&lines, longest) {
        let texts = lines.iter().zip(widths);
        return vec![texts.map(|(cell, width)| cell_text(cell, *width)).collect()];
    }
    longest
        .iter()
        .map(|line| row_at(&lines, line.baseline))
        .collect()
}

/// The text of each cell in the line at that height.
fn row_at(lines: &[Vec<lines::Line>], baseline: f32) -> Vec<String> {
    let text = |cell: &Vec<lines::Line>| {
        cell.iter()
            .find(|line| (line.baseline - baseline).abs() < 2.0)
            .map_or_else(String::new, |line| line.text.trim().to_owned())
    };
    lines.iter().map(text).collect()
}

fn edge(lines: &[f32], index: usize) -> f32 {
    lines.get(index).copied().unwrap_or_default()
}

/// Whether the lines of the cells stand side by side throughout, short and without list items: rows
/// without rules between them.
fn is_unruled(lines: &[Vec<lines::Line>], longest: &[lines::Line]) -> bool {
    let has_items = lines
        .iter()
        .flatten()
        .any(|line| lists::parse(&line.text).is_some());
    let tall = lines
        .iter()
        .filter(|cell| cell.len() >= MINIMUM_UNRULED_ROWS && cell.len() * 5 >= longest.len() * 4)
        .count();
    let is_short = |line: &lines::Line| line.text.chars().count() < MAXIMUM_UNRULED_CHARACTERS;
    let all = || lines.iter().flatten();
    tall >= 2
        && tall * 2 > lines.iter().filter(|cell| !cell.is_empty()).count()
        && all().all(|line| has_partner(line, longest))
        && all().all(is_short)
        && !has_items
}

/// Whether a line of another cell stands at the same height.
fn has_partner(line: &lines::Line, others: &[lines::Line]) -> bool {
    others
        .iter()
        .any(|other| (other.baseline - line.baseline).abs() < 2.0)
}

fn cell_lines(segments: Vec<Segment>) -> Vec<lines::Line> {
    lines::rows(segments)
        .iter()
        .filter_map(|row| lines::line(row))
        .collect()
}

/// Lines of one cell as text; a wide gap, a list item or a line that was ended on purpose starts a
/// new line.
fn cell_text(lines: &[lines::Line], width: f32) -> String {
    let mut text = String::new();
    let mut last: Option<&lines::Line> = None;
    for line in lines {
        let starts_item = lists::parse(&line.text).is_some();
        match last {
            Some(last)
                if starts_item
                    || width - last.area.width() > line.first_word + 1.5 * line.size
                    || line.baseline - last.baseline > 1.9 * line.size.max(last.size) =>
            {
                text.push('\n');
                text.push_str(line.text.trim());
            }
            Some(last) => lines::append(&mut text, &line.text, last.ends_with_hyphen),
            None => text.push_str(line.text.trim()),
        }
        last = Some(line);
    }
    text
}

/// The rows without those rows and columns in which nothing stands.
fn without_empty(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let width = rows.first().map_or(0, Vec::len);
    let is_used: Vec<bool> = (0..width)
        .map(|column| {
            rows.iter()
                .any(|row| row.get(column).is_some_and(|text| !text.is_empty()))
        })
        .collect();
    let keep = |row: Vec<String>| {
        row.into_iter()
            .zip(&is_used)
            .filter(|(_, used)| **used)
            .map(|(text, _)| text)
            .collect::<Vec<_>>()
    };
    rows.into_iter()
        .filter(|row| row.iter().any(|text| !text.is_empty()))
        .map(keep)
        .collect()
}
