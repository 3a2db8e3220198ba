//! Writes the pieces of a paragraph as Markdown: white space, escapes, marks that are read as
//! marks.

use super::inline::{Look, Position};
use crate::escape::{code_span, destination, is_invisible, needs_escape};
use crate::positions;

/// White space that is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// A blank.
    Blank,
    /// A line break; a blank in headings.
    Break,
}

/// Markdown of one paragraph under construction.
#[derive(Default)]
pub(super) struct Writer {
    out: String,
    space: Option<Space>,
    is_heading: bool,
    /// Target of the open link and where its bracket stands; the bracket is written with the first
    /// text.
    link: Option<(String, Option<usize>)>,
}

impl Writer {
    /// For headings: on one line, without emphasis and links.
    pub(super) fn for_heading() -> Self {
        Self {
            is_heading: true,
            ..Self::default()
        }
    }

    /// The Markdown.
    pub(super) fn finish(mut self) -> String {
        self.close_link();
        self.out
    }

    /// White space is due before what comes next.
    pub(super) fn owe(&mut self, space: Space) {
        if !self.out.is_empty() && self.space != Some(Space::Break) {
            self.space = Some(if self.is_heading { Space::Blank } else { space });
        }
    }

    /// Writes owed white space and an owed bracket.
    fn settle(&mut self) {
        match self.space.take() {
            Some(Space::Break) => self.out.push('\n'),
            Some(Space::Blank) if !self.out.ends_with('\u{C}') => self.out.push(' '),
            _ => {}
        }
        if let Some((_, place @ None)) = &mut self.link {
            *place = Some(self.out.len());
            self.out.push('[');
        }
    }

    /// Adds ready Markdown.
    pub(super) fn raw(&mut self, markdown: &str) {
        if self.out.ends_with('$') && markdown.starts_with('$') {
            self.owe(Space::Blank);
        }
        self.settle();
        self.out.push_str(markdown);
    }

    /// Adds a page break.
    pub(super) fn page(&mut self) {
        if self.space.take().is_some() {
            self.out.push(' ');
        }
        self.out.push('\u{C}');
    }

    /// A link begins, unless one is open.
    pub(super) fn open_link(&mut self, target: &str) {
        if self.link.is_none() && !self.is_heading && !target.is_empty() {
            self.link = Some((target.to_owned(), None));
        }
    }

    /// The open link ends; one without text vanishes.
    pub(super) fn close_link(&mut self) {
        if let Some((target, Some(_))) = self.link.take() {
            self.out.push_str("](");
            self.out.push_str(&destination(&target));
            self.out.push(')');
        }
    }

    /// Text with its marks, which hug it and are left out where they would not be read as marks.
    pub(super) fn styled(&mut self, text: &str, look: Look, next: Option<char>) {
        let core = text
            .trim_matches(|character: char| character.is_whitespace() || is_invisible(character));
        let (Some(first), Some(last)) = (core.chars().next(), core.chars().next_back()) else {
            return self.blanks(text);
        };
        let is_framed = |text: &str, inner: char, at_start: bool| {
            let outer = if at_start {
                text.chars().next()
            } else {
                text.chars().next_back()
            };
            outer.is_some_and(|outer| outer != inner && outer.is_whitespace())
        };
        if is_framed(text, first, true) {
            self.owe(Space::Blank);
        }
        let previous = if self.space.is_some() {
            Some(' ')
        } else {
            self.out.chars().next_back()
        };
        let following = if is_framed(text, last, false) {
            Some(' ')
        } else {
            next
        };
        let marks = if self.is_heading { "" } else { marks(look) };
        let fits =
            look.position == Position::Normal && opens(previous, first) && opens(following, last);
        if look.code && !self.is_heading {
            self.code(core);
        } else if !marks.is_empty() && fits && !core.contains('\n') {
            self.settle();
            self.out.push_str(marks);
            self.escaped(core);
            self.settle();
            self.out.extend(marks.chars().rev());
        } else {
            self.escaped(&positioned(core, look.position));
        }
        if is_framed(text, last, false) {
            self.owe(Space::Blank);
        }
    }

    fn blanks(&mut self, text: &str) {
        if text.contains(char::is_whitespace) {
            self.owe(Space::Blank);
        }
    }

    fn escaped(&mut self, text: &str) {
        let mut characters = text
            .chars()
            .filter(|character| character.is_whitespace() || !is_invisible(*character))
            .peekable();
        while let Some(character) = characters.next() {
            if character.is_whitespace() {
                self.owe(Space::Blank);
                continue;
            }
            let previous = if self.space.is_some() {
                Some(' ')
            } else {
                self.out.chars().next_back()
            };
            let next = characters.peek().copied();
            self.settle();
            if needs_escape(character, previous, next, self.link.is_some())
                && !is_fill_in(character, previous, next)
            {
                self.out.push('\\');
            }
            self.out.push(character);
        }
    }

    fn code(&mut self, code: &str) {
        self.settle();
        self.out.push_str(&code_span(code));
    }
}

fn marks(look: Look) -> &'static str {
    match (look.strike, look.bold, look.italic) {
        (false, false, false) => "",
        (false, true, false) => "**",
        (false, false, true) => "*",
        (false, true, true) => "***",
        (true, false, false) => "~~",
        (true, true, false) => "~~**",
        (true, false, true) => "~~*",
        (true, true, true) => "~~***",
    }
}

/// Whether a mark between these two characters opens (or, mirrored, closes) by CommonMark's
/// flanking rule.
fn opens(outside: Option<char>, inside: char) -> bool {
    let is_open = outside.is_none_or(|outside| outside.is_whitespace() || is_punctuation(outside));
    !matches!(outside, Some('*' | '~')) && (is_open || !is_punctuation(inside))
}

fn is_punctuation(character: char) -> bool {
    !character.is_alphanumeric() && !character.is_whitespace()
}

/// Raised and lowered text as the characters of that kind, where all of it has them.
fn positioned(text: &str, position: Position) -> String {
    match position {
        Position::Normal => text.to_owned(),
        Position::Raised => positions::raised(text),
        Position::Lowered => positions::lowered(text),
    }
}

/// A line to be written on, of which forms are full; alone among blanks it marks nothing.
fn is_fill_in(character: char, previous: Option<char>, next: Option<char>) -> bool {
    let is_open =
        |neighbour: Option<char>| neighbour.is_none_or(|it| it.is_whitespace() || it == '_');
    character == '_' && is_open(previous) && is_open(next)
}
