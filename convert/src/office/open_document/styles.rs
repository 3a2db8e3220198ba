//! Of the styles of a text or a presentation: which hide what they are the style of, and which are
//! the style of titles.

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// The style of titles; programs show its name in the reader's language and write it so.
const TITLE: &str = "Title";
/// Styles that may follow from one another: more are a circle.
const MAXIMUM_DEPTH: usize = 16;

/// Styles by family and name.
#[derive(Default)]
pub(super) struct Styles {
    parents: HashMap<(String, String), String>,
    /// Whether they hide, where they say so.
    hides: HashMap<(String, String), bool>,
}

impl Styles {
    /// Those of these parts, as far as they can be read.
    pub(super) fn read<'p>(parts: impl IntoIterator<Item = &'p str>) -> Self {
        let mut styles = Self::default();
        for part in parts {
            styles.add(part);
        }
        styles
    }

    fn add(&mut self, part: &str) {
        let mut xml = Reader::from_str(part);
        let mut current = None;
        loop {
            match xml.read_event() {
                Ok(Event::Start(tag) | Event::Empty(tag)) => match tag.local_name().as_ref() {
                    "style" => current = self.style(&tag),
                    "text-properties" => {
                        let display = value(&tag, "display");
                        let hides = display.map(|display| display == "none");
                        self.hides.extend(current.clone().zip(hides));
                    }
                    "drawing-page-properties" => {
                        let visibility = value(&tag, "visibility");
                        let hides = visibility.map(|visibility| visibility == "hidden");
                        self.hides.extend(current.clone().zip(hides));
                    }
                    // Their properties are those of the whole document.
                    "default-style" => current = None,
                    _ => {}
                },
                Ok(Event::Eof) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    fn style(&mut self, tag: &BytesStart<'_>) -> Option<(String, String)> {
        let key = (value(tag, "family")?, value(tag, "name")?);
        if let Some(parent) = value(tag, "parent-style-name") {
            self.parents.insert(key.clone(), parent);
        }
        Some(key)
    }

    /// The style that an element names and those that it follows from, the nearest first.
    fn line(&self, tag: &BytesStart<'_>, family: &str) -> impl Iterator<Item = (String, String)> {
        let named = value(tag, "style-name").map(|name| (family.to_owned(), name));
        let parent = |key: &(String, String)| {
            let parent = self.parents.get(key)?;
            Some((key.0.clone(), parent.clone()))
        };
        std::iter::successors(named, parent).take(MAXIMUM_DEPTH)
    }

    /// Whether an element of this name shows nothing.
    pub(super) fn hides(&self, name: &str, tag: &BytesStart<'_>) -> bool {
        let by_style = |family| {
            let mut line = self.line(tag, family);
            line.find_map(|style| self.hides.get(&style).copied()) == Some(true)
        };
        let is = |attribute, wanted: &str| value(tag, attribute).as_deref() == Some(wanted);
        match name {
            "span" => by_style("text"),
            "p" | "h" => by_style("paragraph"),
            "page" => by_style("drawing-page"),
            "section" => is("display", "none") || is("is-hidden", "true"),
            "hidden-text" => is("is-hidden", "true"),
            _ => false,
        }
    }

    /// Whether a paragraph has the style of titles.
    pub(super) fn is_title(&self, tag: &BytesStart<'_>) -> bool {
        self.line(tag, "paragraph").any(|(_, name)| name == TITLE)
    }
}

/// The value of an attribute, whatever its namespace.
fn value(tag: &BytesStart<'_>, wanted: &str) -> Option<String> {
    let mut attributes = tag.attributes();
    let mut attributes = attributes.with_checks(false).flatten();
    let found = attributes.find(|attribute| attribute.key.local_name().as_ref() == wanted)?;
    Some(found.value.to_string())
}
