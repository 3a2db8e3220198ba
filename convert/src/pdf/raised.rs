//! Raised figures as the characters of that kind: 10⁵ does not read 105, and the number of a note is
//! no part of the word before it.

use std::ops::Range;

use super::characters::{Character, Glyph};
use crate::positions::{self, digit};

/// Largest raised figures, and how far they stand above the line, both relative to the letters
/// beside them.
const SMALLER: f32 = 0.85;
const RISE: Range<f32> = 0.18..0.75;

/// Widest gap to the letters that they stand behind, and to those that they stand before, in sizes
/// of these.
const GAP_BEHIND: f32 = 0.35;
const GAP_BEFORE: f32 = 1.2;

/// How far above the line a glyph of a raised figure ends below, and how high it is, in sizes of its
/// letters: other figures stand on the line or reach below it.
const GLYPH_RISE: Range<f32> = 0.2..0.7;
const GLYPH_HEIGHT: Range<f32> = 0.2..0.6;

/// Whether a glyph is that of a raised figure: by its lower end above the line and its height, in
/// sizes of its letters.
pub(super) fn is_drawn_raised(end: f32, height: f32) -> bool {
    GLYPH_RISE.contains(&end) && GLYPH_HEIGHT.contains(&height)
}

/// Replaces the raised figures of a page.
pub(super) fn mark(glyphs: &mut [Glyph]) {
    let mut start = 0;
    while let Some(first) = glyphs.get(start) {
        let rest = glyphs.get(start + 1..).unwrap_or_default();
        let more = match drawn(first) {
            Some(first) => rest.iter().take_while(|next| is_like(&first, next)).count(),
            None => 0,
        };
        let run = start..start + 1 + more;
        if let Some(raised) = raised_run(glyphs, &run) {
            let run = glyphs.get_mut(run.clone()).unwrap_or_default();
            for (glyph, value) in run.iter_mut().zip(raised.chars()) {
                if let Glyph::Drawn(character) = glyph {
                    character.value = value;
                }
            }
        }
        start = run.end;
    }
}

/// The number before a text in raised figures, and what stands behind it; empty without one.
pub(super) fn split_number(text: &str) -> (String, &str) {
    let rest = text.trim_start_matches(is_raised);
    let raised = text.get(..text.len() - rest.len()).unwrap_or_default();
    (raised.chars().filter_map(digit).collect(), rest)
}

/// Whether a character is a raised figure, or a parenthesis around such.
pub(super) fn is_raised(character: char) -> bool {
    digit(character).is_some() || matches!(character, '⁽' | '⁾')
}

/// The characters of a run as raised ones; `None` if it is none, has no figure, or signs that have no
/// raised form.
fn raised_run(glyphs: &[Glyph], run: &Range<usize>) -> Option<String> {
    let characters = || glyphs.get(run.clone()).unwrap_or_default().iter();
    let text: String = characters()
        .filter_map(|glyph| drawn(glyph).map(|character| character.value))
        .collect();
    if !text.contains(|sign: char| sign.is_ascii_digit()) {
        return None;
    }
    // Numbers of sources stand behind each other: ¹,³.
    let parts: Vec<String> = text.split(',').map(positions::raised).collect();
    let raised = parts.join(",");
    let is_raised = |(part, plain): (&String, &str)| part != plain;
    if raised.chars().count() != text.chars().count()
        || !parts.iter().zip(text.split(',')).all(is_raised)
    {
        return None;
    }
    let (first, last) = (
        drawn(glyphs.get(run.start)?)?,
        drawn(glyphs.get(run.end - 1)?)?,
    );
    let before = glyphs.get(..run.start)?.iter().rev().find_map(drawn);
    let after = glyphs.get(run.end..)?.iter().find_map(drawn);
    let is_behind = |base: &Character| {
        let gap = gap(base, &first);
        is_above(&first, base) && (-GAP_BEHIND..GAP_BEHIND).contains(&gap)
    };
    let is_before = |base: &Character| {
        let gap = gap(&last, base);
        is_above(&first, base) && (-GAP_BEHIND..GAP_BEFORE).contains(&gap)
    };
    let stands_raised =
        before.as_ref().is_some_and(is_behind) || after.as_ref().is_some_and(is_before);
    stands_raised.then_some(raised)
}

