//! A flat block model of Markdown: every block with its byte range, the heading tree, images and
//! spans that must not be cut. The chunkers read it; `pulldown-cmark` does the parsing. Nothing
//! here recurses on the depth of the input.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Longest title kept in a section path, in characters; the heading line itself stays whole in the
/// text.
const MAXIMUM_TITLE_CHARACTERS: usize = 200;
/// How far an unclosed formula or HTML table may reach over blank lines, in blocks and bytes.
const MAXIMUM_MERGED_BLOCKS: usize = 256;
const MAXIMUM_MERGED_BYTES: usize = 1 << 18;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading of the document itself (not one inside a list or a quotation); level 1 to 6.
    Heading(u8),
    /// A paragraph, a list item, a line of a quotation, HTML: text that may be cut.
    Text,
    /// Code; never cut.
    Code,
    /// A displayed formula; never cut.
    Formula,
    /// A table; never cut.
    Table,
}

impl BlockKind {
    /// Whether a cut inside would destroy it.
    pub fn is_unbreakable(self) -> bool {
        matches!(self, Self::Code | Self::Formula | Self::Table)
    }
}

/// One block: a byte range of the source without blank lines around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Bytes of the source.
    pub range: Range<usize>,
}

/// One section: a heading and everything up to the next heading of the same or a higher rank.
/// Section 0 is the whole document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Heading level; 0 for the document. Skipped levels are kept as they are.
    pub level: u8,
    /// Title without marks; may be empty, at most [`MAXIMUM_TITLE_CHARACTERS`] characters.
    pub title: String,
    /// The section around it; none for the document.
    pub parent: Option<usize>,
    /// Its own blocks: the heading and the text before the first heading below it.
    pub own_blocks: Range<usize>,
    /// All its blocks, those of the sections below it included.
    pub blocks: Range<usize>,
    /// Index after the last section below it; sections are in document order.
    pub sections_end: usize,
}

/// An image and where it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePlace {
    /// Byte offset in the source.
    pub offset: usize,
    /// Destination as written, such as `image:3`.
    pub destination: String,
}

/// Markdown as blocks and sections.
#[derive(Clone, Debug)]
pub struct Outline<'a> {
    /// The source; all ranges refer to it.
    pub source: &'a str,
    /// All blocks, in order; together they hold every non-blank byte.
    pub blocks: Vec<Block>,
    /// All sections, in document order; never empty.
    pub sections: Vec<Section>,
    /// Images, in order.
    pub images: Vec<ImagePlace>,
    /// Inline code, formulas, links and images, in order of their starts: no cut inside.
    pub spans: Vec<Range<usize>>,
}

impl<'a> Outline<'a> {
    /// Reads Markdown (CommonMark with tables and formulas).
    pub fn parse(source: &'a str) -> Self {
        let mut reader = Reader::new(source);
        for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
            reader.read(event, range);
        }
        let (units, titles) = (reader.units, reader.titles);
        let blocks = merge_unclosed(source, trimmed_blocks(source, &units));
        let sections = sections(&blocks, &titles);
        Self {
            source,
            blocks,
            sections,
            images: reader.images,
            spans: reader.spans,
        }
    }

    /// Titles from the top down to a section; without the document's own title at the top.
    pub fn path(&self, section: usize, document_title: &str) -> Vec<String> {
        let mut path = Vec::new();
        let mut next = Some(section);
        while let Some(section) = next.and_then(|index| self.sections.get(index)) {
            if !section.title.is_empty() {
                path.push(section.title.clone());
            }
            next = section.parent;
        }
        if path
            .last()
            .is_some_and(|top| top.trim() == document_title.trim())
        {
            path.pop();
        }
        path.reverse();
        path
    }

    /// The text of a byte range; empty for a range that is not on character boundaries.
    pub fn text(&self, range: Range<usize>) -> &'a str {
        self.source.get(range).unwrap_or_default()
    }

    /// The bytes that a run of blocks spans; empty for no blocks.
    pub fn span(&self, blocks: Range<usize>) -> Range<usize> {
        match self.blocks.get(blocks).map(|run| (run.first(), run.last())) {
            Some((Some(first), Some(last))) => first.range.start..last.range.end,
            _ => 0..0,
        }
    }

    /// Spans that start in the byte range.
    pub fn spans_in(&self, range: &Range<usize>) -> &[Range<usize>] {
        let first = self.spans.partition_point(|span| span.start < range.start);
        let last = self.spans.partition_point(|span| span.start < range.end);
        self.spans.get(first..last).unwrap_or_default()
    }

    /// Images shown in the byte range.
    pub fn images_in(&self, range: &Range<usize>) -> &[ImagePlace] {
        let first = self
            .images
            .partition_point(|image| image.offset < range.start);
        let last = self
            .images
            .partition_point(|image| image.offset < range.end);
        self.images.get(first..last).unwrap_or_default()
    }
}

