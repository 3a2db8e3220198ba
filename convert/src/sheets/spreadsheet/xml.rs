//! XML parts as a stream of events, with names without prefixes and bounded memory.

use std::borrow::Cow;

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use tributary_schemas::{Error, ErrorKind, Result};

use super::package::{Part, part_error};

/// Reads one part.
pub(super) struct Xml<'a> {
    reader: Reader<Part<'a>>,
    buffer: Vec<u8>,
    name: String,
}

impl<'a> Xml<'a> {
    /// Reads the part of that name.
    pub(super) fn new(part: Part<'a>, name: &str) -> Self {
        let mut reader = Reader::from_reader(part);
        let config = reader.config_mut();
        // Names of open tags would pile up, and a workbook with crossed tags is still read.
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        Self {
            reader,
            buffer: Vec::new(),
            name: name.to_owned(),
        }
    }

    /// The next event; `Eof` at the end.
    pub(super) fn next(&mut self) -> Result<Event<'_>> {
        self.buffer.clear();
        self.reader.get_mut().begin_event();
        self.reader
            .read_event_into(&mut self.buffer)
            .map_err(|error| match error {
                quick_xml::Error::Io(error) => part_error(&self.name, &error),
                other => Error::new(
                    ErrorKind::Corrupt,
                    format!("the part {} is no proper XML: {other}", self.name),
                )
                .with_hint("the file is damaged; send it again"),
            })
    }
}

/// Whether a tag has a local name.
pub(super) fn is(tag: &BytesStart<'_>, name: &str) -> bool {
    tag.local_name().as_ref() == name
}

/// The value of an attribute by its local name.
pub(super) fn attribute<'a>(tag: &'a BytesStart<'_>, name: &str) -> Option<Cow<'a, str>> {
    let found = tag
        .attributes()
        .with_checks(false)
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref() == name)?;
    if !found.value.contains('&') {
        return Some(found.value);
    }
    let fallback = found.value.clone();
    Some(
        found
            .normalized_value(XmlVersion::default())
            .unwrap_or(fallback),
    )
}

/// An attribute that is a number.
pub(super) fn number<T: std::str::FromStr>(tag: &BytesStart<'_>, name: &str) -> Option<T> {
    attribute(tag, name)?.trim().parse().ok()
}

/// Whether an attribute says yes.
pub(super) fn truth(tag: &BytesStart<'_>, name: &str) -> bool {
    attribute(tag, name).is_some_and(|value| matches!(value.trim(), "1" | "true" | "on"))
}

/// Adds the text that an event stands for.
pub(super) fn add_text(event: &Event<'_>, out: &mut String) {
    match event {
        Event::Text(text) => out.push_str(&text.xml10_content()),
        Event::CData(text) => out.push_str(&text.xml10_content()),
        Event::GeneralRef(reference) => out.extend(referenced(reference)),
        _ => {}
    }
}

/// The character of `&lt;` or `&#60;`; entities of a document type are never followed.
fn referenced(reference: &BytesRef<'_>) -> Option<char> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return Some(character);
    }
    match &*reference.xml10_content() {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => None,
    }
}
