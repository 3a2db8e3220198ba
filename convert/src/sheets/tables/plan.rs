//! What is written of one table: where its data begins, which columns it has and what they are
//! called.

use crate::blanks::collapsed;

use super::layout::Area;
use super::names::Names;
use super::survey::{ColumnType, Survey};

/// A column that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// Column of the sheet, from 0.
    pub place: u32,
    /// The header's text; empty without one.
    pub real_name: String,
    /// Name in the database.
    pub name: String,
    /// Type in the database.
    pub column_type: ColumnType,
}

/// One table.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Where it is.
    pub area: Area,
    /// Columns that are not empty, from the left.
    pub columns: Vec<Column>,
    /// Titles above the header, on one line.
    pub title: String,
    /// Rows of titles.
    pub titles: usize,
    /// Rows of the header after the titles.
    pub header_rows: usize,
    /// All rows, titles and header among them.
    pub rows: u64,
}

impl Plan {
    /// Plans a table by its survey.
    pub(crate) fn new(survey: &Survey, area: Area) -> Self {
        let mut names = Names::default();
        let occupied = survey
            .columns
            .iter()
            .zip(area.left..)
            .filter(|(column, _)| !column.is_empty());
        let columns = occupied
            .map(|(column, place)| {
                let real_name = real_name(survey, place);
                let name = names.unique(&real_name, &format!("c{}", place - area.left + 1));
                Column {
                    place,
                    real_name,
                    name,
                    column_type: column.column_type(),
                }
            })
            .collect();
        Self {
            area,
            columns,
            title: title(survey),
            titles: survey.head.titles,
            header_rows: survey.head.header_rows,
            rows: survey.rows,
        }
    }

    /// Rows below the header.
    pub(crate) fn data_rows(&self) -> u64 {
        self.rows
            .saturating_sub((self.titles + self.header_rows) as u64)
    }
}

/// The texts of the title rows, without the marks and lines that decorate them.
fn title(survey: &Survey) -> String {
    let titles = survey.first_rows.iter().take(survey.head.titles);
    let is_mark = |one: char| one == '#' || one.is_whitespace();
    let texts: Vec<String> = titles
        .filter_map(|row| row.cells.iter().find(|cell| !cell.is_blank()))
        .map(|cell| {
            collapsed(&cell.text())
                .trim_start_matches(is_mark)
                .to_owned()
        })
        .filter(|text| text.chars().any(char::is_alphanumeric))
        .collect();
    texts.join(" – ")
}

/// The header's texts over a column, each once.
fn real_name(survey: &Survey, place: u32) -> String {
    let mut parts: Vec<String> = Vec::new();
    for row in survey
        .first_rows
        .iter()
        .skip(survey.head.titles)
        .take(survey.head.header_rows)
    {
        let Some(cell) = row.cell(place).filter(|cell| !cell.is_blank()) else {
            continue;
        };
        let text = collapsed(&cell.text());
        if parts.last() != Some(&text) {
            parts.push(text);
        }
    }
    parts.join(" / ")
}
