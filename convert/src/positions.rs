//! Raised and lowered text as the characters of that kind, so that 2¹⁰ does not read 210.

/// Longest raised or lowered text in characters that is written in characters of that kind.
const MAXIMUM_CHARACTERS: usize = 6;

/// Superscript; endings such as `th`, longer text and text with other characters stay plain.
pub(crate) fn raised(text: &str) -> String {
    if matches!(text, "st" | "nd" | "rd" | "th" | "er" | "re" | "ère") {
        return text.to_owned();
    }
    shifted(
        text,
        "0123456789+-−=()abcdefghijklmnoprstuvwxyz",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ",
    )
}

/// Subscript; longer text and text with other characters stay plain.
pub(crate) fn lowered(text: &str) -> String {
    shifted(
        text,
        "0123456789+-−=()aehijklmnoprstuvx",
        "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ",
    )
}

fn shifted(text: &str, plain: &str, shifted: &str) -> String {
    if text.chars().count() > MAXIMUM_CHARACTERS {
        return text.to_owned();
    }
    let counterpart = |character: char| {
        plain
            .chars()
            .zip(shifted.chars())
            .find(|(plain, _)| *plain == character)
            .map(|(_, shifted)| shifted)
    };
    text.chars()
        .map(counterpart)
        .collect::<Option<String>>()
        .unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_such_character_stays_plain() {
        for (text, expected) in [
            ("10", "¹⁰"),
            ("n-1", "ⁿ⁻¹"),
            ("th", "th"),
            ("[1]", "[1]"),
            ("1234567", "1234567"),
            ("Q", "Q"),
            ("", ""),
        ] {
            assert_eq!(raised(text), expected);
        }
        assert_eq!(
            (lowered("2"), lowered("max")),
            ("₂".to_owned(), "ₘₐₓ".to_owned())
        );
    }
}
