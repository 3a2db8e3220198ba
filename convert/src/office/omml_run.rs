//! Text of formulas as LaTeX: runs in their styles, character by character.

use tributary_schemas::Result;

use super::omml_symbols::{accent, function_name, symbol};
use super::symbol_fonts;
use super::xml::{Element, XmlReader};

/// LaTeX under construction.
#[derive(Default)]
pub(super) struct Latex {
    /// What is written.
    pub(super) out: String,
}

impl Latex {
    /// Appends, with a blank where a command would run into a letter.
    pub(super) fn push(&mut self, piece: &str) {
        if piece.starts_with(|first: char| first.is_ascii_alphabetic())
            && ends_with_command(&self.out)
        {
            self.out.push(' ');
        }
        self.out.push_str(piece);
    }

    /// The LaTeX, trimmed.
    pub(super) fn finish(self) -> String {
        self.out.trim().to_owned()
    }
}

fn ends_with_command(latex: &str) -> bool {
    let before = latex.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    before.len() < latex.len() && before.ends_with('\\') && !before.ends_with("\\\\")
}

/// A run: text in the style that its properties name.
pub(super) fn run(xml: &mut XmlReader) -> Result<String> {
    let mut style = RunStyle::default();
    let mut latex = Latex::default();
    while let Some(element) = xml.child()? {
        match element.name() {
            "rPr" => style.read(xml)?,
            "t" => latex.push(&style.text(&xml.text()?)),
            "br" => {
                latex.push("\\\\ ");
                xml.skip()?;
            }
            "sym" => {
                if let Some(character) = symbol_of_font(&element) {
                    latex.push(&style.text(&character.to_string()));
                }
                xml.skip()?;
            }
            _ => xml.skip()?,
        }
    }
    Ok(latex.out)
}

/// The character that a symbol font shows for a code.
fn symbol_of_font(element: &Element) -> Option<char> {
    let font = element.attribute("font").unwrap_or_default();
    let code = u32::from_str_radix(&element.attribute("char")?, 16).ok()?;
    symbol_fonts::character(&font, code)
}

#[derive(Default)]
struct RunStyle {
    is_normal: bool,
    script: Option<String>,
    style: Option<String>,
}

impl RunStyle {
    fn read(&mut self, xml: &mut XmlReader) -> Result<()> {
        while let Some(element) = xml.child()? {
            match element.name() {
                "nor" => self.is_normal = element.is_on(),
                "scr" => self.script = element.value().map(|value| value.into_owned()),
                "sty" => self.style = element.value().map(|value| value.into_owned()),
                _ => {}
            }
            xml.skip()?;
        }
        Ok(())
    }

    fn text(&self, text: &str) -> String {
        if self.is_normal {
            return normal_text(text);
        }
        let plain = text.trim();
        if let Some(name) = function_name(plain) {
            return format!("{name} ");
        }
        let latex = symbols(text);
        let Some(command) = self.command(plain) else {
            return latex;
        };
        if !plain.chars().any(char::is_alphanumeric) || latex.contains('&') {
            return latex;
        }
        format!("{command}{{{}}}", latex.trim())
    }

    /// The command that sets text in this style, if it is not that of all formulas.
    fn command(&self, plain: &str) -> Option<&'static str> {
        let command = match (self.script.as_deref(), self.style.as_deref()) {
            (Some("double-struck"), _) => "\\mathbb",
            (Some("fraktur"), _) => "\\mathfrak",
            (Some("script"), _) => "\\mathcal",
            (Some("sans-serif"), _) => "\\mathsf",
            (Some("monospace"), _) => "\\mathtt",
            (_, Some("b")) => "\\mathbf",
            (_, Some("bi")) => "\\boldsymbol",
            (_, Some("p"))
                if plain.chars().count() > 1 && plain.chars().all(char::is_alphabetic) =>
            {
                "\\mathrm"
            }
            _ => return None,
        };
        Some(command)
    }
}

/// Characters as LaTeX.
fn symbols(text: &str) -> String {
    let mut latex = Latex::default();
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let mut piece = symbol(character);
        if rest.next_if_eq(&'\u{338}').is_some() {
            piece = format!("\\not{piece}");
        } else if let Some(command) = rest
            .peek()
            .copied()
            .and_then(accent)
            .filter(|_| !character.is_whitespace())
        {
            rest.next();
            piece = format!("{command}{{{piece}}}");
        }
        latex.push(&piece);
    }
    latex.out
}

/// Text that is no formula. Chinese text outside of `\text` is not set by every renderer, so it
/// gets the same.
fn normal_text(text: &str) -> String {
    if text.trim().is_empty() {
        return " ".to_owned();
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '#' | '$' | '%' | '&' | '_' | '{' | '}' => escaped.extend(['\\', character]),
            '\\' => escaped.push_str("\\textbackslash "),
            '~' => escaped.push_str("\\textasciitilde "),
            '^' => escaped.push_str("\\textasciicircum "),
            character => escaped.push(character),
        }
    }
    format!("\\text{{{escaped}}}")
}
