//! Documents that the question names, for tier 1: neither their words nor their vectors need be like
//! the question's. `api/mindspore.nn.Conv2d.rst` has words of its own, and a page of that name need
//! not contain them.

use std::collections::HashSet;

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
/// Terms that are looked up for one question.
const MAXIMUM_TERMS: usize = 24;
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
    let looks = terms(plan, question)
        .into_iter()
        .map(|term| carrying(index, plan, term));
    let found = futures::future::try_join_all(looks).await?;
    Ok(most_exact(found.into_iter().flatten(), plan, naming))
}

/// Documents with a term; none where so many have it that it names none of them, whoever may see
/// them.
async fn carrying(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    term: String,
) -> Result<Vec<IndexedDocument>> {
    let generation = plan.generation.as_deref();
    match index
        .few_documents_with(generation, &[term], LOOKED_AT)
        .await
    {
        // Nothing was indexed yet.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        found => found,
    }
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
    let terms = terms.filter(|term| seen.insert(term.clone()));
    terms.take(MAXIMUM_TERMS).collect()
}

/// An exact duplicate is found by the document that its chunks are stored with.
fn most_exact(
    found: impl Iterator<Item = IndexedDocument>,
    plan: &QueryPlan,
    naming: Naming<'_>,
) -> Vec<String> {
    let documents = found.map(|found| found.document);
    let mut named: Vec<(f32, String)> = documents
        .filter(|document| plan.filter.allows(document))
        .map(|document| (naming.of_document(&document), stored(document)))
        .filter(|(strength, _)| *strength > 0.0)
        .collect();
    named.sort_by(|(left, one), (right, other)| right.total_cmp(left).then(one.cmp(other)));
    let mut seen = HashSet::new();
    let stored = named.into_iter().map(|(_, stored)| stored);
    let stored = stored.filter(|stored| seen.insert(stored.clone()));
    stored.take(MAXIMUM_DOCUMENTS).collect()
}

/// Id of the document that has its chunks.
fn stored(document: DocumentHeader) -> String {
    document.duplicate_of.unwrap_or(document.document_id)
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
