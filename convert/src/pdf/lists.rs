//! Signs that open list items, and the dots of tables of contents.

/// Signs of unordered items.
const BULLETS: [char; 22] = [
    '•', '◦', '▪', '▫', '■', '□', '●', '○', '‣', '⁃', '➢', '➤', '✓', '✔', '❖', '◆', '◇', '–', '—',
    '·', '∙', '★',
];

/// What an item begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// A sign; the text after it.
    Bullet(String),
    /// A number or letter as printed; the text after it.
    Number(String, String),
}

/// Parts the sign of a list item from its text; `None` for other text.
pub(super) fn parse(line: &str) -> Option<Marker> {
    let line = line.trim_start();
    let first = line.chars().next()?;
    let after = line.get(first.len_utf8()..)?;
    if BULLETS.contains(&first) || (matches!(first, '-' | '*' | 'o') && after.starts_with(' ')) {
        let is_dash = matches!(first, '–' | '—');
        let text = after.trim_start();
        return (!is_dash || after.starts_with(' '))
            .then(|| Marker::Bullet(text.to_owned()))
            .filter(|_| first != 'o' || text.starts_with(char::is_uppercase));
    }
    let (marker, text) = line.split_once(' ').unwrap_or((line, ""));
    is_number(marker).then(|| Marker::Number(marker.to_owned(), text.trim_start().to_owned()))
}

/// A number of a list with the signs that Markdown knows: `3、` as `3.`.
pub(super) fn plain_number(marker: &str) -> String {
    marker.replace(['、', '．'], ".").replace('）', ")")
}

/// Whether a text is nothing but the sign of an item.
pub(super) fn is_marker(text: &str) -> bool {
    let mut characters = text.chars();
    let is_sign = characters
        .next()
        .is_some_and(|first| BULLETS.contains(&first) || matches!(first, '-' | '*'))
        && characters.next().is_none();
    is_sign || is_number(text)
}

/// `1.`, `12)`, `(3)`, `a)`, `(b)`, `iv.`
fn is_number(text: &str) -> bool {
    let open = text.starts_with('(');
    let inner = text.strip_prefix('(').unwrap_or(text);
    let Some(inner) = inner.strip_suffix([')', '.', '）', '．', '、']) else {
        return false;
    };
    if text.ends_with('.') && open {
        return false;
    }
    let is_digits = !inner.is_empty()
        && inner.len() <= 3
        && inner.chars().all(|character| character.is_ascii_digit());
    let is_letter = inner.len() == 1
        && inner
            .chars()
            .all(|character| character.is_ascii_alphabetic())
        && !text.ends_with('.');
    let is_roman = !inner.is_empty()
        && inner.len() <= 5
        && inner
            .chars()
            .all(|character| matches!(character, 'i' | 'v' | 'x'));
    is_digits || is_letter || is_roman
}

/// Whether a text has the dots that lead to a page number.
pub(super) fn has_leader(text: &str) -> bool {
    longest_leader(text) >= 5
}

fn longest_leader(text: &str) -> usize {
    let (mut longest, mut dots) = (0, 0);
    for character in text.chars() {
        match character {
            '.' | '·' => dots += 1,
            '…' => dots += 3,
            ' ' if dots > 0 => {}
            _ => dots = 0,
        }
        longest = longest.max(dots);
    }
    longest
}

/// The text with each leader to a page number shortened to ` … `.
pub(super) fn without_leaders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run = String::new();
    let mut rest = text.chars();
    loop {
        let before = rest.clone();
        let character = rest.next().unwrap_or('\n');
        if matches!(character, '.' | '·' | '…') || (character == ' ' && !run.is_empty()) {
            run.push(character);
            continue;
        }
        if longest_leader(&run) >= 5 && starts_with_page(before.as_str()) {
            let kept = out.trim_end().len();
            out.truncate(kept);
            out.push_str(" … ");
        } else {
            out.push_str(&run);
        }
        run.clear();
        if before.as_str().is_empty() {
            return out;
        }
        out.push(character);
    }
}

/// Whether a text begins with a number, Arabic or Roman, that is followed by nothing or a space.
fn starts_with_page(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    let is_roman = word
        .chars()
        .all(|character| matches!(character, 'i' | 'v' | 'x' | 'l'));
    !word.is_empty()
        && word.len() <= 6
        && (is_roman
            || word
                .chars()
                .all(|character| character.is_ascii_digit() || character == '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_and_numbers_open_items() {
        assert_eq!(parse("• one"), Some(Marker::Bullet("one".into())));
        assert_eq!(parse("•one"), Some(Marker::Bullet("one".into())));
        assert_eq!(
            parse("12. two"),
            Some(Marker::Number("12.".into(), "two".into()))
        );
        assert_eq!(
            parse("(b) three"),
            Some(Marker::Number("(b)".into(), "three".into()))
        );
        assert_eq!(parse("-5 degrees"), None);
        assert_eq!(parse("1.1 Heading"), None);
        assert_eq!(parse("A. Author"), None);
        assert!(is_marker("•") && is_marker("3)") && !is_marker("word"));
    }

    #[test]
    fn leaders_are_shortened() {
        assert_eq!(
            without_leaders("Preface . . . . . . . . ix"),
            "Preface … ix"
        );
        assert_eq!(without_leaders("1.1 Intro.........12"), "1.1 Intro … 12");
        assert_eq!(
            without_leaders("and so on ... here."),
            "and so on ... here."
        );
        assert_eq!(
            without_leaders("f1 ..... fn, name: ........"),
            "f1 ..... fn, name: ........"
        );
    }
}
