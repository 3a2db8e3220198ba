//! The head of a table above its first line.

use super::{Area, Rule, SAME_END, Segment, cuts, stack_left, stack_right};
use crate::pdf::geometry::SAME_EDGE;
use crate::pdf::headings::is_caption;

/// Widest room between the lines of a head that wraps, in sizes, and the widest text of one of several
/// lines, relative to the table.
const HEAD_STEP: f32 = 0.4;
const WIDEST_HEAD: f32 = 0.5;

/// Where its first line ends at most above the end of its last one, in sizes.
const HIGHEST_HEAD: f32 = 4.5;

/// How far apart the ends of the texts of one line are, in points.
const SAME_LINE: f32 = 2.0;

/// Heights of the lines, and above them that of the head of the table where no line is drawn: the
/// text above the first line, if it stands as near to it as the text of the first row to the second.
pub(super) fn with_head(stack: &[Rule], segments: &[Segment]) -> Vec<f32> {
    let mut edges: Vec<f32> = stack.iter().map(|rule| rule.at).collect();
    let (left, right) = (stack_left(stack), stack_right(stack));
    let (Some(first), Some(second)) = (edges.first().copied(), edges.get(1).copied()) else {
        return edges;
    };
    let between = |top: f32, bottom: f32| {
        segments.iter().filter(move |segment| {
            let area = segment.area;
            (left - SAME_END..right + SAME_END).contains(&area.centre())
                && (top..bottom).contains(&area.middle())
        })
    };
    let pieces = between(first, second).flat_map(|segment| cuts::split(segment, |_| true));
    let pieces: Vec<Area> = pieces.map(|piece| piece.area).collect();
    let Some(row) = Area::around(pieces.iter().copied()) else {
        return edges;
    };
    let space = (second - row.bottom).max(0.0) + 0.5 * row.height();
    // What stands close is parted where the cells below begin.
    let begins = |x: f32| {
        pieces
            .iter()
            .any(|piece| (piece.left - x).abs() < SAME_EDGE)
    };
    let above = between(first - space - row.height(), first)
        .flat_map(|segment| cuts::split(segment, |cut| begins(cut.right)))
        .collect();
    if let Some(top) = top(above, first - space, right - left) {
        edges.insert(0, top - 1.0);
    }
    edges
}

/// Where the lowest text begins, if it ends at `nearest` or lower and is cells beside each other: all
/// its lines if none of them is wide, else the last one.
fn top(mut above: Vec<Segment>, nearest: f32, width: f32) -> Option<f32> {
    above.sort_by(|one, other| other.area.bottom.total_cmp(&one.area.bottom));
    let last = above.first().filter(|last| last.area.bottom >= nearest)?;
    let (mut top, lowest) = (last.area.top, last.area.bottom);
    let goes_on = |piece: &&Segment| {
        let is_near = piece.area.bottom > top - HEAD_STEP * piece.size
            && piece.area.bottom > lowest - HIGHEST_HEAD * piece.size;
        top = top.min(piece.area.top);
        is_near
    };
    let mut head: Vec<&Segment> = above.iter().take_while(goes_on).collect();
    if head
        .iter()
        .any(|piece| piece.area.width() > WIDEST_HEAD * width)
    {
        head.retain(|piece| piece.area.bottom > lowest - SAME_LINE);
    }
    let begins = head
        .iter()
        .min_by(|one, other| one.area.left.total_cmp(&other.area.left));
    let is_head = are_beside(&head) && !begins.is_some_and(|piece| is_caption(piece.text.trim()));
    let head = Area::around(head.iter().map(|piece| piece.area)).filter(|_| is_head);
    head.map(|head| head.top)
}

/// Whether two of the pieces stand beside each other.
fn are_beside(pieces: &[&Segment]) -> bool {
    let first_end = pieces.iter().map(|piece| piece.area.right);
    let last_start = pieces.iter().map(|piece| piece.area.left);
    first_end.fold(f32::MAX, f32::min) < last_start.fold(f32::MIN, f32::max)
}
