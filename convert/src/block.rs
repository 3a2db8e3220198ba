//! Blocks of Markdown, which converters of structured formats build and [`super::render`] writes.

/// One block of Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Level 1 to 6 and text.
    Heading(u8, String),
    /// Text; `\n` where the page breaks the line.
    Paragraph(String),
    /// Language and code.
    Code(String, String),
    /// First number (none for bullets) and items.
    List(Option<u64>, Vec<Vec<Block>>),
    /// A quotation.
    Quote(Vec<Block>),
    /// Rows of cells, all of one length; the first row is the header.
    Table(Vec<Vec<String>>),
    /// A thematic break.
    Rule,
    /// A displayed formula in LaTeX.
    Math(String),
    /// Label and text of a footnote.
    Footnote(String, Vec<Block>),
}
