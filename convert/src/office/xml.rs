//! Streaming reader of XML parts for all office formats: elements by local name, depth and time
//! limits, one branch of alternate content. Document types and their entities are never expanded. A
//! part that is not well formed ends where it breaks; `damage` tells.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::limits::Limits;
use crate::slices::part;

/// Events between two looks at the clock.
const EVENTS_PER_LOOK: u32 = 4096;

/// Namespace prefixes in `Requires` whose content has a better picture of it in the fallback.
const NOT_UNDERSTOOD: [&str; 9] = [
    "v", "cx", "cx1", "cx2", "wpi", "aink", "am3d", "iwx", "msink",
];

/// A start tag.
#[derive(Clone, Debug)]
pub(crate) struct Element<'x> {
    tag: BytesStart<'x>,
}

impl Element<'_> {
    /// Name without its prefix.
    pub(crate) fn name(&self) -> &str {
        local(self.tag.name().into_inner())
    }

    /// Value of the first attribute of that local name, whatever its prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find_attribute(|key| local(key) == name)
    }

    /// Value of the attribute of that local name that has a prefix, as relationship identifiers
    /// have.
    pub(crate) fn prefixed_attribute(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find_attribute(|key| key.split_once(':').is_some_and(|(_, local)| local == name))
    }

    /// Value of the attribute of exactly that name, without a prefix.
    pub(crate) fn unprefixed_attribute(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find_attribute(|key| key == name)
    }

    fn find_attribute(&self, wanted: impl Fn(&str) -> bool) -> Option<Cow<'_, str>> {
        let mut attributes = self.tag.attributes();
        let found = attributes
            .with_checks(false)
            .flatten()
            .find(|attribute| wanted(attribute.key.into_inner()))?;
        if !found.value.contains('&') {
            return Some(found.value);
        }
        let text = quick_xml::escape::unescape(&found.value).map(Cow::into_owned);
        Some(Cow::Owned(text.unwrap_or_else(|_| found.value.to_string())))
    }

    /// The attribute `val`.
    pub(crate) fn value(&self) -> Option<Cow<'_, str>> {
        self.attribute("val")
    }

    /// A switch such as `<b/>` or `<b val="0"/>`.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(
            self.value().as_deref(),
            Some("0" | "false" | "off" | "none")
        )
    }

    /// The attribute `val` as a number.
    pub(crate) fn number(&self) -> Option<i64> {
        self.value()?.trim().parse().ok()
    }
}

fn local(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

/// What comes next in a part.
#[derive(Debug)]
pub(crate) enum Node<'x> {
    /// An element begins; its end follows in any case.
    Start(Element<'x>),
    /// The innermost open element ends.
    End,
    /// Text.
    Text(Cow<'x, str>),
    /// The part is over, or damaged from here on.
    Eof,
}

/// Reader of one part.
pub(crate) struct XmlReader<'x> {
    reader: Reader<&'x [u8]>,
    part: String,
    length: usize,
    limits: Limits<'x>,
    depth: usize,
    /// Open `AlternateContent` elements: their depth, and whether a branch has been taken.
    alternates: Vec<(usize, bool)>,
    events: u32,
    is_over: bool,
    damage: Option<Damage>,
}

/// Where and how a part is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// What is wrong, with the name of the part.
    pub message: String,
    /// Share of the part, 0 to 100, that was read.
    pub percent_read: usize,
}

