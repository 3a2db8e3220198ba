//! Slides as pictures: what one conversion may ask for ([`SlideDrawing`]), and who draws (`office`:
//! LibreOffice, where it is installed). The conversion process asks, the process that started it
//! draws: a converter starts no programs. What comes back is a PDF with a page for each slide,
//! which [`slide_images`] turns into pictures.

pub mod office;
pub(crate) mod ppt;
pub(crate) mod pptx;
pub(crate) mod slide_images;

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tributary_schemas::Result;

/// A format of presentations that is drawn. Its name becomes that of a file: nothing else may be
/// asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SlideFormat {
    /// PowerPoint since 2007.
    Pptx,
    /// PowerPoint 97 to 2003.
    Ppt,
}

impl SlideFormat {
    /// The usual extension, without a dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pptx => "pptx",
            Self::Ppt => "ppt",
        }
    }
}

/// A part of a slide, in shares of its width and height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Area {
    /// All of it.
    pub(crate) const WHOLE: Self = Self {
        left: 0.0,
        top: 0.0,
        width: 1.0,
        height: 1.0,
    };
}

/// Draws the slides of one document, and counts the time.
pub(crate) struct SlideDrawing<'a> {
    /// Gives the document as PDF.
    draw: &'a dyn Fn(SlideFormat) -> Result<Vec<u8>>,
    /// Told after each slide that work goes on; its error ends it.
    on_slide: &'a dyn Fn() -> Result<()>,
    spent: Cell<Duration>,
    /// By slide, from 0.
    unread: RefCell<Vec<(usize, Area)>>,
}

impl<'a> SlideDrawing<'a> {
    /// For one document. `draw` gives it as PDF; `on_slide` is told after each slide.
    pub(crate) fn new(
        draw: &'a dyn Fn(SlideFormat) -> Result<Vec<u8>>,
        on_slide: &'a dyn Fn() -> Result<()>,
    ) -> Self {
        Self {
            draw,
            on_slide,
            spent: Cell::default(),
            unread: RefCell::default(),
        }
    }

    /// Time that drawing took so far: it does not count as time of the conversion.
    pub(crate) fn spent(&self) -> Duration {
        self.spent.get()
    }

    /// Notes that a slide, counted from 0, shows something there that no converter reads: it is to
    /// be read from its picture.
    pub(crate) fn note_unread(&self, slide: usize, area: Area) {
        self.unread.borrow_mut().push((slide, area));
    }

    /// What was noted for a slide.
    pub(crate) fn unread(&self, slide: usize) -> Vec<Area> {
        self.unread
            .borrow()
            .iter()
            .filter(|(number, _)| *number == slide)
            .map(|(_, area)| *area)
            .collect()
    }

    /// The document as PDF, a page for each slide, hidden ones too.
    pub(crate) fn pdf(&self, format: SlideFormat) -> Result<Vec<u8>> {
        self.timed(|| (self.draw)(format))
    }

    /// Does something that draws a slide. Errors: those of whoever is told.
    pub(crate) fn slide<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        let drawn = self.timed(work);
        (self.on_slide)()?;
        Ok(drawn)
    }

    fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = work();
        self.spent.set(self.spent() + began.elapsed());
        result
    }
}

impl std::fmt::Debug for SlideDrawing<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SlideDrawing")
            .field("spent", &self.spent)
            .finish_non_exhaustive()
    }
}
