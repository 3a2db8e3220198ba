//! A document on its way: the event as published, what all later messages say of it, and its clean
//! form.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::charset::charset_of;
use crate::id::{self, MAXIMUM_DOCUMENT_ID_BYTES};
use crate::limits;
use crate::near_duplicate::{Duplicate, is_zero};
use crate::{Attributes, Edition, Error, ErrorKind, Result, section_level, strict};

/// One document as published: the value of `documents.raw` and the body of `POST /v1/documents`.
///
/// Exactly one of `content`, `content_base64` and `content_url` is given. A null record value
/// deletes the document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentEvent {
    /// Stable id; derived from source and source path when absent. At most 1024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAXIMUM_DOCUMENT_ID_BYTES))]
    pub document_id: Option<String>,
    /// Grows with every change; the event's time in milliseconds when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Name of the source; picks the source profile. At most 1024 bytes.
    #[schemars(length(max = limits::SOURCE_BYTES))]
    pub source: String,
    /// Path or URL within the source. At most 4096 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::SOURCE_PATH_BYTES))]
    pub source_path: Option<String>,
    /// Title; the converter finds one when absent. At most 4096 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::TITLE_BYTES))]
    pub title: Option<String>,
    /// A hint only: the format is detected from the content. At most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::MEDIA_TYPE_BYTES))]
    pub media_type: Option<String>,
    /// Body as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Body as bytes in base64 (standard alphabet, padded).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_base64: Option<String>,
    /// Body as a reference into the blob store (`blob:<hash>`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::CONTENT_URL_BYTES))]
    pub content_url: Option<String>,
    /// What the producer knows about it.
    #[serde(default, deserialize_with = "strict::object")]
    pub attributes: Attributes,
    /// Knowledge sets named by the producer, beside those that rules assign. At most 256 of them,
    /// with names of at most 256 bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::KNOWLEDGE_SETS))]
    pub knowledge_sets: Vec<String>,
}

impl DocumentEvent {
    /// `Invalid` for an event that no stage can work with, whichever way it comes: over HTTP or as
    /// a record of a producer's own.
    pub fn check(&self) -> Result<()> {
        self.check_but_content()?;
        let given = [&self.content, &self.content_base64, &self.content_url]
            .into_iter()
            .flatten()
            .count();
        if given == 1 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Invalid, format!("{given} of `content`, `content_base64` and `content_url` are given"))
            .with_hint("give exactly one: text, bytes in base64, or a reference into the blob store; a null value deletes a document"))
    }

    /// The same for an event whose content is yet to come, as with an uploaded file.
    pub fn check_but_content(&self) -> Result<()> {
        limits::check(self)?;
        if self.source.trim().is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "`source` is missing or empty")
                .with_hint("name where the document comes from, such as `wiki`; it picks the source profile"));
        }
        let path = self.source_path.as_deref().unwrap_or_default();
        for (name, value) in [("source", self.source.as_str()), ("source_path", path)] {
            if value.chars().any(char::is_control) {
                let what = format!("`{name}` holds a control character, such as a line end");
                let hint = "names are shown in lists, one a line: leave such characters out, or rename the file";
                return Err(Error::new(ErrorKind::Invalid, what).with_hint(hint));
            }
        }
        charset_of(self.media_type.as_deref().unwrap_or_default())?;
        self.document_id
            .as_deref()
            .map_or(Ok(()), id::check_document_id)
    }

    /// The id that it names, else the one that is derived from source and source path; none where
    /// there is no path either.
    pub fn stated_id(&self) -> Option<String> {
        let path = || self.source_path.as_deref().filter(|path| !path.is_empty());
        self.document_id
            .clone()
            .or_else(|| path().map(|path| id::derive_document_id(&self.source, path)))
    }

    /// The same where there must be one.
    pub fn required_id(&self) -> Result<String> {
        self.stated_id().ok_or_else(|| {
            Error::new(
                ErrorKind::Invalid,
                "neither `document_id` nor `source_path` is given",
            )
            .with_hint("give one of them: an update finds its document by it")
        })
    }
}

/// Name in the metadata under which the blob lies that a document's tables became, an SQLite
/// database.
pub const TABLES_DATABASE: &str = "tables_database";

/// What every message after ingest says of its document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentHeader {
    /// Stable id.
    pub document_id: String,
    /// Version of the document; a lower one never replaces a higher one.
    pub version: u64,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source; empty when the producer gave none.
    #[serde(default)]
    pub source_path: String,
    /// Title, never empty after ingest.
    #[serde(default)]
    pub title: String,
    /// Detected media type.
    #[serde(default)]
    pub media_type: String,
    /// What the producer and the document's own metadata say.
    #[serde(default)]
    pub attributes: Attributes,
    /// Knowledge sets that it belongs to (producer's and rules').
    #[serde(default)]
    pub knowledge_sets: Vec<String>,
    /// Tags from rules (1+X+Y).
    #[serde(default)]
    pub tags: Vec<String>,
    /// Hash over content and every setting that shapes the result: the skip gate compares it.
    #[serde(default)]
    pub fingerprint: String,
    /// MinHash signature of the text, see [`crate::near_duplicate::Signature`]; empty for a text
    /// too short to be compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// Hash of all that a reader could tell two documents apart by, access attributes included:
    /// equal for exact duplicates.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content_hash: String,
    /// The document whose chunks stand for this one's, an exact duplicate that is stored once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// Exact duplicates whose chunks this document's stand for. Filters find the chunks by theirs
    /// as by its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<Duplicate>,
    /// Of exact duplicates and of editions: the blob with chunks and vectors from which it can be
    /// written again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The blob with the bytes that were published, as long as originals are kept
    /// (`ingest.keep_originals`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// What of the document could not be read and why, such as pages that are pictures; nothing
    /// for a whole one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Metadata found in the document itself (front matter, `<meta>`), and the blob of its tables
    /// under [`TABLES_DATABASE`]; long ones are shortened, see [`limits::shortened_metadata`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Which version of which work it is, where the source's profile keeps only the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<Edition>,
    /// The newer edition of the same work for which it steps aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// The highest security level that its rules gave a section; none where there are no rules,
    /// and before it is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_section_level: Option<u8>,
    /// Priority of the source, from its profile: of near-duplicates of the same version the one of
    /// the higher priority is shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub source_priority: i32,
    /// What made this document what it is.
    #[serde(default)]
    pub lineage: Lineage,
    /// When each stage finished with it.
    #[serde(default)]
    pub timeline: Vec<StageTime>,
}

