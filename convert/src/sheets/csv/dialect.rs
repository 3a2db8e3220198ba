//! Which delimiter a text uses, by how evenly each candidate splits its first records, and how it
//! writes quotes within quoted fields.

use std::borrow::Cow;
use std::collections::HashMap;

use super::records::{Quotes, Records};
use crate::slices::text_part;

/// Delimiters that are tried; of two that split equally well the first one wins.
const CANDIDATES: [u8; 7] = [b'\t', b'|', b';', b',', 0x1F, 0x01, b'^'];

/// Delimiters that also stand in ordinary text, and are believed only where no other splits.
const WEAK: [u8; 2] = [b':', b'~'];

/// Records looked at.
const SAMPLE_RECORDS: usize = 300;

/// Share of the records, in per mille, that a weak delimiter must split evenly.
const WEAK_SHARE: usize = 950;

/// How a text is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// The delimiter.
    pub delimiter: u8,
    /// How quotes within quoted fields are written.
    pub quotes: Quotes,
    /// Bytes of a first line `sep=;`, which is no record.
    skipped: usize,
}

/// How well a delimiter splits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    /// Per mille of the records that have the most frequent number of fields, at least two.
    even: usize,
    columns: usize,
}

impl Dialect {
    /// Chooses the delimiter by the first `sample_bytes`, a comma where nothing splits. Quotes are
    /// behind backslashes where the whole text, read that way, has none out of place, and has some
    /// when it is read the usual way.
    pub(super) fn sniff(text: &str, sample_bytes: usize) -> Self {
        if text.contains(r#"\""#) {
            let escaped = Self::with_quotes(text, sample_bytes, Quotes::Escaped);
            let has_stray = |quotes| {
                Records::new(escaped.body(text), escaped.delimiter, quotes).find_stray_quote()
            };
            if has_stray(Quotes::Doubled) && !has_stray(Quotes::Escaped) {
                return escaped;
            }
        }
        Self::with_quotes(text, sample_bytes, Quotes::Doubled)
    }

    fn with_quotes(text: &str, sample_bytes: usize, quotes: Quotes) -> Self {
        if let Some((delimiter, skipped)) = declared(text) {
            return Self {
                delimiter,
                quotes,
                skipped,
            };
        }
        let is_whole = text.len() <= sample_bytes;
        let sample = text
            .get(..text.floor_char_boundary(sample_bytes))
            .unwrap_or(text);
        let mut best = (b',', Score::default());
        for delimiter in CANDIDATES {
            let score = score(sample, delimiter, quotes, is_whole);
            if better(score, best.1) {
                best = (delimiter, score);
            }
        }
        if best.1.columns < 2 {
            let weak = WEAK.into_iter().find(|delimiter| {
                let score = score(sample, *delimiter, quotes, is_whole);
                score.even >= WEAK_SHARE && score.columns >= 3
            });
            best.0 = weak.unwrap_or(b',');
        }
        Self {
            delimiter: best.0,
            quotes,
            skipped: 0,
        }
    }

    /// The text without a first line that only names the delimiter.
    pub(super) fn body(self, text: &str) -> &str {
        text_part(text, self.skipped..)
    }

    /// The delimiter for people.
    pub(super) fn name(self) -> String {
        match self.delimiter {
            b'\t' => "tab".to_owned(),
            control if control < 0x20 => format!("U+{control:04X}"),
            other => char::from(other).to_string(),
        }
    }
}

/// Clearly more even, or as even and more columns.
fn better(one: Score, other: Score) -> bool {
    let slack = 50;
    one.columns >= 2
        && (one.even > other.even + slack
            || (one.even + slack >= other.even && one.columns > other.columns))
}

/// The delimiter of a first line `sep=;`, as some spreadsheets write it, and the line's bytes.
fn declared(text: &str) -> Option<(u8, usize)> {
    let line = text.split(['\n', '\r']).next()?;
    let value = line
        .trim_matches('"')
        .strip_prefix("sep=")
        .or_else(|| line.trim_matches('"').strip_prefix("SEP="))?;
    let [delimiter] = value.as_bytes() else {
        return None;
    };
    (delimiter.is_ascii() && *delimiter != b'"').then_some((*delimiter, line.len()))
}

fn score(sample: &str, delimiter: u8, quotes: Quotes, is_whole: bool) -> Score {
    if !sample.as_bytes().contains(&delimiter) {
        return Score::default();
    }
    let mut records = Records::new(sample, delimiter, quotes);
    let mut widths = Vec::new();
    let mut fields: Vec<Cow<'_, str>> = Vec::new();
    while widths.len() < SAMPLE_RECORDS && records.next_into(&mut fields) {
        widths.push(fields.len());
    }
    // The last record of a sample is cut off.
    if !is_whole && widths.len() > 1 && widths.len() < SAMPLE_RECORDS {
        widths.pop();
    }
    let usual = usual_width(&widths);
    usual.map_or_else(Score::default, |(columns, count)| Score {
        even: count * 1000 / widths.len().max(1),
        columns,
    })
}

/// The most frequent number of fields that is more than one, and how many records have it.
fn usual_width(widths: &[usize]) -> Option<(usize, usize)> {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    widths
        .iter()
        .for_each(|width| *counts.entry(*width).or_default() += 1);
    counts
        .into_iter()
        .filter(|(width, _)| *width >= 2)
        .max_by_key(|(width, count)| (*count, *width))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delimiter(text: &str) -> char {
        char::from(Dialect::sniff(text, 1 << 16).delimiter)
    }

    #[test]
    fn delimiters_are_found() {
        assert_eq!(delimiter("a,b\n1,2\n"), ',');
        assert_eq!(delimiter("a;b\n1,5;2,3\n1,7;9,1\n"), ';');
        assert_eq!(delimiter("name\ttext\nx\ta, b, c\ny\td, e, f\n"), '\t');
        assert_eq!(delimiter("a|b|c\n1|2|3"), '|');
        assert_eq!(delimiter("id,tags\n1,a;b\n2,c;d\n3,e;f\n"), ',');
        assert_eq!(delimiter("a:b:c\n1:2:3\n"), ':');
        assert_eq!(
            delimiter("just text: with, punctuation\nmore\nand more"),
            ','
        );
        assert_eq!(delimiter("\"x;y;z\",1\n\"p;q;r\",2\n"), ',');
    }

    #[test]
    fn quotes_are_behind_backslashes_where_the_whole_text_says_so() {
        let quotes = |text: &str| Dialect::sniff(text, 1 << 16).quotes;
        let height = "\"name\",\"height\"\n\"Ann\",\"5'8\\\"\"\n";
        assert_eq!(quotes(height), Quotes::Escaped);
        assert_eq!(quotes(&format!("sep=,\n{height}")), Quotes::Escaped);
        for usual in [
            "\"path\",\"size\"\n\"C:\\\",\"1\"\n",
            "\"say \"\"\\\"\"\",1\n",
            &format!("{height}\"C:\\\",\"1\"\n"),
            &format!("{height}\"a\" b,1\n"),
        ] {
            assert_eq!(quotes(usual), Quotes::Doubled, "{usual}");
        }
    }

    #[test]
    fn a_declared_delimiter_is_obeyed() {
        let text = "sep=;\r\na,b;c\r\n";
        let dialect = Dialect::sniff(text, 100);
        assert_eq!(
            (dialect.delimiter, dialect.body(text).trim()),
            (b';', "a,b;c")
        );
    }
}
