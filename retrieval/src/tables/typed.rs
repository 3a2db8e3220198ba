//! Numbers in text: what a cell such as `1,234 km`, `$5.2 million`, `45 %` or `12 (2)` counts. The
//! text stays as it is; the number stands in a column of its own beside it.

/// Longest text that is read as a number with something around it, in characters.
const LONGEST: usize = 40;
/// What may stand before a number.
const BEFORE: &[char] = &[
    '$', '€', '£', '¥', '￥', '₩', '₹', '~', '≈', '<', '>', '≤', '≥', '+', '#',
];
/// Words behind a number that multiply it.
const FACTORS: [(&str, f64); 8] = [
    ("thousand", 1e3),
    ("million", 1e6),
    ("billion", 1e9),
    ("trillion", 1e12),
    ("万", 1e4),
    ("萬", 1e4),
    ("亿", 1e8),
    ("億", 1e8),
];

/// The number of a text in which one number stands first, with a sign before it and a unit, a note
/// in brackets or a footnote behind it. `None` where there are more numbers outside brackets.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.chars().count() > LONGEST {
        return None;
    }
    let text = text.trim_start_matches(|one: char| BEFORE.contains(&one) || one.is_whitespace());
    let (negative, text) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (true, rest.trim_start_matches(BEFORE)),
        None => (false, text),
    };
    let end = text
        .find(|one: char| !one.is_ascii_digit() && one != ',' && one != '.')
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let digits = digits.trim_end_matches([',', '.']);
    let value = plain(digits)?;
    let rest = without_brackets(rest);
    if rest.chars().any(char::is_numeric) || rest.contains(['-', '–', ':', '/']) && !is_unit(&rest)
    {
        return None;
    }
    let factor = FACTORS
        .iter()
        .find(|(word, _)| rest.to_lowercase().contains(word));
    let value = value * factor.map_or(1.0, |(_, factor)| *factor);
    Some(if negative { -value } else { value })
}

/// The same where a column writes decimal commas and points between thousands.
pub fn number_with_comma(text: &str) -> Option<f64> {
    let turned = text.chars().map(|one| match one {
        ',' => '.',
        '.' => ',',
        one => one,
    });
    number(&turned.collect::<String>())
}

/// The sign before the decimals of the number at the beginning of a text, where it can be nothing
/// else: three digits behind one sign may be thousands.
pub fn decimal_sign(text: &str) -> Option<char> {
    let is_of_number = |one: &char| one.is_ascii_digit() || matches!(one, ',' | '.');
    let digits = text.chars().skip_while(|one| !one.is_ascii_digit());
    let digits: String = digits.take_while(is_of_number).collect();
    let digits = digits.trim_end_matches([',', '.']);
    let last = digits.rfind([',', '.'])?;
    let (before, after) = digits.split_at_checked(last)?;
    let sign = after.chars().next()?;
    let is_first = !before.contains(sign);
    let parts_thousands = before.contains([',', '.']);
    let may_be_thousands = after.len() == 4 && !parts_thousands;
    (is_first && !may_be_thousands).then_some(sign)
}

/// Whether digits name something instead of counting it: `007`, `0031`.
pub fn is_code(text: &str) -> bool {
    let mut digits = text.trim().chars();
    digits.next() == Some('0') && digits.next().is_some_and(|next| next.is_ascii_digit())
}

/// `km/h`, `people/km²`: a unit of two parts.
fn is_unit(rest: &str) -> bool {
    let rest = rest.trim();
    !rest.starts_with(['-', '–', ':', '/']) && !rest.contains(['-', '–', ':'])
}

/// Digits with signs of thousands, in groups of three, and decimals.
fn plain(digits: &str) -> Option<f64> {
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let mut groups = whole.split(',');
    let first = groups.next().filter(|first| !first.is_empty())?;
    let is_grouped = whole.contains(',');
    let fits = !is_grouped || first.len() <= 3;
    if !fits || !groups.all(|group| group.len() == 3) {
        return None;
    }
    if decimals.contains([',', '.']) {
        return None;
    }
    format!("{}.{decimals}0", whole.replace(',', ""))
        .parse()
        .ok()
}

/// The text without what stands in brackets.
fn without_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::new();
    for one in text.chars() {
        match one {
            '(' | '[' | '（' => depth += 1,
            ')' | ']' | '）' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(one),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_commas_are_told_by_what_stands_around_them() {
        let table = [
            ("3,50 EUR", Some(','), Some(3.5)),
            ("1.250,00 EUR", Some(','), Some(1250.0)),
            ("12,5 %", Some(','), Some(12.5)),
            ("1.234 km", None, Some(1234.0)),
            ("1,250.00", Some('.'), None),
            ("2.5", Some('.'), None),
            ("1.2.3", None, None),
            ("-", None, None),
        ];
        for (text, sign, number) in table {
            assert_eq!(decimal_sign(text), sign, "{text}");
            assert_eq!(number_with_comma(text), number, "{text}");
        }
    }

    #[test]
    fn a_number_is_read_with_what_stands_around_it() {
        let table = [
            ("1,234 km", Some(1234.0)),
            ("$5.2 million", Some(5_200_000.0)),
            ("3.5亿元", Some(350_000_000.0)),
            ("45 %", Some(45.0)),
            ("−3.5", Some(-3.5)),
            ("-$20", Some(-20.0)),
            ("12 (2)", Some(12.0)),
            ("1st", Some(1.0)),
            ("64,000[4]", Some(64000.0)),
            ("120 km/h", Some(120.0)),
            ("7.", Some(7.0)),
            ("2-1", None),
            ("2010/11", None),
            ("12:30", None),
            ("1,23", None),
            ("1.2.3", None),
            ("A12", None),
            ("5 of 7", None),
            ("", None),
            ("$", None),
        ];
        for (text, expected) in table {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
