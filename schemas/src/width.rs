//! Letters, digits and signs as East Asian keyboards write them (Unicode's half-width and full-width forms).

/// A character of ASCII for its full-width form (U+FF01 to U+FF5E), others as they are.
#[inline]
pub fn to_half_width(character: char) -> char {
    const DISTANCE: u32 = 0xFEE0;
    match character {
        '\u{FF01}'..='\u{FF5E}' => {
            char::from_u32(u32::from(character) - DISTANCE).unwrap_or(character)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_width_forms_of_ascii_alone_are_narrow() {
        let narrow: String = "！Ａｚ０～　。あ".chars().map(to_half_width).collect();
        assert_eq!(narrow, "!Az0~　。あ");
    }
}
