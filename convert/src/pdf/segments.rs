//! Characters to segments: runs of text on one line without a wide gap. Segments are what the
//! layout moves about.

use std::ops::Range;

use super::characters::{Character, Glyph, Style};
use super::cuts::{self, Cut};
use super::direction;
use super::geometry::Area;
use super::lists;
use super::rules::Rules;
use super::unicode;
use crate::escape::is_wide;

/// Widest gap within a segment, in sizes of its letters.
pub(super) const MAXIMUM_GAP: f32 = 1.0;

/// Gap from which two letters are two words although PDFium gave no space, in sizes; smaller
/// between a number and a word.
pub(super) const WORD_GAP: f32 = 0.35;
const NUMBER_GAP: f32 = 0.15;

/// Gap from which a typed space between Chinese letters parts words, and any gap, in sizes: narrower
/// ones are found where letters are spread to fill the line.
const TYPED_GAP: f32 = 0.2;
pub(super) const WIDE_GAP: f32 = 0.8;

/// Gap that parts bold from other letters: a label and what it names.
const LABEL_GAP: f32 = 0.55;

/// Fewest letters of a spaced word (`W O R D`), and how much wider than between its letters the gap
/// between two of them is.
const SPACED_LETTERS: usize = 5;
const SPACED_WORD_GAP: f32 = 1.6;

/// Size of small capitals, relative to the capitals that they stand among.
const SMALL_CAPITALS: Range<f32> = 0.65..0.92;

/// The font of the wide characters of a run of text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum WideFont {
    /// It has none.
    #[default]
    Without,
    One {
        /// What stands for the name of the font, and for that of the part that the file holds.
        family: u32,
        font: u32,
    },
    Several,
}

impl WideFont {
    /// With another character in this style.
    fn with(self, style: &Style) -> Self {
        let own = Self::One {
            family: style.family,
            font: style.font,
        };
        match self {
            Self::Without => own,
            other if other == own => own,
            _ => Self::Several,
        }
    }
}

/// A run of text on one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Segment {
    /// Its text, with the marks of links (see `unicode`).
    pub text: String,
    /// Its place.
    pub area: Area,
    /// Where its letters stand.
    pub baseline: f32,
    /// Size of its letters in points.
    pub size: f32,
    /// Characters without spaces and marks.
    pub characters: usize,
    /// Those of them that are bold.
    pub bold: usize,
    /// The first one is bold.
    pub starts_bold: bool,
    /// Those of them that are drawn aslant.
    pub italic: usize,
    /// Those of them in a font of one width.
    pub fixed: usize,
    /// Those of them that are as wide as high, as Chinese ones are.
    pub wide: usize,
    /// Their font, if those are in one.
    pub wide_font: WideFont,
    /// The colour of all of them; `None` of several.
    pub colour: Option<u32>,
    /// Stands for the name of the font of its first letter.
    pub font: u32,
    /// Written from right to left.
    pub is_right_to_left: bool,
    /// Ends with the hyphen of a parted word.
    pub ends_with_hyphen: bool,
    /// Where it may be parted if the lines around it are, from left to right.
    pub cuts: Vec<Cut>,
}

impl Segment {
    /// Whether all of it is bold, but for a stray sign.
    pub(super) fn is_bold(&self) -> bool {
        self.bold * 10 >= self.characters * 9 && self.characters > 0
    }

    /// Whether all of it but wide characters, which often have no bold font, and names of code is
    /// bold.
    pub(super) fn is_bold_or_wide(&self) -> bool {
        (self.bold + self.wide + self.named()) * 10 >= self.characters * 9
    }

    /// Whether all of it but these is drawn aslant.
    pub(super) fn is_italic_or_wide(&self) -> bool {
        (self.italic + self.wide + self.named()) * 10 >= self.characters * 9
    }

    /// Characters of the names of code in a text, which keep their font in a heading.
    fn named(&self) -> usize {
        match self.fixed * 2 <= self.characters {
            true => self.fixed,
            false => 0,
        }
    }

    /// Whether all of it is as wide as high.
    pub(super) fn is_wide(&self) -> bool {
        self.wide * 10 >= self.characters * 9
    }

    /// Whether all of it is in a font of one width.
    pub(super) fn is_fixed(&self) -> bool {
        self.fixed * 10 >= self.characters * 9 && self.characters > 0
    }

    /// Whether all of it is drawn aslant, but for a stray sign.
    pub(super) fn is_italic(&self) -> bool {
        self.italic * 10 >= self.characters * 9 && self.characters > 0
    }

