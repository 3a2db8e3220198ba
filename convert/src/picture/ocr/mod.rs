//! Text in pictures: one recogniser a process, opened when the first picture comes ([`Engine`]),
//! what one conversion may ask of it ([`PictureReader`]), and the way from recognised lines to
//! Markdown (`layout`). Used by the converters of images, PDF and whatever holds pictures; opened
//! by the pool and its conversion processes.

mod layout;
#[cfg(test)]
pub(crate) mod mirror;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tributary_models::ocr::{
    ENGINE, OcrSetup, OcrUnavailable, RecognizedPage, RgbImage, TextRecognizer,
};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::config::OcrConfig;

/// Metadata: why pictures were not read.
pub const UNAVAILABLE_KEY: &str = "ocr_unavailable";
/// Metadata: `nothing` where pictures were read and have no text.
pub const FOUND_KEY: &str = "ocr_found";

/// The recogniser of a process, or why there is none.
pub struct Engine {
    setup: std::result::Result<OcrSetup, OcrUnavailable>,
    opened: OnceLock<std::result::Result<Box<dyn TextRecognizer>, OcrUnavailable>>,
}

impl Engine {
    /// Opens nothing yet.
    pub fn new(setup: std::result::Result<OcrSetup, OcrUnavailable>) -> Self {
        Self {
            setup,
            opened: OnceLock::new(),
        }
    }

    /// A recogniser that is open already.
    pub fn with(recognizer: Box<dyn TextRecognizer>) -> Self {
        let engine = Self::new(Err(OcrUnavailable::new("it is open")));
        engine.opened.get_or_init(|| Ok(recognizer));
        engine
    }

    fn recognizer(&self) -> std::result::Result<&dyn TextRecognizer, &OcrUnavailable> {
        let open = || match &self.setup {
            Ok(setup) => setup
                .open()
                .map(|recognizer| Box::new(recognizer) as Box<dyn TextRecognizer>),
            Err(unavailable) => Err(unavailable.clone()),
        };
        self.opened.get_or_init(open).as_ref().map(Box::as_ref)
    }
}

/// Reads the pictures of one document within its limits, and counts.
pub(crate) struct PictureReader<'a> {
    settings: &'a OcrConfig,
    engine: &'a Engine,
    /// Told after each page that work goes on; its error ends it.
    on_page: &'a dyn Fn() -> Result<()>,
    spent: Cell<Duration>,
    tally: RefCell<Tally>,
}

/// What was read of a document.
#[derive(Clone, Debug, Default)]
struct Tally {
    pages: usize,
    characters: usize,
    /// Sum of confidence × characters.
    confidence: f64,
    uncertain_lines: usize,
    unavailable: Option<String>,
    left_out: usize,
}

fn failed(error: &Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("text in a picture cannot be read: {error}"),
    )
    .with_hint(
        "check the models with `tributary models list` and fetch them again with `tributary models pull ocr`",
    )
}

impl<'a> PictureReader<'a> {
    /// For one document. `on_page` is told after each page; its error ends the reading, when nobody
    /// waits for it any more.
    pub(crate) fn new(
        settings: &'a OcrConfig,
        engine: &'a Engine,
        on_page: &'a dyn Fn() -> Result<()>,
    ) -> Self {
        Self {
            settings,
            engine,
            on_page,
            spent: Cell::default(),
            tally: RefCell::default(),
        }
    }

    /// Time that reading took so far: it does not count as time of the conversion.
    pub(crate) fn spent(&self) -> Duration {
        self.spent.get()
    }

    /// Whether pictures within documents are read too.
    pub(crate) fn reads_embedded(&self) -> bool {
        self.settings.embedded_pictures
    }

    /// Dots per inch at which pages are drawn to be read.
    pub(crate) fn dots_per_inch(&self) -> f32 {
        self.settings.dots_per_inch
    }

    /// Whether a picture of that many pixels may show text; smaller ones are icons.
    pub(crate) fn is_large_enough(&self, width: u32, height: u32) -> bool {
        width.min(height) >= self.settings.minimum_picture_side
    }