/// What of Markdown beyond CommonMark is understood.
pub fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_MATH | Options::ENABLE_STRIKETHROUGH
}

/// A block's kind and the start of its first line; it reaches to the next one.
struct Unit {
    kind: BlockKind,
    start: usize,
}

struct Reader<'a> {
    source: &'a str,
    units: Vec<Unit>,
    titles: Vec<String>,
    images: Vec<ImagePlace>,
    spans: Vec<Range<usize>>,
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
    fn new(source: &'a str) -> Self {
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

    fn read(&mut self, event: Event<'_>, range: Range<usize>) {
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
fn trimmed_blocks(source: &str, units: &[Unit]) -> Vec<Block> {
    let mut blocks = Vec::with_capacity(units.len());
    for (position, unit) in units.iter().enumerate() {
        let end = units
            .get(position + 1)
            .map_or(source.len(), |next| next.start);
        let text = source.get(unit.start..end).unwrap_or_default();
        let lead = text.len() - text.trim_start().len();
        let blank_lines = text
            .get(..lead)
            .and_then(|blank| blank.rfind('\n'))
            .map_or(0, |newline| newline + 1);
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

/// HTML tables and formulas that Markdown does not know are found by their first characters.
fn kind_of(kind: BlockKind, text: &str) -> BlockKind {
    match opener(text) {
        Some(opener)
            if kind == BlockKind::Text
                && text.trim_end().ends_with(opener.close)
                && balanced(text, opener) =>
        {
            opener.kind
        }
        _ => kind,
    }
}

/// A mark that opens something unbreakable, and the one that closes it.
struct Opener {
    open: &'static str,
    close: &'static str,
    kind: BlockKind,
}

const OPENERS: [Opener; 4] = [
    Opener {
        open: "$$",
        close: "$$",
        kind: BlockKind::Formula,
    },
    Opener {
        open: "\\[",
        close: "\\]",
        kind: BlockKind::Formula,
    },
    Opener {
        open: "\\begin{",
        close: "}",
        kind: BlockKind::Formula,
    },
    Opener {
        open: "<table",
        close: "</table>",
        kind: BlockKind::Table,
    },
];

fn opener(text: &str) -> Option<&'static Opener> {
    let text = text.trim_start();
    OPENERS.iter().find(|opener| text.starts_with(opener.open))
}

/// Whether everything that opens in the text also closes in it.
fn balanced(text: &str, opener: &Opener) -> bool {
    match opener.open {
        "$$" => text.matches("$$").count().is_multiple_of(2),
        "\\begin{" => text.matches("\\begin{").count() == text.matches("\\end{").count(),
        open => text.matches(open).count() <= text.matches(opener.close).count(),
    }
}

/// Joins a formula or HTML table that has blank lines in it, which Markdown takes for several
/// blocks.
fn merge_unclosed(source: &str, blocks: Vec<Block>) -> Vec<Block> {
    let mut merged: Vec<Block> = Vec::with_capacity(blocks.len());
    let mut position = 0;
    while let Some(block) = blocks.get(position) {
        let joined = joined_with_following(source, &blocks, position);
        let (kind, last) = joined.unwrap_or((block.kind, position));
        let end = blocks
            .get(last)
            .map_or(block.range.end, |block| block.range.end);
        merged.push(Block {
            kind,
            range: block.range.start..end,
        });
        position = last + 1;
    }
    merged
}

/// Kind and last block of an unclosed block at `position`, if a block soon after closes it.
fn joined_with_following(
    source: &str,
    blocks: &[Block],
    position: usize,
) -> Option<(BlockKind, usize)> {
    let block = blocks
        .get(position)
        .filter(|block| block.kind == BlockKind::Text)?;
    let text = source.get(block.range.clone())?;
    let opener = opener(text).filter(|opener| !balanced(text, opener))?;
    for (last, next) in blocks
        .iter()
        .enumerate()
        .skip(position + 1)
        .take(MAXIMUM_MERGED_BLOCKS)
    {
        let span = block.range.start..next.range.end;
        if matches!(next.kind, BlockKind::Heading(_)) || span.len() > MAXIMUM_MERGED_BYTES {
            return None;
        }
        let closes = source
            .get(next.range.clone())
            .is_some_and(|text| text.contains(opener.close));
        if closes && source.get(span).is_some_and(|text| balanced(text, opener)) {
            return Some((opener.kind, last));
        }
    }
    None
}

/// The sections of a document, itself the first of them.
fn sections(blocks: &[Block], titles: &[String]) -> Vec<Section> {
    let mut growing = Growing::new(blocks.len());
    let mut titles = titles.iter();
    for (position, block) in blocks.iter().enumerate() {
        if let BlockKind::Heading(level) = block.kind {
            let title = titles.next().map(|title| clean_title(title));
            growing.close(level, position);
            growing.open(level, title.unwrap_or_default(), position..blocks.len());
        }
    }
    growing.finish()
}

/// Sections while headings come.
struct Growing {
    sections: Vec<Section>,
    /// Indices of those that the next heading may lie in, the innermost last.
    open: Vec<usize>,
}

impl Growing {
    /// The document, which no heading closes.
    fn new(blocks: usize) -> Self {
        let mut growing = Self {
            sections: Vec::new(),
            open: Vec::new(),
        };
        growing.open(0, String::new(), 0..blocks);
        growing
    }

    /// Ends the sections that a heading of that level is not in.
    fn close(&mut self, level: u8, position: usize) {
        if let Some(previous) = self.sections.last_mut() {
            previous.own_blocks.end = position;
        }
        let end = self.sections.len();
        while let Some(section) = self
            .open
            .last()
            .and_then(|index| self.sections.get_mut(*index))
            .filter(|section| section.level >= level)
        {
            debug_assert!(
                section.level > 0,
                "the document is never closed by a heading"
            );
            section.blocks.end = position;
            section.sections_end = end;
            self.open.pop();
        }
    }

    fn open(&mut self, level: u8, title: String, blocks: Range<usize>) {
        let parent = self.open.last().copied();
        self.open.push(self.sections.len());
        self.sections.push(Section {
            level,
            title,
            parent,
            own_blocks: blocks.clone(),
            blocks,
            sections_end: 0,
        });
    }

    fn finish(mut self) -> Vec<Section> {
        let end = self.sections.len();
        for index in self.open {
            if let Some(section) = self.sections.get_mut(index) {
                section.sections_end = end;
            }
        }
        self.sections
    }
}

/// One line, single spaces, bounded.
fn clean_title(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    words
        .join(" ")
        .chars()
        .take(MAXIMUM_TITLE_CHARACTERS)
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::string_slice)]
    use super::*;

    fn shapes(source: &str) -> Vec<(BlockKind, String)> {
        let outline = Outline::parse(source);
        outline
            .blocks
            .iter()
            .map(|block| (block.kind, outline.text(block.range.clone()).to_owned()))
            .collect()
    }

    #[test]
    fn headings_of_both_styles_are_found_and_those_in_code_and_quotations_are_not() {
        let source =
            "lead\n\nTop\n===\n\n```\n# no\n```\n\n> # quoted\n\n### Deep `x` <b>b</b> ###\ntext\n";
        let outline = Outline::parse(source);
        let titles: Vec<_> = outline
            .sections
            .iter()
            .map(|section| (section.level, section.title.as_str(), section.parent))
            .collect();
        assert_eq!(
            titles,
            [(0, "", None), (1, "Top", Some(0)), (3, "Deep x b", Some(1))]
        );
        assert_eq!(outline.sections[0].own_blocks, 0..1);
        assert_eq!(outline.sections[1].sections_end, 3);
    }

    #[test]
    fn blocks_hold_the_whole_source() {
        let source = "Top\n===\nright after\n- a\n  ```\n  code\n  ```\n  b\n- c\n\n|x|y|\n|-|-|\n|1|2|\n\n[ref]: http://x\n";
        let shapes = shapes(source);
        let joined: String = shapes
            .iter()
            .flat_map(|(_, text)| text.split_whitespace())
            .collect();
        assert_eq!(joined, source.split_whitespace().collect::<String>());
        let kinds: Vec<_> = shapes.iter().map(|(kind, _)| *kind).collect();
        use BlockKind::{Code, Heading, Table, Text};
        assert_eq!(
            kinds,
            [Heading(1), Text, Text, Code, Text, Text, Table, Text]
        );
    }

    #[test]
    fn formulas_and_html_tables_stay_one_block_across_blank_lines() {
        let source = "$$\na = b\n$$\n\n$$\nx\n\ny\n$$\n\n\\[ q \\]\n\n<table>\n<tr>\n\n<td>1</td>\n\n</tr>\n</table>\n\nend $x$ text\n";
        let kinds: Vec<_> = shapes(source).into_iter().map(|(kind, _)| kind).collect();
        use BlockKind::{Formula, Table, Text};
        assert_eq!(kinds, [Formula, Formula, Formula, Table, Text]);
    }

    #[test]
    fn images_and_spans_have_their_places() {
        let source = "a ![alt](image:0) b `c. d` [l](http://x)\n";
        let outline = Outline::parse(source);
        assert_eq!(
            outline.images,
            [ImagePlace {
                offset: 2,
                destination: "image:0".into()
            }]
        );
        assert_eq!(outline.spans.len(), 3);
        assert_eq!(outline.images_in(&(3..40)), []);
    }

    #[test]
    fn hostile_depth_is_linear() {
        let deep = "> ".repeat(10_000)
            + "x\n"
            + &"- ".repeat(10_000)
            + "y\n"
            + &"[".repeat(50_000)
            + &"*a _b ".repeat(20_000);
        assert!(!Outline::parse(&deep).blocks.is_empty());
        let headings = "# a\n###### b\n".repeat(50_000);
        assert_eq!(Outline::parse(&headings).sections.len(), 100_001);
    }
}
