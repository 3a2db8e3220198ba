//! The package of a book: metadata, files and reading order.

use std::collections::{BTreeMap, HashMap};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::archive::Archive;
use crate::text_encoding::decode;
use crate::titles::one_line;
use crate::xml_references::text_of;

/// Longest metadata value in characters.
const MAXIMUM_VALUE: usize = 2000;

/// Most files that a package may name.
const MAXIMUM_ITEMS: usize = 100_000;

/// Elements of the metadata that are kept, and their names.
const METADATA: [(&str, &str); 10] = [
    ("title", "title"),
    ("creator", "author"),
    ("language", "language"),
    ("publisher", "publisher"),
    ("date", "date"),
    ("identifier", "identifier"),
    ("subject", "keywords"),
    ("description", "description"),
    ("contributor", "contributor"),
    ("rights", "rights"),
];

/// A file of the book.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    /// Its path in the container.
    pub path: String,
    /// Its media type.
    pub media_type: String,
    /// Words such as `nav`.
    pub properties: String,
}

/// What a package says.
#[derive(Debug, Default)]
pub(super) struct Package {
    /// Metadata by our names.
    pub metadata: BTreeMap<String, String>,
    items: HashMap<String, Item>,
    spine: Vec<String>,
    /// Identifier of the table of contents of EPUB 2.
    toc: String,
}

impl Package {
    /// Reads the package that the container names. `Corrupt` if there is none, or nothing in its
    /// spine.
    pub(super) fn read(archive: &mut Archive, container: &str) -> Result<Self> {
        let container_text = part(archive, container)?;
        let path = package_path(&container_text)
            .ok_or_else(|| corrupt(format!("the part {container} names no package")))?;
        let text = part(archive, &path)?;
        let package = Self::parse(&text, &path);
        if package.chapters().next().is_none() {
            return Err(corrupt(format!("the part {path} lists no chapters")));
        }
        Ok(package)
    }

    fn parse(text: &str, path: &str) -> Self {
        let mut package = Self::default();
        let mut field: Option<&str> = None;
        let mut value = String::new();
        let mut reader = Reader::from_str(text);
        // What follows damage is lost; chapters listed before are not.
        while let Ok(event) = reader.read_event() {
            match event {
                Event::Start(start) | Event::Empty(start) => field = package.element(&start, path),
                Event::Text(content) if field.is_some() => value.push_str(&content.xml10_content()),
                Event::GeneralRef(reference) if field.is_some() => {
                    value.push_str(&text_of(&reference))
                }
                Event::End(_) => package.value(field.take(), &std::mem::take(&mut value)),
                Event::Eof => break,
                _ => {}
            }
        }
        package
    }

    /// One element; the metadata field whose text follows.
    fn element(&mut self, start: &BytesStart, path: &str) -> Option<&'static str> {
        let attribute = |name: &str| attribute(start, name);
        match start.local_name().as_ref() {
            "item" if self.items.len() < MAXIMUM_ITEMS => {
                let item = Item {
                    path: resolve(path, &attribute("href")),
                    media_type: attribute("media-type"),
                    properties: attribute("properties"),
                };
                self.items.insert(attribute("id"), item);
            }
            "itemref" if self.spine.len() < MAXIMUM_ITEMS => self.spine.push(attribute("idref")),
            "spine" => self.toc = attribute("toc"),
            name => {
                return METADATA
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, kept_as)| *kept_as);
            }
        }
        None
    }

    fn value(&mut self, field: Option<&str>, text: &str) {
        let text = one_line(text, MAXIMUM_VALUE);
        let Some(name) = field.filter(|_| !text.is_empty()) else {
            return;
        };
        match self.metadata.get_mut(name) {
            // The first title and date count; several authors and subjects are joined.
            Some(known)
                if matches!(name, "author" | "keywords" | "contributor")
                    && known.len() < MAXIMUM_VALUE =>
            {
                known.push_str(", ");
                known.push_str(&text);
            }
            Some(_) => {}
            None => {
                self.metadata.insert(name.to_owned(), text);
            }
        }
    }

    /// Pages in reading order; the table of contents is none.
    pub(super) fn chapters(&self) -> impl Iterator<Item = &Item> {
        let is_page = |item: &&Item| {
            !has_word(&item.properties, "nav")
                && (item.media_type.contains("html") || item.media_type.is_empty())
        };
        self.spine
            .iter()
            .filter_map(|id| self.items.get(id))
            .filter(is_page)
    }

    /// The table of contents: that of EPUB 3, else that of EPUB 2.
    pub(super) fn contents(&self) -> Option<&Item> {
        let nav = self
            .items
            .values()
            .find(|item| has_word(&item.properties, "nav"));
        let ncx = || {
            self.items.get(&self.toc).or_else(|| {
                self.items
                    .values()
                    .find(|item| item.media_type == "application/x-dtbncx+xml")
            })
        };
        nav.or_else(ncx)
    }

    /// The media type of a file, empty if the package does not list it.
    pub(super) fn media_type(&self, path: &str) -> &str {
        self.items
            .values()
            .find(|item| item.path == path)
            .map_or("", |item| &item.media_type)
    }
}

fn has_word(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// The text of a part that must be there.
pub(super) fn part(archive: &mut Archive, path: &str) -> Result<String> {
    let bytes = archive
        .read(path)?
        .ok_or_else(|| corrupt(format!("the part {path} is missing")))?;
    Ok(decode(&bytes, None).text.into_owned())
}

fn corrupt(what: String) -> Error {
    Error::new(ErrorKind::Corrupt, what).with_hint("the file is no EPUB book, or damaged")
}

/// An attribute's value, unescaped; empty if there is none.
pub(super) fn attribute(start: &BytesStart, name: &str) -> String {
    let found = start
        .attributes()
        .with_checks(false)
        .filter_map(std::result::Result::ok)
        .find(|attribute| attribute.key.local_name().as_ref() == name);
    found.map_or_else(String::new, |attribute| {
        let raw = attribute.value.into_owned();
        quick_xml::escape::unescape(&raw).map_or_else(|_| raw.clone(), std::borrow::Cow::into_owned)
    })
}

fn package_path(container: &str) -> Option<String> {
    let mut reader = Reader::from_str(container);
    loop {
        match reader.read_event() {
            Ok(Event::Start(start) | Event::Empty(start))
                if start.local_name().as_ref() == "rootfile" =>
            {
                return Some(attribute(&start, "full-path")).filter(|path| !path.is_empty());
            }
            Ok(Event::Eof) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// The path in the container that a link in the file `from` means: relative to its folder, percent
/// signs decoded, no fragment.
pub(super) fn resolve(from: &str, link: &str) -> String {
    let link = link.split(['#', '?']).next().unwrap_or_default();
    let link = percent_decoded(link);
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = if link.starts_with('/') {
        Vec::new()
    } else {
        folder.split('/').filter(|part| !part.is_empty()).collect()
    };
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.join("/")
}

fn percent_decoded(link: &str) -> String {
    let mut bytes = Vec::with_capacity(link.len());
    let mut rest = link.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() {
            after.get(2..).unwrap_or_default()
        } else {
            after
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
