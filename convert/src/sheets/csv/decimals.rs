//! Numbers with a decimal comma, as `1.234,5`: a file that writes them, and none with a decimal point,
//! has points between thousands.

use std::borrow::Cow;

use crate::sheets::tables::value::{Cell, Value};

/// Whether a text of fields has decimal commas and no decimal points.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    commas: bool,
    points: bool,
}

impl Seen {
    /// Looks at a field, which may have a unit behind its number.
    pub(super) fn look_at(&mut self, field: &str) {
        let digits = digits(field);
        let rest = field.trim().get(digits.len()..).unwrap_or_default();
        if rest.chars().any(char::is_numeric) {
            return;
        }
        let after = |sign: char| digits.rsplit_once(sign).map(|(_, after)| after.len());
        let counts = [',', '.'].map(|sign| digits.matches(sign).count());
        match (after(','), after('.')) {
            // Several commas part thousands, or the values of a list.
            _ if counts[0] > 1 => self.points = true,
            // Three digits may be thousands.
            (Some(decimals), None) => self.commas |= decimals != 3 && decimals > 0,
            (None, Some(decimals)) => {
                self.points |= counts[1] == 1 && decimals != 3 && decimals > 0;
            }
            (Some(decimals), Some(other)) if decimals < other => self.commas = true,
            (Some(_), Some(_)) => self.points = true,
            (None, None) => {}
        }
    }

    /// Whether a comma stands before decimals here.
    pub(super) fn has_commas(self) -> bool {
        self.commas && !self.points
    }
}

/// The sign and digits at the beginning, with what stands between them.
fn digits(field: &str) -> &str {
    let text = field.trim();
    let is_of_number = |one: char| one.is_ascii_digit() || matches!(one, '.' | ',' | '-' | '+');
    let end = text.find(|one| !is_of_number(one)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// A field with a decimal comma or points between thousands as a number that is shown as it stands.
pub(super) fn cell<'a>(column: u32, field: &Cow<'a, str>) -> Option<Cell<'a>> {
    let text = field.trim();
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, decimals) = unsigned.split_once(',').unwrap_or((unsigned, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split('.');
    let first = groups
        .next()
        .filter(|first| !first.is_empty() && are_digits(first))?;
    let is_grouped = whole.contains('.');
    let fits = groups.all(|group| group.len() == 3 && are_digits(group));
    let is_plain = !is_grouped && !unsigned.contains(',');
    // Zeros in front are those of a code.
    let is_code = first.len() > 1 && first.starts_with('0') || is_grouped && first == "0";
    let has_decimals = !unsigned.contains(',') || !decimals.is_empty() && are_digits(decimals);
    if is_plain || is_code || !fits || !has_decimals || is_grouped && first.len() > 3 {
        return None;
    }
    let number = format!("{sign}{}.{decimals}0", whole.replace('.', ""));
    let number: f64 = number.parse().ok()?;
    Some(Cell {
        shown: Some(field.clone()),
        ..Cell::new(column, Value::number(number))
    })
}