impl DocumentHeader {
    /// The security level of the document as a whole, all sections included. Before it is cut, that
    /// of the strictest rule.
    pub fn highest_level(&self) -> u8 {
        let by_rules = || section_level::highest(self.attributes.section_rules());
        let of_sections = self.highest_section_level.or_else(by_rules);
        let highest = of_sections.max(self.attributes.security_level);
        highest.unwrap_or(0)
    }
}

/// What a document was made with, kept with every chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lineage {
    /// Converter name and version, such as `markdown/1`.
    #[serde(default)]
    pub converter: String,
    /// Source profile that chose the cleaners.
    #[serde(default)]
    pub source_profile: String,
    /// Hash of the chunker's configuration.
    #[serde(default)]
    pub chunker: String,
    /// How it was cut instead, where the chunker that its profile names found nothing of its own in
    /// it, such as `sections: no api entry found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunker_fallback: Option<String>,
    /// Hash of lexicon and analyzer.
    #[serde(default)]
    pub analyzer: String,
    /// Model that made the coarse vectors.
    #[serde(default)]
    pub coarse_model: String,
    /// Model that made the fine vectors.
    #[serde(default)]
    pub fine_model: String,
    /// Hash of how chunks become the texts that are embedded (windows, folding).
    #[serde(default)]
    pub embedding: String,
    /// What was done in a lesser way than configured, such as `summary` or `embedder`.
    #[serde(default)]
    pub degraded: Vec<String>,
}

/// One step of a document's timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StageTime {
    /// Stage that finished.
    pub stage: String,
    /// When, milliseconds since 1970.
    pub at_ms: i64,
}

/// A converted and cleaned document: the value of `documents.clean`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CleanDocument {
    /// What it is.
    pub document: DocumentHeader,
    /// The text as Markdown (CommonMark with tables), UTF-8, `\n` line ends.
    pub markdown: String,
    /// Metadata found in the document itself (front matter, `<meta>`), flattened to text.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Images in order of appearance; the Markdown names them as `![alt](image:N)`, N from 0.
    #[serde(default)]
    pub images: Vec<ImageLink>,
    /// Byte offsets into `markdown` at which pages 1, 2, … begin; empty when the format has no
    /// pages.
    #[serde(default)]
    pub page_starts: Vec<u64>,
}

/// An image that a document shows. Its link is handed to answers, never searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageLink {
    /// URL or path as in the document, or the reference of the blob that a picture inside it
    /// became.
    pub link: String,
    /// Alternative text.
    #[serde(default)]
    pub alt: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    type Spoil = fn(&mut DocumentEvent);

    #[test]
    fn an_event_that_no_stage_can_work_with_is_refused_by_what_is_wrong() {
        let event = DocumentEvent {
            source: "s".into(),
            source_path: Some("p".into()),
            content: Some("c".into()),
            ..DocumentEvent::default()
        };
        assert_eq!(
            (event.check(), event.required_id()),
            (Ok(()), Ok(id::derive_document_id("s", "p")))
        );
        let table: [(&str, Spoil); 9] = [
            ("`source` is missing", |event| event.source = " ".into()),
            ("`source` has 1025 bytes", |event| {
                event.source = "x".repeat(1025)
            }),
            ("0 of `content`", |event| event.content = None),
            ("2 of `content`", |event| {
                event.content_url = Some("blob:x".into())
            }),
            ("`document_id` has 0 bytes", |event| {
                event.document_id = Some(" ".into())
            }),
            ("`document_id` has 1025 bytes", |event| {
                event.document_id = Some("x".repeat(1025))
            }),
            ("control character", |event| {
                event.document_id = Some("a\nb".into())
            }),
            ("`source` holds a control character", |event| {
                event.source = "a\nb".into()
            }),
            ("`source_path` holds a control character", |event| {
                event.source_path = Some("a\u{0}b".into())
            }),
        ];
        for (what, spoil) in table {
            let mut event = event.clone();
            spoil(&mut event);
            let error = event.check().err();
            assert!(
                error
                    .as_ref()
                    .is_some_and(|error| error.to_string().contains(what)),
                "{what}: {error:?}"
            );
        }
        let nameless = DocumentEvent {
            source_path: Some(String::new()),
            ..event
        };
        assert_eq!(
            (
                nameless.check(),
                nameless.stated_id(),
                nameless.required_id().is_err()
            ),
            (Ok(()), None, true)
        );
    }
}
