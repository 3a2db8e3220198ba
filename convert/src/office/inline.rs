//! A paragraph's text, collected piece by piece and written as Markdown once: white space, escapes,
//! emphasis, links, page breaks.

use super::inline_writer::{Space, Writer};
use crate::blanks::collapsed;
use crate::escape::is_invisible;
use crate::links::is_place;

/// Raised or lowered text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Position {
    /// On the line.
    #[default]
    Normal,
    /// Superscript.
    Raised,
    /// Subscript.
    Lowered,
}

/// How text looks, as far as Markdown can say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Bold.
    pub bold: bool,
    /// Italic.
    pub italic: bool,
    /// Struck through.
    pub strike: bool,
    /// Code.
    pub code: bool,
    /// Super- or subscript.
    pub position: Position,
}

/// A part of a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String, Look),
    /// A line break.
    Break,
    /// Ready Markdown.
    Raw(String),
    OpenLink(String),
    CloseLink,
    /// A page begins here.
    Page,
}

/// A paragraph's text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inline {
    pieces: Vec<Piece>,
}

impl Inline {
    /// Adds text as it stands in the document.
    pub(crate) fn text(&mut self, text: &str, look: Look) {
        if let Some(Piece::Text(last, last_look)) = self.pieces.last_mut()
            && (*last_look == look || text.trim().is_empty())
        {
            last.push_str(text);
            return;
        }
        if !text.is_empty() {
            self.pieces.push(Piece::Text(text.to_owned(), look));
        }
    }

    /// Adds ready Markdown.
    pub(crate) fn raw(&mut self, markdown: String) {
        self.pieces.push(Piece::Raw(markdown));
    }

    /// Adds a line break.
    pub(crate) fn line_break(&mut self) {
        self.pieces.push(Piece::Break);
    }

    /// A page begins here.
    pub(crate) fn page(&mut self) {
        self.pieces.push(Piece::Page);
    }

    /// A link begins; its text follows. Anchors, scripts and data are no links.
    pub(crate) fn open_link(&mut self, target: &str) {
        let target = target.trim();
        self.pieces.push(Piece::OpenLink(if is_place(target) {
            target.to_owned()
        } else {
            String::new()
        }));
    }

    /// The link that was opened last ends.
    pub(crate) fn close_link(&mut self) {
        self.pieces.push(Piece::CloseLink);
    }

    /// Adds all of another paragraph.
    pub(crate) fn append(&mut self, other: Inline) {
        self.pieces.extend(other.pieces);
    }

    /// Whether there is nothing to read in it.
    pub(crate) fn is_blank(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Text(text, _) => text
                .chars()
                .all(|character| character.is_whitespace() || is_invisible(character)),
            Piece::Raw(_) => false,
            _ => true,
        })
    }

    /// Takes the page breaks off that stand before the first and after the last thing to read; a
    /// blank paragraph's are all before it.
    pub(crate) fn take_outer_pages(&mut self) -> (usize, usize) {
        let is_readable = |piece: &Piece| match piece {
            Piece::Text(text, _) => !text.trim().is_empty(),
            piece => matches!(piece, Piece::Raw(_)),
        };
        let first = self
            .pieces
            .iter()
            .position(is_readable)
            .unwrap_or(self.pieces.len());
        let last = self
            .pieces
            .iter()
            .rposition(is_readable)
            .unwrap_or(self.pieces.len());
        let (mut before, mut after, mut at) = (0, 0, 0);
        self.pieces.retain(|piece| {
            let is_page = *piece == Piece::Page;
            let (is_before, is_after) = (at < first, at > last);
            before += usize::from(is_page && is_before);
            after += usize::from(is_page && is_after);
            at += 1;
            !(is_page && (is_before || is_after))
        });
        (before, after)
    }

    /// Takes all page breaks off; for headings and code, in which none may stand.
    pub(crate) fn take_pages(&mut self) -> usize {
        let before = self.pieces.len();
        self.pieces.retain(|piece| *piece != Piece::Page);
        before - self.pieces.len()
    }

    /// The text without marks, line breaks kept; for code.
    pub(crate) fn plain(&self) -> String {
        let mut plain = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text, _) => plain.extend(
                    text.chars()
                        .filter(|character| *character == '\t' || !is_invisible(*character)),
                ),
                Piece::Break => plain.push('\n'),
                Piece::Raw(raw) => plain.push_str(raw),
                Piece::OpenLink(_) | Piece::CloseLink | Piece::Page => {}
            }
        }
        plain
    }

    /// The text alone on one line: no marks, pictures, formulas and notes; for titles.
    pub(crate) fn title(&self) -> String {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text, _) => text.as_str(),
            Piece::Break => " ",
            _ => "",
        });
        let text: String = texts.collect();
        let text: String = text
            .chars()
            .filter(|character| character.is_whitespace() || !is_invisible(*character))
            .collect();
        collapsed(&text)
    }

    /// Whether all readable text is code.
    pub(crate) fn is_all_code(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Text(text, look) => look.code || text.trim().is_empty(),
            Piece::Raw(_) => false,
            _ => true,
        })
    }

    /// Takes the code look off; for paragraphs that are set in a code font throughout.
    pub(crate) fn forget_code(&mut self) {
        for piece in &mut self.pieces {
            if let Piece::Text(_, look) = piece {
                look.code = false;
            }
        }
    }

    /// The paragraph as Markdown.
    pub(crate) fn markdown(&self) -> String {
        self.written(Writer::default())
    }

    /// The same on one line without emphasis and links, for headings.
    pub(crate) fn heading(&self) -> String {
        self.written(Writer::for_heading())
    }

    fn written(&self, mut writer: Writer) -> String {
        for (index, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Text(text, look) => {
                    writer.styled(text, *look, self.next_character(index + 1))
                }
                Piece::Raw(markdown) => writer.raw(markdown),
                Piece::Break => writer.owe(Space::Break),
                Piece::Page => writer.page(),
                Piece::OpenLink(target) => writer.open_link(target),
                Piece::CloseLink => writer.close_link(),
            }
        }
        writer.finish()
    }

    /// The character that follows, a blank for what is no text.
    fn next_character(&self, from: usize) -> Option<char> {
        match self.pieces.get(from)? {
            Piece::Text(text, _) => text.chars().next(),
            Piece::Raw(_) => Some('$'),
            _ => Some(' '),
        }
    }
}

#[cfg(test)]
#[path = "inline_tests.rs"]
mod tests;
