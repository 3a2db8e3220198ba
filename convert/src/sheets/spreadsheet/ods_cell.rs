//! One cell of an OpenDocument sheet from its first to its last tag.

use std::borrow::Cow;

use quick_xml::events::{BytesStart, Event};

use super::sheet::{MAXIMUM_COLUMNS, MAXIMUM_ROWS};
use super::xml::{add_text, attribute, number};
use crate::sheets::tables::classify::understand;
use crate::sheets::tables::value::{Cell, Value};

/// Blanks that `text:s` stands for at most.
const MAXIMUM_BLANKS: usize = 256;

/// Bytes after which no more text is added to a cell.
const MAXIMUM_TEXT_BYTES: usize = 1 << 20;

/// Hours that a duration has at most.
const MAXIMUM_HOURS: f64 = 1e9;

/// A cell whose end has not come yet.
#[derive(Debug, Default)]
pub(super) struct OpenCell {
    /// Columns that it stands for.
    pub repeats: u32,
    /// Columns and rows that it covers.
    pub spans: (u32, u32),
    kind: String,
    stored: String,
    text: String,
    link: Option<String>,
    paragraphs: usize,
    /// Levels of tags inside the cell.
    depth: usize,
    /// The level at which something begins that is no text of the cell: a comment, a drawing, a
    /// table in the cell.
    ignored: Option<usize>,
}

impl OpenCell {
    /// Begins a cell.
    pub(super) fn new(tag: &BytesStart<'_>) -> Self {
        let mut cell = Self {
            repeats: number(tag, "number-columns-repeated")
                .unwrap_or(1)
                .clamp(1, MAXIMUM_COLUMNS),
            ..Self::default()
        };
        let span = |name: &str, maximum: u32| number(tag, name).unwrap_or(1).clamp(1, maximum);
        cell.spans = (
            span("number-columns-spanned", MAXIMUM_COLUMNS),
            span("number-rows-spanned", MAXIMUM_ROWS),
        );
        cell.kind = attribute(tag, "value-type")
            .unwrap_or_default()
            .into_owned();
        let stored = [
            "date-value",
            "time-value",
            "boolean-value",
            "string-value",
            "value",
        ]
        .into_iter()
        .find_map(|name| attribute(tag, name));
        cell.stored = stored.unwrap_or_default().into_owned();
        cell
    }

    /// A tag inside the cell.
    pub(super) fn start(&mut self, tag: &BytesStart<'_>) {
        self.depth += 1;
        if self.ignored.is_some() || self.text.len() >= MAXIMUM_TEXT_BYTES {
            return;
        }
        match tag.local_name().as_ref() {
            "annotation" | "shapes" | "frame" | "table" | "ruby-text" => {
                self.ignored = Some(self.depth)
            }
            "p" => {
                if self.paragraphs > 0 {
                    self.text.push('\n');
                }
                self.paragraphs += 1;
            }
            "s" => self
                .text
                .push_str(&" ".repeat(number(tag, "c").unwrap_or(1).clamp(1, MAXIMUM_BLANKS))),
            "tab" => self.text.push(' '),
            "line-break" => self.text.push('\n'),
            "a" => {
                self.link = attribute(tag, "href")
                    .filter(|link| link.contains(':'))
                    .map(Cow::into_owned)
            }
            _ => {}
        }
    }

    /// The end of a tag; whether it was the cell's own.
    pub(super) fn end(&mut self, _name: &str) -> bool {
        if self.depth == 0 {
            return true;
        }
        if self.ignored == Some(self.depth) {
            self.ignored = None;
        }
        self.depth -= 1;
        false
    }

    /// Text inside the cell; what stands between paragraphs is white space of the file.
    pub(super) fn text(&mut self, event: &Event<'_>) {
        if self.ignored.is_none() && self.depth > 0 && self.text.len() < MAXIMUM_TEXT_BYTES {
            add_text(event, &mut self.text);
        }
    }

    /// The finished cell.
    pub(super) fn finish(self, column: u32) -> Cell<'static> {
        let shown = self.text.trim().to_owned();
        let value = match self.kind.as_str() {
            "float" | "percentage" | "currency" => {
                self.stored.trim().parse().ok().map(Value::number)
            }
            "date" => Some(date(&self.stored)),
            "time" => duration(&self.stored).map(|text| Value::Time(Cow::Owned(text))),
            "boolean" => Some(Value::Boolean(self.stored == "true")),
            "string" if shown.is_empty() => Some(Value::Text(Cow::Owned(self.stored.clone()))),
            _ => None,
        };
        // A formula's error is stored as a number with the error as its text.
        let is_error =
            shown.starts_with('#') && shown.ends_with(['!', '?', 'A']) || shown.starts_with("Err:");
        let value = if is_error && self.kind != "string" {
            Some(Value::Error(Cow::Owned(shown.clone())))
        } else {
            value
        };
        let shows_itself = matches!(value, Some(Value::Integer(_) | Value::Real(_)));
        let value = value.unwrap_or_else(|| Value::Text(Cow::Owned(shown.clone())));
        let differs = shows_itself && !shown.is_empty() && shown != value.text();
        Cell {
            column,
            value,
            shown: differs.then_some(Cow::Owned(shown)),
            link: self.link.map(Cow::Owned),
        }
    }
}

fn date(stored: &str) -> Value<'static> {
    match understand(stored.trim()).into_owned() {
        Value::DateTime(text) if text.ends_with(" 00:00:00") => {
            Value::Date(Cow::Owned(text.trim_end_matches(" 00:00:00").to_owned()))
        }
        other => other,
    }
}

/// `PT36H05M00S` as `36:05:00`.
fn duration(stored: &str) -> Option<String> {
    let (sign, rest) = stored
        .trim()
        .strip_prefix('-')
        .map_or(("", stored.trim()), |rest| ("-", rest));
    let (days, times) = rest.strip_prefix('P')?.split_once('T')?;
    let mut seconds: f64 = if days.is_empty() {
        0.0
    } else {
        days.strip_suffix('D')?.parse::<f64>().ok()? * 86_400.0
    };
    let mut digits = String::new();
    for character in times.chars().take(64) {
        let factor = match character {
            'H' => 3600.0,
            'M' => 60.0,
            'S' => 1.0,
            _ => {
                digits.push(if character == ',' { '.' } else { character });
                continue;
            }
        };
        seconds += digits.parse::<f64>().ok()? * factor;
        digits.clear();
    }
    if !seconds.is_finite() || seconds.abs() > MAXIMUM_HOURS * 3600.0 {
        return None;
    }
    let whole = seconds.round() as u64;
    Some(format!(
        "{sign}{:02}:{:02}:{:02}",
        whole / 3600,
        whole / 60 % 60,
        whole % 60
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_clock_times() {
        assert_eq!(duration("PT36H05M00S").as_deref(), Some("36:05:00"));
        assert_eq!(duration("-P1DT1H").as_deref(), Some("-25:00:00"));
        for wrong in ["", "P", "PT1X2", "36:05", "PTH", "PT1e999S"] {
            assert!(
                duration(wrong).is_none_or(|text| text.len() < 40),
                "{wrong}"
            );
        }
    }
}
