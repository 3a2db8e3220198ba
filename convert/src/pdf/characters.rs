//! Characters of a page as PDFium gives them, in its order (which is logical order for
//! right-to-left text), with their places and styles.

use std::ffi::c_int;

use pdfium_render::prelude::{FPDF_PAGEOBJECT, FS_MATRIX, FS_RECTF};
use tributary_schemas::{Error, ErrorKind, Result};

use super::Bounds;
use super::document::{Page, TextPage};
use super::fonts::Fonts;
use super::geometry::{Area, Turn};
use super::library::Bindings;
use super::links::PageLink;
use super::raised;
use super::structure::{Content, Marks};
use super::unicode;
use crate::positions;

/// Characters between two looks at the clock.
const CHARACTERS_PER_CHECK: c_int = 8192;

/// Share of unreadable characters, in percent, from which the text of a page is worth nothing.
const GARBAGE_PERCENT: usize = 40;

/// Sizes in points outside of which a font's size says nothing about the size of its letters.
const PLAUSIBLE_SIZES: std::ops::Range<f32> = 0.5..400.0;

/// Widest gap within text that goes on beyond the edge of the page, in sizes of its letters.
const RUN_GAP: f32 = 0.6;

/// How a character looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Style {
    /// Size in points as drawn.
    pub size: f32,
    /// Drawn bold.
    pub is_bold: bool,
    /// Drawn with a slant.
    pub is_italic: bool,
    /// All letters of the font have one width.
    pub is_fixed: bool,
    /// Quarter turns clockwise that make it stand upright; `None` for a slant.
    pub quarters: Option<u8>,
    /// Stands for the font's name: equal for equal names.
    pub font: u32,
    /// The same without the tag of the part of the font that the file holds.
    pub family: u32,
    /// Red, green and blue of the letters, a byte each.
    pub colour: u32,
}

/// What stands at one place of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Glyph {
    /// A drawn character.
    Drawn(Character),
    /// A typed space.
    Space,
    /// A space that PDFium found between words.
    Gap,
    /// The end of a line.
    LineEnd,
    /// A hyphen that parts a word at the end of a line.
    LineEndHyphen,
}

/// A drawn character.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Character {
    /// Its Unicode value.
    pub value: char,
    /// From its origin to the next one's; top and bottom are those of a usual letter of the size.
    pub area: Area,
    /// Where it stands.
    pub baseline: f32,
    /// How it looks.
    pub style: Style,
    /// Number of the link that it belongs to.
    pub link: Option<u16>,
    /// What of the page's structure it belongs to.
    pub content: Content,
    /// Its font gives no Unicode value: what PDFium took for one may be wrong.
    pub is_guessed: bool,
}

/// The characters of a page.
#[derive(Debug, Default)]
pub(super) struct Characters {
    /// In PDFium's order.
    pub glyphs: Vec<Glyph>,
    /// Characters other than spaces, readable or not.
    pub visible: usize,
    /// Those of them that have no meaning in Unicode.
    pub unreadable: usize,
    /// Those of them whose meaning PDFium guessed.
    pub guessed: usize,
    /// Those of the guessed ones that are letters or digits.
    pub guessed_letters: usize,
    /// Those of these that are Latin, and small Latin letters.
    pub guessed_latin: usize,
    pub guessed_small: usize,
    /// Spaces, typed or found.
    pub spaces: usize,
}

impl Characters {
    /// Whether the text says nothing: most of it has no Unicode value, or has guessed ones that are
    /// mostly signs, or that are Latin letters without words: hardly a small one, hardly a
    /// space.
    pub(super) fn are_garbage(&self) -> bool {
        let is_guesswork = self.guessed * 10 > self.visible * 8
            && (self.guessed_letters * 2 < self.guessed
                || (self.guessed_latin * 5 > self.guessed_letters * 4
                    && self.guessed_small * 6 < self.guessed_letters
                    && self.spaces * 20 < self.visible));
        self.unreadable * 100 > self.visible * GARBAGE_PERCENT || is_guesswork
    }

    /// Whether these are those of `before` and more that can be read: some files lose their fonts
    /// when their entries become text.
    pub(super) fn continues(&self, before: &Self) -> bool {
        let without_value = |characters: &Self| characters.unreadable + characters.guessed;
        self.visible > before.visible
            && without_value(self).saturating_sub(without_value(before)) * 3
                <= self.visible - before.visible
    }

