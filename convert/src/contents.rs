//! What tables of contents are known by, in formats that do not tell them: entries are headings of
//! the document, with numbers of sections in front and of pages behind.

/// Entries from which on lines are a table of contents.
pub(crate) const MINIMUM_ENTRIES: usize = 3;

/// What stands above a table of contents, by letters and digits.
const TITLES: [&str; 10] = [
    "contents",
    "tableofcontents",
    "onthispage",
    "inthisarticle",
    "inthispage",
    "目录",
    "目錄",
    "本页内容",
    "本文内容",
    "目次",
];

/// Letters and digits in lower case, without digits in front and at the end: those of sections and
/// pages.
pub(crate) fn key(text: &str) -> String {
    let letters: String = text
        .chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    letters
        .trim_matches(|character: char| character.is_numeric())
        .to_owned()
}

/// Whether a line is the title of a table of contents.
pub(crate) fn is_title(line: &str) -> bool {
    TITLES.contains(&key(line).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_the_key_of_their_heading() {
        assert_eq!(key("2.1 Signal levels ........ 17"), key("Signal levels"));
        assert_eq!(key("3 载波 聚合\t9"), key("载波聚合"));
        assert_ne!(key("LTE 4G modes"), key("LTE modes"));
        assert!(is_title("Table of Contents") && is_title("目 录") && !is_title("Scope"));
    }
}
