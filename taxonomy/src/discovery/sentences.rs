//! A passage of Markdown as sentences: without code blocks, pictures and addresses, headings marked.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::sentences::sentence_ends;

/// One sentence of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence<'a> {
    /// Its Markdown, on one line; emphasis is left in.
    pub text: Cow<'a, str>,
    /// Whether it is a heading.
    pub is_heading: bool,
}

/// Pictures, whole; links, of which the text stays; tags; addresses.
static DROPPED: LazyLock<[(Option<Regex>, &str); 4]> = LazyLock::new(|| {
    [
        (Regex::new(r"!\[[^\]]*\]\([^)]*\)").ok(), "，"),
        (Regex::new(r"\[([^\]]*)\]\([^)\s]*\)").ok(), "$1"),
        (Regex::new(r"</?[A-Za-z][^>]*>").ok(), "，"),
        (
            Regex::new(r"[A-Za-z][A-Za-z+.-]*://[^\s)）>，。]*").ok(),
            "，",
        ),
    ]
});

/// Marks of Markdown that a reader does not see: of lists and quotes before a line, of emphasis and
/// of code.
static MARKS: LazyLock<[(Option<Regex>, &str); 3]> = LazyLock::new(|| {
    [
        (Regex::new(r"^(?:[-*+>|]\s+|\d+[.)]\s+)+").ok(), ""),
        (Regex::new(r"\*\*|`|\s*\|$").ok(), ""),
        (
            Regex::new(r"(^|[^0-9A-Za-z*])\*([^\s*][^*]*)\*").ok(),
            "$1$2",
        ),
    ]
});

/// A sentence of [`sentences`] as a reader sees it.
pub(super) fn plain(sentence: &str) -> Cow<'_, str> {
    if !sentence.contains(['*', '`', '|', '-', '+', '>', '.', ')']) {
        return Cow::Borrowed(sentence);
    }
    replaced(sentence, &*MARKS)
}

/// The sentences of a passage, in order.
pub(super) fn sentences(markdown: &str) -> Vec<Sentence<'_>> {
    let mut sentences = Vec::new();
    let mut fence: Option<&str> = None;
    for line in markdown.lines().map(str::trim) {
        let marker = ["```", "~~~"].into_iter().find(|one| line.starts_with(one));
        match (fence, marker) {
            (None, Some(_)) => fence = marker,
            (Some(open), Some(close)) if open == close => fence = None,
            (Some(_), _) => {}
            (None, None) => push_line(line, &mut sentences),
        }
    }
    sentences
}

fn push_line<'a>(line: &'a str, sentences: &mut Vec<Sentence<'a>>) {
    let body = line.trim_start_matches('#');
    let is_heading = body.len() < line.len();
    match without_links(body) {
        Cow::Borrowed(body) => {
            let parts = split(body).map(Cow::Borrowed);
            sentences.extend(parts.map(|text| Sentence { text, is_heading }));
        }
        Cow::Owned(body) => {
            let parts = split(&body).map(|part| Cow::Owned(part.to_owned()));
            sentences.extend(parts.map(|text| Sentence { text, is_heading }));
        }
    }
}

fn split(line: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    sentence_ends(line, &[])
        .into_iter()
        .filter_map(move |end| line.get(std::mem::replace(&mut start, end)..end))
        .map(str::trim)
        .filter(|sentence| sentence.chars().any(char::is_alphabetic))
}

fn without_links(line: &str) -> Cow<'_, str> {
    if !line.contains(['[', '<', ':']) {
        return Cow::Borrowed(line);
    }
    replaced(line, &*DROPPED)
}

fn replaced<'a>(line: &'a str, patterns: &[(Option<Regex>, &str)]) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(line);
    for (pattern, replacement) in patterns {
        if let Some(pattern) = pattern
            && let Cow::Owned(replaced) = pattern.replace_all(&text, *replacement)
        {
            text = Cow::Owned(replaced);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_no_marks_of_markdown() {
        let seen = [
            ("- **内嵌日志**只有一个进程。", "内嵌日志只有一个进程。"),
            (
                "1. Run `page_table` *once* per core",
                "Run page_table once per core",
            ),
            ("| 页表 | 映射 |", "页表 | 映射"),
            ("是*重点*：2 * 3 * 4", "是重点：2 * 3 * 4"),
            ("页表。", "页表。"),
        ];
        for (markdown, text) in seen {
            assert_eq!(plain(markdown), text);
        }
    }

    #[test]
    fn code_and_addresses_are_no_text_and_headings_are_known() {
        let markdown = "## 页表\n\n见 [手册](a/b.md)。第二句 https://a.example/x 完。\n```rust\nlet 内存 = 1;\n```\n![图](i.png)\n";
        let found: Vec<(String, bool)> = sentences(markdown)
            .into_iter()
            .map(|sentence| (sentence.text.into_owned(), sentence.is_heading))
            .collect();
        let expected = [
            ("页表".to_owned(), true),
            ("见 手册。".to_owned(), false),
            ("第二句 ， 完。".to_owned(), false),
        ];
        assert_eq!(found, expected);
    }
}
