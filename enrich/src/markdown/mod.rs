//! A flat block model of Markdown: every block with its byte range, the heading tree, images and
//! spans that must not be cut. The chunkers read it; `pulldown-cmark` does the parsing. Nothing
//! here recurses on the depth of the input.

mod reader;
mod sections;
mod unclosed;

use std::ops::Range;

use pulldown_cmark::{Options, Parser};

use self::reader::{Reader, trimmed_blocks};
use self::sections::sections;
use self::unclosed::merge_unclosed;

/// Longest title kept in a section path, in characters; the heading line itself stays whole in the
/// text.
pub(crate) const MAXIMUM_TITLE_CHARACTERS: usize = 200;
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

/// What of Markdown beyond CommonMark is understood. Without footnotes the text of a Chinese one, which
/// has no spaces, would be the target of links and no text.
pub fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_MATH
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
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
