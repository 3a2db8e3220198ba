//! First reading of a table: its head, what its columns hold and how many rows it has.

use tributary_schemas::Result;

use super::classify::{Kind, is_missing, kind_of, understand};
use super::header::{self, Head};
use super::layout::Area;
use super::merges::Merges;
use super::value::{Cell, Row, RowSource, Value};
use crate::limits::Limits;

/// First rows that are looked at for titles and header.
const HEAD_ROWS: usize = 16;

/// Rows between two looks at the clock.
pub(crate) const ROWS_PER_CHECK: u64 = 4096;

/// Type of a database column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Real,
    /// 0 or 1.
    Boolean,
    /// ISO days.
    Date,
    /// ISO days with times.
    DateTime,
    /// ISO times.
    Time,
    /// Text.
    Text,
}

impl ColumnType {
    /// The name in the schema.
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            Self::Real => "REAL",
            Self::Boolean => "BOOLEAN",
            Self::Date => "DATE",
            Self::DateTime => "DATETIME",
            Self::Time => "TIME",
            Self::Text => "TEXT",
        }
    }
}

/// What a column holds below the header: values by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ColumnSurvey {
    integers: u64,
    reals: u64,
    booleans: u64,
    days: u64,
    instants: u64,
    times: u64,
    texts: u64,
    /// Words for missing values, and errors.
    missing: u64,
    /// Whether a header or title row has something here.
    pub in_head: bool,
}

impl ColumnSurvey {
    fn add(&mut self, cell: &Cell<'_>, untyped: bool) {
        let kind = match &cell.value {
            Value::Text(text) if is_missing(text) => Kind::Error,
            // One word decides that the column is text; the rest need not be understood.
            Value::Text(text) if untyped && self.texts == 0 => kind_of(&understand(text)),
            value => kind_of(value),
        };
        let count = match kind {
            Kind::Empty => return,
            Kind::Integer => &mut self.integers,
            Kind::Real => &mut self.reals,
            Kind::Boolean => &mut self.booleans,
            Kind::Date => &mut self.days,
            Kind::DateTime => &mut self.instants,
            Kind::Time => &mut self.times,
            Kind::Error => &mut self.missing,
            Kind::Text => &mut self.texts,
        };
        *count += 1;
    }

    /// Whether the column holds nothing at all.
    pub(crate) fn is_empty(&self) -> bool {
        !self.in_head && self.missing == 0 && self.of_known_kind() == 0 && self.texts == 0
    }

    fn of_known_kind(&self) -> u64 {
        self.integers + self.reals + self.booleans + self.days + self.instants + self.times
    }

    /// The narrowest type for all values.
    pub(crate) fn column_type(&self) -> ColumnType {
        let known = self.of_known_kind();
        match known {
            _ if self.texts > 0 || known == 0 => ColumnType::Text,
            _ if known == self.integers => ColumnType::Integer,
            _ if known == self.integers + self.reals => ColumnType::Real,
            _ if known == self.booleans => ColumnType::Boolean,
            _ if known == self.days => ColumnType::Date,
            _ if known == self.days + self.instants => ColumnType::DateTime,
            _ if known == self.times => ColumnType::Time,
            _ => ColumnType::Text,
        }
    }
}

/// What the first reading found.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Where the head ends.
    pub head: Head,
    /// The first rows, titles and header among them; merged cells are filled.
    pub first_rows: Vec<Row<'static>>,
    /// One for each column of the area.
    pub columns: Vec<ColumnSurvey>,
    /// Rows with something in them.
    pub rows: u64,
    left: u32,
    untyped: bool,
    is_decided: bool,
}

impl Survey {
    /// Reads an area once.
    pub(crate) fn read(
        source: &mut dyn RowSource,
        area: Area,
        merges: &Merges,
        limits: &Limits<'_>,
    ) -> Result<Self> {
        let mut survey = Self {
            left: area.left,
            untyped: source.is_untyped(),
            ..Self::default()
        };
        let mut filler = merges.filler(area);
        source.visit(area.top, area.bottom, &mut |row| {
            let Some(row) = filler.fill(row) else {
                return Ok(true);
            };
            survey.rows += 1;
            if survey.rows.is_multiple_of(ROWS_PER_CHECK) {
                limits.check_time()?;
            }
            if survey.is_decided {
                survey.count(&row);
            } else {
                survey.first_rows.push(row.to_owned_row());
                if survey.first_rows.len() >= HEAD_ROWS {
                    survey.decide(merges, area);
                }
            }
            Ok(true)
        })?;
        if !survey.is_decided {
            survey.decide(merges, area);
        }
        Ok(survey)
    }

    fn decide(&mut self, merges: &Merges, area: Area) {
        self.is_decided = true;
        let rows = std::mem::take(&mut self.first_rows);
        self.head = header::find(&rows, self.untyped, &|row| merges.height_in(row, area));
        for row in rows.iter().skip(self.head.titles + self.head.header_rows) {
            self.count(row);
        }
        for cell in rows
            .iter()
            .take(self.head.titles + self.head.header_rows)
            .flat_map(|row| &row.cells)
        {
            if let Some(column) = self.column(cell.column).filter(|_| !cell.is_blank()) {
                column.in_head = true;
            }
        }
        self.first_rows = rows;
    }

    fn count(&mut self, row: &Row<'_>) {
        let untyped = self.untyped;
        for cell in &row.cells {
            if let Some(column) = self.column(cell.column) {
                column.add(cell, untyped);
            }
        }
    }

    fn column(&mut self, column: u32) -> Option<&mut ColumnSurvey> {
        let at = column.checked_sub(self.left)? as usize;
        if at >= self.columns.len() {
            self.columns.resize(at + 1, ColumnSurvey::default());
        }
        self.columns.get_mut(at)
    }
}
