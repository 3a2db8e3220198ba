//! What the serving generation of the index was built with, and so what questions must be analysed
//! and embedded with. Whoever watches the index puts the next one here when it is promoted; a
//! search keeps what it began with.

use std::sync::{Arc, PoisonError, RwLock};

use tributary_taxonomy::Analyzer;

use crate::Models;

/// A generation with its analyzer and models.
#[derive(Clone)]
pub struct Serving {
    /// Name; none where an index has but one.
    pub generation: Option<String>,
    /// Cut the chunks into tokens.
    pub analyzer: Arc<Analyzer>,
    /// Embedded the chunks; the reranker is the same for all generations.
    pub models: Models,
}

/// The one that answers now.
#[derive(Clone)]
pub struct SharedServing(Arc<RwLock<Arc<Serving>>>);

impl SharedServing {
    /// Starts with this one.
    pub fn new(serving: Serving) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(serving))))
    }

    /// The one that answers now.
    pub fn current(&self) -> Arc<Serving> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Searches that begin from now on use this one.
    pub fn replace(&self, serving: Serving) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(serving);
    }
}
