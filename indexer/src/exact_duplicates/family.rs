//! Members of one content hash: which of them has the chunks, and what is not yet so.

use std::collections::{BTreeMap, HashMap};

use tributary_schemas::{
    Attributes, Chunk, ChunkId, DocumentHeader, EmbeddedDocument, Error, ErrorKind, Result,
};
use tributary_store::search_index::IndexedDocument;

/// Members of a family, at most; documents beyond it, last in canonical order, are stored on their
/// own.
pub const MAXIMUM_MEMBERS: usize = 256;

/// All members of one content hash, in canonical order.
pub(super) type Family = Vec<IndexedDocument>;

/// What is wrong with a family.
#[derive(Default)]
pub(super) struct Disorder {
    /// The canonical member and those beyond the limit: to be written with their chunks.
    pub(super) whole: Vec<DocumentHeader>,
    /// Duplicates: to be written without.
    pub(super) empty: Vec<DocumentHeader>,
}

/// The live ones of these documents by family.
pub(super) fn in_families(found: Vec<IndexedDocument>) -> Result<Vec<Family>> {
    // A document that was read twice counts as it was read last: it is in one family.
    let members: BTreeMap<String, IndexedDocument> = found
        .into_iter()
        .map(|member| (member.document.document_id.clone(), member))
        .collect();
    let mut families: BTreeMap<(String, String), BTreeMap<String, IndexedDocument>> =
        BTreeMap::new();
    for (document_id, member) in members.into_iter().filter(|(_, member)| !member.deleted) {
        let family = families
            .entry((
                member.document.content_hash.clone(),
                filtered_by(&member.document)?,
            ))
            .or_default();
        family.insert(document_id, member);
    }
    Ok(families.into_values().map(in_order).collect())
}

/// What filters ask of a document itself. The hash covers it as it was at ingest; source profiles
/// may have changed it for this generation, and a document never stands for one that others may
/// see.
fn filtered_by(document: &DocumentHeader) -> Result<String> {
    let attributes = Attributes {
        link: None,
        created_at: None,
        updated_at: None,
        ..document.attributes.clone()
    };
    serde_json::to_string(&attributes).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("attributes cannot be written: {error}"),
        )
    })
}

fn in_order(family: BTreeMap<String, IndexedDocument>) -> Family {
    let mut family: Family = family.into_values().collect();
    family.sort_by(|left, right| left.document.canonical_order(&right.document));
    family
}

/// The members that are not as they should be, as they should be. One member alone has its chunks
/// and stands for none; of several the first has the chunks and stands for the others.
pub(super) fn disorder(family: &Family) -> Disorder {
    let mut disorder = Disorder::default();
    let (together, alone) = family
        .split_at_checked(MAXIMUM_MEMBERS)
        .unwrap_or((family.as_slice(), &[]));
    let Some((canonical, duplicates)) = together.split_first() else {
        return disorder;
    };
    let remembered = duplicates
        .iter()
        .map(|duplicate| duplicate.document.as_duplicate())
        .collect();
    let standing = std::iter::once((canonical, remembered))
        .chain(alone.iter().map(|member| (member, Vec::new())));
    for (member, remembered) in standing {
        let found = &member.document;
        if found.duplicate_of.is_some() || found.duplicates != remembered {
            disorder.whole.push(DocumentHeader {
                duplicate_of: None,
                duplicates: remembered,
                ..found.clone()
            });
        }
    }
    for member in duplicates {
        let found = &member.document;
        let duplicate_of = Some(canonical.document.document_id.clone());
        if found.duplicate_of != duplicate_of
            || !member.chunk_ids.is_empty()
            || !found.duplicates.is_empty()
            || found.body.is_none()
        {
            disorder.empty.push(DocumentHeader {
                duplicate_of,
                duplicates: Vec::new(),
                ..found.clone()
            });
        }
    }
    disorder
}

/// The chunks of a record as those of another document of the same content: the same, with the ids
/// that they would have had there.
pub(super) fn chunks_of(body: &EmbeddedDocument, document_id: &str) -> Result<Vec<Chunk>> {
    if body.document.document_id == document_id {
        return Ok(body.chunks.clone());
    }
    let mut occurrences: HashMap<ChunkId, u32> = HashMap::new();
    let mut renamed = HashMap::new();
    for chunk in &body.chunks {
        let derive = |occurrence| {
            ChunkId::derive(
                document_id,
                chunk.kind.as_str(),
                &chunk.section_path,
                &chunk.text,
                occurrence,
            )
        };
        let occurrence = occurrences.entry(derive(0)).or_default();
        renamed.insert(chunk.chunk_id, derive(*occurrence));
        *occurrence += 1;
    }
    let rename = |chunk_id: &ChunkId| {
        let unknown = || {
            Error::new(
                ErrorKind::Corrupt,
                format!(
                    "a kept record of {} names a chunk that it lacks",
                    body.document.document_id
                ),
            )
        };
        renamed.get(chunk_id).copied().ok_or_else(unknown)
    };
    let copy = |chunk: &Chunk| {
        Ok(Chunk {
            chunk_id: rename(&chunk.chunk_id)?,
            parent_id: chunk.parent_id.as_ref().map(rename).transpose()?,
            child_ids: chunk.child_ids.iter().map(rename).collect::<Result<_>>()?,
            ..chunk.clone()
        })
    };
    body.chunks.iter().map(copy).collect()
}
