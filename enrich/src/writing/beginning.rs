//! The beginning of a text that is too long to be shown whole.

use tributary_models::TokenCounter;

use crate::chunkers::count;

/// Stands where text is left out.
pub(crate) const LEFT_OUT: &str = " …";

/// As much of the beginning of a text as has at most so many tokens.
pub(crate) fn beginning(text: &str, limit: usize, tokens: &dyn TokenCounter) -> String {
    /// More bytes make one token nowhere but in lines of one sign.
    const BYTES_OF_A_TOKEN: usize = 8;
    let mut end = text.len().min(limit.saturating_mul(BYTES_OF_A_TOKEN));
    loop {
        end = text.floor_char_boundary(end);
        let shown = text.get(..end).unwrap_or_default();
        let counted = count(tokens, shown);
        if counted <= limit {
            let sign = if end < text.len() { LEFT_OUT } else { "" };
            return format!("{}{sign}", shown.trim_end());
        }
        // Somewhat less than in proportion, so that it ends soon.
        end = (end * limit / counted).min(end - 1) * 19 / 20;
    }
}
