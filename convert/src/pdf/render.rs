//! Blocks to Markdown: escapes, links, tables, lists.

use super::blocks::{Block, Item};
use super::lists;
use super::unicode;

/// Deepest nesting of lists.
const MAXIMUM_LIST_DEPTH: usize = 6;

/// How much further right an inner item stands, in points.
const LIST_STEP: f32 = 4.0;

/// The Markdown of a page, blocks parted by blank lines, a line end at the end; empty without
/// blocks.
pub fn page(blocks: &[Block], addresses: &[String]) -> String {
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
                let text = inline(&lists::without_leaders(text), addresses);
                out.push_str(&format!(
                    "{} {}\n",
                    "#".repeat(usize::from(*level)),
                    text.replace('\n', " ")
                ));
            }
            Block::Paragraph(paragraph) => {
                let text = inline(&lists::without_leaders(&paragraph.text), addresses);
                out.push_str(&escape_start(&text));
                out.push('\n');
            }
            Block::Item(item) => out.push_str(&lists.item(item, addresses)),
            Block::Table(table) => write_table(&table.rows, addresses, &mut out),
            Block::Code(lines) => out.push_str(&fenced(&lines.join("\n"))),
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
    fn item(&mut self, item: &Item, addresses: &[String]) -> String {
        while self
            .open
            .last()
            .is_some_and(|(left, _)| item.left < left - LIST_STEP)
        {
            self.open.pop();
        }
        let is_inner = self
            .open
            .last()
            .is_none_or(|(left, _)| item.left > left + LIST_STEP)
            && self.open.len() < MAXIMUM_LIST_DEPTH;
        if is_inner {
            let indent = self.open.last().map_or(0, |(_, indent)| *indent);
            self.open.push((item.left, indent));
        }
        let indent = self
            .open
            .len()
            .checked_sub(2)
            .and_then(|outer| self.open.get(outer))
            .map_or(0, |(_, indent)| *indent);
        // What stands in this item begins below its text.
        if let Some(last) = self.open.last_mut() {
            last.1 = indent + item.marker.len() + 1;
        }
        let text = inline(&lists::without_leaders(&item.text), addresses);
        format!(
            "{}{} {}\n",
            " ".repeat(indent),
            item.marker,
            escape_start(&text)
        )
    }
}

fn write_table(rows: &[Vec<String>], addresses: &[String], out: &mut String) {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    for (index, row) in rows.iter().enumerate() {
        out.push('|');
        for column in 0..width {
            let text = row
                .get(column)
                .map_or_else(String::new, |cell| inline(cell, addresses));
            out.push(' ');
            out.push_str(&text.replace('|', "\\|").replace('\n', "<br>"));
            out.push_str(" |");
        }
        out.push('\n');
        if index == 0 {
            out.push('|');
            out.push_str(&" --- |".repeat(width));
            out.push('\n');
        }
    }
}

/// A code block whose fence is longer than any run of backticks in it.
fn fenced(code: &str) -> String {
    let longest = code
        .split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{code}\n{fence}\n")
}

/// Text with its links as Markdown, what would be read as Markdown escaped.
fn inline(text: &str, addresses: &[String]) -> String {
    let text = joined_links(text.trim());
    let mut out = String::with_capacity(text.len() + 16);
    let mut address: Option<&str> = None;
    let mut characters = text.chars().peekable();
    let mut last: Option<char> = None;
    while let Some(character) = characters.next() {
        if let Some(number) = unicode::link_number(character) {
            address = addresses.get(usize::from(number)).map(String::as_str);
            out.extend(address.map(|_| '['));
            continue;
        }
        if character == unicode::LINK_END {
            if let Some(address) = address.take() {
                out.extend(["](", address, ")"]);
            }
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

fn needs_escape(character: char, last: Option<char>, next: Option<char>, in_link: bool) -> bool {
    let is_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
    let is_blank = |neighbour: Option<char>| neighbour.is_none_or(char::is_whitespace);
    match character {
        '`' => true,
        '\\' => next.is_some_and(|next| next.is_ascii_punctuation()),
        '*' => !(is_blank(last) && is_blank(next)),
        '_' => !(is_word(last) && (next.is_none() || is_word(next))),
        '<' => {
            next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'))
        }
        '[' | ']' => in_link || (character == ']' && matches!(next, Some('(' | '['))),
        '~' => next == Some('~') || last == Some('~'),
        '&' => next == Some('#'),
        _ => false,
    }
}

/// Escapes a start that Markdown would read as a heading, list, quote, table or rule.
fn escape_start(text: &str) -> String {
    let Some(first) = text.chars().next() else {
        return String::new();
    };
    let after_run = text.trim_start_matches(first);
    let spaced = after_run.is_empty() || after_run.starts_with(' ');
    let run = text.len() - after_run.len();
    let at = match first {
        '#' if run <= 6 && spaced => Some(0),
        '-' | '+' | '*' if run == 1 && spaced => Some(0),
        '=' | '-' | '_' | '*' if after_run.is_empty() => Some(0),
        '>' | '|' => Some(0),
        '~' if run >= 3 => Some(0),
        '0'..='9' => number_end(text),
        _ => None,
    };
    match at.and_then(|at| text.split_at_checked(at)) {
        Some((before, after)) => format!("{before}\\{after}"),
        None => text.to_owned(),
    }
}

/// Where the dot of a leading `12. ` stands.
fn number_end(text: &str) -> Option<usize> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let after = text.get(digits..)?;
    let is_mark = digits <= 9
        && after.starts_with(['.', ')'])
        && (after.len() == 1 || after.get(1..)?.starts_with(' '));
    is_mark.then_some(digits)
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
        assert_eq!(page(&blocks, &[]), expected);
    }

    #[test]
    fn pieces_of_a_link_are_one_link() {
        let (start, end) = (unicode::link_start(0), unicode::LINK_END);
        let text = format!("see {start}the{end} {start}page{end}, {start}now{end}");
        assert_eq!(
            page(&[paragraph(&text)], &["http://a".to_owned()]),
            "see [the page](http://a), [now](http://a)\n"
        );
    }
}
