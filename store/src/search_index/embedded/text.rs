//! The tantivy side: fields, tokenizer, documents, and errors in our words.
//!
//! Layout of a stored chunk: one byte 1, the CRC-32 of what follows (little-endian u32), JSON of
//! chunk and document header. Chunks of before are the JSON alone, which begins with `{`: they are
//! read as they are. tantivy's own files end with a checksum of the whole file, which nobody reads
//! but [`damaged_files`].

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::index::SegmentComponent;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, NumericOptions, STORED, Schema, TantivyDocument,
    TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{Directory, Index, IndexSettings, TantivyError, Term};
use tributary_schemas::{Chunk, ChunkId, DocumentHeader, Error, ErrorKind, Result, filter};

use super::text_folder::{TextFolder, mend_list};

/// Name of the tokenizer, also in the stored schema.
const TOKENIZER: &str = "spaces";

/// First byte of a stored chunk with a checksum.
const CHECKED: u8 = 1;

/// Fast field names, as the readers want them.
pub const ID_HIGH: &str = "id_high";
/// Low half of the chunk id.
pub const ID_LOW: &str = "id_low";
/// Number of the vector row.
pub const ROW: &str = "row";
/// Time of the last update; absent when not known.
pub const UPDATED_AT: &str = "updated_at_ms";
/// Security level; absent when not known.
pub const SECURITY_LEVEL: &str = "security_level";

/// The fields of the text index.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// Ready tokens.
    pub text: Field,
    /// Filter terms.
    pub terms: Field,
    /// Document id; deletes and lists go by it.
    pub document: Field,
    stored: Field,
    id_high: Field,
    id_low: Field,
    row: Field,
    updated_at: Field,
    security_level: Field,
}

/// What is stored of a chunk.
#[derive(Deserialize)]
pub struct Stored {
    /// The chunk, without tokens.
    pub chunk: Chunk,
    /// Its document.
    pub document: DocumentHeader,
}

/// What is stored, without copies.
#[derive(Serialize)]
struct StoredRef<'a> {
    chunk: &'a Chunk,
    document: &'a DocumentHeader,
}

/// Creates an empty text index in an existing folder.
pub fn create(folder: &Path) -> Result<()> {
    let settings = IndexSettings {
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    let created =
        directory(folder).and_then(|directory| Index::create(directory, schema().0, settings));
    created.map(drop).map_err(|error| {
        failure(
            format_args!("cannot create a text index in {}", folder.display()),
            &error,
        )
    })
}

/// Opens a text index.
pub fn open(folder: &Path) -> Result<(Index, Fields)> {
    let (expected, fields) = schema();
    mend_list(folder)
        .map_err(|error| Error::io(format_args!("cannot read {}", folder.display()), &error))?;
    let opened = directory(folder).and_then(Index::open);
    let index = opened
        .map_err(|error| failure(format_args!("cannot open {}", folder.display()), &error))?;
    if index.schema() != expected {
        let message = format!(
            "the text index in {} was written by another version",
            folder.display()
        );
        return Err(
            Error::new(ErrorKind::Conflict, message).with_hint("reindex into a new generation")
        );
    }
    index.tokenizers().register(TOKENIZER, Spaces::default());
    Ok((index, fields))
}

fn directory(folder: &Path) -> tantivy::Result<Box<dyn Directory>> {
    Ok(Box::new(TextFolder::new(MmapDirectory::open(folder)?)))
}

/// Files of the last commit whose checksum differs: only those that are read whole when the index
/// is opened, or all of them.
pub fn damaged_files(index: &Index, which: Which) -> tantivy::Result<Vec<PathBuf>> {
    let mut damaged = Vec::new();
    for segment in &index.load_metas()?.segments {
        let later: &[SegmentComponent] = if which == Which::All {
            &READ_LATER
        } else {
            &[]
        };
        for component in READ_AT_OPENING.iter().chain(later) {
            let path = segment.relative_path(component.clone());
            if index.directory().exists(&path)? && !is_whole(index, &path) {
                damaged.push(path);
            }
        }
    }
    damaged.sort();
    Ok(damaged)
}

/// A footer that cannot be read is damage as well.
fn is_whole(index: &Index, path: &Path) -> bool {
    index.directory().validate_checksum(path).unwrap_or(false)
}

/// Which files [`damaged_files`] looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Chunk ids, rows, lengths and deletions.
    ReadAtOpening,
    /// Every file.
    All,
}

