//! The statements of an answer or of a passage: its sentences, without headings, code and pictures,
//! each with where it stands and what it cites.

use std::ops::Range;

use tributary_schemas::ask::Span;
use tributary_taxonomy::sentences::sentence_ends;

use super::code_reader::{code, fenced_blocks};

/// Marks that may close behind the end of a sentence, the longer ones first.
const CLOSING_MARKS: [&str; 14] = [
    "**", "__", "~~", "*", "_", "\"", ")", "]", "”", "’", "」", "』", "）", "】",
];

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

/// A line of Markdown that is no code; lines that were wrapped are one.
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
            let words = plain(&words);
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

/// The words of a sentence, without marks of tables around them, in one line.
pub fn plain(sentence: &str) -> String {
    unwrapped(sentence.trim().trim_matches('|').trim())
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
            let is_indented = line
                .get(..skipped)
                .is_some_and(|mark| mark.trim().is_empty());
            let wrapped = found
                .last_mut()
                .filter(|before| is_indented && goes_on(before, start, rest));
            match wrapped {
                Some(before) => {
                    before.text = text
                        .get(before.start..start + line.len())
                        .unwrap_or_default();
                }
                None => found.push(Line {
                    start: start + skipped,
                    text: rest,
                }),
            }
        }
        start += line.len();
    }
    found
}

/// Width in columns from which a line may have been wrapped, a Chinese character counting two.
const WRAPPED_FROM: usize = 40;

/// Whether the line at `start` goes on with the one before it: that one is long and ends within a
/// sentence.
fn goes_on(before: &Line<'_>, start: usize, rest: &str) -> bool {
    let is_next = before.start + before.text.len() == start;
    let last = before.text.trim_end_matches(['\n', '\r']);
    let is_row = |text: &str| text.starts_with('|');
    let is_broken_on_purpose = last.ends_with("  ") || last.ends_with('\\');
    let is_over = last.trim_end().ends_with([
        '.', '!', '?', ':', ';', '。', '！', '？', '：', '；', '…', ']',
    ]);
    let line = last.rsplit('\n').next().unwrap_or(last);
    let columns: usize = line
        .chars()
        .map(|one| if one.is_ascii() { 1 } else { 2 })
        .sum();
    is_next
        && !is_row(before.text)
        && !is_row(rest)
        && !is_broken_on_purpose
        && !is_over
        && columns >= WRAPPED_FROM
}

/// Wrapped lines in one; between Chinese characters nothing stands in the place of the break.
fn unwrapped(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for line in text.lines() {
        let line = if whole.is_empty() {
            line
        } else {
            line.trim_start()
        };
        let is_spaced = |one: char| !('\u{2e80}'..='\u{ffef}').contains(&one);
        let joins_words = whole.chars().next_back().is_some_and(is_spaced)
            || line.chars().next().is_some_and(is_spaced);
        if !whole.is_empty() && joins_words {
            whole.push(' ');
        }
        whole.push_str(line.trim_end());
    }
    whole
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
    if line.text.starts_with('|') {
        // A part of a cell says nothing without the others of its row.
        let end = line.start + line.text.trim_end().len();
        return std::iter::once(line.start..end).collect();
    }
    let blanked = blank_citations(line.text).replace('\n', " ");
    let mut start = 0;
    let mut found = Vec::new();
    for end in sentence_ends(&blanked, &[]) {
        let end = behind_closing_marks(&blanked, end);
        let sentence = line.text.get(start..end).unwrap_or_default();
        let length = sentence.trim_end().len();
        found.push(line.start + start..line.start + start + length);
        start = end;
    }
    found
}

/// The end of a sentence moved behind the marks that close what it or one before it opened:
/// emphasis, quotes and brackets. White space behind them belongs to it too.
fn behind_closing_marks(line: &str, end: usize) -> usize {
    let (before, mut rest) = line.split_at_checked(end).unwrap_or((line, ""));
    if before.ends_with(char::is_whitespace) {
        return end;
    }
    let is_open = |mark: &&str| match *mark {
        ")" => before.matches('(').count() > before.matches(')').count(),
        "]" => before.matches('[').count() > before.matches(']').count(),
        "”" | "’" | "」" | "』" | "）" | "】" => true,
        emphasis => before.matches(emphasis).count() % 2 == 1,
    };
    let marks = CLOSING_MARKS.iter().filter(|mark| is_open(mark));
    let mut open: Vec<&str> = marks.copied().collect();
    while let Some(at) = open.iter().position(|mark| rest.starts_with(mark)) {
        rest = rest.get(open.remove(at).len()..).unwrap_or_default();
    }
    match line.len() - rest.len() {
        closed if closed > end => line.len() - rest.trim_start().len(),
        _ => end,
    }
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

/// Citations of the form `[12]` outside of code, formulas and links, with where they stand.
pub fn citations(text: &str) -> Vec<(Range<usize>, u32)> {
    let mut found = Vec::new();
    let code = code(text);
    for (start, _) in text.match_indices('[') {
        let inner = text.get(start + 1..).unwrap_or_default();
        let rest = inner.trim_start_matches(|character: char| character.is_ascii_digit());
        let digits = inner.len() - rest.len();
        let number = inner.get(..digits).and_then(|digits| digits.parse().ok());
        let is_code = code.iter().any(|bytes| bytes.contains(&start));
        let is_one = rest.starts_with(']') && !rest.starts_with("](") && !is_code;
        if let Some(number) = number.filter(|_| is_one) {
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
            (
                "- A document that can never be indexed gets a message that\n  says what to do. After that the state of the document\n  becomes dead.\n",
                &[
                    (
                        "A document that can never be indexed gets a message that says what to do.",
                        &[],
                    ),
                    ("After that the state of the document becomes dead.", &[]),
                ],
            ),
            (
                "随机接入是终端与基站建立上行同步的过程，在小区切换的时候\n也会用到。\n",
                &[(
                    "随机接入是终端与基站建立上行同步的过程，在小区切换的时候也会用到。",
                    &[],
                )],
            ),
            ("short\nlines\n", &[("short", &[]), ("lines", &[])]),
            // Neither formulas nor links cite.
            (
                "The energy is $E[3] = m$, as [4](http://x.y) and ![5](z.png) tell [1].",
                &[(
                    "The energy is $E[3] = m$, as [4](http://x.y) and ![5](z.png) tell .",
                    &[1],
                )],
            ),
            (
                "| in use. See `a` | another server has the port. It ends |\n|---|---|\n",
                &[(
                    "in use. See `a` | another server has the port. It ends",
                    &[],
                )],
            ),
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
