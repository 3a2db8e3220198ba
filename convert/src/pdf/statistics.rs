//! What is usual in a document: the size, weight and colour of its running text. Tells code from it.

use super::lines::Line;
use super::page_text::PageText;
use super::segments::Segment;
use super::structure;

/// Sizes are counted in steps of this many points.
const SIZE_STEP: f32 = 0.5;

/// Size of letters, relative to running text, from which they are no code.
const LARGE: f32 = 1.12;

/// Characters of a piece of running text, those of a page, and the share of its usual size in
/// percent, from which the page's own counts.
const PROSE_CHARACTERS: usize = 25;
const PAGE_CHARACTERS: usize = 400;
const PAGE_PERCENT: usize = 50;

/// Share of the text, in percent, that prose in proportional letters is at least where letters of one
/// width are code, however much there is of it.
const PROPORTIONAL_PERCENT: usize = 8;

/// The looks of the running text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Statistics {
    /// Size of its letters in points.
    pub body_size: f32,
    /// Stands for the name of its font.
    pub font: u32,
    /// Its colour: red, green and blue, a byte each.
    pub colour: u32,
    /// It is bold, so bold lines are no headings.
    pub is_bold: bool,
    /// It is drawn aslant.
    pub is_italic: bool,
    /// It is in a font of one width, so such lines are no code.
    pub is_fixed: bool,
}

impl Statistics {
    /// Counts the characters of all pages.
    pub(super) fn of(pages: &[PageText]) -> Self {
        let all = || pages.iter().flat_map(segments);
        let count = |part: fn(&Segment) -> usize| all().map(part).sum::<usize>();
        let characters = count(|segment| segment.characters);
        let proportional: usize = all()
            .filter(|segment| is_prose(segment) && !segment.is_fixed())
            .map(|segment| segment.characters)
            .sum();
        let is_fixed = count(|segment| segment.fixed) * 2 > characters
            && proportional * 100 < characters * PROPORTIONAL_PERCENT;
        // Code is often smaller than the text, and there may be more of it.
        let text = || all().filter(|segment| is_fixed || !segment.is_fixed());
        Self {
            body_size: usual_size(text()).map_or(10.0, |(size, _)| size),
            font: usual(text(), |segment| Some(segment.font)).unwrap_or_default(),
            colour: usual(text(), |segment| segment.colour).unwrap_or_default(),
            is_bold: count(|segment| segment.bold) * 2 > characters,
            is_italic: count(|segment| segment.italic) * 2 > characters,
            is_fixed,
        }
    }

    /// The same with the size of the running text of one page, if it has enough of it: parts of a
    /// document differ.
    pub(super) fn of_page(&self, page: &PageText) -> Self {
        let is_text =
            |segment: &&Segment| is_prose(segment) && (self.is_fixed || !segment.is_fixed());
        let prose = || segments(page).filter(is_text);
        let characters: usize = prose().map(|segment| segment.characters).sum();
        let own = usual_size(prose()).filter(|(_, count)| {
            characters >= PAGE_CHARACTERS && count * 100 >= characters * PAGE_PERCENT
        });
        Self {
            body_size: own.map_or(self.body_size, |(size, _)| size),
            ..*self
        }
    }

    /// Whether a line is code.
    pub(super) fn is_code(&self, line: &Line) -> bool {
        line.is_fixed && !self.is_fixed && line.size < LARGE * self.body_size
    }
}

fn segments(page: &PageText) -> impl Iterator<Item = &Segment> {
    let loose = page.layers.iter().flat_map(|layer| &layer.segments);
    loose.chain(structure::segments(&page.told))
}

/// Whether a run of text is as long as those of running text; Chinese characters count twice.
fn is_prose(segment: &Segment) -> bool {
    segment.characters + segment.wide >= PROSE_CHARACTERS
}

/// What most characters have in common: their font, or their colour.
fn usual<'a>(
    segments: impl Iterator<Item = &'a Segment>,
    value: impl Fn(&Segment) -> Option<u32>,
) -> Option<u32> {
    let mut counts: std::collections::BTreeMap<u32, usize> = std::collections::BTreeMap::new();
    for segment in segments {
        if let Some(value) = value(segment) {
            *counts.entry(value).or_default() += segment.characters;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, characters)| *characters);
    most.map(|(value, _)| value)
}

/// The size of most characters, and their number.
fn usual_size<'a>(segments: impl Iterator<Item = &'a Segment>) -> Option<(f32, usize)> {
    let mut sizes: std::collections::BTreeMap<u32, usize> = std::collections::BTreeMap::new();
    for segment in segments {
        *sizes.entry(size_step(segment)).or_default() += segment.characters;
    }
    sizes
        .into_iter()
        .max_by_key(|(_, characters)| *characters)
        .map(|(step, characters)| (step as f32 * SIZE_STEP, characters))
}

fn size_step(segment: &Segment) -> u32 {
    (segment.size / SIZE_STEP).round().clamp(0.0, 2000.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::page_text::Layer;

    #[test]
    fn code_does_not_become_the_text() {
        let segment = |characters: usize, size: f32, is_code: bool| Segment {
            characters,
            size,
            fixed: if is_code { characters } else { 0 },
            ..Segment::default()
        };
        let page = |segments: Vec<Segment>| PageText {
            layers: vec![Layer {
                segments,
                ..Layer::default()
            }],
            ..PageText::default()
        };
        let mixed = page(vec![segment(60, 10.0, false), segment(300, 8.0, true)]);
        let found = Statistics::of(&[mixed]);
        assert_eq!((found.body_size, found.is_fixed), (10.0, false));
        // A typewriter's page with a headline in other letters.
        let typed = page(vec![segment(20, 14.0, false), segment(300, 10.0, true)]);
        let found = Statistics::of(&[typed]);
        assert_eq!((found.body_size, found.is_fixed), (10.0, true));
    }
}
