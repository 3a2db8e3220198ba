//! Tables between drawn lines, from lines and text at their places.

use super::*;
use crate::pdf::segments::samples::text as text_at;

fn rules(heights: &[f32]) -> Rules {
    let rule = |at: &f32| Rule {
        at: *at,
        from: 0.0,
        to: 300.0,
    };
    Rules {
        horizontal: heights.iter().map(rule).collect(),
        ..Rules::default()
    }
}

#[test]
fn lines_between_rows_make_a_table() {
    let segments = vec![
        text_at("Name", 5.0, 12.0),
        text_at("Value", 100.0, 12.0),
        text_at("gain", 5.0, 32.0),
        text_at("3 dB, as", 100.0, 32.0),
        text_at("measured", 100.0, 44.0),
        text_at("noise", 5.0, 64.0),
        text_at("1 dB", 100.0, 64.0),
        text_at("What follows is text of its own.", 5.0, 90.0),
    ];
    let found = take(segments.clone(), &rules(&[18.0, 50.0, 70.0]), 0.0, None);
    let rows: Vec<_> = found
        .tables
        .iter()
        .flat_map(|table| table.rows.clone())
        .collect();
    let wanted = [
        ["Name", "Value"],
        ["gain", "3 dB, as measured"],
        ["noise", "1 dB"],
    ];
    assert_eq!(rows, wanted);
    assert_eq!(found.rest.len(), 1);
    assert!(
        take(segments, &rules(&[18.0, 50.0]), 0.0, None)
            .tables
            .is_empty()
    );
}

/// A run of text that goes on at `left`.
fn close_by(mut segment: Segment, next: &str, left: f32) -> Segment {
    let right = segment.area.right;
    segment.cuts.push(cuts::Cut::behind(&segment, right, left));
    let whole = text_at(next, left, segment.baseline);
    segment.text = format!("{} {next}", segment.text);
    segment.characters += whole.characters;
    segment.area = segment.area.joined(whole.area);
    segment
}

#[test]
fn heads_and_words_that_wrap_in_narrow_columns_are_one_row() {
    let segments = vec![
        text_at("The first", 5.0, 0.0),
        text_at("value of it", 5.0, 12.0),
        close_by(text_at("Unit", 100.0, 6.0), "Note", 260.0),
        text_at("gain", 5.0, 52.0),
        text_at("Each", 260.0, 34.0),
        text_at("station", 260.0, 46.0),
        text_at("band", 260.0, 58.0),
        text_at("power", 260.0, 70.0),
        text_at("dB", 100.0, 52.0),
        text_at("noise", 5.0, 92.0),
        text_at("dB", 100.0, 92.0),
        text_at("loss", 5.0, 112.0),
        text_at("%", 100.0, 112.0),
        text_at("Of", 260.0, 112.0),
    ];
    let found = take(segments, &rules(&[18.0, 76.0, 98.0, 118.0]), 0.0, None);
    let rows: Vec<_> = found
        .tables
        .into_iter()
        .flat_map(|table| table.rows)
        .collect();
    let wanted = [
        ["The first value of it", "Unit", "Note"],
        ["gain", "dB", "Each station band power"],
        ["noise", "dB", ""],
        ["loss", "%", "Of"],
    ];
    assert_eq!(rows, wanted);
}

#[test]
fn text_between_two_tables_parts_them() {
    let cells = |height: f32| {
        [
            text_at("Name", 5.0, height),
            text_at("Value", 200.0, height),
        ]
    };
    let prose = |height: f32| text_at(&"prose ".repeat(9), 5.0, height);
    let heights = [12.0, 32.0, 92.0, 112.0];
    let mut segments: Vec<Segment> = heights.into_iter().flat_map(cells).collect();
    segments.extend([prose(52.0), prose(64.0)]);
    let edges = [2.0, 18.0, 38.0, 82.0, 98.0, 118.0];
    let found = take(segments, &rules(&edges), 0.0, None);
    let sizes: Vec<_> = found.tables.iter().map(|table| table.rows.len()).collect();
    assert_eq!((sizes, found.rest.len()), (vec![2, 2], 2));
}

#[test]
fn what_is_no_table_in_a_column_is_read_by_itself() {
    let mut segments: Vec<Segment> = (0..8_u8)
        .flat_map(|line| {
            let height = 12.0 + 12.0 * f32::from(line);
            let room = if line % 3 == 1 { "of a text" } else { "" };
            [
                text_at("Text beside it", 700.0, height),
                text_at(&format!("one {line} {room}"), 5.0, height),
            ]
        })
        .collect();
    segments.push(text_at("two", 200.0, 36.0));
    let found = take(segments, &rules(&[2.0, 18.0, 110.0]), 0.0, None);
    assert!(found.tables.is_empty(), "{found:?}");
    assert_eq!((found.enclosed.len(), found.rest.len()), (1, 8));
}

#[test]
fn lines_between_paragraphs_make_none() {
    let segments: Vec<Segment> = (0..4)
        .map(|line| text_at(&"prose ".repeat(9), 5.0, 12.0 + 20.0 * line as f32))
        .collect();
    assert!(
        take(segments, &rules(&[18.0, 38.0, 58.0]), 0.0, None)
            .tables
            .is_empty()
    );
}

