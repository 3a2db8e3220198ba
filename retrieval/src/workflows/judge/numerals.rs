//! Chinese numerals as digits: 十秒 is 10秒, 百分之三十 30%, 二〇二六年 2026年. Only what counts
//! something: 一般, 万一 and 一种 are words.

use tributary_taxonomy::language::is_han;

/// Digits of numerals, each at its value.
const DIGITS: [char; 10] = ['零', '一', '二', '三', '四', '五', '六', '七', '八', '九'];
/// What a numeral is counted in, or what it numbers. 分 alone is not among them: 十分 is a word.
const UNITS: [&str; 47] = [
    "秒", "分钟", "小时", "时", "天", "周", "月", "年", "日", "岁", "毫", "微", "纳", "厘", "米",
    "公", "倍", "度", "兆", "赫", "瓦", "伏", "字节", "比特", "位", "元", "次", "个", "种", "条",
    "步", "级", "层", "台", "人", "件", "页", "章", "节", "项", "类", "行", "列", "组", "段", "块",
    "点",
];
/// What 一 counts exactly; before others it is an article, as in 一种.
const EXACT: [&str; 15] = [
    "秒", "分钟", "小时", "天", "周", "月", "年", "毫", "微", "纳", "米", "倍", "度", "兆", "字节",
];
const PERCENT: &str = "百分之";

/// The text as numbers and units are compared: digits for numerals that count something, without what
/// groups digits (`1,024`), a space between a number and the Latin letters behind it (`2MiB`).
pub fn comparable(text: &str) -> String {
    let text = numerals_as_digits(text);
    let signs: Vec<char> = text.chars().collect();
    let is_digit = |at: Option<usize>| {
        let sign = at.and_then(|at| signs.get(at));
        sign.is_some_and(char::is_ascii_digit)
    };
    let mut written = String::with_capacity(text.len());
    for (at, sign) in signs.iter().enumerate() {
        let before = is_digit(at.checked_sub(1));
        let groups =
            before && (1..=3).all(|more| is_digit(Some(at + more))) && !is_digit(Some(at + 4));
        if *sign == ',' && groups {
            continue;
        }
        let begins_unit = before && sign.is_ascii_alphabetic() && is_unit(&signs, at);
        if begins_unit {
            written.push(' ');
        }
        written.push(*sign);
    }
    written
}

/// Whether the digits before stand at the beginning of a word: `2MiB`, not `conv2d`.
fn is_unit(signs: &[char], at: usize) -> bool {
    let mut before = signs.get(..at).unwrap_or_default().iter().rev();
    let first = before.find(|sign| !sign.is_ascii_digit() && **sign != '.');
    let is_hexadecimal = signs.get(at).is_some_and(|sign| "xX".contains(*sign));
    !is_hexadecimal && !first.is_some_and(|sign| sign.is_ascii_alphanumeric() || *sign == '_')
}

/// The text with digits for the numerals that count something.
fn numerals_as_digits(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((number, after)) = percent(rest).or_else(|| counted(rest, &written)) {
            written.push_str(&number);
            rest = after;
            continue;
        }
        // A run that is no number is passed as a whole: its end is none either.
        let run = if is_numeral(first) {
            run(rest)
        } else {
            first.len_utf8()
        };
        let (passed, after) = rest.split_at(run);
        written.push_str(passed);
        rest = after;
    }
    written
}

fn percent(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix(PERCENT)?;
    let (numeral, after) = text.split_at(run(text));
    Some((format!("{}%", value(numeral)?), after))
}

fn counted<'a>(text: &'a str, before: &str) -> Option<(String, &'a str)> {
    let (numeral, after) = text.split_at(run(text));
    let is_numbered = before.ends_with('第');
    let units: &[&str] = if numeral == "一" { &EXACT } else { &UNITS };
    let is_counted = units.iter().any(|unit| after.starts_with(unit));
    if !is_numbered && !is_counted && !stands_alone(numeral, before, after) {
        return None;
    }
    Some((value(numeral)?, after))
}

