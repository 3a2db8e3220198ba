//! What a body of C calls: names before a round bracket.

use std::ops::Range;

use super::definitions::Call;

/// Stands before a round bracket and is no name.
const KEYWORDS: [&[u8]; 16] = [
    b"if",
    b"for",
    b"while",
    b"switch",
    b"return",
    b"sizeof",
    b"do",
    b"else",
    b"case",
    b"defined",
    b"typeof",
    b"__typeof__",
    b"__attribute__",
    b"_Alignof",
    b"asm",
    b"__asm__",
];

/// Calls in a part of a file, in order. Comments and strings are blanks there.
pub(super) fn of(text: &[u8], range: Range<usize>) -> Vec<Call> {
    let mut calls = Vec::new();
    // The last word, while nothing but blanks follow it.
    let mut word: Option<Range<usize>> = None;
    let part = text.get(range.clone()).unwrap_or_default();
    for (at, byte) in part.iter().enumerate() {
        let at = range.start + at;
        match byte {
            byte if byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80 => {
                word = match word {
                    Some(word) if word.end == at => Some(word.start..at + 1),
                    _ => Some(at..at + 1),
                };
            }
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'(' => {
                let called = word.take().filter(|word| is_name(text, word));
                calls.extend(called.map(|name| Call { name }));
            }
            _ => word = None,
        }
    }
    calls
}

fn is_name(text: &[u8], word: &Range<usize>) -> bool {
    let word = text.get(word.clone()).unwrap_or_default();
    !word.first().is_none_or(u8::is_ascii_digit) && !KEYWORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_before_round_brackets_are_called() {
        let code = "{ if (a) b (c->d(1), 2); else return (e); (*f)(sizeof(g)); 3(h); }";
        let calls = of(code.as_bytes(), 0..code.len());
        let names: Vec<&str> = calls
            .iter()
            .filter_map(|call| code.get(call.name.clone()))
            .collect();
        assert_eq!(names, ["b", "d"]);
    }
}
