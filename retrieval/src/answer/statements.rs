//! The statements of an answer or of a passage: its sentences, without headings, code and pictures,
//! each with where it stands and what it cites.

use std::ops::Range;

use tributary_schemas::ask::Span;
use tributary_taxonomy::sentences::sentence_ends;

use super::code_reader::{code, fenced_blocks};

/// A sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The words, without citations and marks of lists.
    pub text: String,
    /// Where it stands, in bytes of the whole text, citations included.
    pub bytes: Range<usize>,
    /// The same in characters.
    pub span: Span,
    /// Numbers that it cites, each once.
    pub citations: Vec<u32>,
}

/// A line of Markdown that is no code.
struct Line<'a> {
    start: usize,
    text: &'a str,
}

/// All statements of a Markdown text, in order.
pub fn statements(text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut characters = Characters::default();
    for line in lines(text) {
        for bytes in sentences(&line) {
            let whole = text.get(bytes.clone()).unwrap_or_default();
            let (words, citations) = without_citations(whole);
            let words = words.trim().trim_matches('|').trim().to_owned();
            if !words.chars().any(char::is_alphanumeric) {
                continue;
            }
            let span = Span {
                start: characters.until(text, bytes.start),
                end: characters.until(text, bytes.end),
            };
            found.push(Statement {
                text: words,
                bytes,
                span,
                citations,
            });
        }
    }
    found
}

/// Counts characters up to growing offsets.
#[derive(Default)]
struct Characters {
    bytes: usize,
    count: usize,
}

impl Characters {
    fn until(&mut self, text: &str, offset: usize) -> usize {
        let more = text.get(self.bytes..offset).unwrap_or_default();
        self.count += more.chars().count();
        self.bytes = offset.max(self.bytes);
        self.count
    }
}

/// Lines that state something.
fn lines(text: &str) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    let blocks = fenced_blocks(text);
    for line in text.split_inclusive('\n') {
        // Marks of quotes and lists before a block are not part of it.
        let last = start + line.trim_end().len().saturating_sub(1);
        let is_code = blocks.iter().any(|block| block.contains(&last));
        let skipped = mark_bytes(line);
        let rest = line.get(skipped..).unwrap_or_default();
        let is_rule = !rest.contains(char::is_alphanumeric);
        if !is_code && !rest.starts_with('#') && !rest.starts_with("![") && !is_rule {
            found.push(Line {
                start: start + skipped,
                text: rest,
            });
        }
        start += line.len();
    }
    found
}

/// Bytes of indentation, quotes and the mark of a list item.
fn mark_bytes(line: &str) -> usize {
    let rest = line.trim_start_matches([' ', '\t', '>']);
    let indent = line.len() - rest.len();
    let number = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    let digits = rest.len() - number.len();
    let mark = match () {
        () if rest.starts_with("- ") || rest.starts_with("* ") || rest.starts_with("+ ") => 2,
        () if digits > 0 && (number.starts_with(". ") || number.starts_with(") ")) => digits + 2,
        () => 0,
    };
    indent + mark
}

/// Bytes of the sentences of a line; citations behind a full stop belong to it.
fn sentences(line: &Line<'_>) -> Vec<Range<usize>> {
    let blanked = blank_citations(line.text);
    let mut start = 0;
    let mut found = Vec::new();
    for end in sentence_ends(&blanked, &[]) {
        let sentence = line.text.get(start..end).unwrap_or_default();
        let length = sentence.trim_end().len();
        found.push(line.start + start..line.start + start + length);
        start = end;
    }
    found
}

/// The text with spaces in the place of citations.
fn blank_citations(text: &str) -> String {
    replaced(text, |_, bytes| " ".repeat(bytes))
}

/// The text with something else in the place of each citation, of which number and length in bytes
/// are given.
pub fn replaced(text: &str, with: impl Fn(u32, usize) -> String) -> String {
    let (mut replaced, mut start) = (String::with_capacity(text.len()), 0);
    for (bytes, number) in citations(text) {
        replaced.push_str(text.get(start..bytes.start).unwrap_or_default());
        replaced.push_str(&with(number, bytes.len()));
        start = bytes.end;
    }
    replaced.push_str(text.get(start..).unwrap_or_default());
    replaced
}

fn without_citations(text: &str) -> (String, Vec<u32>) {
    let mut numbers = Vec::new();
    for (_, number) in citations(text) {
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    (replaced(text, |_, _| String::new()), numbers)
}

/// Citations of the form `[12]` outside of code, with where they stand.
pub fn citations(text: &str) -> Vec<(Range<usize>, u32)> {
    let mut found = Vec::new();
    let code = code(text);
    for (start, _) in text.match_indices('[') {
        let inner = text.get(start + 1..).unwrap_or_default();
        let rest = inner.trim_start_matches(|character: char| character.is_ascii_digit());
        let digits = inner.len() - rest.len();
        let number = inner.get(..digits).and_then(|digits| digits.parse().ok());
        let is_code = code.iter().any(|bytes| bytes.contains(&start));
        if let Some(number) = number.filter(|_| rest.starts_with(']') && !is_code) {
            found.push((start..start + digits + 2, number));
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests {
    use super::*;

    /// Words and citations of a statement.
    type Expected<'a> = (&'a str, &'a [u32]);

    fn found(text: &str) -> Vec<(String, Vec<u32>)> {
        let all = statements(text);
        for statement in &all {
            let characters: Vec<char> = text.chars().collect();
            let Span { start, end } = statement.span;
            let by_characters: String = characters[start..end].iter().collect();
            assert_eq!(by_characters, text[statement.bytes.clone()]);
        }
        let shown = all.into_iter();
        shown.map(|one| (one.text, one.citations)).collect()
    }

    #[test]
    fn sentences_have_their_citations() {
        let table: &[(&str, &[Expected<'_>])] = &[
            (
                "倾角是六度 [1]。要检查它。[2][1]",
                &[("倾角是六度 。", &[1]), ("要检查它。", &[2, 1])],
            ),
            (
                "It is six.[1] Check it [2]. See e.g. here.",
                &[
                    ("It is six.", &[1]),
                    ("Check it .", &[2]),
                    ("See e.g. here.", &[]),
                ],
            ),
            (
                "# Title [1]\n\n1. First [1]\n- **Second** [2]\n\n---\n",
                &[("First", &[1]), ("**Second**", &[2])],
            ),
            (
                "So:\n```\nlet a = b[1];\n```\nDone `a[1]`.",
                &[("So:", &[]), ("Done `a[1]`.", &[])],
            ),
            ("| a | 6 [1] |\n|---|---|\n", &[("a | 6", &[1])]),
            ("![a picture](x.png)\n[1]\n", &[]),
        ];
        for (text, expected) in table {
            let expected: Vec<(String, Vec<u32>)> = expected
                .iter()
                .map(|(text, numbers)| ((*text).to_owned(), numbers.to_vec()))
                .collect();
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