    /// Whether all but wide characters is in a font of one width: code with a comment in Chinese.
    pub(super) fn is_fixed_or_wide(&self) -> bool {
        (self.fixed + self.wide) * 10 >= self.characters * 9 && self.characters > 0
    }
}

/// Segments of the glyphs that stand upright after `quarters` turns (`None`: the slanted ones), in
/// the order of the glyphs.
pub(super) fn build(glyphs: &[Glyph], quarters: Option<u8>, rules: &Rules) -> Vec<Segment> {
    glyphs
        .split(|glyph| *glyph == Glyph::LineEnd)
        .flat_map(|line| of_line(line, quarters, rules))
        .collect()
}

fn of_line(line: &[Glyph], quarters: Option<u8>, rules: &Rules) -> Vec<Segment> {
    let mut segments = Vec::new();
    let is_right_to_left = direction::is_right_to_left(line);
    let (line, words) = match is_right_to_left {
        true => direction::in_logical_order(line),
        false => (direction::with_words_from_right(line), Vec::new()),
    };
    let mut builder = Builder::new(is_right_to_left);
    for (at, glyph) in line.iter().enumerate() {
        match glyph {
            Glyph::Drawn(character) if character.style.quarters != quarters => {
                builder.owed = Owed::Typed
            }
            Glyph::Drawn(character) => {
                let word = words.get(at).copied().unwrap_or(character.area);
                if builder.is_break(character, word, rules) {
                    segments.extend(builder.finish());
                    builder = Builder::new(is_right_to_left);
                }
                builder.word = word;
                builder.push(character);
            }
            Glyph::Space => builder.owed = Owed::Typed,
            Glyph::Gap => builder.owed = builder.owed.max(Owed::Found),
            Glyph::LineEndHyphen => builder.hyphen(),
            Glyph::LineEnd => {}
        }
    }
    segments.extend(builder.finish());
    segments
}

/// White space before the next character.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owed {
    Nothing,
    /// PDFium found it.
    Found,
    /// It is in the text.
    Typed,
}

struct Builder {
    segment: Segment,
    last: Option<Character>,
    /// Where the word of the last character stands, in a line from right to left.
    word: Area,
    owed: Owed,
    /// Letters of the word so far, as gaps part words.
    letters: usize,
    /// The place of the space before the last letter, if a single Chinese letter stands before it: a
    /// word whose letters are spread has none.
    doubtful_space: Option<usize>,
    link: Option<u16>,
    /// Sizes of its letters with their numbers, in order of appearance.
    sizes: Vec<LettersOfSize>,
    /// Characters up to the first space, and those of them that are guessed.
    first_word: usize,
    guessed_start: usize,
    guessed: usize,
    /// Gaps before the single letters of spaced words, while there is nothing else.
    letter_gaps: Vec<f32>,
    is_spaced: bool,
}

impl Builder {
    fn new(is_right_to_left: bool) -> Self {
        let segment = Segment {
            is_right_to_left,
            ..Segment::default()
        };
        Self {
            segment,
            last: None,
            word: Area::default(),
            owed: Owed::Nothing,
            letters: 0,
            doubtful_space: None,
            link: None,
            sizes: Vec::new(),
            first_word: 0,
            guessed_start: 0,
            guessed: 0,
            letter_gaps: Vec::new(),
            is_spaced: true,
        }
    }

    /// Whether a character starts another segment: it stands on another line, far off, or behind
    /// the line of a table.
    fn is_break(&self, next: &Character, word: Area, rules: &Rules) -> bool {
        let Some(last) = &self.last else { return false };
        let size = last.style.size.max(next.style.size);
        if (next.baseline - last.baseline).abs() > 0.25 * size {
            return true;
        }
        let height = last.baseline - 0.2 * size;
        if self.segment.is_right_to_left {
            let (gap, back) = (self.word.left - word.right, word.left - self.word.right);
            let is_parted = gap > 0.0 && rules.part(word.right, self.word.left, height);
            return is_parted || gap.max(back) > MAXIMUM_GAP * size;
        }
        let (left, right) = (last.area.right, next.area.left);
        let is_parted = right > left && rules.part(left, right, height);
        self.is_break_from_left(last, next, is_parted)
    }

    fn is_break_from_left(&self, last: &Character, next: &Character, is_parted: bool) -> bool {
        let size = last.style.size.max(next.style.size);
        let gap = next.area.left - last.area.right;
        let is_backwards = next.area.left < last.area.left - 0.5 * size;
        let has_gap = self.owed != Owed::Nothing || gap > 0.2 * size;
        let is_label = last.style.is_bold != next.style.is_bold && gap > LABEL_GAP * size;
        gap > MAXIMUM_GAP * size || is_backwards || (is_parted && has_gap) || is_label
    }

