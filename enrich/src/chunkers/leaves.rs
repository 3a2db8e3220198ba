//! Cuts a run of blocks into leaves: between the leaf limits, at the best semantic break, each
//! repeating the end of the one before; code, formulas and tables are never cut.

use std::ops::Range;

use tributary_models::TokenCounter;

use super::count;
use crate::config::ChunkerConfig;
use crate::markdown::{Block, BlockKind, Outline};
use crate::sentences::{Break, clause_ends, floor_boundary, run_ends, sentence_ends};

/// One leaf: a contiguous byte range of the source, the overlap included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub range: Range<usize>,
    pub tokens: usize,
    /// It is one code, formula or table block longer than a leaf (with a short lead-in, if there
    /// is one).
    pub is_block: bool,
}

/// The figures of the configuration, made consistent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    minimum: usize,
    maximum: usize,
    /// No unit is longer, so that a break lies between `minimum` and `maximum`.
    unit: usize,
    overlap_minimum: f64,
    overlap_maximum: f64,
    block: usize,
}

impl Limits {
    pub fn new(config: &ChunkerConfig) -> Self {
        let maximum = config.leaf_maximum_tokens.max(32);
        let minimum = config.leaf_minimum_tokens.min(maximum * 4 / 5);
        let overlap_maximum = config.overlap_maximum.clamp(0.0, 0.5);
        Self {
            minimum,
            maximum,
            unit: maximum - minimum,
            overlap_minimum: config.overlap_minimum.clamp(0.0, overlap_maximum),
            overlap_maximum,
            block: config.block_limit_tokens.max(maximum),
        }
    }

    /// Text before a long unbreakable block that is too short to be a leaf of its own.
    fn lead_in(&self) -> usize {
        self.minimum / 4
    }
}

/// The smallest part that is kept together.
#[derive(Debug)]
struct Unit {
    range: Range<usize>,
    tokens: usize,
    /// How good a cut after it is.
    after: Break,
    unbreakable: bool,
}

/// Cuts the blocks. `counts` are the tokens of all blocks of the outline.
pub(super) fn cut(
    outline: &Outline<'_>,
    blocks: Range<usize>,
    counts: &[usize],
    limits: &Limits,
    tokens: &dyn TokenCounter,
) -> Vec<Piece> {
    let mut units = Vec::new();
    for position in blocks {
        if let (Some(block), Some(count)) = (outline.blocks.get(position), counts.get(position)) {
            split_block(outline, block, *count, limits, tokens, &mut units);
        }
    }
    Packing::new(outline, limits, tokens, &units).run()
}

fn split_block(
    outline: &Outline<'_>,
    block: &Block,
    tokens_in: usize,
    limits: &Limits,
    tokens: &dyn TokenCounter,
    units: &mut Vec<Unit>,
) {
    let whole = |after| Unit {
        range: block.range.clone(),
        tokens: tokens_in,
        after,
        unbreakable: block.kind.is_unbreakable(),
    };
    if block.kind.is_unbreakable() {
        if tokens_in <= limits.block {
            units.push(whole(Break::Block))
        } else {
            split_lines(outline, block, limits, tokens, units)
        }
        return;
    }
    if matches!(block.kind, BlockKind::Heading(_)) && tokens_in <= limits.unit {
        // A cut right after a heading is the worst one.
        units.push(whole(Break::Character));
        return;
    }
    split_text(outline, &block.range, tokens, limits, units);
    if let Some(last) = units.last_mut() {
        last.after = Break::Block;
    }
}

/// A block over the safety limit, at line ends; a single line over the limit stays whole.
fn split_lines(
    outline: &Outline<'_>,
    block: &Block,
    limits: &Limits,
    tokens: &dyn TokenCounter,
    units: &mut Vec<Unit>,
) {
    let mut start = block.range.start;
    let mut end = start;
    let mut sum = 0;
    for line in outline.text(block.range.clone()).split_inclusive('\n') {
        let line_tokens = count(tokens, line);
        if sum + line_tokens > limits.block && end > start {
            units.push(Unit {
                range: start..end,
                tokens: sum,
                after: Break::Clause,
                unbreakable: true,
            });
            (start, sum) = (end, 0);
        }
        end += line.len();
        sum += line_tokens;
    }
    units.push(Unit {
        range: start..block.range.end,
        tokens: sum,
        after: Break::Block,
        unbreakable: true,
    });
}

/// Text as sentences; a long sentence as clauses; a long clause as runs of words, and of characters
/// if need be.
fn split_text(
    outline: &Outline<'_>,
    range: &Range<usize>,
    tokens: &dyn TokenCounter,
    limits: &Limits,
    units: &mut Vec<Unit>,
) {
    let text = outline.text(range.clone());
    let spans = relative(outline.spans_in(range), range.start);
    for sentence in consecutive(&sentence_ends(text, &spans)) {
        let sentence_text = text.get(sentence.clone()).unwrap_or_default();
        let sentence_tokens = count(tokens, sentence_text);
        if sentence_tokens <= limits.unit {
            units.push(Unit {
                range: shift(sentence, range.start),
                tokens: sentence_tokens,
                after: Break::Sentence,
                unbreakable: false,
            });
            continue;
        }
        let inside = relative_within(&spans, &sentence);
        for clause in consecutive(&clause_ends(sentence_text, &inside)) {
            let clause_spans = relative_within(&inside, &clause);
            split_clause(
                sentence_text,
                clause,
                &clause_spans,
                range.start + sentence.start,
                tokens,
                limits,
                units,
            );
        }
        if let Some(last) = units.last_mut() {
            last.after = Break::Sentence;
        }
    }
}

