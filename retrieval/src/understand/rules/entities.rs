//! What a question names: terms of the lexicon, identifiers and codes, abbreviations.

use tributary_taxonomy::{Analyzer, Synonyms, fold};

use crate::exact_name;

/// Entities of one question; a pasted log has dozens.
const MAXIMUM: usize = 16;

/// The entities in the order in which they stand in the question, each once.
pub fn entities(question: &str, analyzer: &Analyzer, synonyms: &Synonyms) -> Vec<String> {
    let terms = analyzer.terms_in(question);
    let identifiers = exact_name::words(question)
        .filter(|word| exact_name::is_identifier(word) || exact_name::is_code(word));
    let named = synonyms.mentions(question);
    let named = named
        .iter()
        .filter_map(|mention| question.get(mention.range.clone()));
    let mut found: Vec<(usize, &str)> = Vec::new();
    for entity in terms.into_iter().chain(identifiers).chain(named) {
        let folded = fold(entity);
        let is_known = found.iter().any(|(_, known)| fold(known) == folded);
        if !is_known {
            found.push((question.find(entity).unwrap_or(question.len()), entity));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    let entities = found.into_iter().map(|(_, entity)| entity.to_owned());
    entities.take(MAXIMUM).collect()
}
