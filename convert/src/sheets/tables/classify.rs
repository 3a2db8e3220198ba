//! What a cell's value is for the type of its column, and how text of delimited files becomes a
//! value.

use std::borrow::Cow;

use super::value::Value;

/// The kind of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Nothing, or a word for it such as `n/a`.
    Empty,
    /// A whole number.
    Integer,
    /// A number with decimals.
    Real,
    /// True or false.
    Boolean,
    /// A day.
    Date,
    /// A day with a time.
    DateTime,
    /// A time.
    Time,
    /// An error such as `#N/A`.
    Error,
    /// Anything else.
    Text,
}

/// Words that stand for a missing value in a column of numbers or dates.
const MISSING: &[&str] = &[
    "-", "–", "—", "--", "n/a", "na", "nan", "null", "none", "nil", "#n/a", "\\n", "无", "/",
];

/// Longest text that can be a number or a date.
const MAXIMUM_VALUE_BYTES: usize = 32;

/// The kind of a typed value.
pub(crate) fn kind_of(value: &Value<'_>) -> Kind {
    match value {
        Value::Empty => Kind::Empty,
        Value::Integer(_) => Kind::Integer,
        Value::Real(_) => Kind::Real,
        Value::Boolean(_) => Kind::Boolean,
        Value::Date(_) => Kind::Date,
        Value::DateTime(_) => Kind::DateTime,
        Value::Time(_) => Kind::Time,
        Value::Error(_) => Kind::Error,
        Value::Text(text) if text.trim().is_empty() => Kind::Empty,
        Value::Text(_) => Kind::Text,
    }
}

/// Whether text is a word for a missing value.
pub(crate) fn is_missing(text: &str) -> bool {
    let text = text.trim();
    text.len() <= 8 && MISSING.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Understands text as a number, a date or a truth value; `Text` if it is none of them.
///
/// Numbers with leading zeros or a plus sign are identifiers and stay text, as do dates whose day
/// and month could be exchanged.
pub(crate) fn understand(text: &str) -> Value<'_> {
    let trimmed = text.trim();
    let Some(first) = trimmed.bytes().next() else {
        return Value::Empty;
    };
    if trimmed.len() > MAXIMUM_VALUE_BYTES {
        return Value::Text(Cow::Borrowed(text));
    }
    let value = match first {
        b'0'..=b'9' | b'-' | b'.' => number(trimmed).or_else(|| date_or_time(trimmed)),
        b't' | b'T' if trimmed.eq_ignore_ascii_case("true") => Some(Value::Boolean(true)),
        b'f' | b'F' if trimmed.eq_ignore_ascii_case("false") => Some(Value::Boolean(false)),
        _ => None,
    };
    value.unwrap_or(Value::Text(Cow::Borrowed(text)))
}

fn number(text: &str) -> Option<Value<'static>> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_identifier = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    if is_identifier
        || !digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b',' | b'e' | b'E' | b'+' | b'-'))
    {
        return None;
    }
    if is_digits(digits) {
        // Longer ones are identifiers: as numbers they would lose digits.
        return text.parse().ok().map(Value::Integer);
    }
    if digits.contains(',') {
        return grouped(text);
    }
    let has_mantissa = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.len() > 1;
    has_mantissa
        .then(|| text.parse().ok().filter(|number: &f64| number.is_finite()))
        .flatten()
        .map(Value::Real)
}

/// `1,234,567.5`: groups of three only.
fn grouped(text: &str) -> Option<Value<'static>> {
    let (whole, decimals) = text
        .split_once('.')
        .map_or((text, None), |(whole, decimals)| (whole, Some(decimals)));
    let mut groups = whole.trim_start_matches('-').split(',');
    let first = groups.next()?;
    if first.is_empty()
        || first.len() > 3
        || !is_digits(first)
        || !groups.all(|group| group.len() == 3 && is_digits(group))
    {
        return None;
    }
    if decimals.is_some_and(|decimals| !is_digits(decimals)) {
        return None;
    }
    let plain = text.replace(',', "");
    if decimals.is_none() {
        plain.parse().ok().map(Value::Integer)
    } else {
        plain.parse().ok().map(Value::Real)
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn date_or_time(text: &str) -> Option<Value<'static>> {
    let (day, time) = match text.split_once(['T', ' ']) {
        Some((day, time)) => (day, Some(time.trim())),
        None => (text, None),
    };
    match (date(day), time) {
        (Some(day), None) => Some(Value::Date(Cow::Owned(day))),
        (Some(day), Some(clock)) => Some(Value::DateTime(Cow::Owned(format!(
            "{day} {}",
            self::time(clock)?
        )))),
        (None, None) => Some(Value::Time(Cow::Owned(time_of_day(day)?))),
        (None, Some(_)) => None,
    }
}