    /// Where most values are guessed, a guessed one is no sign of a symbol.
    fn trust_common_guesses(&mut self) {
        if self.guessed * 4 > self.visible {
            for glyph in &mut self.glyphs {
                if let Glyph::Drawn(character) = glyph {
                    character.is_guessed = character.value == unicode::UNREADABLE;
                }
            }
        }
    }
}

/// A page, and what lies on it beside its text.
pub(super) struct Place<'a> {
    pub page: &'a Page<'a>,
    /// Left, bottom, right, top.
    pub page_box: [f32; 4],
    pub links: &'a [PageLink],
    /// To what its objects belong; `None` if its structure is not asked for.
    pub marks: Option<&'a Marks<'a>>,
}

/// Reads all characters of a page.
pub(super) fn read(place: &Place<'_>, text: &TextPage, bounds: Bounds<'_>) -> Result<Characters> {
    // SAFETY: the text is of an open page.
    let count = unsafe { place.page.pdfium.FPDFText_CountChars(text.handle) }.max(0);
    check_count(count, bounds.settings.maximum_characters_per_page)?;
    let mut reader = Reader {
        text,
        page_box: place.page_box,
        links: place.links,
        marks: place.marks,
        content: Content::default(),
        object: std::ptr::null_mut(),
        style: Style::default(),
        is_guessed: false,
        fonts: Fonts::default(),
        end: None,
    };
    let mut characters = Characters {
        glyphs: Vec::with_capacity(usize::try_from(count).unwrap_or(0)),
        ..Characters::default()
    };
    for index in 0..count {
        if index % CHARACTERS_PER_CHECK == CHARACTERS_PER_CHECK - 1 {
            bounds.limits.check_time()?;
        }
        reader.read(index, &mut characters);
    }
    characters.trust_common_guesses();
    raised::mark(&mut characters.glyphs);
    Ok(characters)
}

fn check_count(count: c_int, maximum: usize) -> Result<()> {
    if usize::try_from(count).is_ok_and(|count| count > maximum) {
        return Err(Error::new(
            ErrorKind::Invalid,
            format!("a page has {count} characters, more than {maximum}"),
        )
        .with_hint("split the page, or raise `convert.pdf.maximum_characters_per_page`"));
    }
    Ok(())
}

struct Reader<'a> {
    text: &'a TextPage<'a>,
    page_box: [f32; 4],
    links: &'a [PageLink],
    marks: Option<&'a Marks<'a>>,
    content: Content,
    /// The text object of the latest character and its style.
    object: FPDF_PAGEOBJECT,
    style: Style,
    is_guessed: bool,
    fonts: Fonts,
    /// Where the latest character ends that counts, and its baseline, as it is turned.
    end: Option<(Turn, f32, f32)>,
}

