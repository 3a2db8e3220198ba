//! The words of questions and tables as they are compared when tables are chosen: lower case, without
//! a plural `s`; of Chinese, each pair of characters; numbers such as `2.24`, `3:47` and `12,345` whole,
//! without thousands signs.

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
    for part in parts(text) {
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

/// Letters and digits that stand together, Chinese apart from others, with the signs between the
/// digits of a number.
fn parts(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let (mut parts, mut part) = (Vec::new(), String::new());
    for (at, one) in characters.iter().enumerate() {
        let after = characters.get(at + 1).is_some_and(char::is_ascii_digit);
        let is_in_number = after && part.ends_with(|last: char| last.is_ascii_digit());
        match one {
            one if one.is_alphanumeric() => {
                if part
                    .chars()
                    .next_back()
                    .is_some_and(|last| is_han(last) != is_han(*one))
                {
                    parts.push(std::mem::take(&mut part));
                }
                part.push(*one);
            }
            '.' | ':' if is_in_number => part.push(*one),
            ',' if is_in_number && is_thousands(&characters, at) => {}
            _ => parts.extend((!part.is_empty()).then(|| std::mem::take(&mut part))),
        }
    }
    parts.extend((!part.is_empty()).then_some(part));
    parts
}

/// Whether exactly three digits follow.
fn is_thousands(characters: &[char], at: usize) -> bool {
    let after = characters.iter().skip(at + 1);
    after.take_while(|one| one.is_ascii_digit()).count() == 3
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
        let found = words("2023年的销量");
        for word in ["2023", "年的", "销量"] {
            assert!(found.contains(word), "{word}: {found:?}");
        }
        let found = words("2.24 m in 3:47 for 1,234,567 of 3,4. 1.5GB");
        for word in ["2.24", "3:47", "1234567", "3", "4", "1.5gb"] {
            assert!(found.contains(word), "{word}: {found:?}");
        }
        assert!(is_common("the") && !is_common("sale"));
    }
}
