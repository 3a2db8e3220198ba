//! Tests of headings.

use super::*;
use crate::pdf::blocks::Surroundings;
use crate::pdf::geometry::Area;

/// A line of a region 400 points wide, with the space of a heading around it.
fn looks(text: &str, size: f32) -> Paragraph {
    Paragraph {
        text: text.to_owned(),
        lines: 1,
        size,
        area: Area {
            right: (0.5 * size * text.len() as f32).min(400.0),
            bottom: size,
            ..Area::default()
        },
        around: Surroundings {
            before: Some(1.7),
            after: Some(1.2),
            left: 0.0,
            right: 400.0,
        },
        colour: Some(0),
        ..Paragraph::default()
    }
}

fn usual() -> Statistics {
    Statistics {
        body_size: 10.0,
        ..Statistics::default()
    }
}

fn prose() -> Block {
    let text = "The stations slept for forty hours, and the load at five in the morning was as low \
                as in the week before, so that nothing was changed.";
    Block::Paragraph(Paragraph {
        lines: 2,
        ..looks(text, 10.0)
    })
}

fn levels_of(headings: Vec<Paragraph>, bookmarks: &[Bookmark]) -> Vec<u8> {
    let with_prose = |heading| [Block::Paragraph(heading), prose()];
    let mut pages = vec![headings.into_iter().flat_map(with_prose).collect()];
    mark(&mut pages, &[usual()], bookmarks);
    let levels = pages.concat();
    levels
        .iter()
        .filter_map(heading)
        .map(|(level, _)| level)
        .collect()
}

#[test]
fn levels_come_from_outline_number_and_size() {
    let headings = vec![
        looks("The title of the trial", 20.0),
        looks("1 One", 14.0),
        looks("1.1 Inner", 14.0),
        looks("Named by the outline", 10.0),
    ];
    let bookmarks = [Bookmark {
        title: "Named by the outline".into(),
        level: 4,
        page: Some(0),
    }];
    assert_eq!(levels_of(headings, &bookmarks), [1, 2, 3, 4]);
}

#[test]
fn a_title_that_the_outline_leaves_out_stands_above_it() {
    let headings = |title: f32| {
        vec![
            looks("The title of the trial", title),
            looks("One", 14.0),
            looks("Inner", 12.0),
        ]
    };
    let bookmark = |title: &str, level| Bookmark {
        title: title.into(),
        level,
        page: Some(0),
    };
    let bookmarks = [bookmark("One", 1), bookmark("Inner", 2)];
    assert_eq!(levels_of(headings(20.0), &bookmarks), [1, 2, 3]);
    assert_eq!(
        levels_of(headings(14.0), &bookmarks),
        [1, 1, 2],
        "it is one of them"
    );
}

/// Three headings that look the same, the first with text below or without.
fn levels_of_alike(texts: [&str; 3], is_before_text: bool) -> Vec<u8> {
    let bold = |text: &str| {
        Block::Paragraph(Paragraph {
            is_bold: true,
            ..looks(text, 10.0)
        })
    };
    let mut blocks: Vec<Block> = texts
        .iter()
        .flat_map(|text| [bold(text), prose()])
        .collect();
    if !is_before_text {
        blocks.remove(1);
    }
    let mut pages = vec![blocks];
    mark(&mut pages, &[usual()], &[]);
    let levels = pages.concat();
    let levels = levels.iter().filter_map(heading);
    levels.map(|(level, _)| level).collect()
}

#[test]
fn the_first_of_headings_that_look_the_same_is_the_title_if_it_has_no_text() {
    let texts = ["Night mode", "Settings", "Results"];
    assert_eq!(levels_of_alike(texts, false), [1, 2, 2]);
    assert_eq!(levels_of_alike(texts, true), [1, 1, 1]);
    let texts = ["1. Night mode", "2. Settings", "3. Results"];
    assert_eq!(levels_of_alike(texts, false), [1, 1, 1]);
}

#[test]
fn large_letters_of_the_cover_use_up_no_levels() {
    let sizes = [
        60.0, 43.0, 24.0, 16.0, 13.0, 16.0, 13.0, 24.0, 18.0, 13.0, 16.0,
    ];
    let headings = sizes.map(|size| looks("A heading of the report", size));
    assert_eq!(
        levels_of(headings.to_vec(), &[]),
        [1, 1, 2, 3, 4, 3, 4, 2, 3, 4, 3]
    );
}

