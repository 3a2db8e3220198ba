//! Colours and cursor movements of a terminal in what was pasted from one.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

/// The text without control sequences (`ESC [ 1 ; 31 m`), also where what carried it here has dropped
/// the escape sign: `[1;31m` colours, `[0m` ends colours. Linear in its length.
pub fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains([ESCAPE, '[']) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([ESCAPE, '[']) {
        let (before, sequence) = rest.split_at(at);
        written.push_str(before);
        let length = length(sequence);
        // No sequence: the sign is a part of the text, an escape of nothing.
        let (sign, after) = sequence.split_at(length.unwrap_or(1));
        if length.is_none() && sign == "[" {
            written.push('[');
        }
        rest = after;
    }
    written.push_str(rest);
    Cow::Owned(written)
}

/// Bytes of the control sequence that the text begins with.
fn length(text: &str) -> Option<usize> {
    let bare = text.strip_prefix(ESCAPE);
    let body = bare.unwrap_or(text).strip_prefix('[')?;
    let end = body.find(|sign: char| !sign.is_ascii_digit() && !";?".contains(sign))?;
    let (parameters, last) = (body.get(..end)?, body.get(end..)?.chars().next()?);
    let is_sequence = match bare {
        Some(_) => last.is_ascii_alphabetic(),
        None => last == 'm' && is_colours(parameters),
    };
    is_sequence.then(|| text.len() - body.len() + end + 1)
}

/// What terminals write: `0`, `1;31`, `38;5;208`; not the `5m` of a length.
fn is_colours(parameters: &str) -> bool {
    let numbers: Option<Vec<u8>> = parameters.split(';').map(|one| one.parse().ok()).collect();
    match numbers.as_deref() {
        Some([0..=4 | 7 | 22..=24 | 27 | 30..=49 | 90..=107]) => true,
        Some(several) => several.len() > 1,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_with_their_escape_and_without_it() {
        for (text, expected) in [
            ("\u{1b}[1;31mRuntimeError\u{1b}[0m: x", "RuntimeError: x"),
            ("[1;31mRuntimeError[0m: x", "RuntimeError: x"),
            ("\u{1b}[2K\u{1b}[?25lloading", "loading"),
            (
                "a[0] [1, 2] [ERROR] [5m [999m]",
                "a[0] [1, 2] [ERROR] [5m [999m]",
            ),
            ("\u{1b}", ""),
            ("[", "["),
            ("没有", "没有"),
        ] {
            assert_eq!(without_escapes(text), expected);
        }
    }
}
