//! The topics of the log: their names, and which of them keep only the newest record of a key.

/// A topic by its role. Its name in the log is `<prefix>.<name>`, see [`Topic::full_name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Document events as published.
    DocumentsRaw,
    /// Converted and cleaned documents; compacted, the source of a reindex.
    DocumentsClean,
    /// All chunks of one document version, tagged and analysed.
    ChunksTagged,
    /// The same with vectors.
    ChunksEmbedded,
    /// What became of each document; compacted.
    DocumentsStates,
    /// Definitions of knowledge sets; compacted.
    KnowledgeSets,
    /// Requests to build a new index generation.
    ReindexRequests,
    /// Records that can never succeed, with the reason; compacted, so that one that was replayed or
    /// dropped goes.
    DeadLetters,
    /// The dead letters of before they were compacted; read once and moved.
    OldDeadLetters,
    /// Who called the server and what became of it; there only where the server records it.
    Audit,
}

impl Topic {
    /// All topics that are always there, along the route of a document.
    pub const ALL: [Self; 8] = [
        Self::DocumentsRaw,
        Self::DocumentsClean,
        Self::ChunksTagged,
        Self::ChunksEmbedded,
        Self::DocumentsStates,
        Self::KnowledgeSets,
        Self::ReindexRequests,
        Self::DeadLetters,
    ];

    /// The name without the prefix.
    pub fn name(self) -> &'static str {
        match self {
            Self::DocumentsRaw => "documents.raw.v1",
            Self::DocumentsClean => "documents.clean.v1",
            Self::ChunksTagged => "chunks.tagged.v1",
            Self::ChunksEmbedded => "chunks.embedded.v1",
            Self::DocumentsStates => "documents.states.v1",
            Self::KnowledgeSets => "knowledge-sets.v1",
            Self::ReindexRequests => "reindex.requests.v1",
            Self::DeadLetters => "dead-letters.v2",
            Self::OldDeadLetters => "dead-letters.v1",
            Self::Audit => "audit.v1",
        }
    }

    /// Whether only the newest record of each key must be kept.
    pub fn is_compacted(self) -> bool {
        matches!(
            self,
            Self::DocumentsClean | Self::DocumentsStates | Self::KnowledgeSets | Self::DeadLetters
        )
    }

    /// The name in the log: `<prefix>.<name>`.
    pub fn full_name(self, prefix: &str) -> String {
        format!("{prefix}.{}", self.name())
    }
}
