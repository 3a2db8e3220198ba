//! Lines at places and their Markdown.
#![allow(clippy::unwrap_used)]

use super::*;
use tributary_models::ocr::{Point, Quad, RecognizedLine};

/// A line at a place; its width follows from its text, its height is 20.
fn line(text: &str, left: f32, top: f32) -> RecognizedLine {
    let columns: usize = text
        .chars()
        .map(|character| {
            if tributary_models::ocr::is_wide(character) {
                2
            } else {
                1
            }
        })
        .sum();
    let (right, bottom) = (left + 10.0 * columns as f32, top + 20.0);
    let quad = Quad(
        [(left, top), (right, top), (right, bottom), (left, bottom)].map(|(x, y)| Point::new(x, y)),
    );
    RecognizedLine {
        text: text.to_owned(),
        confidence: 0.9,
        quad,
    }
}

fn page(lines: Vec<RecognizedLine>) -> RecognizedPage {
    RecognizedPage {
        lines,
        uncertain_lines: 0,
    }
}

const LEFT: [&str; 4] = [
    "The left column holds words",
    "that run on over some lines",
    "of about the same length, in",
    "the end.",
];
const RIGHT: [&str; 4] = [
    "Beside it stands the right",
    "column, which must be read",
    "after the left one and not",
    "together with it.",
];

fn two_columns() -> Vec<RecognizedLine> {
    let mut lines = vec![line(
        "A title that goes over both columns of this small page",
        60.0,
        0.0,
    )];
    for (index, (left, right)) in LEFT.iter().zip(RIGHT).enumerate() {
        let top = 60.0 + 26.0 * index as f32;
        lines.extend([line(right, 340.0, top), line(left, 0.0, top)]);
    }
    lines
}

const TWO_COLUMNS: &str = "A title that goes over both columns of this small page\n\n\
    The left column holds words that run on over some lines of about the same length, in the end.\n\n\
    Beside it stands the right column, which must be read after the left one and not together with it.\n";

#[test]
fn columns_are_read_one_after_the_other() {
    assert_eq!(page_markdown(&page(two_columns())), TWO_COLUMNS);
}

#[test]
fn a_page_on_its_side_or_askew_reads_the_same() {
    for degrees in [90.0_f32, 180.0, 270.0, 3.0, -4.0] {
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let turn = |point: Point| {
            Point::new(
                point.x * cosine - point.y * sine,
                point.x * sine + point.y * cosine,
            )
        };
        let lines = two_columns()
            .into_iter()
            .map(|line| RecognizedLine {
                quad: line.quad.map(turn),
                ..line
            })
            .collect();
        assert_eq!(
            page_markdown(&page(lines)),
            TWO_COLUMNS,
            "{degrees} degrees"
        );
    }
}

#[test]
fn aligned_cells_become_a_table() {
    let mut lines = vec![line("Prices | 2025", 0.0, 0.0)];
    for (index, [name, count, price]) in [
        ["Fruit", "Count", "Price"],
        ["Apple", "3", "1.20"],
        ["Pear|s", "12", "0.80"],
    ]
    .iter()
    .enumerate()
    {
        let top = 60.0 + 30.0 * index as f32;
        lines.extend([
            line(price, 300.0, top),
            line(name, 0.0, top),
            line(count, 150.0, top),
        ]);
    }
    let expected = "Prices | 2025\n\n| Fruit | Count | Price |\n| --- | --- | --- |\n| Apple | 3 | 1.20 |\n| Pear\\|s | 12 | 0.80 |\n";
    assert_eq!(page_markdown(&page(lines)), expected);
}

#[test]
fn a_form_is_read_row_by_row() {
    let lines = vec![
        line("Name:", 0.0, 0.0),
        line("Jane", 200.0, 0.0),
        line("Town:", 0.0, 30.0),
        line("Bern", 200.0, 30.0),
    ];
    assert_eq!(page_markdown(&page(lines)), "Name: Jane\nTown: Bern\n");
}

#[test]
fn chinese_lines_join_without_spaces_and_words_without_hyphens() {
    let chinese = [
        "物的有用性使物成为使用价值但这种",
        "有用性不是悬在空中的它决定于商品",
        "体的属性。",
    ];
    let lines = chinese
        .iter()
        .enumerate()
        .map(|(index, text)| line(text, 0.0, 26.0 * index as f32))
        .collect();
    assert_eq!(
        page_markdown(&page(lines)),
        format!("{}\n", chinese.concat())
    );
    let english = [
        "a word that is parted at the hy-",
        "phen is whole again after lines",
        "are joined",
    ];
    let lines = english
        .iter()
        .enumerate()
        .map(|(index, text)| line(text, 0.0, 26.0 * index as f32))
        .collect();
    assert_eq!(
        page_markdown(&page(lines)),
        "a word that is parted at the hyphen is whole again after lines are joined\n"
    );
}

#[test]
fn vertical_chinese_reads_from_right_to_left() {
    let upright = |text: &str, right: f32| {
        let bottom = 20.0 * text.chars().count() as f32;
        let quad = Quad(
            [
                (right, 0.0),
                (right, bottom),
                (right - 20.0, bottom),
                (right - 20.0, 0.0),
            ]
            .map(|(x, y)| Point::new(x, y)),
        );
        RecognizedLine {
            text: text.to_owned(),
            confidence: 0.9,
            quad,
        }
    };
    let markdown = page_markdown(&page(vec![
        upright("疑是地上霜", 60.0),
        upright("床前明月光", 100.0),
    ]));
    assert_eq!(markdown, "床前明月光\n疑是地上霜\n");
}

#[test]
fn marks_are_escaped() {
    let lines = vec![
        line("# not a heading", 0.0, 0.0),
        line("1. *no* list", 0.0, 80.0),
        line("-", 0.0, 160.0),
    ];
    assert_eq!(
        page_markdown(&page(lines)),
        "\\# not a heading\n\n1\\. \\*no\\* list\n\n\\-\n"
    );
}

#[test]
fn odd_boxes_do_no_harm() {
    assert_eq!(page_markdown(&page(Vec::new())), "");
    let mut lines: Vec<RecognizedLine> = (0..300)
        .map(|at| line("x", (at % 17) as f32 * 30.0, (at / 17) as f32 * 3.0))
        .collect();
    lines.extend([f32::NAN, f32::INFINITY, 0.0].map(|bad| RecognizedLine {
        quad: Quad([Point::new(bad, bad); 4]),
        ..line("y", 0.0, 0.0)
    }));
    let letters = page_markdown(&page(lines)).matches(['x', 'y']).count();
    assert_eq!(letters, 303);
}
