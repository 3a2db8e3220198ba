//! A text without its long runs of blanks, for the grammar, which reads those byte by byte; and the
//! way back to the places of the text.

use std::ops::Range;

/// Shorter runs of blanks stay.
const LEAST_RUN: usize = 16;

/// A shortened text.
#[derive(Default)]
pub(super) struct Compact {
    pub text: String,
    /// Where parts begin here, and where they began.
    parts: Vec<(usize, usize)>,
}

impl Compact {
    pub fn new(text: &str) -> Self {
        let mut compact = Self::default();
        let (mut start, mut blanks) = (0, 0);
        for (at, byte) in text.bytes().enumerate() {
            if byte.is_ascii_whitespace() {
                blanks += 1;
                continue;
            }
            if blanks >= LEAST_RUN {
                compact.add(text, start..at - blanks);
                start = at;
            }
            blanks = 0;
        }
        compact.add(text, start..text.len());
        compact
    }

    fn add(&mut self, text: &str, part: Range<usize>) {
        self.parts.push((self.text.len(), part.start));
        self.text.push_str(text.get(part).unwrap_or_default());
        self.text.push('\n');
    }

    /// Where a range was.
    pub fn original(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.place(range.start);
        let end = match range.end.checked_sub(1) {
            Some(last) if range.end > range.start => self.place(last) + 1,
            _ => start,
        };
        start..end
    }

    fn place(&self, at: usize) -> usize {
        let after = self.parts.partition_point(|(start, _)| *start <= at);
        let part = after.checked_sub(1).and_then(|at| self.parts.get(at));
        part.map_or(at, |(start, original)| original + (at - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_again() {
        let text = format!(
            "int f() {{{}}}\n int 载;{}g",
            " ".repeat(40),
            "\n".repeat(20)
        );
        let compact = Compact::new(&text);
        assert_eq!(compact.text, "int f() {\n}\n int 载;\ng\n");
        for word in ["int f()", "}", "载", "g"] {
            let at = compact.text.rfind(word).unwrap_or_default();
            let original = compact.original(&(at..at + word.len()));
            assert_eq!(text.get(original), Some(word));
        }
    }
}
