//! Chunks of documents that the question names, for tier 1: neither their words nor their vectors
//! need be like the question's. `api/mindspore.nn.Conv2d.rst` has words of its own, and a page of
//! that name need not contain them.
//!
//! Names are looked up in the index under the same filter as everything else, so that a document
//! that the caller may not see is not there under its name either.

use std::collections::HashSet;

use tributary_schemas::names::terms_of_name;
use tributary_schemas::search::QueryPlan;
use tributary_schemas::{ChunkId, ErrorKind, Filter, Result};
use tributary_store::search_index::{SearchIndex, StoredChunk, VectorField, VectorQuery};

use crate::exact_name::{self, Naming};
use crate::leaving;

/// Terms that are looked up for one question.
const MAXIMUM_TERMS: usize = 24;
/// Chunks that are looked at: those nearest to the question, where a name such as `README` has more.
const LOOKED_AT: usize = 64;

/// What is looked up for a question, as terms of an index.
pub struct Names {
    terms: Vec<String>,
}

impl Names {
    /// Of a plan; `question` is it as written. Each name as it was written too: documents keep the
    /// characters of their titles, the plan's names are simplified.
    pub fn new(plan: &QueryPlan, question: &str) -> Self {
        let written = exact_name::written_in(question).into_iter();
        let names = written.chain(plan.names.iter().map(String::as_str));
        let mut seen = HashSet::new();
        let terms = names.flat_map(terms_of_name);
        let terms = terms.filter(|term| seen.insert(term.clone()));
        Self {
            terms: terms.take(MAXIMUM_TERMS).collect(),
        }
    }

    /// None: whoever asks has names of their own kind.
    pub fn none() -> Self {
        Self { terms: Vec::new() }
    }

    /// Chunks of documents that the question names, nearest to `vector` first.
    pub async fn chunks(
        self,
        index: &dyn SearchIndex,
        plan: &QueryPlan,
        naming: Naming<'_>,
        vector: &[f32],
    ) -> Result<Vec<ChunkId>> {
        if self.terms.is_empty() {
            return Ok(Vec::new());
        }
        let filter = Filter {
            names: Some(self.terms),
            ..plan.filter.clone()
        };
        let generation = plan.generation.as_deref();
        let query = VectorQuery {
            generation,
            vector,
            field: VectorField::Coarse,
            filter: &filter,
            candidates: None,
            limit: LOOKED_AT,
        };
        let found = match index.vector(query).await {
            // Nothing was indexed yet.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            found => found?,
        };
        let found: Vec<ChunkId> = found.iter().map(|found| found.chunk_id).collect();
        let stored = leaving::fetch(index, generation, &found, &plan.filter).await?;
        // A term only says where to look, and is that of any exact duplicate.
        let is_named = |stored: &StoredChunk| {
            let visible = leaving::visible(&stored.document, &plan.filter);
            let mut visible = visible.iter();
            visible.any(|document| naming.of_document(document) > 0.0)
        };
        let named = stored.into_iter().flatten().filter(is_named);
        Ok(named.map(|stored| stored.chunk.chunk_id).collect())
    }
}
