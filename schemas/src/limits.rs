//! Limits of every field of a [`DocumentEvent`] but its content. The HTTP server refuses what is
//! over them, and so does ingest for records that came by another way: what is said of a document
//! is kept in memory and with each of its chunks.

use std::collections::BTreeMap;

use crate::document::TABLES_DATABASE;
use crate::id::MAXIMUM_DOCUMENT_ID_BYTES;
use crate::{Attributes, DocumentEvent, Error, ErrorKind, Result, section_level};

/// Longest name of a source, in bytes.
pub const SOURCE_BYTES: usize = 1024;
/// Longest path within a source, in bytes.
pub const SOURCE_PATH_BYTES: usize = 4096;
/// Longest title, in bytes.
pub const TITLE_BYTES: usize = 4096;
/// Longest media type, in bytes.
pub const MEDIA_TYPE_BYTES: usize = 256;
/// Longest reference to a body, in bytes.
pub const CONTENT_URL_BYTES: usize = 256;
/// Longest value of one attribute, `custom` ones included, in bytes.
pub const ATTRIBUTE_BYTES: usize = 4096;
/// Longest name of a custom attribute, in bytes.
pub const CUSTOM_NAME_BYTES: usize = 256;
/// Most custom attributes.
pub const CUSTOM_ATTRIBUTES: usize = 256;
/// All names and values of attributes together, in bytes.
pub const ATTRIBUTES_BYTES: usize = 65536;
/// Most knowledge sets that a producer names.
pub const KNOWLEDGE_SETS: usize = 256;
/// Longest name of a knowledge set, in bytes.
pub const KNOWLEDGE_SET_BYTES: usize = 256;

/// Most groups, and most users, that a document names as its readers.
pub const ACCESS_NAMES: usize = 256;
/// Longest name of a group or user, in bytes.
pub const ACCESS_NAME_BYTES: usize = 256;

/// Most rules by which a document gives its sections security levels.
pub const SECTION_LEVELS: usize = 64;
/// Longest heading in such a rule, in bytes.
pub const SECTION_HEADING_BYTES: usize = 256;

/// Longest value of a document's own metadata that goes along with it, in bytes.
pub const METADATA_VALUE_BYTES: usize = 1024;
/// All names and values of a document's own metadata that go along with it, in bytes.
pub const METADATA_BYTES: usize = 16384;

/// Characters of a custom attribute's name that a message shows.
const SHOWN_CHARACTERS: usize = 80;

/// `Invalid` with the field, its size and its limit.
pub fn check(event: &DocumentEvent) -> Result<()> {
    bytes("source", &event.source, SOURCE_BYTES)?;
    let optional = [
        ("document_id", &event.document_id, MAXIMUM_DOCUMENT_ID_BYTES),
        ("source_path", &event.source_path, SOURCE_PATH_BYTES),
        ("title", &event.title, TITLE_BYTES),
        ("media_type", &event.media_type, MEDIA_TYPE_BYTES),
        ("content_url", &event.content_url, CONTENT_URL_BYTES),
    ];
    for (field, value, limit) in optional {
        bytes(field, value.as_deref().unwrap_or_default(), limit)?;
    }
    check_attributes(&event.attributes)?;
    number("knowledge_sets", event.knowledge_sets.len(), KNOWLEDGE_SETS)?;
    event
        .knowledge_sets
        .iter()
        .try_for_each(|name| bytes("knowledge_sets", name, KNOWLEDGE_SET_BYTES))
}

/// `Invalid` for attributes that are too long or too many.
pub fn check_attributes(attributes: &Attributes) -> Result<()> {
    let mut all_bytes = 0;
    for (name, value) in attributes.texts() {
        all_bytes += name.len() + value.len();
        bytes(&format!("attributes.{name}"), value, ATTRIBUTE_BYTES)?;
    }
    number(
        "attributes.custom",
        attributes.custom.len(),
        CUSTOM_ATTRIBUTES,
    )?;
    for (name, value) in &attributes.custom {
        all_bytes += name.len() + value.len();
        bytes("attributes.custom", name, CUSTOM_NAME_BYTES)?;
        let shown: String = name.chars().take(SHOWN_CHARACTERS).collect();
        bytes(
            &format!("attributes.custom.{shown}"),
            value,
            ATTRIBUTE_BYTES,
        )?;
    }
    if let Some(access) = &attributes.access {
        access.check()?;
    }
    section_level::check(attributes.section_rules())?;
    size("attributes", all_bytes, ATTRIBUTES_BYTES)
}

/// A text of one field: its value, or a name within it.
pub(crate) fn bytes(field: &str, text: &str, limit: usize) -> Result<()> {
    size(field, text.len(), limit)
}

fn size(field: &str, bytes: usize, limit: usize) -> Result<()> {
    if bytes <= limit {
        return Ok(());
    }
    let message = format!("`{field}` has {bytes} bytes, at most {limit} are taken");
    Err(Error::new(ErrorKind::Invalid, message)
        .with_hint("shorten it; what readers search belongs into the content"))
}

pub(crate) fn number(field: &str, entries: usize, limit: usize) -> Result<()> {
    if entries <= limit {
        return Ok(());
    }
    let message = format!("`{field}` has {entries} entries, at most {limit} are taken");
    Err(Error::new(ErrorKind::Invalid, message)
        .with_hint("leave some out; what readers search belongs into the content"))
}

