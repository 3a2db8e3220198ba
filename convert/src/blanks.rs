//! White space in text that is set anew.

/// The text on one line, with single blanks for white space.
pub(crate) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
