//! Blocks of an office document and their Markdown. Office formats know no nested blocks: a list is
//! a run of items, each with its level. Formats whose blocks hold others use [`crate::block`].

use tributary_schemas::{Error, ErrorKind, Result};

use crate::escape::{escape_starts, fenced};
use crate::limits::Limits;
use crate::table::{self, even_out, ready_cell};

/// A block. Its text is ready Markdown, see [`super::pieces`] and [`super::inline`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Level 1 to 6 and text on one line.
    Heading(u8, String),
    /// Lines are parted by `\n`.
    Paragraph(String),
    /// An item of a list.
    Item {
        /// Level, 0 is the outermost.
        level: usize,
        /// Number of an ordered item.
        number: Option<u64>,
        /// Lines are parted by `\n`.
        text: String,
    },
    /// Lines of code.
    Code(String),
    /// A formula on lines of its own, as LaTeX.
    Formula(String),
    /// Quoted text.
    Quote(String),
    /// Rows of ready cells; the first row is the header.
    Table(Vec<Vec<String>>),
    /// A page begins here.
    Page,
    /// Entries of a table of contents that stand in the field of that number, dropped once it is
    /// known to end.
    Contents(usize, Box<Block>),
    /// A line that may be a heading by how it is set, which is known once all is read.
    Set {
        /// Size of its letters in half points.
        size: u16,
        /// Whether all of it is bold.
        is_bold: bool,
        /// Its text as a heading.
        heading: String,
        /// What it is otherwise.
        block: Box<Block>,
    },
    /// The definition of a note, ready as Markdown.
    Note(String),
    /// A section ends here, the one of that number from 0; whether a page begins is known later.
    Section(usize),
}

impl Block {
    /// A paragraph unless the text is empty.
    pub(crate) fn paragraph(text: String) -> Option<Self> {
        (!text.is_empty()).then_some(Self::Paragraph(text))
    }

    /// A table of rows of any length, whose cells have lines parted by `\n`.
    pub(crate) fn table(rows: Vec<Vec<String>>) -> Self {
        let mut rows = even_out(rows, SPARE_CELLS);
        for cell in rows.iter_mut().flatten() {
            *cell = ready_cell(cell);
        }
        Self::Table(rows)
    }
}

/// Cells that a table may be filled with, beside as many as it has itself.
const SPARE_CELLS: usize = 4096;
/// Longest text of a merged cell in bytes that stands in every row that the cell reaches into.
const MAXIMUM_REPEATED_BYTES: usize = 400;
/// Deepest level of a list that is indented further.
const MAXIMUM_LEVEL: usize = 8;
/// Largest number of an item that Markdown reads as one.
const MAXIMUM_NUMBER: u64 = 999_999_999;

/// The blocks as Markdown with a blank line between them, except between the items of a list; ends
/// with `\n` unless empty.
pub(crate) fn render(blocks: &[Block]) -> String {
    let mut renderer = Renderer::default();
    for block in blocks {
        renderer.block(block);
    }
    renderer.begin_pages();
    renderer.out
}

#[derive(Default)]
struct Renderer {
    out: String,
    /// Levels of the open items and the columns of their texts.
    items: Vec<(usize, usize)>,
    /// Pages that begin with the next block.
    pages: usize,
}

impl Renderer {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(level, text) => {
                let marks = "#".repeat(usize::from(*level).clamp(1, 6));
                self.alone(&format!("{marks} {text}"));
            }
            Block::Paragraph(text) => self.alone(&escape_starts(text)),
            Block::Item {
                level,
                number,
                text,
            } => self.item(*level, *number, text),
            Block::Code(code) => self.alone(fenced("", code).trim_end()),
            Block::Formula(latex) => self.alone(&format!("$$\n{latex}\n$$")),
            Block::Quote(text) => {
                let lines = escape_starts(text).replace('\n', "\n> ");
                self.alone(&format!("> {lines}"));
            }
            Block::Table(rows) => {
                let mut table = String::new();
                table::push_table(rows, &mut table);
                self.alone(table.trim_end_matches('\n'));
            }
            Block::Note(text) => self.alone(text),
            Block::Page => self.pages += 1,
            Block::Contents(_, block) | Block::Set { block, .. } => self.block(block),
            Block::Section(_) => {}
        }
    }

    /// A block that stands between blank lines.
    fn alone(&mut self, text: &str) {
        self.items.clear();
        self.blank_line();
        self.begin_pages();
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn item(&mut self, level: usize, number: Option<u64>, text: &str) {
        if self.items.is_empty() {
            self.blank_line();
        }
        self.begin_pages();
        let level = level.min(MAXIMUM_LEVEL);
        let begins_list = self.items.last().is_some_and(|(open, _)| *open < level);
        if begins_list && number.is_some_and(|number| number != 1) {
            // In a paragraph's next line such a number is text.
            self.out.push('\n');
        }
        // A level that was skipped has no mark to stand under; items of one level stand side by
        // side all the same.
        while self.items.pop_if(|(open, _)| *open >= level).is_some() {}
        let indent = self.items.last().map_or(0, |(_, column)| *column);
        let mark = list_mark(number);
        let column = indent + mark.len();
        self.items.push((level, column));
        self.out.push_str(&" ".repeat(indent));
        self.out.push_str(&mark);
        let next_line = format!("\n{}", " ".repeat(column));
        let lines = escape_starts(text).replace('\n', &next_line);
        self.out.push_str(&lines);
        self.out.push('\n');
    }

    fn blank_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\u{C}') {
            self.out.push('\n');
        }
    }

    fn begin_pages(&mut self) {
        self.out.extend(std::iter::repeat_n('\u{C}', self.pages));
        self.pages = 0;
    }
}

