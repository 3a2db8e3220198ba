//! The order in which people read a slide.
//!
//! The slide is cut along its widest gap, across or down, and each part again, so that what stands
//! close together is read together (recursive XY cut). Shapes that overlap are read in rows from
//! the top, each from the left.

use super::model::{Content, Frame, Shape};

/// Shapes may overlap by this share of the slide's height, and tops differ within a row.
const TOLERANCE_SHARE: i64 = 40;
/// Cuts within each other; below that shapes are read in rows.
const MAXIMUM_CUTS: usize = 24;

/// Puts shapes that show something into reading order, and those of groups among themselves: a
/// group is read as one.
///
/// Shapes without a place come last, in their own order. Recursion is bounded by the nesting that
/// the XML reader allows.
pub(super) fn arrange(shapes: &mut Vec<Shape>, slide_height: i64) {
    let tolerance = slide_height / TOLERANCE_SHARE;
    for shape in shapes.iter_mut() {
        let outer = shape.frame;
        if let Content::Group(children, inner) = &mut shape.content {
            if let (Some(outer), Some(inner)) = (outer, inner) {
                children.iter_mut().for_each(|child| {
                    child.frame = child.frame.map(|frame| mapped(frame, *inner, outer))
                });
            }
            arrange(children, slide_height);
        }
    }
    // Lines and backgrounds would close the gaps.
    shapes.retain(shows_something);
    shapes.sort_by_key(|shape| shape.frame.is_none());
    let placed = shapes.partition_point(|shape| shape.frame.is_some());
    if let Some((placed, _)) = shapes.split_at_mut_checked(placed) {
        cut(placed, tolerance, 0);
    }
}

fn shows_something(shape: &Shape) -> bool {
    match &shape.content {
        Content::Nothing => shape
            .body
            .paragraphs
            .iter()
            .any(|paragraph| !paragraph.pieces.is_empty()),
        Content::Group(children, _) => !children.is_empty(),
        _ => true,
    }
}

/// Start and length of a shape in one direction.
type Extent = fn(&Shape) -> (i64, i64);

fn down(shape: &Shape) -> (i64, i64) {
    let frame = shape.frame.unwrap_or_default();
    (frame.top, frame.height)
}

fn across(shape: &Shape) -> (i64, i64) {
    let frame = shape.frame.unwrap_or_default();
    (frame.left, frame.width)
}

/// Start and end, shortened so that neighbours may overlap a little.
fn shortened(extent: (i64, i64), tolerance: i64) -> (i64, i64) {
    let (start, length) = extent;
    let off = (tolerance / 2).min(length.max(0) / 4);
    (
        start.saturating_add(off),
        start.saturating_add(length.max(0)).saturating_sub(off),
    )
}

fn cut(shapes: &mut [Shape], tolerance: i64, cuts: usize) {
    if shapes.len() < 2 {
        return;
    }
    let (gap_across, gap_down) = (
        widest_gap(shapes, across, tolerance),
        widest_gap(shapes, down, tolerance),
    );
    let direction: Extent = if gap_across > gap_down { across } else { down };
    let gap = gap_across.max(gap_down);
    if gap <= 0 || cuts >= MAXIMUM_CUTS {
        rows(shapes, tolerance);
        return;
    }
    // Gaps that are about as wide are cut at once.
    for part in parts(shapes, direction, tolerance, gap - gap / 4) {
        cut(part, tolerance, cuts + 1);
    }
}

/// The widest strip without any shape in it; 0 if there is none.
fn widest_gap(shapes: &mut [Shape], direction: Extent, tolerance: i64) -> i64 {
    shapes.sort_by_key(|shape| shortened(direction(shape), tolerance).0);
    let (mut end, mut widest) = (None::<i64>, 0);
    for shape in shapes.iter() {
        let (start, shape_end) = shortened(direction(shape), tolerance);
        widest = widest.max(end.map_or(0, |end| start.saturating_sub(end)));
        end = Some(end.map_or(shape_end, |end| end.max(shape_end)));
    }
    widest
}

/// Cuts sorted shapes at all gaps of at least that width.
fn parts(shapes: &mut [Shape], direction: Extent, tolerance: i64, least: i64) -> Vec<&mut [Shape]> {
    shapes.sort_by_key(|shape| shortened(direction(shape), tolerance).0);
    let (mut lengths, mut end) = (vec![0_usize], None::<i64>);
    for shape in shapes.iter() {
        let (start, shape_end) = shortened(direction(shape), tolerance);
        if end.is_some_and(|end| start.saturating_sub(end) >= least.max(1)) {
            lengths.push(0);
        }
        if let Some(length) = lengths.last_mut() {
            *length += 1;
        }
        end = Some(end.map_or(shape_end, |end| end.max(shape_end)));
    }
    cut_at(shapes, &lengths)
}

