//! What is not to be read of a text or a presentation, taken out before somebody reads it: indexes
//! (its table of contents, lists of figures and tables, the index of words: they say where on paper
//! something stands, and nothing more), comments, what is hidden. Lists that only number headings are
//! taken away around these, and a paragraph in the style of titles becomes a heading.

use std::borrow::Cow;
use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::styles::Styles;
use crate::slices::text_part;

/// Elements that are indexes, and comments. A list of literature is none.
const LEFT_OUT: [&str; 7] = [
    "table-of-content",
    "illustration-index",
    "table-index",
    "object-index",
    "user-index",
    "alphabetical-index",
    "annotation",
];

/// The content to read.
pub(super) struct Cleaned<'c> {
    pub(super) content: Cow<'c, str>,
    /// Numbers of the slides that are hidden, from 1. They are empty.
    pub(super) hidden_slides: Vec<usize>,
}

/// Leaves out of `content` what is not to be read, without what is hidden unless it is kept. What is
/// damaged stays.
pub(super) fn cleaned<'c>(content: &'c str, styles: &Styles, keeps_hidden: bool) -> Cleaned<'c> {
    let mut pass = Pass {
        styles,
        keeps_hidden,
        edits: Vec::new(),
        cut: None,
        lists: Vec::new(),
        headings: 0,
        titles: Vec::new(),
        slides: 0,
        hidden_slides: Vec::new(),
    };
    let mut xml = Reader::from_str(content);
    loop {
        let start = position(&xml);
        let event = xml.read_event();
        let place = start..position(&xml);
        match event {
            Ok(Event::Start(tag)) => pass.open(&tag, place),
            Ok(Event::Empty(tag)) => {
                pass.slides += usize::from(tag.local_name().as_ref() == "page")
            }
            Ok(Event::End(tag)) => {
                pass.close(tag.local_name().as_ref(), tag.name().as_ref(), place)
            }
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    Cleaned {
        content: edited(content, pass.edits),
        hidden_slides: pass.hidden_slides,
    }
}

/// What stands there instead.
type Edit = (Range<usize>, String);

struct Pass<'s> {
    styles: &'s Styles,
    keeps_hidden: bool,
    edits: Vec<Edit>,
    cut: Option<Cut>,
    /// Lists that are open, the outermost first.
    lists: Vec<OpenList>,
    /// Headings that are open.
    headings: usize,
    /// For each paragraph that is open, whether it becomes a heading.
    titles: Vec<bool>,
    /// Slides that came.
    slides: usize,
    hidden_slides: Vec<usize>,
}

/// What is being left out.
struct Cut {
    start: usize,
    /// Its elements that are open.
    open: usize,
    /// What stands there instead.
    instead: String,
}

/// A list whose end has not come.
#[derive(Default)]
struct OpenList {
    /// Its own tags, and those of its items.
    tags: Vec<Range<usize>>,
    has_heading: bool,
    has_text: bool,
}

