//! Knowledge sets and tags of a document (W11): the union of what the producer, the source profile
//! and the rules of the knowledge sets say. Called by the chunk stage.

use std::sync::{Arc, PoisonError, RwLock};

use tributary_schemas::{CleanDocument, Result};
use tributary_taxonomy::{KnowledgeSets, SourceProfile};

/// The knowledge sets in force; replacing them takes effect with the next document.
#[derive(Clone, Debug, Default)]
pub struct SharedKnowledgeSets(Arc<RwLock<Arc<KnowledgeSets>>>);

impl SharedKnowledgeSets {
    /// Starts with these.
    pub fn new(knowledge_sets: KnowledgeSets) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(knowledge_sets))))
    }

    /// Those in force now.
    pub fn current(&self) -> Arc<KnowledgeSets> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts others in force.
    pub fn replace(&self, knowledge_sets: KnowledgeSets) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(knowledge_sets);
    }
}

/// Fills in attributes of the source profile, and gives the document its knowledge sets and tags,
/// each once and in alphabetical order. `Invalid` if the producer named a knowledge set that does
/// not exist.
pub fn tag(
    clean: &mut CleanDocument,
    profile: &SourceProfile,
    knowledge_sets: &KnowledgeSets,
) -> Result<()> {
    profile.apply(&mut clean.document, &clean.markdown);
    let assignment = knowledge_sets.assign(&clean.document, &clean.metadata)?;
    clean.document.knowledge_sets = assignment.knowledge_sets;
    clean.document.tags = assignment.tags;
    Ok(())
}
