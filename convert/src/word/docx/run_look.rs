//! Properties of runs (`w:rPr`) as far as they matter to the text: emphasis, position, font,
//! whether it is hidden.

use tributary_schemas::Result;

use crate::office::inline::{Look, Position};
use crate::office::xml::XmlReader;

/// Fonts that code is set in.
const CODE_FONTS: [&str; 12] = [
    "consolas",
    "courier",
    "courier new",
    "menlo",
    "monaco",
    "lucida console",
    "source code pro",
    "dejavu sans mono",
    "fira code",
    "jetbrains mono",
    "cascadia code",
    "cascadia mono",
];

/// Properties of a run or a style; what is not given is inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunLook {
    /// Character style.
    pub style: Option<String>,
    /// Heavy type.
    pub bold: Option<bool>,
    /// Size in half points.
    pub size: Option<u16>,
    italic: Option<bool>,
    strike: Option<bool>,
    /// Whether the author hid the text; a run that says nothing is as hidden as the style of its
    /// paragraph.
    pub hidden: Option<bool>,
    position: Option<Position>,
    /// Font of the text.
    pub font: Option<String>,
    /// Whether its style is one for code.
    pub is_code: bool,
    /// Whether the paragraph mark that these properties belong to was deleted by a reviewer.
    pub is_mark_deleted: bool,
}

impl RunLook {
    /// Reads the properties in the element that was entered last.
    pub(super) fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut look = Self::default();
        while let Some(element) = xml.child()? {
            match element.name() {
                "rStyle" => look.style = element.value().map(|value| value.into_owned()),
                "b" => look.bold = Some(element.is_on()),
                "sz" => look.size = element.number().and_then(|size| u16::try_from(size).ok()),
                "i" => look.italic = Some(element.is_on()),
                "strike" | "dstrike" => look.strike = Some(element.is_on()),
                "vanish" => look.hidden = Some(element.is_on()),
                "vertAlign" => look.position = Some(position(element.value().as_deref())),
                "rFonts" => {
                    look.font = element
                        .attribute("ascii")
                        .or_else(|| element.attribute("hAnsi"))
                        .map(|font| font.into_owned())
                }
                "del" | "moveFrom" => look.is_mark_deleted = true,
                _ => {}
            }
            xml.skip()?;
        }
        Ok(look)
    }

    /// Takes from `other` what is not given.
    pub(super) fn inherit(&mut self, other: &Self) {
        self.bold = self.bold.or(other.bold);
        self.size = self.size.or(other.size);
        self.italic = self.italic.or(other.italic);
        self.strike = self.strike.or(other.strike);
        self.hidden = self.hidden.or(other.hidden);
        self.position = self.position.or(other.position);
        if self.font.is_none() {
            self.font.clone_from(&other.font);
        }
        self.is_code |= other.is_code;
    }

    /// Whether the author hid the text.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden == Some(true)
    }

    /// Whether the font is one for code.
    pub(super) fn has_code_font(&self) -> bool {
        self.font
            .as_ref()
            .is_some_and(|font| CODE_FONTS.contains(&font.trim().to_ascii_lowercase().as_str()))
    }

    /// How the text looks; `has_code_font` says whether the run itself asks for such a font.
    pub(super) fn look(&self, has_code_font: bool) -> Look {
        Look {
            bold: self.bold == Some(true),
            italic: self.italic == Some(true),
            strike: self.strike == Some(true),
            code: self.is_code || has_code_font,
            position: self.position.unwrap_or_default(),
        }
    }
}

fn position(value: Option<&str>) -> Position {
    match value {
        Some("superscript") => Position::Raised,
        Some("subscript") => Position::Lowered,
        _ => Position::Normal,
    }
}
