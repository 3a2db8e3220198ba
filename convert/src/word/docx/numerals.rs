//! Numbers as lists write them: decimal, Roman, letters, Chinese, enclosed.

/// How a level writes its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// 1, 2, 3, and all formats that are not known.
    Decimal,
    /// 01, 02, 03.
    DecimalZero,
    /// Roman numerals; whether in capitals.
    Roman { is_upper: bool },
    /// Letters, doubled after the last; whether capitals.
    Letter { is_upper: bool },
    /// 一, 二, 三 with ten, hundred and so on.
    Chinese,
    /// 壹, 贰, 叁.
    ChineseLegal,
    /// 一, 二, 三 digit by digit.
    ChineseDigits,
    /// 甲, 乙, 丙.
    Stems,
    /// 子, 丑, 寅.
    Branches,
    /// ①, ②, ③.
    Circled,
    /// A bullet.
    Bullet,
    /// Nothing.
    None,
}

impl Format {
    /// The format of that name in the numbering part.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "decimalZero" => Self::DecimalZero,
            "upperRoman" => Self::Roman { is_upper: true },
            "lowerRoman" => Self::Roman { is_upper: false },
            "upperLetter" => Self::Letter { is_upper: true },
            "lowerLetter" => Self::Letter { is_upper: false },
            "chineseCounting"
            | "chineseCountingThousand"
            | "japaneseCounting"
            | "taiwaneseCounting"
            | "taiwaneseCountingThousand" => Self::Chinese,
            "chineseLegalSimplified" | "ideographLegalTraditional" | "japaneseLegal" => {
                Self::ChineseLegal
            }
            "ideographDigital" | "japaneseDigitalTenThousand" | "taiwaneseDigital" => {
                Self::ChineseDigits
            }
            "ideographTraditional" => Self::Stems,
            "ideographZodiac" => Self::Branches,
            "decimalEnclosedCircle"
            | "decimalEnclosedCircleChinese"
            | "ideographEnclosedCircle" => Self::Circled,
            "bullet" => Self::Bullet,
            "none" => Self::None,
            _ => Self::Decimal,
        }
    }
}

/// The number in that format; in decimal where the format does not reach.
pub(super) fn numeral(number: u32, format: Format) -> String {
    let written = match format {
        Format::Decimal => None,
        Format::DecimalZero => Some(format!("{number:02}")),
        Format::Roman { is_upper } => {
            roman(number).map(|text| if is_upper { text.to_uppercase() } else { text })
        }
        Format::Letter { is_upper } => letter(number, if is_upper { b'A' } else { b'a' }),
        Format::Chinese => chinese(number, &CHINESE),
        Format::ChineseLegal => chinese(number, &LEGAL),
        Format::ChineseDigits => Some(chinese_digits(number)),
        Format::Stems => one_of(number, "甲乙丙丁戊己庚辛壬癸"),
        Format::Branches => one_of(number, "子丑寅卯辰巳午未申酉戌亥"),
        Format::Circled => one_of(number, "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"),
        Format::Bullet | Format::None => Some(String::new()),
    };
    written.unwrap_or_else(|| number.to_string())
}

fn chinese_digits(number: u32) -> String {
    number
        .to_string()
        .bytes()
        .filter_map(|digit| CHINESE.0.get(usize::from(digit - b'0')))
        .collect()
}

fn one_of(number: u32, characters: &str) -> Option<String> {
    let place = usize::try_from(number.checked_sub(1)?).ok()?;
    characters.chars().nth(place).map(String::from)
}

fn roman(number: u32) -> Option<String> {
    const VALUES: [(u32, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    if !(1..4000).contains(&number) {
        return None;
    }
    let (mut rest, mut out) = (number, String::new());
    for (value, letters) in VALUES {
        while rest >= value {
            rest -= value;
            out.push_str(letters);
        }
    }
    Some(out)
}

/// a to z, then aa, bb and so on.
fn letter(number: u32, first: u8) -> Option<String> {
    let place = number.checked_sub(1).filter(|place| *place < 26 * 10)?;
    let letter = char::from(first + u8::try_from(place % 26).ok()?);
    Some(std::iter::repeat_n(letter, place as usize / 26 + 1).collect())
}

/// Digits from zero, and the units ten, hundred, thousand.
type Characters = ([char; 10], [char; 3]);

const CHINESE: Characters = (
    ['〇', '一', '二', '三', '四', '五', '六', '七', '八', '九'],
    ['十', '百', '千'],
);
const LEGAL: Characters = (
    ['零', '壹', '贰', '叁', '肆', '伍', '陆', '柒', '捌', '玖'],
    ['拾', '佰', '仟'],
);

/// Numbers below 10,000 with units; ten to nineteen begin with the unit.
fn chinese(number: u32, (digits, units): &Characters) -> Option<String> {
    if number >= 10_000 {
        return None;
    }
    if number == 0 {
        return digits.first().map(char::to_string);
    }
    let decimal = number.to_string();
    let mut out = String::new();
    let mut owes_zero = false;
    for (place, digit) in decimal.bytes().enumerate() {
        let unit = decimal.len() - 1 - place;
        let value = usize::from(digit - b'0');
        if value == 0 {
            owes_zero = true;
            continue;
        }
        if std::mem::take(&mut owes_zero) {
            out.push('零');
        }
        if !(value == 1 && unit == 1 && place == 0) || digits.first() == Some(&'零') {
            out.extend(digits.get(value));
        }
        out.extend(unit.checked_sub(1).and_then(|unit| units.get(unit)));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_their_format() {
        for (name, number, wanted) in [
            ("decimal", 12, "12"),
            ("decimalZero", 7, "07"),
            ("upperRoman", 1994, "MCMXCIV"),
            ("lowerRoman", 4, "iv"),
            ("lowerLetter", 28, "bb"),
            ("upperLetter", 26, "Z"),
            ("chineseCountingThousand", 11, "十一"),
            ("chineseCounting", 20, "二十"),
            ("chineseCounting", 105, "一百零五"),
            ("chineseCounting", 110, "一百一十"),
            ("chineseCounting", 2000, "二千"),
            ("chineseLegalSimplified", 12, "壹拾贰"),
            ("ideographDigital", 20, "二〇"),
            ("ideographTraditional", 2, "乙"),
            ("decimalEnclosedCircle", 3, "③"),
            ("decimalEnclosedCircle", 99, "99"),
            ("unheardOf", 5, "5"),
            ("lowerRoman", 0, "0"),
        ] {
            assert_eq!(
                numeral(number, Format::named(name)),
                wanted,
                "{name} {number}"
            );
        }
    }
}
