//! What is read as a citation: numbers between brackets, however they are written, and nothing
//! else. Characters that a reader does not see, marks of emphasis, elements and escapes of HTML
//! say nothing: `[**1**]`, `&#91;1]` and `[<b>1</b>]` all show `[1]`.

/// Longest text that may be a citation.
pub const MAXIMUM_BYTES: usize = 120;
/// Brackets within each other at most. Without a bound a text of nothing but brackets would be read
/// from each of them anew.
const MAXIMUM_DEPTH: usize = 4;
/// Longest range, `[1-4]`.
const MAXIMUM_RANGE: u32 = 20;
/// Numbers above it in a list are those of an interval.
const MAXIMUM_IN_LIST: u32 = 99;
/// Words that models put before the number.
const WORDS: [&str; 18] = [
    "source", "sources", "passage", "passages", "document", "doc", "ref", "citation", "no", "nos",
    "nr", "number", "来源", "资料", "文档", "段落", "片段", "引用",
];
/// Those of them that say in parentheses, too, that a source is meant: `(source 2)`.
const SPOKEN: [&str; 9] = [
    "source", "sources", "passage", "passages", "citation", "来源", "段落", "片段", "引用",
];
/// Words between two numbers.
const BETWEEN: [&str; 5] = ["and", "和", "与", "及", "以及"];
/// Words that may be followed by a full stop.
const SHORTENED: [&str; 5] = ["no", "nos", "nr", "ref", "doc"];
/// Zero in scripts whose digits follow it in order.
const ZEROS: [u32; 22] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50,
    0xed0, 0xf20, 0x1040, 0x17e0, 0x1810, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0xff10,
];
/// Brackets by name, without `&`.
const NAMED_BRACKETS: [(&str, char); 4] = [
    ("lsqb;", '['),
    ("lbrack;", '['),
    ("rsqb;", ']'),
    ("rbrack;", ']'),
];
/// Longest escape of HTML that is looked at, without `&`.
const MAXIMUM_ESCAPE_CHARACTERS: usize = 12;

/// Whether a citation may begin with this character.
pub fn may_begin(character: char) -> bool {
    is_opening(character) || is_parenthesis(character) || matches!(character, '\\' | '&')
}

/// Whether a citation may begin with this text.
pub fn may_be_marker(held: &str) -> bool {
    if held.len() > MAXIMUM_BYTES || held.matches('\n').count() > 1 {
        return false;
    }
    let bare = bare(held);
    if bare.is_empty() || bare == "\\" {
        return true;
    }
    if depth(&bare) > MAXIMUM_DEPTH {
        return false;
    }
    if let Some(inner) = bare.strip_prefix(is_parenthesis) {
        return says_numbers(inner, &SPOKEN) && begins_with_word(inner);
    }
    let inner = bare.trim_start_matches(|one: char| is_opening(one) || one == '\\');
    if inner.len() == bare.trim_start_matches('\\').len() {
        return false;
    }
    says_numbers(inner, &WORDS)
}

/// Whether the text in a citation may begin so: numbers, what separates them, and words.
fn says_numbers(inner: &str, words: &[&str]) -> bool {
    let characters: Vec<char> = inner.chars().collect();
    let (mut at, mut has_number, mut is_shortened) = (0, false, false);
    while let Some(character) = characters.get(at).copied() {
        let rest = characters.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|one| is_letter(**one)).count();
        if length > 0 {
            let word: String = rest.iter().take(length).collect();
            let word = word.to_lowercase();
            let is_last = length == rest.len();
            let between: &[&str] = if has_number { &BETWEEN } else { &[] };
            if !is_made_of(&word, &[words, between], is_last) {
                return false;
            }
            is_shortened = SHORTENED.contains(&word.as_str());
            at += length;
            continue;
        }
        let is_stop = character == '.' && (is_shortened || ends_behind_stop(&characters, at));
        if !is_stop && !may_stand_in_marker(character) {
            return false;
        }
        has_number |= digit(character).is_some();
        is_shortened = false;
        at += 1;
    }
    true
}

/// Whether it is made of such words, or may become so where more of it is to come.
fn is_made_of(word: &str, words: &[&[&str]], is_last: bool) -> bool {
    let mut known = words.iter().copied().flatten();
    word.is_empty()
        || known.any(|known| {
            let rest = word.strip_prefix(known);
            (is_last && known.starts_with(word))
                || rest.is_some_and(|rest| is_made_of(rest, words, is_last))
        })
}

/// Whether a full stop stands behind a number, and nothing but the end behind it: `[9.]`.
fn ends_behind_stop(characters: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| characters.get(before));
    let is_behind_number = before.copied().and_then(digit).is_some();
    let behind = characters.iter().skip(at + 1);
    let mut behind = behind.skip_while(|one| one.is_whitespace() || **one == '\\');
    is_behind_number && behind.next().is_none_or(|one| is_closing(*one))
}

/// Whether a word of [`SPOKEN`] or the beginning of one comes first.
fn begins_with_word(inner: &str) -> bool {
    let first = inner.trim_start().chars().next();
    first.is_none_or(is_letter)
}

/// Whether it says more than numbers do, so that it is text where it stands right behind a word:
/// `arr[9.]`, `x[1 and 2]`.
pub fn is_doubtful(marker: &str) -> bool {
    let bare = bare(marker);
    let words: Vec<String> = bare
        .split(|one| !is_letter(one))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let is_vague = |word: &String| {
        let word = word.as_str();
        BETWEEN.contains(&word) || SHORTENED.contains(&word) || word == "number"
    };
    bare.contains('.') || words.iter().any(is_vague)
}

