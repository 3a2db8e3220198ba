//! Markdown to HTML: CommonMark with tables and formulas. What is written as HTML in a document
//! counts as text unless it is an element that shows and never acts.

use pulldown_cmark::{
    CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream,
    html::push_html,
};

use super::bounds::Bounds;
use super::formulas::{self, Place};
use super::marks::Marks;
use super::sanitise;
use crate::http::images;

/// HTML of the text, with the marked words in `<mark>`, its headings below `levels_above` of those
/// around it. It still has what a document wrote as HTML. `None` where the text is over a bound.
pub fn html(text: &str, marks: &Marks, levels_above: usize) -> Option<String> {
    let mut writer = Writer {
        marks,
        levels_above,
        events: Vec::new(),
        last_character: None,
        picture: None,
        note: None,
    };
    let mut bounds = Bounds::new(text.len());
    for event in TextMergeStream::new(Parser::new_ext(text, options())) {
        if !bounds.allow(&event) {
            return None;
        }
        writer.take(event);
    }
    let mut html = String::with_capacity(2 * text.len());
    push_html(&mut html, writer.events.into_iter());
    Some(html)
}

/// What of Markdown is understood beside CommonMark.
pub fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_FOOTNOTES
}

/// Turns what the parser gives into what is written.
struct Writer<'a> {
    marks: &'a Marks,
    levels_above: usize,
    events: Vec<Event<'a>>,
    /// The last character of running text: whether a line break becomes a space depends on it.
    last_character: Option<char>,
    /// The picture that a description belongs to.
    picture: Option<Picture>,
    /// The label of the note whose text comes next.
    note: Option<CowStr<'a>>,
}

/// What becomes of a picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Picture {
    /// This server keeps it.
    Shown,
    /// Its description stands for it.
    Described,
}

impl<'a> Writer<'a> {
    fn take(&mut self, event: Event<'a>) {
        match event {
            Event::Text(text) => self.text(text),
            Event::Code(code) => self.code(&code),
            Event::InlineMath(latex) => self.formula(&latex, Place::Inline),
            Event::DisplayMath(latex) => self.formula(&latex, Place::Block),
            Event::Html(html) | Event::InlineHtml(html) => self.written_html(html),
            Event::Start(Tag::Image { dest_url, .. }) => self.picture(&dest_url),
            Event::End(TagEnd::Image) => self.end_picture(),
            Event::Start(Tag::Heading { level, .. }) => self.heading(level),
            Event::End(TagEnd::Heading(level)) => {
                let level = self.below(level);
                self.push(Event::End(TagEnd::Heading(level)));
            }
            Event::SoftBreak => self.push(Event::SoftBreak),
            Event::FootnoteReference(label) => self.label(label),
            Event::Start(Tag::FootnoteDefinition(label)) => self.note = Some(label),
            Event::End(TagEnd::FootnoteDefinition) => self.note = None,
            Event::Start(Tag::Paragraph) => {
                self.last_character = None;
                self.push(Event::Start(Tag::Paragraph));
                if let Some(label) = self.note.take() {
                    self.label(label);
                    self.push(Event::Text(" ".into()));
                }
            }
            other => {
                self.last_character = None;
                self.push(other);
            }
        }
    }

    fn push(&mut self, event: Event<'a>) {
        self.events.push(event);
    }

    fn raw(&mut self, html: impl Into<CowStr<'a>>) {
        self.push(Event::InlineHtml(html.into()));
    }

    /// The label of a note above the line.
    fn label(&mut self, label: CowStr<'a>) {
        self.last_character = None;
        self.raw("<sup>");
        self.push(Event::Text(label));
        self.raw("</sup>");
    }

    fn picture(&mut self, link: &str) {
        let kept = images::link(link);
        if !kept.starts_with(images::PATH) {
            self.picture = Some(Picture::Described);
            return;
        }
        self.picture = Some(Picture::Shown);
        self.push(Event::Start(Tag::Image {
            link_type: LinkType::Inline,
            dest_url: kept.into(),
            title: "".into(),
            id: "".into(),
        }));
    }

    fn end_picture(&mut self) {
        if self.picture.take() == Some(Picture::Shown) {
            self.push(Event::End(TagEnd::Image));
        }
    }

    fn below(&self, level: HeadingLevel) -> HeadingLevel {
        HeadingLevel::try_from(level as usize + self.levels_above).unwrap_or(HeadingLevel::H6)
    }

