//! Raised and lowered text as the characters of that kind, so that 2¹⁰ does not read 210.

/// Raised figures in order.
const FIGURES: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/// Longest raised or lowered text in characters that is written in characters of that kind.
const MAXIMUM_CHARACTERS: usize = 6;

/// Superscript; endings such as `th`, longer text and text with other characters stay plain.
pub(crate) fn raised(text: &str) -> String {
    if matches!(text, "st" | "nd" | "rd" | "th" | "er" | "re" | "ère") {
        return text.to_owned();
    }
    shifted(text, |character| {
        figure(character).or_else(|| {
            counterpart(
                character,
                "+-−=()abcdefghijklmnoprstuvwxyz",
                "⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ",
            )
        })
    })
}

/// A figure as a raised one.
pub(crate) fn figure(digit: char) -> Option<char> {
    counterpart(digit, "0123456789", FIGURES)
}

/// The figure that is raised.
pub(crate) fn digit(raised: char) -> Option<char> {
    counterpart(raised, FIGURES, "0123456789")
}

/// Subscript; longer text and text with other characters stay plain.
pub(crate) fn lowered(text: &str) -> String {
    shifted(text, |character| {
        counterpart(
            character,
            "0123456789+-−=()aehijklmnoprstuvx",
            "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ",
        )
    })
}

/// The text with each character as another one; as it is if it is long or one has none.
fn shifted(text: &str, counterpart: impl Fn(char) -> Option<char>) -> String {
    if text.chars().count() > MAXIMUM_CHARACTERS {
        return text.to_owned();
    }
    let shifted: Option<String> = text.chars().map(counterpart).collect();
    shifted.unwrap_or_else(|| text.to_owned())
}

/// The character of the second text at the place that it has in the first.
fn counterpart(character: char, from: &str, to: &str) -> Option<char> {
    let at = from.chars().position(|other| other == character)?;
    to.chars().nth(at)
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
