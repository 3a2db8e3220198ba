//! Texts of one reply: citations of numbers that were not given are taken out and counted.

use crate::answer::CitationFilter;

/// Checks the citations of several texts.
pub struct Cited {
    sources: u32,
    /// Numbers that are cited, in the order of their first citation.
    pub cited: Vec<u32>,
    /// Citations that were taken out.
    pub removed: u32,
}

impl Cited {
    /// For texts that were given so many sources, from 1.
    pub fn new(sources: usize) -> Self {
        Self {
            sources: u32::try_from(sources).unwrap_or(u32::MAX),
            cited: Vec::new(),
            removed: 0,
        }
    }

    /// A text as it may be shown.
    pub fn check(&mut self, text: &str) -> String {
        let mut filter = CitationFilter::new(self.sources);
        let mut checked = filter.push(text.trim()).text;
        checked.push_str(&filter.finish().text);
        self.removed = self.removed.saturating_add(filter.removed());
        for number in filter.cited() {
            if !self.cited.contains(number) {
                self.cited.push(*number);
            }
        }
        checked
    }
}
