//! `drop_learned_boilerplate`: removes the blocks that were learned to repeat across the documents
//! of the source, see [`crate::boilerplate`].

use std::collections::HashSet;

use tributary_schemas::{Error, Result};

use super::{Cleaner, Draft, Settings};
use crate::boilerplate::{Learned, without};
use crate::config::CleanersConfig;

/// Name of the step.
pub const NAME: &str = "drop_learned_boilerplate";

#[derive(Debug)]
struct DropLearnedBoilerplate {
    hashes: HashSet<String>,
}

pub(super) fn make(settings: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    let file = settings.required_text(
        "file",
        "name the file, such as `file = \"learned/wiki.toml\"`",
    )?;
    let Some(text) = settings.file_text.take() else {
        return Err(settings.invalid(format!("file `{file}` was not read")));
    };
    let learned = Learned::from_toml(&text).map_err(|error| {
        let located = Error::new(
            error.kind(),
            format!("{}: file `{file}`: {error}", settings.place),
        );
        error
            .hint()
            .map(|hint| located.clone().with_hint(hint))
            .unwrap_or(located)
    })?;
    Ok(Box::new(DropLearnedBoilerplate {
        hashes: learned.hashes(),
    }))
}

impl Cleaner for DropLearnedBoilerplate {
    fn clean(&self, draft: &mut Draft) {
        let (markdown, dropped) = without(&draft.markdown, &self.hashes);
        if dropped > 0 {
            draft.markdown = super::normalize_text(&markdown);
        }
    }
}
