//! `replace_text`: puts other text in the place of some, in text and title: placeholders that an
//! export did not fill in. Code stays. In a table a bar is written `\|`, so a placeholder with bars
//! is looked for in both forms.

use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;
use tributary_convert::lines::map_text_lines;

#[derive(Debug)]
struct ReplaceText {
    replacements: Vec<(String, String)>,
}

pub(super) fn make(settings: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    let replacements = settings.required_table(
        "replacements",
        "such as `replacements = { \"|product|\" = \"gNodeB\" }`",
    )?;
    if replacements.iter().any(|(text, _)| text.is_empty()) {
        return Err(settings.invalid("an empty text cannot be replaced"));
    }
    let in_tables: Vec<(String, String)> = replacements
        .iter()
        .filter(|(from, _)| from.contains('|'))
        .map(|(from, to)| (from.replace('|', "\\|"), to.clone()))
        .collect();
    // First, since the other form may be a part of it.
    let replacements = in_tables.into_iter().chain(replacements).collect();
    Ok(Box::new(ReplaceText { replacements }))
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
        for (from, to) in self
            .replacements
            .iter()
            .filter(|(from, _)| text.contains(from))
        {
            result = result.replace(from, to);
        }
        result
    }
}