/// What stands before the text of an item.
pub(crate) fn list_mark(number: Option<u64>) -> String {
    match number {
        Some(number) => format!("{}. ", number.min(MAXIMUM_NUMBER)),
        None => "- ".to_owned(),
    }
}

/// Whether a table of that many cells may be filled up to so many rows and columns without being
/// multiplied.
pub(crate) fn may_fill(rows: usize, columns: usize, cells: usize) -> bool {
    table::may_fill(rows, columns, cells, SPARE_CELLS)
}

/// `text` for a row that a merged cell reaches down into; long text stands only once.
pub(crate) fn repeated(text: &str) -> String {
    if text.len() <= MAXIMUM_REPEATED_BYTES {
        text.to_owned()
    } else {
        String::new()
    }
}

/// Bytes of the blocks' text.
pub(crate) fn size(blocks: &[Block]) -> usize {
    let one = |block: &Block| match block {
        Block::Table(rows) => rows.iter().flatten().map(|cell| cell.len() + 3).sum(),
        block => text_of(block).map_or(0, str::len),
    };
    blocks.iter().map(one).sum()
}

/// The text of a block that is one, not a table or a mark of what is elsewhere.
pub(crate) fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Heading(_, text)
        | Block::Paragraph(text)
        | Block::Code(text)
        | Block::Quote(text)
        | Block::Item { text, .. } => Some(text),
        Block::Contents(_, block) | Block::Set { block, .. } => text_of(block),
        Block::Formula(_) | Block::Table(_) | Block::Page | Block::Note(_) | Block::Section(_) => {
            None
        }
    }
}

/// `Invalid` if Markdown of so many bytes is over the limit.
pub(crate) fn check_size(bytes: usize, limits: &Limits) -> Result<()> {
    let maximum = limits.maximum_markdown_bytes;
    if bytes as u64 <= maximum {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Invalid,
        format!("the Markdown is over the limit of {maximum} bytes"),
    )
    .with_hint("split the document, or raise `convert.maximum_markdown_bytes`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(level: usize, number: Option<u64>, text: &str) -> Block {
        Block::Item {
            level,
            number,
            text: text.to_owned(),
        }
    }

    #[test]
    fn lists_are_tight_and_nested_by_the_width_of_the_marks() {
        let blocks = [
            Block::Paragraph("p".into()),
            item(0, Some(1), "a\nb"),
            item(1, None, "c"),
            item(3, None, "d"),
            item(0, Some(2), "e"),
            Block::Heading(2, "h".into()),
        ];
        assert_eq!(
            render(&blocks),
            "p\n\n1. a\n   b\n   - c\n     - d\n2. e\n\n## h\n"
        );
    }

    #[test]
    fn a_number_that_begins_no_list_in_a_line_stands_behind_an_empty_one() {
        let blocks = [
            item(0, None, "a"),
            item(1, Some(5), "b"),
            item(1, Some(6), "c"),
            item(0, None, "d"),
            item(1, Some(1), "e"),
        ];
        assert_eq!(render(&blocks), "- a\n\n  5. b\n  6. c\n- d\n  1. e\n");
    }

    #[test]
    fn tables_escape_bars_and_fill_short_rows() {
        let rows = vec![
            vec!["a|b".to_owned(), "c\nd".to_owned()],
            vec!["e".to_owned()],
        ];
        assert_eq!(
            render(&[Block::table(rows)]),
            "| a\\|b | c<br>d |\n| --- | --- |\n| e |  |\n"
        );
    }

    #[test]
    fn line_starts_that_look_like_marks_are_escaped() {
        assert_eq!(
            render(&[Block::Paragraph("# a\n1. b\n- c\n1990 d".into())]),
            "\\# a\n1\\. b\n\\- c\n1990 d\n"
        );
        assert_eq!(render(&[]), "");
    }

    #[test]
    fn pages_begin_with_their_first_block() {
        let blocks = [
            Block::Page,
            Block::Heading(1, "A".into()),
            Block::Page,
            Block::Page,
            Block::Paragraph("b".into()),
            Block::Page,
        ];
        assert_eq!(render(&blocks), "\u{C}# A\n\n\u{C}\u{C}b\n\u{C}");
    }

    #[test]
    fn tables_formulas_code_and_quotes() {
        let blocks = [
            Block::Table(vec![
                vec!["a".into(), "b".into()],
                vec!["1".into(), String::new()],
            ]),
            Block::Formula("x".into()),
            Block::Code("y".into()),
            Block::Quote("p\nq".into()),
        ];
        assert_eq!(
            render(&blocks),
            "| a | b |\n| --- | --- |\n| 1 |  |\n\n$$\nx\n$$\n\n```\ny\n```\n\n> p\n> q\n"
        );
    }
}
