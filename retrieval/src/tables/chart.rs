//! How rows are best drawn: bars where a text labels numbers, a line where a time does.

use std::collections::HashSet;

use serde_json::Value;
use tributary_schemas::table_query::{ChartHint, ChartKind, ResultColumn, ValueKind};

/// Rows that are drawn at most.
const MOST_BARS: usize = 40;
const MOST_POINTS: usize = 400;
/// Whole numbers in this range that rise from row to row are taken for years.
const YEARS: std::ops::RangeInclusive<i64> = 1500..=2200;

/// The hint for rows of these columns.
pub fn hint(columns: &[ResultColumn], rows: &[Vec<Value>]) -> ChartHint {
    if rows.len() < 2 {
        return ChartHint::default();
    }
    let is_number = |kind| matches!(kind, ValueKind::Integer | ValueKind::Number);
    let time = (0..columns.len()).find(|at| is_time(columns, rows, *at));
    let text = columns.iter().position(|one| one.kind == ValueKind::Text);
    let (kind, label, most) = match (time, text) {
        (Some(time), _) => (ChartKind::Line, time, MOST_POINTS),
        (None, Some(text)) => (ChartKind::Bar, text, MOST_BARS),
        (None, None) => return ChartHint::default(),
    };
    let numbers = columns.iter().enumerate();
    let values: Vec<usize> = numbers
        .filter(|(at, column)| *at != label && is_number(column.kind))
        .map(|(at, _)| at)
        .collect();
    if values.is_empty() || rows.len() > most || !are_distinct(rows, label) {
        return ChartHint::default();
    }
    let label = Some(label);
    ChartHint {
        kind,
        label,
        values,
    }
}

fn is_time(columns: &[ResultColumn], rows: &[Vec<Value>], at: usize) -> bool {
    match columns.get(at).map(|column| column.kind) {
        Some(ValueKind::Date) => true,
        Some(ValueKind::Integer) => {
            let years: Vec<Option<i64>> = rows
                .iter()
                .map(|row| row.get(at).and_then(Value::as_i64))
                .collect();
            let are_years = |year: &Option<i64>| year.is_some_and(|year| YEARS.contains(&year));
            let rises = years.is_sorted_by(|left, right| left < right);
            let falls = years.is_sorted_by(|left, right| left > right);
            years.iter().all(are_years) && (rises || falls)
        }
        _ => false,
    }
}

fn are_distinct(rows: &[Vec<Value>], at: usize) -> bool {
    let labels = rows.iter().filter_map(|row| row.get(at));
    let distinct: HashSet<String> = labels.map(Value::to_string).collect();
    distinct.len() == rows.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn columns(kinds: &[ValueKind]) -> Vec<ResultColumn> {
        let column = |kind: &ValueKind| ResultColumn {
            name: "c".to_owned(),
            kind: *kind,
        };
        kinds.iter().map(column).collect()
    }

    #[test]
    fn labels_are_drawn_as_bars_and_times_as_a_line() {
        use ValueKind::{Date, Integer, Number, Text};
        let row = |one: Value, other: Value| vec![one, other];
        let table = [
            (
                [Text, Number],
                vec![row(json!("a"), json!(1.5)), row(json!("b"), json!(2))],
                ChartKind::Bar,
            ),
            (
                [Integer, Integer],
                vec![row(json!(2001), json!(1)), row(json!(2002), json!(2))],
                ChartKind::Line,
            ),
            (
                [Date, Integer],
                vec![
                    row(json!("2024-01-01"), json!(1)),
                    row(json!("2024-01-02"), json!(2)),
                ],
                ChartKind::Line,
            ),
            (
                [Integer, Integer],
                vec![row(json!(7), json!(1)), row(json!(9), json!(2))],
                ChartKind::None,
            ),
            (
                [Text, Integer],
                vec![row(json!("a"), json!(1)), row(json!("a"), json!(2))],
                ChartKind::None,
            ),
            (
                [Text, Integer],
                vec![row(json!("a"), json!(1))],
                ChartKind::None,
            ),
            (
                [Text, Text],
                vec![row(json!("a"), json!("x")), row(json!("b"), json!("y"))],
                ChartKind::None,
            ),
        ];
        for (kinds, rows, expected) in table {
            assert_eq!(hint(&columns(&kinds), &rows).kind, expected, "{rows:?}");
        }
    }
}
