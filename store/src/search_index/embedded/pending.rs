//! A write that waits for the next flush, checked when it comes.

use std::collections::HashSet;

use tributary_schemas::id::MAXIMUM_DOCUMENT_ID_BYTES;
use tributary_schemas::{
    Chunk, ChunkId, ChunkVectors, DocumentHeader, Error, ErrorKind, Result, WindowVectors,
};

use crate::search_index::{IndexSettings, Operation};

/// Bytes that tokens take while they wait, beside the text itself; a rough figure that only bounds
/// memory.
const CHUNK_OVERHEAD_BYTES: usize = 512;

/// The newest write of one document.
pub struct Pending {
    /// Its version.
    pub version: u64,
    /// What it does.
    pub content: Content,
    /// Memory that it takes, roughly.
    pub bytes: usize,
}

/// What a write does.
pub enum Content {
    /// These chunks with these vectors.
    Replace {
        /// The document.
        document: Box<DocumentHeader>,
        /// Its chunks, without tokens.
        chunks: Vec<Chunk>,
        /// Ready tokens of the chunks.
        analyzed: Vec<String>,
        /// Their vectors, never empty when there are chunks.
        vectors: Vec<ChunkVectors>,
    },
    /// No chunks, and a memory of it.
    Delete,
}

impl Pending {
    /// Checks an operation; `stored_vectors` finds the vectors of a `Replace` that brings none.
    pub fn new(
        operation: Operation,
        settings: &IndexSettings,
        stored_vectors: impl FnOnce(&[ChunkId]) -> Result<Vec<ChunkVectors>>,
    ) -> Result<Self> {
        match operation {
            Operation::Delete {
                document_id,
                version,
            } => {
                check_id(&document_id)?;
                Ok(Self {
                    version,
                    content: Content::Delete,
                    bytes: document_id.len() + CHUNK_OVERHEAD_BYTES,
                })
            }
            Operation::Replace {
                document,
                mut chunks,
                vectors,
            } => {
                check_id(&document.document_id)?;
                let ids: Vec<ChunkId> = chunks.iter().map(|chunk| chunk.chunk_id).collect();
                check_unique(&document.document_id, &ids)?;
                let mut vectors = if vectors.is_empty() && !ids.is_empty() {
                    stored_vectors(&ids)?
                } else {
                    vectors
                };
                check_vectors(&document.document_id, &ids, &vectors, settings)?;
                if !settings.windows {
                    drop_windows(&mut vectors);
                }
                let bytes = chunks.iter().map(chunk_bytes).sum::<usize>()
                    + vectors.iter().map(vector_bytes).sum::<usize>();
                let analyzed = chunks
                    .iter_mut()
                    .map(|chunk| std::mem::take(&mut chunk.analyzed))
                    .collect();
                let version = document.version;
                let content = Content::Replace {
                    document,
                    chunks,
                    analyzed,
                    vectors,
                };
                Ok(Self {
                    version,
                    content,
                    bytes: bytes + CHUNK_OVERHEAD_BYTES,
                })
            }
        }
    }

    /// Vectors of a chunk that waits.
    pub fn vectors_of(&self, chunk_id: ChunkId) -> Option<&ChunkVectors> {
        let Content::Replace {
            chunks, vectors, ..
        } = &self.content
        else {
            return None;
        };
        chunks
            .iter()
            .position(|chunk| chunk.chunk_id == chunk_id)
            .and_then(|place| vectors.get(place))
    }
}

fn invalid(document_id: &str, what: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!("document {document_id}: {what}"),
    )
}

fn check_id(document_id: &str) -> Result<()> {
    if document_id.is_empty() || document_id.len() > MAXIMUM_DOCUMENT_ID_BYTES {
        let message = format!(
            "a document id of {} bytes, 1 to {MAXIMUM_DOCUMENT_ID_BYTES} are allowed",
            document_id.len()
        );
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    Ok(())
}

fn check_unique(document_id: &str, ids: &[ChunkId]) -> Result<()> {
    let mut seen = HashSet::with_capacity(ids.len());
    match ids.iter().find(|id| !seen.insert(**id)) {
        Some(twice) => Err(invalid(
            document_id,
            format_args!("chunk {twice} is given twice"),
        )),
        None => Ok(()),
    }
}

fn check_vectors(
    document_id: &str,
    ids: &[ChunkId],
    vectors: &[ChunkVectors],
    settings: &IndexSettings,
) -> Result<()> {
    if vectors.len() != ids.len() {
        return Err(invalid(
            document_id,
            format_args!("{} vectors for {} chunks", vectors.len(), ids.len()),
        ));
    }
    let fine_dimensions = if settings.shared_vectors {
        0
    } else {
        settings.fine_dimensions
    };
    for (id, vectors) in ids.iter().zip(vectors) {
        let fields = [
            ("coarse", &vectors.coarse, settings.coarse_dimensions),
            ("fine", &vectors.fine, fine_dimensions),
        ];
        for (name, vector, dimensions) in fields {
            if vector.len() != dimensions {
                let what = format!(
                    "chunk {id} has a {name} vector of {} dimensions, the index {dimensions}",
                    vector.len()
                );
                return Err(invalid(document_id, what));
            }
            if vector.iter().any(|value| !value.is_finite()) {
                return Err(invalid(
                    document_id,
                    format_args!(
                        "chunk {id} has a {name} vector with a value that is not a number"
                    ),
                ));
            }
        }
        let dimensions = settings.window_dimensions();
        if !vectors.windows.has_dimensions(dimensions) {
            let what = format!(
                "chunk {id} has windows of {} bytes, no multiple of {dimensions} dimensions",
                vectors.windows.as_bytes().len()
            );
            return Err(invalid(document_id, what));
        }
    }
    Ok(())
}

/// What a generation that keeps no windows leaves out.
fn drop_windows(vectors: &mut [ChunkVectors]) {
    for vectors in vectors {
        vectors.windows = WindowVectors::default();
    }
}

fn chunk_bytes(chunk: &Chunk) -> usize {
    chunk.text.len() + chunk.analyzed.len() + CHUNK_OVERHEAD_BYTES
}

fn vector_bytes(vectors: &ChunkVectors) -> usize {
    (vectors.coarse.len() + vectors.fine.len()) * 4 + vectors.windows.as_bytes().len()
}