impl<'x> XmlReader<'x> {
    /// Reads `text`; `part` is its name for messages.
    pub(crate) fn new(text: &'x str, part: &str, limits: Limits<'x>) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.allow_dangling_amp = true;
        Self {
            reader,
            part: part.to_owned(),
            length: text.len(),
            limits,
            depth: 0,
            alternates: Vec::new(),
            events: 0,
            is_over: false,
            damage: None,
        }
    }

    /// What is wrong with the part, as far as it was read.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// The next node. Errors: `Invalid` over the depth or time limit.
    pub(crate) fn next_node(&mut self) -> Result<Node<'x>> {
        loop {
            if self.is_over {
                return Ok(Node::Eof);
            }
            self.look_at_clock()?;
            match self.reader.read_event() {
                Ok(Event::Start(tag)) => {
                    self.enter()?;
                    if let Some(element) = self.branch(Element { tag })? {
                        return Ok(Node::Start(element));
                    }
                }
                Ok(Event::End(_)) => {
                    if self.leave() {
                        return Ok(Node::End);
                    }
                }
                Ok(Event::Text(text)) => return Ok(Node::Text(text.into_inner())),
                Ok(Event::CData(text)) => return Ok(Node::Text(text.into_inner())),
                Ok(Event::GeneralRef(reference)) => {
                    if let Some(character) = entity(&reference) {
                        return Ok(Node::Text(Cow::Owned(character.to_string())));
                    }
                }
                Ok(Event::Eof) => self.end(None),
                Ok(_) => {}
                Err(error) => self.end(Some(error.to_string())),
            }
        }
    }

    fn look_at_clock(&mut self) -> Result<()> {
        self.events += 1;
        if self.events >= EVENTS_PER_LOOK {
            self.events = 0;
            self.limits.check_time()?;
        }
        Ok(())
    }

    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        let limit = self.limits.maximum_xml_depth;
        if self.depth <= limit {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Invalid,
            format!(
                "elements of the part {} are nested more than {limit} levels deep",
                self.part
            ),
        )
        .with_hint("flatten the document, or raise `convert.office.maximum_xml_depth`"))
    }

    /// The element, unless it belongs to alternate content: of that one branch is passed on, and
    /// its wrappers are hidden.
    fn branch(&mut self, element: Element<'x>) -> Result<Option<Element<'x>>> {
        let name = element.name();
        if name == "AlternateContent" {
            self.alternates.push((self.depth, false));
            return Ok(None);
        }
        let is_understood = match (name, self.alternates.last()) {
            ("Choice", Some((depth, is_taken))) if depth + 1 == self.depth => {
                let requires = element.attribute("Requires").unwrap_or_default();
                !is_taken
                    && !requires
                        .split_whitespace()
                        .any(|prefix| NOT_UNDERSTOOD.contains(&prefix))
            }
            ("Fallback", Some((depth, is_taken))) if depth + 1 == self.depth => !is_taken,
            _ => return Ok(Some(element)),
        };
        if !is_understood {
            self.skip()?;
        } else if let Some((_, is_taken)) = self.alternates.last_mut() {
            *is_taken = true;
        }
        Ok(None)
    }

    /// Whether the element that ends is one that was passed on.
    fn leave(&mut self) -> bool {
        let ended = self.depth;
        self.depth = self.depth.saturating_sub(1);
        match self.alternates.last() {
            Some((depth, _)) if *depth == ended => {
                self.alternates.pop();
                false
            }
            Some((depth, _)) => depth + 1 != ended,
            None => true,
        }
    }

    fn end(&mut self, error: Option<String>) {
        self.is_over = true;
        let message = match error {
            Some(error) => format!("the part {} is not well-formed XML: {error}", self.part),
            None if self.depth > 0 => format!("the part {} ends early", self.part),
            None => return,
        };
        let position = usize::try_from(self.reader.buffer_position()).unwrap_or(self.length);
        self.damage = Some(Damage {
            message,
            percent_read: (position * 100).checked_div(self.length).unwrap_or(0),
        });
    }

    /// The next child of the element that was entered last; `None` at its end. The child must be
    /// read to its end before the next call: by `child` until `None`, by `text` or by `skip`.
    pub(crate) fn child(&mut self) -> Result<Option<Element<'x>>> {
        loop {
            match self.next_node()? {
                Node::Start(element) => return Ok(Some(element)),
                Node::End | Node::Eof => return Ok(None),
                Node::Text(_) => {}
            }
        }
    }

    /// Reads over the rest of the element that was entered last.
    pub(crate) fn skip(&mut self) -> Result<()> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside && !self.is_over {
            self.look_at_clock()?;
            match self.reader.read_event() {
                Ok(Event::Start(_)) => self.enter()?,
                Ok(Event::End(_)) => self.depth -= 1,
                Ok(Event::Eof) => self.end(None),
                Ok(_) => {}
                Err(error) => self.end(Some(error.to_string())),
            }
        }
        self.alternates.retain(|(depth, _)| *depth <= outside);
        Ok(())
    }

    /// All text in the element that was entered last, whose end is read.
    pub(crate) fn text(&mut self) -> Result<String> {
        let mut text = String::new();
        let mut open = 1_usize;
        while open > 0 {
            match self.next_node()? {
                Node::Start(_) => open += 1,
                Node::End => open -= 1,
                Node::Text(piece) => text.push_str(&piece),
                Node::Eof => break,
            }
        }
        Ok(text)
    }
}

/// The character that a reference means; none for entities of a document type.
fn entity(reference: &quick_xml::events::BytesRef) -> Option<char> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return Some(character);
    }
    match reference.as_ref() {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

/// Text of a part by its byte order mark, else by its XML declaration, else UTF-8; bytes that do
/// not decode become U+FFFD.
pub(crate) fn decode(bytes: Vec<u8>) -> String {
    if let Some((encoding, mark)) = encoding_rs::Encoding::for_bom(&bytes) {
        return encoding
            .decode_without_bom_handling(part(&bytes, mark..))
            .0
            .into_owned();
    }
    let encoding = match bytes.get(..4) {
        Some([b'<', 0, _, 0]) => encoding_rs::UTF_16LE,
        Some([0, b'<', 0, _]) => encoding_rs::UTF_16BE,
        _ => declared(&bytes).unwrap_or(encoding_rs::UTF_8),
    };
    if encoding == encoding_rs::UTF_8 {
        return String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    }
    encoding.decode_without_bom_handling(&bytes).0.into_owned()
}

/// The encoding that the XML declaration names.
fn declared(bytes: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    let start = bytes.get(..bytes.len().min(200))?;
    let declaration = start
        .strip_prefix(b"<?xml")?
        .split(|byte| *byte == b'>')
        .next()?;
    let declaration = String::from_utf8_lossy(declaration).into_owned();
    let (_, after) = declaration.split_once("encoding")?;
    let after = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = after
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let label = after.trim_start_matches(quote).split(quote).next()?;
    let encoding = encoding_rs::Encoding::for_label(label.as_bytes())?;
    // The declaration was read byte by byte, so whatever it says the part is not in UTF-16.
    Some(encoding)
        .filter(|encoding| *encoding != encoding_rs::UTF_16LE && *encoding != encoding_rs::UTF_16BE)
}

#[cfg(test)]
#[path = "xml_tests.rs"]
mod tests;