/// Lines of cells in columns at 5, 100 and 240 points, 12 points below each other from `top` on.
fn lines_of_cells(lines: &[[&str; 3]], top: f32) -> Vec<Segment> {
    let heights = (0_u8..).map(|line| top + 12.0 * f32::from(line));
    let cells = lines.iter().zip(heights).flat_map(|(cells, height)| {
        let placed = cells.iter().zip([5.0, 100.0, 240.0]);
        let filled = placed.filter(|(cell, _)| !cell.is_empty());
        filled.map(move |(cell, left)| text_at(cell, left, height))
    });
    cells.collect()
}

fn rows_of(parted: Parted) -> Vec<Vec<String>> {
    let tables = parted.tables.into_iter();
    tables.flat_map(|table| table.rows).collect()
}

#[test]
fn lines_around_the_head_make_a_table_however_high_it_is() {
    let row = |at: u8| [format!("part {at}"), format!("what it does {at}")];
    let rows: Vec<[String; 2]> = (0..20).map(row).collect();
    let cells = rows
        .iter()
        .map(|[one, other]| [one.as_str(), other.as_str(), ""]);
    let lines: Vec<[&str; 3]> = [["view", "meaning", ""]].into_iter().chain(cells).collect();
    let mut segments = lines_of_cells(&lines[..1], 12.0);
    segments.extend(lines_of_cells(&lines[1..], 32.0));
    segments.push(text_at("Table 3", 5.0, -4.0));
    segments.push(text_at("What each view shows", 100.0, -4.0));
    let found = take(segments, &rules(&[2.0, 18.0, 265.0]), 800.0, None);
    assert_eq!(found.rest.len(), 2, "{:?}", found.rest);
    let rows = rows_of(found);
    assert_eq!(rows.len(), 21);
    assert_eq!(rows[20], ["part 19", "what it does 19"]);
}

#[test]
fn a_merged_cell_leaves_the_columns_of_the_head() {
    let lines = [
        ["Filter", "Power", "Band"],
        ["signal", "88.9", "first"],
        ["a result over two of them", "", "second"],
        ["budget", "77.5", "third"],
    ];
    let mut segments = lines_of_cells(&lines[..1], 12.0);
    segments.extend(lines_of_cells(&lines[1..], 32.0));
    let found = rows_of(take(segments, &rules(&[2.0, 18.0, 62.0]), 800.0, None));
    assert_eq!(found, lines.map(|row| row.map(str::to_owned).to_vec()));
}

#[test]
fn a_merged_cell_that_ends_between_two_columns_parts_them() {
    let row = |at: usize| match at {
        3 => ["result over two", "", "first"],
        _ => ["signal", "38.9", "band"],
    };
    let rows = (0..9).map(row);
    let (mut segments, mut edges) = (Vec::new(), vec![2.0]);
    for (cells, at) in rows.clone().zip(0_u8..) {
        let top = 20.0 * f32::from(at);
        segments.extend(lines_of_cells(&[cells], 12.0 + top));
        edges.push(18.0 + top);
    }
    // It ends where hardly any room is left before the second column.
    for cell in &mut segments {
        if cell.text.starts_with("result") {
            cell.area.right = 98.0;
        }
    }
    let found = rows_of(take(segments, &rules(&edges), 800.0, None));
    let wanted: Vec<_> = rows.map(|row| row.map(str::to_owned).to_vec()).collect();
    assert_eq!(found, wanted);
}

#[test]
fn a_table_goes_on_with_the_next_page_where_no_line_ends_it() {
    let first = [
        ["Name", "Value", "Note"],
        ["gain", "3 dB", "as measured"],
        ["noise", "1 dB", ""],
    ];
    let second = [["loss", "2 dB", ""], ["phase", "", "not known"]];
    let mut segments = lines_of_cells(&first[..1], 712.0);
    segments.extend(lines_of_cells(&first[1..], 732.0));
    let page = take(segments, &rules(&[702.0, 718.0]), 800.0, None);
    let open = page.open.clone();
    assert!(open.is_some());
    assert_eq!(rows_of(page).len(), 3);

    let mut segments = lines_of_cells(&second, 60.0);
    segments.push(text_at("A paragraph that follows.", 5.0, 100.0));
    let next = take(segments, &rules(&[76.0]), 800.0, open.clone());
    assert_eq!((next.open.is_none(), next.rest.len()), (true, 1));
    let head = next
        .tables
        .first()
        .and_then(|table| table.head_before.clone());
    assert_eq!(head, Some(first[0].map(str::to_owned).to_vec()));
    assert_eq!(
        rows_of(next),
        second.map(|row| row.map(str::to_owned).to_vec())
    );

    let prose = vec![text_at(&"prose ".repeat(9), 5.0, 60.0)];
    let other = take(prose, &rules(&[]), 800.0, open);
    assert!(other.tables.is_empty() && other.open.is_none());
}

#[test]
fn text_above_the_foot_of_a_page_is_no_table_that_goes_on() {
    let lines = [
        ["Name", "Value", "Note"],
        ["gain", "3 dB", "as measured"],
        ["noise", "1 dB", ""],
    ];
    let mut segments = lines_of_cells(&lines[..1], 112.0);
    segments.extend(lines_of_cells(&lines[1..], 132.0));
    assert!(
        take(segments.clone(), &rules(&[102.0, 118.0]), 800.0, None)
            .open
            .is_none()
    );
    segments.push(text_at("a note over all of the columns", 5.0, 780.0));
    assert!(
        take(segments, &rules(&[102.0, 118.0]), 800.0, None)
            .open
            .is_none()
    );
}
