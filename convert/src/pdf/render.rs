//! Blocks to Markdown: escapes, links, tables, lists.

use super::blocks::{Block, Item};
use super::lists;
use super::tables::Table;
use super::unicode;
use crate::escape::{escape_starts, fenced, needs_escape};
use crate::table::{push_row, push_rule, ready_cell};

/// Deepest nesting of lists.
const MAXIMUM_LIST_DEPTH: usize = 6;

/// How much further right an inner item stands, in points.
const LIST_STEP: f32 = 4.0;

/// What the marks in texts stand for, by their numbers.
#[derive(Clone, Copy, Default)]
pub(super) struct References<'a> {
    /// Where links lead.
    pub addresses: &'a [String],
    /// Labels of notes.
    pub notes: &'a [String],
}

impl References<'_> {
    /// `[^label]` for the mark of a note; `None` for another character.
    fn note(&self, mark: char) -> Option<String> {
        let label = self.notes.get(unicode::note_number(mark)?)?;
        Some(format!("[^{label}]"))
    }
}

/// The Markdown of a page, blocks parted by blank lines, a line end at the end; empty without
/// blocks.
pub(super) fn page(blocks: &[Block], references: References<'_>) -> String {
    let mut out = String::new();
    let mut lists = Lists::default();
    for (index, block) in blocks.iter().enumerate() {
        let is_after_item = index > 0 && matches!(blocks.get(index - 1), Some(Block::Item(_)));
        if index > 0 && !(is_after_item && matches!(block, Block::Item(_))) {
            out.push('\n');
        }
        if !matches!(block, Block::Item(_)) {
            lists = Lists::default();
        }
        match block {
            Block::Heading(level, text) => {
                let text = inline(&lists::without_leaders(text), references);
                out.push_str(&format!(
                    "{} {}\n",
                    "#".repeat(usize::from(*level)),
                    text.replace('\n', " ")
                ));
            }
            Block::Paragraph(paragraph) => {
                let text = inline(&lists::without_leaders(&paragraph.text), references);
                out.push_str(&escape_starts(&text));
                out.push('\n');
            }
            Block::Item(item) => out.push_str(&lists.item(item, references)),
            Block::Table(table) => write_table(table, references, &mut out),
            Block::Code(lines) => out.push_str(&fenced("", &lines.join("\n"))),
            Block::Note(mark, text) => {
                let label = references.note(*mark).unwrap_or_default();
                out.push_str(&format!("{label}: {}\n", inline(text, references)));
            }
        }
    }
    out
}

/// The open lists: where their items stand and how far they are set in.
#[derive(Default)]
struct Lists {
    open: Vec<(f32, usize)>,
}

impl Lists {
    fn item(&mut self, item: &Item, references: References<'_>) -> String {
        let indent = self.enter(item.left);
        // What stands in this item begins below its text.
        if let Some(last) = self.open.last_mut() {
            last.1 = indent + item.marker.len() + 1;
        }
        let text = inline(&lists::without_leaders(&item.text), references);
        format!(
            "{}{} {}\n",
            " ".repeat(indent),
            item.marker,
            escape_starts(&text)
        )
    }

    /// Closes the lists that end before an item and opens one that begins with it; the item's
    /// indent.
    fn enter(&mut self, left: f32) -> usize {
        while self
            .open
            .last()
            .is_some_and(|(open, _)| left < open - LIST_STEP)
        {
            self.open.pop();
        }
        let is_inner = self
            .open
            .last()
            .is_none_or(|(open, _)| left > open + LIST_STEP)
            && self.open.len() < MAXIMUM_LIST_DEPTH;
        if is_inner {
            let indent = self.open.last().map_or(0, |(_, indent)| *indent);
            self.open.push((left, indent));
        }
        self.open
            .len()
            .checked_sub(2)
            .and_then(|outer| self.open.get(outer))
            .map_or(0, |(_, indent)| *indent)
    }
}

/// The rows of a table; where it goes on from the page before, without a rule below the first.
fn write_table(table: &Table, references: References<'_>, out: &mut String) {
    let rows = &table.rows;
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    for (index, row) in rows.iter().enumerate() {
        let cell = |column: usize| row.get(column).map_or("", String::as_str);
        push_row(
            (0..width).map(|column| ready_cell(&inline(cell(column), references))),
            out,
        );
        if index == 0 && table.head_before.is_none() {
            push_rule(width, out);
        }
    }
}

