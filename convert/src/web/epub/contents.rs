//! The table of contents of a book: titles by file. EPUB 3 has a page with links, EPUB 2 an XML
//! file (NCX).

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::package::{Package, attribute, part, resolve};
use crate::archive::Archive;
use crate::limits::Limits;
use crate::titles::one_line;
use crate::xml_references::text_of;

/// Longest title in characters.
const MAXIMUM_TITLE: usize = 300;

/// The first title of each file. A table that cannot be read gives none: chapters have headings of
/// their own.
pub(super) fn titles(
    archive: &mut Archive,
    package: &Package,
    limits: &Limits,
) -> HashMap<String, String> {
    let Some(item) = package.contents() else {
        return HashMap::new();
    };
    let Ok(text) = part(archive, &item.path) else {
        return HashMap::new();
    };
    let mut found = Titles {
        from: &item.path,
        ..Titles::default()
    };
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    while let Ok(event) = reader.read_event() {
        if matches!(event, Event::Eof) || limits.check_time().is_err() {
            break;
        }
        found.take(event);
    }
    found.by_path
}

#[derive(Default)]
struct Titles<'a> {
    from: &'a str,
    by_path: HashMap<String, String>,
    /// The link of the page's `<a>` that is open.
    link: Option<String>,
    text: String,
    in_label: bool,
}

impl Titles<'_> {
    fn take(&mut self, event: Event) {
        match event {
            Event::Start(start) => match start.local_name().as_ref() {
                "a" => {
                    self.link = Some(attribute(&start, "href"));
                    self.text.clear();
                }
                "text" => {
                    self.in_label = true;
                    self.text.clear();
                }
                "content" => self.label_of(&attribute(&start, "src")),
                _ => {}
            },
            Event::Empty(start) if start.local_name().as_ref() == "content" => {
                self.label_of(&attribute(&start, "src"))
            }
            Event::Text(text) if self.link.is_some() || self.in_label => {
                self.text.push_str(&text.xml10_content())
            }
            Event::GeneralRef(name) if self.link.is_some() || self.in_label => {
                self.text.push_str(&text_of(&name))
            }
            Event::End(end) => match end.local_name().as_ref() {
                "a" => {
                    if let Some(link) = self.link.take() {
                        self.label_of(&link);
                    }
                }
                "text" => self.in_label = false,
                _ => {}
            },
            _ => {}
        }
    }

    fn label_of(&mut self, link: &str) {
        let title = one_line(&self.text, MAXIMUM_TITLE);
        if !title.is_empty() && !link.is_empty() {
            self.by_path
                .entry(resolve(self.from, link))
                .or_insert(title);
        }
    }
}
