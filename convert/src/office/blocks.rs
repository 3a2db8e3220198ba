//! Blocks of an office document and their Markdown: headings, paragraphs, list items by level,
//! tables. Called by the readers of office documents, which know no nested blocks.

use tributary_schemas::{Error, ErrorKind, Result};

use crate::escape::escape_position;
use crate::limits::Limits;

/// A block. Its text is ready Markdown, see [`super::pieces`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
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
    /// Rows of cells; the first row is the header. Lines within a cell are parted by `\n`.
    Table(Vec<Vec<String>>),
}

impl Block {
    /// A paragraph unless the text is empty.
    pub fn paragraph(text: String) -> Option<Self> {
        (!text.is_empty()).then_some(Self::Paragraph(text))
    }
}

/// Cells that a table may be filled with, beside as many as it has itself.
const SPARE_CELLS: usize = 4096;
/// Longest text of a merged cell in bytes that stands in every row that the cell reaches into.
const MAXIMUM_REPEATED_BYTES: usize = 400;
/// Deepest level of a list that is indented further.
const MAXIMUM_LEVEL: usize = 8;

/// The blocks as Markdown with a blank line between them, except between the items of a list; ends
/// with `\n` unless empty.
pub fn render(blocks: &[Block]) -> String {
    let mut out = String::new();
    // Levels of the open items and the widths of their marks.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for block in blocks {
        let is_item = matches!(block, Block::Item { .. });
        if !out.is_empty() && (!is_item || open.is_empty()) {
            out.push('\n');
        }
        match block {
            Block::Heading(level, text) => out.push_str(&format!(
                "{} {text}\n",
                "#".repeat(usize::from(*level).clamp(1, 6))
            )),
            Block::Paragraph(text) => push_lines(text, "", &mut out),
            Block::Item {
                level,
                number,
                text,
            } => push_item(*level, *number, text, &mut open, &mut out),
            Block::Table(rows) => push_table(rows, &mut out),
        }
        if !is_item {
            open.clear();
        }
    }
    out
}

fn push_item(
    level: usize,
    number: Option<u64>,
    text: &str,
    open: &mut Vec<(usize, usize)>,
    out: &mut String,
) {
    let level = level.min(MAXIMUM_LEVEL);
    // A level that was skipped has no mark to stand under; items of one level stand side by side
    // all the same.
    while open.pop_if(|(other, _)| *other >= level).is_some() {}
    let indent: usize = open.iter().map(|(_, width)| width).sum();
    let mark = number.map_or_else(|| "- ".to_owned(), |number| format!("{number}. "));
    out.push_str(&" ".repeat(indent));
    out.push_str(&mark);
    open.push((level, mark.len()));
    push_lines(text, &" ".repeat(indent + mark.len()), out);
}

/// Lines, each but the first behind `indent`.
fn push_lines(text: &str, indent: &str, out: &mut String) {
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push_str(indent);
        }
        match escape_position(line).and_then(|at| line.split_at_checked(at)) {
            Some((before, after)) => out.extend([before, "\\", after]),
            None => out.push_str(line),
        }
        out.push('\n');
    }
}

fn push_table(rows: &[Vec<String>], out: &mut String) {
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let is_filled = may_fill(rows.len(), longest, rows.iter().map(Vec::len).sum());
    for (index, row) in rows.iter().enumerate() {
        let columns = if is_filled { longest } else { row.len() };
        out.push('|');
        for column in 0..columns {
            let cell = row.get(column).map_or("", String::as_str);
            out.push_str(&format!(
                " {} |",
                cell.replace('|', "\\|").replace('\n', "<br>")
            ));
        }
        out.push('\n');
        if index == 0 {
            out.push_str(&format!("|{}\n", " --- |".repeat(columns)));
        }
    }
}

/// Whether a table of that many cells may be filled up to so many rows and columns without being
/// multiplied.
pub fn may_fill(rows: usize, columns: usize, cells: usize) -> bool {
    rows.saturating_mul(columns) <= 4 * cells + SPARE_CELLS
}

/// `text` for a row that a merged cell reaches down into; long text stands only once.
pub fn repeated(text: &str) -> String {
    if text.len() <= MAXIMUM_REPEATED_BYTES {
        text.to_owned()
    } else {
        String::new()
    }
}

/// Bytes of the blocks' text.
pub fn size(blocks: &[Block]) -> usize {
    let one = |block: &Block| match block {
        Block::Heading(_, text) | Block::Paragraph(text) | Block::Item { text, .. } => text.len(),
        Block::Table(rows) => rows.iter().flatten().map(|cell| cell.len() + 3).sum(),
    };
    blocks.iter().map(one).sum()
}

/// `Invalid` if Markdown of so many bytes is over the limit.
pub fn check_size(bytes: usize, limits: &Limits) -> Result<()> {
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
    fn tables_escape_bars_and_fill_short_rows() {
        let rows = vec![
            vec!["a|b".to_owned(), "c\nd".to_owned()],
            vec!["e".to_owned()],
        ];
        assert_eq!(
            render(&[Block::Table(rows)]),
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
}
