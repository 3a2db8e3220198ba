//! The words of questions and tables as they are compared when tables are chosen: lower case, without
//! a plural `s`; of Chinese, each pair of characters.

use std::collections::HashSet;

/// Words that stand in every question.
const COMMON: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "did", "do", "doe", "for", "from", "had",
    "has", "have", "how", "in", "is", "it", "many", "more", "most", "much", "of", "on", "or",
    "than", "that", "the", "their", "there", "thi", "to", "wa", "was", "were", "what", "when",
    "where", "which", "who", "with",
];

/// The distinct words of a text.
pub fn words(text: &str) -> HashSet<String> {
    let mut words = HashSet::new();
    add(text, &mut words);
    words
}

/// Adds the words of a text.
pub fn add(text: &str, words: &mut HashSet<String>) {
    let parts = text.split(|one: char| !one.is_alphanumeric());
    for part in parts.filter(|part| !part.is_empty()) {
        let lower = part.to_lowercase();
        if lower.is_ascii() {
            let stem = match lower.strip_suffix('s') {
                Some(stem) if stem.len() > 2 => stem.to_owned(),
                _ => lower,
            };
            words.insert(stem);
        } else {
            add_pairs(&lower, words);
        }
    }
}

fn add_pairs(text: &str, words: &mut HashSet<String>) {
    let characters: Vec<char> = text.chars().collect();
    if !characters.iter().any(|one| is_han(*one)) || characters.len() == 1 {
        words.insert(text.to_owned());
        return;
    }
    words.extend(
        characters
            .windows(2)
            .map(|pair| pair.iter().collect::<String>()),
    );
}

fn is_han(one: char) -> bool {
    matches!(one, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a word says nothing of what a question is about.
pub fn is_common(word: &str) -> bool {
    COMMON.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_without_case_and_plural() {
        let found = words("Total Sales of 2023, 哪个地区 the buses");
        for word in ["total", "sale", "2023", "哪个", "地区", "buse"] {
            assert!(found.contains(word), "{word}: {found:?}");
        }
        assert!(is_common("the") && !is_common("sale"));
    }
}
