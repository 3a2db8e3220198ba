//! Bounds of what a text may ask for. The parser of Markdown takes as long as a text is, but what
//! reads HTML after it looks through all open elements at each new one, through all attributes of
//! a tag at each new one, and copies a piece of text at each escaped character: without bounds a
//! short text can cost minutes. Texts of documents are far from all of these.

use pulldown_cmark::Event;

use super::sanitise;

/// Elements within each other.
const MAXIMUM_DEPTH: usize = 100;
/// Elements that a text opens in HTML and does not close at once.
const MAXIMUM_OPEN: usize = 500;
/// Separators in one tag that is written in HTML, each of which may begin an attribute.
const MAXIMUM_SEPARATORS: usize = 10_000;
/// Escaped characters in one piece of text.
const MAXIMUM_ESCAPES: usize = 20_000;
/// Pieces of output for each byte, and for any text: short rows of a table are filled up, so that
/// a byte can become a thousand cells.
const PIECES_FOR_A_BYTE: usize = 16;
const FREE_PIECES: usize = 4096;

/// Elements that end where another one begins, and those without an end: they are never within
/// themselves.
const ENDING_BY_THEMSELVES: &[&str] = &[
    "br", "dd", "dt", "hr", "img", "li", "p", "tbody", "td", "tfoot", "th", "thead", "tr",
];

/// What a text asked for so far.
pub struct Bounds {
    pieces_left: usize,
    depth: usize,
    /// Elements that were opened in a line of text and may be closed in it, innermost last.
    open: Vec<String>,
    /// Elements that were opened in a block of HTML: what ends there is not known without parsing
    /// it.
    opened_in_blocks: usize,
    separators: usize,
    escapes: usize,
}

impl Bounds {
    /// Of a text of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self {
            pieces_left: bytes
                .saturating_mul(PIECES_FOR_A_BYTE)
                .saturating_add(FREE_PIECES),
            depth: 0,
            open: Vec::new(),
            opened_in_blocks: 0,
            separators: 0,
            escapes: 0,
        }
    }

    /// Counts what the parser gives; whether the text is still within all bounds.
    pub fn allow(&mut self, event: &Event<'_>) -> bool {
        self.pieces_left = self.pieces_left.saturating_sub(1);
        match event {
            Event::Start(_) => {
                self.depth += 1;
                self.escapes = 0;
            }
            Event::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                self.escapes = 0;
            }
            Event::Text(text) | Event::Code(text) => self.escapes += escapes(text),
            Event::InlineHtml(tag) => self.inline(tag),
            Event::Html(html) => self.block(html),
            _ => {}
        }
        self.pieces_left > 0
            && self.depth <= MAXIMUM_DEPTH
            && self.open.len() + self.opened_in_blocks <= MAXIMUM_OPEN
            && self.separators <= MAXIMUM_SEPARATORS
            && self.escapes <= MAXIMUM_ESCAPES
    }

    /// One whole tag.
    fn inline(&mut self, tag: &str) {
        self.escapes = 0;
        self.separators = separators(tag);
        if let Some(name) = tag.strip_prefix("</").map(name) {
            if self.open.last().is_some_and(|last| last == &name) {
                self.open.pop();
            }
            return;
        }
        let name = name(tag.trim_start_matches('<'));
        if stays_open(&name) {
            self.open.push(name);
        }
    }

    /// Any piece of HTML: tags may begin in one and end in the next one.
    fn block(&mut self, html: &str) {
        for (number, run) in html.split('<').enumerate() {
            if number > 0 {
                self.separators = 0;
                self.escapes = 0;
                self.opened_in_blocks += usize::from(stays_open(&name(run)));
            }
            self.separators += separators(run);
            self.escapes += escapes(run);
            if self.separators > MAXIMUM_SEPARATORS || self.escapes > MAXIMUM_ESCAPES {
                return;
            }
        }
    }
}

/// The name that a tag begins with, in small letters; empty for an end and for a comment.
fn name(tag: &str) -> String {
    let letters = tag
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase());
    letters.collect()
}

/// What is no element of a document becomes text.
fn stays_open(name: &str) -> bool {
    sanitise::ELEMENTS.contains(&name) && !ENDING_BY_THEMSELVES.contains(&name)
}

fn separators(tag: &str) -> usize {
    let is_separator = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'".contains(byte);
    tag.bytes().filter(|byte| is_separator(byte)).count()
}

fn escapes(text: &str) -> usize {
    text.bytes().filter(|byte| b"&<>\"".contains(byte)).count()
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::Parser;

    use super::*;

    fn is_within(text: &str) -> bool {
        let mut bounds = Bounds::new(text.len());
        Parser::new(text).all(|event| bounds.allow(&event))
    }

    #[test]
    fn what_documents_have_is_within_all_bounds() {
        let table = [
            "> ".repeat(40) + "quote",
            "H<sub>2</sub>O and <b>bold</b>\n\n".repeat(5000),
            "<details>\n<summary>more</summary>\n</details>\n\n".repeat(100),
            format!(
                "<table>\n{}</table>\n",
                "<tr><td>a<br>b</td></tr>\n".repeat(5000)
            ),
            "word & <tag> \"quoted\"\n\n".repeat(10_000),
            format!("```xml\n{}```\n", "<a>b</a>\n".repeat(3000)),
        ];
        for text in table {
            assert!(is_within(&text), "{:.60}", text);
        }
    }

    #[test]
    fn each_bound_ends_what_goes_on_without_an_end() {
        let table = [
            ">".repeat(MAXIMUM_DEPTH + 1) + "a",
            "- ".repeat(MAXIMUM_DEPTH + 1) + "a",
            "<div>\n".repeat(MAXIMUM_OPEN + 1),
            format!("a {}", "<span>".repeat(MAXIMUM_OPEN + 1)),
            format!("a {}", "<span></div>".repeat(MAXIMUM_OPEN + 1)),
            format!("<a {}>", "x ".repeat(MAXIMUM_SEPARATORS)),
            "&a".repeat(MAXIMUM_ESCAPES + 1),
            format!("<div>\n{}", "&a".repeat(MAXIMUM_ESCAPES + 1)),
        ];
        for text in table {
            assert!(!is_within(&text), "{:.60}", text);
        }
    }
}
