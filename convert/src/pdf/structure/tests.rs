//! What tags may say and still be believed.

use super::belief::{Share, is_believable};
use super::*;
use crate::pdf::characters::{Character, Style};
use crate::pdf::geometry::Area;

fn segment(text: &str, left: f32, top: f32) -> Segment {
    let area = Area {
        left,
        right: left + 5.0 * text.len() as f32,
        top,
        bottom: top + 10.0,
    };
    Segment {
        characters: text
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .count(),
        text: text.to_owned(),
        baseline: area.bottom - 2.0,
        size: 10.0,
        area,
        ..Segment::default()
    }
}

#[test]
fn what_forms_draw_is_kept_and_content_is_taken_once() {
    let character = |value, content| {
        Glyph::Drawn(Character {
            value,
            area: Area::default(),
            baseline: 0.0,
            style: Style::default(),
            link: None,
            content,
            is_guessed: false,
        })
    };
    let glyphs = [
        character('a', Content::Marked(3)),
        Glyph::Space,
        character('b', Content::Loose),
        character('c', Content::Form),
        character('d', Content::Artifact),
        character('e', Content::Marked(9)),
    ];
    let mut contents = Contents::of(&glyphs);
    assert_eq!(contents.take(3), glyphs[..2]);
    assert!(contents.take(3).is_empty() && contents.take(7).is_empty());
    assert_eq!(contents.loose, glyphs[2..3]);
    contents.loose.clear();
    assert_eq!(contents.rest(), [glyphs[5], glyphs[3]]);
}

/// Paragraphs below each other, each one line of 40 letters.
fn paragraphs(count: usize) -> Vec<Told> {
    let line = |index: usize| {
        let text = format!("A{}.", "a".repeat(38));
        Told::Paragraph(vec![segment(&text, 72.0, 100.0 + 12.0 * index as f32)])
    };
    (0..count).map(line).collect()
}

fn believed(told: &[Told], loose: usize, artifacts: usize) -> bool {
    let characters = |told: &Told| {
        told.segments()
            .iter()
            .map(|text| text.characters)
            .sum::<usize>()
    };
    let share = Share {
        told: told.iter().map(characters).sum(),
        loose,
        artifacts,
    };
    is_believable(told, &share)
}

#[test]
fn tags_must_cover_the_text() {
    let told = paragraphs(10);
    assert!(believed(&told, 0, 0) && believed(&told, 44, 0) && believed(&told, 0, 100));
    assert!(!believed(&told, 45, 0) && !believed(&told, 0, 101) && !believed(&[], 0, 0));
}

#[test]
fn headings_are_short_and_few() {
    let heading = |told: &Told| Told::Heading(2, told.segments().to_vec());
    let mut told = paragraphs(12);
    for told in told.iter_mut().take(6) {
        *told = heading(told);
    }
    assert!(believed(&told, 0, 0));
    told[6] = heading(&told[6]);
    assert!(!believed(&told, 0, 0));
    let mut long = paragraphs(60);
    long[0] = Told::Heading(1, vec![segment(&"a".repeat(401), 72.0, 0.0)]);
    assert!(!believed(&long, 0, 0));
}

#[test]
fn lines_that_are_paragraphs_are_torn() {
    let line =
        |index: usize, text: &str| Told::Paragraph(vec![segment(text, 72.0, 12.0 * index as f32)]);
    let torn: Vec<Told> = (0..10)
        .map(|index| line(index, "goes on in the next"))
        .collect();
    let whole: Vec<Told> = (0..10)
        .map(|index| line(index, "Begins and ends here."))
        .collect();
    assert!(!believed(&torn, 0, 0) && believed(&whole, 0, 0));
}

#[test]
fn columns_are_no_disorder() {
    let mut columns = paragraphs(8);
    columns.extend(paragraphs(8).iter().map(|told| {
        let moved = |text: &Segment| segment(&text.text, text.area.left + 250.0, text.area.top);
        Told::Paragraph(told.segments().iter().map(moved).collect())
    }));
    assert!(believed(&columns, 0, 0));
    let mut upwards = paragraphs(8);
    upwards.reverse();
    assert!(!believed(&upwards, 0, 0));
}
