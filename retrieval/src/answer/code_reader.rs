//! Asks a reader of Markdown whether the end of a text is code. It reads as the page does.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

/// Reads from the last block on that nothing behind it can change.
#[derive(Debug, Default)]
pub struct CodeReader {
    /// Bytes before it.
    read: usize,
}

/// What the reader finds.
struct Found {
    code: Vec<Range<usize>>,
    /// Where the last block begins that stands in no other one.
    last_block: usize,
}

impl CodeReader {
    /// Whether `held`, the end of a line, belongs to a block of code behind `before`.
    pub fn is_in_block(&mut self, before: &str, held: &str) -> bool {
        let is_block = |event: &Event<'_>| matches!(event, Event::Start(Tag::CodeBlock(_)));
        let (text, _) = self.text(before, held);
        let last = text.trim_end_matches('\n').len().saturating_sub(1);
        let found = self.read(&text, is_block);
        found.iter().any(|code| code.contains(&last))
    }

    /// Whether `held` is inline code, backticks and all, behind `before`.
    pub fn is_span(&mut self, before: &str, held: &str) -> bool {
        let is_span = |event: &Event<'_>| matches!(event, Event::Code(_));
        let (text, start) = self.text(before, held);
        let found = self.read(&text, is_span);
        found.contains(&(start..text.len()))
    }

    fn text(&self, before: &str, held: &str) -> (String, usize) {
        let before = before.get(self.read..).unwrap_or(before);
        (format!("{before}{held}"), before.len())
    }

    fn read(&mut self, text: &str, is_wanted: impl Fn(&Event<'_>) -> bool) -> Vec<Range<usize>> {
        let Found { code, last_block } = found(text, is_wanted);
        let before = text.get(..last_block).unwrap_or_default();
        // Its indentation belongs to it.
        self.read += before.rfind('\n').map_or(0, |end| end + 1);
        code
    }
}

/// Bytes of all code of a text, inline and fenced, and of its formulas.
pub fn code(text: &str) -> Vec<Range<usize>> {
    let is_inline = |event: &Event<'_>| {
        matches!(
            event,
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_)
        )
    };
    found(text, |event| is_fenced(event) || is_inline(event)).code
}

/// Bytes of its fenced blocks.
pub fn fenced_blocks(text: &str) -> Vec<Range<usize>> {
    found(text, is_fenced).code
}

fn is_fenced(event: &Event<'_>) -> bool {
    let Event::Start(Tag::CodeBlock(kind)) = event else {
        return false;
    };
    matches!(kind, CodeBlockKind::Fenced(_))
}

fn found(text: &str, is_wanted: impl Fn(&Event<'_>) -> bool) -> Found {
    let (mut code, mut last_block, mut depth) = (Vec::new(), 0, 0_usize);
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        if is_wanted(&event) {
            code.push(range.clone());
        }
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    last_block = range.start;
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Found { code, last_block }
}

/// Those of the page.
fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
}
