//! The question as vectors: CPU-bound, so on a blocking thread, a few at a time.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tributary_models::{DualEmbedder, TextRole};
use tributary_schemas::{Error, ErrorKind, Result};

/// Vectors of one question.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryVectors {
    /// For tier 1.
    pub coarse: Vec<f32>,
    fine: Option<Vec<f32>>,
}

impl QueryVectors {
    /// For tier 2: the coarse one where one vector serves both tiers.
    pub fn fine(&self) -> &[f32] {
        self.fine.as_deref().unwrap_or(&self.coarse)
    }
}

/// Embeds `query`, which is already folded. Waits for a permit; a call that is given up keeps its
/// permit until the model is done.
pub async fn embed_query(
    embedder: &Arc<DualEmbedder>,
    permits: &Arc<Semaphore>,
    query: &str,
) -> Result<QueryVectors> {
    let permit = Arc::clone(permits)
        .acquire_owned()
        .await
        .map_err(|_| internal("embedding permits are closed"))?;
    let (embedder, query) = (Arc::clone(embedder), query.to_owned());
    let work = move || {
        let vectors = embedder.embed(&[query.as_str()], TextRole::Query);
        drop(permit);
        vectors
    };
    let vectors = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| internal(format!("embedder stopped: {error}")))??;
    let Some(vectors) = vectors.into_iter().next() else {
        return Err(internal("embedder returned no vector for the query"));
    };
    Ok(QueryVectors {
        coarse: vectors.coarse,
        fine: Some(vectors.fine).filter(|fine| !fine.is_empty()),
    })
}

fn internal(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Internal, message)
}
