//! One section of a number format, such as `#,##0.00" kg"`.

use crate::sheets::tables::value::plain_number;

/// Decimals that are shown at most.
const MAXIMUM_DECIMALS: usize = 30;

/// A piece of the part before the decimal point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// `0`, `#` or `?`.
    Digit(char),
    Literal(char),
}

/// A section as far as it is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    whole: Vec<Token>,
    /// `0`, `#` or `?` for each decimal.
    decimals: Vec<char>,
    /// Text after the decimals.
    suffix: String,
    has_point: bool,
    has_thousands: bool,
    /// Commas after the last digit: each divides by a thousand.
    scale: i32,
    percents: i32,
    /// Least digits of the exponent.
    exponent: Option<usize>,
    is_general: bool,
}

/// All sections of a format; `None` for one that is not followed.
pub(super) fn sections_of(code: &str) -> Option<Vec<Section>> {
    let mut parts: Vec<String> = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for character in code.chars() {
        if character == ';' && !quoted && !escaped {
            parts.push(String::new());
            continue;
        }
        quoted ^= character == '"' && !escaped;
        escaped = character == '\\' && !escaped && !quoted;
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    let sections: Option<Vec<Section>> = parts
        .iter()
        .take(3)
        .map(|part| Section::parse(part))
        .collect();
    sections.filter(|sections| {
        sections
            .first()
            .is_some_and(|first| first.has_digits() || first.is_general || sections.len() > 1)
    })
}

impl Section {
    fn parse(code: &str) -> Option<Self> {
        let mut section = Self::default();
        let mut characters = code.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' => characters
                    .by_ref()
                    .take_while(|next| *next != '"')
                    .for_each(|next| section.literal(next)),
                '\\' => characters
                    .next()
                    .into_iter()
                    .for_each(|next| section.literal(next)),
                '_' | '*' => drop(characters.next()),
                '[' => section.bracket(
                    &characters
                        .by_ref()
                        .take_while(|next| *next != ']')
                        .collect::<String>(),
                )?,
                '0' | '#' | '?' => section.digit(character),
                '.' if !section.has_point => section.has_point = true,
                ',' => section.comma(characters.peek().copied()),
                '%' => {
                    section.percents += 1;
                    section.literal('%');
                }
                'E' | 'e' if matches!(characters.peek(), Some('+' | '-')) => {
                    characters.next();
                    let digits = std::iter::from_fn(|| {
                        characters.next_if(|next| matches!(next, '0' | '#' | '?'))
                    })
                    .count();
                    section.exponent = Some(digits);
                }
                // A fraction.
                '/' if section.has_digits() => return None,
                'G' | 'g' if starts_general(characters.clone()) => {
                    characters.by_ref().take(6).for_each(drop);
                    section.is_general = true;
                }
                '@' => section.is_general = true,
                other => section.literal(other),
            }
        }
        (section.decimals.len() <= MAXIMUM_DECIMALS && section.percents <= 4 && section.scale <= 8)
            .then_some(section)
    }

    fn has_digits(&self) -> bool {
        !self.decimals.is_empty()
            || self
                .whole
                .iter()
                .any(|token| matches!(token, Token::Digit(_)))
    }

    fn literal(&mut self, character: char) {
        let is_behind = self.has_point || self.exponent.is_some() || self.is_general;
        if is_behind {
            self.suffix.push(character)
        } else {
            self.whole.push(Token::Literal(character))
        }
    }

    fn digit(&mut self, character: char) {
        if self.exponent.is_some() {
            return;
        }
        if self.has_point {
            self.decimals.push(character)
        } else {
            self.whole.push(Token::Digit(character))
        }
    }

    /// Between digits a comma groups; after the last digit it divides.
    fn comma(&mut self, next: Option<char>) {
        if !self.has_digits() {
            self.literal(',');
        } else if matches!(next, Some('0' | '#' | '?')) {
            self.has_thousands |= !self.has_point;
        } else {
            self.scale += 1;
        }
    }

    /// `[$€-407]` is a currency, `[Red]` a colour; a condition is not followed.
    fn bracket(&mut self, inside: &str) -> Option<()> {
        if let Some(currency) = inside.strip_prefix('$') {
            currency
                .split('-')
                .next()
                .unwrap_or_default()
                .chars()
                .for_each(|character| self.literal(character));
        }
        (!inside.starts_with(['<', '>', '='])).then_some(())
    }

    /// A number that is not negative.
    pub(super) fn show(&self, number: f64) -> String {
        let literals = || {
            self.whole.iter().filter_map(|token| {
                if let Token::Literal(literal) = token {
                    Some(*literal)
                } else {
                    None
                }
            })
        };
        if self.is_general {
            return literals()
                .chain(plain_number(number).chars())
                .chain(self.suffix.chars())
                .collect();
        }
        if !self.has_digits() {
            return literals().chain(self.suffix.chars()).collect();
        }
        let scaled = number * 100_f64.powi(self.percents) / 1000_f64.powi(self.scale);
        if !scaled.is_finite() || scaled >= 1e60 {
            return plain_number(number);
        }
        match self.exponent {
            Some(least_digits) => self.show_scientific(scaled, least_digits),
            None => self.show_decimal(scaled) + &self.suffix,
        }
    }

    fn show_scientific(&self, number: f64, least_digits: usize) -> String {
        let text = format!("{number:.*e}", self.decimals.len());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = exponent
            .strip_prefix('-')
            .map_or(('+', exponent), |digits| ('-', digits));
        format!("{mantissa}E{sign}{digits:0>least_digits$}{}", self.suffix)
    }

    fn show_decimal(&self, number: f64) -> String {
        let digits = round(number, self.decimals.len());
        let (whole, decimals) = digits.split_once('.').unwrap_or((&digits, ""));
        let mut shown = self.show_whole(if whole == "0" { "" } else { whole });
        if self.has_point {
            let optional = self
                .decimals
                .iter()
                .rev()
                .zip(decimals.chars().rev())
                .take_while(|(mark, digit)| **mark != '0' && *digit == '0')
                .count();
            shown.push('.');
            shown.extend(
                decimals
                    .chars()
                    .take(self.decimals.len().saturating_sub(optional)),
            );
        }
        shown
    }

    /// Digits from the right into the places of the format; the first place takes all that remain.
    fn show_whole(&self, digits: &str) -> String {
        let mut rest: Vec<char> = digits.chars().collect();
        let mut reversed: Vec<char> = Vec::new();
        let mut places = self
            .whole
            .iter()
            .filter(|token| matches!(token, Token::Digit(_)))
            .count();
        let mut written = 0;
        let mut put = |digit: char, reversed: &mut Vec<char>| {
            if self.has_thousands && written > 0 && written % 3 == 0 {
                reversed.push(',');
            }
            reversed.push(digit);
            written += 1;
        };
        // `.5` has no place before the point.
        if places == 0 {
            rest.drain(..)
                .rev()
                .for_each(|digit| put(digit, &mut reversed));
        }
        for token in self.whole.iter().rev() {
            match token {
                Token::Literal(literal) => reversed.push(*literal),
                Token::Digit(mark) => {
                    places -= 1;
                    match rest.pop() {
                        Some(digit) => put(digit, &mut reversed),
                        None if *mark == '0' => put('0', &mut reversed),
                        None => {}
                    }
                    while let Some(digit) = rest.pop_if(|_| places == 0) {
                        put(digit, &mut reversed);
                    }
                }
            }
        }
        reversed.iter().rev().collect()
    }
}

