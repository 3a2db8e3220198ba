//! What the control words mean.

use encoding_rs::Encoding;

use super::document::Style;
use super::reader::{Destination, MAXIMUM_ENTRIES, Reader};
use crate::code_pages::{of_character_set, of_code_page};
use crate::office::inline::Position;

/// Groups without text for a reader.
const SILENT: [&str; 41] = [
    "nonesttables",
    "colortbl",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "generator",
    "filetbl",
    "revtbl",
    "xmlnstbl",
    "latentstyles",
    "datastore",
    "themedata",
    "colorschememapping",
    "pgptbl",
    "mmathPr",
    "header",
    "headerl",
    "headerr",
    "headerf",
    "footer",
    "footerl",
    "footerr",
    "footerf",
    "ftnsep",
    "ftnsepc",
    "ftncn",
    "aftnsep",
    "aftnsepc",
    "aftncn",
    "annotation",
    "atnid",
    "atnauthor",
    "atrfstart",
    "atrfend",
    "xe",
    "tc",
    "objdata",
    "nonshppict",
    "pntxtb",
    "pntxta",
    "bkmkstart",
];

/// Groups after `\*` that hold text for a reader all the same.
const KEPT: [&str; 6] = ["shppict", "shptxt", "fldinst", "shpinst", "pn", "listtext"];

