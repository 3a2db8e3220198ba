//! Lines of text that share columns.

use crate::pdf::geometry::{Area, SAME_EDGE, share_width};
use crate::pdf::segments::Segment;

/// How far apart the baselines of one line are, in sizes.
const SAME_LINE: f32 = 0.3;

/// Widest step from line to line, in sizes.
const MAXIMUM_STEP: f32 = 3.2;

/// How much larger than those of the line above the letters of a headline are, relative.
const HEADLINE_SIZE: f32 = 1.12;

/// Step below which a line stands between the lines of other cells, in sizes.
const BETWEEN_LINES: f32 = 0.95;

/// Most lines of a run.
const MAXIMUM_LINES: usize = 600;

/// Pieces of text on one baseline, from left to right.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub pieces: Vec<Segment>,
}

impl Line {
    /// Where its letters stand.
    pub(super) fn baseline(&self) -> f32 {
        let baselines = self.pieces.iter().map(|piece| piece.baseline);
        baselines.reduce(f32::min).unwrap_or_default()
    }

    /// Where the lowest letters stand: those of another font may stand a little lower.
    pub(super) fn lowest(&self) -> f32 {
        let baselines = self.pieces.iter().map(|piece| piece.baseline);
        baselines.fold(self.baseline(), f32::max)
    }

    /// Size of its largest letters.
    pub(super) fn size(&self) -> f32 {
        self.pieces
            .iter()
            .map(|piece| piece.size)
            .fold(1.0, f32::max)
    }
}

/// Distance of two lines in sizes of their letters.
pub(super) fn step(above: &Line, below: &Line) -> f32 {
    (below.baseline() - above.baseline()) / above.size().max(below.size())
}

/// The pieces of rows by their baselines: what stands in the middle of its row is a line of its
/// own.
pub(super) fn lines(rows: Vec<Vec<Segment>>) -> Vec<Line> {
    let mut pieces: Vec<Segment> = rows.into_iter().flatten().collect();
    pieces.sort_by(|one, other| one.baseline.total_cmp(&other.baseline));
    let mut lines: Vec<Line> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if piece.baseline - line.baseline() < SAME_LINE * line.size() => {
                line.pieces.push(piece);
            }
            _ => lines.push(Line {
                pieces: vec![piece],
            }),
        }
    }
    for line in &mut lines {
        line.pieces
            .sort_by(|one, other| one.area.left.total_cmp(&other.area.left));
    }
    lines
}

/// Lines that share columns, from `first` up to `end`.
#[derive(Debug)]
pub(super) struct Run {
    pub first: usize,
    pub end: usize,
    /// The columns, from left to right.
    pub columns: Vec<Area>,
}

impl Run {
    /// The run around a line of several pieces; `None` if it has but one, or stands alone.
    pub(super) fn of(lines: &[Line], start: usize) -> Option<Self> {
        let line = lines.get(start).filter(|line| line.pieces.len() >= 2)?;
        let columns = line.pieces.iter().map(|piece| piece.area).collect();
        let mut run = Self {
            first: start,
            end: start + 1,
            columns,
        };
        let below = lines.get(start..)?.windows(2).take(MAXIMUM_LINES);
        for pair in below {
            let [above, line] = pair else { break };
            let step = step(above, line);
            if step > MAXIMUM_STEP || is_headline(above, line) || !run.add(line, step) {
                break;
            }
            run.end += 1;
        }
        let above = lines.get(..=start)?.windows(2).rev().take(MAXIMUM_LINES);
        for pair in above {
            let [line, below] = pair else { break };
            let step = step(line, below);
            if step > MAXIMUM_STEP || line.pieces.len() > 1 || !run.add(line, step) {
                break;
            }
            run.first -= 1;
        }
        (run.end - run.first >= 3).then_some(run)
    }

    /// Adds the pieces of a line `step` sizes below or above to their columns; `false`, and nothing
    /// is added, if one stands in two columns and is no merged cell. A piece by itself begins a
    /// column only between the lines of others.
    fn add(&mut self, line: &Line, step: f32) -> bool {
        let mut next = self.columns.clone();
        for piece in &line.pieces {
            let mut homes = (0..self.columns.len()).filter(|at| {
                self.columns
                    .get(*at)
                    .is_some_and(|column| share_width(*column, piece.area))
            });
            match (homes.next(), homes.next_back()) {
                (Some(home), None) => {
                    if let Some(column) = next.get_mut(home) {
                        *column = column.joined(piece.area);
                    }
                }
                (Some(first), Some(last)) if self.spans(first, last, piece) => {}
                (None, _) if line.pieces.len() >= 2 || step < BETWEEN_LINES => {
                    next.push(piece.area);
                }
                _ => return false,
            }
        }
        next.sort_by(|one, other| one.left.total_cmp(&other.left));
        let is_parted = next
            .windows(2)
            .all(|pair| matches!(pair, [one, other] if one.right < other.left));
        if is_parted {
            self.columns = next;
        }
        is_parted
    }

    /// Whether a piece over several columns is a merged cell: it begins with the first of them and
    /// leaves others.
    fn spans(&self, first: usize, last: usize, piece: &Segment) -> bool {
        last - first + 1 < self.columns.len() && begins(&self.columns, first, piece)
    }
}

fn begins(columns: &[Area], at: usize, piece: &Segment) -> bool {
    columns
        .get(at)
        .is_some_and(|column| (column.left - piece.area.left).abs() < SAME_EDGE)
}

/// The columns as wide as their pieces in these lines; merged cells do not count.
pub(super) fn columns(lines: &[Line], columns: &[Area]) -> Vec<Area> {
    let of = |column: &Area| {
        let pieces = lines.iter().flat_map(|line| &line.pieces);
        let own =
            pieces.filter(|piece| share_width(*column, piece.area) && is_in_one(columns, piece));
        Area::around(own.map(|piece| piece.area))
    };
    columns.iter().filter_map(of).collect()
}

/// Whether a piece stands in one column only.
pub(super) fn is_in_one(columns: &[Area], piece: &Segment) -> bool {
    columns
        .iter()
        .filter(|column| share_width(**column, piece.area))
        .count()
        == 1
}

/// The first column in which a piece stands.
pub(super) fn home(columns: &[Area], piece: &Segment) -> Option<usize> {
    columns
        .iter()
        .position(|column| share_width(*column, piece.area))
}

/// Whether a line is a single piece in larger letters than the line above.
fn is_headline(above: &Line, line: &Line) -> bool {
    line.pieces.len() == 1 && line.size() > HEADLINE_SIZE * above.size()
}