/// A clause in runs that fit; a run that turns out too long is halved until it fits.
fn split_clause(
    sentence: &str,
    clause: Range<usize>,
    spans: &[Range<usize>],
    base: usize,
    tokens: &dyn TokenCounter,
    limits: &Limits,
    units: &mut Vec<Unit>,
) {
    let text = sentence.get(clause.clone()).unwrap_or_default();
    let mut waiting = vec![(0..text.len(), Break::Clause)];
    while let Some((run, after)) = waiting.pop() {
        let run_text = text.get(run.clone()).unwrap_or_default();
        let run_tokens = count(tokens, run_text);
        if run_tokens <= limits.unit || run_text.chars().nth(1).is_none() {
            let range = base + clause.start + run.start..base + clause.start + run.end;
            units.push(Unit {
                range,
                tokens: run_tokens,
                after,
                unbreakable: false,
            });
            continue;
        }
        let bytes = (run_text.len() as f64 * limits.unit as f64 * 0.8 / run_tokens as f64) as usize;
        let bytes = bytes.clamp(4, (run_text.len() / 2).max(4));
        let ends = run_ends(run_text, bytes, &relative_within(spans, &run));
        let mut start = run.start;
        let mut parts: Vec<(Range<usize>, Break)> = Vec::with_capacity(ends.len());
        for (end, kind) in ends {
            parts.push((start..run.start + end, kind));
            start = run.start + end;
        }
        if let Some(last) = parts.last_mut() {
            last.1 = after;
        }
        waiting.extend(parts.into_iter().rev());
    }
}

fn consecutive(ends: &[usize]) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts
        .zip(ends.iter().copied())
        .map(|(start, end)| start..end)
        .collect()
}

fn shift(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

fn relative(spans: &[Range<usize>], base: usize) -> Vec<Range<usize>> {
    spans
        .iter()
        .map(|span| span.start - base..span.end - base)
        .collect()
}

fn relative_within(spans: &[Range<usize>], range: &Range<usize>) -> Vec<Range<usize>> {
    let first = spans.partition_point(|span| span.start < range.start);
    let last = spans.partition_point(|span| span.start < range.end);
    relative(spans.get(first..last).unwrap_or_default(), range.start)
}

/// Joins units to pieces.
struct Packing<'a> {
    outline: &'a Outline<'a>,
    limits: &'a Limits,
    tokens: &'a dyn TokenCounter,
    units: &'a [Unit],
    /// Tokens before each unit, and of all of them.
    before: Vec<usize>,
    pieces: Vec<Piece>,
}

/// Where the next piece begins before its first unit, and the tokens up to there.
#[derive(Clone, Copy)]
struct Overlap {
    start: usize,
    tokens: usize,
}

