//! What is read as a citation: numbers between brackets, however they are written, and nothing
//! else. Characters that a reader does not see, marks of emphasis, elements and escapes of HTML
//! say nothing: `[**1**]`, `&#91;1]` and `[<b>1</b>]` all show `[1]`.

/// Longest text that may be a citation.
pub const MAX_BYTES: usize = 120;
/// Brackets within each other at most. Without a bound a text of nothing but brackets would be read
/// from each of them anew.
const MAX_DEPTH: usize = 4;
/// Longest range, `[1-4]`.
const MAX_RANGE: u32 = 20;
/// Numbers above it in a list are those of an interval.
const MAX_IN_LIST: u32 = 99;
/// Words that models put before the number.
const WORDS: [&str; 14] = [
    "source", "sources", "passage", "passages", "document", "doc", "ref", "citation", "来源",
    "资料", "文档", "段落", "片段", "引用",
];
/// Brackets by name, without `&`.
const NAMED_BRACKETS: [(&str, char); 4] = [
    ("lsqb;", '['),
    ("lbrack;", '['),
    ("rsqb;", ']'),
    ("rbrack;", ']'),
];
/// Longest escape of HTML that is looked at, without `&`.
const MAX_ESCAPE_CHARACTERS: usize = 12;

/// Whether a citation may begin with this character.
pub fn may_begin(character: char) -> bool {
    is_opening(character) || matches!(character, '\\' | '&')
}

/// Whether a citation may begin with this text.
pub fn may_be_marker(held: &str) -> bool {
    if held.len() > MAX_BYTES || held.matches('\n').count() > 1 {
        return false;
    }
    let bare = bare(held);
    if bare.is_empty() || bare == "\\" {
        return true;
    }
    if depth(&bare) > MAX_DEPTH {
        return false;
    }
    let inner = bare.trim_start_matches(|one: char| is_opening(one) || one == '\\');
    if inner.len() == bare.trim_start_matches('\\').len() {
        return false;
    }
    let word: String = inner
        .trim_start()
        .chars()
        .take_while(|character| character.is_alphabetic())
        .collect::<String>()
        .to_lowercase();
    let rest = inner.trim_start().chars().skip(word.chars().count());
    let rest: String = rest.collect();
    let is_word = word.is_empty() || WORDS.contains(&word.as_str());
    let begins_word = rest.is_empty() && WORDS.iter().any(|known| known.starts_with(&word));
    (is_word && rest.chars().all(may_stand_in_marker)) || begins_word
}

/// Brackets that are open at its end.
fn depth(bare: &str) -> usize {
    let count = |of: fn(char) -> bool| bare.chars().filter(|character| of(*character)).count();
    count(is_opening).saturating_sub(count(is_closing))
}

/// Whether each bracket that it opens is closed.
pub fn is_closed(held: &str) -> bool {
    let bare = bare(held);
    let count = |of: fn(char) -> bool| bare.chars().filter(|character| of(*character)).count();
    let opened = count(is_opening);
    opened > 0 && count(is_closing) == opened
}

/// Whether it is the beginning of one citation that was cut off behind a number.
pub fn is_cut_off(held: &str) -> bool {
    let bare = bare(held);
    may_be_marker(held)
        && bare.chars().any(|one| digit(one).is_some())
        && !bare.chars().any(is_closing)
}

/// The numbers of a citation; `None` if it is none: no number, an interval, a negative number.
pub fn numbers(marker: &str, sources: u32) -> Option<Vec<u32>> {
    let bare = bare(marker);
    let mut numbers: Vec<u32> = Vec::new();
    let mut current: Option<u32> = None;
    let mut range_from: Option<u32> = None;
    let mut separators = 0;
    for character in bare.chars().chain([',']) {
        if let Some(digit) = digit(character) {
            let value = current.unwrap_or(0);
            current = Some(value.saturating_mul(10).saturating_add(digit));
            continue;
        }
        if is_product(character) && current.is_some() {
            return None;
        }
        if let Some(value) = current.take() {
            match range_from.take() {
                Some(from) => numbers.extend(range(from, value)),
                None => numbers.push(value),
            }
        }
        if is_range(character) {
            range_from = Some(numbers.pop()?);
        } else if matches!(character, ',' | '，') {
            separators += 1;
        }
    }
    let is_interval = separators == 2
        && numbers
            .iter()
            .any(|number| *number == 0 || *number > MAX_IN_LIST.max(sources));
    (!numbers.is_empty() && !is_interval && range_from.is_none()).then_some(numbers)
}

fn range(from: u32, to: u32) -> Vec<u32> {
    match to.checked_sub(from) {
        Some(length) if length <= MAX_RANGE => (from..=to).collect(),
        _ => vec![from, to],
    }
}

fn is_opening(character: char) -> bool {
    matches!(character, '[' | '【' | '［')
}

fn is_closing(character: char) -> bool {
    matches!(character, ']' | '】' | '］')
}

/// Also of full width.
fn digit(character: char) -> Option<u32> {
    let narrow = match character {
        '０'..='９' => char::from_u32(u32::from(character) - 0xfee0)?,
        other => other,
    };
    narrow.to_digit(10)
}

fn may_stand_in_marker(character: char) -> bool {
    digit(character).is_some()
        || is_opening(character)
        || is_closing(character)
        || is_range(character)
        || is_product(character)
        || character.is_whitespace()
        || matches!(
            character,
            ',' | '，' | '、' | ';' | '；' | '^' | '\\' | ':' | '：' | '#'
        )
}