/// Text with its links as Markdown, what would be read as Markdown escaped.
fn inline(text: &str, references: References<'_>) -> String {
    let text = joined_links(text.trim());
    let mut out = String::with_capacity(text.len() + 16);
    let mut address: Option<&str> = None;
    let mut characters = text.chars().peekable();
    let mut last: Option<char> = None;
    while let Some(character) = characters.next() {
        if let Some(number) = unicode::link_number(character) {
            address = references
                .addresses
                .get(usize::from(number))
                .map(String::as_str);
            out.extend(address.map(|_| '['));
            continue;
        }
        if character == unicode::LINK_END {
            if let Some(address) = address.take() {
                out.extend(["](", address, ")"]);
            }
            continue;
        }
        if let Some(note) = references.note(character) {
            out.push_str(&note);
            last = Some(']');
            continue;
        }
        if needs_escape(
            character,
            last,
            characters.peek().copied(),
            address.is_some(),
        ) {
            out.push('\\');
        }
        out.push(character);
        last = Some(character);
    }
    if let Some(address) = address {
        out.extend(["](", address, ")"]);
    }
    out
}

/// Joins the parts of a link that lines or styles cut into pieces.
fn joined_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open: Option<char> = None;
    let mut held = String::new();
    for character in text.chars() {
        let is_held = held.starts_with(unicode::LINK_END);
        match character {
            unicode::LINK_END => held.push(character),
            ' ' if is_held => held.push(' '),
            start if unicode::link_number(start).is_some() => {
                if is_held && open == Some(start) {
                    out.extend(held.chars().filter(|held| *held == ' '));
                } else {
                    out.push_str(&held);
                    out.push(start);
                }
                held.clear();
                open = Some(start);
            }
            other => {
                out.push_str(&held);
                held.clear();
                out.push(other);
            }
        }
    }
    out + &held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::blocks::Paragraph;
    use crate::pdf::tables::Table;

    fn paragraph(text: &str) -> Block {
        Block::Paragraph(Paragraph {
            text: text.to_owned(),
            ..Paragraph::default()
        })
    }

    #[test]
    fn blocks_become_markdown() {
        let item = |marker: &str, text: &str, left| {
            Block::Item(Item {
                marker: marker.to_owned(),
                text: text.to_owned(),
                left,
                ..Item::default()
            })
        };
        let table = Block::Table(Table {
            rows: vec![vec!["a|b".into(), "c\nd".into()], vec!["1".into()]],
            ..Table::default()
        });
        let blocks = [
            Block::Heading(2, "Heading".into()),
            paragraph("# no heading"),
            item("-", "one", 10.0),
            item("-", "inner", 30.0),
            item("3.", "three", 10.0),
            table,
            Block::Code(vec!["x = `1`".into()]),
        ];
        let expected = "## Heading\n\n\\# no heading\n\n- one\n  - inner\n3. three\n\n| a\\|b | c<br>d |\n| --- | --- |\n| 1 |  |\n\n```\nx = `1`\n```\n";
        assert_eq!(page(&blocks, References::default()), expected);
    }

    #[test]
    fn pieces_of_a_link_are_one_link() {
        let (start, end) = (unicode::link_start(0), unicode::LINK_END);
        let text = format!("see {start}the{end} {start}page{end}, {start}now{end}");
        let addresses = ["http://a".to_owned()];
        let references = References {
            addresses: &addresses,
            notes: &[],
        };
        assert_eq!(
            page(&[paragraph(&text)], references),
            "see [the page](http://a), [now](http://a)\n"
        );
    }
    #[test]
    fn notes_are_footnotes() {
        let mark = unicode::note_mark(0).unwrap_or_default();
        let blocks = [
            paragraph(&format!("Twelve{mark} stations.")),
            Block::Note(mark, "Asleep [1].".into()),
        ];
        let references = References {
            addresses: &[],
            notes: &["3".to_owned()],
        };
        assert_eq!(
            page(&blocks, references),
            "Twelve[^3] stations.\n\n[^3]: Asleep [1].\n"
        );
    }
}