    /// Whether one more picture is read. One that is not need not be decoded or drawn;
    /// [`Self::note`] tells of it.
    pub(crate) fn takes_another(&self) -> bool {
        self.recognizer().is_some()
    }

    /// Who reads one more picture; it is noted where nobody does.
    fn recognizer(&self) -> Option<&dyn TextRecognizer> {
        let recognizer = self
            .engine
            .recognizer()
            .map_err(|unavailable| self.unavailable(unavailable.reason()))
            .ok()?;
        if self.tally.borrow().pages >= self.settings.maximum_pages
            || self.spent() >= Duration::from_millis(self.settings.document_timeout_ms)
        {
            self.tally.borrow_mut().left_out += 1;
            return None;
        }
        Some(recognizer)
    }

    /// The Markdown of a picture, empty if it has no text; `None` if it is left unread, which
    /// [`Self::note`] tells.
    ///
    /// Errors: `Internal` if the recogniser fails, which is no fault of the document, and that of
    /// `on_page`.
    pub(crate) fn read(&self, image: &RgbImage) -> Result<Option<String>> {
        let Some(recognizer) = self.recognizer() else {
            return Ok(None);
        };
        let allowed = Duration::from_millis(self.settings.page_timeout_ms);
        let began = Instant::now();
        let is_late = || began.elapsed() > allowed;
        let too_long = || Error::new(ErrorKind::Timeout, "a picture takes too long to be read");
        let result =
            recognizer.recognize(image, &|| if is_late() { Err(too_long()) } else { Ok(()) });
        self.spent.set(self.spent() + began.elapsed());
        (self.on_page)()?;
        match result {
            Ok(page) => Ok(Some(self.count(&page))),
            Err(error) if error.kind() == ErrorKind::Timeout => {
                self.tally.borrow_mut().left_out += 1;
                Ok(None)
            }
            Err(error) => Err(failed(&error)),
        }
    }

    /// Notes that a picture cannot be read, and why.
    pub(crate) fn unavailable(&self, reason: &str) {
        self.tally
            .borrow_mut()
            .unavailable
            .get_or_insert_with(|| reason.to_owned());
    }

    fn count(&self, page: &RecognizedPage) -> String {
        let mut tally = self.tally.borrow_mut();
        tally.pages += 1;
        tally.uncertain_lines += page.uncertain_lines;
        for line in &page.lines {
            let characters = line.text.chars().count();
            tally.characters += characters;
            tally.confidence += f64::from(line.confidence) * characters as f64;
        }
        layout::page_markdown(page)
    }

    /// Writes what was read into the metadata: `ocr` is the engine, `ocr_pages` how many pages and
    /// pictures it read, `ocr_confidence` the mean over all characters (0 to 1, two digits),
    /// `ocr_uncertain_lines` the lines that were left out, `ocr_found` is `nothing` if there
    /// was no text at all, `ocr_left_out` the pages beyond a limit, `ocr_unavailable` why none was
    /// read.
    pub(crate) fn note(&self, metadata: &mut BTreeMap<String, String>) {
        let tally = self.tally.borrow();
        let mut insert = |key: &str, value: String| metadata.insert(key.to_owned(), value);
        if let Some(reason) = &tally.unavailable {
            insert(UNAVAILABLE_KEY, reason.clone());
        }
        if tally.left_out > 0 {
            insert("ocr_left_out", tally.left_out.to_string());
        }
        if tally.pages == 0 {
            return;
        }
        insert("ocr", ENGINE.to_owned());
        insert("ocr_pages", tally.pages.to_string());
        if tally.uncertain_lines > 0 {
            insert("ocr_uncertain_lines", tally.uncertain_lines.to_string());
        }
        match tally.characters {
            0 => insert(FOUND_KEY, "nothing".to_owned()),
            characters => insert(
                "ocr_confidence",
                format!("{:.2}", tally.confidence / characters as f64),
            ),
        };
    }
}

impl std::fmt::Debug for PictureReader<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PictureReader")
            .field("tally", &self.tally)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
