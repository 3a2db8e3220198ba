//! Conditions of the preprocessor: which of their branches the grammar is to see.

use std::ops::Range;

/// Conditions in more than this many others are left alone.
const DEEPEST: usize = 32;

/// What is open at a place.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct State {
    braces: i64,
    brackets: i64,
    /// The last byte that is no blank.
    last: u8,
}

impl State {
    fn is_as_deep(self, other: Self) -> bool {
        (self.braces, self.brackets) == (other.braces, other.brackets)
    }

    /// Whether nothing that began before is unfinished here.
    fn is_between(self) -> bool {
        self.braces > 0 || matches!(self.last, b';' | b'}' | 0)
    }
}

/// A condition that is open.
struct Condition {
    before: State,
    /// Ranges of its branches, and what is open at their ends.
    branches: Vec<(Range<usize>, State)>,
    start: usize,
    /// Its first branch is never compiled as C.
    is_off: bool,
}

/// The conditions that are open at a place.
#[derive(Default)]
pub(super) struct Branches {
    state: State,
    open: Vec<Condition>,
    went_below: bool,
}

impl Branches {
    /// Takes note of a byte of code.
    pub fn see(&mut self, byte: u8) {
        match byte {
            b'{' => self.state.braces += 1,
            b'}' => self.state.braces -= 1,
            b'(' => self.state.brackets += 1,
            b')' => self.state.brackets -= 1,
            _ => {}
        }
        self.went_below |= self.state.braces < 0;
        self.state.last = byte;
    }

    /// Whether every brace that is opened is closed.
    pub fn is_balanced(&self) -> bool {
        self.state.braces == 0 && !self.went_below
    }

    /// A condition begins; its first branch at `start`.
    pub fn open(&mut self, start: usize, word: &str, condition: &str) {
        let is_off = match word {
            "if" => matches!(condition, "0" | "defined(__cplusplus)"),
            "ifdef" => condition == "__cplusplus",
            _ => false,
        };
        self.open.push(Condition {
            before: self.state,
            branches: Vec::new(),
            start,
            is_off,
        });
    }

    /// A branch ends at `end`, the next one begins at `start`.
    pub fn next(&mut self, end: usize, start: usize) {
        let state = self.state;
        if let Some(condition) = self.open.last_mut() {
            condition.branches.push((condition.start..end, state));
            condition.start = start;
            self.state = condition.before;
        }
    }

    /// A condition ends; the branches that are to be taken out. `opens_block`: a block begins after
    /// it.
    pub fn close(&mut self, end: usize, opens_block: bool) -> Vec<Range<usize>> {
        self.next(end, end);
        let Some(condition) = self.open.pop() else {
            return Vec::new();
        };
        let branches = condition.branches;
        let before = condition.before;
        let first = usize::from(condition.is_off);
        let is_whole = |(_, end): &(Range<usize>, State)| {
            end.is_as_deep(before) && (end.is_between() || !opens_block)
        };
        let rest = branches.get(first..).unwrap_or_default();
        let keeps_all = rest.iter().all(is_whole);
        let kept = rest.first().map_or(before, |(_, end)| *end);
        self.state = match keeps_all {
            true => rest.last().map_or(before, |(_, end)| *end),
            false => kept,
        };
        let is_out = |at: usize| at < first || (at > first && !keeps_all);
        let all = branches.into_iter().enumerate();
        all.filter(|(at, _)| is_out(*at) && self.open.len() < DEEPEST)
            .map(|(_, (range, _))| range)
            .collect()
    }
}
