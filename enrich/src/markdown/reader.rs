//! Events of the parser to the places where blocks begin, titles, images and spans.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::unclosed::kind_of;
use super::{Block, BlockKind, ImagePlace, MAXIMUM_TITLE_CHARACTERS};

/// A block's kind and the start of its first line; it reaches to the next one.
pub(super) struct Unit {
    kind: BlockKind,
    start: usize,
}

pub(super) struct Reader<'a> {
    source: &'a str,
    pub(super) units: Vec<Unit>,
    pub(super) titles: Vec<String>,
    pub(super) images: Vec<ImagePlace>,
    pub(super) spans: Vec<Range<usize>>,
    /// Lists and quotations around the current event.
    depth: usize,
    in_heading: bool,
    /// Of the current paragraph: has a displayed formula, has anything else.
    formula: (bool, bool),
    /// Start of the line that `scanned` is in.
    line_start: usize,
    scanned: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            units: vec![Unit {
                kind: BlockKind::Text,
                start: 0,
            }],
            titles: Vec::new(),
            images: Vec::new(),
            spans: Vec::new(),
            depth: 0,
            in_heading: false,
            formula: (false, false),
            line_start: 0,
            scanned: 0,
        }
    }

    pub(super) fn read(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::DisplayMath(formula) => {
                self.formula.0 = true;
                self.spans.push(range);
                self.extend_title(&formula);
            }
            Event::InlineMath(text) | Event::Code(text) => {
                self.formula.1 = true;
                self.spans.push(range);
                self.extend_title(&text);
            }
            Event::Text(text) => {
                self.formula.1 |= !text.trim().is_empty();
                self.extend_title(&text);
            }
            Event::SoftBreak | Event::HardBreak => self.extend_title(" "),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, .. } if self.depth == 0 => {
                self.open(BlockKind::Heading(level as u8), range.start);
                self.titles.push(String::new());
                self.in_heading = true;
            }
            Tag::CodeBlock(_) => self.open(BlockKind::Code, range.start),
            Tag::Table(_) => self.open(BlockKind::Table, range.start),
            Tag::Paragraph => {
                self.formula = (false, false);
                self.open(BlockKind::Text, range.start);
            }
            Tag::BlockQuote(_) | Tag::List(_) | Tag::Item | Tag::FootnoteDefinition(_) => {
                self.depth += 1;
                self.open(BlockKind::Text, range.start);
            }
            Tag::HtmlBlock | Tag::Heading { .. } => self.open(BlockKind::Text, range.start),
            Tag::Image { dest_url, .. } => {
                self.formula.1 = true;
                self.images.push(ImagePlace {
                    offset: range.start,
                    destination: dest_url.into_string(),
                });
                self.spans.push(range);
            }
            Tag::Link { .. } => self.spans.push(range),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Heading(_) if self.depth == 0 => {
                self.in_heading = false;
                self.open_after(range.end);
            }
            TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Table | TagEnd::HtmlBlock => {
                self.open_after(range.end)
            }
            TagEnd::Paragraph if self.formula == (true, false) => {
                if let Some(unit) = self.units.last_mut() {
                    unit.kind = BlockKind::Formula;
                }
                self.open_after(range.end);
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.depth = self.depth.saturating_sub(1)
            }
            _ => {}
        }
    }

    /// Begins a block at the line that `offset` is in; blocks that begin in one line (`- ~~~`) are
    /// one.
    fn open(&mut self, kind: BlockKind, offset: usize) {
        let start = self.line_start_of(offset);
        match self.units.last_mut() {
            Some(unit) if start <= unit.start => {
                if kind != BlockKind::Text {
                    unit.kind = kind;
                }
            }
            _ => self.units.push(Unit { kind, start }),
        }
    }

    /// Begins a text block at the first line after `end`; it vanishes later if nothing is in it.
    fn open_after(&mut self, end: usize) {
        let bytes = self.source.as_bytes();
        let at_line_start = end == 0 || bytes.get(end - 1) == Some(&b'\n');
        let start = if at_line_start {
            end
        } else {
            let rest = bytes.get(end..).unwrap_or_default();
            rest.iter()
                .position(|byte| *byte == b'\n')
                .map_or(bytes.len(), |newline| end + newline + 1)
        };
        if self.units.last().is_some_and(|unit| start > unit.start) {
            self.units.push(Unit {
                kind: BlockKind::Text,
                start,
            });
        }
    }

    /// Looks only at bytes not looked at before, so that a long line with many blocks stays linear.
    fn line_start_of(&mut self, offset: usize) -> usize {
        if let Some(fresh) = self.source.as_bytes().get(self.scanned..offset) {
            if let Some(newline) = fresh.iter().rposition(|byte| *byte == b'\n') {
                self.line_start = self.scanned + newline + 1;
            }
            self.scanned = offset;
        }
        self.line_start
    }

    fn extend_title(&mut self, text: &str) {
        if let (true, Some(title)) = (self.in_heading, self.titles.last_mut())
            && title.len() < MAXIMUM_TITLE_CHARACTERS * 8
        {
            title.extend(text.chars().take(MAXIMUM_TITLE_CHARACTERS));
        }
    }
}

/// Units as blocks: each reaches to the next one, without blank lines around it; empty ones are
/// left out.
pub(super) fn trimmed_blocks(source: &str, units: &[Unit]) -> Vec<Block> {
    let mut blocks = Vec::with_capacity(units.len());
    for (position, unit) in units.iter().enumerate() {
        let end = units
            .get(position + 1)
            .map_or(source.len(), |next| next.start);
        let text = source.get(unit.start..end).unwrap_or_default();
        let lead = text.len() - text.trim_start().len();
        let blank_lines = blank_lines_length(text.get(..lead).unwrap_or_default());
        let range = unit.start + blank_lines..unit.start + text.trim_end().len();
        // A unit of blanks only has its trimmed end at or before its start.
        if lead < text.len() || matches!(unit.kind, BlockKind::Heading(_)) {
            blocks.push(Block {
                kind: kind_of(unit.kind, source.get(range.clone()).unwrap_or_default()),
                range,
            });
        }
    }
    blocks
}

/// How many bytes of blanks are whole lines.
fn blank_lines_length(blank: &str) -> usize {
    blank.rfind('\n').map_or(0, |newline| newline + 1)
}
