//! `strip_boilerplate`: drops lines that one of the patterns matches (page headers of exports,
//! copyright lines, "was this helpful").

use regex::{RegexSet, RegexSetBuilder};
use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;
use tributary_convert::lines::map_text_lines;

#[derive(Debug)]
struct StripBoilerplate {
    patterns: RegexSet,
    maximum_line_bytes: usize,
}

pub(super) fn make(settings: &mut Settings, config: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    let patterns = settings.texts("patterns")?;
    if patterns.is_empty() {
        return Err(settings
            .invalid("`patterns` is missing or empty")
            .with_hint("give a list of regular expressions; lines that match one are dropped"));
    }
    let compiled = RegexSetBuilder::new(&patterns)
        .size_limit(config.maximum_pattern_bytes)
        .build();
    let patterns =
        compiled.map_err(|error| settings.invalid(format!("pattern does not compile: {error}")))?;
    Ok(Box::new(StripBoilerplate {
        patterns,
        maximum_line_bytes: config.maximum_pattern_line_bytes,
    }))
}

impl Cleaner for StripBoilerplate {
    fn clean(&self, draft: &mut Draft) {
        draft.markdown = map_text_lines(&draft.markdown, |line| {
            let is_boilerplate = line.len() <= self.maximum_line_bytes
                && !line.trim().is_empty()
                && self.patterns.is_match(line);
            // The blank line that stays keeps the paragraphs around it apart.
            Some(if is_boilerplate {
                String::new()
            } else {
                line.to_owned()
            })
        });
    }
}
