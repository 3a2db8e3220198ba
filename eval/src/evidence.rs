//! Whether a text holds a quote: white space, case and the width of characters do not count, nor
//! does what Markdown escapes.

use tributary_taxonomy::fold;

/// A text as quotes are looked for in: folded, without white space and without backslashes.
pub fn normalised(text: &str) -> String {
    let is_counted = |sign: &char| !sign.is_whitespace() && *sign != '\\';
    fold::fold(text).chars().filter(is_counted).collect()
}

/// Whether a normalised text holds a normalised quote.
pub fn holds(text: &str, quote: &str) -> bool {
    !quote.is_empty() && text.contains(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_found_across_line_ends_widths_and_escapes() {
        let holds = |text: &str, quote: &str| holds(&normalised(text), &normalised(quote));
        for (text, quote, expected) in [
            ("the file\n  NAME is set", "file name", true),
            ("最大发射\n功率为２３ｄＢｍ。", "最大发射功率为 23dBm", true),
            (r"set max\_power now", "max_power", true),
            ("載波聚合", "载波聚合", true),
            ("the fine name", "file name", false),
            ("anything", "  ", false),
        ] {
            assert_eq!(holds(text, quote), expected, "{quote} in {text}");
        }
    }
}
