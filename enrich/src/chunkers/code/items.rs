//! Definitions with all that belongs to them: the comment above, the rest of the last line, lines
//! right below such as `EXPORT_SYMBOL(f);`.

use std::iter::Peekable;
use std::ops::Range;
use std::vec::IntoIter;

use super::definitions::{Candidate, Findings, Span, What};
use super::source::Source;

/// A definition, or a scope of names.
pub(super) struct Item {
    pub found: Candidate,
    /// What its chunk shows.
    pub range: Range<usize>,
    /// The same without lines right below it.
    pub own: Range<usize>,
    /// Comments above it, from the top down.
    pub comments: Vec<Range<usize>>,
    /// Definitions in it.
    pub items: Vec<Item>,
}

/// The definitions of a file, those in others below them.
pub(super) fn build(source: &Source<'_>, findings: &mut Findings) -> Vec<Item> {
    let candidates = std::mem::take(&mut findings.candidates);
    let mut builder = Builder {
        source,
        spans: &findings.spans,
        waiting: candidates.into_iter().peekable(),
    };
    let whole = 0..source.code.len();
    let mut items = builder.level(&whole);
    builder.close_gaps(&mut items, whole.end);
    items
}

struct Builder<'a> {
    source: &'a Source<'a>,
    spans: &'a [Span],
    waiting: Peekable<IntoIter<Candidate>>,
}

impl Builder<'_> {
    /// All that begins in a range. Calls itself for what is in them, as deep as definitions are
    /// looked for.
    fn level(&mut self, range: &Range<usize>) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        let mut floor = range.start;
        while let Some(found) = self.waiting.next_if(|next| next.range.start < range.end) {
            let (start, comments) = self.above(&found, floor);
            let mut inner = match found.what {
                What::Type | What::Scope => self.level(&(found.body..found.range.end)),
                What::Function | What::Macro => Vec::new(),
            };
            let end = self.below(&found, range.end);
            self.close_gaps(&mut inner, end);
            floor = end;
            items.push(Item {
                found,
                range: start..end,
                own: start..end,
                comments,
                items: inner,
            });
        }
        items
    }

    /// Where the comments and attributes begin that stand right above, not before `floor`.
    fn above(&self, found: &Candidate, floor: usize) -> (usize, Vec<Range<usize>>) {
        let code = self.source;
        let mut start = self.line_start(found.range.start, floor);
        let mut comments = Vec::new();
        let mut at = self
            .spans
            .partition_point(|span| span.range.start < found.range.start);
        while let Some(span) = at.checked_sub(1).and_then(|at| self.spans.get(at)) {
            at -= 1;
            let between = code.text(span.range.end..start);
            let is_right_above = between.trim().is_empty() && !between.contains("\n\n");
            let lines = between.matches('\n').count();
            let begins = self.margin(span.range.start, floor);
            let begins_line = code.line_start(span.range.start) == begins || begins == floor;
            if span.range.start < floor || !is_right_above || lines > 1 || !begins_line {
                break;
            }
            start = begins;
            if span.is_comment {
                comments.push(span.range.clone());
            }
        }
        comments.reverse();
        (start, comments)
    }

    /// The beginning of the line, unless too much stands before a place in it.
    fn line_start(&self, at: usize, floor: usize) -> usize {
        const MOST_BEFORE: usize = 200;
        let line = self.source.line_start(at).max(floor).min(at);
        match at - line <= MOST_BEFORE {
            true => line,
            false => self.margin(at, floor),
        }
    }

    /// The beginning of the line if only blanks stand before a place in it.
    fn margin(&self, at: usize, floor: usize) -> usize {
        let line = self.source.line_start(at).max(floor);
        match self.source.text(line..at).trim().is_empty() {
            true => line.min(at),
            false => at,
        }
    }

    /// Where a definition ends: with its line, unless something else begins there.
    fn below(&mut self, found: &Candidate, ceiling: usize) -> usize {
        const LONGEST_REST: usize = 200;
        let end = found.range.end;
        let line = self.source.line_end(end.max(1) - 1).min(ceiling).max(end);
        let next = self
            .waiting
            .peek()
            .map_or(usize::MAX, |next| next.range.start);
        match line - end <= LONGEST_REST && next >= line {
            true => line,
            false => end,
        }
    }

    /// Gives what is too little for a chunk to the definition above it.
    fn close_gaps(&self, items: &mut [Item], end: usize) {
        let starts: Vec<usize> = items.iter().skip(1).map(|item| item.range.start).collect();
        for (at, item) in items.iter_mut().enumerate() {
            let next = starts.get(at).copied().unwrap_or(end);
            let gap = self.source.text(item.range.end..next);
            item.range.end += match is_trifle(gap) {
                true => gap.len(),
                false => right_below(gap),
            };
        }
    }
}

/// Bytes of the few lines that follow without a blank one between.
fn right_below(gap: &str) -> usize {
    const MOST_LINES: usize = 3;
    let lines = gap.split_inclusive('\n');
    let right_below: Vec<&str> = lines
        .take_while(|line| !line.trim().is_empty())
        .take(MOST_LINES + 1)
        .collect();
    let length = right_below.iter().map(|line| line.len()).sum();
    match right_below.len() <= MOST_LINES && length <= 240 {
        true => length,
        false => 0,
    }
}

/// Whether there is nothing to be found in it: closing brackets, ends of conditions.
fn is_trifle(gap: &str) -> bool {
    const LONGEST: usize = 512;
    let is_nothing = |line: &str| {
        let line = line.trim();
        let directive = line.strip_prefix('#').map(str::trim_start);
        let is_condition = directive.is_some_and(|word| {
            ["if", "el", "endif"]
                .iter()
                .any(|begin| word.starts_with(begin))
        });
        let after_brace = line.strip_prefix('}').map(str::trim_start);
        let is_end =
            after_brace.is_some_and(|rest| rest.starts_with("//") || rest.starts_with("/*"));
        is_condition || is_end || !line.contains(char::is_alphanumeric)
    };
    gap.len() <= LONGEST && gap.lines().all(is_nothing)
}
