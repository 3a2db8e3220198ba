//! Reads one sheet of an xlsx workbook row by row.

use std::borrow::Cow;

use quick_xml::events::{BytesStart, Event};
use tributary_schemas::{Error, ErrorKind, Result};

use super::package::Part;
use super::sheet::{
    MAXIMUM_COLUMNS, RowBuilder, SheetBuilder, parse_cell, parse_column, parse_range,
};
use super::sheets::Context;
use super::xml::{Xml, add_text, attribute, number, truth};
use crate::sheets::tables::classify::understand;
use crate::sheets::tables::value::{Cell, Value};
use crate::slices::text_part;

/// Bytes after which no more text is added to a cell; workbooks have at most 32,767 characters in
/// one.
const MAXIMUM_CELL_BYTES: usize = 1 << 20;

/// Longest formula in characters that is shown in the place of its value.
const MAXIMUM_FORMULA: usize = 200;

/// Column ranges that can be hidden.
const MAXIMUM_HIDDEN_RANGES: usize = 1000;

/// A cell whose end has not come yet.
#[derive(Debug, Default)]
struct Open {
    column: u32,
    kind: String,
    style: usize,
    value: String,
    formula: String,
    has_formula: bool,
}

/// Which text belongs to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Nothing,
    Value,
    Formula,
}

struct SheetReader<'a> {
    context: &'a Context<'a>,
    row: RowBuilder,
    row_hidden: bool,
    next_row: u32,
    next_column: u32,
    hidden_columns: Vec<(u32, u32)>,
    /// Rows that a filter hides are kept.
    is_filtered: bool,
    open: Open,
    inside: Inside,
    phonetic: bool,
}

/// Reads a sheet to its end; what was read before an error stays in the builder.
pub(super) fn read_sheet(
    part: Part<'_>,
    name: &str,
    context: &Context<'_>,
    builder: &mut SheetBuilder<'_>,
) -> Result<()> {
    let mut xml = Xml::new(part, name);
    let mut reader = SheetReader {
        context,
        row: RowBuilder::default(),
        row_hidden: false,
        next_row: 0,
        next_column: 0,
        hidden_columns: Vec::new(),
        is_filtered: false,
        open: Open::default(),
        inside: Inside::Nothing,
        phonetic: false,
    };
    let mut has_end = false;
    loop {
        match xml.next()? {
            Event::Start(tag) => reader.start(&tag, builder),
            Event::Empty(tag) => {
                has_end |= tag.local_name().as_ref() == "worksheet";
                reader.start(&tag, builder);
                reader.end(tag.local_name().as_ref(), builder)?;
            }
            Event::End(tag) => {
                let name = tag.local_name();
                has_end |= name.as_ref() == "worksheet";
                reader.end(name.as_ref(), builder)?;
            }
            Event::Eof if has_end => return Ok(()),
            Event::Eof => return Err(Error::new(ErrorKind::Corrupt, "a sheet ends early")),
            event => match reader.inside {
                Inside::Value if reader.open.value.len() < MAXIMUM_CELL_BYTES => {
                    add_text(&event, &mut reader.open.value)
                }
                Inside::Formula if reader.open.formula.len() < MAXIMUM_CELL_BYTES => {
                    add_text(&event, &mut reader.open.formula)
                }
                Inside::Nothing | Inside::Value | Inside::Formula => {}
            },
        }
    }
}

