//! Tokens to document: the state of groups, fonts and their code pages, destinations.

use std::collections::{BTreeMap, HashMap};

use encoding_rs::{Encoding, WINDOWS_1252};
use tributary_schemas::{ImageLink, Result};

use super::document::{Document, Mark, Paragraph, Style};
use super::scanner::{Scanner, Token};
use crate::embedded::{Embedded, sniffed};
use crate::escape::destination;
use crate::limits::Limits;
use crate::office::inline::Position;
use crate::positions::{lowered, raised};

/// Groups that may be open; deeper ones are read as part of the last.
const MAXIMUM_DEPTH: usize = 500;

/// Fonts and styles that are remembered.
pub(super) const MAXIMUM_ENTRIES: usize = 20_000;

/// What a group's text is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Destination {
    #[default]
    Text,
    Nowhere,
    Fonts,
    Styles,
    Information,
    InformationField,
    Picture,
    Instruction,
    Note,
    ListMark,
    ShapeProperty,
}

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) destination: Destination,
    pub(super) style: Style,
    pub(super) position: Position,
    pub(super) hidden: bool,
    pub(super) deleted: bool,
    pub(super) font: i32,
    /// Characters that follow a Unicode escape for old readers.
    pub(super) skip_after_unicode: i32,
    pub(super) paragraph: Paragraph,
    pub(super) in_table: bool,
    /// Where the text of a field's result began.
    pub(super) field: Option<usize>,
}

/// Reads a document.
pub(super) struct Reader<'l> {
    limits: &'l Limits<'l>,
    /// Text, as blocks.
    pub document: Document,
    /// Title, author and the like.
    pub information: BTreeMap<String, String>,
    /// Pictures.
    pub embedded: Embedded,
    /// Pictures in order of appearance.
    pub images: Vec<ImageLink>,
    pub(super) state: State,
    stack: Vec<State>,
    /// Groups that were not remembered because too many were open.
    overflow: usize,
    pub(super) page: &'static Encoding,
    pub(super) fonts: HashMap<i32, &'static Encoding>,
    pub(super) headings: HashMap<i32, u8>,
    /// Bytes of text that are not decoded yet.
    bytes: Vec<u8>,
    /// Text of a destination that is no body text.
    pub(super) collected: String,
    pub(super) field_name: &'static str,
    pub(super) entry: i32,
    pub(super) instruction: String,
    pub(super) high_surrogate: Option<u16>,
    pub(super) to_skip: i32,
    pub(super) is_optional: bool,
    picture: Vec<u8>,
    picture_half: Option<u8>,
    pub(super) suspended: Vec<String>,
}

impl<'l> Reader<'l> {
    /// A reader at the start.
    pub(super) fn new(limits: &'l Limits<'l>) -> Self {
        Self {
            limits,
            document: Document::default(),
            information: BTreeMap::new(),
            embedded: Embedded::new(limits),
            images: Vec::new(),
            state: State {
                skip_after_unicode: 1,
                ..State::default()
            },
            stack: Vec::new(),
            overflow: 0,
            page: WINDOWS_1252,
            fonts: HashMap::new(),
            headings: HashMap::new(),
            bytes: Vec::new(),
            collected: String::new(),
            field_name: "",
            entry: 0,
            instruction: String::new(),
            high_surrogate: None,
            to_skip: 0,
            is_optional: false,
            picture: Vec::new(),
            picture_half: None,
            suspended: Vec::new(),
        }
    }

    /// Groups that are still open.
    pub(super) fn open_groups(&self) -> usize {
        self.stack.len() + self.overflow
    }

