//! Tests of tables without lines whose cells wrap.

use super::*;
use crate::pdf::segments::samples::text;

/// Rows of a name and lines of text, 15 points from row to row and 12 within; `share` of the height
/// of a row stands above its name.
fn table_of(rows: &[(&str, &[&str])], share: f32) -> Vec<Segment> {
    let mut baseline = 100.0;
    let mut segments = Vec::new();
    for (name, lines) in rows {
        let height = 12.0 * (lines.len() - 1) as f32;
        segments.push(text(name, 50.0, baseline + share * height));
        for line in *lines {
            segments.push(text(line, 150.0, baseline));
            baseline += 12.0;
        }
        baseline += 3.0;
    }
    segments
}

const ROWS: [(&str, &[&str]); 4] = [
    ("Field", &["Meaning"]),
    (
        "gain",
        &["how much stronger the signal", "becomes on its way"],
    ),
    (
        "noise",
        &[
            "what is added to a signal by",
            "the parts of the receiver and",
            "its surroundings",
        ],
    ),
    ("budget", &["all gains and all losses"]),
];

fn tables(segments: Vec<Segment>) -> Vec<Vec<Vec<String>>> {
    let is_table = |part| match part {
        Part::Table(table) => Some(table.rows),
        Part::Text(_) => None,
    };
    parts(segments).into_iter().filter_map(is_table).collect()
}

#[test]
fn cells_may_stand_anywhere_in_their_rows() {
    let wanted = [
        ["Field", "Meaning"],
        ["gain", "how much stronger the signal becomes on its way"],
        [
            "noise",
            "what is added to a signal by the parts of the receiver and its surroundings",
        ],
        ["budget", "all gains and all losses"],
    ];
    for share in [0.0, 0.5, 1.0] {
        let found = tables(table_of(&ROWS, share));
        assert_eq!(found, [wanted], "{share}");
    }
}

#[test]
fn what_stands_around_a_table_stays_text() {
    let mut segments = table_of(&ROWS, 0.5);
    segments.push(text("Before it stands a paragraph of text.", 44.0, 70.0));
    segments.push(text("And behind it another one, as long.", 44.0, 250.0));
    let found = parts(segments);
    assert!(
        matches!(found.as_slice(), [Part::Text(one), Part::Table(_), Part::Text(other)] if one.len() == 1 && other.len() == 1),
        "{found:?}"
    );
}

#[test]
fn groups_of_rows_do_not_wrap() {
    let groups: [(&str, &[&str]); 3] = [
        ("one", &["12", "a word or two of it"]),
        ("two", &["14", "17"]),
        ("three", &["18", "a few more words"]),
    ];
    assert!(tables(table_of(&groups, 0.0)).is_empty());
}

#[test]
fn items_and_paragraphs_are_no_table() {
    let signs: [(&str, &[&str]); 3] = [("1.", ROWS[1].1), ("2.", ROWS[2].1), ("3.", ROWS[1].1)];
    assert!(tables(table_of(&signs, 0.0)).is_empty());
    // Two columns of prose on common lines have no rows.
    let prose: Vec<Segment> = (0..12)
        .flat_map(|line| {
            let baseline = 100.0 + 12.0 * line as f32;
            [
                text(&"left ".repeat(7), 50.0, baseline),
                text(&"right ".repeat(6), 250.0, baseline),
            ]
        })
        .collect();
    assert!(tables(prose).is_empty());
}

/// No cell of one column shows how near the rows are: it is seen from one column to the next.
#[test]
fn rows_are_parted_where_their_outermost_cells_are() {
    let row = |baseline: f32, cells: [&[&str]; 3]| -> Vec<Segment> {
        let tallest = cells.iter().map(|lines| lines.len()).max().unwrap_or(0);
        let lefts = [50.0, 150.0, 300.0];
        let of = |(left, lines): (f32, &[&str])| -> Vec<Segment> {
            let above = 6.0 * (tallest - lines.len()) as f32;
            let lines = (0_u8..).zip(lines);
            let place =
                |(at, line): (u8, &&str)| text(line, left, baseline + above + 12.0 * f32::from(at));
            lines.map(place).collect()
        };
        lefts.into_iter().zip(cells).flat_map(of).collect()
    };
    let rows = [
        row(
            100.0,
            [
                &["filter"],
                &["handover of the", "mobile station"],
                &["report"],
            ],
        ),
        row(
            127.0,
            [
                &["during"],
                &["88.92"],
                &["the power of a", "measured cell"],
            ],
        ),
        row(
            154.0,
            [&["budget of", "the filter"], &["77.50"], &["value"]],
        ),
    ];
    let found = tables(rows.concat());
    assert_eq!(
        found,
        [[
            ["filter", "handover of the mobile station", "report"],
            ["during", "88.92", "the power of a measured cell"],
            ["budget of the filter", "77.50", "value"],
        ]]
    );
}