/// Whether the rest of a `G` makes it `General`: the number as it is.
pub(super) fn starts_general(rest: impl Iterator<Item = char>) -> bool {
    rest.take(6)
        .collect::<String>()
        .eq_ignore_ascii_case("eneral")
}

/// Decimal digits rounded half up after 15 significant ones, as spreadsheets do: 2.675 is 2.68
/// although the binary number is less.
fn round(number: f64, decimals: usize) -> String {
    let exact = format!("{number:.14e}");
    let Some((mantissa, exponent)) = exact.split_once('e') else {
        return exact;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mut digits: Vec<u8> = mantissa
        .bytes()
        .filter(u8::is_ascii_digit)
        .map(|byte| byte - b'0')
        .collect();
    // Digits before the point; zeros in front make room for all decimals.
    let mut before = exponent + 1;
    while before < 1 {
        digits.insert(0, 0);
        before += 1;
    }
    let kept = before as usize + decimals;
    let rounds_up = digits.get(kept).is_some_and(|digit| *digit >= 5);
    digits.resize(kept, 0);
    if rounds_up {
        let mut carry = true;
        for digit in digits.iter_mut().rev() {
            *digit += u8::from(carry);
            carry = *digit == 10;
            *digit %= 10;
        }
        if carry {
            digits.insert(0, 1);
            before += 1;
        }
    }
    let text: String = digits
        .iter()
        .map(|digit| char::from(b'0' + digit))
        .collect();
    match text.split_at_checked(before as usize) {
        Some((whole, fraction)) if decimals > 0 => format!("{whole}.{fraction}"),
        _ => text,
    }
}
