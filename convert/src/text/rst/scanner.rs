//! A run of text that inline markup is read from, and the Markdown that is written of it.

use super::source::character_width;
use crate::escape::{code_span, is_invisible, needs_escape};

/// Longest name of a role or of a reference without quotes, in characters.
pub(super) const MAXIMUM_NAME: usize = 80;

/// One run of text.
pub(super) struct Scanner {
    pub(super) characters: Vec<char>,
    pub(super) at: usize,
    pub(super) out: String,
    /// Marks without an end further on.
    pub(super) endless: Vec<&'static str>,
}

impl Scanner {
    /// Takes a bare address; punctuation at its end is none of it.
    pub(super) fn address(&mut self) {
        let is_address = |character: &char| {
            !character.is_whitespace()
                && !matches!(character, '<' | '>' | '"' | '`')
                && character_width(*character) == 1
        };
        let address: String = self.rest().take_while(is_address).collect();
        let end = address.trim_end_matches(['.', ',', ';', ':', ')', '\'', '!', '?']);
        self.at += end.chars().count();
        self.push_ready(end);
    }

    /// Takes the first letters of a word without markup at once, so that they are not looked at
    /// again.
    pub(super) fn letters(&mut self, word: &str) {
        let width = word.chars().next().map_or(1, character_width);
        let letters = word
            .chars()
            .take_while(|letter| letter.is_alphanumeric() && character_width(*letter) == width);
        letters.for_each(|letter| self.plain(letter));
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    /// How many of the next two characters are underscores, which make a reference.
    pub(super) fn underscores(&self) -> usize {
        (0..2)
            .take_while(|ahead| self.peek(*ahead) == Some('_'))
            .count()
    }

    /// The role behind what was just read, which is then read too.
    pub(super) fn take_role(&mut self) -> Option<String> {
        let after = self.role_at(self.at)?;
        // `x`:role: has nothing behind; `x`:y:`z` is a role that follows.
        let end = self.at + after.chars().count() + 2;
        (self.characters.get(end) != Some(&'`')).then(|| {
            self.at = end;
            after
        })
    }

    pub(super) fn rest(&self) -> impl Iterator<Item = char> + '_ {
        self.characters
            .get(self.at..)
            .unwrap_or_default()
            .iter()
            .copied()
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(ahead, character)| self.peek(ahead) == Some(character))
    }

    /// Markup begins after anything but a letter or digit of a language with spaces.
    pub(super) fn may_start(&self) -> bool {
        let previous = self
            .at
            .checked_sub(1)
            .and_then(|before| self.characters.get(before));
        let is_escaped = self.at >= 2 && previous == Some(&'\\');
        previous
            .is_none_or(|previous| !previous.is_alphanumeric() || character_width(*previous) == 2)
            && !is_escaped
    }

    /// Writes one character of text and moves on; a backslash gives the next character as it is.
    pub(super) fn plain(&mut self, character: char) {
        self.at += 1;
        match character {
            '\\' => match self.peek(0) {
                Some(next) if next.is_whitespace() => self.at += 1,
                Some(next) => {
                    self.at += 1;
                    self.push_text(next);
                }
                None => {}
            },
            '\n' => self.line_end(),
            other if other.is_whitespace() => {
                if !self.out.ends_with([' ', '\n']) {
                    self.out.push(' ');
                }
            }
            other => self.push_text(other),
        }
    }

    pub(super) fn line_end(&mut self) {
        let previous = self.out.chars().next_back();
        let next = self.rest().find(|next| !next.is_whitespace());
        let joins = |character: Option<char>| {
            character.is_some_and(|character| character_width(character) == 2)
        };
        let is_inside = joins(previous) && joins(next);
        if !is_inside && !self.out.ends_with(' ') {
            self.out.push(' ');
        }
    }

    pub(super) fn push_text(&mut self, character: char) {
        if is_invisible(character) {
            return;
        }
        if needs_escape(character, self.out.chars().next_back(), self.peek(0), false) {
            self.out.push('\\');
        }
        self.out.push(character);
    }

    pub(super) fn push_ready(&mut self, markdown: &str) {
        self.out.push_str(markdown);
    }

    /// ``literal``, as it is.
    pub(super) fn literal(&mut self) -> bool {
        let Some(raw) = self.take_until("``", 2) else {
            return false;
        };
        let span = code_span(&raw);
        self.push_ready(&span);
        true
    }

    /// The text up to the closing mark, which is taken too; `None` if there is none.
    pub(super) fn take_until(&mut self, mark: &'static str, opening: usize) -> Option<String> {
        if self.endless.contains(&mark) {
            return None;
        }
        let start = self.at + opening;
        let first = self.characters.get(start)?;
        if first.is_whitespace() && mark != "``" {
            return None;
        }
        let is_literal = mark == "``";
        let mut end = start;
        loop {
            let character = *self.characters.get(end).or_else(|| {
                self.endless.push(mark);
                None
            })?;
            if character == '\\' && !is_literal {
                end += 2;
                continue;
            }
            if end > start && self.closes(mark, end) {
                break;
            }
            end += 1;
        }
        self.at = end + mark.len();
        self.characters
            .get(start..end)
            .map(|text| text.iter().collect())
    }

    pub(super) fn closes(&self, mark: &str, end: usize) -> bool {
        let is_mark = mark
            .chars()
            .enumerate()
            .all(|(ahead, character)| self.characters.get(end + ahead) == Some(&character));
        let before = end
            .checked_sub(1)
            .and_then(|before| self.characters.get(before));
        let after = self.characters.get(end + mark.len());
        let runs_on = match mark {
            "`" | "|" => false,
            // Of three backquotes the last two close.
            "``" => after == Some(&'`'),
            "*" => {
                after.is_some_and(|next| next.is_ascii_alphanumeric() || *next == '*')
                    || before == Some(&'*')
            }
            _ => after.is_some_and(|next| next.is_ascii_alphanumeric()),
        };
        is_mark
            && !runs_on
            && (mark == "``" || before.is_some_and(|before| !before.is_whitespace()))
    }

    /// The name in `:name:` at a place.
    pub(super) fn role_at(&self, at: usize) -> Option<String> {
        let name: String = self
            .characters
            .get(at + 1..)?
            .iter()
            .take(MAXIMUM_NAME)
            .take_while(|character| {
                character.is_ascii_alphanumeric()
                    || matches!(character, ':' | '-' | '_' | '+' | '.')
            })
            .collect();
        let name = name.strip_suffix(':')?;
        let is_name = self.characters.get(at) == Some(&':')
            && name.starts_with(|first: char| first.is_ascii_alphabetic());
        is_name.then(|| name.to_owned())
    }
}