    /// Reads all tokens. `Invalid` if it takes too long.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<()> {
        for (count, token) in Scanner::new(bytes).enumerate() {
            if count.is_multiple_of(16_384) {
                self.limits.check_time()?;
            }
            self.token(token);
            if self.stack.is_empty() && self.overflow == 0 && count > 0 {
                break;
            }
        }
        self.flush();
        Ok(())
    }

    fn token(&mut self, token: Token) {
        if !matches!(token, Token::Byte(_)) {
            self.flush();
        }
        match token {
            Token::Open => self.open(),
            Token::Close => self.close(),
            Token::Word(name, number) => self.word(name, number),
            Token::Sign(sign) => self.sign(sign),
            Token::Byte(byte) => self.byte(byte),
            Token::Binary(data) if self.state.destination == Destination::Picture => {
                self.picture.extend_from_slice(data)
            }
            Token::Binary(_) => {}
        }
    }

    fn open(&mut self) {
        self.to_skip = 0;
        if self.stack.len() >= MAXIMUM_DEPTH {
            self.overflow += 1;
            return;
        }
        self.stack.push(self.state.clone());
        self.state.field = None;
    }

    fn close(&mut self) {
        self.to_skip = 0;
        if self.overflow > 0 {
            self.overflow -= 1;
            return;
        }
        let Some(outer) = self.stack.pop() else {
            return;
        };
        let inner = std::mem::replace(&mut self.state, outer);
        self.end_destination(&inner);
        if let Some(from) = inner.field {
            self.end_field(from);
        }
        // A paragraph's kind counts until the next one resets it, in whatever group it was said.
        if inner.destination == Destination::Text {
            self.state.paragraph = inner.paragraph;
            self.state.in_table = inner.in_table;
        }
    }

    fn end_destination(&mut self, inner: &State) {
        if inner.destination == self.state.destination {
            return;
        }
        match inner.destination {
            Destination::InformationField => {
                let value = std::mem::take(&mut self.collected)
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ");
                if !value.is_empty() {
                    self.information.insert(self.field_name.to_owned(), value);
                }
            }
            Destination::Picture => self.end_picture(),
            Destination::Note => {
                if let Some(paragraph) = self.suspended.pop() {
                    self.document.end_note(paragraph);
                }
            }
            Destination::ListMark => {
                let mark = std::mem::take(&mut self.collected);
                self.document.mark = Some(Mark::read(&mark));
            }
            _ => {}
        }
    }

    fn end_field(&mut self, from: usize) {
        let instruction = std::mem::take(&mut self.instruction);
        let mut words = instruction.split_whitespace();
        if words
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("HYPERLINK"))
        {
            let link = words
                .find(|word| !word.starts_with('\\'))
                .unwrap_or_default()
                .trim_matches('"');
            if !link.is_empty() && !instruction.contains("\\l") {
                self.document.link(from, &destination(link));
            }
        }
    }

    fn end_picture(&mut self) {
        let picture = std::mem::take(&mut self.picture);
        self.picture_half = None;
        // Metafiles are drawings for Windows: nothing here shows them.
        if sniffed(&picture).starts_with("image/")
            && let Some(number) = self.embedded.add("", "", picture)
        {
            self.document
                .push_ready(&format!("![](image:{})", self.images.len()));
            self.images.push(ImageLink {
                link: format!("embedded:{number}"),
                alt: String::new(),
            });
        }
    }

    fn sign(&mut self, sign: u8) {
        match sign {
            b'*' => self.is_optional = true,
            b'~' => self.text(" "),
            b'_' => self.text("-"),
            _ => {}
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return;
        }
        self.is_optional = false;
        if self.state.destination == Destination::Picture {
            let Some(digit) = char::from(byte)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
            else {
                return;
            };
            match self.picture_half.take() {
                Some(high) => self.picture.push(high << 4 | digit),
                None => self.picture_half = Some(digit),
            }
            return;
        }
        self.bytes.push(byte);
    }

    /// Decodes the bytes so far with the code page of their font.
    fn flush(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let encoding = self
            .fonts
            .get(&self.state.font)
            .copied()
            .unwrap_or(self.page);
        let (text, _) = encoding.decode_without_bom_handling(&bytes);
        // A Western font with a document of another code page often only styles that text. What
        // that page cannot read is Western.
        let retry = encoding == WINDOWS_1252
            && self.page != WINDOWS_1252
            && bytes.iter().any(|byte| *byte >= 0x80);
        let other = retry
            .then(|| self.page.decode_without_bom_handling(&bytes))
            .filter(|(_, is_broken)| !is_broken);
        self.text(&other.map_or(text, |(text, _)| text));
    }

    pub(super) fn text(&mut self, text: &str) {
        match self.state.destination {
            Destination::Text | Destination::Note if !self.state.hidden && !self.state.deleted => {
                let shifted = match self.state.position {
                    Position::Normal => None,
                    Position::Raised => Some(raised(text)),
                    Position::Lowered => Some(lowered(text)),
                };
                self.document
                    .push(shifted.as_deref().unwrap_or(text), self.state.style)
            }
            Destination::Instruction => self.instruction.push_str(text),
            Destination::InformationField | Destination::ListMark => self.collected.push_str(text),
            Destination::Styles => self.style_name(text),
            _ => {}
        }
    }

    /// Styles that are called headings are; their outline level may be missing.
    fn style_name(&mut self, text: &str) {
        let name = text.trim().trim_end_matches(';').to_lowercase();
        let prefixes = ["heading ", "标题 ", "überschrift ", "titre "];
        let digits = prefixes
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .unwrap_or_default();
        if let Ok(level) = digits.parse::<u8>()
            && self.headings.len() < MAXIMUM_ENTRIES
        {
            self.headings.insert(self.entry, level.clamp(1, 6));
        }
    }
}

impl State {
    /// What `\pard` does.
    pub(super) fn reset_paragraph(&mut self) {
        self.paragraph = Paragraph::default();
        self.in_table = false;
    }
}
