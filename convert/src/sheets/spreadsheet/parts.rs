//! Parts that all Office Open XML workbooks have: relationships between parts, and the document's
//! properties.

use std::collections::BTreeMap;

use quick_xml::events::Event;
use tributary_schemas::{ErrorKind, Result};

use super::About;
use super::package::Package;
use super::sheet::short_name;
use super::xml::{Xml, add_text, attribute, is};

/// Relationships of one part that are kept.
const MAXIMUM_RELATIONSHIPS: usize = 50_000;

/// Longest target in bytes.
const MAXIMUM_TARGET_BYTES: usize = 2048;

/// Drawings of one sheet that are read.
const MAXIMUM_DRAWINGS: usize = 16;

/// Bytes of text that are read of one drawing.
const MAXIMUM_DRAWING_BYTES: usize = 1 << 20;

/// A relationship of a part.
#[derive(Debug)]
pub(super) struct Relationship {
    /// Last part of the type's address, such as `worksheet`.
    pub kind: String,
    /// Where it leads, as written.
    pub target: String,
}

/// Relationships by their identifiers.
pub(super) type Relationships = BTreeMap<String, Relationship>;

/// Forgives damage to a part of which something could be used, with a note; a limit is never
/// forgiven.
pub(super) fn forgive(
    about: &mut About,
    what: &str,
    is_usable: bool,
    read: Result<()>,
) -> Result<()> {
    match read {
        Err(error) if error.kind() == ErrorKind::Corrupt && is_usable => {
            about.note("damaged", &format!("{what}: {error}"));
            Ok(())
        }
        other => other,
    }
}

/// Reads a part; `None` if there is none of that name.
pub(super) fn read_part<T>(
    package: &mut Package<'_>,
    name: &str,
    read: impl FnOnce(Xml<'_>) -> Result<T>,
) -> Result<Option<T>> {
    match package.part(name)? {
        Some(part) => read(Xml::new(part, name)).map(Some),
        None => Ok(None),
    }
}

/// The relationships of a part; none if there is no such part. The name `` is the package itself.
pub(super) fn read_relationships(package: &mut Package<'_>, part: &str) -> Result<Relationships> {
    let folder = folder_of(part);
    let file = part.strip_prefix(folder).unwrap_or(part);
    let name = format!("{folder}_rels/{file}.rels");
    let found = read_part(package, &name, |mut xml| {
        let mut relationships = Relationships::new();
        loop {
            match xml.next()? {
                Event::Start(tag) | Event::Empty(tag)
                    if is(&tag, "Relationship") && relationships.len() < MAXIMUM_RELATIONSHIPS =>
                {
                    let kind = attribute(&tag, "Type").unwrap_or_default();
                    let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
                    let target = attribute(&tag, "Target").unwrap_or_default().into_owned();
                    if let Some(id) = attribute(&tag, "Id").filter(|_| {
                        target.len() <= MAXIMUM_TARGET_BYTES && kind.len() <= MAXIMUM_TARGET_BYTES
                    }) {
                        relationships.insert(short_name(&id), Relationship { kind, target });
                    }
                }
                Event::Eof => return Ok(relationships),
                _ => {}
            }
        }
    })?;
    Ok(found.unwrap_or_default())
}

/// The folder of a part, with `/` at the end.
pub(super) fn folder_of(part: &str) -> &str {
    part.rfind('/')
        .and_then(|at| part.get(..=at))
        .unwrap_or_default()
}

/// A target as seen from a folder.
pub(super) fn resolve(folder: &str, target: &str) -> String {
    let target = target.replace('\\', "/");
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    steps.join("/")
}

/// Title and author; without them reading goes on.
pub(super) fn read_properties(package: &mut Package<'_>, about: &mut About) {
    let name = "docProps/core.xml";
    let Ok(Some(part)) = package.part(name) else {
        return;
    };
    let mut xml = Xml::new(part, name);
    let (mut field, mut text) = (None, String::new());
    while let Ok(event) = xml.next() {
        match &event {
            Event::Start(tag) => {
                field = match tag.local_name().as_ref() {
                    "title" => Some("title"),
                    "creator" => Some("author"),
                    "subject" => Some("subject"),
                    "keywords" => Some("keywords"),
                    _ => None,
                };
                text.clear();
            }
            Event::End(_) => {
                let value = text.trim();
                match field.take() {
                    Some("title") if !value.is_empty() => about.title = Some(value.to_owned()),
                    Some(name) if !value.is_empty() => about.note(name, value),
                    _ => {}
                }
            }
            Event::Eof => return,
            event if field.is_some() && text.len() < 4096 => add_text(event, &mut text),
            _ => {}
        }
    }
}

/// Texts in the text boxes and shapes of a sheet, a paragraph each; without them reading goes on.
pub(super) fn drawing_texts(
    package: &mut Package<'_>,
    sheet: &str,
    relationships: &Relationships,
) -> Vec<String> {
    let mut texts = Vec::new();
    for drawing in relationships
        .values()
        .filter(|relationship| relationship.kind == "drawing")
        .take(MAXIMUM_DRAWINGS)
    {
        let name = resolve(folder_of(sheet), &drawing.target);
        let Ok(Some(part)) = package.part(&name) else {
            continue;
        };
        read_drawing(Xml::new(part, &name), &mut texts);
    }
    texts
}

fn read_drawing(mut xml: Xml<'_>, texts: &mut Vec<String>) {
    let (mut in_text, mut paragraph, mut bytes) = (false, String::new(), 0);
    while let Ok(event) = xml.next() {
        match &event {
            Event::Start(tag) if is(tag, "t") => in_text = true,
            Event::End(tag) if tag.local_name().as_ref() == "t" => in_text = false,
            Event::End(tag) if tag.local_name().as_ref() == "p" && !paragraph.trim().is_empty() => {
                bytes += paragraph.len();
                texts.push(std::mem::take(&mut paragraph));
            }
            Event::Eof => break,
            event if in_text => add_text(event, &mut paragraph),
            _ => {}
        }
        if bytes > MAXIMUM_DRAWING_BYTES {
            break;
        }
    }
}
