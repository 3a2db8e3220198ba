//! Splits delimited text into records and fields, in one linear pass.

use crate::slices::text_part;
use std::borrow::Cow;

/// How a quote within a quoted field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    /// `""`.
    Doubled,
    /// `\"`, and a backslash before a quote `\\`. Doubled quotes are read as well.
    Escaped,
}

/// The records of a text that have something in them.
#[derive(Debug)]
pub(super) struct Records<'a> {
    rest: &'a str,
    delimiter: u8,
    quotes: Quotes,
    /// Whether a quote was found that neither ends a field nor is escaped in it.
    has_stray_quotes: bool,
    /// Whether a quote without an end was found: from there on quotes are text, or each would be
    /// sought to the end of the file.
    quotes_are_text: bool,
    /// Whether a line with nothing in it stands above the last record.
    follows_blank: bool,
    /// Bytes of the text, and where the last record begins in it.
    length: usize,
    start: usize,
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
    pub(super) fn new(text: &'a str, delimiter: u8, quotes: Quotes) -> Self {
        Self {
            rest: text,
            delimiter,
            quotes,
            has_stray_quotes: false,
            quotes_are_text: false,
            follows_blank: false,
            length: text.len(),
            start: 0,
        }
    }

    /// Where the last record begins, in bytes of the text.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Whether a line with nothing in it stands above the last record.
    pub(super) fn follows_blank(&self) -> bool {
        self.follows_blank
    }

    /// Puts the fields of the next record into `fields`; false at the end of the text.
    pub(super) fn next_into(&mut self, fields: &mut Vec<Cow<'a, str>>) -> bool {
        self.follows_blank = false;
        loop {
            fields.clear();
            if self.rest.is_empty() {
                return false;
            }
            self.start = self.length - self.rest.len();
            while {
                let (field, end) = self.field();
                fields.push(field);
                end == End::Field
            } {}
            if fields.iter().any(|field| !field.trim().is_empty()) {
                return true;
            }
            self.follows_blank = true;
        }
    }

    /// Whether a quote stands where none belongs; reads up to the first one.
    pub(super) fn find_stray_quote(mut self) -> bool {
        let mut fields = Vec::new();
        while !self.has_stray_quotes && self.next_into(&mut fields) {}
        self.has_stray_quotes
    }

    fn field(&mut self) -> (Cow<'a, str>, End) {
        if !self.quotes_are_text
            && let Some(after) = self.rest.strip_prefix('"')
        {
            match self.quoted(after) {
                Some(found) => return found,
                None => {
                    self.quotes_are_text = true;
                    self.has_stray_quotes = true;
                }
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
            if self.quotes == Quotes::Escaped
                && let Some(part) = before_escape(part)
            {
                add_unescaped(&mut value, part);
                value.to_mut().push('"');
                rest = behind;
                continue;
            }
            match self.quotes {
                Quotes::Doubled => add(&mut value, part),
                Quotes::Escaped => add_unescaped(&mut value, part),
            }
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
        Some(self.with_tail(value))
    }

    /// A quoted value with the text between its closing quote and the delimiter, which belongs to
    /// the field; blanks there do not.
    fn with_tail(&mut self, mut value: Cow<'a, str>) -> (Cow<'a, str>, End) {
        let (tail, end) = self.until_delimiter();
        if !tail.trim().is_empty() {
            self.has_stray_quotes = true;
            add(&mut value, "\"");
            add(&mut value, tail);
            value = Cow::Owned(format!("\"{value}"));
        }
        (value, end)
    }
}

/// What stands before the backslash that escapes the quote behind `part`; `None` if none does.
fn before_escape(part: &str) -> Option<&str> {
    let backslashes = part.bytes().rev().take_while(|byte| *byte == b'\\').count();
    part.strip_suffix('\\')
        .filter(|_| !backslashes.is_multiple_of(2))
}

/// Adds text in which `\\` stands for a backslash.
fn add_unescaped<'a>(value: &mut Cow<'a, str>, part: &'a str) {
    if part.contains(r"\\") {
        value.to_mut().push_str(&part.replace(r"\\", r"\"));
    } else {
        add(value, part);
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
        records_with(text, Quotes::Doubled)
    }

    fn records_with(text: &str, quotes: Quotes) -> Vec<Vec<String>> {
        let mut records = Records::new(text, b',', quotes);
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
    fn quotes_behind_backslashes() {
        let escaped = |text| records_with(text, Quotes::Escaped);
        assert_eq!(
            escaped(r#""5'8\"","x \"y\" z""#),
            [[r#"5'8""#, r#"x "y" z"#]]
        );
        assert_eq!(
            escaped(r#""C:\\","\\\"a",\"b"#),
            [[r"C:\", r#"\"a"#, r#"\"b"#]]
        );
        assert_eq!(escaped(r#""a\n","","b""c""#), [[r"a\n", "", r#"b"c"#]]);
        assert_eq!(escaped(r#""a\",b"#), [[r#""a\""#, "b"]]);
    }

    #[test]
    fn stray_quotes_are_found() {
        let stray = |text, quotes| Records::new(text, b',', quotes).find_stray_quote();
        let escaped = r#""a",1
"vinyl, 12\"",2"#;
        assert!(stray(escaped, Quotes::Doubled) && !stray(escaped, Quotes::Escaped));
        let path = r#""C:\","x""#;
        assert!(!stray(path, Quotes::Doubled) && stray(path, Quotes::Escaped));
        assert!(stray("a,\"b\n", Quotes::Doubled) && !stray("5\" disk,x", Quotes::Doubled));
    }

    #[test]
    fn a_quote_without_end_is_text() {
        assert_eq!(records("a,\"b\nc,d\n"), [["a", "\"b"], ["c", "d"]]);
        let hostile = ",\"\n".repeat(100_001);
        assert!(records(&hostile).len() > 40_000);
    }
}
