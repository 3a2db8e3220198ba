//! Parts of slices and texts whose bounds were found in them a moment before. Bounds that a
//! document states are another matter: those are looked up with `get`, and what is missing is said.

use std::slice::SliceIndex;

/// A part of a slice. The caller found its bounds there; builds with debug assertions check that,
/// others give nothing rather than end the conversion.
pub(crate) fn part<T>(items: &[T], bounds: impl SliceIndex<[T], Output = [T]>) -> &[T] {
    let found = items.get(bounds);
    debug_assert!(found.is_some(), "bounds outside of their slice");
    found.unwrap_or_default()
}

/// The same of a text, between characters.
pub(crate) fn text_part(text: &str, bounds: impl SliceIndex<str, Output = str>) -> &str {
    let found = text.get(bounds);
    debug_assert!(found.is_some(), "bounds outside of their text");
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_their_bounds_say() {
        assert_eq!(part(&[1, 2, 3], 1..), [2, 3]);
        assert_eq!(text_part("表a", ..3), "表");
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "outside of their text")]
    fn bounds_within_a_character_are_a_fault_of_ours() {
        text_part("表a", 1..);
    }
}
