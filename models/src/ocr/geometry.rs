//! Points, four-cornered boxes, and the smallest rotated rectangle around points (rotating calipers
//! over the convex hull).

/// A place in an image, in pixels from its upper left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f32,
    /// Down.
    pub y: f32,
}

impl Point {
    /// A point.
    pub fn new(x: f32, y: f32) -> Self {
        Self { x, y }
    }

    /// Distance to another point.
    pub fn distance(self, other: Self) -> f32 {
        (self.x - other.x).hypot(self.y - other.y)
    }

    /// The point at `share` (0 to 1) of the way to another.
    pub fn toward(self, other: Self, share: f32) -> Self {
        Self {
            x: self.x + (other.x - self.x) * share,
            y: self.y + (other.y - self.y) * share,
        }
    }
}

/// A box with four corners that go round: where its text begins, along the text, across, and back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quad(pub [Point; 4]);

impl Quad {
    /// Length along the text.
    pub fn width(&self) -> f32 {
        let [first, second, third, fourth] = self.0;
        first.distance(second).max(fourth.distance(third))
    }

    /// Length across the text.
    pub fn height(&self) -> f32 {
        let [first, second, third, fourth] = self.0;
        first.distance(fourth).max(second.distance(third))
    }

    /// The same box, begun `quarters` corners later: the text then runs a quarter turn clockwise
    /// for each.
    pub fn turned(&self, quarters: usize) -> Self {
        let mut corners = self.0;
        corners.rotate_left(quarters % 4);
        Self(corners)
    }

    /// The box with another function applied to each corner.
    pub fn map(&self, change: impl Fn(Point) -> Point) -> Self {
        Self(self.0.map(change))
    }
}

/// A rotated rectangle: centre, half axes as vectors.
#[derive(Clone, Copy, Debug)]
pub struct Rectangle {
    centre: Point,
    /// Unit vector of the first side.
    direction: Point,
    half_length: f32,
    half_breadth: f32,
}

impl Rectangle {
    /// The shorter side.
    pub fn short_side(&self) -> f32 {
        2.0 * self.half_length.min(self.half_breadth)
    }

    /// Grows all sides outward by `distance`.
    pub fn grown(mut self, distance: f32) -> Self {
        self.half_length += distance;
        self.half_breadth += distance;
        self
    }

    /// Distance by which DB grows a region that it shrank in training: area × ratio / perimeter
    /// (Liao et al., "Real-time Scene Text Detection with Differentiable Binarization", 2020).
    pub fn unclip_distance(&self, ratio: f32) -> f32 {
        let (length, breadth) = (2.0 * self.half_length, 2.0 * self.half_breadth);
        if length + breadth <= 0.0 {
            0.0
        } else {
            length * breadth * ratio / (2.0 * (length + breadth))
        }
    }

    /// Corners from the upper left one clockwise, as seen upright.
    pub fn quad(&self) -> Quad {
        let along = Point::new(
            self.direction.x * self.half_length,
            self.direction.y * self.half_length,
        );
        let across = Point::new(
            -self.direction.y * self.half_breadth,
            self.direction.x * self.half_breadth,
        );
        let corner = |a: f32, b: f32| {
            Point::new(
                self.centre.x + a * along.x + b * across.x,
                self.centre.y + a * along.y + b * across.y,
            )
        };
        let mut corners = [
            corner(-1.0, -1.0),
            corner(1.0, -1.0),
            corner(1.0, 1.0),
            corner(-1.0, 1.0),
        ];
        corners.sort_by(|one, other| one.x.total_cmp(&other.x));
        let [left_one, left_other, right_one, right_other] = corners;
        let (top_left, bottom_left) = if left_one.y <= left_other.y {
            (left_one, left_other)
        } else {
            (left_other, left_one)
        };
        let (top_right, bottom_right) = if right_one.y <= right_other.y {
            (right_one, right_other)
        } else {
            (right_other, right_one)
        };
        Quad([top_left, top_right, bottom_right, bottom_left])
    }
}