/// The beginning of a text that a record names, cut between characters: for reports of records that
/// were refused.
pub fn shortened(text: &str, limit: usize) -> String {
    let end = (0..=limit.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(0);
    text.split_at(end).0.to_owned()
}

/// The metadata that a document found in itself, as far as it goes along with the document, and
/// whether anything was shortened or left out. What the pipeline itself put in is always kept.
pub fn shortened_metadata(found: &BTreeMap<String, String>) -> (BTreeMap<String, String>, bool) {
    let mut left = METADATA_BYTES;
    let mut kept = BTreeMap::new();
    let mut is_shortened = false;
    for (name, value) in found {
        let short = shortened(value, METADATA_VALUE_BYTES);
        let bytes = name.len() + short.len();
        let is_ours = name == TABLES_DATABASE;
        is_shortened |= short.len() < value.len();
        if bytes > left && !is_ours {
            is_shortened = true;
            continue;
        }
        left = left.saturating_sub(bytes);
        kept.insert(name.clone(), short);
    }
    (kept, is_shortened)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the message names, and how the field is made of so many bytes or entries.
    type Case = (&'static str, usize, fn(&mut DocumentEvent, usize));

    fn text(bytes: usize) -> Option<String> {
        Some("x".repeat(bytes))
    }

    const CASES: &[Case] = &[
        ("`source` ", SOURCE_BYTES, |event, size| {
            event.source = "x".repeat(size)
        }),
        (
            "`document_id` ",
            MAXIMUM_DOCUMENT_ID_BYTES,
            |event, size| event.document_id = text(size),
        ),
        ("`source_path` ", SOURCE_PATH_BYTES, |event, size| {
            event.source_path = text(size)
        }),
        ("`title` ", TITLE_BYTES, |event, size| {
            event.title = text(size)
        }),
        ("`media_type` ", MEDIA_TYPE_BYTES, |event, size| {
            event.media_type = text(size)
        }),
        ("`content_url` ", CONTENT_URL_BYTES, |event, size| {
            event.content_url = text(size)
        }),
        ("`attributes.author` ", ATTRIBUTE_BYTES, |event, size| {
            event.attributes.author = text(size)
        }),
        ("`attributes.link` ", ATTRIBUTE_BYTES, |event, size| {
            event.attributes.link = text(size)
        }),
        ("`attributes.language` ", ATTRIBUTE_BYTES, |event, size| {
            event.attributes.language = text(size)
        }),
        (
            "`attributes.organization` ",
            ATTRIBUTE_BYTES,
            |event, size| event.attributes.organization = text(size),
        ),
        ("`attributes.custom.a` ", ATTRIBUTE_BYTES, |event, size| {
            event.attributes.custom = [("a".to_owned(), "x".repeat(size))].into();
        }),
        ("`attributes.custom` ", CUSTOM_NAME_BYTES, |event, size| {
            event.attributes.custom = [("x".repeat(size), String::new())].into();
        }),
        ("`attributes.custom` ", CUSTOM_ATTRIBUTES, |event, size| {
            event.attributes.custom = (0..size)
                .map(|number| (number.to_string(), String::new()))
                .collect();
        }),
        ("`attributes` ", ATTRIBUTES_BYTES, |event, size| {
            // names of two bytes, so that all of them together have exactly this size
            event.attributes.custom = (10..26)
                .map(|number| (number.to_string(), "x".repeat(size / 16 - 2)))
                .collect();
            event
                .attributes
                .custom
                .insert(String::new(), "x".repeat(size % 16));
        }),
        ("`knowledge_sets` ", KNOWLEDGE_SETS, |event, size| {
            event.knowledge_sets = vec!["a".into(); size]
        }),
        ("`knowledge_sets` ", KNOWLEDGE_SET_BYTES, |event, size| {
            event.knowledge_sets = vec!["x".repeat(size)]
        }),
    ];

    #[test]
    fn every_field_is_taken_up_to_its_limit_and_refused_by_name_above_it() {
        for (field, limit, fill) in CASES {
            let mut event = DocumentEvent::default();
            fill(&mut event, *limit);
            assert_eq!(check(&event), Ok(()), "{field}");
            fill(&mut event, limit + 1);
            let message = check(&event).map_or_else(|error| error.to_string(), |()| String::new());
            let names_all = [
                (*field).to_owned(),
                format!(" {} ", limit + 1),
                format!(" {limit} "),
            ];
            assert!(
                names_all.iter().all(|part| message.contains(part)),
                "{field}: {message}"
            );
        }
    }

    #[test]
    fn a_text_is_shortened_between_characters() {
        assert_eq!(shortened("表表", 5), "表");
        assert_eq!(shortened("ab", 5), "ab");
        assert_eq!(shortened("", 0), "");
    }

    #[test]
    fn metadata_goes_along_up_to_its_limit_and_the_tables_always() {
        let long = |name: String| (name, "x".repeat(METADATA_VALUE_BYTES));
        let few: BTreeMap<String, String> = [long("a".into())].into();
        assert_eq!(shortened_metadata(&few), (few.clone(), false));
        let too_long = [("a".to_owned(), "x".repeat(METADATA_VALUE_BYTES + 1))].into();
        assert_eq!(shortened_metadata(&too_long), (few, true));
        let mut many: BTreeMap<String, String> =
            (0..99).map(|number| long(format!("a{number}"))).collect();
        many.insert(TABLES_DATABASE.into(), "blob:x".into());
        let (kept, is_shortened) = shortened_metadata(&many);
        assert!(is_shortened && kept.len() < 20, "{} are kept", kept.len());
        assert_eq!(
            kept.get(TABLES_DATABASE).map(String::as_str),
            Some("blob:x")
        );
    }
}
