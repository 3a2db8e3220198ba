//! Documents that the question names, for tier 1: neither their words nor their vectors need be like
//! the question's. `api/mindspore.nn.Conv2d.rst` has words of its own, and a page of that name need
//! not contain them.

use std::collections::{BTreeSet, HashSet};

use tributary_schemas::names::terms_of_name;
use tributary_schemas::search::{QueryPlan, ScoredChunk};
use tributary_schemas::{ChunkId, DocumentHeader, ErrorKind, Filter, Result};
use tributary_store::search_index::{
    IndexedDocument, KeywordQuery, SearchIndex, VectorField, VectorQuery,
};

use crate::embed::QueryVectors;
use crate::exact_name::{self, Naming};
use crate::leaving;

/// Documents that are looked at: a name of more, such as `README`, names none of them.
const LOOKED_AT: usize = 64;
/// Documents that a question may name; more are no answer to it.
const MAXIMUM_DOCUMENTS: usize = 8;
/// Chunks per named document that tier 2 looks at.
const CHUNKS_PER_DOCUMENT: usize = 4;

/// Ids of the documents that the question names most exactly and that the plan's filter allows;
/// `question` is it as written.
pub async fn documents(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    naming: Naming<'_>,
    question: &str,
) -> Result<Vec<String>> {
    let terms = terms(plan, question);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let generation = plan.generation.as_deref();
    let limit = LOOKED_AT + 1;
    let found = match index.documents_with(generation, &terms, limit).await {
        // Nothing was indexed yet.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    if found.len() > LOOKED_AT {
        return Ok(Vec::new());
    }
    Ok(most_exact(&found, plan, naming))
}

/// Each name as it was written too: documents keep the characters of their titles, the plan's names
/// are simplified.
fn terms(plan: &QueryPlan, question: &str) -> Vec<String> {
    let written = exact_name::written_in(question);
    let names = written
        .iter()
        .copied()
        .chain(plan.names.iter().map(String::as_str));
    let mut seen = HashSet::new();
    let terms = names.flat_map(terms_of_name);
    terms.filter(|term| seen.insert(term.clone())).collect()
}

/// An exact duplicate is found by the document that its chunks are stored with.
fn most_exact(found: &[IndexedDocument], plan: &QueryPlan, naming: Naming<'_>) -> Vec<String> {
    let documents = found.iter().map(|found| &found.document);
    let mut named: Vec<(f32, &DocumentHeader)> = documents
        .filter(|document| plan.filter.allows(document))
        .map(|document| (naming.of_document(document), document))
        .filter(|(strength, _)| *strength > 0.0)
        .collect();
    named.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    named.truncate(MAXIMUM_DOCUMENTS);
    let stored = |document: &DocumentHeader| {
        let canonical = document.duplicate_of.as_ref();
        canonical.unwrap_or(&document.document_id).clone()
    };
    let stored: BTreeSet<String> = named.iter().map(|(_, document)| stored(document)).collect();
    stored.into_iter().collect()
}

/// The chunks of these documents that go best with the question, under the plan's filter. Without
/// vectors those that begin them too: no word of the question need be in them.
pub async fn chunks(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    vectors: Option<&QueryVectors>,
    documents: &[String],
) -> Result<Vec<ChunkId>> {
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let filter = Filter {
        document_ids: Some(documents.to_vec()),
        ..plan.filter.clone()
    };
    let limit = documents.len() * CHUNKS_PER_DOCUMENT;
    let Some(vectors) = vectors else {
        let mut chunks = ids(index.keyword(keyword(plan, &filter, limit)).await?);
        chunks.extend(beginnings(index, plan, documents).await?);
        return Ok(chunks);
    };
    let query = VectorQuery {
        generation: plan.generation.as_deref(),
        vector: &vectors.coarse,
        field: VectorField::Coarse,
        filter: &filter,
        candidates: None,
        limit,
    };
    Ok(ids(index.vector(query).await?))
}

fn keyword<'a>(plan: &'a QueryPlan, filter: &'a Filter, limit: usize) -> KeywordQuery<'a> {
    KeywordQuery {
        generation: plan.generation.as_deref(),
        tokens: &plan.tokens,
        filter,
        candidates: None,
        limit,
    }
}

fn ids(found: Vec<ScoredChunk>) -> Vec<ChunkId> {
    found.into_iter().map(|chunk| chunk.chunk_id).collect()
}

async fn beginnings(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    documents: &[String],
) -> Result<Vec<ChunkId>> {
    let generation = plan.generation.as_deref();
    let stored = index.documents(generation, documents).await?;
    let first =
        |document: IndexedDocument| document.chunk_ids.into_iter().take(CHUNKS_PER_DOCUMENT);
    let first: Vec<ChunkId> = stored.into_iter().flatten().flat_map(first).collect();
    let allowed = leaving::fetch(index, generation, &first, &plan.filter).await?;
    let allowed = allowed.into_iter().flatten();
    Ok(allowed.map(|stored| stored.chunk.chunk_id).collect())
}