impl Reader<'_> {
    fn pdfium(&self) -> &Bindings {
        self.text.pdfium
    }

    fn read(&mut self, index: c_int, characters: &mut Characters) {
        let Some(code) = self.code(index) else { return };
        // SAFETY: as above.
        let object = unsafe {
            self.pdfium()
                .FPDFText_GetTextObject(self.text.handle, index)
        };
        // SAFETY: as above.
        let is_hyphen = || unsafe { self.pdfium().FPDFText_IsHyphen(self.text.handle, index) } == 1;
        if matches!(code, 0x2 | 0xFFFE) && is_hyphen() {
            characters.glyphs.push(Glyph::LineEndHyphen);
            return;
        }
        if object.is_null() || matches!(code, 0x9 | 0xA | 0xD | 0x20 | 0xA0 | 0x3000) {
            characters.spaces += 1;
            characters.glyphs.push(self.white_space(code, index));
            return;
        }
        characters.visible += 1;
        let value = unicode::readable(code);
        characters.unreadable += usize::from(value.is_none());
        if object != self.object {
            self.object = object;
            self.style = self.style_of(object, index);
            self.content = self
                .marks
                .map_or_else(Content::default, |marks| marks.content(object));
            // SAFETY: as above.
            self.is_guessed = unsafe {
                self.pdfium()
                    .FPDFText_HasUnicodeMapError(self.text.handle, index)
            } == 1;
        }
        if self.is_guessed {
            characters.guessed += 1;
            characters.guessed_letters += usize::from(value.is_some_and(char::is_alphanumeric));
            characters.guessed_latin +=
                usize::from(value.is_some_and(|value| value.is_ascii_alphanumeric()));
            characters.guessed_small +=
                usize::from(value.is_some_and(|value| value.is_ascii_lowercase()));
        }
        let placed = self.place(value.unwrap_or(unicode::UNREADABLE), index);
        characters.glyphs.extend(placed.map(Glyph::Drawn));
    }

    /// The code of a character; `None` for the second half of one.
    fn code(&self, index: c_int) -> Option<u32> {
        // SAFETY: the text page is open; PDFium checks the index.
        let unit = |index| unsafe { self.pdfium().FPDFText_GetUnicode(self.text.handle, index) };
        let code = unit(index);
        match code {
            0xD800..0xDC00 => Some(unicode::joined(code, unit(index + 1)).unwrap_or(code)),
            0xDC00..0xE000 if index > 0 && unicode::joined(unit(index - 1), code).is_some() => None,
            _ => Some(code),
        }
    }

    fn white_space(&self, code: std::ffi::c_uint, index: c_int) -> Glyph {
        // SAFETY: as in `read`.
        let is_added = unsafe { self.pdfium().FPDFText_IsGenerated(self.text.handle, index) } == 1;
        match (is_added, code) {
            (true, 0xA | 0xD) => Glyph::LineEnd,
            (true, _) => Glyph::Gap,
            (false, _) => Glyph::Space,
        }
    }

    /// Whether a character goes on right behind the latest one: text that begins on the page counts
    /// beyond its edge, too.
    fn goes_on(&self, turn: Turn, x: f32, baseline: f32) -> bool {
        self.end.is_some_and(|(last_turn, right, last_baseline)| {
            let gap = (x - right).abs() / self.style.size.max(0.1);
            last_turn == turn && (baseline - last_baseline).abs() < 0.5 && gap < RUN_GAP
        })
    }

    /// The character with its place; `None` outside of the page.
    fn place(&mut self, value: char, index: c_int) -> Option<Character> {
        let mut loose = FS_RECTF {
            left: 0.0,
            top: 0.0,
            right: 0.0,
            bottom: 0.0,
        };
        let (mut x, mut y) = (0.0, 0.0);
        // SAFETY: as in `read`; the pointers are to variables of the right types.
        let is_placed = unsafe {
            self.pdfium()
                .FPDFText_GetLooseCharBox(self.text.handle, index, &raw mut loose)
                != 0
                && self.pdfium().FPDFText_GetCharOrigin(
                    self.text.handle,
                    index,
                    &raw mut x,
                    &raw mut y,
                ) != 0
        };
        let turn = Turn {
            quarters: self.style.quarters.unwrap_or(0),
            page: self.page_box,
        };
        let (origin_x, baseline) = turn.point(x as f32, y as f32);
        let (width, height) = turn.size();
        let is_on_page = (-1.0..=width + 1.0).contains(&origin_x);
        let counts = (is_on_page || self.goes_on(turn, origin_x, baseline))
            && (-1.0..=height + 1.0).contains(&baseline);
        if !is_placed || !counts {
            return None;
        }
        let drawn = Area::between(
            turn.point(loose.left, loose.top),
            turn.point(loose.right, loose.bottom),
        );
        let mut style = self.style;
        if !PLAUSIBLE_SIZES.contains(&style.size) {
            style.size = drawn.height().clamp(1.0, 200.0);
        }
        let area = Area {
            top: baseline - 0.8 * style.size,
            bottom: baseline + 0.2 * style.size,
            ..drawn
        };
        self.end = Some((turn, area.right, baseline));
        let stands_raised =
            value.is_ascii_digit() && self.is_drawn_raised(index, turn, baseline, style.size);
        let value = match stands_raised {
            true => positions::figure(value).unwrap_or(value),
            false => value,
        };
        let (middle_x, middle_y) = (
            f32::midpoint(loose.left, loose.right),
            f32::midpoint(loose.bottom, loose.top),
        );
        let link = self
            .links
            .iter()
            .find(|link| link.covers(middle_x, middle_y))
            .map(|link| link.number);
        Some(Character {
            value,
            area,
            baseline,
            style,
            link,
            content: self.content,
            is_guessed: self.is_guessed || value == unicode::UNREADABLE,
        })
    }

    /// Whether the glyph of a figure is a raised one although it stands on the line: fonts have such
    /// figures for notes and powers.
    fn is_drawn_raised(&self, index: c_int, turn: Turn, baseline: f32, size: f32) -> bool {
        let (mut left, mut right, mut bottom, mut top) = (0.0, 0.0, 0.0, 0.0);
        // SAFETY: as in `read`; the pointers are to variables of the right types.
        let is_known = unsafe {
            self.pdfium().FPDFText_GetCharBox(
                self.text.handle,
                index,
                &raw mut left,
                &raw mut right,
                &raw mut bottom,
                &raw mut top,
            )
        } != 0;
        let drawn = Area::between(
            turn.point(left as f32, top as f32),
            turn.point(right as f32, bottom as f32),
        );
        is_known
            && raised::is_drawn_raised(
                (baseline - drawn.bottom) / size.max(0.1),
                drawn.height() / size.max(0.1),
            )
    }

    fn style_of(&mut self, object: FPDF_PAGEOBJECT, index: c_int) -> Style {
        let mut matrix = FS_MATRIX {
            a: 1.0,
            b: 0.0,
            c: 0.0,
            d: 1.0,
            e: 0.0,
            f: 0.0,
        };
        // SAFETY: as in `read`; the object and its font belong to the open page.
        let (size, font, mode) = unsafe {
            self.pdfium()
                .FPDFText_GetMatrix(self.text.handle, index, &raw mut matrix);
            let size = self.pdfium().FPDFText_GetFontSize(self.text.handle, index) as f32;
            (
                size,
                self.pdfium().FPDFTextObj_GetFont(object),
                self.pdfium().FPDFTextObj_GetTextRenderMode(object),
            )
        };
        let font = self.fonts.looks(self.text.pdfium, font);
        // A size below zero turns the letters by half a circle.
        let (size, turn) = (size.abs(), size.signum());
        // Mode 2 fills and strokes: the usual way to draw bold letters of a font that has none.
        Style {
            size: size * matrix.c.hypot(matrix.d),
            is_bold: font.is_bold || mode == 2,
            is_italic: font.is_italic || slant(matrix),
            is_fixed: font.is_fixed,
            quarters: quarters(turn * matrix.a, turn * matrix.b),
            font: font.name,
            family: font.family,
            colour: self.colour(object),
        }
    }

    /// Red, green and blue of a text object, a byte each; black if it does not tell.
    fn colour(&self, object: FPDF_PAGEOBJECT) -> u32 {
        let (mut red, mut green, mut blue, mut alpha) = (0, 0, 0, 0);
        // SAFETY: as in `read`; the pointers are to variables of the right types.
        unsafe {
            self.pdfium().FPDFPageObj_GetFillColor(
                object,
                &raw mut red,
                &raw mut green,
                &raw mut blue,
                &raw mut alpha,
            )
        };
        (red & 0xFF) << 16 | (green & 0xFF) << 8 | (blue & 0xFF)
    }
}

/// Whether upright letters are drawn aslant, as programs do whose fonts have no italic ones.
fn slant(matrix: FS_MATRIX) -> bool {
    const LEAST: f32 = 0.1;
    matrix.b.abs() < 0.01 * matrix.a.abs() && matrix.c.abs() > LEAST * matrix.d.abs()
}

/// Quarter turns of a baseline in direction (x, y); `None` if it is more than ten degrees off.
fn quarters(x: f32, y: f32) -> Option<u8> {
    const SLANT: f32 = 0.176;
    match (x, y) {
        (x, y) if x > 0.0 && y.abs() <= x * SLANT => Some(0),
        (x, y) if y > 0.0 && x.abs() <= y * SLANT => Some(1),
        (x, y) if x < 0.0 && y.abs() <= -x * SLANT => Some(2),
        (x, y) if y < 0.0 && x.abs() <= -y * SLANT => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_become_quarter_turns() {
        let of = |degrees: f32| quarters(degrees.to_radians().cos(), degrees.to_radians().sin());
        assert_eq!(
            [0.0, 5.0, 90.0, 180.0, 270.0, 45.0].map(of),
            [Some(0), Some(0), Some(1), Some(2), Some(3), None]
        );
    }
}
