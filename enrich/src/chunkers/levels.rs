//! Security levels of chunks: the highest of all sections that have text in them, by the rules that
//! stand in the document's attributes. What cannot be told has the highest there is.

use std::ops::Range;

use tributary_schemas::{Chunk, ChunkKind, CleanDocument, SectionLevel, section_level};

use crate::markdown::{BlockKind, MAXIMUM_TITLE_CHARACTERS, Outline, Section};

/// What the rules make of the sections of one document.
#[derive(Clone, Debug, Default)]
pub(super) struct SectionLevels {
    /// Bytes of what stands below each heading, down to the next, with its level; in order.
    sections: Vec<(Range<usize>, u8)>,
    /// What all of the document has at least.
    least: u8,
    highest: u8,
    has_rules: bool,
}

impl SectionLevels {
    /// Of a document with its rules; without any, every level is 0.
    pub fn of(clean: &CleanDocument) -> Self {
        let rules = clean.document.attributes.section_rules();
        if rules.is_empty() {
            return Self::default();
        }
        let outline = Outline::parse(&clean.markdown);
        let least = unclear_level(&outline, rules);
        let mut levels: Vec<u8> = Vec::with_capacity(outline.sections.len());
        for section in &outline.sections {
            let above = section.parent.and_then(|parent| levels.get(parent));
            let above = above.copied().unwrap_or(least);
            let own = own_level(&outline, section, rules);
            levels.push(above.max(own));
        }
        let spans = outline.sections.iter();
        let spans = spans.map(|section| outline.span(section.own_blocks.clone()));
        Self {
            highest: levels.iter().copied().max().unwrap_or(least),
            sections: spans.zip(levels).collect(),
            least,
            has_rules: true,
        }
    }

    /// The highest level of any section; `None` without rules.
    pub fn highest(&self) -> Option<u8> {
        self.has_rules.then_some(self.highest)
    }

    /// The highest level of the sections that have something in these bytes of the document; of no
    /// bytes, the highest of all.
    pub fn within(&self, bytes: &Range<usize>) -> u8 {
        if bytes.is_empty() {
            return self.highest;
        }
        self.touched(bytes).max().unwrap_or(self.least)
    }

    /// Whether sections of several levels have something in these bytes.
    pub fn are_mixed_in(&self, bytes: &Range<usize>) -> bool {
        let levels = || self.touched(bytes);
        levels().min() != levels().max()
    }

    fn touched(&self, bytes: &Range<usize>) -> impl Iterator<Item = u8> {
        let is_touched = |span: &Range<usize>| span.start < bytes.end && bytes.start < span.end;
        let sections = self.sections.iter();
        let touched = sections.filter(move |(span, _)| is_touched(span));
        touched.map(|(_, level)| *level)
    }
}

/// The summary of the chunk above, as far as it may stand with one below: not where it has a
/// higher level, as it may say what stands in other sections.
pub(crate) fn summary_for(above: &Chunk, below: &Chunk) -> Option<String> {
    let is_summary = above.kind == ChunkKind::Summary;
    let may_be_seen = above.security_level <= below.security_level;
    (is_summary && may_be_seen).then(|| above.text.clone())
}

/// By the title as it is read and as it is written. One that is too long to be read in full may be
/// meant by any rule.
fn own_level(outline: &Outline<'_>, section: &Section, rules: &[SectionLevel]) -> u8 {
    if section.level == 0 {
        return 0;
    }
    let heading = outline.span(section.own_blocks.start..section.own_blocks.start + 1);
    let written = outline.text(heading);
    if written.chars().count() >= MAXIMUM_TITLE_CHARACTERS {
        return section_level::highest(rules).unwrap_or(0);
    }
    let lines: Vec<&str> = written.lines().filter(|line| !is_underline(line)).collect();
    let written = lines.join(" ");
    let by = |title: &str| section_level::level_of(rules, title);
    by(&section.title)
        .max(by(without_marks(&written)))
        .unwrap_or(0)
}

/// The level of what looks like a heading and begins no section: in quotes, lists and HTML, and in
/// code that nothing ends. Where its section would end cannot be told. Without any heading nothing
/// can be: perhaps none was recognised.
fn unclear_level(outline: &Outline<'_>, rules: &[SectionLevel]) -> u8 {
    if outline.sections.iter().all(|section| section.level == 0) {
        return section_level::highest(rules).unwrap_or(0);
    }
    let blocks = outline.blocks.iter();
    let blocks = blocks.filter(|block| !matches!(block.kind, BlockKind::Heading(_)));
    let texts = blocks.map(|block| (block.kind, outline.text(block.range.clone())));
    let texts = texts.filter(|(kind, text)| *kind != BlockKind::Code || is_open_fence(text));
    let lines = texts.flat_map(|(_, text)| text.lines());
    let levels = lines.filter_map(|line| {
        let heading = hidden_heading(line)?;
        section_level::level_of(rules, &heading)
    });
    levels.max().unwrap_or(0)
}

/// Whether code begins with a fence and ends without one.
fn is_open_fence(code: &str) -> bool {
    let is_fence = |line: &str| {
        let line = line.trim_start();
        line.starts_with("```") || line.starts_with("~~~")
    };
    let mut lines = code.lines();
    let begins = lines.next().is_some_and(is_fence);
    begins && !lines.next_back().is_some_and(is_fence)
}

/// The text of a line that is a heading within something else.
fn hidden_heading(line: &str) -> Option<String> {
    let content = line.trim_start_matches(|mark: char| {
        mark.is_whitespace() || mark.is_ascii_digit() || ">-+*.)".contains(mark)
    });
    if content.starts_with('#') {
        return Some(without_marks(content).to_owned());
    }
    let lowered = content.to_ascii_lowercase();
    let is_html = (1..=6).any(|level| lowered.contains(&format!("<h{level}")));
    is_html.then(|| without_elements(content))
}

fn without_marks(heading: &str) -> &str {
    heading.trim_matches(|mark: char| mark == '#' || mark.is_whitespace())
}

/// What stands between the tags of HTML.
fn without_elements(html: &str) -> String {
    let mut is_tag = false;
    let mut text = String::with_capacity(html.len());
    for character in html.chars() {
        match character {
            '<' => is_tag = true,
            '>' if is_tag => {
                is_tag = false;
                text.push(' ');
            }
            _ if !is_tag => text.push(character),
            _ => {}
        }
    }
    text
}

fn is_underline(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|mark| mark == '=' || mark == '-')
}
