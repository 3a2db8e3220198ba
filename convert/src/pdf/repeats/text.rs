//! What lines with the numbers of pages say without them.

use crate::pdf::unicode;

/// What names the number of a page, and what else stands beside it.
pub(super) const PAGE_NAMES: [&str; 10] = [
    "page", "pages", "pg", "sheet", "folio", "seite", "blatt", "第", "页", "頁",
];
pub(super) const PAGE_WORDS: [&str; 4] = ["p", "of", "von", "共"];

/// The text in lower case, each number (Roman ones too) as one sign.
pub(super) fn pattern(text: &str) -> String {
    let mut pattern = String::new();
    for word in text.split_whitespace() {
        let is_roman = word.len() <= 6
            && word
                .chars()
                .all(|character| matches!(character, 'i' | 'v' | 'x' | 'l' | 'c'));
        if is_roman {
            pattern.push('#');
            continue;
        }
        for character in word
            .chars()
            .filter(|character| !unicode::is_mark(*character))
        {
            match character {
                '0'..='9' if pattern.ends_with('#') => {}
                '0'..='9' => pattern.push('#'),
                other => pattern.extend(other.to_lowercase()),
            }
        }
    }
    pattern
}

/// The text in lower case without the number of its page: all numbers where it names a page, else
/// those at its beginning and end.
pub(super) fn without_page(text: &str) -> String {
    let pattern = pattern(text);
    let mut words = pattern.split(|sign: char| !sign.is_alphabetic());
    if words.any(|word| PAGE_NAMES.contains(&word)) {
        return pattern;
    }
    let text = text.to_lowercase();
    let is_number = |word: &&str| matches!(self::pattern(word).as_str(), "#" | "#/#" | "/");
    let words: Vec<&str> = text.split_whitespace().collect();
    let before = words.iter().take_while(|word| is_number(word)).count();
    let after = words
        .iter()
        .rev()
        .take_while(|word| is_number(word))
        .count();
    let kept = words.get(before..words.len().saturating_sub(after));
    kept.unwrap_or_default().join(" ")
}
