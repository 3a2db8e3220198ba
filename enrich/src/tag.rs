//! Knowledge sets and tags of a document: the union of what the producer, the source profile and
//! the rules of the knowledge sets say.

use tributary_schemas::{CleanDocument, Result};
use tributary_taxonomy::{KnowledgeSets, SourceProfile};

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