    fn push(&mut self, character: &Character) {
        let gap = self
            .last
            .map_or(0.0, |last| character.area.left - last.area.right);
        let needs_space = self.owed != Owed::Nothing || self.has_word_gap(character, gap);
        if self.last.is_some() {
            self.is_spaced &= self.owed == Owed::Found;
            self.letter_gaps.push(gap);
        }
        let is_in_link = character.link.is_some() && character.link == self.link;
        if needs_space {
            self.take_back_space();
        }
        // In letters of one width every space is that wide. Chinese fonts call themselves such.
        let is_fixed = character.style.is_fixed && !is_wide(character.value);
        let can_be_cut = !self.segment.is_right_to_left && !is_in_link && !is_fixed;
        if can_be_cut && gap > cuts::NARROWEST * character.style.size {
            self.cut(character);
        }
        if character.link != self.link {
            self.close_link();
        }
        self.doubtful_space = None;
        if needs_space && !self.segment.text.is_empty() && !self.is_false_space(character, gap) {
            let is_typed_wide = self.owed == Owed::Typed && gap >= WIDE_GAP * character.style.size;
            let is_doubtful =
                self.letters == 1 && !is_typed_wide && self.is_unspaced_before(character);
            self.doubtful_space = is_doubtful.then_some(self.segment.text.len());
            self.segment.text.push(' ');
        }
        self.letters = if needs_space { 1 } else { self.letters + 1 };
        if character.link != self.link {
            self.segment
                .text
                .extend(character.link.map(unicode::link_start));
            self.link = character.link;
        }
        if character.value != unicode::UNREADABLE {
            unicode::push(&mut self.segment.text, character.value);
        }
        self.count(character);
        self.segment.ends_with_hyphen = false;
        self.owed = Owed::Nothing;
        self.last = Some(*character);
    }

    /// Whether a gap without a space parts two words.
    fn has_word_gap(&self, next: &Character, gap: f32) -> bool {
        let Some(last) = &self.last else { return false };
        if self.segment.is_right_to_left {
            return last.value.is_ascii_alphanumeric() && unicode::is_right_to_left(next.value);
        }
        let is_number =
            last.value.is_ascii_digit() && (next.value.is_alphabetic() || is_wide(next.value));
        gap > (if is_number { NUMBER_GAP } else { WORD_GAP }) * next.style.size
    }

    /// Whether a space is none: between Chinese characters they are found where letters are spread,
    /// and typed without width.
    fn is_false_space(&self, next: &Character, gap: f32) -> bool {
        let are_letters = self
            .last
            .is_some_and(|last| unicode::are_letters(last.value, next.value));
        let widest = match self.owed {
            Owed::Typed if are_letters => TYPED_GAP,
            Owed::Typed => WIDE_GAP,
            _ if are_letters => WIDE_GAP,
            _ => f32::MAX,
        };
        self.is_unspaced_before(next) && gap < widest * next.style.size
    }

    fn is_unspaced_before(&self, next: &Character) -> bool {
        self.last
            .is_some_and(|last| unicode::are_unspaced(last.value, next.value))
    }

    /// Takes back the space before the last letter if single letters stand on both sides.
    fn take_back_space(&mut self) {
        let is_single = self.letters == 1;
        if let Some(at) = self.doubtful_space.take().filter(|_| is_single) {
            self.segment.text.remove(at);
        }
    }

    /// Notes that the text so far may be parted from what follows.
    fn cut(&mut self, next: &Character) {
        let (segment, Some(last)) = (&mut self.segment, &self.last) else {
            return;
        };
        let so_far = Cut::behind(segment, last.area.right, next.area.left);
        segment.cuts.push(so_far);
    }

    fn count(&mut self, character: &Character) {
        let segment = &mut self.segment;
        segment.area = if segment.characters == 0 {
            character.area
        } else {
            segment.area.joined(character.area)
        };
        if segment.characters == 0 {
            segment.baseline = character.baseline;
            segment.font = character.style.font;
            segment.starts_bold = character.style.is_bold;
            segment.colour = Some(character.style.colour);
        }
        if segment.colour != Some(character.style.colour) {
            segment.colour = None;
        }
        segment.characters += 1;
        segment.bold += usize::from(character.style.is_bold);
        segment.italic += usize::from(character.style.is_italic);
        if is_wide(character.value) && !character.style.is_fixed {
            segment.wide += 1;
            segment.wide_font = segment.wide_font.with(&character.style);
        }
        segment.fixed += usize::from(character.style.is_fixed);
        if !segment.text.contains(' ') {
            self.first_word += 1;
            self.guessed_start += usize::from(character.is_guessed);
        }
        self.guessed += usize::from(character.is_guessed);
        self.count_size(character);
    }

