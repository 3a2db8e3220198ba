//! Fields: which text is an instruction, which a result, and what the instruction means.

use crate::office::eq_field::{Shown, shown};
use crate::office::symbol_fonts;

/// Longest instruction in bytes that is kept.
const MAXIMUM_INSTRUCTION_BYTES: usize = 64 * 1024;

/// Deepest nesting of fields; deeper ones show all their text.
const MAXIMUM_DEPTH: usize = 64;

/// What a field means for the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Its result is text.
    Result,
    /// Its result is a link to that address.
    Link(String),
    /// Its result is a table of contents or an index.
    Contents,
    /// It has no result, but shows this text.
    Text(String),
    /// It has no result, but shows this formula.
    Formula(String),
}

/// A field that is open.
#[derive(Clone, Debug, Default)]
struct Field {
    instruction: String,
    in_result: bool,
    /// Number of the table of contents that it is.
    contents: Option<usize>,
    is_link: bool,
    /// What a form field shows instead of a result.
    form: Option<String>,
}

/// What the end of a field asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Nothing.
    Nothing,
    /// The link ends.
    CloseLink,
    /// Text or a formula that has no result of its own.
    Show(Meaning),
}

/// The open fields of a part.
#[derive(Debug, Default)]
pub(super) struct Fields {
    open: Vec<Field>,
    too_deep: usize,
    contents_begun: usize,
    /// Tables of contents that came to their end.
    pub contents_ended: Vec<usize>,
}

impl Fields {
    /// A field begins.
    pub(super) fn begin(&mut self) {
        if self.open.len() < MAXIMUM_DEPTH {
            self.open.push(Field::default());
        } else {
            self.too_deep += 1;
        }
    }

    /// Adds to the instruction of the innermost field.
    pub(super) fn instruction(&mut self, text: &str) {
        if let Some(field) = self
            .open
            .last_mut()
            .filter(|field| !field.in_result && field.instruction.len() < MAXIMUM_INSTRUCTION_BYTES)
        {
            field.instruction.push_str(text);
        }
    }

    /// What the form field that has just begun shows.
    pub(super) fn form(&mut self, text: String) {
        if let Some(field) = self.open.last_mut() {
            field.form = Some(text);
        }
    }

    /// The result of the innermost field begins; the address if it is a link.
    pub(super) fn separate(&mut self) -> Option<String> {
        if self.too_deep > 0 {
            return None;
        }
        let field = self.open.last_mut()?;
        field.in_result = true;
        match meaning(&field.instruction) {
            Meaning::Link(address) => {
                field.is_link = true;
                return Some(address);
            }
            Meaning::Contents => {
                field.contents = Some(self.contents_begun);
                self.contents_begun += 1;
            }
            _ => {}
        }
        None
    }

    /// The innermost field ends.
    pub(super) fn end(&mut self) -> Ending {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return Ending::Nothing;
        }
        let Some(field) = self.open.pop() else {
            return Ending::Nothing;
        };
        self.contents_ended.extend(field.contents);
        if field.is_link {
            return Ending::CloseLink;
        }
        if let Some(form) = field.form.filter(|_| self.shows_text()) {
            return Ending::Show(Meaning::Text(form));
        }
        match meaning(&field.instruction) {
            shown @ (Meaning::Text(_) | Meaning::Formula(_))
                if !field.in_result && self.shows_text() =>
            {
                Ending::Show(shown)
            }
            _ => Ending::Nothing,
        }
    }

    /// Whether text here is a result and not an instruction.
    pub(super) fn shows_text(&self) -> bool {
        self.open.iter().all(|field| field.in_result)
    }

    /// The outermost table of contents that text here is in.
    pub(super) fn contents(&self) -> Option<usize> {
        self.open.iter().find_map(|field| field.contents)
    }

    /// A paragraph ends: an instruction that is still open has lost its result, so what follows is
    /// text.
    pub(super) fn end_paragraph(&mut self) {
        for field in &mut self.open {
            field.in_result = true;
        }
    }
}

/// What an instruction means.
pub(super) fn meaning(instruction: &str) -> Meaning {
    let instruction = instruction.trim();
    let (name, rest) = instruction
        .split_once([' ', '\\', '\u{A0}'])
        .unwrap_or((instruction, ""));
    match name.to_ascii_uppercase().as_str() {
        "HYPERLINK" => link(rest).map_or(Meaning::Result, Meaning::Link),
        "TOC" | "INDEX" | "TOA" => Meaning::Contents,
        "SYMBOL" => symbol(rest).map_or(Meaning::Result, Meaning::Text),
        "EQ" => match instruction.get(2..).and_then(shown) {
            Some(Shown::Text(text)) => Meaning::Text(text),
            Some(Shown::Formula(latex)) => Meaning::Formula(latex),
            None => Meaning::Result,
        },
        _ => Meaning::Result,
    }
}

/// The address in the arguments of a link; a place within the document is none.
fn link(arguments: &str) -> Option<String> {
    let arguments = arguments.trim();
    if arguments.starts_with("\\l") {
        return None;
    }
    let address = match arguments.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => arguments.split_whitespace().next()?,
    };
    (!address.is_empty() && !address.starts_with('\\')).then(|| address.replace("\\\\", "\\"))
}

/// The character in the arguments of a symbol, such as `183 \f "Symbol"`.
fn symbol(arguments: &str) -> Option<String> {
    let mut words = arguments.split_whitespace();
    let code = words.next()?;
    let code = match code.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => code.parse().ok()?,
    };
    let font = arguments
        .split_once("\\f")
        .map_or("", |(_, font)| font.trim_start());
    let font = match font.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default(),
        None => font.split_whitespace().next().unwrap_or_default(),
    };
    symbol_fonts::character(font, code).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_understood() {
        assert_eq!(
            meaning(" HYPERLINK \"http://h/a b\" \\o \"tip\" "),
            Meaning::Link("http://h/a b".into())
        );
        assert_eq!(meaning("HYPERLINK \\l \"_Toc1\""), Meaning::Result);
        assert_eq!(meaning("TOC \\o \"1-3\""), Meaning::Contents);
        assert_eq!(
            meaning("SYMBOL 183 \\f \"Symbol\" \\s 10"),
            Meaning::Text("•".into())
        );
        assert_eq!(
            meaning("eq \\f(1,2)"),
            Meaning::Formula("\\frac{1}{2}".into())
        );
        assert_eq!(meaning("REF _Ref1 \\h"), Meaning::Result);
    }

    #[test]
    fn instructions_without_an_end_hide_one_paragraph_only() {
        let mut fields = Fields::default();
        fields.begin();
        fields.instruction("PAGE");
        assert!(!fields.shows_text());
        fields.end_paragraph();
        assert!(fields.shows_text());
    }

    #[test]
    fn deep_nesting_is_counted() {
        let mut fields = Fields::default();
        (0..1000).for_each(|_| fields.begin());
        (0..1000).for_each(|_| assert_eq!(fields.end(), Ending::Nothing));
        assert!(fields.open.is_empty() && fields.too_deep == 0);
    }
}