impl Pass<'_> {
    fn open(&mut self, tag: &BytesStart<'_>, place: Range<usize>) {
        if let Some(cut) = &mut self.cut {
            cut.open += 1;
            return;
        }
        let name = tag.local_name();
        let name = name.as_ref();
        self.slides += usize::from(name == "page");
        let is_hidden = !self.keeps_hidden && self.styles.hides(name, tag);
        if is_hidden || LEFT_OUT.contains(&name) {
            let mut instead = String::new();
            // Slides are counted.
            if name == "page" {
                self.hidden_slides.push(self.slides);
                instead = format!("<{}/>", tag.name().as_ref());
            }
            self.cut = Some(Cut {
                start: place.start,
                open: 1,
                instead,
            });
            return;
        }
        match name {
            "list" => self.lists.push(OpenList {
                tags: vec![place],
                ..OpenList::default()
            }),
            "list-item" | "list-header" => self.note_tag(place),
            "h" => {
                self.headings += 1;
                self.lists
                    .iter_mut()
                    .for_each(|list| list.has_heading = true);
            }
            "p" => {
                let is_title = self.lists.is_empty() && self.styles.is_title(tag);
                self.titles.push(is_title);
                if is_title {
                    let full = tag.name();
                    let prefix = full.as_ref().strip_suffix('p').unwrap_or_default();
                    let level = format!("<{prefix}h {prefix}outline-level=\"1\">");
                    self.edits.push((place, level));
                }
                if self.headings == 0 {
                    self.lists.iter_mut().for_each(|list| list.has_text = true);
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str, full: &str, place: Range<usize>) {
        if let Some(cut) = &mut self.cut {
            cut.open -= 1;
            if let Some(cut) = self.cut.take_if(|cut| cut.open == 0) {
                self.edits.push((cut.start..place.end, cut.instead));
            }
            return;
        }
        match name {
            "list-item" | "list-header" => self.note_tag(place),
            "list" => self.close_list(place),
            "h" => self.headings = self.headings.saturating_sub(1),
            "p" if self.titles.pop() == Some(true) => {
                let prefix = full.strip_suffix('p').unwrap_or_default();
                self.edits.push((place, format!("</{prefix}h>")));
            }
            _ => {}
        }
    }

    fn note_tag(&mut self, place: Range<usize>) {
        if let Some(list) = self.lists.last_mut() {
            list.tags.push(place);
        }
    }

    fn close_list(&mut self, place: Range<usize>) {
        let Some(list) = self.lists.pop() else {
            return;
        };
        if list.has_heading && !list.has_text {
            let tags = list.tags.into_iter().chain([place]);
            self.edits.extend(tags.map(|tag| (tag, String::new())));
        }
    }
}

/// The text with what stands there instead; the same where nothing does.
fn edited(content: &str, mut edits: Vec<Edit>) -> Cow<'_, str> {
    if edits.is_empty() {
        return Cow::Borrowed(content);
    }
    edits.sort_by_key(|(place, _)| place.start);
    let mut out = String::with_capacity(content.len());
    let mut written = 0;
    for (place, instead) in edits {
        out.push_str(text_part(content, written..place.start));
        out.push_str(&instead);
        written = place.end;
    }
    out.push_str(text_part(content, written..));
    Cow::Owned(out)
}

fn position<R>(xml: &Reader<R>) -> usize {
    usize::try_from(xml.buffer_position()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> String {
        let styles = Styles::read([content]);
        cleaned(content, &styles, false).content.into_owned()
    }

    #[test]
    fn indexes_are_taken_out_whole() {
        let index = "<text:table-of-content><text:index-body><text:p>A 1</text:p></text:index-body></text:table-of-content>";
        let text = format!("<o>a{index}<text:p>b</text:p>{index}c</o>");
        assert_eq!(read(&text), "<o>a<text:p>b</text:p>c</o>");
        let damaged = "<o><text:user-index><text:p>a</text:p>";
        assert_eq!(read(damaged), damaged);
    }

    #[test]
    fn comments_stand_in_no_sentence() {
        let text = "<o><p>two pumps<office:annotation><dc:creator>M</dc:creator><text:p>why?</text:p></office:annotation> and motors<office:annotation-end/>.</p></o>";
        assert_eq!(
            read(text),
            "<o><p>two pumps and motors<office:annotation-end/>.</p></o>"
        );
    }

    #[test]
    fn what_is_hidden_is_not_read() {
        let styles = "<s><style:style style:name=\"T1\" style:family=\"text\"><style:text-properties text:display=\"none\"/></style:style>\
            <style:style style:name=\"P1\" style:family=\"paragraph\" style:parent-style-name=\"Secret\"/>\
            <style:style style:name=\"Secret\" style:family=\"paragraph\"><style:text-properties text:display=\"none\"/></style:style>\
            <style:style style:name=\"dp2\" style:family=\"drawing-page\"><style:drawing-page-properties presentation:visibility=\"hidden\"/></style:style></s>";
        for (text, expected) in [
            (
                "<o><p>a<span text:style-name=\"T1\">b</span></p></o>",
                "<o><p>a</p></o>",
            ),
            ("<o><p text:style-name=\"P1\">b</p></o>", "<o></o>"),
            (
                "<o><p text:style-name=\"T1\">b</p></o>",
                "<o><p text:style-name=\"T1\">b</p></o>",
            ),
            (
                "<o><section text:display=\"none\"><p>b</p></section>c</o>",
                "<o>c</o>",
            ),
            (
                "<o><p><hidden-text text:is-hidden=\"true\">b</hidden-text>c</p></o>",
                "<o><p>c</p></o>",
            ),
            (
                "<o><page draw:style-name=\"dp2\"><p>b</p></page><page draw:style-name=\"dp1\"/></o>",
                "<o><page/><page draw:style-name=\"dp1\"/></o>",
            ),
        ] {
            let styles = Styles::read([styles]);
            let found = cleaned(text, &styles, false);
            assert_eq!(found.content, expected);
            let hidden: &[usize] = if text.contains("dp2") { &[1] } else { &[] };
            assert_eq!(found.hidden_slides, hidden);
            assert_eq!(cleaned(text, &styles, true).content, text, "kept");
        }
    }

    #[test]
    fn lists_that_only_number_headings_are_none() {
        let heading = "<t:h t:outline-level=\"2\">Limits<t:note><t:p>n</t:p></t:note></t:h>";
        let numbered = format!(
            "<o><t:list><t:list-item><t:list><t:list-item>{heading}</t:list-item></t:list></t:list-item></t:list></o>"
        );
        assert_eq!(read(&numbered), format!("<o>{heading}</o>"));
        let other = "<o><t:list><t:list-item><t:p>a</t:p></t:list-item></t:list></o>";
        assert_eq!(read(other), other);
        let both = format!(
            "<o><t:list><t:list-item>{heading}<t:list><t:list-item><t:p>a</t:p></t:list-item></t:list></t:list-item></t:list></o>"
        );
        assert_eq!(read(&both), both, "a list that has text too");
    }

    #[test]
    fn a_title_is_a_heading() {
        let text = "<o><style:style style:name=\"P4\" style:family=\"paragraph\" style:parent-style-name=\"Title\"/><t:p t:style-name=\"P4\">Kessel<t:note><t:p>n</t:p></t:note></t:p><t:p t:style-name=\"P5\">x</t:p></o>";
        assert!(
            read(text).ends_with(
                "<t:h t:outline-level=\"1\">Kessel<t:note><t:p>n</t:p></t:note></t:h><t:p t:style-name=\"P5\">x</t:p></o>"
            ),
            "{}",
            read(text)
        );
    }
}
