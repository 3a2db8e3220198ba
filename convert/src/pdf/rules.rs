//! Straight lines drawn on a page (strokes, thin boxes, sides of drawn boxes), from which tables
//! are found.

use std::ffi::{c_int, c_ulong};

use pdfium_render::prelude::{FPDF_PAGEOBJECT, FS_MATRIX};
use tributary_schemas::Result;

use super::Bounds;
use super::document::Page;
use super::geometry::{Area, Turn};
use super::library::Bindings;

/// Thickest box that is taken for a line, and the shortest line, in points.
const MAXIMUM_THICKNESS: f32 = 3.0;
const MINIMUM_LENGTH: f32 = 6.0;

/// Longest gap between two parts of one line, and how far apart parallel lines are the same, in
/// points.
const MAXIMUM_GAP: f32 = 3.0;
const SAME_LINE: f32 = 1.5;

/// Widths and heights of drawn signs of lists, in points.
const DOT_SIZES: std::ops::Range<f32> = 1.2..9.0;

/// How deep drawings within drawings are followed.
const MAXIMUM_DEPTH: u8 = 4;

/// Most objects of a page, those within drawings counted each time they are drawn.
const MAXIMUM_OBJECTS: usize = 500_000;

/// Most points of one path, and most lines of a page.
const MAXIMUM_POINTS: c_int = 4000;
const MAXIMUM_RULES: usize = 8000;

/// PDFium's numbers of object types and of path segments.
const PATH: c_int = 2;
const IMAGE: c_int = 3;
const FORM: c_int = 5;
const LINE_TO: c_int = 0;
const MOVE_TO: c_int = 2;

const IDENTITY: FS_MATRIX = FS_MATRIX {
    a: 1.0,
    b: 0.0,
    c: 0.0,
    d: 1.0,
    e: 0.0,
    f: 0.0,
};

/// A horizontal or vertical line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    /// y of a horizontal line, x of a vertical one.
    pub at: f32,
    /// Smaller end.
    pub from: f32,
    /// Larger end.
    pub to: f32,
}

/// The lines of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rules {
    /// From top to bottom.
    pub horizontal: Vec<Rule>,
    /// From left to right.
    pub vertical: Vec<Rule>,
    /// Small shapes as wide as high: the signs of lists are often drawn so.
    pub dots: Vec<Area>,
    /// Share of the page that its largest picture covers.
    pub largest_picture: f32,
}

impl Rules {
    /// Whether a vertical line stands between two places of one line of text.
    pub(super) fn part(&self, left: f32, right: f32, y: f32) -> bool {
        let first = self.vertical.partition_point(|rule| rule.at < left - 1.0);
        let nearby = self
            .vertical
            .iter()
            .skip(first)
            .take_while(|rule| rule.at <= right + 1.0);
        nearby
            .into_iter()
            .any(|rule| rule.from <= y && y <= rule.to)
    }
}

/// Reads the lines of a page, in the coordinates of `turn`; none if the page has more paths than
/// the limit.
pub(super) fn read(page: &Page, turn: Turn, bounds: Bounds<'_>) -> Result<Rules> {
    let mut collector = Collector {
        pdfium: page.pdfium,
        turn,
        rules: Rules::default(),
        objects: 0,
        paths: 0,
        maximum_paths: bounds.settings.maximum_paths_per_page,
    };
    // SAFETY: the page is open.
    let count = unsafe { page.pdfium.FPDFPage_CountObjects(page.handle) };
    for index in 0..count {
        if index % 4096 == 4095 {
            bounds.limits.check_time()?;
        }
        // SAFETY: the page is open, the index is below its count.
        let object = unsafe { page.pdfium.FPDFPage_GetObject(page.handle, index) };
        collector.object(object, IDENTITY, 0);
        if collector.is_full() {
            return Ok(Rules::default());
        }
    }
    let (_, height) = turn.size();
    Ok(tidied(collector.rules, height))
}

struct Collector<'a> {
    pdfium: &'a Bindings,
    turn: Turn,
    rules: Rules,
    objects: usize,
    paths: usize,
    maximum_paths: usize,
}

