//! What tags tell as the blocks that geometry makes, too.

use crate::pdf::blocks::{self, Block, Edges, Item, Paragraph};
use crate::pdf::code;
use crate::pdf::geometry::Area;
use crate::pdf::lines::{self, Line};
use crate::pdf::lists::{self, Marker};
use crate::pdf::markers::with_markers;
use crate::pdf::rules::Rules;
use crate::pdf::statistics::Statistics;
use crate::pdf::tables::Table;

use super::contents::lines_of;
use super::told::Told;

/// How far an inner list is set in, in points: more than what parts lists in `render`.
const LIST_INDENT: f32 = 10.0;

/// The blocks of a page: those that its tags tell, with those that geometry found in the rest of
/// its text before and behind them.
pub(in crate::pdf) fn with_told(
    found: Vec<Block>,
    told: Vec<Told>,
    statistics: &Statistics,
) -> Vec<Block> {
    if told.is_empty() {
        return found;
    }
    let areas = told.iter().flat_map(Told::segments).map(|text| text.area);
    let top = Area::around(areas).map_or(0.0, |area| area.top);
    let is_above =
        |block: &Block| matches!(block, Block::Paragraph(text) if text.area.bottom <= top);
    let found = found.into_iter().map(as_told);
    let (mut all, behind): (Vec<Block>, Vec<Block>) = found.partition(is_above);
    all.extend(blocks(told, statistics));
    all.extend(behind);
    all
}

/// The blocks of a page in the order of its tags.
fn blocks(told: Vec<Told>, statistics: &Statistics) -> Vec<Block> {
    let mut writer = Writer {
        statistics,
        blocks: Vec::new(),
        code: Vec::new(),
    };
    for told in told {
        writer.write(told);
    }
    writer.end_code();
    writer.blocks
}

/// The text of lines, joined as in a paragraph.
pub(super) fn joined(lines: &[Line]) -> String {
    let mut text = String::new();
    let mut ends_with_hyphen = false;
    for line in lines {
        lines::append(&mut text, &line.text, ends_with_hyphen);
        ends_with_hyphen = line.ends_with_hyphen;
    }
    text
}

struct Writer<'a> {
    statistics: &'a Statistics,
    blocks: Vec<Block>,
    /// Lines of the block of code that is open: some programs make a paragraph of each.
    code: Vec<Line>,
}

impl Writer<'_> {
    fn write(&mut self, told: Told) {
        let lines = lines_of(told.segments());
        let is_code = !lines.is_empty() && lines.iter().all(|line| self.statistics.is_code(line));
        if is_code && matches!(told, Told::Paragraph(_)) {
            self.code.extend(lines);
            return;
        }
        self.end_code();
        match told {
            Told::Heading(level, _) => self.blocks.push(Block::Heading(level, joined(&lines))),
            Told::Paragraph(_) | Told::Note(_) => self.paragraph(&lines),
            Told::Untold(text) => self.untold(&lines_of(&with_markers(text, &Rules::default()))),
            Told::Item { depth, label, .. } => {
                let item = item(&label, joined(&lines), depth);
                self.blocks.push(Block::Item(item));
            }
            Told::Table {
                rows,
                has_head,
                goes_on,
            } => self.blocks.push(Block::Table(Table {
                rows,
                goes_on,
                is_head_told: Some(has_head),
                ..Table::default()
            })),
            Told::Code(_) => {
                let lines: Vec<&Line> = lines.iter().collect();
                self.blocks.push(Block::Code(code::texts(&lines)));
            }
            Told::Description(text) => self.blocks.push(Block::Paragraph(Paragraph {
                text,
                lines: 1,
                is_told: true,
                ..Paragraph::default()
            })),
        }
    }

    fn end_code(&mut self) {
        let lines = std::mem::take(&mut self.code);
        if !lines.is_empty() {
            let lines: Vec<&Line> = lines.iter().collect();
            self.blocks.push(Block::Code(code::texts(&lines)));
        }
    }

    fn paragraph(&mut self, lines: &[Line]) {
        let lines: Vec<&Line> = lines.iter().collect();
        let paragraph = blocks::paragraph(&lines).map(Block::Paragraph);
        self.blocks.extend(paragraph.map(as_told));
    }

    /// Text of a kind that is not told is parted by geometry.
    fn untold(&mut self, lines: &[Line]) {
        let found = blocks::blocks(lines, Edges::of(lines), self.statistics);
        self.blocks.extend(found.into_iter().map(as_told));
    }
}

/// A paragraph of a page whose tags would say that it is a heading.
fn as_told(block: Block) -> Block {
    match block {
        Block::Paragraph(paragraph) => Block::Paragraph(Paragraph {
            is_told: true,
            ..paragraph
        }),
        Block::Item(item) => Block::Item(Item {
            paragraph: None,
            ..item
        }),
        other => other,
    }
}

/// An item with the sign that Markdown knows: a number stays one, letters stay in the text.
fn item(label: &str, text: String, depth: usize) -> Item {
    let left = LIST_INDENT * depth as f32;
    let label = sign_behind(label.trim());
    let label = label.as_str();
    let shown = if label.is_empty() {
        text
    } else {
        format!("{label} {text}")
    };
    let digits = label.trim_end_matches(['.', ')']);
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit());
    let (marker, text) = match lists::parse(&shown) {
        Some(Marker::Bullet(text)) => ("-".to_owned(), text),
        Some(Marker::Number(marker, text))
            if marker.starts_with(|first: char| first.is_ascii_digit()) =>
        {
            (lists::plain_number(&marker), text)
        }
        None if is_number => {
            let text = shown.strip_prefix(label).unwrap_or(&shown);
            (format!("{digits}."), text.trim_start().to_owned())
        }
        None if label.chars().count() == 1 && !label.chars().all(char::is_alphanumeric) => {
            let text = shown.strip_prefix(label).unwrap_or(&shown);
            ("-".to_owned(), text.trim_start().to_owned())
        }
        _ => ("-".to_owned(), shown),
    };
    Item {
        marker,
        text,
        left,
        paragraph: None,
    }
}

/// A number with the sign behind it: in lines from right to left `3.` is drawn as `.3`.
fn sign_behind(label: &str) -> String {
    let is_number = |text: &str| text.chars().all(|sign| sign.is_ascii_digit());
    match label.split_at_checked(1) {
        Some((sign @ ("." | ")"), number)) if !number.is_empty() && is_number(number) => {
            format!("{number}{sign}")
        }
        _ => label.to_owned(),
    }
}
