//! Places where a run of text may be parted: gaps too narrow to part it by themselves, which do if
//! the lines above and below have theirs at the same place, as tables without lines have.

use super::geometry::Area;
use super::raised;
use super::segments::Segment;
use super::unicode;
use crate::escape::is_wide;

/// Narrowest gap that is noted, in sizes of the letters; a usual space is narrower.
pub(super) const NARROWEST: f32 = 0.5;

/// Rows above and below of which two must have a piece or a cut where one is cut, how exactly in
/// points, and at how many places a single neighbour must.
const CUT_ROWS: usize = 5;
const SAME_CUT: f32 = 1.5;
const TWIN_PLACES: usize = 4;

/// Gap between a raised number and the text that it touches, in sizes.
const TOUCHING: f32 = 0.15;

/// Gap between the sign of an item and its text from which the two may be parted, in sizes.
const FAR_SIGN: f32 = 1.0;

/// A gap in a run of text, and what the text before it adds up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cut {
    /// Where the text before it ends and that behind it begins, in points.
    pub left: f32,
    pub right: f32,
    /// Bytes of the text before it.
    bytes: usize,
    /// Its characters, and those of them that are bold, aslant, of one width, wide.
    counts: [usize; 5],
}

impl Cut {
    /// The gap from `left` to `right` behind what there is of a segment.
    pub(super) fn behind(segment: &Segment, left: f32, right: f32) -> Self {
        Self {
            left,
            right,
            bytes: segment.text.len(),
            counts: counts(segment),
        }
    }
}

fn counts(segment: &Segment) -> [usize; 5] {
    [
        segment.characters,
        segment.bold,
        segment.italic,
        segment.fixed,
        segment.wide,
    ]
}

/// Writes the sign of an item before the text beside it. It may be a cell of its own, so the two may
/// be parted again where they stand far apart.
pub(super) fn prepend(text: &mut Segment, marker: &Segment) {
    let mut sign = marker.text.trim().to_owned();
    // The number of a note, or of an isotope, may touch it.
    let is_apart = text.area.left - marker.area.right > TOUCHING * text.size;
    if is_apart || !sign.chars().all(raised::is_raised) {
        sign.push(' ');
    }
    // The sign counts as drawn like its text, so that this stays bold, or code.
    let like = [
        true,
        text.is_bold(),
        text.is_italic(),
        text.is_fixed(),
        false,
    ]
    .map(usize::from);
    for cut in &mut text.cuts {
        cut.bytes += sign.len();
        add(&mut cut.counts, like);
    }
    if text.area.left - marker.area.right > FAR_SIGN * text.size {
        let cut = Cut {
            left: marker.area.right,
            right: text.area.left,
            bytes: sign.trim_end().len(),
            counts: like,
        };
        text.cuts.insert(0, cut);
    }
    text.text.insert_str(0, &sign);
    let mut counts = counts(text);
    add(&mut counts, like);
    [
        text.characters,
        text.bold,
        text.italic,
        text.fixed,
        text.wide,
    ] = counts;
}

fn add(counts: &mut [usize; 5], more: [usize; 5]) {
    for (count, more) in counts.iter_mut().zip(more) {
        *count += more;
    }
}

/// Counts the wide characters of a segment as bold.
pub(super) fn embolden(text: &mut Segment) {
    let bold = |counts: &mut [usize; 5]| {
        let [characters, bold, _, _, wide] = counts;
        *bold = (*bold + *wide).min(*characters);
    };
    text.cuts.iter_mut().for_each(|cut| bold(&mut cut.counts));
    let mut counts = counts(text);
    bold(&mut counts);
    text.bold = counts[1];
    text.starts_bold |= text.text.starts_with(is_wide);
}

/// The parts of a segment between the cuts that are wanted, from left to right.
pub(super) fn split(segment: &Segment, is_wanted: impl Fn(&Cut) -> bool) -> Vec<Segment> {
    let whole = Cut::behind(segment, segment.area.right, segment.area.right);
    let mut start = Cut {
        right: segment.area.left,
        ..Cut::default()
    };
    let mut parts = Vec::new();
    for end in segment
        .cuts
        .iter()
        .filter(|cut| is_wanted(cut))
        .chain([&whole])
    {
        parts.extend(between(segment, &start, end));
        start = end.clone();
    }
    if let Some(last) = parts.last_mut() {
        last.ends_with_hyphen = segment.ends_with_hyphen;
    }
    parts
}