/// `2024-2-9`, `2024/02/09`, `2024.02.09`, `2024年2月9日`, `9.2.2024`; others could be read in two
/// ways.
fn date(text: &str) -> Option<String> {
    let separator = text.chars().find(|character| !character.is_ascii_digit())?;
    let mut parts = text
        .trim_end_matches('日')
        .split(['-', '/', '.', '年', '月']);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    let is_uniform = separator == '年' || text.matches(separator).count() == 2;
    if parts.next().is_some() || !is_uniform || !matches!(separator, '-' | '/' | '.' | '年') {
        return None;
    }
    let (year, month, day) = if first.len() == 4 {
        (first, second, third)
    } else if separator == '.' && third.len() == 4 {
        (third, second, first)
    } else {
        return None;
    };
    let (year, month, day) = (small(year)?, small(month)?, small(day)?);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => return None,
    };
    (1..=days)
        .contains(&day)
        .then(|| format!("{year:04}-{month:02}-{day:02}"))
}

fn small(digits: &str) -> Option<u32> {
    let is_number =
        (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// A time, with fractions of a second and an offset kept as they are.
fn time(text: &str) -> Option<String> {
    let end = text
        .find(|character: char| !(character.is_ascii_digit() || character == ':'))
        .unwrap_or(text.len());
    let (clock, rest) = text.split_at_checked(end)?;
    let is_rest = rest
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-' | b':' | b'Z'));
    is_rest
        .then(|| time_of_day(clock))
        .flatten()
        .map(|clock| clock + rest)
}

/// `9:05` and `09:05:00`.
fn time_of_day(text: &str) -> Option<String> {
    let mut parts = text.split(':');
    let (hour, minute) = (small(parts.next()?)?, small(parts.next()?)?);
    let second = parts.next().map_or(Some(0), small)?;
    let is_time = parts.next().is_none() && hour < 24 && minute < 60 && second < 60;
    is_time.then(|| format!("{hour:02}:{minute:02}:{second:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &'static str) -> Value<'static> {
        Value::Text(Cow::Borrowed(value))
    }

    #[test]
    fn numbers_are_understood_and_identifiers_stay() {
        assert_eq!(understand(" 42 "), Value::Integer(42));
        assert_eq!(understand("-0.5"), Value::Real(-0.5));
        assert_eq!(understand("1e3"), Value::Real(1000.0));
        assert_eq!(understand("1,234,567"), Value::Integer(1_234_567));
        assert_eq!(understand("1,234.5"), Value::Real(1234.5));
        for identifier in [
            "007",
            "+49",
            "1,23",
            "12345678901234567890",
            "1-2",
            "-",
            "1.2.3",
            "0x10",
            "1_000",
            ".",
            "3e",
            "inf",
        ] {
            assert_eq!(understand(identifier), text(identifier));
        }
    }

    #[test]
    fn unambiguous_dates_become_iso() {
        for (written, iso) in [
            ("2024-2-9", "2024-02-09"),
            ("2024/02/29", "2024-02-29"),
            ("2024年2月9日", "2024-02-09"),
            ("9.2.2024", "2024-02-09"),
        ] {
            assert_eq!(understand(written), Value::Date(iso.into()), "{written}");
        }
        assert_eq!(
            understand("2020-01-05 1:02"),
            Value::DateTime("2020-01-05 01:02:00".into())
        );
        assert_eq!(
            understand("2020-01-05T01:02:03.5Z"),
            Value::DateTime("2020-01-05 01:02:03.5Z".into())
        );
        assert_eq!(understand("23:59"), Value::Time("23:59:00".into()));
        for no_date in [
            "2023-02-29",
            "01/02/2024",
            "2024-13-01",
            "24:00",
            "2024-01/02",
            "229.077.5154",
        ] {
            assert_eq!(understand(no_date), text(no_date));
        }
    }

    #[test]
    fn truth_and_missing_values() {
        assert_eq!(understand("TRUE"), Value::Boolean(true));
        assert_eq!(understand("  "), Value::Empty);
        assert!(is_missing("N/A") && is_missing(" - ") && !is_missing("no"));
    }
}