/// tantivy's files that are read whole when a generation is opened.
const READ_AT_OPENING: [SegmentComponent; 3] = [
    SegmentComponent::FastFields,
    SegmentComponent::FieldNorms,
    SegmentComponent::Delete,
];
/// The others.
const READ_LATER: [SegmentComponent; 4] = [
    SegmentComponent::Postings,
    SegmentComponent::Positions,
    SegmentComponent::Terms,
    SegmentComponent::Store,
];

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let ready = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqs);
    let fast = || NumericOptions::from(FAST);
    let fields = Fields {
        text: builder.add_text_field("text", TextOptions::default().set_indexing_options(ready)),
        terms: builder.add_text_field("terms", raw()),
        document: builder.add_text_field("document", raw()),
        stored: builder.add_bytes_field("stored", STORED),
        id_high: builder.add_u64_field(ID_HIGH, fast()),
        id_low: builder.add_u64_field(ID_LOW, fast()),
        row: builder.add_u64_field(ROW, fast()),
        updated_at: builder.add_i64_field(UPDATED_AT, fast()),
        security_level: builder.add_u64_field(SECURITY_LEVEL, fast()),
    };
    (builder.build(), fields)
}

/// Text that is found by its whole value.
fn raw() -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(false);
    TextOptions::default().set_indexing_options(indexing)
}

impl Fields {
    /// The term that all chunks of a document carry.
    pub fn document_term(&self, document_id: &str) -> Term {
        Term::from_field_text(self.document, document_id)
    }

    /// One chunk (without tokens) as tantivy takes it. `terms` are the filter terms of its
    /// document.
    pub fn document(
        &self,
        document: &DocumentHeader,
        terms: &[String],
        chunk: &Chunk,
        analyzed: &str,
        row: u64,
    ) -> Result<TantivyDocument> {
        let stored = serde_json::to_vec(&StoredRef { chunk, document }).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("chunk {} cannot be written: {error}", chunk.chunk_id),
            )
        })?;
        let mut record = TantivyDocument::default();
        record.add_text(self.text, analyzed);
        terms
            .iter()
            .for_each(|term| record.add_text(self.terms, term));
        record.add_text(self.document, &document.document_id);
        record.add_bytes(self.stored, &checked(&stored));
        record.add_u64(self.id_high, (chunk.chunk_id.0 >> 64) as u64);
        record.add_u64(self.id_low, chunk.chunk_id.0 as u64);
        record.add_u64(self.row, row);
        if let Some(updated_at) = document.attributes.updated_at {
            record.add_i64(self.updated_at, updated_at);
        }
        if let Some(level) = chunk.level_in(document) {
            record.add_u64(self.security_level, u64::from(level));
        }
        Ok(record)
    }

    /// Reads what was stored of a chunk.
    pub fn stored(&self, record: &TantivyDocument, chunk_id: ChunkId) -> Result<Stored> {
        use tantivy::schema::Value;
        let damaged = |what: &dyn std::fmt::Display| {
            Error::new(
                ErrorKind::Corrupt,
                format!("stored chunk {chunk_id} is damaged: {what}"),
            )
        };
        let bytes = record
            .get_first(self.stored)
            .and_then(|value| value.as_bytes())
            .ok_or_else(|| damaged(&"no content"))?;
        let json = unchecked(bytes).ok_or_else(|| damaged(&"its checksum differs"))?;
        let stored: Stored = serde_json::from_slice(json).map_err(|error| damaged(&error))?;
        if stored.chunk.chunk_id == chunk_id {
            Ok(stored)
        } else {
            Err(damaged(&format_args!(
                "it is chunk {}",
                stored.chunk.chunk_id
            )))
        }
    }
}

