//! Serial day numbers of workbooks to ISO dates and times.

use std::borrow::Cow;

use crate::sheets::tables::value::Value;

const MILLISECONDS_PER_DAY: f64 = 86_400_000.0;

/// Days from 1899-12-30 to 9999-12-31, the last day that workbooks know.
const LAST_DAY: f64 = 2_958_465.0;

/// Days between the epochs 1900 and 1904.
const EPOCH_1904: f64 = 1462.0;

/// What of a serial number is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// The day.
    Date,
    /// Day and time.
    DateTime,
    /// The time of the day.
    Time,
    /// Hours, minutes and seconds since nothing, more than 24 hours too.
    Duration,
}

/// The date or time of a serial number; `None` outside of what workbooks can show.
pub(super) fn from_serial(serial: f64, shown: Shown, is_1904: bool) -> Option<Value<'static>> {
    if !serial.is_finite() {
        return None;
    }
    if shown == Shown::Duration {
        return duration(serial).map(|text| Value::Time(Cow::Owned(text)));
    }
    let serial = if is_1904 { serial + EPOCH_1904 } else { serial };
    if !(0.0..=LAST_DAY + 1.0).contains(&serial) {
        return None;
    }
    let (mut day, mut seconds) = (
        serial.floor(),
        ((serial.fract() * MILLISECONDS_PER_DAY).round() / 1000.0).round() as u32,
    );
    if seconds >= 86_400 {
        (day, seconds) = (day + 1.0, seconds - 86_400);
    }
    let clock = clock(u64::from(seconds));
    match shown {
        Shown::Date => Some(Value::Date(Cow::Owned(iso_day(day as i64)?))),
        Shown::DateTime => Some(Value::DateTime(Cow::Owned(format!(
            "{} {clock}",
            iso_day(day as i64)?
        )))),
        Shown::Time | Shown::Duration => Some(Value::Time(Cow::Owned(clock))),
    }
}

fn clock(seconds: u64) -> String {
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

fn duration(serial: f64) -> Option<String> {
    if serial.abs() > LAST_DAY {
        return None;
    }
    let sign = if serial < 0.0 { "-" } else { "" };
    Some(format!(
        "{sign}{}",
        clock((serial.abs() * 86_400.0).round() as u64)
    ))
}

/// The day of a serial number. The calendar of workbooks has a 29 February 1900, and before it days
/// count from one day later.
fn iso_day(serial: i64) -> Option<String> {
    let days = match serial {
        60 => return Some("1900-02-29".to_owned()),
        ..60 => serial + 1,
        _ => serial,
    };
    let (year, month, day) = civil(days - 25_569);
    (year <= 9999).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// Year, month and day of a number of days since 1970-01-01 (proleptic Gregorian calendar, by eras
/// of 400 years that begin in March).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(serial: f64, shown: Shown) -> String {
        from_serial(serial, shown, false)
            .map_or_else(String::new, |value| value.text().into_owned())
    }

    #[test]
    fn serial_numbers_are_days() {
        for (serial, day) in [
            (1.0, "1900-01-01"),
            (59.0, "1900-02-28"),
            (60.0, "1900-02-29"),
            (61.0, "1900-03-01"),
            (45_351.0, "2024-02-29"),
            (2_958_465.0, "9999-12-31"),
        ] {
            assert_eq!(text(serial, Shown::Date), day);
        }
        assert_eq!(
            from_serial(0.0, Shown::Date, true).map(|value| value.text().into_owned()),
            Some("1904-01-01".to_owned())
        );
        assert_eq!(text(-1.0, Shown::Date), "");
        assert_eq!(text(1e300, Shown::DateTime), "");
        assert_eq!(text(f64::NAN, Shown::Duration), "");
    }

    #[test]
    fn fractions_are_times() {
        assert_eq!(text(45_351.5, Shown::DateTime), "2024-02-29 12:00:00");
        assert_eq!(
            text(45_351.999_999_99, Shown::DateTime),
            "2024-03-01 00:00:00"
        );
        assert_eq!(text(0.75, Shown::Time), "18:00:00");
        assert_eq!(text(1.5, Shown::Duration), "36:00:00");
        assert_eq!(text(-0.25, Shown::Duration), "-06:00:00");
    }
}
