//! Words and identifiers: `Conv2d`, `mindspore.nn.Conv2d`, `__init__`, `38.331`, `0x80070005`,
//! `Ping-Pong`. A compound is emitted whole and by its parts: split at `_ . - /`, and at the humps
//! of camelCase.

use super::{Analyzer, MAXIMUM_TOKEN_BYTES, Output};
use crate::characters::Class;

/// What a look at a run of letters, digits and joiners finds.
struct Run {
    end: usize,
    /// Holds a joiner between two parts.
    is_compound: bool,
    /// Goes on behind `end`: longer than a token may be.
    is_cut: bool,
}

impl Analyzer {
    /// Emits the word or identifier that begins at a place and returns where it ends.
    pub(super) fn cut_word(&self, text: &str, start: usize, output: &mut Output<'_>) -> usize {
        let term = self.matcher.longest(text, start);
        let run = self.scan(text, start);
        if let Some((end, term)) = term
            && (end >= run.end || run.is_cut)
        {
            self.emit_term(term, output);
            return end;
        }
        if run.is_compound {
            return self.cut_compound(text, start, run, output);
        }
        emit_part(text.get(start..run.end).unwrap_or_default(), false, output);
        run.end
    }

    /// A run with joiners: terms in it are looked for at the beginning of each part.
    fn cut_compound(&self, text: &str, start: usize, run: Run, output: &mut Output<'_>) -> usize {
        if let Some(border) = self.term_across(text, start, run.end) {
            // A term begins inside and ends outside of the run (`foo-5G NR`): the run ends before
            // it.
            let whole = text
                .get(start..border)
                .unwrap_or_default()
                .trim_end_matches(is_joiner);
            let is_compound = whole.contains(is_joiner);
            self.emit_compound(
                text,
                start,
                start + whole.len(),
                is_compound && !run.is_cut,
                output,
            );
            return border;
        }
        self.emit_compound(text, start, run.end, !run.is_cut, output);
        run.end
    }

    /// Where a term begins that does not end within the run.
    fn term_across(&self, text: &str, start: usize, end: usize) -> Option<usize> {
        self.part_starts(text, start, end).find(|part| {
            self.matcher
                .longest(text, *part)
                .is_some_and(|(term_end, _)| term_end > end)
        })
    }

    /// The whole (unless it is too long for a token), the terms in it, and its parts.
    fn emit_compound(
        &self,
        text: &str,
        start: usize,
        end: usize,
        with_whole: bool,
        output: &mut Output<'_>,
    ) {
        let whole = text.get(start..end).unwrap_or_default();
        if with_whole && whole.chars().any(char::is_alphanumeric) {
            output.any_case(whole);
        }
        // `boundary-layer` is running text, `signal_state` is a name.
        let is_name = !whole
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let mut inside_term_until = start;
        for part in whole.split(is_joiner) {
            let part_start = part.as_ptr() as usize - text.as_ptr() as usize;
            if part_start >= inside_term_until
                && let Some((term_end, term)) = self.matcher.longest(text, part_start)
                && term_end <= end
            {
                inside_term_until = term_end;
                let is_one_part = term_end == part_start + part.len();
                if is_one_part {
                    self.emit_term(term, output);
                    continue;
                }
                output.token(&term.token);
            }
            if part.chars().any(char::is_alphanumeric) {
                emit_part(part, is_name, output);
            }
        }
    }

    fn part_starts<'t>(
        &self,
        text: &'t str,
        start: usize,
        end: usize,
    ) -> impl Iterator<Item = usize> + 't {
        let run = text.get(start..end).unwrap_or_default();
        let after_joiners = run
            .char_indices()
            .filter(|(_, character)| is_joiner(*character))
            .map(move |(index, _)| start + index + 1);
        after_joiners.filter(move |part| *part < end)
    }

    fn scan(&self, text: &str, start: usize) -> Run {
        let rest = text.get(start..).unwrap_or_default();
        let mut run = Run {
            end: start,
            is_compound: false,
            is_cut: false,
        };
        let mut last_joiner = 0;
        let mut characters = rest.char_indices().peekable();
        while let Some((offset, character)) = characters.next() {
            let joins = is_joiner(character);
            let is_word = character != '_' && self.is_word(character);
            let goes_on = is_word
                || character == '_'
                || (joins
                    && characters
                        .peek()
                        .is_some_and(|(_, next)| self.is_word(*next)));
            if !goes_on {
                break;
            }
            if offset + character.len_utf8() > MAXIMUM_TOKEN_BYTES {
                run.is_cut = true;
                break;
            }
            if joins {
                run.is_compound = true;
                last_joiner = start + offset + 1;
            }
            run.end = start + offset + character.len_utf8();
        }
        self.finish_scan(rest, start, last_joiner, run)
    }

    fn finish_scan(&self, rest: &str, start: usize, last_joiner: usize, mut run: Run) -> Run {
        if run.is_cut && run.is_compound && last_joiner > start {
            run.end = last_joiner;
        }
        // `C++`, `C#`: one letter and the signs that make it a name.
        let mut characters = rest.chars();
        if run.end == start + 1
            && characters
                .next()
                .is_some_and(|letter| letter.is_ascii_alphabetic())
        {
            let signs = characters.as_str();
            let length = if signs.starts_with("++") {
                2
            } else {
                usize::from(signs.starts_with('#'))
            };
            let after = signs.get(length..).and_then(|after| after.chars().next());
            if length > 0 && !after.is_some_and(|after| after.is_ascii_alphanumeric()) {
                run.end += length;
            }
        }
        run
    }

    fn is_word(&self, character: char) -> bool {
        if character.is_ascii() {
            return character.is_ascii_alphanumeric() || character == '_';
        }
        self.characters.class(character) == Class::Word
    }
}

/// One part that is no term: as a word or name, and by its humps.
fn emit_part(part: &str, is_name: bool, output: &mut Output<'_>) {
    let has_inner_upper = part.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    if !has_inner_upper && !is_name {
        output.word(part);
        return;
    }
    output.name(part);
    if !has_inner_upper
        || is_plural_acronym(part)
        || !part.bytes().any(|byte| byte.is_ascii_lowercase())
    {
        return;
    }
    let humps: Vec<&str> = humps(part).collect();
    let all_are_words = humps.iter().all(|hump| hump.len() > 1);
    for hump in humps
        .iter()
        .filter(|hump| hump.len() < part.len() && (hump.len() > 2 || all_are_words))
    {
        output.name(hump);
    }
}

fn is_joiner(character: char) -> bool {
    matches!(character, '_' | '.' | '-' | '/')
}

/// `APIs`, `gNodeBs`: the last letter is no hump.
fn is_plural_acronym(part: &str) -> bool {
    part.len() > 2
        && part
            .strip_suffix('s')
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_uppercase()))
}

/// Splits `HTTPServerError5` into `HTTP`, `Server`, `Error5`.
fn humps(part: &str) -> impl Iterator<Item = &str> {
    let mut rest = part;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let is_border = |index: usize| {
            let (before, here) = (bytes.get(index - 1), bytes.get(index));
            let next_is_lower = bytes.get(index + 1).is_some_and(u8::is_ascii_lowercase);
            here.is_some_and(u8::is_ascii_uppercase)
                && before.is_some_and(|before| !before.is_ascii_uppercase() || next_is_lower)
        };
        let length = (1..bytes.len())
            .find(|index| is_border(*index))
            .unwrap_or(bytes.len());
        let (hump, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(hump)
    })
}
