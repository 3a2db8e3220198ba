//! Lists: definitions of the numbering part, and the counters that give each paragraph its mark.

use std::collections::{HashMap, HashSet};

use tributary_schemas::Result;

use super::numerals::{Format, numeral};
use super::styles::Styles;
use crate::office::xml::{Element, XmlReader};

/// Levels of a list.
const LEVELS: usize = 9;

/// Longest text of a mark in characters.
const MAXIMUM_MARK_CHARACTERS: usize = 100;

/// A paragraph's or style's place in a list (`w:numPr`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reference {
    /// Identifier of the list; `0` takes the paragraph out of all lists.
    pub list: Option<String>,
    /// Level from 0.
    pub level: Option<usize>,
}

impl Reference {
    /// Reads the place in the element that was entered last.
    pub(super) fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut reference = Self::default();
        while let Some(element) = xml.child()? {
            match element.name() {
                "numId" => reference.list = element.value().map(|value| value.trim().to_owned()),
                "ilvl" => reference.level = level_of(&element, "val"),
                _ => {}
            }
            xml.skip()?;
        }
        Ok(reference)
    }

    /// Takes from `other` what is not given.
    pub(super) fn inherit(&mut self, other: &Self) {
        if self.list.is_none() {
            self.list.clone_from(&other.list);
        }
        self.level = self.level.or(other.level);
    }
}

fn level_of(element: &Element, attribute: &str) -> Option<usize> {
    element
        .attribute(attribute)?
        .trim()
        .parse()
        .ok()
        .map(|level: usize| level.min(LEVELS - 1))
}

/// One level of a list.
#[derive(Clone, Debug)]
struct Level {
    start: u32,
    format: Format,
    /// Text of the mark, in which `%1` stands for the number of the first level.
    text: String,
    style: Option<String>,
    /// Level, counted from 1, after which the count begins anew; 0 is never.
    restart: Option<usize>,
    is_legal: bool,
}

impl Default for Level {
    fn default() -> Self {
        Self {
            start: 1,
            format: Format::Decimal,
            text: String::new(),
            style: None,
            restart: None,
            is_legal: false,
        }
    }
}

impl Level {
    fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut level = Self::default();
        while let Some(element) = xml.child()? {
            match element.name() {
                "start" => {
                    level.start = element
                        .number()
                        .and_then(|number| u32::try_from(number).ok())
                        .unwrap_or(1)
                }
                "numFmt" => level.format = Format::named(&element.value().unwrap_or_default()),
                "lvlText" => {
                    level.text = element
                        .value()
                        .unwrap_or_default()
                        .chars()
                        .take(MAXIMUM_MARK_CHARACTERS)
                        .collect()
                }
                "pStyle" => level.style = element.value().map(|value| value.into_owned()),
                "lvlRestart" => {
                    level.restart = element
                        .number()
                        .and_then(|number| usize::try_from(number).ok())
                }
                "isLgl" => level.is_legal = element.is_on(),
                _ => {}
            }
            xml.skip()?;
        }
        Ok(level)
    }
}

#[derive(Debug, Default)]
struct Abstract {
    levels: Vec<Level>,
    style_link: Option<String>,
}

#[derive(Debug, Default)]
struct List {
    abstract_list: String,
    starts: HashMap<usize, u32>,
    levels: HashMap<usize, Level>,
}

/// What marks a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A bullet.
    Bullet,
    /// A number.
    Number(u32),
}

impl Mark {
    /// The number, if it is one.
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Self::Bullet => None,
            Self::Number(number) => Some(u64::from(number)),
        }
    }
}

/// What marks a paragraph of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    /// Level from 0.
    pub level: usize,
    /// The mark of a Markdown list; none if the mark is text or nothing.
    pub mark: Option<Mark>,
    /// The mark as Word shows it, such as `2.1` or `第三条`; empty for bullets.
    pub label: String,
    /// Whether there are words in the label.
    pub has_words: bool,
}

impl Numbered {
    /// The place of a paragraph that shows nothing of its list.
    fn unmarked(level: usize) -> Self {
        Self {
            level,
            mark: None,
            label: String::new(),
            has_words: false,
        }
    }
}