/// What is stored for some JSON.
fn checked(json: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(json.len() + 5);
    bytes.push(CHECKED);
    bytes.extend(crc32fast::hash(json).to_le_bytes());
    bytes.extend(json);
    bytes
}

/// The JSON of what is stored, if it is sound.
fn unchecked(bytes: &[u8]) -> Option<&[u8]> {
    if bytes.first() != Some(&CHECKED) {
        return bytes.starts_with(b"{").then_some(bytes);
    }
    let (sum, json) = bytes.get(1..)?.split_at_checked(4)?;
    (crc32fast::hash(json).to_le_bytes() == sum).then_some(json)
}

/// All terms by which a filter finds the chunks of a document.
pub fn filter_terms(document: &DocumentHeader) -> Vec<String> {
    let mut terms = filter::indexed_terms(document);
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Cuts at single spaces: the tokens are ready.
#[derive(Clone, Default)]
struct Spaces {
    token: Token,
}

struct SpacesStream<'a> {
    parts: std::str::Split<'a, char>,
    token: &'a mut Token,
}

impl Tokenizer for Spaces {
    type TokenStream<'a> = SpacesStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> SpacesStream<'a> {
        self.token.reset();
        SpacesStream {
            parts: text.split(' '),
            token: &mut self.token,
        }
    }
}

impl TokenStream for SpacesStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(part) = self.parts.find(|part| !part.is_empty()) else {
            return false;
        };
        self.token.position = self.token.position.wrapping_add(1);
        self.token.text.clear();
        self.token.text.push_str(part);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// A failure of tantivy, with the kind that decides what happens next.
pub fn failure(what: impl std::fmt::Display, error: &TantivyError) -> Error {
    let kind = match error {
        // Not said by the system, but by a decoder.
        TantivyError::IoError(error)
            if error.raw_os_error().is_none() && error.kind() == std::io::ErrorKind::Other =>
        {
            ErrorKind::Corrupt
        }
        TantivyError::IoError(error) => return Error::io(what, error),
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. })
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. }) => {
            return Error::io(what, io_error);
        }
        TantivyError::OpenReadError(_)
        | TantivyError::OpenDirectoryError(_)
        | TantivyError::DataCorruption(_)
        | TantivyError::IncompatibleIndex(_) => ErrorKind::Corrupt,
        TantivyError::LockFailure(..) => ErrorKind::Conflict,
        _ => ErrorKind::Internal,
    };
    let failed = Error::new(kind, format!("{what}: {error}"));
    // Files that do not read or are locked: no document is to blame.
    if matches!(kind, ErrorKind::Corrupt | ErrorKind::Conflict) {
        failed.of_environment()
    } else {
        failed
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tokens_are_cut_at_spaces_only() {
        let mut tokenizer = Spaces::default();
        let mut stream = tokenizer.token_stream("载波  聚合\u{3000}x mindspore.nn.Conv2d ");
        let mut tokens = Vec::new();
        while stream.advance() {
            tokens.push(stream.token().text.clone());
        }
        assert_eq!(tokens, ["载波", "聚合\u{3000}x", "mindspore.nn.Conv2d"]);
    }

    #[test]
    fn a_flipped_bit_of_a_stored_chunk_is_seen() {
        let json = br#"{"text":"wort267"}"#;
        let stored = checked(json);
        assert_eq!(unchecked(&stored), Some(&json[..]));
        assert_eq!(
            unchecked(json),
            Some(&json[..]),
            "chunks of before have no checksum"
        );
        for bit in 0..stored.len() * 8 {
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unchecked(&damaged), None, "bit {bit}");
        }
    }
}
