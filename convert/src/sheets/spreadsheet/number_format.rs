//! Number formats of workbooks: a number as people see it.
//!
//! Dates and times are shown as ISO whatever their order in the format is. Of number formats these
//! are followed: sections for negative numbers and zero, digits, decimals, thousands, scaling,
//! percent, exponents, literal text, currency signs. Fractions, conditions and padding are not;
//! such numbers are shown plain.

use std::borrow::Cow;

use super::date::{Shown, from_serial};
use super::section::{Section, sections_of, starts_general};
use crate::sheets::tables::value::{Cell, Value};

/// Longest format that is understood.
const MAXIMUM_CODE_BYTES: usize = 512;

/// A format as far as it is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum NumberFormat {
    /// The plain number.
    #[default]
    General,
    /// A date or a time.
    Date(Shown),
    /// Sections for positive, negative and zero.
    Number(Vec<Section>),
}

impl NumberFormat {
    /// Understands a format code such as `#,##0.00;[Red]-#,##0.00`.
    pub(super) fn parse(code: &str) -> Self {
        if code.len() > MAXIMUM_CODE_BYTES
            || code.eq_ignore_ascii_case("general")
            || code == "@"
            || code.is_empty()
        {
            return Self::General;
        }
        if let Some(shown) = date_parts(code) {
            return Self::Date(shown);
        }
        sections_of(code).map_or(Self::General, Self::Number)
    }

    /// One of the formats that have a number instead of a code; by number, as in `numFmtId`.
    pub(super) fn built_in(id: u32) -> Self {
        let code = match id {
            1 => "0",
            2 => "0.00",
            3 => "#,##0",
            4 => "#,##0.00",
            5 | 6 => "$#,##0;-$#,##0",
            7 | 8 => "$#,##0.00;-$#,##0.00",
            9 => "0%",
            10 => "0.00%",
            11 => "0.00E+00",
            37 | 38 => "#,##0;(#,##0)",
            39 | 40 => "#,##0.00;(#,##0.00)",
            48 => "##0.0E+0",
            14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58 => return Self::Date(Shown::Date),
            18..=21 | 32..=35 | 45 | 47 | 55 | 56 => return Self::Date(Shown::Time),
            22 => return Self::Date(Shown::DateTime),
            46 => return Self::Date(Shown::Duration),
            _ => return Self::General,
        };
        Self::parse(code)
    }

    /// The cell of a number in this format.
    pub(super) fn cell(&self, column: u32, number: f64, is_1904: bool) -> Cell<'static> {
        let plain = || Cell::new(column, Value::number(number));
        match self {
            Self::General => plain(),
            Self::Date(shown) => from_serial(number, *shown, is_1904)
                .map_or_else(plain, |value| Cell::new(column, value)),
            Self::Number(sections) => {
                let mut cell = plain();
                let shown = show(sections, number);
                if !shown.is_empty() && shown != cell.value.text() {
                    cell.shown = Some(Cow::Owned(shown));
                }
                cell
            }
        }
    }
}

fn show(sections: &[Section], number: f64) -> String {
    if !number.is_finite() {
        return String::new();
    }
    let (section, sign) = match sections {
        [_, negative, ..] if number < 0.0 => (negative, ""),
        [_, _, zero, ..] if number == 0.0 => (zero, ""),
        [only, ..] => (only, if number < 0.0 { "-" } else { "" }),
        [] => return String::new(),
    };
    let shown = section.show(number.abs());
    // A number rounded to nothing has no sign.
    let is_zero = !shown
        .chars()
        .any(|character| matches!(character, '1'..='9'));
    if is_zero || sign.is_empty() {
        shown
    } else {
        format!("{sign}{shown}")
    }
}

/// Whether the code shows a date, a time or both.
fn date_parts(code: &str) -> Option<Shown> {
    let first = code.split(';').next().unwrap_or(code);
    let (letters, is_elapsed) = date_letters(first);
    let has = |wanted: &[char]| letters.contains(wanted);
    if letters.is_empty()
        || has(&['0', '#', '?']) && !letters.contains("s.") && !has(&['y', 'd', 'h'])
    {
        return None;
    }
    let has_time = has(&['h', 's']);
    let has_date = has(&['y', 'd']) || (has(&['m']) && !has_time);
    match (has_date, has_time, is_elapsed) {
        (_, _, true) => Some(Shown::Duration),
        (true, true, _) => Some(Shown::DateTime),
        (true, false, _) => Some(Shown::Date),
        (false, true, _) => Some(Shown::Time),
        (false, false, _) => None,
    }
}