impl SheetReader<'_> {
    fn start(&mut self, tag: &BytesStart<'_>, builder: &mut SheetBuilder<'_>) {
        match tag.local_name().as_ref() {
            "c" => self.start_cell(tag),
            "v" => self.inside = Inside::Value,
            "t" if !self.phonetic => self.inside = Inside::Value,
            "f" => {
                self.inside = Inside::Formula;
                self.open.has_formula = true;
            }
            "rPh" => self.phonetic = true,
            "row" => self.start_row(tag),
            "sheetPr" => self.is_filtered = truth(tag, "filterMode"),
            "col" if truth(tag, "hidden") && self.hidden_columns.len() < MAXIMUM_HIDDEN_RANGES => {
                self.hide_columns(tag);
            }
            "mergeCell" => {
                if let Some(range) = attribute(tag, "ref").and_then(|name| parse_range(&name)) {
                    builder.merge(range);
                }
            }
            "hyperlink" => self.hyperlink(tag, builder),
            _ => {}
        }
    }

    fn hide_columns(&mut self, tag: &BytesStart<'_>) {
        let (first, last): (u32, u32) = (
            number(tag, "min").unwrap_or(0),
            number(tag, "max").unwrap_or(0),
        );
        self.hidden_columns
            .extend(first.checked_sub(1).zip(last.checked_sub(1)));
    }

    fn end(&mut self, name: &str, builder: &mut SheetBuilder<'_>) -> Result<()> {
        match name {
            "c" => self.end_cell(builder)?,
            "v" | "t" | "f" => self.inside = Inside::Nothing,
            "rPh" => self.phonetic = false,
            "row" => {
                let keeps = !self.row_hidden
                    || self.is_filtered
                    || self.context.bounds.settings.hidden_rows_and_columns;
                if keeps {
                    builder.push(&mut self.row.row)?;
                } else {
                    builder.hide(&self.row.row);
                }
                self.row.begin(self.next_row);
            }
            _ => {}
        }
        Ok(())
    }

    /// A row number that is none, or beyond what a sheet can have, is the next row.
    fn start_row(&mut self, tag: &BytesStart<'_>) {
        let index = attribute(tag, "r")
            .and_then(|number| parse_cell(&format!("A{number}")))
            .map(|(row, _)| row);
        let index = index.unwrap_or(self.next_row);
        self.next_row = index + 1;
        self.row.begin(index);
        self.row_hidden = truth(tag, "hidden");
        self.next_column = 0;
    }

    fn start_cell(&mut self, tag: &BytesStart<'_>) {
        self.open.value.clear();
        self.open.formula.clear();
        self.open.has_formula = false;
        self.open.kind.clear();
        self.open.style = 0;
        self.inside = Inside::Nothing;
        let mut column = None;
        for attribute in tag.attributes().with_checks(false).flatten() {
            match attribute.key.local_name().as_ref() {
                // A column beyond the last is dropped; one that is not given is the next.
                "r" => column = Some(parse_column(&attribute.value).unwrap_or(MAXIMUM_COLUMNS)),
                "t" => self.open.kind.push_str(&attribute.value),
                "s" => self.open.style = attribute.value.parse().unwrap_or(0),
                _ => {}
            }
        }
        self.open.column = column.unwrap_or(self.next_column);
        self.next_column = self.open.column.saturating_add(1);
    }

    fn end_cell(&mut self, builder: &mut SheetBuilder<'_>) -> Result<()> {
        let column = self.open.column;
        let shows_hidden = self.context.bounds.settings.hidden_rows_and_columns;
        let is_hidden = self
            .hidden_columns
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&column))
            && !shows_hidden;
        if is_hidden || column >= MAXIMUM_COLUMNS {
            return Ok(());
        }
        if let Some(target) = hyperlink_target(&self.open.formula) {
            builder.link(self.row.row.index, column, target.to_owned());
        }
        let formula = self.uncomputed();
        if formula.is_some() {
            builder.count_uncomputed();
        }
        self.row.add(formula.unwrap_or_else(|| self.cell()))
    }

    /// A cell whose formula no program has computed yet, as libraries write it: the formula as text,
    /// so that nothing reckons with its column as if it had no value. One that gives an empty text
    /// has that as its value; one that shares its formula with the cell above does not say it.
    fn uncomputed(&self) -> Option<Cell<'static>> {
        let open = &self.open;
        if !open.has_formula || !open.value.is_empty() || open.kind == "str" {
            return None;
        }
        let mut characters = open.formula.chars();
        let mut shown: String = characters.by_ref().take(MAXIMUM_FORMULA).collect();
        shown.insert(0, '=');
        if open.formula.is_empty() || characters.next().is_some() {
            shown.push('…');
        }
        Some(Cell::new(open.column, Value::Text(Cow::Owned(shown))))
    }

    /// The cell by its type.
    fn cell(&self) -> Cell<'static> {
        let column = self.open.column;
        let text = self.open.value.as_str();
        let value = match self.open.kind.as_str() {
            _ if text.is_empty() => Value::Empty,
            "s" => self.shared_text(text),
            "str" | "inlineStr" => Value::Text(Cow::Owned(unescaped(text))),
            "b" => Value::Boolean(matches!(text.trim(), "1" | "true")),
            "e" => Value::Error(Cow::Owned(text.trim().to_owned())),
            "d" => iso_date(text.trim()),
            _ => return self.number(text),
        };
        Cell::new(column, value)
    }

    /// The text with that number; empty if there is none.
    fn shared_text(&self, number: &str) -> Value<'static> {
        let shared = number
            .trim()
            .parse()
            .ok()
            .and_then(|index| self.context.texts.get(index));
        shared.map_or(Value::Empty, |text| {
            Value::Text(Cow::Owned(unescaped(text)))
        })
    }

    /// A number in the format of the cell; text if it is none.
    fn number(&self, text: &str) -> Cell<'static> {
        let column = self.open.column;
        let Ok(number) = text.trim().parse::<f64>() else {
            return Cell::new(column, Value::Text(Cow::Owned(text.to_owned())));
        };
        self.context
            .styles
            .format(self.open.style)
            .cell(column, number, self.context.is_1904)
    }

    fn hyperlink(&self, tag: &BytesStart<'_>, builder: &mut SheetBuilder<'_>) {
        let Some(range) = attribute(tag, "ref").and_then(|name| parse_range(&name)) else {
            return;
        };
        let target = attribute(tag, "id").and_then(|id| self.context.links.get(&*id));
        if let Some(target) = target.filter(|target| target.contains(':')) {
            builder.link(range.top, range.left, target.clone());
        }
    }
}

