//! Paragraphs and tables as they come, made into blocks.

use crate::block::Block;
use crate::escape::{is_invisible, needs_escape};
use crate::slices::text_part;
use crate::table::even_out;

/// Cells that may be added to make the rows equally long, beside four times as many as there are.
const SPARE_CELLS: usize = 4096;

/// How a stretch of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    /// Bold.
    pub bold: bool,
    /// Italic.
    pub italic: bool,
}

impl Style {
    fn mark(self) -> &'static str {
        match (self.bold, self.italic) {
            (true, true) => "***",
            (true, false) => "**",
            (false, true) => "*",
            (false, false) => "",
        }
    }
}

/// What kind of paragraph ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Paragraph {
    /// Heading level, 1 to 6.
    pub heading: Option<u8>,
    /// How deep it lies in lists, from 0, if it is an item of one.
    pub level: u8,
}

/// What stands in front of an item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A sign that is no number.
    Bullet,
    /// A number, or a letter that stands for one.
    Number(u64),
}

impl Mark {
    /// The mark as it is written: `3.`, `b)` or a sign.
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim().trim_start_matches(['(', '（']);
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        if let Ok(number) = digits.parse() {
            return Self::Number(number);
        }
        let Some((letters, _)) = text.split_once(['.', ')', '）', '、']) else {
            return Self::Bullet;
        };
        let letters = letters.to_lowercase();
        let value = roman(&letters).or_else(|| chinese(&letters));
        let value = value.or_else(|| latin(&letters));
        value.map_or(Self::Bullet, Self::Number)
    }
}

/// The value of small Roman numerals.
fn roman(letters: &str) -> Option<u64> {
    let value = |letter| match letter {
        'i' => Some(1),
        'v' => Some(5),
        'x' => Some(10),
        _ => None,
    };
    let values = letters.chars().map(value).collect::<Option<Vec<i64>>>()?;
    let mut sum = 0_i64;
    for (at, value) in values.iter().enumerate() {
        let is_taken_away = values.get(at + 1).is_some_and(|next| next > value);
        sum += if is_taken_away { -value } else { *value };
    }
    u64::try_from(sum).ok().filter(|sum| *sum > 0)
}

/// The value of Chinese numerals below a hundred.
fn chinese(letters: &str) -> Option<u64> {
    let digit = |letter: char| "一二三四五六七八九".chars().position(|one| one == letter);
    let digit = |letters: &str| match letters.chars().collect::<Vec<_>>()[..] {
        [only] => digit(only).map(|place| place as u64 + 1),
        _ => None,
    };
    match letters.split_once('十') {
        None => digit(letters),
        Some((tens, ones)) => {
            let tens = if tens.is_empty() {
                Some(1)
            } else {
                digit(tens)
            };
            let ones = if ones.is_empty() {
                Some(0)
            } else {
                digit(ones)
            };
            Some(tens? * 10 + ones?)
        }
    }
}

/// The place of a letter in the alphabet.
fn latin(letters: &str) -> Option<u64> {
    match letters.as_bytes() {
        [letter @ b'a'..=b'z'] => Some(u64::from(letter - b'a') + 1),
        _ => None,
    }
}

/// The document so far.
#[derive(Debug, Default)]
pub(super) struct Document {
    blocks: Vec<Block>,
    /// Markdown of the open paragraph.
    text: String,
    /// What stands in front of it, whatever of its properties comes behind.
    pub(super) mark: Option<Mark>,
    style: Style,
    rows: Vec<Vec<String>>,
    row: Vec<String>,
    cell: Vec<String>,
    notes: Vec<Block>,
}