/// All lists of a document and their counters.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    abstracts: HashMap<String, Abstract>,
    lists: HashMap<String, List>,
    counters: HashMap<String, [Option<u32>; LEVELS]>,
    started: HashSet<String>,
}

impl Numbering {
    /// Reads the numbering part.
    pub(super) fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut numbering = Self::default();
        xml.child()?;
        while let Some(element) = xml.child()? {
            match (
                element.name(),
                element.attribute("abstractNumId"),
                element.attribute("numId"),
            ) {
                ("abstractNum", Some(id), _) => {
                    let id = id.trim().to_owned();
                    numbering.abstracts.insert(id, Abstract::read(xml)?);
                }
                ("num", _, Some(id)) => {
                    let id = id.trim().to_owned();
                    numbering.lists.insert(id, List::read(xml)?);
                }
                _ => xml.skip()?,
            }
        }
        Ok(numbering)
    }

    /// The mark of the next paragraph at that place; `style` is its style. `None` if it is in no
    /// list.
    pub(super) fn advance(
        &mut self,
        reference: &Reference,
        style: Option<&str>,
        styles: &Styles,
    ) -> Option<Numbered> {
        let list_id = reference.list.as_deref().filter(|id| *id != "0")?;
        let list = self.lists.get(list_id)?;
        let abstract_id = self.abstract_id(list, styles);
        let definition = self.abstracts.get(&abstract_id)?;
        let by_style = || {
            definition
                .levels
                .iter()
                .position(|level| level.style.is_some() && level.style.as_deref() == style)
        };
        let level = reference.level.or_else(by_style).unwrap_or(0);
        let usual = Level::default();
        let levels: Vec<&Level> = (0..LEVELS)
            .map(|level| {
                list.levels
                    .get(&level)
                    .or_else(|| definition.levels.get(level))
                    .unwrap_or(&usual)
            })
            .collect();
        let counters = self.counters.entry(abstract_id).or_default();
        if self.started.insert(list_id.to_owned()) {
            for (level, start) in &list.starts {
                if let Some(counter) = counters.get_mut(*level) {
                    *counter = start.checked_sub(1);
                }
            }
        }
        count(counters, &levels, level, &list.starts);
        Some(numbered(counters, &levels, level))
    }

    /// The abstract list behind a list; a numbering style may stand between.
    fn abstract_id(&self, list: &List, styles: &Styles) -> String {
        let own = self.abstracts.get(&list.abstract_list);
        let linked = own
            .filter(|own| own.levels.is_empty())
            .and_then(|own| own.style_link.as_deref());
        let list_of_style = linked
            .and_then(|style| styles.numbering(style))
            .and_then(|id| self.lists.get(&id));
        list_of_style.unwrap_or(list).abstract_list.clone()
    }
}

impl Abstract {
    fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut found = Self::default();
        while let Some(element) = xml.child()? {
            match element.name() {
                "lvl" => {
                    let place = level_of(&element, "ilvl")
                        .unwrap_or(found.levels.len())
                        .min(LEVELS - 1);
                    let level = Level::read(xml)?;
                    found
                        .levels
                        .resize_with(found.levels.len().max(place + 1), Level::default);
                    if let Some(slot) = found.levels.get_mut(place) {
                        *slot = level;
                    }
                    continue;
                }
                "numStyleLink" => {
                    found.style_link = element.value().map(|value| value.into_owned())
                }
                _ => {}
            }
            xml.skip()?;
        }
        Ok(found)
    }
}

