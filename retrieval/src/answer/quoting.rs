//! How what was chosen of the sources is written: sentences of one source as a paragraph, a list
//! behind what announces it, rows of a table under its head, each with the number of its source.

use std::ops::Range;

use tributary_schemas::ask::{Source, Span};

use super::code_reader::code;
use super::passages::without_notes;
use super::rows::{Table, table_at};
use super::statements::{Statement, plain, replaced};

/// The mark of strong emphasis.
const EMPHASIS: &str = "**";

/// An answer in the words of the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extract {
    /// Markdown, with citations.
    pub answer: String,
    /// Where it comes from: numbers of sources with parts of their texts.
    pub marks: Vec<(u32, Span)>,
}

/// A sentence that is quoted.
pub struct Quoted<'a> {
    /// Where it stands.
    pub source: &'a Source,
    /// The sentence.
    pub statement: Statement,
    /// The list that it announces, in bytes.
    pub list: Option<Range<usize>>,
}

/// The answer made of them, in their order.
pub fn written(chosen: &[Quoted<'_>], is_chinese: bool) -> Extract {
    let mut writing = Writing::default();
    let mut rest = chosen;
    while let Some((first, others)) = rest.split_first() {
        let row = table_at(&first.source.text, first.statement.bytes.start);
        if let Some(table) = row {
            let is_of_it = |one: &&Quoted<'_>| {
                let same = one.source.number == first.source.number;
                same && table.bytes.contains(&one.statement.bytes.start)
            };
            let rows = 1 + others.iter().take_while(is_of_it).count();
            let (rows, behind) = rest.split_at_checked(rows).unwrap_or((rest, &[]));
            writing.rows(&table, rows, is_chinese);
            rest = behind;
            continue;
        }
        match first.list.clone() {
            Some(list) => writing.list(first, list),
            None => writing.sentence(first),
        }
        rest = others;
    }
    writing.extract
}

#[derive(Default)]
struct Writing {
    extract: Extract,
    /// The source of the paragraph that is open.
    open: Option<u32>,
}

impl Writing {
    fn begin(&mut self, number: u32) {
        let answer = &mut self.extract.answer;
        match self.open {
            Some(open) if open == number => answer.push(' '),
            _ if !answer.is_empty() => answer.push_str("\n\n"),
            _ => {}
        }
        self.open = Some(number);
    }

    fn sentence(&mut self, quote: &Quoted<'_>) {
        let number = quote.source.number;
        self.begin(number);
        let sentence = quoted(quote.source, &quote.statement);
        let answer = &mut self.extract.answer;
        answer.push_str(&format!("{sentence} [{number}]"));
        self.extract.marks.push((number, quote.statement.span));
    }

    fn list(&mut self, quote: &Quoted<'_>, list: Range<usize>) {
        let number = quote.source.number;
        self.begin(number);
        let text = &quote.source.text;
        let items = unindented(&escaped(text.get(list.clone()).unwrap_or_default()));
        let sentence = quoted(quote.source, &quote.statement);
        let answer = &mut self.extract.answer;
        answer.push_str(&format!("{sentence}\n\n{items}\n\n[{number}]"));
        let shown = text.get(..list.end).unwrap_or_default();
        let span = Span {
            end: shown.chars().count(),
            ..quote.statement.span
        };
        self.extract.marks.push((number, span));
        // What follows is no part of the list.
        self.open = None;
    }

    fn rows(&mut self, table: &Table, rows: &[Quoted<'_>], is_chinese: bool) {
        let Some(number) = rows.first().map(|row| row.source.number) else {
            return;
        };
        self.open = None;
        self.begin(number);
        let answer = &mut self.extract.answer;
        answer.push_str(&escaped(&table.head));
        for row in rows {
            let line = row.source.text.get(row.statement.bytes.clone());
            let line = escaped(line.unwrap_or_default().trim());
            answer.push_str(&format!("\n{line}"));
            self.extract.marks.push((number, row.statement.span));
        }
        let note = match (rows.len() == table.rows, is_chinese) {
            (true, _) => String::new(),
            (false, true) => format!("（表中 {} 行，此处 {} 行）", table.rows, rows.len()),
            (false, false) => format!(" ({} of the table's {} rows)", rows.len(), table.rows),
        };
        answer.push_str(&format!("\n\n[{number}]{note}"));
        self.open = None;
    }
}

/// What looks like a citation and is one of the document's own; without what refers to its notes.
pub fn escaped(text: &str) -> String {
    replaced(&without_notes(text), |number, _| format!("\\[{number}\\]"))
}

/// The lines of a list without what all of them are indented by.
fn unindented(list: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let filled = list.lines().filter(|line| !line.trim().is_empty());
    let common = filled.map(indent).min().unwrap_or(0);
    let lines = list
        .lines()
        .map(|line| line.get(common..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// A sentence as its source has it, what looks like a citation included.
pub fn quoted(source: &Source, statement: &Statement) -> String {
    let sentence = source.text.get(statement.bytes.clone());
    let line = one_line(&plain(&escaped(sentence.unwrap_or_default())));
    // What stands before it was cut off as something else.
    let begun = line.trim_start_matches(['，', ',', '、', '；', ';', '。', ' ']);
    begun.to_owned()
}

/// The sentence on one line. A mark of emphasis whose other half stands in another sentence goes:
/// alone it would be shown as it is.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let code = code(&line);
    let marks = line.match_indices(EMPHASIS).map(|(at, _)| at);
    let in_text = |at: &usize| !code.iter().any(|bytes| bytes.contains(at));
    let marks: Vec<usize> = marks.filter(in_text).collect();
    if let [.., last] = marks.as_slice()
        && marks.len() % 2 == 1
    {
        let (before, rest) = line.split_at_checked(*last).unwrap_or((&line, ""));
        let behind = rest.strip_prefix(EMPHASIS).unwrap_or(rest);
        return format!("{before}{behind}");
    }
    line
}
