//! `title_prefix`: puts an attribute before the title, `[product] title`: cases are told apart by
//! their product.

use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;

#[derive(Debug)]
struct TitlePrefix {
    attribute: String,
}

pub(super) fn make(settings: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    let attribute = settings.text("attribute")?;
    let attribute = attribute.filter(|name| !name.is_empty());
    let attribute = attribute.ok_or_else(|| {
        settings
            .invalid("`attribute` is missing")
            .with_hint("name the attribute, such as `attribute = \"product\"`")
    })?;
    Ok(Box::new(TitlePrefix { attribute }))
}

impl Cleaner for TitlePrefix {
    fn clean(&self, draft: &mut Draft) {
        let value = draft
            .attributes
            .text(&self.attribute)
            .or_else(|| draft.metadata.get(&self.attribute).map(String::as_str));
        let Some(value) = value.map(str::trim).filter(|value| !value.is_empty()) else {
            return;
        };
        // A title that names it already needs no second mention, and cleaning twice changes
        // nothing.
        if !draft.title.to_lowercase().contains(&value.to_lowercase()) {
            draft.title = format!("[{value}] {}", draft.title);
        }
    }
}