/// An ISO date as a value; the time of a day without one is left out.
fn iso_date(text: &str) -> Value<'static> {
    match understand(text).into_owned() {
        Value::DateTime(text) => match text.strip_suffix(" 00:00:00") {
            Some(day) => Value::Date(Cow::Owned(day.to_owned())),
            None => Value::DateTime(text),
        },
        other => other,
    }
}

/// The address in `HYPERLINK("https://…"`.
fn hyperlink_target(formula: &str) -> Option<&str> {
    if formula.is_empty() {
        return None;
    }
    let (_, after) = formula
        .get(..256.min(formula.len()))
        .unwrap_or(formula)
        .split_once("HYPERLINK(\"")?;
    after
        .split('"')
        .next()
        .filter(|target| target.contains("://"))
}

/// Characters that XML cannot hold stand in workbooks as `_x000D_`.
fn unescaped(text: &str) -> String {
    if !text.contains('_') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("_x") {
        out.push_str(before);
        let code = after
            .get(..4)
            .filter(|_| after.as_bytes().get(4) == Some(&b'_'));
        match code
            .and_then(|code| u32::from_str_radix(code, 16).ok())
            .and_then(char::from_u32)
        {
            Some(character) => {
                out.push(character);
                rest = text_part(after, 5..);
            }
            None => {
                out.push_str("_x");
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_characters_are_restored() {
        assert_eq!(unescaped("a_x000D_b_x_xZZZZ__x005F_x"), "a\rb_x_xZZZZ__x");
    }

    #[test]
    fn hyperlink_formulas_lead_somewhere() {
        assert_eq!(
            hyperlink_target("HYPERLINK(\"https://a.b/c\",\"text\")"),
            Some("https://a.b/c")
        );
        assert_eq!(hyperlink_target("HYPERLINK(A1)"), None);
    }
}