/// The part between two cuts; `None` of nothing.
fn between(segment: &Segment, start: &Cut, end: &Cut) -> Option<Segment> {
    let text = segment.text.get(start.bytes..end.bytes)?;
    // The end of a link is written when the next character comes.
    let is_end = |character| character == unicode::LINK_END;
    let (text, closes) = (
        text.trim_start_matches(is_end),
        segment.text.get(end.bytes..)?,
    );
    let mut text = text.trim().to_owned();
    if closes.starts_with(is_end) {
        text.push(unicode::LINK_END);
    }
    let mut found = counts(segment);
    for (count, (from, to)) in found.iter_mut().zip(start.counts.iter().zip(end.counts)) {
        *count = to.saturating_sub(*from);
    }
    let [characters, bold, italic, fixed, wide] = found;
    (characters > 0).then(|| Segment {
        text,
        area: Area {
            left: start.right,
            right: end.left,
            ..segment.area
        },
        characters,
        bold,
        italic,
        fixed,
        wide,
        starts_bold: bold * 2 > characters,
        ends_with_hyphen: false,
        cuts: Vec::new(),
        ..segment.clone()
    })
}

/// Where pieces of a row begin, or would if it were parted.
fn places(row: &[Segment]) -> impl Iterator<Item = f32> {
    let of = |piece: &Segment| {
        let cuts: Vec<f32> = piece.cuts.iter().map(|cut| cut.right).collect();
        [piece.area.left].into_iter().chain(cuts)
    };
    row.iter().flat_map(of)
}

fn begins(row: &[Segment], x: f32) -> bool {
    places(row).any(|place| (place - x).abs() < SAME_CUT)
}

/// Whether two rows begin at so many places that this is no accident.
fn are_twins(one: Option<&Vec<Segment>>, other: Option<&Vec<Segment>>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    let common = places(one).filter(|place| begins(other, *place));
    common.count() >= TWIN_PLACES
}

/// The rows with their runs of text parted at gaps below or above which other rows begin a piece.
pub(super) fn with_cuts(rows: &[Vec<Segment>]) -> Vec<Vec<Segment>> {
    let is_supported = |at: usize, x: f32| {
        let first = at.saturating_sub(CUT_ROWS);
        let around = rows.iter().enumerate().skip(first).take(2 * CUT_ROWS + 1);
        let others = around.filter(|(other, row)| *other != at && begins(row, x));
        let mut others = others.map(|(other, _)| other);
        match (others.next(), others.next()) {
            (Some(_), Some(_)) => true,
            (Some(only), None) => only.abs_diff(at) == 1 && are_twins(rows.get(at), rows.get(only)),
            _ => false,
        }
    };
    let cut = |at: usize, piece: &Segment| {
        if piece.cuts.is_empty() {
            return vec![piece.clone()];
        }
        split(piece, |cut| is_supported(at, cut.right))
    };
    let of_row =
        |(at, row): (usize, &Vec<Segment>)| row.iter().flat_map(|piece| cut(at, piece)).collect();
    rows.iter().enumerate().map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_know_their_text_place_and_looks() {
        let mut segment = Segment {
            text: "name".to_owned(),
            area: Area {
                right: 20.0,
                ..Area::default()
            },
            characters: 4,
            bold: 4,
            ..Segment::default()
        };
        let cut = Cut::behind(&segment, 20.0, 26.0);
        segment.text.push_str(" value");
        segment.area.right = 50.0;
        segment.characters = 9;
        segment.cuts.push(cut);
        let parts = split(&segment, |_| true);
        let seen: Vec<_> = parts
            .iter()
            .map(|part| {
                (
                    part.text.as_str(),
                    part.area.left,
                    part.area.right,
                    part.is_bold(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [("name", 0.0, 20.0, true), ("value", 26.0, 50.0, false)]
        );
        assert_eq!(split(&segment, |_| false).len(), 1);
    }

    /// A run of words of five points a letter with a gap of seven points between them.
    fn run(words: [&str; 4], baseline: f32) -> Segment {
        let mut segment = Segment::default();
        let mut left = 0.0;
        for word in words {
            if !segment.text.is_empty() {
                let so_far = Cut::behind(&segment, segment.area.right, left);
                segment.cuts.push(so_far);
                segment.text.push(' ');
            }
            segment.text.push_str(word);
            segment.characters += word.len();
            segment.area.right = left + 5.0 * word.len() as f32;
            left = segment.area.right + 7.0;
        }
        segment.baseline = baseline;
        segment
    }

    #[test]
    fn two_rows_that_begin_at_many_places_are_parted() {
        let pieces = |two: [&str; 4]| {
            let rows = [
                vec![run(["Kind", "Name", "Old", "New"], 10.0)],
                vec![run(two, 22.0)],
            ];
            let rows = with_cuts(&rows);
            rows.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(pieces(["Main", "Size", "two", "six"]), [4, 4]);
        assert_eq!(pieces(["Main", "Size", "three", "six"]), [1, 1]);
    }
}
