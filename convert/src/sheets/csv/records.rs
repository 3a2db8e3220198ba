//! Splits delimited text into records and fields, in one linear pass.

use crate::slices::text_part;
use std::borrow::Cow;

/// The records of a text that have something in them.
#[derive(Debug)]
pub(super) struct Records<'a> {
    rest: &'a str,
    delimiter: u8,
    /// Whether a quote without an end was found: from there on quotes are text, or each would be
    /// sought to the end of the file.
    quotes_are_text: bool,
}

/// What stood after a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Field,
    Record,
    Text,
}

impl<'a> Records<'a> {
    /// Reads a text; the delimiter is ASCII.
    pub(super) fn new(text: &'a str, delimiter: u8) -> Self {
        Self {
            rest: text,
            delimiter,
            quotes_are_text: false,
        }
    }

    /// Puts the fields of the next record into `fields`; false at the end of the text.
    pub(super) fn next_into(&mut self, fields: &mut Vec<Cow<'a, str>>) -> bool {
        loop {
            fields.clear();
            if self.rest.is_empty() {
                return false;
            }
            while {
                let (field, end) = self.field();
                fields.push(field);
                end == End::Field
            } {}
            if fields.iter().any(|field| !field.trim().is_empty()) {
                return true;
            }
        }
    }

    fn field(&mut self) -> (Cow<'a, str>, End) {
        if !self.quotes_are_text
            && let Some(after) = self.rest.strip_prefix('"')
        {
            match self.quoted(after) {
                Some(found) => return found,
                None => self.quotes_are_text = true,
            }
        }
        let (field, end) = self.until_delimiter();
        (Cow::Borrowed(field), end)
    }

    /// The text up to the next delimiter or line end, which is taken as well.
    fn until_delimiter(&mut self) -> (&'a str, End) {
        let delimiter = self.delimiter;
        let at = self
            .rest
            .bytes()
            .position(|byte| byte == delimiter || byte == b'\n' || byte == b'\r');
        let Some((field, after)) = at.and_then(|at| self.rest.split_at_checked(at)) else {
            return (std::mem::take(&mut self.rest), End::Text);
        };
        let (end, length) = match after.as_bytes() {
            [b'\r', b'\n', ..] => (End::Record, 2),
            [b'\r' | b'\n', ..] => (End::Record, 1),
            _ => (End::Field, 1),
        };
        self.rest = text_part(after, length..);
        (field, end)
    }

    /// A quoted field after its first quote; `None` if the quote never closes.
    fn quoted(&mut self, after: &'a str) -> Option<(Cow<'a, str>, End)> {
        let mut value = Cow::Borrowed("");
        let mut rest = after;
        loop {
            let (part, behind) = rest.split_once('"')?;
            add(&mut value, part);
            match behind.strip_prefix('"') {
                Some(next) => {
                    value.to_mut().push('"');
                    rest = next;
                }
                None => {
                    self.rest = behind;
                    break;
                }
            }
        }
        // Text between the closing quote and the delimiter belongs to the field; blanks there do
        // not.
        let (tail, end) = self.until_delimiter();
        if !tail.trim().is_empty() {
            add(&mut value, "\"");
            add(&mut value, tail);
            value = Cow::Owned(format!("\"{value}"));
        }
        Some((value, end))
    }
}

fn add<'a>(value: &mut Cow<'a, str>, part: &'a str) {
    if value.is_empty() {
        *value = Cow::Borrowed(part);
    } else if !part.is_empty() {
        value.to_mut().push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> Vec<Vec<String>> {
        let mut records = Records::new(text, b',');
        let (mut all, mut fields) = (Vec::new(), Vec::new());
        while records.next_into(&mut fields) {
            all.push(
                fields
                    .iter()
                    .map(|field| field.clone().into_owned())
                    .collect(),
            );
        }
        all
    }

    #[test]
    fn fields_and_line_ends() {
        assert_eq!(
            records("a,b\r\nc,\rd\n\n,,\n \ne"),
            [vec!["a", "b"], vec!["c", ""], vec!["d"], vec!["e"]]
        );
        assert_eq!(records(""), Vec::<Vec<String>>::new());
        assert_eq!(records("a,"), [["a", ""]]);
    }

    #[test]
    fn quotes() {
        assert_eq!(records("\"a,\"\"b\"\"\nc\",d\n"), [["a,\"b\"\nc", "d"]]);
        assert_eq!(records("\"a\" ,\"\"\n\"\"\"\",x"), [["a", ""], ["\"", "x"]]);
        assert_eq!(records("5\" disk,x"), [["5\" disk", "x"]]);
        assert_eq!(records("\"a\" and b,x"), [["\"a\" and b", "x"]]);
    }

    #[test]
    fn a_quote_without_end_is_text() {
        assert_eq!(records("a,\"b\nc,d\n"), [["a", "\"b"], ["c", "d"]]);
        let hostile = ",\"\n".repeat(100_001);
        assert!(records(&hostile).len() > 40_000);
    }
}
