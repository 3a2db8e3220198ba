//! Blocks of a document to Markdown.

use crate::escape::escape_starts;
use crate::escape::fenced;

/// What marks a list item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A bullet.
    Bullet,
    /// A number.
    Number(u32),
}

/// A piece of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A heading of level 1 to 6.
    Heading(u8, String),
    /// Text; `\n` is a line break.
    Paragraph(String),
    /// An item of a list, nested `level` deep from 0.
    Item {
        level: usize,
        mark: Mark,
        text: String,
    },
    /// Lines of code.
    Code(String),
    /// A formula on lines of its own, as LaTeX.
    Formula(String),
    /// Quoted text.
    Quote(String),
    /// Rows of cells, each Markdown on one line with `|` escaped; the first row is the header.
    Table(Vec<Vec<String>>),
    /// A page begins here.
    Page,
    /// Entries of a table of contents that stand in the field of that number, dropped once it is
    /// known to end.
    Contents(usize, Box<Block>),
    /// The definition of a note, ready as Markdown.
    Note(String),
    /// A section ends here, the one of that number from 0; whether a page begins is known later.
    Section(usize),
}

/// The blocks as Markdown, parted by blank lines; items of a list stand close together.
pub fn render(blocks: &[Block]) -> String {
    let mut renderer = Renderer::default();
    for block in blocks {
        renderer.block(block);
    }
    renderer.end_line();
    renderer.out
}

#[derive(Default)]
struct Renderer {
    out: String,
    /// Indents of the open list items: level, column of the text.
    items: Vec<(usize, usize)>,
    /// Pages that begin with the next block.
    pages: usize,
}

impl Renderer {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(level, text) => self.alone(&format!(
                "{} {text}",
                "#".repeat(usize::from(*level).clamp(1, 6))
            )),
            Block::Paragraph(text) => self.alone(&escape_starts(text)),
            Block::Item { level, mark, text } => self.item(*level, mark, text),
            Block::Code(code) => self.alone(fenced("", code).trim_end()),
            Block::Formula(latex) => self.alone(&format!("$$\n{latex}\n$$")),
            Block::Quote(text) => {
                self.alone(&format!("> {}", escape_starts(text).replace('\n', "\n> ")))
            }
            Block::Table(rows) => self.alone(&table(rows)),
            Block::Note(text) => self.alone(text),
            Block::Page => self.pages += 1,
            Block::Contents(_, inner) => self.block(inner),
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

    fn item(&mut self, level: usize, mark: &Mark, text: &str) {
        if self.items.is_empty() {
            self.blank_line();
        }
        self.begin_pages();
        while self.items.last().is_some_and(|(open, _)| *open >= level) {
            self.items.pop();
        }
        let indent = self.items.last().map_or(0, |(_, column)| *column);
        let mark = match mark {
            Mark::Bullet => "- ".to_owned(),
            Mark::Number(number) => format!("{}. ", number.min(&999_999_999)),
        };
        let column = indent + mark.len();
        self.items.push((level, column));
        self.out.push_str(&" ".repeat(indent));
        self.out.push_str(&mark);
        let next_line = format!("\n{}", " ".repeat(column));
        self.out
            .push_str(&escape_starts(text).replace('\n', &next_line));
        self.out.push('\n');
    }

    fn blank_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\u{C}") {
            self.out.push('\n');
        }
    }

    fn begin_pages(&mut self) {
        self.out.extend(std::iter::repeat_n('\u{C}', self.pages));
        self.pages = 0;
    }

    fn end_line(&mut self) {
        self.begin_pages();
    }
}

fn table(rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        out.push('|');
        for cell in row {
            out.push(' ');
            out.push_str(cell);
            out.push_str(" |");
        }
        out.push('\n');
        if index == 0 {
            out.push('|');
            out.push_str(&" --- |".repeat(row.len()));
            out.push('\n');
        }
    }
    out.trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(level: usize, mark: Mark, text: &str) -> Block {
        Block::Item {
            level,
            mark,
            text: text.into(),
        }
    }

    #[test]
    fn lists_nest_by_level() {
        let blocks = [
            item(0, Mark::Bullet, "a"),
            item(1, Mark::Number(3), "b\nc"),
            item(3, Mark::Bullet, "d"),
            item(0, Mark::Bullet, "e"),
            Block::Paragraph("1. p".into()),
        ];
        assert_eq!(
            render(&blocks),
            "- a\n  3. b\n     c\n     - d\n- e\n\n1\\. p\n"
        );
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
