//! Semantic breaks of running text: sentences (Chinese and English), clauses, and as a last resort
//! spaces and characters. The leaf cutter, summaries, embedding windows and answers use it.

use std::ops::Range;

/// How good a place to cut is; a later one is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Break {
    /// Between any two characters.
    Character,
    /// At a space.
    Space,
    /// After a comma, a semicolon, or at a line end.
    Clause,
    /// After a sentence.
    Sentence,
    /// At the end of a paragraph, list item or other block.
    Block,
}

/// Words before a full stop that does not end a sentence.
const ABBREVIATIONS: [&str; 34] = [
    "al", "approx", "ca", "cf", "ch", "co", "corp", "dept", "dr", "e.g", "eg", "eq", "eqs", "est",
    "etc", "fig", "figs", "i.e", "ie", "inc", "jr", "ltd", "mr", "mrs", "ms", "no", "nos", "p",
    "pp", "prof", "sec", "st", "vol", "vs",
];

/// Ends of the sentences of `text`, as byte offsets; the last is its length. White space after a
/// sentence belongs to it.
///
/// `spans` (relative to `text`, sorted by start) are never cut.
pub fn sentence_ends(text: &str, spans: &[Range<usize>]) -> Vec<usize> {
    ends(text, spans, ends_sentence)
}

/// The first sentence, without white space around it.
pub fn first_sentence(text: &str) -> &str {
    let end = sentence_ends(text, &[]).first().copied();
    text.get(..end.unwrap_or(0)).unwrap_or_default().trim()
}

/// Ends of the clauses of `text`, in the same form; a sentence end is also a clause end.
pub fn clause_ends(text: &str, spans: &[Range<usize>]) -> Vec<usize> {
    ends(text, spans, |text, offset, character| {
        ends_sentence(text, offset, character)
            || matches!(character, '，' | '；' | '：' | '、' | '\n')
            || (matches!(character, ',' | ';' | ':' | ')') && followed_by_space(text, offset + 1))
    })
}

fn ends(
    text: &str,
    spans: &[Range<usize>],
    is_end: impl Fn(&str, usize, char) -> bool,
) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut spans = spans.iter().peekable();
    let mut guarded_until = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        while let Some(span) = spans.next_if(|span| span.start <= offset) {
            guarded_until = guarded_until.max(span.end);
        }
        if offset < guarded_until || !could_end(character) || !is_end(text, offset, character) {
            continue;
        }
        let mut end = offset + character.len_utf8();
        while let Some((next, closing)) = characters.next_if(|(_, next)| closes(*next)) {
            end = next + closing.len_utf8();
        }
        while let Some((next, blank)) = characters.next_if(|(_, next)| next.is_whitespace()) {
            end = next + blank.len_utf8();
        }
        ends.push(end);
    }
    if ends.last() != Some(&text.len()) && !text.is_empty() {
        ends.push(text.len());
    }
    ends
}

/// A quick look before the exact one.
fn could_end(character: char) -> bool {
    matches!(
        character,
        '.' | '!'
            | '?'
            | ','
            | ';'
            | ':'
            | ')'
            | '\n'
            | '。'
            | '！'
            | '？'
            | '…'
            | '，'
            | '；'
            | '：'
            | '、'
            | '｡'
    )
}

/// Marks right after the end of a sentence that belong to it.
fn closes(character: char) -> bool {
    matches!(
        character,
        '”' | '’'
            | '」'
            | '』'
            | '）'
            | '》'
            | '】'
            | '"'
            | '\''
            | '。'
            | '！'
            | '？'
            | '…'
            | '!'
            | '?'
    )
}

fn ends_sentence(text: &str, offset: usize, character: char) -> bool {
    match character {
        '。' | '！' | '？' | '…' | '｡' => true,
        '!' | '?' => followed_by_space(text, offset + 1),
        '.' => {
            followed_by_space(text, offset + 1)
                && !is_abbreviation(text, offset)
                && !continues_in_lower_case(text, offset + 1)
        }
        _ => false,
    }
}

/// Whether a space, the end, or a closing mark and then a space come next.
fn followed_by_space(text: &str, offset: usize) -> bool {
    let mut rest = text.get(offset..).unwrap_or_default().chars();
    match rest.next() {
        None => true,
        Some('"' | '\'' | '”' | '’' | ')' | ']' | '*' | '_') => {
            rest.next().is_none_or(char::is_whitespace)
        }
        Some(next) => next.is_whitespace(),
    }
}

