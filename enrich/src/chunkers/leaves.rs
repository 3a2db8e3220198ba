//! Cuts a run of blocks into leaves: between the leaf limits, at the best semantic break, each
//! repeating the end of the one before; code, formulas and tables are never cut.

use std::ops::Range;

use tributary_models::TokenCounter;
use tributary_taxonomy::sentences::{Break, clause_ends, floor_boundary, run_ends, sentence_ends};

use super::count;
use crate::config::ChunkerConfig;
use crate::markdown::{Block, BlockKind, Outline};

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
    measure: Measure<'_>,
) -> Vec<Piece> {
    let mut splitting = Splitting {
        outline,
        measure,
        units: Vec::new(),
    };
    for position in blocks {
        if let (Some(block), Some(count)) = (outline.blocks.get(position), counts.get(position)) {
            splitting.block(block, *count);
        }
    }
    let units = splitting.units;
    Packing::new(outline, measure, &units).run()
}

/// By what lengths are measured, and how long leaves may be.
#[derive(Clone, Copy)]
pub(super) struct Measure<'a> {
    pub limits: &'a Limits,
    pub tokens: &'a dyn TokenCounter,
}

/// Splits blocks into units.
struct Splitting<'a> {
    outline: &'a Outline<'a>,
    measure: Measure<'a>,
    units: Vec<Unit>,
}

impl Splitting<'_> {
    fn block(&mut self, block: &Block, tokens: usize) {
        let limits = self.measure.limits;
        if block.kind.is_unbreakable() && tokens > limits.block {
            self.lines(block);
            return;
        }
        let is_heading = matches!(block.kind, BlockKind::Heading(_));
        let after = if block.kind.is_unbreakable() {
            Break::Block
        } else if is_heading && tokens <= limits.unit {
            // A cut right after a heading is the worst one.
            Break::Character
        } else {
            self.text(&block.range);
            self.end_with(Break::Block);
            return;
        };
        self.units.push(Unit {
            range: block.range.clone(),
            tokens,
            after,
            unbreakable: block.kind.is_unbreakable(),
        });
    }

    /// A block over the safety limit, at line ends; a single line over the limit stays whole.
    fn lines(&mut self, block: &Block) {
        let unit = |range, tokens, after| Unit {
            range,
            tokens,
            after,
            unbreakable: true,
        };
        let mut start = block.range.start;
        let mut end = start;
        let mut sum = 0;
        let outline = self.outline;
        for line in outline.text(block.range.clone()).split_inclusive('\n') {
            let tokens = count(self.measure.tokens, line);
            if sum + tokens > self.measure.limits.block && end > start {
                self.units.push(unit(start..end, sum, Break::Clause));
                (start, sum) = (end, 0);
            }
            end += line.len();
            sum += tokens;
        }
        let rest = start..block.range.end;
        self.units.push(unit(rest, sum, Break::Block));
    }

    /// Text as sentences; a long sentence as clauses; a long clause as runs of words, and of
    /// characters if need be.
    fn text(&mut self, range: &Range<usize>) {
        let outline = self.outline;
        let spans = relative(outline.spans_in(range), range.start);
        let text = Part {
            text: outline.text(range.clone()),
            start: range.start,
            spans,
        };
        for sentence in consecutive(&sentence_ends(text.text, &text.spans)) {
            let sentence = text.part(&sentence);
            let tokens = count(self.measure.tokens, sentence.text);
            if tokens <= self.measure.limits.unit {
                self.breakable(sentence.range(), tokens, Break::Sentence);
                continue;
            }
            for clause in consecutive(&clause_ends(sentence.text, &sentence.spans)) {
                self.clause(&sentence.part(&clause));
            }
            self.end_with(Break::Sentence);
        }
    }

    /// A clause in runs that fit; a run that turns out too long is halved until it fits.
    fn clause(&mut self, clause: &Part<'_>) {
        let mut waiting = vec![(0..clause.text.len(), Break::Clause)];
        while let Some((range, after)) = waiting.pop() {
            let run = clause.part(&range);
            let tokens = count(self.measure.tokens, run.text);
            if tokens <= self.measure.limits.unit || run.text.chars().nth(1).is_none() {
                self.breakable(run.range(), tokens, after);
                continue;
            }
            let ends = run_ends(run.text, self.run_bytes(run.text, tokens), &run.spans);
            let mut start = range.start;
            let mut parts: Vec<(Range<usize>, Break)> = Vec::with_capacity(ends.len());
            for (end, kind) in ends {
                parts.push((start..range.start + end, kind));
                start = range.start + end;
            }
            if let Some(last) = parts.last_mut() {
                last.1 = after;
            }
            waiting.extend(parts.into_iter().rev());
        }
    }

    /// Bytes of a run after which it is cut: somewhat fewer than a unit may have, at most half.
    fn run_bytes(&self, run: &str, tokens: usize) -> usize {
        let share = self.measure.limits.unit as f64 * 0.8 / tokens as f64;
        let bytes = (run.len() as f64 * share) as usize;
        bytes.clamp(4, (run.len() / 2).max(4))
    }

    fn breakable(&mut self, range: Range<usize>, tokens: usize, after: Break) {
        self.units.push(Unit {
            range,
            tokens,
            after,
            unbreakable: false,
        });
    }

    /// Says how good a cut after the last unit is.
    fn end_with(&mut self, after: Break) {
        if let Some(last) = self.units.last_mut() {
            last.after = after;
        }
    }
}

