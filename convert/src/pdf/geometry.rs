//! Boxes in reading coordinates: points (1/72 inch), x to the right, y downwards, turned so that
//! the text stands upright.

/// How far apart edges are at most that stand below each other, in points.
pub(super) const SAME_EDGE: f32 = 3.0;

/// A box; `left <= right`, `top <= bottom`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Area {
    /// Smallest x.
    pub left: f32,
    /// Smallest y.
    pub top: f32,
    /// Largest x.
    pub right: f32,
    /// Largest y.
    pub bottom: f32,
}

impl Area {
    /// A box around two opposite corners.
    pub(super) fn between(one: (f32, f32), other: (f32, f32)) -> Self {
        Self {
            left: one.0.min(other.0),
            top: one.1.min(other.1),
            right: one.0.max(other.0),
            bottom: one.1.max(other.1),
        }
    }

    /// The box around both.
    pub(super) fn joined(self, other: Self) -> Self {
        Self {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    /// The box around all; `None` of none.
    pub(super) fn around(areas: impl IntoIterator<Item = Self>) -> Option<Self> {
        areas.into_iter().reduce(Self::joined)
    }

    /// Points from left to right.
    pub(super) fn width(self) -> f32 {
        self.right - self.left
    }

    /// Points from top to bottom.
    pub(super) fn height(self) -> f32 {
        self.bottom - self.top
    }

    /// Vertical middle.
    pub(super) fn middle(self) -> f32 {
        f32::midpoint(self.top, self.bottom)
    }

    /// Horizontal middle.
    pub(super) fn centre(self) -> f32 {
        f32::midpoint(self.left, self.right)
    }

    /// Whether a point lies inside or on the edge.
    pub(super) fn contains(self, x: f32, y: f32) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    /// Points of height that both have in common, 0 or less if none.
    pub(super) fn shared_height(self, other: Self) -> f32 {
        self.bottom.min(other.bottom) - self.top.max(other.top)
    }
}

/// How a page is turned so that some of its text stands upright.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Turn {
    /// Quarter turns clockwise, 0 to 3.
    pub quarters: u8,
    /// The page in PDF's own coordinates (y upwards): left, bottom, right, top.
    pub page: [f32; 4],
}

impl Turn {
    /// A point of the PDF in reading coordinates.
    pub(super) fn point(self, x: f32, y: f32) -> (f32, f32) {
        let [left, bottom, right, top] = self.page;
        match self.quarters % 4 {
            0 => (x - left, top - y),
            1 => (y - bottom, x - left),
            2 => (right - x, y - bottom),
            _ => (top - y, right - x),
        }
    }

    /// Width and height of the turned page.
    pub(super) fn size(self) -> (f32, f32) {
        let [left, bottom, right, top] = self.page;
        if self.quarters.is_multiple_of(2) {
            (right - left, top - bottom)
        } else {
            (top - bottom, right - left)
        }
    }
}

/// Whether one stands above, on or below the other.
pub(super) fn share_width(one: Area, other: Area) -> bool {
    one.left < other.right && other.left < one.right
}

/// Most boxes whose edges stand below each other.
pub(super) fn most_aligned(areas: &[Area], edge: fn(Area) -> f32) -> usize {
    let mut edges: Vec<f32> = areas.iter().map(|area| edge(*area)).collect();
    edges.sort_by(f32::total_cmp);
    edges
        .chunk_by(|one, other| other - one < SAME_EDGE)
        .map(<[f32]>::len)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_stay_corners() {
        let page = [10.0, 20.0, 110.0, 320.0];
        let corners = [(10.0, 20.0), (10.0, 320.0), (110.0, 20.0), (110.0, 320.0)];
        for quarters in 0..4 {
            let turn = Turn { quarters, page };
            let (width, height) = turn.size();
            for (x, y) in corners.map(|(x, y)| turn.point(x, y)) {
                assert!(
                    (x == 0.0 || x == width) && (y == 0.0 || y == height),
                    "{quarters}: {x}, {y}"
                );
            }
        }
        // Text that runs upwards starts at the bottom left corner: the top left one after a quarter
        // turn.
        assert_eq!(Turn { quarters: 1, page }.point(10.0, 20.0), (0.0, 0.0));
    }
}
