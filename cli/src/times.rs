//! Times as people read and write them, always in UTC.

use anyhow::{Context, Result, anyhow, bail};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A time to the second, such as `2026-11-24 08:14:50 UTC`; the number where no calendar has it.
pub fn to_the_second(at_ms: i64) -> String {
    written(at_ms, "%Y-%m-%d %H:%M:%S UTC")
}

/// A time to the minute, such as `2026-11-24 08:14`.
pub fn to_the_minute(at_ms: i64) -> String {
    written(at_ms, "%Y-%m-%d %H:%M")
}

fn written(at_ms: i64, format: &str) -> String {
    Timestamp::from_millisecond(at_ms).map_or_else(
        |_| format!("{at_ms} ms"),
        |time| time.strftime(format).to_string(),
    )
}

/// Milliseconds since 1970 of a date (`2026-11-24`, its beginning), a time
/// (`2026-11-24T08:14:50Z`), or how long ago (`90m`, `12h`, `7d`).
pub fn moment(text: &str, now: Timestamp) -> Result<i64> {
    if let Some(ago) = ago(text) {
        return Ok(now.checked_sub(ago?)?.as_millisecond());
    }
    at(text).with_context(|| {
        format!("`{text}` is no time\nhint: give a date (2026-11-24), a time (2026-11-24T08:14:50Z) or how long ago (90m, 12h, 7d)")
    })
}

/// Milliseconds since 1970 of a date or a time; of one without a zone, as lists print them, in UTC.
fn at(text: &str) -> Option<i64> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    let text = text.strip_suffix(" UTC").unwrap_or(text);
    let time = text
        .parse::<DateTime>()
        .ok()?
        .to_zoned(TimeZone::UTC)
        .ok()?;
    Some(time.timestamp().as_millisecond())
}

/// Milliseconds since 1970 of a date, a time, or in how long (`90m`, `12h`, `7d`); it must be yet to
/// come.
pub fn in_the_future(text: &str, now: Timestamp) -> Result<i64> {
    let at_ms = match ago(text) {
        Some(length) => now.checked_add(length?)?.as_millisecond(),
        None => at(text).with_context(|| {
            format!("`{text}` is no time\nhint: give a date (2026-11-24), a time (2026-11-24T08:14:50Z) or in how long (90m, 12h, 7d)")
        })?,
    };
    if at_ms <= now.as_millisecond() {
        bail!("`{text}` is over already");
    }
    Ok(at_ms)
}

/// Milliseconds of a length of time (`90m`, `12h`, `7d`).
pub fn length_ms(text: &str) -> Result<i64> {
    match ago(text) {
        Some(length) => i64::try_from(length?.as_millis()).map_err(Into::into),
        None => bail!("`{text}` is no length of time\nhint: 90m, 12h or 7d"),
    }
}

/// A length of time, if it is written as one.
fn ago(text: &str) -> Option<Result<SignedDuration>> {
    let units = [("m", 60), ("h", 3600), ("d", 86_400)];
    let (number, seconds) = units
        .into_iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))?;
    let number: i64 = number.parse().ok().filter(|number| *number >= 0)?;
    let length = number
        .checked_mul(seconds)
        .map(SignedDuration::from_secs)
        .ok_or_else(|| anyhow!("`{text}` is too long ago"));
    Some(length)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let cases = [
            ("1970-01-02", 86_400_000),
            ("1970-01-01T00:00:01Z", 1000),
            ("10m", 999_400_000),
            ("1d", 913_600_000),
        ];
        for (text, expected) in cases {
            assert_eq!(moment(text, now).unwrap(), expected, "{text}");
        }
        for strange in [
            "",
            "yesterday",
            "5",
            "-5m",
            "99999999999999999d",
            "2026-13-01",
        ] {
            assert!(moment(strange, now).is_err(), "{strange}");
        }
    }

    #[test]
    fn what_is_yet_to_come_is_given_by_date_or_length() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let cases = [
            ("10m", 1_000_600_000),
            ("1970-02-01", 2_678_400_000),
            ("1970-01-12T13:46:41Z", 1_000_001_000),
        ];
        for (text, expected) in cases {
            assert_eq!(in_the_future(text, now).unwrap(), expected, "{text}");
        }
        for over in ["0m", "1970-01-01", "soon", "99999999999999999d"] {
            assert!(in_the_future(over, now).is_err(), "{over}");
        }
        assert_eq!(length_ms("24h").unwrap(), 86_400_000);
        assert!(length_ms("1970-01-02").is_err() && length_ms("-1h").is_err());
    }

    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(to_the_second(1_000), "1970-01-01 00:00:01 UTC");
        assert_eq!(to_the_minute(3_600_000), "1970-01-01 01:00");
        assert_eq!(to_the_minute(i64::MAX), format!("{} ms", i64::MAX));
    }
}
