//! A slide as it is read: shapes with their places and contents. A layout and a master are slides
//! too.

use crate::office::pieces::Piece;
use crate::slides::Area;

/// Levels that a list style describes.
pub(crate) const LEVELS: usize = 9;

/// What stands before a paragraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bullet {
    /// Nothing.
    None,
    /// A mark.
    Mark,
    /// A number that starts at this one.
    Number(u64),
}

/// Bullets by level, as far as a style says.
pub(crate) type Levels = [Option<Bullet>; LEVELS];

/// A paragraph of a text body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paragraph {
    /// Level, 0 is the outermost.
    pub level: usize,
    /// Its own bullet.
    pub bullet: Option<Bullet>,
    /// Its text.
    pub pieces: Vec<Piece>,
    /// Whether any of its text came from a field such as a date.
    pub has_field: bool,
}

/// Text with the list style of its shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextBody {
    /// Bullets of the shape's own list style.
    pub levels: Levels,
    /// Paragraphs, empty ones too.
    pub paragraphs: Vec<Paragraph>,
}

/// A rectangle on the slide, in EMU (914,400 to the inch).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub left: i64,
    pub top: i64,
    pub width: i64,
    pub height: i64,
}

/// Width and height of the slides, in the unit of their frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlideSize {
    pub width: i64,
    pub height: i64,
}

impl SlideSize {
    /// Where a frame lies; a shape without one may lie anywhere.
    pub(crate) fn area(&self, frame: Option<Frame>) -> Area {
        let share = |length: i64, whole: i64| length as f64 / whole.max(1) as f64;
        let within = |frame: Frame| Area {
            left: share(frame.left, self.width),
            top: share(frame.top, self.height),
            width: share(frame.width, self.width),
            height: share(frame.height, self.height),
        };
        frame.map_or(Area::WHOLE, within)
    }
}

/// What a placeholder holds a place for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placeholder {
    /// Type such as `title`; empty if it is not said.
    pub kind: String,
    /// Number by which slides and layouts match.
    pub index: Option<u32>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub body: TextBody,
    /// Whether it is merged into the one on its left.
    pub continues_left: bool,
    /// Whether it is merged into the one above.
    pub continues_above: bool,
}

/// What a shape shows beside its text. Strings are relationship identifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Content {
    #[default]
    Nothing,
    Picture(String),
    Table(Vec<Vec<Cell>>),
    Chart(String),
    Diagram(String),
    /// Shapes, and the rectangle whose coordinates theirs are in.
    Group(Vec<Shape>, Option<Frame>),
}

/// A shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub placeholder: Option<Placeholder>,
    pub frame: Option<Frame>,
    pub is_hidden: bool,
    /// Alternative text.
    pub alt: String,
    pub body: TextBody,
    pub content: Content,
}

/// A slide, a layout or a master.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slide {
    pub shapes: Vec<Shape>,
    /// Whether it is left out when the slides are shown.
    pub is_hidden: bool,
    /// Of a master: bullets of titles, of bodies, and of other text.
    pub title_levels: Levels,
    pub body_levels: Levels,
    pub other_levels: Levels,
}
