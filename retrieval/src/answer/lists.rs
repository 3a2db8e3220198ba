//! The list that a sentence announces: `The four conditions are:` answers nothing without it.

use std::ops::Range;

/// Items of a list that are quoted.
const MAXIMUM_ITEMS: usize = 10;
/// Bytes of it.
const MAXIMUM_BYTES: usize = 1_500;

/// Where the list stands that a sentence which ends with a colon announces: whole lines of the text
/// behind byte `end`, at most ten items. `None` where something else follows.
pub fn announced(text: &str, end: usize) -> Option<Range<usize>> {
    let mut at = end;
    let (mut start, mut last) = (None, end);
    let mut items = 0;
    for line in text.get(end..)?.split_inclusive('\n') {
        let begins = at;
        at += line.len();
        if line.trim().is_empty()
            || begins == end && !line.trim().chars().any(char::is_alphanumeric)
        {
            continue;
        }
        let is_item = is_item(line);
        let goes_on = start.is_some() && line.starts_with([' ', '\t']);
        if !is_item && !goes_on {
            break;
        }
        items += usize::from(is_item);
        if items > MAXIMUM_ITEMS || at - end > MAXIMUM_BYTES {
            break;
        }
        start = start.or(Some(begins));
        last = begins + line.trim_end().len();
    }
    start.map(|start| start..last)
}

/// `- x`, `* x`, `1. x`, `2) x`, `3、x`, `（4）x`.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix(['-', '*', '+', '•']) {
        return rest.starts_with(' ');
    }
    let inner = line.trim_start_matches(['(', '（']);
    let rest = inner.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let digits = inner.len() - rest.len();
    (1..=3).contains(&digits) && rest.starts_with(['.', ')', '、', '）', '．'])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::string_slice)]
mod tests {
    use super::*;

    #[test]
    fn the_list_behind_a_colon_is_found_and_nothing_behind_it() {
        let list = |text: &str| {
            let end = text.find([':', '：']).unwrap();
            let end = end + text[end..].chars().next().unwrap().len_utf8();
            announced(text, end).map(|range| text[range].to_owned())
        };
        let four =
            "四个必要条件：\n\n1. 互斥\n2. 占有并等待\n   一直等\n\n3. 不可抢占\n\n以上四个条件。";
        assert_eq!(
            list(four).as_deref(),
            Some("1. 互斥\n2. 占有并等待\n   一直等\n\n3. 不可抢占")
        );
        assert_eq!(list("They are:\n- a\n- b").as_deref(), Some("- a\n- b"));
        assert_eq!(list("They are: none.\n- a"), None);
        assert_eq!(list("They are:\n\nA paragraph.\n- a"), None);
        assert_eq!(list("They are:"), None);
        let many = format!("They are:\n{}", "- x\n".repeat(50));
        assert_eq!(list(&many).map(|list| list.lines().count()), Some(10));
    }
}
