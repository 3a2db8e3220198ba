//! Markdown as plain text: marks stripped, links reduced to their labels, images to their
//! alternative texts, HTML to its text. What is embedded, analysed and summarised; a link's or
//! image's destination never gets in.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::markdown;

/// The readable text of Markdown, blocks on lines of their own.
pub fn plain_text(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut html = HtmlText::default();
    for event in Parser::new_ext(source, markdown::options()) {
        match event {
            Event::Text(part)
            | Event::Code(part)
            | Event::InlineMath(part)
            | Event::DisplayMath(part) => html.push_text(&mut text, &part),
            Event::Html(part) | Event::InlineHtml(part) => html.push_html(&mut text, &part),
            Event::SoftBreak | Event::HardBreak | Event::Rule => line_end(&mut text),
            Event::End(TagEnd::TableCell) => space(&mut text),
            Event::End(TagEnd::HtmlBlock) => {
                html = HtmlText::default();
                line_end(&mut text);
            }
            Event::Start(tag) if begins_line(&tag) => line_end(&mut text),
            Event::End(tag) if ends_line(&tag) => line_end(&mut text),
            _ => {}
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// The readable text of one heading line or other short Markdown, on one line.
pub fn plain_line(source: &str) -> String {
    plain_text(source)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn begins_line(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::Item
            | Tag::CodeBlock(_)
            | Tag::TableRow
            | Tag::TableHead
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
    )
}

fn ends_line(tag: &TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::Item
            | TagEnd::CodeBlock
            | TagEnd::TableRow
            | TagEnd::TableHead
            | TagEnd::FootnoteDefinition
    )
}

fn line_end(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn space(text: &mut String) {
    if !text.is_empty() && !text.ends_with([' ', '\n']) {
        text.push(' ');
    }
}

/// Takes tags, comments and the content of `script` and `style` out of HTML; a tag may be spread
/// over several events.
#[derive(Default)]
struct HtmlText {
    /// Inside `<…>`.
    tag: Option<String>,
    /// Inside an element whose content is no text.
    hidden: Option<&'static str>,
}

impl HtmlText {
    fn push_text(&mut self, out: &mut String, part: &str) {
        if self.hidden.is_none() {
            out.push_str(part);
        }
    }

    fn push_html(&mut self, out: &mut String, part: &str) {
        let mut rest = part;
        while !rest.is_empty() {
            rest = if self.tag.is_some() {
                self.read_tag(out, rest)
            } else {
                self.read_text(out, rest)
            };
        }
    }

    fn read_tag<'a>(&mut self, out: &mut String, rest: &'a str) -> &'a str {
        let Some(tag) = self.tag.as_mut() else {
            return rest;
        };
        let is_comment = tag.starts_with("!--") || (tag.is_empty() && rest.starts_with("!--"));
        let close = if is_comment { "-->" } else { ">" };
        let Some((inside, after)) = rest.split_once(close) else {
            if tag.len() < 16 {
                tag.extend(rest.chars().take(16));
            }
            return "";
        };
        if tag.len() < 16 {
            tag.extend(inside.chars().take(16));
        }
        let name = tag_name(tag);
        self.hidden = match (self.hidden, name.as_str()) {
            (None, "script") => Some("/script"),
            (None, "style") => Some("/style"),
            (Some(end), name) if name == end => None,
            (hidden, _) => hidden,
        };
        if is_block(&name) {
            line_end(out)
        } else if name == "td" || name == "th" || name == "br" {
            space(out)
        }
        self.tag = None;
        after
    }

    fn read_text<'a>(&mut self, out: &mut String, rest: &'a str) -> &'a str {
        let (text, after) = match rest.split_once('<') {
            Some((text, after)) => (text, Some(after)),
            None => (rest, None),
        };
        if self.hidden.is_none() {
            push_words(out, text);
        }
        if after.is_some() {
            self.tag = Some(String::new());
        }
        after.unwrap_or("")
    }
}

fn tag_name(tag: &str) -> String {
    tag.chars()
        .take_while(|character| character.is_ascii_alphanumeric() || *character == '/')
        .collect::<String>()
        .to_ascii_lowercase()
}

fn is_block(name: &str) -> bool {
    matches!(
        name.trim_start_matches('/'),
        "tr" | "p"
            | "div"
            | "li"
            | "table"
            | "ul"
            | "ol"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "pre"
    )
}

/// Text between tags: white space as single spaces, the common entities decoded.
fn push_words(out: &mut String, text: &str) {
    if text.starts_with(char::is_whitespace) {
        space(out);
    }
    for (position, word) in text.split_whitespace().enumerate() {
        if position > 0 {
            out.push(' ');
        }
        push_decoded(out, word);
    }
    if text.ends_with(char::is_whitespace) {
        space(out);
    }
}

fn push_decoded(out: &mut String, word: &str) {
    const ENTITIES: [(&str, &str); 6] = [
        ("amp;", "&"),
        ("lt;", "<"),
        ("gt;", ">"),
        ("quot;", "\""),
        ("nbsp;", " "),
        ("#39;", "'"),
    ];
    let mut parts = word.split('&');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        match ENTITIES
            .iter()
            .find_map(|(name, character)| part.strip_prefix(name).map(|rest| (*character, rest)))
        {
            Some((character, rest)) => {
                out.push_str(character);
                out.push_str(rest);
            }
            None => {
                out.push('&');
                out.push_str(part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_links_images_and_html_go_and_their_texts_stay() {
        let source = "# <a name=\"x\"></a>MB **数据**\n\nsee [label](http://secret) ![alt](image:3) `code.x` &amp; $a_1$\n- one\n- two\n";
        assert_eq!(
            plain_text(source),
            "MB 数据\nsee label alt code.x & a_1\none\ntwo"
        );
    }

    #[test]
    fn notes_are_text_and_what_refers_to_them_is_none() {
        let source = "十二个站[^1]睡眠。\n\n[^1]: 夜间测量\n\n# 结果\n\n[^2]: Here";
        assert_eq!(plain_text(source), "十二个站睡眠。\n夜间测量\n结果\nHere");
    }

    #[test]
    fn tables_of_both_kinds_become_lines() {
        assert_eq!(plain_text("|a|b|\n|-|-|\n|1|2|\n"), "a b \n1 2");
        let html = "<table>\n<tr><th>名称</th><th>值&nbsp;x</th></tr>\n<!-- no > comment -->\n<tr><td>A &lt; B</td><td>2</td></tr>\n</table>";
        let words: Vec<_> = plain_text(html)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        assert_eq!(words, ["名称", "值", "x", "A", "<", "B", "2"]);
        assert_eq!(plain_text("a <script>evil()</script> b"), "a  b");
    }

    #[test]
    fn unclosed_html_is_no_trap() {
        assert_eq!(plain_text("<div\n\nafter it"), "after it");
        assert_eq!(plain_line("# a  b\n\nc"), "a b c");
    }
}
