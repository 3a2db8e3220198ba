//! `meta.xml`: title, author, subject, keywords, dates.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::Event;
use tributary_schemas::Result;

use crate::archive::Archive;
use crate::blanks::collapsed;
use crate::xml_references::text_of;

/// Longest property in characters; longer ones are cut.
const MAXIMUM_CHARACTERS: usize = 2000;

/// Elements, and what they are called in the metadata.
const NAMES: [(&str, &str); 8] = [
    ("title", "title"),
    ("initial-creator", "author"),
    ("creator", "last_modified_by"),
    ("subject", "subject"),
    ("keyword", "keywords"),
    ("description", "description"),
    ("creation-date", "created"),
    ("date", "modified"),
];

/// The properties that have a value; none where the part is missing, those before the damage where
/// it is damaged.
pub(super) fn read(archive: &mut Archive) -> Result<BTreeMap<String, String>> {
    let mut metadata: BTreeMap<String, String> = BTreeMap::new();
    let Some(part) = archive.read("meta.xml")? else {
        return Ok(metadata);
    };
    let part = String::from_utf8_lossy(&part);
    let mut xml = Reader::from_str(&part);
    let (mut name, mut text) = (None, String::new());
    loop {
        match xml.read_event() {
            Ok(Event::Start(tag)) => {
                let local = tag.local_name();
                name = NAMES
                    .iter()
                    .find(|(element, _)| *element == local.as_ref())
                    .map(|(_, name)| *name);
                text.clear();
            }
            Ok(Event::Text(part)) if name.is_some() => text.push_str(&part.xml10_content()),
            Ok(Event::GeneralRef(reference)) if name.is_some() => {
                text.push_str(&text_of(&reference));
            }
            Ok(Event::End(_)) => {
                if let Some(name) = name.take() {
                    add(name, &text, &mut metadata);
                }
            }
            Ok(Event::Eof) | Err(_) => return Ok(metadata),
            Ok(_) => {}
        }
    }
}

/// Several keywords are one property.
fn add(name: &str, text: &str, metadata: &mut BTreeMap<String, String>) {
    let text = collapsed(text);
    if text.is_empty() {
        return;
    }
    let value = metadata.entry(name.to_owned()).or_default();
    if !value.is_empty() {
        value.push_str(", ");
    }
    value.extend(text.chars().take(MAXIMUM_CHARACTERS));
}