/// A label of a drawing among others is no heading where headings are clear; one among short lines of
/// a document without others is.
#[test]
fn doubtful_headings_are_taken_back() {
    let clear = |text: &str| [Block::Paragraph(looks(text, 14.0)), prose()];
    let label = || {
        let line = |text: &str| Block::Paragraph(looks(text, 10.0));
        let label = Block::Paragraph(Paragraph {
            is_bold: true,
            ..looks("Name of the table", 11.5)
        });
        [line("the name of it,"), label, line("what it stands for,")]
    };
    let found = |mut blocks: Vec<Block>| {
        for (at, block) in blocks.iter_mut().enumerate() {
            if let Block::Paragraph(paragraph) = block {
                paragraph.area.top = 20.0 * at as f32;
                paragraph.area.bottom = paragraph.area.top + 10.0;
            }
        }
        let mut pages = vec![blocks];
        mark(&mut pages, &[usual()], &[]);
        let headings = pages.concat();
        let texts = headings.iter().filter_map(heading);
        texts.map(|(_, text)| text.clone()).collect::<Vec<_>>()
    };
    let titles = ["Setup of it", "Results of it", "Terms of it"];
    let document: Vec<Block> = titles.iter().flat_map(|title| clear(title)).collect();
    assert_eq!(found([document, label().to_vec()].concat()), titles);
    let alone = [vec![prose()], label().to_vec(), vec![prose()]].concat();
    assert_eq!(found(alone), ["Name of the table"]);
}

#[test]
fn the_title_is_the_highest_heading() {
    let mut pages = vec![vec![
        Block::Paragraph(looks("A report", 12.0)),
        prose(),
        Block::Paragraph(looks("The title of the trial", 20.0)),
        prose(),
    ]];
    mark(&mut pages, &[usual()], &[]);
    assert_eq!(title(&pages).as_deref(), Some("The title of the trial"));
    // A word is one where it stands above all others.
    let headings = |all: [(u8, &str); 3]| {
        let blocks = all.map(|(level, text)| Block::Heading(level, text.into()));
        title(&[blocks.to_vec()])
    };
    let below = (2, "1.1 What is new in it");
    let alone = headings([(1, "Styling"), below, below]);
    assert_eq!(alone.as_deref(), Some("Styling"));
    for others in [
        [(1, "Styling"), (1, below.1), below],
        [(1, "ii"), below, below],
    ] {
        assert_eq!(headings(others).as_deref(), Some(below.1));
    }
}

#[test]
fn weights_and_features_have_the_same_names() {
    let pages = vec![vec![Block::Paragraph(looks("Results", 14.0))]];
    let statistics = [usual()];
    let document = Document::of(&pages, &statistics);
    let mut candidates = document.candidates();
    let features = candidates.find_map(|candidate| document.features(&candidate));
    let names: Vec<&str> = features
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, weights::WEIGHTS.map(|(name, ..)| name));
}

/// What a line between paragraphs looks like, and whether it is a heading.
#[test]
fn headings_are_told_by_their_looks_and_text() {
    let bold = |text: &str| Paragraph {
        is_bold: true,
        ..looks(text, 10.0)
    };
    let close = |paragraph: Paragraph| Paragraph {
        around: Surroundings {
            before: Some(1.3),
            after: Some(1.3),
            ..paragraph.around
        },
        ..paragraph
    };
    let cases = [
        (looks("Results of the trial", 14.0), true),
        (bold("Results of the trial"), true),
        (bold("3.2 Results of the trial"), true),
        (looks("2.1 Results of the trial", 12.0), true),
        (bold("试验结果"), true),
        (close(looks("Results of the trial", 10.0)), false),
        (bold("Note that all of this is so."), false),
        (bold("Figure 3: Results of the trial"), false),
        (looks("as in the following:", 10.0), false),
        (looks("12.5 %", 14.0), false),
    ];
    for (paragraph, is_heading) in cases {
        let text = paragraph.text.clone();
        let mut pages = vec![vec![prose(), Block::Paragraph(paragraph), prose(), prose()]];
        mark(&mut pages, &[usual()], &[]);
        let found = pages.concat().iter().filter_map(heading).count();
        assert_eq!(found == 1, is_heading, "{text}");
    }
}