impl List {
    fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut list = Self::default();
        while let Some(element) = xml.child()? {
            match element.name() {
                "abstractNumId" => {
                    list.abstract_list = element.value().unwrap_or_default().trim().to_owned()
                }
                "lvlOverride" => {
                    let level = level_of(&element, "ilvl").unwrap_or(0);
                    list.read_override(level, xml)?;
                    continue;
                }
                _ => {}
            }
            xml.skip()?;
        }
        Ok(list)
    }

    fn read_override(&mut self, level: usize, xml: &mut XmlReader) -> Result<()> {
        while let Some(element) = xml.child()? {
            match element.name() {
                "startOverride" => {
                    if let Some(start) = element
                        .number()
                        .and_then(|number| u32::try_from(number).ok())
                    {
                        self.starts.insert(level, start);
                    }
                }
                "lvl" => {
                    self.levels.insert(level, Level::read(xml)?);
                    continue;
                }
                _ => {}
            }
            xml.skip()?;
        }
        Ok(())
    }
}

/// Counts one more at `level`; deeper levels begin anew.
fn count(
    counters: &mut [Option<u32>; LEVELS],
    levels: &[&Level],
    level: usize,
    starts: &HashMap<usize, u32>,
) {
    let start = |place: usize| {
        starts
            .get(&place)
            .copied()
            .or_else(|| levels.get(place).map(|level| level.start))
            .unwrap_or(1)
    };
    for (place, counter) in counters.iter_mut().enumerate() {
        if place < level {
            // A level that was passed over shows its first number.
            counter.get_or_insert_with(|| start(place));
        } else if place == level {
            *counter =
                Some(counter.map_or_else(|| start(place), |number| number.saturating_add(1)));
        } else {
            let restart = levels.get(place).and_then(|level| level.restart);
            if restart.is_none_or(|after| after > 0 && level < after) {
                *counter = None;
            }
        }
    }
}

fn numbered(counters: &[Option<u32>; LEVELS], levels: &[&Level], level: usize) -> Numbered {
    let Some(definition) = levels.get(level) else {
        return Numbered::unmarked(level);
    };
    if definition.format == Format::Bullet {
        return bullet(definition, level);
    }
    let label = Label::of(definition, counters, levels, level);
    // A mark that texts refer to, as `第三条`, `Article 3` or `4.2`, is text: the items of a Markdown
    // list are counted one by one. A mark without text is none.
    let is_text = label.has_words || label.numbers > 1;
    let is_mark = !is_text && !label.text.is_empty() && definition.format != Format::None;
    let number = counters.get(level).copied().flatten().unwrap_or(1);
    Numbered {
        level,
        mark: is_mark.then_some(Mark::Number(number)),
        label: label.text,
        has_words: label.has_words,
    }
}

/// Boxes of a checklist say something, other bullets do not.
fn bullet(definition: &Level, level: usize) -> Numbered {
    let is_box = matches!(definition.text.as_str(), "☐" | "☑" | "☒");
    let label = Some(&definition.text).filter(|_| is_box);
    Numbered {
        mark: Some(Mark::Bullet),
        label: label.cloned().unwrap_or_default(),
        ..Numbered::unmarked(level)
    }
}

/// A mark as it is shown.
#[derive(Default)]
struct Label {
    text: String,
    has_words: bool,
    /// Numbers of levels in it: two in `4.2`.
    numbers: usize,
}

impl Label {
    /// The text of a level's mark, `%1` to `%9` in it replaced by the numbers of those levels.
    fn of(
        definition: &Level,
        counters: &[Option<u32>; LEVELS],
        levels: &[&Level],
        level: usize,
    ) -> Self {
        let mut label = Self::default();
        let mut characters = definition.text.chars().peekable();
        while let Some(character) = characters.next() {
            let place = characters
                .next_if(|digit| character == '%' && matches!(digit, '1'..='9'))
                .and_then(|digit| digit.to_digit(10));
            let Some(place) = place.map(|place| place as usize - 1) else {
                label.has_words |= character.is_alphabetic();
                label.text.push(character);
                continue;
            };
            let value = counters.get(place).copied().flatten().unwrap_or(1);
            let format = match levels.get(place) {
                _ if definition.is_legal && place < level => Format::Decimal,
                Some(other) => other.format,
                None => Format::Decimal,
            };
            label.numbers += 1;
            label.text.push_str(&numeral(value, format));
        }
        label.text = label.text.trim().to_owned();
        label
    }
}

#[cfg(test)]
#[path = "numbering_tests.rs"]
mod tests;