impl Collector<'_> {
    fn is_full(&self) -> bool {
        self.paths > self.maximum_paths
            || self.objects > MAXIMUM_OBJECTS
            || self.rules.horizontal.len() + self.rules.vertical.len() > MAXIMUM_RULES
    }

    fn object(&mut self, object: FPDF_PAGEOBJECT, outer: FS_MATRIX, depth: u8) {
        if object.is_null() || self.is_full() {
            return;
        }
        self.objects += 1;
        // SAFETY: the object belongs to the open page.
        match unsafe { self.pdfium.FPDFPageObj_GetType(object) } {
            IMAGE if depth == 0 => self.picture(object),
            PATH => {
                self.paths += 1;
                self.path(object, outer);
            }
            FORM if depth < MAXIMUM_DEPTH => {
                let matrix = multiplied(self.matrix(object), outer);
                // SAFETY: as above.
                let count =
                    c_ulong::try_from(unsafe { self.pdfium.FPDFFormObj_CountObjects(object) })
                        .unwrap_or(0);
                for index in 0..count {
                    // SAFETY: as above; the index is below the count.
                    let inner = unsafe { self.pdfium.FPDFFormObj_GetObject(object, index) };
                    self.object(inner, matrix, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn picture(&mut self, picture: FPDF_PAGEOBJECT) {
        let (mut left, mut bottom, mut right, mut top) = (0.0, 0.0, 0.0, 0.0);
        // SAFETY: as in `object`.
        unsafe {
            self.pdfium.FPDFPageObj_GetBounds(
                picture,
                &raw mut left,
                &raw mut bottom,
                &raw mut right,
                &raw mut top,
            )
        };
        let (width, height) = self.turn.size();
        let share = (right - left) * (top - bottom) / (width * height).max(1.0);
        self.rules.largest_picture = self.rules.largest_picture.max(share);
    }

    fn matrix(&self, object: FPDF_PAGEOBJECT) -> FS_MATRIX {
        let mut matrix = IDENTITY;
        // SAFETY: as in `object`.
        unsafe { self.pdfium.FPDFPageObj_GetMatrix(object, &raw mut matrix) };
        matrix
    }

    fn path(&mut self, path: FPDF_PAGEOBJECT, outer: FS_MATRIX) {
        let (mut fill, mut stroke) = (0, 0);
        // SAFETY: as in `object`.
        let count = unsafe {
            self.pdfium
                .FPDFPath_GetDrawMode(path, &raw mut fill, &raw mut stroke);
            self.pdfium.FPDFPath_CountSegments(path)
        };
        if !(2..=MAXIMUM_POINTS).contains(&count) || (fill == 0 && stroke == 0) {
            return;
        }
        let matrix = multiplied(self.matrix(path), outer);
        let points = self.points(path, count, matrix);
        for part in points.chunk_by(|_, next| !next.starts) {
            self.part(part, stroke != 0);
        }
    }

    fn points(&self, path: FPDF_PAGEOBJECT, count: c_int, matrix: FS_MATRIX) -> Vec<Point> {
        let mut points = Vec::new();
        for index in 0..count {
            let (mut x, mut y) = (0.0, 0.0);
            // SAFETY: the index is below the path's count.
            let kind = unsafe {
                let segment = self.pdfium.FPDFPath_GetPathSegment(path, index);
                if self
                    .pdfium
                    .FPDFPathSegment_GetPoint(segment, &raw mut x, &raw mut y)
                    == 0
                {
                    continue;
                }
                self.pdfium.FPDFPathSegment_GetType(segment)
            };
            let at = self.turn.point(
                matrix.a * x + matrix.c * y + matrix.e,
                matrix.b * x + matrix.d * y + matrix.f,
            );
            points.push(Point {
                at,
                starts: kind == MOVE_TO,
                is_straight: matches!(kind, MOVE_TO | LINE_TO),
            });
        }
        points
    }

    /// One connected part of a path: a thin one is a line itself, the sides of others are lines if
    /// they are drawn.
    fn part(&mut self, points: &[Point], is_stroked: bool) {
        let Some(area) = Area::around(points.iter().map(|point| Area::between(point.at, point.at)))
        else {
            return;
        };
        if is_dot(area) && self.rules.dots.len() < MAXIMUM_RULES {
            self.rules.dots.push(area);
        }
        if area.height() <= MAXIMUM_THICKNESS || area.width() <= MAXIMUM_THICKNESS {
            self.line(area);
            return;
        }
        if !is_stroked || points.iter().any(|point| !point.is_straight) {
            return;
        }
        for (start, end) in sides(points) {
            let side = Area::between(start, end);
            if side.height() <= 1.0 || side.width() <= 1.0 {
                self.line(side);
            }
        }
    }

    fn line(&mut self, area: Area) {
        if area.width() >= area.height() && area.width() >= MINIMUM_LENGTH {
            self.rules.horizontal.push(Rule {
                at: area.middle(),
                from: area.left,
                to: area.right,
            });
        } else if area.height() > area.width() && area.height() >= MINIMUM_LENGTH {
            self.rules.vertical.push(Rule {
                at: area.centre(),
                from: area.top,
                to: area.bottom,
            });
        }
    }
}

fn is_dot(area: Area) -> bool {
    let (width, height) = (area.width(), area.height());
    DOT_SIZES.contains(&width)
        && DOT_SIZES.contains(&height)
        && (width - height).abs() < 0.35 * width
}

struct Point {
    at: (f32, f32),
    starts: bool,
    is_straight: bool,
}

/// Start and end of each side of a shape, which is closed if it has four corners or more.
fn sides(points: &[Point]) -> impl Iterator<Item = ((f32, f32), (f32, f32))> {
    let closing = points
        .last()
        .zip(points.first())
        .filter(|_| points.len() >= 4)
        .map(|(last, first)| (last.at, first.at));
    let sides = points
        .windows(2)
        .filter_map(|pair| Some((pair.first()?.at, pair.last()?.at)));
    sides.chain(closing)
}

fn multiplied(inner: FS_MATRIX, outer: FS_MATRIX) -> FS_MATRIX {
    FS_MATRIX {
        a: inner.a * outer.a + inner.b * outer.c,
        b: inner.a * outer.b + inner.b * outer.d,
        c: inner.c * outer.a + inner.d * outer.c,
        d: inner.c * outer.b + inner.d * outer.d,
        e: inner.e * outer.a + inner.f * outer.c + outer.e,
        f: inner.e * outer.b + inner.f * outer.d + outer.f,
    }
}

/// Lines in order, those above and below the page left out.
fn tidied(mut rules: Rules, height: f32) -> Rules {
    rules
        .horizontal
        .retain(|rule| (0.0..=height).contains(&rule.at));
    Rules {
        horizontal: merged(rules.horizontal),
        vertical: merged(rules.vertical),
        dots: rules.dots,
        largest_picture: rules.largest_picture,
    }
}

/// Lines in order of their places; parts of one line joined.
fn merged(mut rules: Vec<Rule>) -> Vec<Rule> {
    rules.retain(|rule| rule.at.is_finite() && rule.from.is_finite() && rule.to.is_finite());
    rules.sort_by(|one, other| one.at.total_cmp(&other.at));
    let mut merged = Vec::new();
    for line in rules.chunk_by(|one, other| other.at - one.at <= SAME_LINE) {
        let mut parts = line.to_vec();
        parts.sort_by(|one, other| one.from.total_cmp(&other.from));
        let begins = merged.len();
        for part in parts {
            match merged.get_mut(begins..).and_then(<[Rule]>::last_mut) {
                Some(last) if part.from <= last.to + MAXIMUM_GAP => last.to = last.to.max(part.to),
                _ => merged.push(part),
            }
        }
    }
    merged.sort_by(|one, other| one.at.total_cmp(&other.at));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_line_become_one() {
        let part = |at, from, to| Rule { at, from, to };
        let lines = merged(vec![
            part(10.0, 50.0, 90.0),
            part(30.0, 0.0, 5.0),
            part(10.5, 0.0, 49.0),
            part(10.0, 200.0, 210.0),
        ]);
        assert_eq!(
            lines
                .iter()
                .map(|rule| (rule.from, rule.to))
                .collect::<Vec<_>>(),
            [(200.0, 210.0), (0.0, 90.0), (0.0, 5.0)]
        );
    }

    #[test]
    fn vertical_lines_part_text() {
        let rules = Rules {
            vertical: vec![Rule {
                at: 50.0,
                from: 10.0,
                to: 20.0,
            }],
            ..Rules::default()
        };
        assert!(
            rules.part(40.0, 60.0, 15.0)
                && !rules.part(40.0, 60.0, 25.0)
                && !rules.part(60.0, 70.0, 15.0)
        );
    }
}