/// A number of several signs between what is no Chinese word: 一百零一。 is one, 以防万一。 is none.
fn stands_alone(numeral: &str, before: &str, after: &str) -> bool {
    let is_word = |character: Option<char>| character.is_some_and(is_han);
    let is_long = numeral.chars().count() > 1 && numeral.contains(['十', '百', '千', '万', '亿']);
    let may_follow =
        before.ends_with(['是', '为', '有', '共', '约']) || !is_word(before.chars().next_back());
    is_long
        && may_follow
        && !is_word(after.chars().next())
        && !numeral.starts_with(['万', '千', '亿'])
}

/// Bytes of the numeral at the beginning.
fn run(text: &str) -> usize {
    text.find(|character| !is_numeral(character))
        .unwrap_or(text.len())
}

fn is_numeral(character: char) -> bool {
    digit(character).is_some() || place(character).is_some()
}

fn digit(character: char) -> Option<u64> {
    let same = match character {
        '〇' => '零',
        '两' => '二',
        other => other,
    };
    let at = DIGITS.iter().position(|digit| *digit == same)?;
    u64::try_from(at).ok()
}

fn place(character: char) -> Option<u64> {
    match character {
        '十' => Some(10),
        '百' => Some(100),
        '千' => Some(1_000),
        '万' => Some(10_000),
        '亿' => Some(100_000_000),
        _ => None,
    }
}

/// `None` for what is no number, or too large a one.
fn value(numeral: &str) -> Option<String> {
    if numeral.is_empty() || numeral.chars().count() > 12 {
        return None;
    }
    let digits: Option<String> = numeral
        .chars()
        .map(|character| digit(character).map(|digit| digit.to_string()))
        .collect();
    if let Some(digits) = digits {
        return Some(digits);
    }
    // Sums below 万 and 亿 are multiplied by them.
    let (mut whole, mut section, mut last) = (0_u64, 0_u64, None);
    for character in numeral.chars() {
        if let Some(digit) = digit(character) {
            last = Some(digit);
            continue;
        }
        let place = place(character)?;
        if place < 10_000 {
            section = section.checked_add(last.take().unwrap_or(1).checked_mul(place)?)?;
        } else {
            let below = section.checked_add(last.take().unwrap_or(0))?;
            whole = whole.checked_add(below)?.checked_mul(place)?;
            section = 0;
        }
    }
    let number = whole.checked_add(section)?.checked_add(last.unwrap_or(0))?;
    (number > 0).then(|| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerals_that_count_become_digits_and_words_stay() {
        for (text, expected) in [
            ("十秒", "10秒"),
            ("等待二十五分钟", "等待25分钟"),
            ("一百零三个", "103个"),
            ("三万五千次", "35000次"),
            ("两级页表", "2级页表"),
            ("第三章", "第3章"),
            ("二〇二六年", "2026年"),
            ("百分之三十", "30%"),
            ("一年", "1年"),
            ("一种进程", "一种进程"),
            ("十分重要", "十分重要"),
            ("一般来说，万一失败", "一般来说，万一失败"),
            ("千万不要", "千万不要"),
            ("三心二意", "三心二意"),
            ("以防万一。", "以防万一。"),
            ("一百零一", "101"),
            ("是四千零九十六字节", "是4096字节"),
            ("答案是三十。", "答案是30。"),
            ("10 秒", "10 秒"),
        ] {
            assert_eq!(numerals_as_digits(text), expected);
        }
        for (text, expected) in [
            ("1,024 MB", "1024 MB"),
            ("2MiB与1GiB", "2 MiB与1 GiB"),
            ("conv2d, 3,5", "conv2d, 3,5"),
            ("0x80070005 x86_64", "0x80070005 x86_64"),
        ] {
            assert_eq!(comparable(text), expected);
        }
    }
}
