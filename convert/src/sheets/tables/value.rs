//! Cells and rows as readers of spreadsheets and delimited text hand them over.

use std::borrow::Cow;

use tributary_schemas::Result;

/// What a cell holds. Dates and times are ISO text: `2024-02-29`, `2024-02-29 13:05:00`,
/// `13:05:00`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Value<'a> {
    /// Nothing.
    #[default]
    Empty,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(Cow<'a, str>),
    /// True or false.
    Boolean(bool),
    /// A day.
    Date(Cow<'a, str>),
    /// A day with a time.
    DateTime(Cow<'a, str>),
    /// A time or a duration.
    Time(Cow<'a, str>),
    /// An error such as `#DIV/0!`.
    Error(Cow<'a, str>),
}

/// A cell with its place in the row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell<'a> {
    /// Column, from 0.
    pub column: u32,
    /// The value.
    pub value: Value<'a>,
    /// How its number format shows it, where that is not how the value alone is shown.
    pub shown: Option<Cow<'a, str>>,
    /// Where a hyperlink of the cell leads.
    pub link: Option<Cow<'a, str>>,
}

/// The cells of one row that hold something, columns ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row<'a> {
    /// Row, from 0.
    pub index: u32,
    /// The cells.
    pub cells: Vec<Cell<'a>>,
}

/// Rows that can be read several times, in ascending order.
pub(crate) trait RowSource {
    /// Calls `visit` for the rows from `first` to `last`; it returns whether it wants more.
    fn visit(
        &mut self,
        first: u32,
        last: u32,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()>;

    /// Whether all values are text that still has to be understood, as in delimited text.
    fn is_untyped(&self) -> bool;
}

impl<'a> Value<'a> {
    /// A copy that borrows nothing.
    pub(crate) fn into_owned(self) -> Value<'static> {
        let owned = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Empty => Value::Empty,
            Self::Integer(number) => Value::Integer(number),
            Self::Real(number) => Value::Real(number),
            Self::Boolean(truth) => Value::Boolean(truth),
            Self::Text(text) => Value::Text(owned(text)),
            Self::Date(text) => Value::Date(owned(text)),
            Self::DateTime(text) => Value::DateTime(owned(text)),
            Self::Time(text) => Value::Time(owned(text)),
            Self::Error(text) => Value::Error(owned(text)),
        }
    }

    /// A number, whole if it is.
    pub(crate) fn number(number: f64) -> Self {
        // Beyond 2^53 whole numbers are not exact any more, and stay what they were read as.
        if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
            Self::Integer(number as i64)
        } else {
            Self::Real(number)
        }
    }

    /// The value as text, without a number format.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Empty => Cow::Borrowed(""),
            Self::Integer(number) => Cow::Owned(number.to_string()),
            Self::Real(number) => Cow::Owned(plain_number(*number)),
            Self::Boolean(true) => Cow::Borrowed("TRUE"),
            Self::Boolean(false) => Cow::Borrowed("FALSE"),
            Self::Text(text)
            | Self::Date(text)
            | Self::DateTime(text)
            | Self::Time(text)
            | Self::Error(text) => Cow::Borrowed(text),
        }
    }
}

impl<'a> Cell<'a> {
    /// A cell without number format and link.
    pub(crate) fn new(column: u32, value: Value<'a>) -> Self {
        Self {
            column,
            value,
            shown: None,
            link: None,
        }
    }

    /// A copy that borrows nothing.
    pub(crate) fn into_owned(self) -> Cell<'static> {
        let owned = |text: Option<Cow<'a, str>>| text.map(|text| Cow::Owned(text.into_owned()));
        Cell {
            column: self.column,
            value: self.value.into_owned(),
            shown: owned(self.shown),
            link: owned(self.link),
        }
    }

    /// The text that people see.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match &self.shown {
            Some(shown) => Cow::Borrowed(shown),
            None => self.value.text(),
        }
    }

    /// Whether it holds nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        match &self.value {
            Value::Empty => true,
            Value::Text(text) => text.trim().is_empty(),
            _ => false,
        }
    }
}

impl Row<'_> {
    /// The cell in a column.
    pub(crate) fn cell(&self, column: u32) -> Option<&Cell<'_>> {
        self.cells
            .binary_search_by_key(&column, |cell| cell.column)
            .ok()
            .and_then(|at| self.cells.get(at))
    }

    /// A copy that borrows nothing.
    pub(crate) fn to_owned_row(&self) -> Row<'static> {
        Row {
            index: self.index,
            cells: self
                .cells
                .iter()
                .map(|cell| cell.clone().into_owned())
                .collect(),
        }
    }
}

/// A number with at most 15 significant digits, as spreadsheets show it: `0.3`, not
/// `0.30000000000000004`.
pub(crate) fn plain_number(number: f64) -> String {
    if !number.is_finite() {
        return if number.is_nan() {
            "#NUM!".to_owned()
        } else {
            number.to_string()
        };
    }
    let magnitude = number.abs();
    if number != 0.0 && !(1e-9..1e21).contains(&magnitude) {
        return scientific(number);
    }
    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    rounded.to_string()
}

/// `1.5E+30`.
fn scientific(number: f64) -> String {
    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    let text = format!("{rounded:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}E+{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_without_binary_noise() {
        assert_eq!(plain_number(0.1 + 0.2), "0.3");
        assert_eq!(plain_number(-1234.5), "-1234.5");
        assert_eq!(plain_number(1e30), "1E+30");
        assert_eq!(plain_number(1.5e-12), "1.5E-12");
        assert_eq!(plain_number(0.0), "0");
        assert_eq!(Value::number(3.0), Value::Integer(3));
        assert_eq!(Value::number(1e17), Value::Real(1e17));
        assert_eq!(Value::Real(1e17).text(), "100000000000000000");
    }
}