    fn count_size(&mut self, character: &Character) {
        let size = character.style.size;
        let at = self
            .sizes
            .iter()
            .position(|known| (known.size - size).abs() < 0.2);
        let at = at.unwrap_or_else(|| {
            self.sizes.push(LettersOfSize {
                size,
                ..LettersOfSize::default()
            });
            self.sizes.len() - 1
        });
        if let Some(known) = self.sizes.get_mut(at) {
            known.characters += 1;
            known.small |= character.value.is_lowercase();
            known.capital |= character.value.is_uppercase();
        }
    }

    fn hyphen(&mut self) {
        self.segment.text.push('-');
        self.segment.ends_with_hyphen = true;
    }

    fn close_link(&mut self) {
        if self.link.take().is_some() {
            self.segment.text.push(unicode::LINK_END);
        }
    }

    fn finish(mut self) -> Option<Segment> {
        self.take_back_space();
        self.close_link();
        let mut segment = self.segment;
        if segment.characters == 0 {
            return None;
        }
        if self.is_spaced
            && self.letter_gaps.len() + 1 >= SPACED_LETTERS
            && segment.characters == self.letter_gaps.len() + 1
        {
            segment.text = unspaced(&segment.text, &self.letter_gaps);
            segment.cuts.clear();
        }
        // Dots that lead to a page number stand below each other in any table of contents.
        if lists::has_leader(&segment.text) {
            segment.cuts.clear();
        }
        segment.size = usual_size(&self.sizes);
        // Signs of a font without Unicode values before readable text are bullets.
        if self.first_word <= 2
            && self.guessed_start == self.first_word
            && (self.guessed == self.first_word)
        {
            let rest = segment.text.split_once(' ').map_or("", |(_, rest)| rest);
            segment.text = format!("• {rest}").trim_end().to_owned();
            segment.cuts.clear();
        }
        Some(segment)
    }
}

/// Characters of one size in a segment.
#[derive(Clone, Copy, Debug, Default)]
struct LettersOfSize {
    size: f32,
    characters: usize,
    /// Whether there are small letters among them, and capitals.
    small: bool,
    capital: bool,
}

/// The size of most characters. Small capitals are as large as the capitals that they stand among:
/// programs draw them as capitals of a smaller size.
fn usual_size(sizes: &[LettersOfSize]) -> f32 {
    let Some(most) = sizes.iter().max_by_key(|size| size.characters) else {
        return 10.0;
    };
    let are_capitals_of = |other: &&LettersOfSize| {
        other.capital
            && !other.small
            && most.small != most.capital
            && SMALL_CAPITALS.contains(&(most.size / other.size))
    };
    sizes
        .iter()
        .find(are_capitals_of)
        .map_or(most.size, |capitals| capitals.size)
}

/// The letters of a spaced text without the spaces between them, where no gap is much wider than
/// the narrowest.
fn unspaced(text: &str, gaps: &[f32]) -> String {
    let narrowest = gaps.iter().copied().fold(f32::MAX, f32::min).max(0.01);
    let mut out = String::new();
    for (index, letter) in text.split(' ').enumerate() {
        let gap = index
            .checked_sub(1)
            .and_then(|before| gaps.get(before))
            .copied()
            .unwrap_or(0.0);
        if gap > SPACED_WORD_GAP * narrowest {
            out.push(' ');
        }
        out.push_str(letter);
    }
    out
}

/// Runs of text for tests.
#[cfg(test)]
pub(super) mod samples {
    use super::{Area, Segment};

    /// A run of text of size 10 at a place, five points to a letter.
    pub(in crate::pdf) fn text(words: &str, left: f32, baseline: f32) -> Segment {
        let area = Area {
            left,
            right: left + 5.0 * words.len() as f32,
            top: baseline - 8.0,
            bottom: baseline + 2.0,
        };
        Segment {
            text: words.to_owned(),
            area,
            baseline,
            size: 10.0,
            characters: words.len(),
            ..Segment::default()
        }
    }
}

#[cfg(test)]
mod tests;
