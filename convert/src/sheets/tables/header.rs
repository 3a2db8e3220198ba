//! Decides which of a table's first rows are titles above it and which are its header.

use std::collections::HashSet;

use super::classify::{Kind, kind_of, understand};
use super::value::{Cell, Row, Value};

/// Titles that may stand above a header.
const MAXIMUM_TITLES: usize = 6;

/// Rows that a header may have.
const MAXIMUM_HEADER_ROWS: usize = 3;

/// Longest text of a header cell in characters.
const MAXIMUM_HEADER_CHARACTERS: usize = 120;

/// Where a table's head ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Rows of titles.
    pub titles: usize,
    /// Rows of the header after the titles; 0 if the table has none.
    pub header_rows: usize,
}

/// Decides by the first rows of a table; `untyped` cells are text that may be numbers,
/// `merged_rows` is how many rows the merged cells of a given row reach over (1 if none are merged
/// over columns or rows).
pub(crate) fn find(rows: &[Row<'_>], untyped: bool, merged_rows: &dyn Fn(u32) -> usize) -> Head {
    let widest = rows.iter().map(filled).max().unwrap_or(0);
    let titles = count_titles(rows, widest, merged_rows);
    let (Some(first), Some(body)) = (rows.get(titles), rows.get(titles + 1..)) else {
        return Head::default();
    };
    if body.is_empty() || !is_header(first, body, widest, untyped) {
        return Head {
            titles,
            header_rows: 0,
        };
    }
    let mut header_rows = merged_rows(first.index)
        .clamp(1, MAXIMUM_HEADER_ROWS)
        .min(body.len());
    // A second row of words that fills the gaps of the first, above rows with numbers.
    if header_rows == 1 && has_second_level(first, body, untyped) {
        header_rows = 2;
    }
    Head {
        titles,
        header_rows,
    }
}

/// Whether a header of words stands above numbers or the like, in rows of text that may be numbers.
pub(crate) fn is_above_numbers(rows: &[Row<'_>]) -> bool {
    let head = find(rows, true, &|_| 1);
    let (Some(header), Some(body)) = (rows.get(head.titles), rows.get(head.titles + 1..)) else {
        return false;
    };
    let tells = |cell: &Cell<'_>| kind(cell, true) == Kind::Text && contrasts(cell, body, true);
    head.header_rows > 0 && header.cells.iter().any(tells)
}

fn count_titles(rows: &[Row<'_>], widest: usize, merged_rows: &dyn Fn(u32) -> usize) -> usize {
    if widest < 2 {
        return 0;
    }
    rows.iter()
        .take(MAXIMUM_TITLES)
        .take_while(|row| is_title(row, merged_rows(row.index) > 1))
        .count()
}

fn filled(row: &Row<'_>) -> usize {
    row.cells.iter().filter(|cell| !cell.is_blank()).count()
}

/// A single text where the table is wider; merged cells repeat theirs.
fn is_title(row: &Row<'_>, is_merged: bool) -> bool {
    let mut cells = row.cells.iter().filter(|cell| !cell.is_blank());
    let first = cells.next().map(Cell::text);
    first.is_some() && cells.all(|cell| is_merged && Some(cell.text()) == first)
}

fn kind(cell: &Cell<'_>, untyped: bool) -> Kind {
    match &cell.value {
        Value::Text(text) if untyped => kind_of(&understand(text)),
        value => kind_of(value),
    }
}

/// Words above values. Numbers may be header cells as well where they look like years or differ in
/// kind from what is below.
fn is_header(first: &Row<'_>, body: &[Row<'_>], widest: usize, untyped: bool) -> bool {
    let cells: Vec<&Cell<'_>> = first.cells.iter().filter(|cell| !cell.is_blank()).collect();
    if cells.is_empty() || cells.len() * 2 < widest {
        return false;
    }
    if cells
        .iter()
        .any(|cell| cell.text().chars().count() > MAXIMUM_HEADER_CHARACTERS)
    {
        return false;
    }
    let mut seen = HashSet::new();
    let repeated = cells
        .iter()
        .filter(|cell| !seen.insert(cell.text()))
        .count();
    let words = cells
        .iter()
        .filter(|cell| kind(cell, untyped) == Kind::Text)
        .count();
    let contrasts = cells
        .iter()
        .filter(|cell| contrasts(cell, body, untyped))
        .count();
    if words == cells.len() {
        return repeated * 2 <= cells.len();
    }
    let labels = cells
        .iter()
        .filter(|cell| kind(cell, untyped) == Kind::Text || is_year(cell, untyped))
        .count();
    (labels == cells.len() && words > 0) || contrasts * 2 > cells.len()
}

/// Whether most cells below are of another kind.
fn contrasts(cell: &Cell<'_>, body: &[Row<'_>], untyped: bool) -> bool {
    let own = coarse(kind(cell, untyped));
    let below = body
        .iter()
        .filter_map(|row| row.cell(cell.column))
        .map(|cell| coarse(kind(cell, untyped)));
    let (mut other, mut same) = (0, 0);
    for kind in below.filter(|kind| *kind != Kind::Empty) {
        if kind == own { same += 1 } else { other += 1 }
    }
    other > same
}

fn coarse(kind: Kind) -> Kind {
    match kind {
        Kind::Real => Kind::Integer,
        Kind::DateTime | Kind::Time => Kind::Date,
        other => other,
    }
}

fn is_year(cell: &Cell<'_>, untyped: bool) -> bool {
    let number = match &cell.value {
        Value::Text(text) if untyped => understand(text),
        value => value.clone(),
    };
    matches!(number, Value::Integer(1900..=2100) | Value::Date(_))
}

fn has_second_level(first: &Row<'_>, body: &[Row<'_>], untyped: bool) -> bool {
    let Some((second, below)) = body.split_first() else {
        return false;
    };
    let is_words = |row: &Row<'_>| {
        row.cells
            .iter()
            .filter(|cell| !cell.is_blank())
            .all(|cell| kind(cell, untyped) == Kind::Text)
    };
    let fills_gap = second
        .cells
        .iter()
        .any(|cell| !cell.is_blank() && first.cell(cell.column).is_none_or(Cell::is_blank));
    let has_values = second
        .cells
        .iter()
        .any(|cell| contrasts(cell, below, untyped));
    fills_gap && is_words(second) && has_values && below.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(lines: &[&str]) -> Head {
        let rows: Vec<Row<'_>> = lines
            .iter()
            .zip(0..)
            .map(|(line, index)| Row {
                index,
                cells: line
                    .split(',')
                    .zip(0..)
                    .map(|(text, column)| Cell::new(column, Value::Text(text.into())))
                    .collect(),
            })
            .collect();
        find(&rows, true, &|_| 1)
    }

    fn expect(lines: &[&str], titles: usize, header_rows: usize) {
        assert_eq!(
            head(lines),
            Head {
                titles,
                header_rows
            },
            "{lines:?}"
        );
    }

    #[test]
    fn headers_are_words_above_values() {
        expect(&["name,age", "Ann,20", "Bob,30"], 0, 1);
        expect(&["name,city", "Ann,Rome"], 0, 1);
        expect(&["region,2019,2020", "north,1.5,2.5"], 0, 1);
        expect(&["1,2,3", "a,b,c", "d,e,f"], 0, 1);
    }

    #[test]
    fn values_alone_have_no_header() {
        expect(&["1,2", "3,4"], 0, 0);
        expect(&["Ann,20", "Bob,30"], 0, 0);
        expect(&["2020-01-01,5", "2020-01-02,6"], 0, 0);
        expect(&["only,one row"], 0, 0);
        expect(&["yes,yes,yes,yes", "yes,no,yes,no"], 0, 0);
    }

    #[test]
    fn titles_stand_above() {
        expect(
            &["Stanley Cups,,", "Team,Location,Cups", "Blues,STL,1"],
            1,
            1,
        );
        expect(&["Sales,", "all regions,", "region,sum", "north,5"], 2, 1);
        expect(&["one column", "a", "b"], 0, 1);
    }

    #[test]
    fn a_second_level_fills_the_gaps_of_the_first() {
        expect(
            &[
                "item,2023,,2024,",
                ",plan,real,plan,real",
                "x,1,2,3,4",
                "y,1,2,3,4",
            ],
            0,
            2,
        );
        expect(&["item,kind,", "x,y,z", "x,1,2"], 0, 1);
    }
}