impl Document {
    /// Adds text.
    pub(super) fn push(&mut self, text: &str, style: Style) {
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if is_invisible(character) && character != '\n' {
                continue;
            }
            if character.is_whitespace() {
                // Marks must stand at words, so blanks go between them.
                self.blank(if character == '\n' { '\n' } else { ' ' });
                continue;
            }
            self.change_style(style);
            if needs_escape(
                character,
                self.text.chars().next_back(),
                characters.peek().copied(),
                false,
            ) {
                self.text.push('\\');
            }
            self.text.push(character);
        }
    }

    fn blank(&mut self, blank: char) {
        if blank == '\n' {
            while self.text.ends_with(' ') {
                self.text.pop();
            }
            self.text.push('\n');
        } else if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// Closes and opens marks before text of that look.
    fn change_style(&mut self, style: Style) {
        if self.style == style {
            return;
        }
        self.close_style();
        self.text.push_str(style.mark());
        self.style = style;
    }

    /// Closes marks, before the blanks that they would otherwise hold.
    fn close_style(&mut self) {
        let mark = std::mem::take(&mut self.style).mark();
        if !mark.is_empty() {
            let end = self.text.trim_end().len();
            let blanks = text_part(&self.text, end..).to_owned();
            self.text.truncate(end);
            self.text.push_str(mark);
            self.text.push_str(&blanks);
        }
    }

    /// Adds ready Markdown, such as an image.
    pub(super) fn push_ready(&mut self, markdown: &str) {
        self.close_style();
        self.text.push_str(markdown);
    }

    /// Where the text ends now, for links around what follows.
    pub(super) fn position(&mut self) -> usize {
        self.close_style();
        self.text.len()
    }

    /// Makes the text from a position on a link.
    pub(super) fn link(&mut self, from: usize, destination: &str) {
        self.close_style();
        if let Some((before, shown)) = self
            .text
            .split_at_checked(from)
            .filter(|(_, shown)| !shown.is_empty())
        {
            let (before, shown) = (before.len(), shown.replace(['[', ']'], ""));
            self.text.truncate(before);
            let blanks = shown.len() - shown.trim_end().len();
            self.text.push_str(&format!(
                "[{}]({destination}){}",
                shown.trim_end(),
                " ".repeat(blanks)
            ));
        }
    }

    fn take_text(&mut self) -> String {
        self.close_style();
        std::mem::take(&mut self.text).trim().to_owned()
    }

    /// Ends a paragraph outside of tables.
    pub(super) fn end_paragraph(&mut self, kind: Paragraph) {
        self.end_table();
        let text = self.take_text();
        let mark = self.mark.take();
        if text.is_empty() {
            return;
        }
        match (kind.heading, mark) {
            (Some(level), _) => self.blocks.push(Block::Heading(
                level,
                text.replace(['*', '\n'], " ")
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" "),
            )),
            (None, Some(mark)) => self.push_item(text, mark, kind.level),
            (None, None) => self.blocks.push(Block::Paragraph(text)),
        }
    }

    /// Adds to the list before, if it is of the same kind; deeper ones to its last item.
    fn push_item(&mut self, text: String, mark: Mark, level: u8) {
        let mut blocks = &mut self.blocks;
        for _ in 0..level {
            if !matches!(blocks.last(), Some(Block::List(_, items)) if !items.is_empty()) {
                break;
            }
            let Some(Block::List(_, items)) = blocks.last_mut() else {
                return;
            };
            let Some(item) = items.last_mut() else {
                return;
            };
            blocks = item;
        }
        let item = vec![Block::Paragraph(text)];
        let start = match mark {
            Mark::Bullet => None,
            Mark::Number(number) => Some(number),
        };
        match blocks.last_mut() {
            Some(Block::List(before, items)) if before.is_some() == start.is_some() => {
                items.push(item);
            }
            _ => blocks.push(Block::List(start, vec![item])),
        }
    }

    /// Ends a paragraph inside a cell.
    pub(super) fn end_cell_paragraph(&mut self) {
        let text = self.take_text();
        self.mark = None;
        if !text.is_empty() {
            self.cell
                .push(text.replace('\n', "<br>").replace('|', "\\|"));
        }
    }

    /// Ends a cell.
    pub(super) fn end_cell(&mut self) {
        self.end_cell_paragraph();
        let cell = std::mem::take(&mut self.cell).join("<br>");
        self.row.push(cell);
    }

    /// Ends a row.
    pub(super) fn end_row(&mut self) {
        if !self.cell.is_empty() || !self.text.trim().is_empty() {
            self.end_cell();
        }
        let row = std::mem::take(&mut self.row);
        if row.iter().any(|cell| !cell.is_empty()) {
            self.rows.push(row);
        }
    }

    fn end_table(&mut self) {
        if !self.row.is_empty() || !self.cell.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.end_row();
            self.text = text;
        }
        if !self.rows.is_empty() {
            let rows = std::mem::take(&mut self.rows);
            self.blocks.push(Block::Table(even_out(rows, SPARE_CELLS)));
        }
    }

    /// Puts the open paragraph aside, for the text of a footnote.
    pub(super) fn begin_note(&mut self) -> String {
        self.close_style();
        std::mem::take(&mut self.text)
    }

    /// Ends a footnote and goes on with the paragraph that it stands in.
    pub(super) fn end_note(&mut self, paragraph: String) {
        let note = self.take_text();
        let label = (self.notes.len() + 1).to_string();
        self.text = paragraph;
        while self.text.ends_with(' ') {
            self.text.pop();
        }
        self.text.push_str(&format!("[^{label}]"));
        self.notes
            .push(Block::Footnote(label, vec![Block::Paragraph(note)]));
    }

    /// All blocks, footnotes last.
    pub(super) fn finish(mut self) -> Vec<Block> {
        self.end_paragraph(Paragraph::default());
        self.end_table();
        self.blocks.append(&mut self.notes);
        self.blocks
    }
}
