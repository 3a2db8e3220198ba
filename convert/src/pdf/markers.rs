//! Signs of list items and numbers of notes that stand alone, printed or drawn, joined with the text
//! beside them, so that both move together.

use std::collections::HashSet;

use super::cuts;
use super::geometry::Area;
use super::lists;
use super::raised;
use super::rules::Rules;
use super::segments::Segment;

/// Widest gap between the sign of a list item and its text, in sizes.
const MARKER_GAP: f32 = 4.5;

/// Most pairs of signs and texts of a page that are compared.
const MAXIMUM_COMPARISONS: usize = 20_000_000;

/// Widest gap between a drawn sign and its text, and its largest height, in sizes of the text.
const DOT_GAP: f32 = 2.2;
const DOT_SIZE: f32 = 0.75;

/// Most drawn signs of a page: more of them are a diagram.
const MAXIMUM_DOTS: usize = 300;

/// Widest gap between a word and the number of a note that it refers to, in sizes of its letters, and
/// most numbers of a page that are looked at.
const NOTE_GAP: f32 = 0.5;
const MAXIMUM_NUMBERS: usize = 300;

/// Joins signs of list items, and numbers of notes, that stand alone with the text beside them, so
/// that both move together.
pub(super) fn with_markers(segments: Vec<Segment>, rules: &Rules) -> Vec<Segment> {
    let segments = with_dots(segments, rules);
    let numbers = numbers_of_notes(&segments);
    let is_marker = |at: usize, segment: &Segment| {
        numbers.contains(&at) || lists::is_marker(segment.text.trim())
    };
    let (mut markers, mut texts) = (Vec::new(), Vec::new());
    for (at, segment) in segments.into_iter().enumerate() {
        match is_marker(at, &segment) {
            true => markers.push(segment),
            false => texts.push(segment),
        }
    }
    let mut lonely = Vec::new();
    let compared = MAXIMUM_COMPARISONS.checked_div(texts.len()).unwrap_or(0);
    for (index, marker) in markers.into_iter().enumerate() {
        if index >= compared {
            lonely.push(marker);
            continue;
        }
        let distance = |text: &Segment| gap(text, marker.area);
        let is_beside = |text: &&mut Segment| {
            let is_near = (-1.0..MARKER_GAP * text.size).contains(&distance(text))
                && text.area.shared_height(marker.area) > 0.4 * marker.area.height();
            let (left, right) = match text.is_right_to_left {
                true => (text.area.right, marker.area.left),
                false => (marker.area.right, text.area.left),
            };
            is_near && !rules.part(left, right, marker.area.middle())
        };
        match texts
            .iter_mut()
            .filter(is_beside)
            .min_by(|one, other| distance(one).total_cmp(&distance(other)))
        {
            Some(text) => {
                cuts::prepend(text, &marker);
                text.area = text.area.joined(Area {
                    top: text.area.top,
                    bottom: text.area.bottom,
                    ..marker.area
                });
            }
            None => lonely.push(marker),
        }
    }
    texts.extend(lonely);
    texts
}

/// The segments that are nothing but raised figures and stand behind no word.
fn numbers_of_notes(segments: &[Segment]) -> HashSet<usize> {
    let is_behind = |number: &Segment, text: &Segment| {
        let gap = gap(number, text.area).max(gap(text, number.area));
        text.area.shared_height(number.area) > 0.0 && gap < NOTE_GAP * text.size
    };
    let is_number = |text: &str| !text.is_empty() && text.chars().all(raised::is_raised);
    let numbers = segments.iter().enumerate();
    numbers
        .filter(|(_, segment)| is_number(segment.text.trim()))
        .take(MAXIMUM_NUMBERS)
        .filter(|(_, number)| {
            let before = |text: &&Segment| text.area.left < number.area.left;
            !segments
                .iter()
                .filter(before)
                .any(|text| is_behind(number, text))
        })
        .map(|(at, _)| at)
        .collect()
}

/// Writes the signs that are drawn as shapes before the text on their right.
fn with_dots(mut segments: Vec<Segment>, rules: &Rules) -> Vec<Segment> {
    if rules.dots.len() > MAXIMUM_DOTS {
        return segments;
    }
    for dot in &rules.dots {
        let is_behind_text = segments.iter().any(|text| is_before_dot(text, *dot));
        let nearest = segments
            .iter_mut()
            .filter(|text| is_beside_dot(text, *dot))
            .min_by(|one, other| gap(one, *dot).total_cmp(&gap(other, *dot)));
        let Some(text) = nearest else { continue };
        let is_between = is_behind_text && !text.is_right_to_left;
        if !is_between && lists::parse(&text.text).is_none() {
            text.text = format!("• {}", text.text);
            text.area.left = text.area.left.min(dot.left);
            text.area.right = text.area.right.max(dot.right);
            text.cuts.clear();
        }
    }
    segments
}

fn is_beside_dot(text: &Segment, dot: Area) -> bool {
    // Signs stand in the middle of small letters.
    let height = (text.baseline - dot.middle()) / text.size.max(1.0);
    (0.0..DOT_GAP * text.size).contains(&gap(text, dot))
        && (0.0..0.7).contains(&height)
        && dot.height() < DOT_SIZE * text.size
}

/// From a sign to the text that it would open, in points.
fn gap(text: &Segment, dot: Area) -> f32 {
    if text.is_right_to_left {
        dot.left - text.area.right
    } else {
        text.area.left - dot.right
    }
}

/// Whether text ends right before a drawn sign, which then stands between words.
fn is_before_dot(text: &Segment, dot: Area) -> bool {
    let gap = dot.left - text.area.right;
    text.area.shared_height(dot) > 0.0 && (-text.size..DOT_GAP * text.size).contains(&gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &str, left: f32) -> Segment {
        let area = Area {
            left,
            right: left + 50.0,
            top: 92.0,
            bottom: 102.0,
        };
        Segment {
            text: words.to_owned(),
            area,
            baseline: 100.0,
            size: 10.0,
            ..Segment::default()
        }
    }

    #[test]
    fn drawn_dots_open_items() {
        let dot = Area {
            left: 8.0,
            right: 12.0,
            top: 95.0,
            bottom: 99.0,
        };
        let rules = Rules {
            dots: vec![dot],
            ..Rules::default()
        };
        let texts = |segments| {
            let found = with_markers(segments, &rules).into_iter();
            found.map(|segment| segment.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(vec![text("item", 20.0)]), ["• item"]);
        assert_eq!(texts(vec![text("far", 60.0)]), ["far"]);
        assert_eq!(
            texts(vec![text("one", -45.0), text("two", 20.0)]),
            ["one", "two"]
        );
    }

    #[test]
    fn numbers_of_notes_go_with_the_text_behind_them() {
        let number = Segment {
            text: "²".to_owned(),
            area: Area {
                left: 8.0,
                right: 12.0,
                top: 92.0,
                bottom: 98.0,
            },
            baseline: 97.0,
            size: 6.0,
            ..Segment::default()
        };
        let texts = |others: Vec<Segment>| {
            let all = [vec![number.clone()], others].concat();
            let found = with_markers(all, &Rules::default()).into_iter();
            found.map(|segment| segment.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(vec![text("note", 20.0)]), ["² note"]);
        assert_eq!(texts(vec![text("note", 12.5)]), ["²note"]);
        let referring = vec![text("word", -44.0), text("more", 20.0)];
        assert_eq!(texts(referring), ["²", "word", "more"]);
    }
}