/// The code's letters without literal text and brackets, lowercase, and whether it counts elapsed
/// hours, minutes or seconds.
fn date_letters(code: &str) -> (String, bool) {
    let mut letters = String::new();
    let mut is_elapsed = false;
    let mut characters = code.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => characters
                .by_ref()
                .take_while(|next| *next != '"')
                .for_each(drop),
            '\\' | '_' | '*' => drop(characters.next()),
            'G' | 'g' if starts_general(characters.clone()) => {
                characters.by_ref().take(6).for_each(drop);
            }
            // The day of the week, as `dddd`.
            'A' | 'a'
                if characters
                    .next_if(|next| matches!(next, 'A' | 'a'))
                    .is_some() =>
            {
                while characters
                    .next_if(|next| matches!(next, 'A' | 'a'))
                    .is_some()
                {}
                letters.push('d');
            }
            '[' => {
                let inside: String = characters
                    .by_ref()
                    .take_while(|next| *next != ']')
                    .collect::<String>()
                    .to_ascii_lowercase();
                is_elapsed |= is_elapsed_unit(&inside);
            }
            'A' | 'a' | 'P' | 'p' => letters.push('h'),
            'E' | 'e' | 'G' | 'g' | 'N' | 'n' | 'R' | 'r' | 'L' | 'l' => {}
            _ => letters.push(character.to_ascii_lowercase()),
        }
    }
    (letters, is_elapsed)
}

/// Whether it is `h`, `mm` and the like.
fn is_elapsed_unit(letters: &str) -> bool {
    !letters.is_empty()
        && ["h", "m", "s"]
            .iter()
            .any(|unit| letters.replace(unit, "").is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(code: &str, number: f64) -> String {
        NumberFormat::parse(code)
            .cell(0, number, false)
            .text()
            .into_owned()
    }

    #[test]
    fn numbers_are_shown_by_their_format() {
        for (code, number, expected) in [
            ("0.00", 2.675, "2.68"),
            ("0.00", -0.001, "0.00"),
            ("#,##0", 1_234_567.0, "1,234,567"),
            ("#,##0.00;[Red]-#,##0.00", -1234.5, "-1,234.50"),
            ("0%", 0.256, "26%"),
            ("0.0%", 1.0, "100.0%"),
            ("[$€-407]#,##0.00", 12.5, "€12.50"),
            ("#,##0.00\\ \"kg\"", 3.0, "3.00 kg"),
            ("$#,##0_);($#,##0)", -5.0, "($5)"),
            ("0.00E+00", 12345.0, "1.23E+04"),
            ("0.##", 1.5, "1.5"),
            ("#.##", 0.5, ".5"),
            ("0.#", 3.0, "3."),
            ("000000", 42.0, "000042"),
            ("000\\-0000", 1_234_567.0, "123-4567"),
            ("#,##0,", 1_234_567.0, "1,235"),
            ("0;-0;\"none\"", 0.0, "none"),
            ("# ?/?", 0.5, "0.5"),
            ("[>100]0.0;0", 7.0, "7"),
            ("General", 0.1 + 0.2, "0.3"),
            ("General\"台\"", 3.0, "3台"),
            ("General\" kg\"", 12.5, "12.5 kg"),
            ("General\\°C", 60.0, "60°C"),
            ("General;-General", -7.0, "-7"),
            ("General_)", 7.0, "7"),
            ("[Blue]General", 7.5, "7.5"),
            ("¥General", 9.0, "¥9"),
            ("[DBNum2][$-804]General", 12.0, "12"),
            ("\"Q\"0", 3.0, "Q3"),
            ("¥#,##0", 1000.0, "¥1,000"),
        ] {
            assert_eq!(shown(code, number), expected, "{code} {number}");
        }
    }

    #[test]
    fn dates_are_iso() {
        for (code, expected) in [
            ("m/d/yy", "2024-02-29"),
            ("yyyy\"年\"m\"月\"d\"日\";@", "2024-02-29"),
            ("[$-804]aaaa yyyy/m/d h:mm", "2024-02-29 12:00:00"),
            ("h:mm AM/PM", "12:00:00"),
            ("mmm-yy", "2024-02-29"),
            ("[$-804]aaaa;@", "2024-02-29"),
            ("aaa", "2024-02-29"),
            ("h:mm A/P", "12:00:00"),
            ("[h]:mm:ss", "1088436:00:00"),
            ("mm:ss.0", "12:00:00"),
            ("[Red]0.0", "45351.5"),
            ("\"day\" 0", "day 45352"),
        ] {
            assert_eq!(shown(code, 45_351.5), expected, "{code}");
        }
        assert_eq!(
            NumberFormat::built_in(22).cell(0, 1.5, false).text(),
            "1900-01-01 12:00:00"
        );
    }

    #[test]
    fn hostile_formats_end() {
        for code in [
            "[",
            "\"",
            "\\",
            "0.0.0.0",
            &"#".repeat(500),
            &"0,".repeat(250),
            "E+",
            "0E+",
            "%%%%%%",
            ";;;;;",
        ] {
            for number in [0.0, -1.5, 1e300, 1e-300, f64::NAN, f64::INFINITY] {
                assert!(shown(code, number).len() < 2000, "{code}");
            }
        }
    }
}
