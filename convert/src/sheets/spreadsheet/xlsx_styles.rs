//! Styles and shared texts of an xlsx workbook, both kept in memory while its sheets are read.

use std::collections::HashMap;

use quick_xml::events::Event;
use tributary_schemas::{Error, ErrorKind, Result};

use super::Bounds;
use super::number_format::NumberFormat;
use super::xml::{Xml, add_text, attribute, is, number};

/// Cell formats that are kept; workbooks have at most 65,490.
const MAXIMUM_FORMATS: usize = 70_000;

/// Number format of each cell format (`cellXfs`); also used by `xlsb`.
#[derive(Debug, Default)]
pub(super) struct Styles {
    formats: Vec<NumberFormat>,
}

impl Styles {
    /// The number formats of a workbook, in order of its cell formats.
    pub(super) fn new(formats: Vec<NumberFormat>) -> Self {
        Self { formats }
    }

    /// Reads `styles.xml`.
    pub(super) fn read(mut xml: Xml<'_>) -> Result<Self> {
        let mut codes: HashMap<u32, NumberFormat> = HashMap::new();
        let mut formats = Vec::new();
        let mut in_cell_formats = false;
        loop {
            match xml.next()? {
                Event::Start(tag) | Event::Empty(tag)
                    if is(&tag, "numFmt") && codes.len() < MAXIMUM_FORMATS =>
                {
                    if let Some((id, code)) =
                        number(&tag, "numFmtId").zip(attribute(&tag, "formatCode"))
                    {
                        codes.insert(id, NumberFormat::parse(&code));
                    }
                }
                Event::Start(tag) if is(&tag, "cellXfs") => in_cell_formats = true,
                Event::End(tag) if tag.local_name().as_ref() == "cellXfs" => {
                    in_cell_formats = false
                }
                Event::Start(tag) | Event::Empty(tag)
                    if in_cell_formats && is(&tag, "xf") && formats.len() < MAXIMUM_FORMATS =>
                {
                    let id = number(&tag, "numFmtId").unwrap_or(0);
                    formats.push(
                        codes
                            .get(&id)
                            .cloned()
                            .unwrap_or_else(|| NumberFormat::built_in(id)),
                    );
                }
                Event::Eof => return Ok(Self { formats }),
                _ => {}
            }
        }
    }

    /// The number format of a cell format.
    pub(super) fn format(&self, index: usize) -> &NumberFormat {
        self.formats.get(index).unwrap_or(&NumberFormat::General)
    }
}

/// The texts that cells name by number, one behind the other.
#[derive(Debug, Default)]
pub(super) struct SharedTexts {
    text: String,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl SharedTexts {
    /// Reads `sharedStrings.xml`; what was read before an error stays. Phonetic readings are left
    /// out.
    pub(super) fn read(&mut self, mut xml: Xml<'_>, bounds: Bounds<'_>) -> Result<()> {
        let maximum = bounds.settings.maximum_shared_text_bytes;
        let (mut in_text, mut phonetic) = (false, false);
        loop {
            match xml.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "t" => in_text = !phonetic,
                    "rPh" => phonetic = true,
                    _ => {}
                },
                Event::End(tag) => match tag.local_name().as_ref() {
                    "t" => in_text = false,
                    "rPh" => phonetic = false,
                    "si" => self.end_text(maximum, bounds)?,
                    _ => {}
                },
                Event::Empty(tag) if is(&tag, "si") => self.end_text(maximum, bounds)?,
                Event::Eof => return Ok(()),
                event if in_text => add_text(&event, &mut self.text),
                _ => {}
            }
        }
    }

    fn end_text(&mut self, maximum: u64, bounds: Bounds<'_>) -> Result<()> {
        self.ends.push(self.text.len());
        if self.ends.len().is_multiple_of(4096) {
            bounds.limits.check_time()?;
        }
        let bytes = self.text.len() + self.ends.len() * size_of::<usize>();
        if bytes as u64 <= maximum {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Invalid,
            format!("the cells share more than {maximum} bytes of text"),
        )
        .with_hint("split the workbook, or raise `convert.spreadsheet.maximum_shared_text_bytes`"))
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds a text; `Invalid` over the limit.
    pub(super) fn push(&mut self, text: &str, bounds: Bounds<'_>) -> Result<()> {
        self.text.push_str(text);
        self.end_text(bounds.settings.maximum_shared_text_bytes, bounds)
    }

    /// The text of a number.
    pub(super) fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        let start = index
            .checked_sub(1)
            .map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start..end)
    }
}