impl<'a> Packing<'a> {
    fn new(
        outline: &'a Outline<'a>,
        limits: &'a Limits,
        tokens: &'a dyn TokenCounter,
        units: &'a [Unit],
    ) -> Self {
        let mut before = Vec::with_capacity(units.len() + 1);
        let mut sum = 0;
        before.push(0);
        for unit in units {
            sum += unit.tokens;
            before.push(sum);
        }
        Self {
            outline,
            limits,
            tokens,
            units,
            before,
            pieces: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<Piece> {
        let mut first = 0;
        let mut overlap = None;
        while let Some(unit) = self.units.get(first) {
            if self.is_long_block(unit) {
                self.push(unit.range.clone(), unit.tokens, true);
                (first, overlap) = (first + 1, None);
                continue;
            }
            let none = Overlap {
                start: unit.range.start,
                tokens: 0,
            };
            let lead = overlap
                .take()
                .filter(|overlap: &Overlap| overlap.tokens + unit.tokens <= self.limits.maximum)
                .unwrap_or(none);
            (first, overlap) = self.next_piece(first, lead);
        }
        self.pieces
    }

    /// Makes the piece that begins with unit `first`; returns the unit after it and what the next
    /// piece repeats.
    fn next_piece(&mut self, first: usize, lead: Overlap) -> (usize, Option<Overlap>) {
        let fitting = self.fitting(first, lead.tokens);
        let end = match self.units.get(fitting) {
            None => fitting,
            Some(block) if self.is_long_block(block) => {
                if self.sum(first, fitting) <= self.limits.lead_in() {
                    let start = self
                        .units
                        .get(first)
                        .map_or(lead.start, |unit| unit.range.start);
                    self.push(start..block.range.end, self.sum(first, fitting + 1), true);
                    return (fitting + 1, None);
                }
                fitting
            }
            Some(_) => self.best_cut(first, fitting, lead.tokens),
        };
        let tokens = lead.tokens + self.sum(first, end);
        let stop = self
            .units
            .get(end - 1)
            .map_or(lead.start, |unit| unit.range.end);
        self.push(lead.start..stop, tokens, false);
        let overlap = if end < self.units.len() {
            self.overlap(first, end, tokens)
        } else {
            None
        };
        (end, overlap)
    }

    /// The unit after the last one that fits into a piece from `first` on; at least one does.
    fn fitting(&self, first: usize, lead_tokens: usize) -> usize {
        let mut end = first + 1;
        while let Some(unit) = self.units.get(end) {
            if self.is_long_block(unit)
                || lead_tokens + self.sum(first, end + 1) > self.limits.maximum
            {
                break;
            }
            end += 1;
        }
        end
    }

    /// The best break between the limits; the latest of equals. A cut that leaves too short a rest
    /// is taken only if no good one does not.
    fn best_cut(&self, first: usize, fitting: usize, lead_tokens: usize) -> usize {
        let length = |end: usize| lead_tokens + self.sum(first, end);
        let all = lead_tokens + self.sum(first, self.units.len());
        let leaves_rest = |end: usize| all - length(end) >= self.limits.minimum;
        let candidates = || {
            (first + 1..=fitting)
                .rev()
                .filter(|end| length(*end) >= self.limits.minimum)
        };
        let after = |end: usize| {
            self.units
                .get(end - 1)
                .map_or(Break::Character, |unit| unit.after)
        };
        let best = |ends: &mut dyn Iterator<Item = usize>| {
            // `max_by_key` keeps the last of equals, so going backwards needs an explicit
            // comparison.
            ends.fold(None, |best: Option<usize>, end| match best {
                Some(best) if after(best) >= after(end) => Some(best),
                _ => Some(end),
            })
        };
        let balanced = best(&mut candidates().filter(|end| leaves_rest(*end)))
            .filter(|end| after(*end) >= Break::Sentence);
        balanced
            .or_else(|| best(&mut candidates()))
            .unwrap_or(fitting)
    }

    /// What the piece after `first..end` repeats: whole sentences where their length allows, else
    /// the end of one.
    fn overlap(&self, first: usize, end: usize, piece_tokens: usize) -> Option<Overlap> {
        let most = (piece_tokens as f64 * self.limits.overlap_maximum) as usize;
        let least = (piece_tokens as f64 * self.limits.overlap_minimum).ceil() as usize;
        let mut start = end;
        while start > first + 1 {
            let unit = self.units.get(start - 1)?;
            if unit.unbreakable || self.sum(start - 1, end) > most {
                break;
            }
            start -= 1;
        }
        let whole = self.sum(start, end);
        let begin = self.units.get(start).map(|unit| unit.range.start)?;
        let partial = self
            .units
            .get(start.checked_sub(1)?)
            .filter(|unit| whole < least && !unit.unbreakable && start > first);
        if let Some(overlap) = partial.and_then(|unit| self.tail(unit, least - whole, most - whole))
        {
            return Some(Overlap {
                start: overlap.start,
                tokens: whole + overlap.tokens,
            });
        }
        (whole > 0).then_some(Overlap {
            start: begin,
            tokens: whole,
        })
    }

    /// The end of a unit with between `least` and `most` tokens: from a clause on, else from a word
    /// or character on.
    fn tail(&self, unit: &Unit, least: usize, most: usize) -> Option<Overlap> {
        let text = self.outline.text(unit.range.clone());
        let spans = relative(self.outline.spans_in(&unit.range), unit.range.start);
        let fits = |start: usize| {
            let tokens = count(self.tokens, text.get(start..)?);
            (least..=most).contains(&tokens).then_some(Overlap {
                start: unit.range.start + start,
                tokens,
            })
        };
        let clauses = clause_ends(text, &spans);
        let at_clause = clauses
            .iter()
            .rev()
            .skip(1)
            .take(16)
            .find_map(|start| fits(*start));
        at_clause.or_else(|| {
            let share = (least + most) as f64 / 2.0 / unit.tokens.max(1) as f64;
            let guess = text.len() - ((text.len() as f64 * share) as usize).min(text.len());
            let guess = floor_boundary(text, guess);
            let word = text
                .get(..guess)?
                .rfind(char::is_whitespace)
                .map(|space| floor_boundary(text, space + 1));
            let outside = |start: &usize| {
                !spans
                    .iter()
                    .any(|span| span.start < *start && *start < span.end)
            };
            word.filter(outside)
                .and_then(fits)
                .or_else(|| Some(guess).filter(outside).and_then(fits))
        })
    }

    fn is_long_block(&self, unit: &Unit) -> bool {
        unit.unbreakable && unit.tokens > self.limits.maximum
    }

    fn sum(&self, first: usize, end: usize) -> usize {
        match (self.before.get(first), self.before.get(end)) {
            (Some(before), Some(all)) => all - before,
            _ => 0,
        }
    }

    fn push(&mut self, range: Range<usize>, tokens: usize, is_block: bool) {
        self.pieces.push(Piece {
            range,
            tokens,
            is_block,
        });
    }
}
