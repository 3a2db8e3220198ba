//! What the fonts of a page say of the letters drawn with them: bold, italic, of one width.

use std::collections::HashMap;
use std::ffi::c_int;

use pdfium_render::prelude::FPDF_FONT;

use super::library::Bindings;

/// What a font adds to the style of its characters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    pub is_bold: bool,
    pub is_italic: bool,
    pub is_fixed: bool,
    /// Stands for the font's name: equal for equal names.
    pub name: u32,
    /// The same for the name without the tag of the part of it that the file holds.
    pub family: u32,
}

/// The fonts of a page that were asked for.
#[derive(Default)]
pub(super) struct Fonts {
    known: HashMap<FPDF_FONT, Looks>,
}

impl Fonts {
    /// The looks of a font of an open page.
    pub(super) fn looks(&mut self, pdfium: &Bindings, font: FPDF_FONT) -> Looks {
        if font.is_null() {
            return Looks::default();
        }
        if let Some(known) = self.known.get(&font) {
            return *known;
        }
        let mut name = [0_u8; 128];
        // SAFETY: the font belongs to the open page; the buffer is as long as said.
        let (flags, weight) = unsafe {
            pdfium.FPDFFont_GetBaseFontName(font, name.as_mut_ptr().cast(), name.len() - 1);
            (
                pdfium.FPDFFont_GetFlags(font),
                pdfium.FPDFFont_GetWeight(font),
            )
        };
        let text = lowercase(&name);
        let looks = Looks {
            is_bold: is_bold(&text, flags, weight),
            is_italic: is_italic(&text, flags),
            is_fixed: is_fixed(&text, flags),
            name: fnv_1a(&text),
            family: fnv_1a(without_tag(&text)),
        };
        self.known.insert(font, looks);
        looks
    }
}

/// A font's name as text, in small letters.
fn lowercase(name: &[u8]) -> String {
    name.iter()
        .take_while(|byte| **byte != 0)
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect()
}

/// `abcdef+dejavuserif` without its first part.
fn without_tag(name: &str) -> &str {
    match name.split_once('+') {
        Some((tag, family)) if tag.len() == 6 => family,
        _ => name,
    }
}

/// The hash FNV-1a of a text.
fn fnv_1a(text: &str) -> u32 {
    text.bytes().fold(0x811C_9DC5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Flags of a font descriptor.
const FIXED_PITCH: c_int = 1;
const ITALIC: c_int = 1 << 6;
const FORCE_BOLD: c_int = 1 << 18;

fn is_bold(name: &str, flags: c_int, weight: c_int) -> bool {
    let words = ["bold", "black", "heavy", "demi", "-bd", "medi"];
    // Computer Modern and its kin: `cmbx10`, `SFBX1200`.
    let is_extended = name
        .split("bx")
        .nth(1)
        .is_some_and(|after| after.starts_with(|first: char| first.is_ascii_digit()));
    let is_named =
        (words.iter().any(|word| name.contains(word)) && !name.contains("medium")) || is_extended;
    is_named || (flags > 0 && flags & FORCE_BOLD != 0) || (650..=1000).contains(&weight)
}

fn is_fixed(name: &str, flags: c_int) -> bool {
    let words = [
        "mono",
        "courier",
        "consol",
        "typewriter",
        "cmtt",
        "menlo",
        "nimbusmon",
    ];
    (flags > 0 && flags & FIXED_PITCH != 0) || words.iter().any(|word| name.contains(word))
}

fn is_italic(name: &str, flags: c_int) -> bool {
    let words = ["italic", "oblique", "slanted", "cmti", "cmsl"];
    (flags > 0 && flags & ITALIC != 0) || words.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fonts_are_judged_by_name_flags_and_weight() {
        assert!(
            is_bold("abcdef+nimbusromno9l-medi", 4, 0)
                && is_bold("sfbx1000", 4, 0)
                && is_bold("x", FORCE_BOLD, 0)
                && is_bold("x", 0, 700)
        );
        assert!(!is_bold("avenirnext-medium", 4, 500) && !is_bold("times", -1, -1));
        assert!(is_fixed("couriernew", -1) && is_fixed("x", FIXED_PITCH) && !is_fixed("times", -1));
        assert!(is_italic("times-italic", -1) && is_italic("x", ITALIC) && !is_italic("x", 4));
    }
}
