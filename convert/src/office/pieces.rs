//! Runs of formatted text to the Markdown of one paragraph: white space, escapes, emphasis, links.
//! Runs of office documents are cut anywhere, so neighbours of one style are joined first.

use std::rc::Rc;

use crate::escape::{destination, is_invisible, needs_escape};
use crate::links::is_place;

/// How a run looks, as far as Markdown can say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Heavy type.
    pub is_bold: bool,
    /// Slanted type.
    pub is_italic: bool,
    /// Crossed out.
    pub is_struck: bool,
    /// Where a click leads.
    pub link: Option<Rc<str>>,
}

/// A piece of a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text as it is read; white space of any kind is one blank.
    Text(String, Style),
    /// Ready Markdown: a formula, an image, a footnote mark.
    Markdown(String),
    /// A line end within the paragraph.
    Break,
}

impl Piece {
    /// Text without any style.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::Text(text.into(), Style::default())
    }
}

/// The paragraph's Markdown, trimmed; line ends within it are `\n`.
pub(crate) fn to_markdown(pieces: &[Piece]) -> String {
    write(pieces, true)
}

/// The same without emphasis and links, on one line: for headings, titles and the names of tables.
pub(crate) fn to_plain_line(pieces: &[Piece]) -> String {
    write(pieces, false).replace('\n', " ")
}

fn write(pieces: &[Piece], is_styled: bool) -> String {
    let mut writer = Writer::default();
    // A link's pieces are one link, however they are styled.
    for group in pieces.chunk_by(|piece, next| link_of(piece) == link_of(next)) {
        match group
            .first()
            .and_then(link_of)
            .filter(|link| is_styled && is_place(link) && !link.contains(char::is_control))
        {
            Some(link) => writer.link(group, link),
            None => writer.pieces(group, is_styled),
        }
    }
    writer.out
}

fn link_of(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Text(_, style) => style.link.as_deref(),
        Piece::Markdown(_) | Piece::Break => None,
    }
}

/// Blank runs take the style of what stands before them: Word and PowerPoint style them at random.
fn is_same_style(piece: &Piece, style: &Style) -> bool {
    matches!(piece, Piece::Text(text, next) if next == style || (text.trim().is_empty() && next.link.is_none() && style.link.is_none()))
}

fn first_character(piece: &Piece) -> Option<char> {
    match piece {
        Piece::Text(text, _) | Piece::Markdown(text) => text.chars().next(),
        Piece::Break => Some('\n'),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owed {
    Blank,
    Break,
}

/// White space is held back until text follows, so that none stands at the ends or inside marks.
#[derive(Default)]
struct Writer {
    out: String,
    owed: Option<Owed>,
    in_link: bool,
}

impl Writer {
    fn owe(&mut self, owed: Owed) {
        if !self.out.is_empty() && self.owed != Some(Owed::Break) {
            self.owed = Some(owed);
        }
    }

    fn settle(&mut self) {
        match self.owed.take() {
            Some(Owed::Break) => self.out.push('\n'),
            Some(Owed::Blank) => self.out.push(' '),
            None => {}
        }
    }

    fn pieces(&mut self, pieces: &[Piece], is_styled: bool) {
        let mut index = 0;
        while let Some(piece) = pieces.get(index) {
            index += 1;
            match piece {
                Piece::Break => self.owe(Owed::Break),
                Piece::Markdown(markdown) => self.markdown(markdown),
                Piece::Text(text, _) if !is_styled => self.text(text),
                Piece::Text(text, style) => {
                    let mut joined = text.clone();
                    while let Some(Piece::Text(next, _)) =
                        pieces.get(index).filter(|next| is_same_style(next, style))
                    {
                        joined.push_str(next);
                        index += 1;
                    }
                    let next = pieces.get(index).and_then(first_character);
                    self.styled(&joined, style, next);
                }
            }
        }
    }

    /// Pieces of one link: its white space stands outside.
    fn link(&mut self, pieces: &[Piece], link: &str) {
        let mut inner = Self {
            in_link: true,
            ..Self::default()
        };
        inner.pieces(pieces, true);
        if inner.out.is_empty() {
            self.pieces(pieces, false);
            return;
        }
        if pieces
            .first()
            .is_some_and(|piece| first_character(piece).is_some_and(char::is_whitespace))
        {
            self.owe(Owed::Blank);
        }
        self.settle();
        self.out.push_str(&format!(
            "[{}]({})",
            inner.out.replace('\n', " "),
            destination(link)
        ));
        if inner.owed.is_some() {
            self.owe(Owed::Blank);
        }
    }

    fn markdown(&mut self, markdown: &str) {
        if !markdown.is_empty() {
            self.settle();
            self.out.push_str(markdown);
        }
    }

    fn text(&mut self, text: &str) {
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\n' | '\u{B}' => self.owe(Owed::Break),
                _ if character.is_whitespace() => self.owe(Owed::Blank),
                _ if is_invisible(character) => {}
                _ => {
                    self.settle();
                    if needs_escape(
                        character,
                        self.out.chars().next_back(),
                        characters.peek().copied(),
                        self.in_link,
                    ) {
                        self.out.push('\\');
                    }
                    self.out.push(character);
                }
            }
        }
    }

    /// Text between its marks, if Markdown would read them as marks.
    fn styled(&mut self, text: &str, style: &Style, next: Option<char>) {
        let content = text
            .trim_matches(|character: char| character.is_whitespace() || is_invisible(character));
        if content.is_empty() {
            self.text(text);
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.text(
                &text
                    .chars()
                    .take_while(|character| character.is_whitespace())
                    .collect::<String>(),
            );
        }
        self.settle();
        let trails = text.ends_with(char::is_whitespace);
        let mark = mark_of(
            style,
            content,
            self.out.chars().next_back(),
            if trails { Some(' ') } else { next },
        );
        self.out.push_str(mark);
        self.text(content);
        self.out.extend(mark.chars().rev());
        if trails {
            self.owe(owed_after(text));
        }
    }
}

