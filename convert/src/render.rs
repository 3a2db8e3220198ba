//! Blocks to Markdown. Recursion is bounded by the nesting that their builders allow.

use crate::block::Block;
use crate::escape::{escape_starts, fenced};
use crate::table::{push_row, push_rule};

/// The blocks as Markdown, each followed by a blank line.
pub(crate) fn render(blocks: &[Block]) -> String {
    let mut out = String::new();
    write_blocks(blocks, &mut Prefix::default(), &mut out);
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

/// What stands before each line, and before the next line only.
#[derive(Default)]
struct Prefix {
    every_line: String,
    next_line: Option<String>,
}

impl Prefix {
    fn start_line(&mut self, out: &mut String) {
        match self.next_line.take() {
            Some(first) => out.push_str(&first),
            None => out.push_str(&self.every_line),
        }
    }
}

fn write_blocks(blocks: &[Block], prefix: &mut Prefix, out: &mut String) {
    for block in blocks {
        match block {
            Block::Heading(level, text) => write_lines(
                &format!("{} {}", "#".repeat(usize::from(*level)), text),
                prefix,
                out,
            ),
            Block::Paragraph(text) => write_lines(&escape_starts(text), prefix, out),
            Block::Code(_, code) if code.trim().is_empty() => continue,
            Block::Code(language, code) => {
                write_lines(fenced(language, code).trim_end_matches('\n'), prefix, out)
            }
            Block::List(start, items) => write_list(*start, items, prefix, out),
            Block::Quote(content) => write_quote(content, prefix, out),
            Block::Table(rows) => write_table(rows, prefix, out),
            Block::Rule => write_lines("---", prefix, out),
            Block::Math(formula) => write_lines(
                &format!("$$\n{}\n$$", formula.trim_matches('\n')),
                prefix,
                out,
            ),
            Block::Footnote(label, content) => write_footnote(label, content, prefix, out),
        }
        if !matches!(
            block,
            Block::List(..) | Block::Quote(_) | Block::Footnote(..)
        ) {
            blank_line(prefix, out);
        }
    }
}

fn blank_line(prefix: &Prefix, out: &mut String) {
    out.push_str(prefix.every_line.trim_end());
    out.push('\n');
}

fn write_lines(text: &str, prefix: &mut Prefix, out: &mut String) {
    for line in text.split('\n') {
        let before = out.len();
        prefix.start_line(out);
        out.push_str(line);
        if line.is_empty() {
            out.truncate(before + out.get(before..).map_or(0, |added| added.trim_end().len()));
        }
        out.push('\n');
    }
}

/// Items of one paragraph each stand close together; others are parted by blank lines.
fn write_list(start: Option<u64>, items: &[Vec<Block>], prefix: &mut Prefix, out: &mut String) {
    let is_tight = items.iter().all(|item| {
        item.iter()
            .filter(|block| !matches!(block, Block::List(..)))
            .count()
            <= 1
    });
    for (item, number) in items.iter().zip(start.unwrap_or(0)..) {
        let mark = if start.is_some() {
            format!("{number}. ")
        } else {
            "- ".to_owned()
        };
        let first = prefix
            .next_line
            .take()
            .unwrap_or_else(|| prefix.every_line.clone())
            + &mark;
        let indented = format!("{}{}", prefix.every_line, " ".repeat(mark.len()));
        let mut inner = Prefix {
            every_line: indented,
            next_line: Some(first),
        };
        let begins = out.len();
        write_blocks(item, &mut inner, out);
        if let Some(unused) = inner.next_line.filter(|_| out.len() == begins) {
            out.push_str(unused.trim_end());
            out.push('\n');
        }
        if is_tight {
            trim_blank_end(out, begins);
        }
    }
    trim_blank_end(out, 0);
    blank_line(prefix, out);
}

/// Takes blank lines (of white space and quote marks) off the end.
fn trim_blank_end(out: &mut String, not_before: usize) {
    loop {
        let Some(body) = out
            .get(not_before..)
            .and_then(|text| text.strip_suffix('\n'))
        else {
            return;
        };
        let last = body.rsplit('\n').next().unwrap_or_default();
        if body.is_empty()
            || !last.chars().all(|character| matches!(character, ' ' | '>'))
            || last.len() == body.len()
        {
            return;
        }
        let shorter = out.len() - last.len() - 1;
        out.truncate(shorter);
    }
}

fn write_quote(content: &[Block], prefix: &mut Prefix, out: &mut String) {
    let first = prefix
        .next_line
        .take()
        .unwrap_or_else(|| prefix.every_line.clone())
        + "> ";
    let mut inner = Prefix {
        every_line: format!("{}> ", prefix.every_line),
        next_line: Some(first),
    };
    write_blocks(content, &mut inner, out);
    trim_blank_end(out, 0);
    blank_line(prefix, out);
}

/// `[^label]: text`, what follows its first line indented by four.
fn write_footnote(label: &str, content: &[Block], prefix: &mut Prefix, out: &mut String) {
    let first = format!(
        "{}[^{label}]: ",
        prefix
            .next_line
            .take()
            .unwrap_or_else(|| prefix.every_line.clone())
    );
    let mut inner = Prefix {
        every_line: format!("{}    ", prefix.every_line),
        next_line: Some(first),
    };
    write_blocks(content, &mut inner, out);
    if let Some(unused) = inner.next_line {
        out.push_str(unused.trim_end());
        out.push('\n');
    }
    trim_blank_end(out, 0);
    blank_line(prefix, out);
}

fn write_table(rows: &[Vec<String>], prefix: &mut Prefix, out: &mut String) {
    for (index, row) in rows.iter().enumerate() {
        prefix.start_line(out);
        push_row(row, out);
        if index == 0 {
            prefix.start_line(out);
            push_rule(row.len(), out);
        }
    }
}