/// The rectangle of least area around all points; `None` for no points.
pub fn smallest_rectangle(points: &[Point]) -> Option<Rectangle> {
    let hull = convex_hull(points);
    let first = hull.first()?;
    let edges = hull.iter().zip(hull.iter().cycle().skip(1));
    let mut best = bounding_rectangle(&hull, Point::new(1.0, 0.0), *first);
    for (from, to) in edges {
        let length = from.distance(*to);
        if length > 0.0 {
            let direction = Point::new((to.x - from.x) / length, (to.y - from.y) / length);
            let candidate = bounding_rectangle(&hull, direction, *from);
            if candidate.half_length * candidate.half_breadth
                < best.half_length * best.half_breadth - 1e-3
            {
                best = candidate;
            }
        }
    }
    Some(best)
}

/// The rectangle around points whose first side has this direction.
fn bounding_rectangle(points: &[Point], direction: Point, origin: Point) -> Rectangle {
    let (mut low_a, mut high_a, mut low_b, mut high_b) = (0.0_f32, 0.0_f32, 0.0_f32, 0.0_f32);
    for point in points {
        let (dx, dy) = (point.x - origin.x, point.y - origin.y);
        let (a, b) = (
            dx * direction.x + dy * direction.y,
            dy * direction.x - dx * direction.y,
        );
        (low_a, high_a) = (low_a.min(a), high_a.max(a));
        (low_b, high_b) = (low_b.min(b), high_b.max(b));
    }
    let (middle_a, middle_b) = ((low_a + high_a) / 2.0, (low_b + high_b) / 2.0);
    let centre = Point::new(
        origin.x + middle_a * direction.x - middle_b * direction.y,
        origin.y + middle_a * direction.y + middle_b * direction.x,
    );
    Rectangle {
        centre,
        direction,
        half_length: (high_a - low_a) / 2.0,
        half_breadth: (high_b - low_b) / 2.0,
    }
}

/// Corners of the convex hull (Andrew's monotone chain).
fn convex_hull(points: &[Point]) -> Vec<Point> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|one, other| one.x.total_cmp(&other.x).then(one.y.total_cmp(&other.y)));
    sorted.dedup();
    if sorted.len() < 3 {
        return sorted;
    }
    let mut hull = half_hull(sorted.iter().copied());
    hull.pop();
    hull.extend(half_hull(sorted.iter().rev().copied()));
    hull.pop();
    hull
}

fn half_hull(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut chain: Vec<Point> = Vec::new();
    for point in points {
        while let [.., before, last] = chain.as_slice() {
            let turn = (last.x - before.x) * (point.y - before.y)
                - (last.y - before.y) * (point.x - before.x);
            if turn > 0.0 {
                break;
            }
            chain.pop();
        }
        chain.push(point);
    }
    chain
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_rectangle_follows_the_points() {
        let diamond = [
            (10.0, 0.0),
            (20.0, 10.0),
            (10.0, 20.0),
            (0.0, 10.0),
            (10.0, 10.0),
        ]
        .map(|(x, y)| Point::new(x, y));
        let rectangle = smallest_rectangle(&diamond).unwrap();
        assert!(
            (rectangle.short_side() - 200.0_f32.sqrt()).abs() < 0.01,
            "{rectangle:?}"
        );
        let flat =
            [(0.0, 0.0), (100.0, 0.0), (100.0, 10.0), (0.0, 10.0)].map(|(x, y)| Point::new(x, y));
        let rectangle = smallest_rectangle(&flat).unwrap();
        let [top_left, top_right, bottom_right, _] = rectangle.grown(2.0).quad().0;
        assert_eq!(
            (top_left, top_right, bottom_right),
            (
                Point::new(-2.0, -2.0),
                Point::new(102.0, -2.0),
                Point::new(102.0, 12.0)
            )
        );
        assert!((rectangle.unclip_distance(1.6) - 1000.0 * 1.6 / 220.0).abs() < 1e-4);
        assert!(smallest_rectangle(&[]).is_none());
        assert_eq!(
            smallest_rectangle(&[Point::new(3.0, 4.0)])
                .unwrap()
                .short_side(),
            0.0
        );
    }

    #[test]
    fn turning_a_box_starts_at_another_corner() {
        let quad =
            Quad([(0.0, 0.0), (4.0, 0.0), (4.0, 1.0), (0.0, 1.0)].map(|(x, y)| Point::new(x, y)));
        assert_eq!((quad.width(), quad.height()), (4.0, 1.0));
        assert_eq!(
            (quad.turned(1).width(), quad.turned(1).height()),
            (1.0, 4.0)
        );
        assert_eq!(quad.turned(2).0[0], Point::new(4.0, 1.0));
    }
}
