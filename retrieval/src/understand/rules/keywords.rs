//! What a keyword search should look for: the words of a question without those that only ask.

use tributary_taxonomy::{Analyzer, fold};

use crate::function_words::is_function_word;

/// Keywords of one question.
const MAXIMUM: usize = 16;

/// Entities first, then the other words that say something, each once.
pub fn keywords(question: &str, entities: &[String], analyzer: &Analyzer) -> Vec<String> {
    let mut keywords: Vec<String> = entities.to_vec();
    for word in analyzer.parts_of_speech(question) {
        let Some(text) = question.get(word.range) else {
            continue;
        };
        let says_something = text.chars().any(char::is_alphanumeric)
            && !is_function_word(text)
            && (text.is_ascii() || !is_grammar(&word.tag));
        let folded = fold(text);
        let is_known = keywords.iter().any(|known| fold(known).contains(&*folded));
        if says_something && !is_known {
            keywords.push(text.to_owned());
        }
    }
    keywords.truncate(MAXIMUM);
    keywords
}

/// Pronouns, prepositions, conjunctions, particles, adverbs, measure words.
fn is_grammar(tag: &str) -> bool {
    matches!(
        tag.chars().next(),
        Some('r' | 'p' | 'c' | 'u' | 'y' | 'e' | 'o' | 'd' | 'q')
    )
}
