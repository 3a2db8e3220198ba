//! What became of a document: the value of `documents.states`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ChunkId, DocumentHeader, DocumentRights, Lineage, StageTime};

/// Where a document version is. The first four are on the way; the others are final.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Durable in `documents.raw`, waiting for or in conversion.
    Accepted,
    /// Converted; waiting for or in chunking.
    Chunking,
    /// Cut; waiting for or in embedding.
    Embedding,
    /// Embedded; waiting for or in indexing.
    Indexing,
    /// Searchable.
    Indexed,
    /// Deliberately not indexed; the reason says why. An earlier version may stay searchable.
    Skipped,
    /// Gone from the index.
    Deleted,
    /// Given up; the reason says why, the record is in the dead letters.
    #[serde(alias = "failed")]
    Dead,
}

impl State {
    /// All states, along the route.
    pub const ALL: [Self; 8] = [
        Self::Accepted,
        Self::Chunking,
        Self::Embedding,
        Self::Indexing,
        Self::Indexed,
        Self::Skipped,
        Self::Deleted,
        Self::Dead,
    ];

    /// The name used in JSON and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Chunking => "chunking",
            Self::Embedding => "embedding",
            Self::Indexing => "indexing",
            Self::Indexed => "indexed",
            Self::Skipped => "skipped",
            Self::Deleted => "deleted",
            Self::Dead => "dead",
        }
    }

    /// Whether nothing more will happen to this version by itself.
    pub fn is_final(self) -> bool {
        self >= Self::Indexed
    }
}

/// One report of a stage about a document version.
///
/// A stage appends it before the output that moves the document on, so reports of one version are
/// in the order of the route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentState {
    /// Stable id.
    pub document_id: String,
    /// Version that the report is about.
    pub version: u64,
    /// Where it is now.
    pub state: State,
    /// Why it was skipped, deleted or given up; of an indexed one, what is missing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Name of the source; empty when not known (a record that could not be read).
    #[serde(default)]
    pub source: String,
    /// Path or URL within the source.
    #[serde(default)]
    pub source_path: String,
    /// Title.
    #[serde(default)]
    pub title: String,
    /// Chunks in the index for this version.
    #[serde(default)]
    pub chunks: u32,
    /// See [`crate::DocumentHeader::fingerprint`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// What it was made with, once indexed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<Lineage>,
    /// When each stage finished with it.
    #[serde(default)]
    pub timeline: Vec<StageTime>,
    /// When this was reported, milliseconds since 1970; what is made again without a change, as by a
    /// reindex, has the time of the first report.
    pub at_ms: i64,
    /// With a skip of an unchanged document, and with what was given up where it is known: the
    /// version that stays indexed. The chunk count and the fingerprint are then those of that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_version: Option<u64>,
    /// With such a report, and with one of a version that was indexed before and is again: since
    /// when it is, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_at_ms: Option<i64>,
    /// Of what is indexed: its tags and knowledge sets. Absent in reports of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    /// Who may see it; nothing before ingest has decided it and in reports of before, which only
    /// administrators and its publishers are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<DocumentRights>,
    /// Who may see it as far as its publication says, before ingest has decided it. They withhold at
    /// once what the index has of an earlier version, and show nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_rights: Option<DocumentRights>,
    /// With what was given up: who may see the version that stays indexed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_rights: Option<DocumentRights>,
    /// With what was given up before it was decided who may see it: the last report of which that
    /// was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<DocumentState>>,
}

impl DocumentState {
    /// The narrowest that is known of who may see it: as decided, else as published.
    pub fn newest_rights(&self) -> Option<&DocumentRights> {
        self.rights.as_ref().or(self.published_rights.as_ref())
    }

    /// How the reason of a document begins whose content another one has; the id of that one follows.
    pub const STORED_ONCE: &str = "stored once: same content as ";
}

/// That a change of a document that was known before, or its deletion, left ingest and is on its way
/// to the index.
///
/// It lies in `documents.states` beside the reports, under a key of its own for each document: the
/// report that says the same goes with the compaction once another one is behind it, as that of the
/// next acceptance, and content that is about to be taken away would count as unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassedIngest {
    /// Stable id.
    pub document_id: String,
    /// The newest version that left.
    pub version: u64,
}

/// Tags and knowledge sets of a document, as one generation of the index has them: rules that
/// changed give other ones in the next generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Labels {
    /// Generation of the index; empty where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub generation: String,
    /// Tags from rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Knowledge sets that it belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge_sets: Vec<String>,
}

impl Labels {
    /// Those of a document in a generation of the index.
    pub fn of(document: &DocumentHeader, generation: &str) -> Self {
        Self {
            generation: generation.to_owned(),
            tags: document.tags.clone(),
            knowledge_sets: document.knowledge_sets.clone(),
        }
    }
}

/// What was accepted compared with what the index holds; what `tributary documents reconcile
/// --format json` prints.
///
/// The first six fields count documents by the state of their newest version, which is what the last
/// attempt did; every accepted one is in exactly one of the other five.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reconciliation {
    /// Documents ever accepted.
    pub accepted: u64,
    /// Indexed by the last attempt.
    pub indexed: u64,
    /// Deliberately not indexed by the last attempt; an unchanged document stays searchable.
    pub skipped: u64,
    /// Deleted.
    pub deleted: u64,
    /// Given up, with the reason in the dead letters.
    pub dead: u64,
    /// On the way.
    pub in_flight: u64,
    /// Documents of which a version can be found, whatever became of the newest one. Absent in
    /// answers of before.
    #[serde(default)]
    pub searchable: u64,
    /// Log records that stages have yet to take or to finish.
    #[serde(default)]
    pub waiting_records: u64,
    /// Ids of documents that should be searchable and are not, or whose state is unknown.
    pub missing: Vec<String>,
    /// Ids of chunks that can be found and belong to no searchable document.
    pub orphan_chunks: Vec<ChunkId>,
    /// Ids of chunks that can be found more than once.
    pub duplicate_chunks: Vec<ChunkId>,
    /// Nothing is on the way, missing, orphaned or duplicated.
    pub ok: bool,
}
