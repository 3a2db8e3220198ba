//! The numbers before headings: `2`, `3.1`, `Chapter 4`, `IV.`, `第五章`, `二、`.

use crate::escape::is_wide;

/// Deepest number that is told from the others.
const MAXIMUM_DEPTH: usize = 6;

/// How deep a heading is by its number: 1 for `2` and `Chapter 2`, 2 for `2.1`; 0 without a number.
pub(in crate::pdf) fn number_depth(text: &str) -> u8 {
    let text = text.trim_start();
    chinese_depth(text)
        .or_else(|| word_depth(text))
        .or_else(|| decimal_depth(text))
        .unwrap_or(0)
}

/// `第五章` and `二、` are of depth 1, `第二节` and `（三）` of depth 2.
fn chinese_depth(text: &str) -> Option<u8> {
    let is_numeral = |character: char| "一二三四五六七八九十百零〇".contains(character);
    if text.starts_with('第') {
        return text.chars().take(7).find_map(|character| match character {
            '章' | '篇' | '部' => Some(1),
            '节' | '節' => Some(2),
            _ => None,
        });
    }
    let inner = text.strip_prefix(['（', '(']);
    let rest = inner.unwrap_or(text).trim_start_matches(is_numeral);
    let has_numeral = rest.len() < inner.unwrap_or(text).len();
    let depth = if inner.is_some() {
        rest.starts_with(['）', ')']).then_some(2)
    } else {
        rest.starts_with('、').then_some(1)
    };
    depth.filter(|_| has_numeral)
}

/// `Chapter 4`, `Appendix A`, `IV. Results`.
fn word_depth(text: &str) -> Option<u8> {
    let (first, rest) = text.split_once(char::is_whitespace)?;
    let second = rest.split_whitespace().next()?;
    let names_part = matches!(
        first.to_lowercase().as_str(),
        "chapter" | "part" | "appendix" | "section" | "annex"
    ) && second.len() <= 6;
    let roman = first.strip_suffix('.').unwrap_or_default();
    let is_roman = (1..=5).contains(&roman.len())
        && roman
            .chars()
            .all(|letter| matches!(letter, 'I' | 'V' | 'X'));
    (names_part || is_roman).then_some(1)
}

/// `2`, `2.`, `3.1`, `A.1`, and `3.1` right before a Chinese character; no number of a version, which
/// a date or nothing at all follows.
fn decimal_depth(text: &str) -> Option<u8> {
    let is_label = |character: char| character.is_ascii_alphanumeric() || character == '.';
    let end = text.find(|character| !is_label(character))?;
    let (label, rest) = text.split_at_checked(end)?;
    let parts: Vec<&str> = label.trim_end_matches('.').split('.').collect();
    let after = rest.trim_start_matches([')', ':', '、', '．']);
    let is_closed = label.ends_with('.') || after.len() < rest.len();
    let is_parted = after.starts_with(char::is_whitespace)
        || (after.starts_with(is_wide) && (is_closed || parts.len() > 1));
    let is_number = |part: &&str| {
        (1..=3).contains(&part.len()) && part.chars().all(|character| character.is_ascii_digit())
    };
    let (head, tail) = parts.split_first()?;
    let is_letter = head.len() == 1
        && head.starts_with(|letter: char| letter.is_ascii_uppercase())
        && !tail.is_empty();
    let is_numbered = (is_number(head) || is_letter) && tail.iter().all(is_number);
    let names_something = after.contains(char::is_alphanumeric) && !is_date(after.trim());
    (is_parted && is_numbered && names_something).then(|| parts.len().min(MAXIMUM_DEPTH) as u8)
}

/// A date behind a version: `(2026-08-27)`, `- 2026-08-27`, `2026/08/27`.
fn is_date(text: &str) -> bool {
    let is_sign = |sign: char| matches!(sign, '(' | ')' | '[' | ']' | '-' | '–' | '—' | ' ' | '/');
    let inner = text.trim_matches(is_sign);
    let parts: Vec<&str> = inner.split(['-', '/', '.']).collect();
    let is_number = |part: &&str| part.chars().all(|digit| digit.is_ascii_digit());
    (2..=3).contains(&parts.len())
        && parts.iter().all(is_number)
        && parts.iter().any(|part| part.len() == 4)
}

/// Whether a text names a version, as the headings of release notes do: `0.10.2 (2026-08-27)`,
/// `v1.4`, `[1.4.0]`, `1.4 - 2026-08-27`.
pub(super) fn is_version(text: &str) -> bool {
    let text = text.trim();
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let bare = name.trim_start_matches(['[', 'v', 'V']);
    let bare = bare.trim_end_matches(']');
    let (release, _) = bare.split_once(['-', '+']).unwrap_or((bare, ""));
    let is_marked = bare.len() < name.len() || release.matches('.').count() > 1 || is_date(rest);
    let is_alone = rest.is_empty() || rest.starts_with(['(', '-', '–', '—', '/']) || is_date(rest);
    is_dotted(release) && is_marked && is_alone
}

/// Whether a text is numbers with dots between them, and nothing else.
pub(super) fn is_dotted(text: &str) -> bool {
    let is_number =
        |part: &str| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
    text.contains('.') && text.split('.').all(is_number)
}

/// A text without the number that [`number_depth`] finds in figures before it.
pub(super) fn without_number(text: &str) -> &str {
    let text = text.trim_start();
    match decimal_depth(text) {
        Some(_) => text.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.'),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_depths() {
        let depths = [
            ("2 Two", 1),
            ("2. Two", 1),
            ("3.1 Three", 2),
            ("A.1 Annex", 2),
            ("Chapter 4 Four", 1),
            ("IV. Results", 1),
            ("第五章 标题", 1),
            ("第二节", 2),
            ("二、背景", 1),
            ("（三）方法", 2),
            ("3.1方法", 2),
            ("2、方法", 1),
            ("5月", 0),
            ("Two", 0),
            ("A. Author", 0),
            ("2020.", 0),
            ("1.5", 0),
            ("0.10.2 (2026-08-27)", 0),
            ("1.4 - 2026-08-27", 0),
            ("1.1 0.10.2 (2026-08-27)", 2),
            ("1.2 2020 报告", 2),
        ];
        for (text, depth) in depths {
            assert_eq!(number_depth(text), depth, "{text}");
        }
        let versions = [
            "0.10.2 (2026-08-27)",
            "0.10.2",
            "v1.4",
            "[1.4.0-rc.1] - 2026-08-27",
            "1.4 - 2026-08-27",
        ];
        assert!(versions.iter().all(|text| is_version(text)));
        let others = [
            "99.9 %",
            "1.4",
            "2026-08-27",
            "3.5 (of 10)",
            "x.y.z",
            "v2.97e",
            "",
        ];
        assert!(!others.iter().any(|text| is_version(text)));
        assert_eq!(without_number("1.5.1 参数").trim(), "参数");
        assert_eq!(without_number("5月"), "5月");
    }
}