    fn heading(&mut self, level: HeadingLevel) {
        let tag = Tag::Heading {
            level: self.below(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        };
        self.push(Event::Start(tag));
    }

    fn text(&mut self, text: CowStr<'a>) {
        self.close_line_break(&text);
        self.last_character = text.chars().next_back();
        // A description in an attribute has no marks.
        let is_attribute = self.picture == Some(Picture::Shown);
        let ranges = if is_attribute {
            Vec::new()
        } else {
            self.marks.ranges(&text)
        };
        if ranges.is_empty() {
            return self.push(Event::Text(text));
        }
        let mut written = 0;
        for range in ranges {
            self.piece(&text, written..range.start);
            self.raw("<mark>");
            self.piece(&text, range.clone());
            self.raw("</mark>");
            written = range.end;
        }
        self.piece(&text, written..text.len());
    }

    fn piece(&mut self, text: &str, range: std::ops::Range<usize>) {
        let piece = text.get(range).unwrap_or_default();
        if !piece.is_empty() {
            self.push(Event::Text(piece.to_owned().into()));
        }
    }

    /// Chinese lines are joined without a space.
    fn close_line_break(&mut self, text: &str) {
        let after_break = matches!(self.events.last(), Some(Event::SoftBreak));
        let is_wide = |character: Option<char>| character.is_some_and(|it| it >= '\u{2E80}');
        if after_break && is_wide(self.last_character) && is_wide(text.chars().next()) {
            self.events.pop();
        }
    }

    fn code(&mut self, code: &str) {
        self.last_character = None;
        if self.picture == Some(Picture::Shown) {
            return self.push(Event::Code(code.to_owned().into()));
        }
        self.raw("<code>");
        self.text(code.to_owned().into());
        self.raw("</code>");
    }

    fn formula(&mut self, latex: &str, place: Place) {
        self.last_character = None;
        match formulas::mathml(latex, place) {
            Some(mathml) => self.raw(mathml),
            None => self.code(latex),
        }
    }

    fn written_html(&mut self, html: CowStr<'a>) {
        if is_comment(&html) {
            return;
        }
        if has_only_known_elements(&html) {
            self.raw(html);
        } else {
            self.push(Event::Text(html));
        }
    }
}

fn is_comment(html: &str) -> bool {
    let html = html.trim();
    html.starts_with("<!--") && html.ends_with("-->")
}

/// `<name>` in a command line is a placeholder and no element; a reader must see it.
fn has_only_known_elements(html: &str) -> bool {
    html.split('<').skip(1).all(|part| {
        let part = part.strip_prefix('/').unwrap_or(part);
        let end = part.find(|character: char| !character.is_ascii_alphanumeric());
        let name = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
        sanitise::ELEMENTS
            .iter()
            .any(|element| element.eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        sanitise::clean(&html(text, &Marks::default(), 2).unwrap_or_default())
    }

    #[test]
    fn blocks_of_markdown_become_elements() {
        let table = [
            ("> quote", "<blockquote>\n<p>quote</p>\n</blockquote>\n"),
            (
                "睡眠[^2]。\n\n[^2]: 夜间测量",
                "<p>睡眠<sup>2</sup>。</p>\n<p><sup>2</sup> 夜间测量</p>\n",
            ),
            ("no note[^2]", "<p>no note[^2]</p>\n"),
            ("a *b* `c`", "<p>a <em>b</em> <code>c</code></p>\n"),
            ("# Top", "<h3>Top</h3>\n"),
            ("###### Low", "<h6>Low</h6>\n"),
            ("天线\n倾角 a\nb", "<p>天线倾角 a\nb</p>\n"),
        ];
        for (text, expected) in table {
            assert_eq!(shown(text), expected, "{text}");
        }
        assert!(shown("|a|b|\n|-|-|\n|1|2|").contains("<td>1</td>"));
        assert!(shown("$x^2$").contains("<msup>"));
        assert!(shown("$\\nosuch{$ costs").contains("nosuch"));
    }

    #[test]
    fn placeholders_stay_readable_and_scripts_become_text() {
        assert_eq!(
            shown("run --host <name> <b>x</b>"),
            "<p>run --host &lt;name&gt; <b>x</b></p>\n"
        );
        assert_eq!(
            shown("a <script>alert(1)</script>"),
            "<p>a &lt;script&gt;alert(1)&lt;/script&gt;</p>\n"
        );
        assert_eq!(shown("a <!-- hidden -->b"), "<p>a b</p>\n");
        let link = shown("[click](javascript:alert(2))");
        assert!(
            link.contains("click") && !link.contains("javascript"),
            "{link}"
        );
    }

    #[test]
    fn only_kept_pictures_are_shown_and_others_described() {
        let kept = shown("![antenna](blob:abc)");
        assert!(kept.contains("src=\"/v1/images/abc\""), "{kept}");
        assert_eq!(shown("![antenna](https://a/b.png) x"), "<p>antenna x</p>\n");
    }
}