/// Whether the word before the full stop at `offset` is an abbreviation, an initial or a list
/// number.
fn is_abbreviation(text: &str, offset: usize) -> bool {
    let before = text.get(..offset).unwrap_or_default();
    let tail_start = before
        .char_indices()
        .rev()
        .take(12)
        .last()
        .map_or(0, |(start, _)| start);
    let tail = before.get(tail_start..).unwrap_or_default();
    let word_start = tail
        .rfind(|character: char| !character.is_alphanumeric() && character != '.')
        .map_or(0, |found| found + 1);
    // `rfind` gives the start of the separator, which may be longer than a byte.
    let word = tail.get(word_start..).unwrap_or_else(|| {
        tail.trim_start_matches(|character: char| !character.is_ascii_alphanumeric())
    });
    let mut letters = word.chars();
    let is_initial = matches!((letters.next(), letters.next()), (Some(letter), None) if letter.is_ascii_uppercase());
    let is_list_number = word.bytes().all(|byte| byte.is_ascii_digit())
        && tail
            .get(..word_start)
            .unwrap_or_default()
            .trim_matches(' ')
            .ends_with('\n')
        || (word.bytes().all(|byte| byte.is_ascii_digit())
            && before.trim_start().len() == word.len());
    is_initial
        || is_list_number
        || ABBREVIATIONS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(word))
}

fn continues_in_lower_case(text: &str, offset: usize) -> bool {
    let rest = text.get(offset..).unwrap_or_default();
    rest.chars()
        .take(8)
        .find(|next| !next.is_whitespace())
        .is_some_and(char::is_lowercase)
}

/// Cuts `text` into runs of about `bytes` bytes, at the last space of each run where there is one,
/// else between characters. The ends are byte offsets; the last is the length of `text`.
pub fn run_ends(text: &str, bytes: usize, spans: &[Range<usize>]) -> Vec<(usize, Break)> {
    let mut ends = Vec::new();
    let mut start = 0;
    while text.len() - start > bytes.max(4) {
        let limit = floor_boundary(text, start + bytes.max(4));
        let run = text.get(start..limit).unwrap_or_default();
        let half = run.len() / 2;
        let space = run
            .char_indices()
            .rev()
            .take_while(|(offset, _)| *offset >= half)
            .find(|(_, character)| character.is_whitespace());
        let (mut end, mut kind) = match space {
            Some((offset, character)) => (start + offset + character.len_utf8(), Break::Space),
            None => (limit, Break::Character),
        };
        if let Some(span) = guard(spans, end).filter(|span| span.start > start + bytes / 4) {
            (end, kind) = (floor_boundary(text, span.start), Break::Character);
        }
        if end <= start {
            end = limit.max(start + 1);
        }
        ends.push((end, kind));
        start = end;
    }
    if start < text.len() {
        ends.push((text.len(), Break::Sentence));
    }
    ends
}

/// The span that a cut at `offset` would hurt.
fn guard(spans: &[Range<usize>], offset: usize) -> Option<&Range<usize>> {
    let after = spans.partition_point(|span| span.start < offset);
    spans
        .get(..after)?
        .iter()
        .rev()
        .take(4)
        .find(|span| span.end > offset)
}

/// The character boundary at or before `offset`.
pub fn floor_boundary(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset.min(text.len()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::string_slice)]
    use super::*;

    fn cut<'a>(text: &'a str, ends: &[usize]) -> Vec<&'a str> {
        let mut start = 0;
        ends.iter()
            .map(|end| {
                let piece = text[start..*end].trim();
                start = *end;
                piece
            })
            .collect()
    }

    fn sentences(text: &str) -> Vec<&str> {
        cut(text, &sentence_ends(text, &[]))
    }

    #[test]
    fn chinese_and_english_sentences() {
        assert_eq!(
            sentences("载波聚合是什么？它把多个载波合起来。“真的！”他说"),
            [
                "载波聚合是什么？",
                "它把多个载波合起来。",
                "“真的！”",
                "他说"
            ]
        );
        assert_eq!(
            sentences("One. Two! Is it 3.5 GHz? \"Yes.\" End"),
            ["One.", "Two!", "Is it 3.5 GHz?", "\"Yes.\"", "End"]
        );
        assert_eq!(sentences(""), Vec::<&str>::new());
    }

    #[test]
    fn abbreviations_initials_and_list_numbers_end_nothing() {
        for text in [
            "See Fig. 3 for it.",
            "e.g. This one",
            "J. Smith et al. Found",
            "1. First\n2. Second",
            "approx. five",
            "中文 etc. Next",
        ] {
            assert_eq!(sentences(text).len(), 1, "{text}");
        }
        assert_eq!(sentences("参见第5. Next one"), ["参见第5.", "Next one"]);
    }

    #[test]
    fn spans_are_not_cut() {
        let text = "a `x. Y` b. `p. Q` Next";
        assert_eq!(
            cut(text, &sentence_ends(text, &[2..8, 12..18])),
            ["a `x. Y` b.", "`p. Q` Next"]
        );
    }

    #[test]
    fn clauses() {
        let text = "一，二；three, four: five";
        assert_eq!(
            cut(text, &clause_ends(text, &[])),
            ["一，", "二；", "three,", "four:", "five"]
        );
    }

    #[test]
    fn runs_end_at_spaces_or_characters_and_hold_everything() {
        let text = "aaa bbb ccc 中文中文中文中文中文";
        let ends = run_ends(text, 9, &[]);
        assert_eq!(ends.last().unwrap().0, text.len());
        assert!(ends.iter().all(|(end, _)| text.is_char_boundary(*end)));
        assert!(ends.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(ends[0], (8, Break::Space));
        assert_eq!(run_ends("", 9, &[]), []);
    }
}