/// What stands between text that ends with blanks and what follows it.
fn owed_after(text: &str) -> Owed {
    let text = text.trim_end_matches([' ', '\t']);
    if text.ends_with(['\n', '\u{B}']) {
        Owed::Break
    } else {
        Owed::Blank
    }
}

/// The marks of a style, none where Markdown would read them as text: punctuation inside, a letter
/// outside.
fn mark_of(
    style: &Style,
    content: &str,
    previous: Option<char>,
    next: Option<char>,
) -> &'static str {
    let is_letter = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
    let is_mark = |inside: Option<char>| inside.is_some_and(|inside| !inside.is_alphanumeric());
    let has_letters = content.chars().any(char::is_alphanumeric);
    // Marks side by side run into each other.
    let touches = matches!(previous, Some('*' | '~'));
    let opens = !(is_letter(previous) && is_mark(content.chars().next()));
    let closes = !(is_letter(next) && is_mark(content.chars().next_back()));
    if !has_letters || !opens || !closes || touches || content.contains(['\n', '\u{B}']) {
        return "";
    }
    mark(style)
}

fn mark(style: &Style) -> &'static str {
    match (style.is_struck, style.is_bold, style.is_italic) {
        (true, _, _) => "~~",
        (_, true, true) => "***",
        (_, true, _) => "**",
        (_, _, true) => "*",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bold(text: &str) -> Piece {
        Piece::Text(
            text.to_owned(),
            Style {
                is_bold: true,
                ..Style::default()
            },
        )
    }

    #[test]
    fn runs_of_one_style_are_joined_and_blanks_stand_outside() {
        assert_eq!(
            to_markdown(&[Piece::plain("a"), bold(" b"), bold("c "), Piece::plain("d")]),
            "a **bc** d"
        );
        assert_eq!(
            to_markdown(&[bold("x"), Piece::plain(" "), bold("y")]),
            "**x y**"
        );
        assert_eq!(
            to_markdown(&[
                Piece::plain(" a\t\u{A0}b "),
                Piece::Break,
                Piece::plain("c")
            ]),
            "a b\nc"
        );
        assert_eq!(to_plain_line(&[bold("a"), Piece::Break, bold("b")]), "a b");
    }

    #[test]
    fn marks_that_markdown_would_not_read_are_left_out() {
        assert_eq!(
            to_markdown(&[bold("注意:"), Piece::plain("后文")]),
            "注意:后文"
        );
        assert_eq!(
            to_markdown(&[bold("注意"), Piece::plain(":后文")]),
            "**注意**:后文"
        );
        assert_eq!(to_markdown(&[bold("--")]), "--");
    }

    #[test]
    fn links_and_escapes() {
        let link = Style {
            link: Some("https://a.b/c d".into()),
            ..Style::default()
        };
        assert_eq!(
            to_markdown(&[Piece::Text("x[1] ".into(), link), Piece::plain("y")]),
            "[x\\[1\\]](<https://a.b/c d>) y"
        );
        let code = Style {
            link: Some("javascript:alert(1)".into()),
            ..Style::default()
        };
        assert_eq!(to_markdown(&[Piece::Text("x".into(), code)]), "x");
        let link = |is_bold| Style {
            is_bold,
            link: Some("u".into()),
            ..Style::default()
        };
        let parts = [
            Piece::plain("a"),
            Piece::Text(" b".into(), link(true)),
            Piece::Text(" c ".into(), link(false)),
            Piece::plain("d"),
        ];
        assert_eq!(to_markdown(&parts), "a [**b** c](u) d");
        assert_eq!(
            to_markdown(&[Piece::plain("*a* snake_case 2 * 3 <b>")]),
            "\\*a\\* snake_case 2 * 3 \\<b>"
        );
    }
}