/// A digit above the line, which cites where it stands behind a sentence.
pub fn raised(character: char) -> Option<u32> {
    match character {
        '\u{b9}' => Some(1),
        '\u{b2}' => Some(2),
        '\u{b3}' => Some(3),
        '\u{2070}' | '\u{2074}'..='\u{2079}' => Some(u32::from(character) - 0x2070),
        _ => None,
    }
}

/// Brackets that are open at its end.
fn depth(bare: &str) -> usize {
    let count = |of: fn(char) -> bool| bare.chars().filter(|character| of(*character)).count();
    count(is_opening).saturating_sub(count(is_closing))
}

/// Whether each bracket that it opens is closed.
pub fn is_closed(held: &str) -> bool {
    let bare = bare(held);
    if bare.starts_with(is_parenthesis) {
        return bare.ends_with([')', '）']);
    }
    let count = |of: fn(char) -> bool| bare.chars().filter(|character| of(*character)).count();
    let opened = count(is_opening);
    opened > 0 && count(is_closing) == opened
}

/// Whether it is the beginning of one citation that was cut off behind a number.
pub fn is_cut_off(held: &str) -> bool {
    let bare = bare(held);
    may_be_marker(held)
        && bare.chars().any(|one| digit(one).is_some())
        && !bare
            .chars()
            .any(|one| is_closing(one) || matches!(one, ')' | '）'))
}

/// The numbers of a citation; `None` if it is none: no number, an interval, a negative number.
pub fn numbers(marker: &str, sources: u32) -> Option<Vec<u32>> {
    let bare = bare(marker);
    let mut numbers: Vec<u32> = Vec::new();
    let mut current: Option<u32> = None;
    let mut range_from: Option<u32> = None;
    let mut is_struck = false;
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
        // `[~9~]` shows a nine that is struck through.
        if is_tilde(character) && numbers.is_empty() {
            is_struck = true;
        } else if is_tilde(character) && is_struck {
            is_struck = false;
        } else if is_range(character) {
            range_from = Some(numbers.pop()?);
        } else if matches!(character, ',' | '，') {
            separators += 1;
        }
    }
    let is_interval = separators == 2
        && numbers
            .iter()
            .any(|number| *number == 0 || *number > MAXIMUM_IN_LIST.max(sources));
    (!numbers.is_empty() && !is_interval && range_from.is_none()).then_some(numbers)
}

fn range(from: u32, to: u32) -> Vec<u32> {
    match to.checked_sub(from) {
        Some(length) if length <= MAXIMUM_RANGE => (from..=to).collect(),
        _ => vec![from, to],
    }
}

fn is_tilde(character: char) -> bool {
    matches!(character, '~')
}

fn is_opening(character: char) -> bool {
    matches!(character, '[' | '【' | '［' | '〔' | '〖')
}

fn is_parenthesis(character: char) -> bool {
    matches!(character, '(' | '（')
}

/// Letters that are no digits.
fn is_letter(character: char) -> bool {
    character.is_alphabetic() && digit(character).is_none()
}

fn is_closing(character: char) -> bool {
    matches!(character, ']' | '】' | '］' | '〕' | '〗')
}

/// Also of full width, of other scripts and above the line.
fn digit(character: char) -> Option<u32> {
    let of_script = || {
        let code = u32::from(character);
        let mut values = ZEROS.iter().filter_map(|zero| code.checked_sub(*zero));
        values.find(|value| *value < 10)
    };
    character
        .to_digit(10)
        .or_else(|| raised(character))
        .or_else(of_script)
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
            ',' | '，' | '、' | ';' | '；' | '^' | '\\' | ':' | '：' | '#' | '№' | '&' | ')' | '）'
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
    if rest.is_empty() && behind.chars().count() <= MAXIMUM_ESCAPE_CHARACTERS {
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
            ("〔9〕", Some(&[9])),
            ("[9 and 1]", Some(&[9, 1])),
            ("[来源1和来源2]", Some(&[1, 2])),
            ("[9.]", Some(&[9])),
            ("[No. 9]", Some(&[9])),
            ("[٩]", Some(&[9])),
            ("[१, ⁹]", Some(&[1, 9])),
            ("(source 12)", Some(&[12])),
            ("（来源：9）", Some(&[9])),
            ("(Sources 1, 2 and 3)", Some(&[1, 2, 3])),
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
            "AT",
            "&T",
            "&amp;",
            "[[[[[",
            "[x]",
            "[1 < 2]",
            "[9\n\n]",
            "\\a",
            "[1/2]",
            "[1.5]",
            "[and 9]",
            "[No. 9 of the list]",
            "[nothing",
            "[9 apples]",
            "(9)",
            "(12 sources)",
            "(source code)",
            "(document 3)",
            "(source 3 of 5)",
        ];
        for text in none {
            assert!(!may_be_marker(text), "{text}");
        }
        let open = [
            "&", "&#9", "&lb", "[<b", "[<!-- >", "[&#5", "[source ", "[ 来", "(", "(so", "[9 an",
            "[9.", "[No.",
        ];
        for text in open {
            assert!(may_be_marker(text) && !is_closed(text), "{text}");
        }
    }
}
