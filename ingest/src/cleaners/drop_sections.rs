//! `drop_sections`: drops sections whose heading one of the patterns matches, down to the next
//! heading of the same level or a higher one (reference lists, exercises). The first heading of a
//! text, its title, is never taken for one.

use regex::{RegexSet, RegexSetBuilder};
use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;
use tributary_convert::lines::{LineKind, classified, heading_text};

#[derive(Debug)]
struct DropSections {
    headings: RegexSet,
}

pub(super) fn make(settings: &mut Settings, config: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    let headings = settings.texts("headings")?;
    if headings.is_empty() {
        return Err(settings
            .invalid("`headings` is missing or empty")
            .with_hint("give a list of regular expressions, such as `headings = ['^(References|参考文献)$']`"));
    }
    let compiled = RegexSetBuilder::new(&headings)
        .size_limit(config.maximum_pattern_bytes)
        .build();
    let headings = compiled.map_err(|error| {
        settings.invalid(format!("a pattern of `headings` does not compile: {error}"))
    })?;
    Ok(Box::new(DropSections { headings }))
}

impl Cleaner for DropSections {
    fn clean(&self, draft: &mut Draft) {
        let mut kept = String::with_capacity(draft.markdown.len());
        // Level of the section that is being dropped.
        let mut dropping: Option<usize> = None;
        let mut is_first = true;
        for (line, kind) in classified(&draft.markdown) {
            if let LineKind::Heading(level) = kind {
                if dropping.is_none_or(|dropped| level <= dropped) {
                    dropping =
                        (!is_first && self.headings.is_match(heading_text(line))).then_some(level);
                }
                is_first = false;
            }
            // Where pages begin stays known.
            if dropping.is_none() || line.chars().any(tributary_convert::pages::is_mark) {
                kept.push_str(line);
            }
        }
        draft.markdown = kept;
    }
}