impl Reader<'_> {
    /// A control word.
    pub(super) fn word(&mut self, name: &str, number: Option<i32>) {
        let is_on = number != Some(0);
        let is_optional = std::mem::take(&mut self.is_optional);
        if self.to_skip > 0 && name != "u" {
            self.to_skip -= 1;
            return;
        }
        if SILENT.contains(&name)
            || (is_optional && !KEPT.contains(&name) && !self.is_known_destination(name))
        {
            self.state.destination = Destination::Nowhere;
            return;
        }
        match name {
            "b" => self.state.style.bold = is_on,
            "i" => self.state.style.italic = is_on,
            "super" if is_on => self.state.position = Position::Raised,
            "sub" if is_on => self.state.position = Position::Lowered,
            "super" | "sub" | "nosupersub" => self.state.position = Position::Normal,
            "plain" => {
                self.state.style = Style::default();
                self.state.position = Position::Normal;
                self.state.hidden = false;
                self.state.deleted = false;
            }
            "v" => self.state.hidden = is_on,
            "deleted" => self.state.deleted = is_on,
            "f" => self.font(number.unwrap_or(0)),
            "fcharset" => self.font_encoding(of_character_set(number.unwrap_or(1))),
            "cpg" => self.font_encoding(of_code_page(number.unwrap_or(0))),
            "ansicpg" => self.page = of_code_page(number.unwrap_or(0)).unwrap_or(self.page),
            "mac" => self.page = encoding_rs::MACINTOSH,
            "uc" => self.state.skip_after_unicode = number.unwrap_or(1).clamp(0, 16),
            "u" => self.unicode(number.unwrap_or(0)),
            "s" => self.style_number(number.unwrap_or(0)),
            "outlinelevel" => self.outline_level(number.unwrap_or(9)),
            "ilvl" => {
                let level = u8::try_from(number.unwrap_or(0)).ok();
                self.state.paragraph.level = level.unwrap_or(0).min(8);
            }
            _ => self.structure(name),
        }
    }

    fn is_known_destination(&self, name: &str) -> bool {
        matches!(name, "cs" | "ts" | "ds" if self.state.destination == Destination::Styles)
            || matches!(name, "fname" | "hlinkbase")
    }

    fn font(&mut self, number: i32) {
        if self.state.destination == Destination::Fonts {
            self.entry = number;
        }
        self.state.font = number;
    }

    fn font_encoding(&mut self, encoding: Option<&'static Encoding>) {
        if self.state.destination == Destination::Fonts
            && self.fonts.len() < MAXIMUM_ENTRIES
            && let Some(encoding) = encoding
        {
            self.fonts.insert(self.entry, encoding);
        }
    }

    fn style_number(&mut self, number: i32) {
        if self.state.destination == Destination::Styles {
            self.entry = number;
        } else {
            self.state.paragraph.heading = self.headings.get(&number).copied();
        }
    }

    /// Levels count from 0; 9 is body text.
    fn outline_level(&mut self, number: i32) {
        let level = u8::try_from(number)
            .ok()
            .filter(|level| *level < 9)
            .map(|level| (level + 1).min(6));
        if self.state.destination == Destination::Styles {
            if let Some(level) = level.filter(|_| self.headings.len() < MAXIMUM_ENTRIES) {
                self.headings.insert(self.entry, level);
            }
        } else {
            self.state.paragraph.heading = level;
        }
    }

    fn unicode(&mut self, number: i32) {
        // Numbers over 32767 are written as negative ones.
        let unit = u16::try_from(number.rem_euclid(65_536)).unwrap_or(0);
        self.to_skip = self.state.skip_after_unicode;
        match (self.high_surrogate.take(), unit) {
            (_, 0xD800..=0xDBFF) => self.high_surrogate = Some(unit),
            (Some(high), _) => {
                let character = char::decode_utf16([high, unit])
                    .next()
                    .and_then(std::result::Result::ok)
                    .unwrap_or(char::REPLACEMENT_CHARACTER);
                self.text(character.encode_utf8(&mut [0; 4]));
            }
            (None, _) => {
                let character =
                    char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER);
                // Symbol fonts use a private area for their signs.
                if !('\u{F000}'..='\u{F0FF}').contains(&character) {
                    self.text(character.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    /// Paragraphs, tables, destinations and signs.
    fn structure(&mut self, name: &str) {
        let is_body = self.state.destination == Destination::Text;
        match name {
            "par" | "sect" | "page" if is_body && self.state.in_table => {
                self.document.end_cell_paragraph()
            }
            "par" | "sect" | "page" if is_body => self.document.end_paragraph(self.state.paragraph),
            "par" => self.text(" "),
            "pard" => self.state.reset_paragraph(),
            "intbl" => self.state.in_table = true,
            "cell" | "nestcell" if is_body => self.document.end_cell(),
            "row" if is_body => self.document.end_row(),
            "line" | "softline" | "lbr" => self.text("\n"),
            "tab" | "emspace" | "enspace" | "qmspace" => self.text(" "),
            "fonttbl" => self.state.destination = Destination::Fonts,
            "stylesheet" => self.state.destination = Destination::Styles,
            "info" => self.state.destination = Destination::Information,
            "pict" if is_body => self.state.destination = Destination::Picture,
            "fldinst" => {
                self.instruction.clear();
                self.state.destination = Destination::Instruction;
            }
            "fldrslt" if is_body => self.state.field = Some(self.document.position()),
            "footnote" if is_body => {
                self.suspended.push(self.document.begin_note());
                self.state.destination = Destination::Note;
            }
            "listtext" | "pntext" => {
                self.collected.clear();
                self.state.destination = Destination::ListMark;
            }
            "sn" | "sv" => self.state.destination = Destination::ShapeProperty,
            "shptxt" => self.state.destination = Destination::Text,
            _ => self.sign_word(name),
        }
    }

    /// Signs that have names, and fields of the document's information.
    fn sign_word(&mut self, name: &str) {
        let sign = match name {
            "emdash" => "—",
            "endash" => "–",
            "lquote" => "‘",
            "rquote" => "’",
            "ldblquote" => "“",
            "rdblquote" => "”",
            "bullet" => "•",
            _ => {
                let fields = [
                    "title", "author", "subject", "keywords", "company", "doccomm", "manager",
                    "category",
                ];
                if let Some(field) = fields.iter().find(|field| {
                    **field == name && self.state.destination == Destination::Information
                }) {
                    self.field_name = field;
                    self.collected.clear();
                    self.state.destination = Destination::InformationField;
                }
                return;
            }
        };
        self.text(sign);
    }
}
