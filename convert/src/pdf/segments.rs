//! Characters to segments: runs of text on one line without a wide gap. Segments are what the
//! layout moves about.

use super::characters::{Character, Glyph};
use super::cuts::{self, Cut};
use super::geometry::Area;
use super::rules::Rules;
use super::unicode;
use crate::escape::is_wide;

/// Widest gap within a segment, in sizes of its letters.
const MAXIMUM_GAP: f32 = 1.0;

/// Gap from which two letters are two words although PDFium gave no space, in sizes; smaller
/// between a number and a word.
const WORD_GAP: f32 = 0.35;
const NUMBER_GAP: f32 = 0.15;

/// Gap that parts bold from other letters: a label and what it names.
const LABEL_GAP: f32 = 0.55;

/// Fewest letters of a spaced word (`W O R D`), and how much wider than between its letters the gap
/// between two of them is.
const SPACED_LETTERS: usize = 5;
const SPACED_WORD_GAP: f32 = 1.6;

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

    /// Whether all of it but wide characters, which often have no bold font, is bold.
    pub(super) fn is_bold_or_wide(&self) -> bool {
        (self.bold + self.wide) * 10 >= self.characters * 9
    }

    /// Whether all of it but wide characters is drawn aslant.
    pub(super) fn is_italic_or_wide(&self) -> bool {
        (self.italic + self.wide) * 10 >= self.characters * 9
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
    let is_right_to_left = is_mostly_right_to_left(line);
    let line = &if is_right_to_left {
        in_logical_order(with_ligatures(line))
    } else {
        line.to_vec()
    };
    let words = match is_right_to_left {
        true => words(line),
        false => Vec::new(),
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

fn is_mostly_right_to_left(line: &[Glyph]) -> bool {
    let (mut right_to_left, mut letters) = (0, 0);
    for glyph in line {
        if let Glyph::Drawn(character) = glyph {
            letters += usize::from(character.value.is_alphabetic());
            right_to_left += usize::from(unicode::is_right_to_left(character.value));
        }
    }
    right_to_left > 0 && right_to_left * 3 >= letters
}

/// The characters of one glyph stand at one place. PDFium turns the order of a lam-alef with that
/// of the glyphs, which is undone here.
fn with_ligatures(line: &[Glyph]) -> Vec<Glyph> {
    let is_one_glyph = |one: &Glyph, other: &Glyph| match (one, other) {
        (Glyph::Drawn(one), Glyph::Drawn(other)) => {
            one.area == other.area
                && matches!(one.value, 'آ' | 'أ' | 'إ' | 'ا')
                && other.value == 'ل'
        }
        _ => false,
    };
    line.chunk_by(is_one_glyph)
        .flat_map(|glyph| glyph.iter().rev().copied())
        .collect()
}

/// Words from right to left whose letters come from left to right, as some programs draw them,
/// turned.
fn in_logical_order(mut line: Vec<Glyph>) -> Vec<Glyph> {
    let is_letter = |glyph: &Glyph| match glyph {
        Glyph::Drawn(character) => unicode::is_right_to_left(character.value),
        _ => false,
    };
    for word in line.chunk_by_mut(|one, other| is_letter(one) && is_letter(other)) {
        if let [Glyph::Drawn(first), .., Glyph::Drawn(last)] = &*word
            && first.area.left < last.area.left
        {
            word.reverse();
        }
    }
    let is_of_number = |glyph: &Glyph| match glyph {
        Glyph::Drawn(character) => !unicode::is_right_to_left(character.value),
        _ => false,
    };
    for word in line.chunk_by_mut(|one, other| is_of_number(one) && is_of_number(other)) {
        if word.iter().all(is_of_number) {
            from_left(word);
            sign_behind(word);
        }
    }
    line
}

/// What is written from left to right, as it stands: PDFium may give the digits of a name first.
fn from_left(word: &mut [Glyph]) {
    let left = |glyph: &Glyph| match glyph {
        Glyph::Drawn(character) => character.area.left,
        _ => 0.0,
    };
    let mut sorted = word.to_vec();
    sorted.sort_by(|one, other| left(one).total_cmp(&left(other)));
    let are_near = |pair: &[Glyph]| match pair {
        [Glyph::Drawn(one), Glyph::Drawn(other)] => {
            other.area.left - one.area.right < WORD_GAP * one.style.size
        }
        _ => false,
    };
    if sorted.windows(2).all(are_near) {
        word.copy_from_slice(&sorted);
    }
}

/// A sign behind a number stands left of it there: `3.` is drawn as `.3`.
fn sign_behind(word: &mut [Glyph]) {
    let value = |glyph: &Glyph| match glyph {
        Glyph::Drawn(character) => character.value,
        _ => ' ',
    };
    let Some((sign, number)) = word.split_first() else {
        return;
    };
    let is_sign = matches!(value(sign), '.' | ',' | ':' | ';');
    let is_number = |glyph: &Glyph| value(glyph).is_ascii_digit();
    if is_sign && !number.is_empty() && number.iter().all(is_number) {
        word.rotate_left(1);
    }
}

/// Where the word of each glyph stands. In a line from right to left a letter of such a script is a
/// word by itself, and what is written from left to right, such as a number, stands as a whole.
fn words(line: &[Glyph]) -> Vec<Area> {
    let mut words: Vec<Area> = Vec::new();
    let mut open: Option<Character> = None;
    let mut word_of = |glyph: &Glyph| {
        if let Glyph::Drawn(character) = glyph {
            let is_other_way = unicode::is_right_to_left(character.value);
            let goes_on = !is_other_way && open.is_some_and(|last| goes_on(&last, character));
            match words.last_mut().filter(|_| goes_on) {
                Some(word) => *word = word.joined(character.area),
                None => words.push(character.area),
            }
            open = Some(*character).filter(|_| !is_other_way);
        }
        words.len()
    };
    let numbers: Vec<usize> = line.iter().map(&mut word_of).collect();
    let word = |number: usize| words.get(number.checked_sub(1)?).copied();
    numbers
        .into_iter()
        .map(|number| word(number).unwrap_or_default())
        .collect()
}

/// Whether a character stands behind another from left to right, near by.
fn goes_on(last: &Character, next: &Character) -> bool {
    let size = last.style.size.max(next.style.size);
    let gap = next.area.left - last.area.right;
    next.area.left > last.area.left && gap <= MAXIMUM_GAP * size
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
    link: Option<u16>,
    /// Sizes of its letters with their numbers, in order of appearance.
    sizes: Vec<(f32, usize)>,
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
        self.is_break_from_left(last, next, |gap| {
            gap > 0.0 && rules.part(last.area.right, next.area.left, height)
        })
    }

    fn is_break_from_left(
        &self,
        last: &Character,
        next: &Character,
        has_line: impl Fn(f32) -> bool,
    ) -> bool {
        let size = last.style.size.max(next.style.size);
        let gap = next.area.left - last.area.right;
        let is_backwards = next.area.left < last.area.left - 0.5 * size;
        let has_gap = self.owed != Owed::Nothing || gap > 0.2 * size;
        let is_parted = has_gap && has_line(gap);
        let is_label = last.style.is_bold != next.style.is_bold && gap > LABEL_GAP * size;
        gap > MAXIMUM_GAP * size || is_backwards || is_parted || is_label
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
        // In letters of one width every space is that wide.
        let can_be_cut = !self.segment.is_right_to_left && !is_in_link && !character.style.is_fixed;
        if can_be_cut && gap > cuts::NARROWEST * character.style.size {
            self.cut(character);
        }
        if character.link != self.link {
            self.close_link();
        }
        if needs_space && !self.segment.text.is_empty() && !self.is_false_space(character, gap) {
            self.segment.text.push(' ');
        }
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

    /// Spaces between Chinese characters are found where letters are spread, not typed; how wide
    /// they may be is said by [`MAXIMUM_GAP`].
    fn is_false_space(&self, next: &Character, gap: f32) -> bool {
        let is_wide = self
            .last
            .is_some_and(|last| unicode::are_unspaced(last.value, next.value));
        is_wide && (self.owed != Owed::Typed || gap < 0.8 * next.style.size)
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
        segment.wide += usize::from(is_wide(character.value) && !character.style.is_fixed);
        segment.fixed += usize::from(character.style.is_fixed);
        if !segment.text.contains(' ') {
            self.first_word += 1;
            self.guessed_start += usize::from(character.is_guessed);
        }
        self.guessed += usize::from(character.is_guessed);
        self.count_size(character.style.size);
    }

    fn count_size(&mut self, size: f32) {
        let known = self
            .sizes
            .iter_mut()
            .find(|(known, _)| (known - size).abs() < 0.2);
        match known {
            Some((_, count)) => *count += 1,
            None => self.sizes.push((size, 1)),
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
        segment.size = self
            .sizes
            .iter()
            .max_by_key(|(_, count)| *count)
            .map_or(10.0, |(size, _)| *size);
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
mod tests {
    use super::*;
    use crate::pdf::characters::Style;
    use crate::pdf::structure::Content;

    fn glyphs(text: &str, advance: f32) -> Vec<Glyph> {
        let style = Style {
            size: 10.0,
            quarters: Some(0),
            ..Style::default()
        };
        let place = |index: usize| Area {
            left: advance * index as f32,
            right: advance * index as f32 + 5.0,
            top: 92.0,
            bottom: 102.0,
        };
        let glyph = |(index, value)| match value {
            '_' => Glyph::Gap,
            ' ' => Glyph::Space,
            value => Glyph::Drawn(Character {
                value,
                area: place(index),
                baseline: 100.0,
                style,
                link: None,
                content: Content::default(),
                is_guessed: value == '\u{1}',
            }),
        };
        text.chars().enumerate().map(glyph).collect()
    }

    /// Glyphs of a line in logical order, each with where it stands, five points to a glyph.
    fn placed(line: &[(char, f32)]) -> Vec<Glyph> {
        let text: String = line.iter().map(|(value, _)| value).collect();
        let places = line.iter().map(|(_, left)| *left);
        let mut glyphs = glyphs(&text, 5.0);
        for (glyph, left) in glyphs.iter_mut().zip(places) {
            if let Glyph::Drawn(character) = glyph {
                (character.area.left, character.area.right) = (left, left + 5.0);
            }
        }
        glyphs
    }

    #[test]
    fn cells_with_numbers_are_parted_from_right_to_left() {
        // قيم | 11 | 9: the cells from right to left, the digits of each from left to right.
        let row = [
            ('ق', 110.0),
            ('ي', 105.0),
            ('م', 100.0),
            (' ', 0.0),
            ('1', 60.0),
            ('1', 65.0),
            (' ', 0.0),
            ('9', 30.0),
        ];
        assert_eq!(texts(&placed(&row)), ["قيم", "11", "9"]);
        // A number within a sentence stays there.
        let sentence = [
            ('ق', 80.0),
            ('م', 75.0),
            (' ', 0.0),
            ('4', 62.0),
            ('2', 67.0),
            (' ', 0.0),
            ('ق', 54.0),
        ];
        assert_eq!(texts(&placed(&sentence)), ["قم 42 ق"]);
    }

    #[test]
    fn a_sign_behind_a_number_is_written_behind_it() {
        let item = [
            ('.', 95.0),
            ('3', 100.0),
            (' ', 0.0),
            ('ق', 88.0),
            ('م', 83.0),
        ];
        assert_eq!(texts(&placed(&item)), ["3. قم"]);
    }

    #[test]
    fn names_stand_as_they_are_drawn_between_words_from_right_to_left() {
        let line = [
            ('ق', 100.0),
            (' ', 0.0),
            ('5', 85.0),
            ('9', 90.0),
            ('R', 75.0),
            ('U', 80.0),
            (' ', 0.0),
            ('ق', 65.0),
        ];
        assert_eq!(texts(&placed(&line)), ["ق RU59 ق"]);
    }

    #[test]
    fn spread_chinese_has_no_spaces() {
        assert_eq!(texts(&glyphs("包_含_以_下", 7.4)), ["包含以下"]);
        assert_eq!(texts(&glyphs("包 含", 7.4)), ["包 含"]);
    }

    fn texts(glyphs: &[Glyph]) -> Vec<String> {
        build(glyphs, Some(0), &Rules::default())
            .into_iter()
            .map(|segment| segment.text)
            .collect()
    }

    #[test]
    fn wide_gaps_part_segments() {
        assert_eq!(texts(&glyphs("ab cd", 5.0)), ["ab cd"]);
        let mut far = glyphs("ab", 5.0);
        far.extend(glyphs("xxxxxxxcd", 5.0).into_iter().skip(7));
        assert_eq!(texts(&far), ["ab", "cd"]);
    }

    #[test]
    fn spaced_words_are_closed() {
        assert_eq!(texts(&glyphs("T_I_T_L_E", 4.0)), ["TITLE"]);
        assert_eq!(texts(&glyphs("a b c d e", 4.0)), ["a b c d e"]);
    }

    #[test]
    fn unknown_signs_before_text_are_bullets() {
        assert_eq!(texts(&glyphs("\u{1} text", 5.0)), ["• text"]);
    }

    #[test]
    fn words_drawn_backwards_are_turned() {
        assert_eq!(
            texts(&glyphs("\u{62A}\u{628} \u{62C}", 5.0)),
            ["\u{628}\u{62A} \u{62C}"]
        );
    }

    #[test]
    fn ligatures_keep_their_order() {
        let mut line = glyphs("\u{627}\u{644}\u{62D}", -5.0);
        if let [Glyph::Drawn(one), Glyph::Drawn(other), _] = line.as_mut_slice() {
            other.area = one.area;
        }
        assert_eq!(texts(&line), ["\u{644}\u{627}\u{62D}"]);
    }
}
