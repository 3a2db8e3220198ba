//! Bounds the nesting of HTML before it is parsed. html5ever looks through its open elements at
//! every tag, so 100 000 nested tags cost seconds to hours; here tags beyond a depth are dropped
//! and their text stays. One pass, linear time, no recursion.

/// Names without an end tag.
pub(super) const VOID: [&str; 15] = [
    "area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param",
    "source", "track", "wbr",
];

/// Names whose start tag ends an open element of the same kind: writing many of them nests nothing.
const ENDED_BY_THE_NEXT: [&str; 18] = [
    "p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "option", "optgroup",
    "colgroup", "caption", "rt", "rp", "html", "body",
];

/// Names whose content is not markup.
pub(super) const RAW_TEXT: [&str; 8] = [
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes",
];

/// Formatting elements: html5ever opens each of them again in every later paragraph until it is
/// closed.
const FORMATTING: [&str; 14] = [
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Open formatting elements that are kept.
const MAXIMUM_FORMATTING: usize = 24;

/// Open elements that an end tag looks through for its start tag.
const END_TAG_WINDOW: usize = 64;

/// Attributes of one tag that are kept; html5ever compares each attribute with all before it.
const MAXIMUM_ATTRIBUTES: usize = 128;

/// The same HTML with at most `maximum_depth` open elements, as far as can be told without parsing.
pub(super) fn bound(html: &str, maximum_depth: usize) -> String {
    let mut bounded = Bounded {
        maximum_depth,
        ..Bounded::default()
    };
    let mut result = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (text, markup) = rest.split_at(at);
        result.push_str(text);
        let (length, kept) = bounded.markup(markup);
        let (piece, after) = markup.split_at(length);
        match kept {
            Kept::All => result.push_str(piece),
            Kept::Start(bytes) => {
                result.push_str(piece.get(..bytes).unwrap_or_default());
                result.push('>');
            }
            Kept::None => {}
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

/// How much of a piece of markup is kept.
enum Kept {
    All,
    /// So many bytes, and a `>` after them.
    Start(usize),
    None,
}

/// An element whose end tag has not come yet.
struct Open {
    name: String,
    kept: bool,
    levels: usize,
    is_foreign: bool,
    is_formatting: bool,
}

#[derive(Default)]
struct Bounded {
    maximum_depth: usize,
    open: Vec<Open>,
    kept: usize,
    kept_formatting: usize,
    foreign: usize,
}

impl Bounded {
    /// Length of the tag, comment or declaration at the start, and how much of it is kept.
    fn markup(&mut self, markup: &str) -> (usize, Kept) {
        let after = markup.get(1..).unwrap_or_default();
        if after.starts_with("!--") {
            // A comment is no content; leaving it out also spares the parser.
            return (comment_length(markup), Kept::None);
        }
        if after.starts_with(['!', '?']) {
            return (
                markup.find('>').map_or(markup.len(), |at| at + 1),
                Kept::All,
            );
        }
        let closes = after.starts_with('/');
        let name_start = if closes { 2 } else { 1 };
        let name_text = markup.get(name_start..).unwrap_or_default();
        if !name_text.starts_with(|character: char| character.is_ascii_alphabetic()) {
            return (1, Kept::All);
        }
        let (name_length, name) = tag_name(name_text);
        let tag = scan_tag(markup, name_start + name_length);
        if closes {
            let kept = self.end_tag(&name);
            return (tag.length, if kept { Kept::All } else { Kept::None });
        }
        let kept = match (self.start_tag(&name, tag.self_closing), tag.cut) {
            (false, _) => Kept::None,
            (true, Some(bytes)) => Kept::Start(bytes),
            (true, None) => Kept::All,
        };
        let length = if RAW_TEXT.contains(&name.as_str()) && self.foreign == 0 {
            raw_text_end(markup, tag.length, &name)
        } else {
            tag.length
        };
        (length, if length > tag.length { Kept::All } else { kept })
    }

    /// Whether the start tag is kept.
    fn start_tag(&mut self, name: &str, self_closing: bool) -> bool {
        if !self.nests(name, self_closing) {
            return true;
        }
        let is_formatting = FORMATTING.contains(&name);
        if name == "a" {
            self.end_tag("a");
        }
        let kept = self.kept + levels(name) <= self.maximum_depth
            && !(is_formatting && self.kept_formatting >= MAXIMUM_FORMATTING);
        let is_foreign = matches!(name, "svg" | "math");
        if is_foreign && self_closing {
            return true;
        }
        if is_formatting && !kept {
            return false;
        }
        self.kept += if kept { levels(name) } else { 0 };
        self.kept_formatting += usize::from(kept && is_formatting);
        self.foreign += usize::from(is_foreign);
        self.open.push(Open {
            name: name.to_owned(),
            kept,
            levels: levels(name),
            is_foreign,
            is_formatting,
        });
        kept
    }

    /// Whether an element has content, and an end tag therefore.
    fn nests(&self, name: &str, self_closing: bool) -> bool {
        if self.foreign > 0 {
            return !self_closing;
        }
        !VOID.contains(&name) && !ENDED_BY_THE_NEXT.contains(&name) && !RAW_TEXT.contains(&name)
    }

    /// Whether the end tag is kept; everything opened after its start tag counts as closed, but for
    /// formatting elements: those stay open until their own end tag comes, as they do in the
    /// parser.
    fn end_tag(&mut self, name: &str) -> bool {
        let found = self
            .open
            .iter()
            .rev()
            .take(END_TAG_WINDOW)
            .position(|open| open.name == name);
        let Some(distance) = found else { return true };
        let closed = self.open.split_off(self.open.len() - 1 - distance);
        let ends_formatting = FORMATTING.contains(&name);
        let mut kept = true;
        for (place, open) in closed.into_iter().enumerate() {
            if place > 0 && (ends_formatting || open.is_formatting) {
                self.open.push(open);
                continue;
            }
            self.kept -= if open.kept { open.levels } else { 0 };
            self.kept_formatting -= usize::from(open.kept && open.is_formatting);
            self.foreign -= usize::from(open.is_foreign);
            kept = if place == 0 { open.kept } else { kept };
        }
        kept
    }
}

/// Length of the comment at the start; without an end it is all that is left.
pub(super) fn comment_length(markup: &str) -> usize {
    markup
        .get(4..)
        .and_then(|body| body.find("-->"))
        .map_or(markup.len(), |at| at + 7)
}

/// Length of the name at the start, and its first 32 bytes in lower case.
pub(super) fn tag_name(text: &str) -> (usize, String) {
    let ends = |character: char| character.is_ascii_whitespace() || matches!(character, '/' | '>');
    let length = text.find(ends).unwrap_or(text.len());
    let name = text.get(..length.min(32)).unwrap_or_default();
    (length, name.to_ascii_lowercase())
}

/// Levels of the tree that an element brings with it: a cell of a table is four levels down.
fn levels(name: &str) -> usize {
    match name {
        "table" => 4,
        "ul" | "ol" | "dl" | "menu" | "dir" | "ruby" | "select" => 2,
        _ => 1,
    }
}

/// Where a tag ends.
pub(super) struct TagSpan {
    /// Bytes up to and with its `>`.
    pub(super) length: usize,
    pub(super) self_closing: bool,
    /// Where to cut it because it has too many attributes.
    cut: Option<usize>,
}

/// Follows the attributes of a tag from byte `from` to its `>`, as the HTML tokenizer does.
pub(super) fn scan_tag(markup: &str, from: usize) -> TagSpan {
    let mut attributes = 0_usize;
    let mut cut = None;
    let mut quote: Option<u8> = None;
    let (mut in_name, mut after_equals, mut in_value) = (false, false, false);
    let mut previous = 0_u8;
    for (offset, byte) in markup.bytes().enumerate().skip(from) {
        if let Some(mark) = quote {
            if byte == mark {
                quote = None;
                previous = 0;
            }
            continue;
        }
        match byte {
            b'>' => {
                return TagSpan {
                    length: offset + 1,
                    self_closing: previous == b'/' && !in_value,
                    cut,
                };
            }
            b'"' | b'\'' if after_equals => {
                quote = Some(byte);
                (in_name, after_equals) = (false, false);
            }
            b'=' if in_name => (in_name, after_equals) = (false, true),
            b' ' | b'\t' | b'\n' | b'\x0C' | b'\r' => {
                (in_name, in_value) = (false, false);
                continue;
            }
            b'/' if !after_equals && !in_value => in_name = false,
            _ if after_equals => (after_equals, in_value) = (false, true),
            _ if !in_name && !in_value => {
                in_name = true;
                attributes += 1;
                if attributes > MAXIMUM_ATTRIBUTES && cut.is_none() {
                    cut = Some(offset);
                }
            }
            _ => {}
        }
        previous = byte;
    }
    TagSpan {
        length: markup.len(),
        self_closing: false,
        cut,
    }
}

/// Where the content of a raw text element ends: before its end tag, or where the document ends.
pub(super) fn raw_text_end(markup: &str, from: usize, name: &str) -> usize {
    let bytes = markup.as_bytes();
    let mut at = from;
    while let Some(found) = markup.get(at..).and_then(|rest| rest.find("</")) {
        let start = at + found;
        let candidate = bytes
            .get(start + 2..start + 2 + name.len())
            .unwrap_or_default();
        if candidate.eq_ignore_ascii_case(name.as_bytes()) {
            return start;
        }
        at = start + 2;
    }
    markup.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_pages_stay_as_they_are() {
        let page = "<!DOCTYPE html><html><body><div class=\"a > b\"><p>x<p>y<br><img src=a.png/><b>bold</b> 1 < 2</div><script>if (a</b>c) {}</script></body></html>";
        assert_eq!(bound(page, 64), page);
        assert_eq!(bound("a<!-- c --><b>x</b><", 64), "a<b>x</b><");
    }

    #[test]
    fn tags_beyond_the_depth_go_and_text_stays() {
        let deep = format!("{}text{}after", "<div>".repeat(1000), "</div>".repeat(1000));
        let expected = format!("{}text{}after", "<div>".repeat(10), "</div>".repeat(10));
        assert_eq!(bound(&deep, 10), expected);
    }

    #[test]
    fn unclosed_formatting_is_bounded() {
        let page: String = (0..1000)
            .map(|index| format!("<font size={index}>"))
            .collect();
        assert_eq!(
            bound(&page, 4096).matches("<font").count(),
            MAXIMUM_FORMATTING
        );
        let rows = "<tr><td>x".repeat(500);
        assert_eq!(bound(&rows, 8), rows);
    }

    #[test]
    fn tags_with_thousands_of_attributes_are_cut() {
        let attributes: String = (0..1000).map(|index| format!(" a{index}='>'")).collect();
        let bounded = bound(&format!("<p{attributes}>text</p>"), 8);
        assert!(bounded.contains(" a127='>' >text</p>"), "{bounded}");
        assert!(!bounded.contains("a128"));
    }

    #[test]
    fn foreign_content_nests_whatever_its_names() {
        let page = format!("<svg>{}", "<td>".repeat(1000));
        assert_eq!(bound(&page, 16).matches("<td>").count(), 15);
    }

    #[test]
    fn broken_ends_are_no_trouble() {
        for page in [
            "<",
            "</",
            "<a",
            "<a href=\"",
            "<!--",
            "<!",
            "<script>x",
            "<?",
            "<汉>",
            "</汉>",
            "<a 汉='",
            "<script",
            "x<!-->",
        ] {
            assert!(bound(page, 4).len() <= page.len() + 1, "{page}");
        }
    }
}