fn drawn(glyph: &Glyph) -> Option<Character> {
    match glyph {
        Glyph::Drawn(character) => Some(*character),
        _ => None,
    }
}

/// Whether a glyph goes on with the run of a character: of the same size, on the same line.
fn is_like(first: &Character, next: &Glyph) -> bool {
    drawn(next).is_some_and(|next| {
        let size = first.style.size;
        next.style.quarters == first.style.quarters
            && (next.style.size - size).abs() < 0.05 * size
            && (next.baseline - first.baseline).abs() < 0.1 * size
    })
}

/// Whether one is raised against the other.
fn is_above(raised: &Character, base: &Character) -> bool {
    let size = base.style.size.max(0.1);
    base.style.quarters == raised.style.quarters
        && raised.style.size <= SMALLER * size
        && RISE.contains(&((base.baseline - raised.baseline) / size))
}

/// From one character to the one beside it, on either side, in sizes of the larger one.
fn gap(one: &Character, next: &Character) -> f32 {
    let size = one.style.size.max(next.style.size).max(0.1);
    let to_the_right = next.area.left - one.area.right;
    let to_the_left = one.area.left - next.area.right;
    to_the_right.max(to_the_left) / size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::characters::Style;
    use crate::pdf::geometry::Area;

    /// Glyphs of `(text, size, baseline)` beside each other; blanks are typed.
    fn line(parts: &[(&str, f32, f32)]) -> Vec<Glyph> {
        let mut left = 0.0;
        let mut glyphs = Vec::new();
        for (text, size, baseline) in parts {
            for value in text.chars() {
                let right = left + 0.5 * size;
                let area = Area {
                    left,
                    right,
                    top: baseline - 0.8 * size,
                    bottom: baseline + 0.2 * size,
                };
                left = right;
                glyphs.push(match value {
                    ' ' => Glyph::Space,
                    value => Glyph::Drawn(Character {
                        value,
                        area,
                        baseline: *baseline,
                        style: Style {
                            size: *size,
                            quarters: Some(0),
                            ..Style::default()
                        },
                        link: None,
                        content: Default::default(),
                        is_guessed: false,
                    }),
                });
            }
        }
        glyphs
    }

    fn marked(parts: &[(&str, f32, f32)]) -> String {
        let mut glyphs = line(parts);
        mark(&mut glyphs);
        let value = |glyph: &Glyph| drawn(glyph).map_or(' ', |character| character.value);
        glyphs.iter().map(value).collect()
    }

    #[test]
    fn raised_figures_become_such() {
        assert_eq!(marked(&[("10", 10.0, 100.0), ("5", 7.0, 96.4)]), "10⁵");
        assert_eq!(
            marked(&[("10", 10.0, 100.0), ("-3", 7.0, 96.4), (" m", 10.0, 100.0)]),
            "10⁻³ m"
        );
        assert_eq!(
            marked(&[
                ("power", 10.0, 100.0),
                ("1,12", 7.0, 96.4),
                (" of", 10.0, 100.0)
            ]),
            "power¹,¹² of"
        );
        // The number before a note.
        assert_eq!(
            marked(&[("2", 6.0, 97.0), (" Measured", 8.0, 100.0)]),
            "² Measured"
        );
    }

    #[test]
    fn other_figures_stay() {
        for parts in [
            // Lowered.
            [("H", 10.0, 100.0), ("2", 7.0, 101.5)],
            // As large as the text, far off, too high, and no figure.
            [("x", 10.0, 100.0), ("2", 9.5, 96.0)],
            [("x  ", 10.0, 100.0), ("2", 7.0, 96.0)],
            [("x", 10.0, 100.0), ("2", 7.0, 90.0)],
            [("4", 10.0, 100.0), ("th", 7.0, 96.4)],
        ] {
            let plain: String = parts.iter().map(|(text, _, _)| *text).collect();
            assert_eq!(marked(&parts), plain);
        }
    }

    #[test]
    fn numbers_are_split_off() {
        let table = [
            ("¹² Text", "12", " Text"),
            ("⁽³⁾文字", "3", "文字"),
            ("12 Text", "", "12 Text"),
            ("", "", ""),
        ];
        for (text, number, rest) in table {
            assert_eq!(split_number(text), (number.to_owned(), rest));
        }
    }
}