fn cut_at<'s>(shapes: &'s mut [Shape], lengths: &[usize]) -> Vec<&'s mut [Shape]> {
    let (mut parts, mut rest) = (Vec::with_capacity(lengths.len()), shapes);
    for length in lengths {
        let (part, after) = rest.split_at_mut((*length).min(rest.len()));
        parts.push(part);
        rest = after;
    }
    parts
}

/// Shapes that overlap: rows from the top, each from the left.
fn rows(shapes: &mut [Shape], tolerance: i64) {
    shapes.sort_by_key(|shape| down(shape).0);
    let mut rest = shapes;
    while let Some(top) = rest.first().map(|shape| down(shape).0) {
        let length = rest
            .iter()
            .take_while(|shape| down(shape).0.saturating_sub(top) <= tolerance)
            .count();
        let (row, after) = rest.split_at_mut(length.max(1));
        row.sort_by_key(|shape| across(shape).0);
        rest = after;
    }
}

/// A rectangle in the inner coordinates of a group, in those that the group itself lies in.
fn mapped(frame: Frame, inner: Frame, outer: Frame) -> Frame {
    let scaled = |length: i64, from: i64, to: i64| {
        if from == 0 {
            length
        } else {
            scale(length, from, to)
        }
    };
    Frame {
        left: outer.left.saturating_add(scaled(
            frame.left.saturating_sub(inner.left),
            inner.width,
            outer.width,
        )),
        top: outer.top.saturating_add(scaled(
            frame.top.saturating_sub(inner.top),
            inner.height,
            outer.height,
        )),
        width: scaled(frame.width, inner.width, outer.width),
        height: scaled(frame.height, inner.height, outer.height),
    }
}

fn scale(length: i64, from: i64, to: i64) -> i64 {
    let scaled = i128::from(length) * i128::from(to) / i128::from(from);
    i64::try_from(scaled).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(alt: &str, [left, top, width, height]: [i64; 4]) -> Shape {
        let frame = Some(Frame {
            left,
            top,
            width,
            height,
        });
        Shape {
            alt: alt.to_owned(),
            frame,
            content: Content::Picture(String::new()),
            ..Shape::default()
        }
    }

    fn order(mut shapes: Vec<Shape>) -> String {
        arrange(&mut shapes, 400);
        shapes.iter().map(|shape| shape.alt.as_str()).collect()
    }

    #[test]
    fn what_stands_close_together_is_read_together() {
        let no_place = Shape {
            alt: "z".into(),
            frame: None,
            ..shape("", [0; 4])
        };
        let columns = [
            ("c", [200, 50, 90, 90]),
            ("d", [200, 145, 90, 90]),
            ("a", [0, 60, 90, 90]),
            ("b", [0, 155, 90, 90]),
        ];
        let columns = columns.map(|(alt, frame)| shape(alt, frame));
        assert_eq!(
            order([no_place].into_iter().chain(columns).collect()),
            "abcdz"
        );
        let rows = [
            ("d", [95, 200, 90, 90]),
            ("c", [0, 200, 90, 90]),
            ("b", [95, 0, 90, 90]),
            ("a", [0, 8, 90, 90]),
        ];
        assert_eq!(
            order(rows.map(|(alt, frame)| shape(alt, frame)).into()),
            "abcd"
        );
        let overlapping = [
            ("c", [0, 50, 99, 99]),
            ("b", [50, 0, 99, 99]),
            ("a", [10, 9, 99, 99]),
        ];
        assert_eq!(
            order(overlapping.map(|(alt, frame)| shape(alt, frame)).into()),
            "abc"
        );
    }

    #[test]
    fn groups_are_read_as_one_in_the_coordinates_of_the_slide() {
        let children = vec![shape("y", [900, 0, 90, 90]), shape("x", [0, 50, 90, 90])];
        let inner = Frame {
            left: 0,
            top: 0,
            width: 1000,
            height: 1000,
        };
        let outer = Frame {
            left: 0,
            top: 100,
            width: 100,
            height: 100,
        };
        let group = Shape {
            frame: Some(outer),
            content: Content::Group(children, Some(inner)),
            ..Shape::default()
        };
        let mut shapes = vec![shape("z", [0, 220, 9, 9]), group];
        arrange(&mut shapes, 400);
        let Content::Group(children, _) = &shapes[0].content else {
            panic!("the group comes first")
        };
        assert_eq!(children[0].alt, "x");
        assert_eq!(
            children[1].frame.map(|frame| (frame.left, frame.top)),
            Some((90, 100))
        );
    }
}
