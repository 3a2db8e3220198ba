//! Cuts code that is too long: at blank lines and lines that begin at the margin where it can, at any
//! line end else, and within a line only where that alone is too long.

use std::ops::Range;

use tributary_models::TokenCounter;

use super::super::count;

/// A part of a text, and its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub range: Range<usize>,
    pub tokens: usize,
}

/// Cuts a text into pieces of at most `limit` tokens; one if it has no more.
pub(super) fn cut(text: &str, limit: usize, tokens: &dyn TokenCounter) -> Vec<Piece> {
    /// No token is that long on the average of a text worth counting as one.
    const LONGEST_TOKEN: usize = 8;
    if text.len() <= limit.saturating_mul(LONGEST_TOKEN) {
        let all = count(tokens, text);
        if all <= limit {
            return vec![Piece {
                range: 0..text.len(),
                tokens: all,
            }];
        }
    }
    let mut cutting = Cutting {
        text,
        limit,
        start: 0,
        end: 0,
        tokens: 0,
        good: None,
        pieces: Vec::new(),
    };
    for line in text.split_inclusive('\n') {
        for run in runs(line, limit, tokens) {
            cutting.add(run);
        }
    }
    cutting.close(cutting.end, cutting.tokens);
    cutting.pieces
}

struct Cutting<'a> {
    text: &'a str,
    limit: usize,
    start: usize,
    end: usize,
    tokens: usize,
    /// The last good place to cut, and the tokens before it.
    good: Option<(usize, usize)>,
    pieces: Vec<Piece>,
}

impl Cutting<'_> {
    fn add(&mut self, run: Piece) {
        let line = self.text.get(self.end..self.end + run.range.len());
        let line = line.unwrap_or_default();
        let is_good = line.trim().is_empty() || !line.starts_with([' ', '\t', '}', ')']);
        if is_good && self.tokens > self.limit / 2 {
            self.good = Some((self.end, self.tokens));
        }
        if self.is_full_with(run.tokens) {
            let (at, tokens) = self.good.take().unwrap_or((self.end, self.tokens));
            self.close(at, tokens);
        }
        // What stays from before a good place may still be too much.
        if self.is_full_with(run.tokens) {
            self.close(self.end, self.tokens);
        }
        self.end += run.range.len();
        self.tokens += run.tokens;
    }

    /// Whether that many tokens more are too many for the piece that is open.
    fn is_full_with(&self, tokens: usize) -> bool {
        self.tokens + tokens > self.limit && self.end > self.start
    }

    fn close(&mut self, at: usize, tokens: usize) {
        if at > self.start {
            self.pieces.push(Piece {
                range: self.start..at,
                tokens,
            });
        }
        self.start = at;
        self.tokens -= tokens;
        self.good = None;
    }
}

/// A line, in runs if it is too long.
fn runs(line: &str, limit: usize, tokens: &dyn TokenCounter) -> Vec<Piece> {
    let whole = 0..line.len();
    let mut waiting = Vec::from([whole]);
    let mut done = Vec::new();
    while let Some(range) = waiting.pop() {
        let run = line.get(range.clone()).unwrap_or_default();
        let fits = (run.len() <= limit.saturating_mul(8)).then(|| count(tokens, run));
        match fits {
            Some(tokens) if tokens <= limit || run.chars().nth(1).is_none() => {
                done.push(Piece { range, tokens });
            }
            _ => {
                let middle = range.start + half(run);
                waiting.push(middle..range.end);
                waiting.push(range.start..middle);
            }
        }
    }
    done
}

/// A place near the middle of a text: after a blank or sign if one is close.
fn half(text: &str) -> usize {
    const NEAR: usize = 256;
    let middle = text.floor_char_boundary(text.len() / 2);
    let middle = match middle {
        0 => text.chars().next().map_or(0, char::len_utf8),
        middle => middle,
    };
    let near = text.ceil_char_boundary(middle.saturating_sub(NEAR));
    let before = text.get(near..middle).unwrap_or_default();
    let sign = before.rfind([' ', ';', ',', '}']);
    sign.map_or(middle, |at| near + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes;

    impl TokenCounter for Bytes {
        fn count(&self, text: &str) -> usize {
            text.len()
        }
    }

    fn texts(text: &str, limit: usize) -> Vec<&str> {
        let pieces = cut(text, limit, &Bytes);
        assert!(pieces.iter().all(|piece| piece.tokens == piece.range.len()));
        let texts = pieces
            .into_iter()
            .map(|piece| text.get(piece.range).unwrap_or_default());
        texts.collect()
    }

    #[test]
    fn code_is_cut_where_it_hurts_least() {
        assert_eq!(texts("ab\ncd\n", 9), ["ab\ncd\n"]);
        assert_eq!(texts("ab\n cd\nef\n gh\n", 12), ["ab\n cd\n", "ef\n gh\n"]);
        assert_eq!(texts(" ab\n cd\n ef\n", 8), [" ab\n cd\n", " ef\n"]);
        assert_eq!(texts("abcdef", 3), ["abc", "def"]);
        assert_eq!(texts("载波聚合", 6), ["载波", "聚合"]);
    }

    #[test]
    fn nothing_is_lost_of_a_long_line() {
        let line = "a b;".repeat(10_000);
        let pieces = texts(&line, 100);
        assert!(pieces.iter().all(|piece| piece.len() <= 100));
        assert_eq!(pieces.concat(), line);
    }
}
