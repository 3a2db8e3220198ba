//! Bold Chinese letters of Chromium. Where their font has no bold letters it asks for such, draws the
//! usual ones, and writes a second font of the same name: the one with less text is the bold one.

use std::collections::HashMap;

use super::cuts;
use super::page_text::PageText;
use super::segments::{Segment, WideFont};

/// Start of the name that Chromium writes as its producer.
pub(super) const CHROMIUM: &str = "Skia/PDF";

/// Takes the wide letters of a document by Chromium that are in a second font for bold.
pub(super) fn embolden(pages: &mut [PageText]) {
    let mut used: HashMap<u32, HashMap<u32, usize>> = HashMap::new();
    for segment in pages.iter().flat_map(segments) {
        if let WideFont::One { family, font } = segment.wide_font {
            *used.entry(family).or_default().entry(font).or_default() += segment.wide;
        }
    }
    let usual = |fonts: &HashMap<u32, usize>| {
        let most = fonts
            .iter()
            .max_by_key(|(font, letters)| (**letters, **font));
        most.map(|(font, _)| *font)
    };
    let usual: HashMap<u32, u32> = used
        .iter()
        .filter_map(|(family, fonts)| Some((*family, usual(fonts)?)))
        .collect();
    let layers = pages.iter_mut().flat_map(|page| &mut page.layers);
    for segment in layers.flat_map(|layer| &mut layer.segments) {
        if let WideFont::One { family, font } = segment.wide_font
            && segment.fixed == 0
            && usual.get(&family).is_some_and(|usual| *usual != font)
        {
            cuts::embolden(segment);
        }
    }
}

fn segments(page: &PageText) -> impl Iterator<Item = &Segment> {
    page.layers.iter().flat_map(|layer| &layer.segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::page_text::Layer;

    #[test]
    fn letters_of_a_second_font_of_one_name_are_bold() {
        let text = |letters: &str, family: u32, font: u32| Segment {
            text: letters.to_owned(),
            characters: letters.chars().count(),
            wide: letters.chars().count(),
            wide_font: WideFont::One { family, font },
            ..Segment::default()
        };
        let layer = |segments| PageText {
            layers: vec![Layer {
                segments,
                ..Layer::default()
            }],
            ..PageText::default()
        };
        let mut pages = [
            layer(vec![text("概述", 1, 11), text("这是正文的第一行", 1, 10)]),
            layer(vec![text("另一种字体", 2, 20), text("正文", 1, 10)]),
        ];
        embolden(&mut pages);
        let bold: Vec<bool> = pages
            .iter()
            .flat_map(segments)
            .map(Segment::is_bold)
            .collect();
        assert_eq!(bold, [true, false, false, false]);
    }
}
