//! `replace_text`: puts other text in the place of some, in text and title: placeholders that an
//! export did not fill in. Code stays. The text is looked for as a reader sees it: a backslash that
//! keeps Markdown from reading one of its signs as a mark, as before a bar, belongs to the sign.

use std::borrow::Cow;

use regex::{NoExpand, Regex};
use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;
use tributary_convert::lines::map_text_lines;

#[derive(Debug)]
struct ReplaceText {
    replacements: Vec<(Regex, String)>,
}

pub(super) fn make(settings: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    let replacements = settings.required_table(
        "replacements",
        "such as `replacements = { \"|product|\" = \"gNodeB\" }`",
    )?;
    if replacements.iter().any(|(text, _)| text.is_empty()) {
        return Err(settings.invalid("an empty text cannot be replaced"));
    }
    let replacements = replacements.into_iter().map(|(from, to)| {
        let from = Regex::new(&pattern(&from)).map_err(|error| settings.invalid(error))?;
        Ok((from, to))
    });
    let replacements = replacements.collect::<Result<_>>()?;
    Ok(Box::new(ReplaceText { replacements }))
}

/// Matches a text, whichever of its signs are escaped.
fn pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() * 2);
    for character in text.chars() {
        if character.is_ascii_punctuation() {
            pattern.push_str(r"\\?");
        }
        pattern.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
    }
    pattern
}

impl Cleaner for ReplaceText {
    fn clean(&self, draft: &mut Draft) {
        draft.title = self.replaced(&draft.title);
        draft.markdown = map_text_lines(&draft.markdown, |line| Some(self.replaced(line)));
    }
}

impl ReplaceText {
    fn replaced(&self, text: &str) -> String {
        let mut result = text.to_owned();
        for (from, to) in &self.replacements {
            if let Cow::Owned(replaced) = from.replace_all(&result, NoExpand(to)) {
                result = replaced;
            }
        }
        result
    }
}
