//! Numbers beside the lines of a listing, which are no part of its code.

use super::segments::Segment;

/// How far apart numbers of one listing end, or begin, and how far from the line they count, in
/// points.
const SAME_EDGE: f32 = 1.5;
const SAME_LINE: f32 = 2.0;

/// Widest gap to the code, and step to the next number, in sizes of the code.
const WIDEST_GAP: f32 = 1.6;
const FARTHEST: f32 = 3.0;

/// Most digits of a number.
const MOST_DIGITS: usize = 4;

/// A number that may count a line.
#[derive(Clone, Copy)]
struct Number<'a> {
    at: usize,
    value: u32,
    segment: &'a Segment,
    /// The first segment of the line; `None` of a blank one.
    code: Option<&'a Segment>,
    /// Segments of the line.
    parts: usize,
}

/// The text of a region without such numbers: they stand close before letters of one width, below
/// each other, and count.
pub(super) fn without_numbers(segments: Vec<Segment>) -> Vec<Segment> {
    let mut by_line: Vec<&Segment> = segments.iter().collect();
    by_line.sort_by(|one, other| one.baseline.total_cmp(&other.baseline));
    let mut numbers: Vec<Number<'_>> = segments
        .iter()
        .enumerate()
        .filter_map(|(at, segment)| number(at, segment, &by_line))
        .collect();
    numbers.sort_by(|one, other| one.segment.baseline.total_cmp(&other.segment.baseline));
    let mut found: Vec<usize> = numbers
        .chunk_by(goes_on)
        .filter(|listing| is_listing(listing))
        .flatten()
        .map(|number| number.at)
        .collect();
    if found.is_empty() {
        return segments;
    }
    found.sort_unstable();
    let is_kept = |(at, _): &(usize, Segment)| found.binary_search(at).is_err();
    let kept = segments.into_iter().enumerate().filter(is_kept);
    kept.map(|(_, segment)| segment).collect()
}

/// A number with nothing left of it, and code alone right of it; all segments from the top down.
fn number<'a>(at: usize, segment: &'a Segment, all: &[&'a Segment]) -> Option<Number<'a>> {
    let text = segment.text.trim();
    let is_figure = |sign: char| sign.is_ascii_digit();
    if text.len() > MOST_DIGITS || !text.chars().all(is_figure) {
        return None;
    }
    let value = text.parse().ok()?;
    let above = all.partition_point(|other| other.baseline <= segment.baseline - SAME_LINE);
    let from = all.get(above..).unwrap_or_default().iter().copied();
    let beside = || {
        from.clone()
            .take_while(|other| other.baseline < segment.baseline + SAME_LINE)
            .filter(|other| !std::ptr::eq(*other, segment))
    };
    let is_right = |other: &Segment| other.area.left >= segment.area.right;
    if !beside().all(|other| is_right(other) && other.is_fixed_or_wide()) {
        return None;
    }
    let by_left = |one: &&Segment, other: &&Segment| one.area.left.total_cmp(&other.area.left);
    Some(Number {
        at,
        value,
        segment,
        code: beside().min_by(by_left),
        parts: beside().count(),
    })
}

/// Whether a number counts the line behind that of another.
fn goes_on(above: &Number<'_>, below: &Number<'_>) -> bool {
    let (one, other) = (above.segment, below.segment);
    let size = above.code.or(below.code).map_or(one.size, |code| code.size);
    below.value == above.value + 1
        && ((one.area.right - other.area.right).abs() < SAME_EDGE
            || (one.area.left - other.area.left).abs() < SAME_EDGE)
        && other.baseline - one.baseline < FARTHEST * size
}

/// Whether numbers that count are those of a listing.
fn is_listing(numbers: &[Number<'_>]) -> bool {
    let lines = || {
        numbers
            .iter()
            .filter_map(|number| Some((number.segment, number.code?)))
    };
    let by_left = |one: &(&Segment, &Segment), other: &(&Segment, &Segment)| {
        one.1.area.left.total_cmp(&other.1.area.left)
    };
    let Some((number, code)) = lines().min_by(by_left) else {
        return false;
    };
    let gap = code.area.left - number.area.right;
    let is_smaller = number.size < 0.9 * code.size;
    let is_alone = matches!(numbers, [one] if one.value == 1 && one.parts == 1);
    // Headings and tables in Chinese, whose letters are of one width too, are numbered as well.
    let fixed = lines().filter(|(_, code)| code.is_fixed()).count();
    gap <= WIDEST_GAP * code.size
        && number.size <= code.size + 0.1
        && (is_alone || is_smaller || numbers.len() > 1)
        && fixed * 2 > lines().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::segments::samples::text;

    fn code(words: &str, left: f32, baseline: f32) -> Segment {
        let segment = text(words, left, baseline);
        Segment {
            fixed: segment.characters,
            ..segment
        }
    }

    fn left(segments: Vec<Segment>) -> Vec<String> {
        let kept = without_numbers(segments).into_iter();
        kept.map(|segment| segment.text).collect()
    }

    #[test]
    fn numbers_of_listings_are_no_code() {
        let lines = vec![
            text("Then run:", 60.0, 80.0),
            text("1", 50.0, 100.0),
            code("def area(r):", 60.0, 100.0),
            text("2", 50.0, 112.0),
            code("pi = 3", 80.0, 112.0),
            // A blank line.
            text("3", 50.0, 124.0),
            text("4", 50.0, 136.0),
            code("return pi * r * r", 80.0, 136.0),
            text("Then stop.", 60.0, 160.0),
        ];
        let wanted = [
            "Then run:",
            "def area(r):",
            "pi = 3",
            "return pi * r * r",
            "Then stop.",
        ];
        assert_eq!(left(lines), wanted);
        let alone = vec![text("1", 50.0, 100.0), code("texdoc", 66.0, 100.0)];
        assert_eq!(left(alone), ["texdoc"]);
    }

    #[test]
    fn other_numbers_stay() {
        for other in [
            // The index of a table, far off.
            vec![text("1", 50.0, 100.0), code("int", 90.0, 100.0)],
            // One of several things on a line of text.
            vec![text("1", 50.0, 100.0), text("texdoc", 62.0, 100.0)],
            vec![
                text("1", 50.0, 100.0),
                code("texdoc", 62.0, 100.0),
                text("shows it", 110.0, 100.0),
            ],
            // It begins nothing, and nothing goes on behind it.
            vec![text("7", 50.0, 100.0), code("texdoc", 62.0, 100.0)],
            vec![text("1", 50.0, 100.0)],
            // A heading in Chinese.
            vec![
                text("1", 50.0, 100.0),
                Segment {
                    wide: 6,
                    ..text("简介", 62.0, 100.0)
                },
            ],
            // Two legends beside each other.
            vec![
                text("1", 50.0, 100.0),
                code("offset", 62.0, 100.0),
                code("margin", 200.0, 100.0),
            ],
        ] {
            assert_eq!(left(other.clone()).len(), other.len());
        }
    }
}
