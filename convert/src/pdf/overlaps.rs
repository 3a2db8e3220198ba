//! Text that is too long for its cell and drawn over the next one: it ends where that begins.

use super::segments::Segment;

/// How far apart the baselines of one line are, and how far into another run one must begin, in
/// sizes of the letters.
const SAME_LINE: f32 = 0.2;
const INSIDE: f32 = 1.0;

/// How much a run must reach over another one, and the gap that is left between them, in sizes:
/// accents and slanted letters reach over a little.
const OVER: f32 = 0.1;
const GAP: f32 = 0.75;

/// Letters of one line are as large as each other, relative.
const SAME_SIZE: f32 = 1.25;

/// Ends runs of text where others begin that stand over their ends on the same line. What they say
/// and their order stay: only their places change.
pub(super) fn end_where_others_begin(segments: &mut [Segment]) {
    let mut all: Vec<&mut Segment> = segments.iter_mut().collect();
    all.sort_by(|one, other| one.baseline.total_cmp(&other.baseline));
    for line in all.chunk_by_mut(|above, below| is_line(above, below)) {
        line.sort_by(|one, other| one.area.left.total_cmp(&other.area.left));
        let mut pieces = line.iter_mut().peekable();
        while let Some(piece) = pieces.next() {
            if let Some(next) = pieces.peek().filter(|next| is_over(piece, next)) {
                shorten(piece, next.area.left - GAP * piece.size);
            }
        }
    }
}

fn is_line(above: &Segment, below: &Segment) -> bool {
    below.baseline - above.baseline < SAME_LINE * above.size.min(below.size)
}

fn is_over(piece: &Segment, next: &Segment) -> bool {
    let (small, large) = (piece.size.min(next.size), piece.size.max(next.size));
    !piece.is_right_to_left
        && !next.is_right_to_left
        && large < SAME_SIZE * small
        && next.area.left > piece.area.left + INSIDE * large
        && next.area.left < piece.area.right - OVER * large
}

fn shorten(piece: &mut Segment, right: f32) {
    piece.area.right = right;
    piece.cuts.retain(|cut| cut.right < right);
}

#[cfg(test)]
mod tests {
    use super::super::segments::samples::text;
    use super::*;

    fn rights(mut segments: Vec<Segment>) -> Vec<(String, f32)> {
        end_where_others_begin(&mut segments);
        let right = |segment: Segment| (segment.text, segment.area.right);
        segments.into_iter().map(right).collect()
    }

    #[test]
    fn a_long_name_ends_before_the_next_cell() {
        let found = rights(vec![
            text("A_VERY_LONG_NAME", 0.0, 100.0),
            text("7", 50.0, 100.5),
            text("N", 90.0, 100.0),
        ]);
        let wanted = [("A_VERY_LONG_NAME", 42.5), ("7", 55.0), ("N", 95.0)];
        assert_eq!(found, wanted.map(|(text, right)| (text.to_owned(), right)));
    }

    #[test]
    fn other_lines_other_sizes_and_letters_drawn_twice_change_nothing() {
        let mut large = text("WATERMARK", 10.0, 100.0);
        large.size = 40.0;
        let pieces = vec![
            text("Bold twice", 0.0, 100.0),
            text("Bold twice", 0.4, 100.0),
            text("below", 20.0, 103.0),
            large,
        ];
        for (text, right) in rights(pieces.clone()) {
            let before = pieces.iter().filter(|piece| piece.text == text);
            assert!(before.into_iter().any(|piece| piece.area.right == right));
        }
    }
}