fn is_range(character: char) -> bool {
    matches!(character, '-' | '–' | '—' | '~' | '～')
}

/// A mark of emphasis that stands between digits alone, as in `[2*3]`: see [`bare`].
fn is_product(character: char) -> bool {
    matches!(character, '*' | '_')
}

/// What a reader sees of it: without elements, emphasis and what is invisible, escapes read. An
/// element or escape that is not over yet says nothing.
fn bare(held: &str) -> String {
    let read = without_elements(&without_escapes(held)).replace("~~", "");
    let seen: Vec<char> = read.chars().filter(|one| !is_invisible(*one)).collect();
    let stars = seen.iter().filter(|one| **one == '*').count();
    let is_digit = |at: Option<usize>| {
        let character = at.and_then(|at| seen.get(at)).copied();
        character.and_then(digit).is_some()
    };
    let says_something = |(at, character): (usize, char)| {
        let is_between_digits = is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
        let is_mark = match character {
            '*' => !is_between_digits || stars > 1,
            '_' => !is_between_digits,
            _ => false,
        };
        (!is_mark).then_some(character)
    };
    let seen = seen.iter().copied().enumerate();
    seen.filter_map(says_something).collect()
}

fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// `&#91;` and the like as the character that they show.
fn without_escapes(held: &str) -> String {
    let mut read = String::with_capacity(held.len());
    let mut rest = held;
    while let Some((before, behind)) = rest.split_once('&') {
        read.push_str(before);
        match escape(behind) {
            Escape::Of(character, length) => {
                read.push(character);
                rest = behind.get(length..).unwrap_or_default();
            }
            Escape::Open => return read,
            Escape::None => {
                read.push('&');
                rest = behind;
            }
        }
    }
    read.push_str(rest);
    read
}

enum Escape {
    /// The character, and the bytes that stand for it behind `&`.
    Of(char, usize),
    /// It may become one.
    Open,
    None,
}

fn escape(behind: &str) -> Escape {
    let named = NAMED_BRACKETS
        .iter()
        .find(|(name, _)| behind.starts_with(name));
    if let Some((name, character)) = named {
        return Escape::Of(*character, name.len());
    }
    let is_begun = NAMED_BRACKETS
        .iter()
        .any(|(name, _)| name.starts_with(behind));
    let Some(number) = behind.strip_prefix('#') else {
        return if is_begun { Escape::Open } else { Escape::None };
    };
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    let value: String = digits
        .chars()
        .take_while(|character| character.is_digit(radix))
        .collect();
    let rest = digits.strip_prefix(value.as_str()).unwrap_or_default();
    if rest.is_empty() && behind.chars().count() <= MAX_ESCAPE_CHARACTERS {
        return Escape::Open;
    }
    let character = u32::from_str_radix(&value, radix).ok();
    match (character.and_then(char::from_u32), rest.strip_prefix(';')) {
        (Some(character), Some(after)) => Escape::Of(character, behind.len() - after.len()),
        _ => Escape::None,
    }
}

/// Without `<b>`, `</b>`, `<!-- … -->`.
fn without_elements(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('<') {
        read.push_str(before);
        let begins = |one: char| one.is_ascii_alphabetic() || matches!(one, '/' | '!' | '?');
        if !behind.chars().next().is_none_or(begins) {
            read.push('<');
            rest = behind;
            continue;
        }
        let end = if behind.starts_with("!--") {
            "-->"
        } else {
            ">"
        };
        match behind.split_once(end) {
            Some((_, after)) => rest = after,
            None => return read,
        }
    }
    read.push_str(rest);
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_between_brackets_are_read_however_they_are_written() {
        let table: &[(&str, Option<&[u32]>)] = &[
            ("[1]", Some(&[1])),
            ("[1, 2-4]", Some(&[1, 2, 3, 4])),
            ("［１、９］", Some(&[1, 9])),
            ("[**9**]", Some(&[9])),
            ("[*9]", Some(&[9])),
            ("[~~9~~]", Some(&[9])),
            ("[1**2**]", Some(&[12])),
            ("[1*2]", None),
            ("[1_2]", None),
            ("[1~3]", Some(&[1, 2, 3])),
            ("[\u{200b}9\u{2060}]", Some(&[9])),
            ("[\u{a0}9\t]", Some(&[9])),
            ("&#91;9&#x5D;", Some(&[9])),
            ("&lsqb;&#57;&rbrack;", Some(&[9])),
            ("[<b>9</b>]", Some(&[9])),
            ("[<!-- a > b -->9]", Some(&[9])),
            ("[0, 1]", None),
            ("[-1]", None),
            ("[]", None),
        ];
        for (marker, expected) in table {
            assert!(may_be_marker(marker), "{marker}");
            assert_eq!(numbers(marker, 3).as_deref(), *expected, "{marker}");
            assert!(is_closed(marker), "{marker}");
        }
        let none = [
            "AT", "&T", "&amp;", "[[[[[", "[x]", "[1 < 2]", "[9\n\n]", "\\a", "[1/2]",
        ];
        for text in none {
            assert!(!may_be_marker(text), "{text}");
        }
        let open = [
            "&", "&#9", "&lb", "[<b", "[<!-- >", "[&#5", "[source ", "[ 来",
        ];
        for text in open {
            assert!(may_be_marker(text) && !is_closed(text), "{text}");
        }
    }
}