/// A part of the source, and the spans in it that are kept together, from its start on.
struct Part<'a> {
    text: &'a str,
    start: usize,
    spans: Vec<Range<usize>>,
}

impl<'a> Part<'a> {
    /// A part of this part.
    fn part(&self, range: &Range<usize>) -> Part<'a> {
        Part {
            text: self.text.get(range.clone()).unwrap_or_default(),
            start: self.start + range.start,
            spans: relative_within(&self.spans, range),
        }
    }

    /// Its place in the source.
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

fn consecutive(ends: &[usize]) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts
        .zip(ends.iter().copied())
        .map(|(start, end)| start..end)
        .collect()
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
    measure: Measure<'a>,
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
    fn new(outline: &'a Outline<'a>, measure: Measure<'a>, units: &'a [Unit]) -> Self {
        let mut before = Vec::with_capacity(units.len() + 1);
        let mut sum = 0;
        before.push(0);
        for unit in units {
            sum += unit.tokens;
            before.push(sum);
        }
        Self {
            outline,
            measure,
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
                .filter(|overlap: &Overlap| {
                    overlap.tokens + unit.tokens <= self.measure.limits.maximum
                })
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
                if self.sum(first, fitting) <= self.measure.limits.lead_in() {
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
                || lead_tokens + self.sum(first, end + 1) > self.measure.limits.maximum
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
        let leaves_rest = |end: usize| all - length(end) >= self.measure.limits.minimum;
        let candidates = || {
            (first + 1..=fitting)
                .rev()
                .filter(|end| length(*end) >= self.measure.limits.minimum)
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
        let maximum = (piece_tokens as f64 * self.measure.limits.overlap_maximum) as usize;
        let minimum = (piece_tokens as f64 * self.measure.limits.overlap_minimum).ceil() as usize;
        let mut start = end;
        while start > first + 1 {
            let unit = self.units.get(start - 1)?;
            if unit.unbreakable || self.sum(start - 1, end) > maximum {
                break;
            }
            start -= 1;
        }
        let whole = self.sum(start, end);
        let begin = self.units.get(start).map(|unit| unit.range.start)?;
        let partial = self
            .units
            .get(start.checked_sub(1)?)
            .filter(|unit| whole < minimum && !unit.unbreakable && start > first);
        if let Some(overlap) =
            partial.and_then(|unit| self.tail(unit, minimum - whole, maximum - whole))
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

    /// The end of a unit with between `minimum` and `maximum` tokens: from a clause on, else from a word
    /// or character on.
    fn tail(&self, unit: &Unit, minimum: usize, maximum: usize) -> Option<Overlap> {
        let text = self.outline.text(unit.range.clone());
        let spans = relative(self.outline.spans_in(&unit.range), unit.range.start);
        let fits = |start: usize| {
            let tokens = count(self.measure.tokens, text.get(start..)?);
            (minimum..=maximum).contains(&tokens).then_some(Overlap {
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
            let share = (minimum + maximum) as f64 / 2.0 / unit.tokens.max(1) as f64;
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
        unit.unbreakable && unit.tokens > self.measure.limits.maximum
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
