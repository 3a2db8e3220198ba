//! `organization_note`: organisation and department as a line under the title, so that design
//! documents are found by who owns them.

use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;

#[derive(Debug)]
struct OrganizationNote;

pub(super) fn make(_: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    Ok(Box::new(OrganizationNote))
}

/// What is missing between text and a paragraph behind it.
fn gap_after(text: &str) -> &'static str {
    if text.is_empty() {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    }
}

impl Cleaner for OrganizationNote {
    fn clean(&self, draft: &mut Draft) {
        let parts: Vec<&str> = [&draft.attributes.organization, &draft.attributes.department]
            .into_iter()
            .flatten()
            .map(|part| part.trim())
            .filter(|part| !part.is_empty())
            .collect();
        if parts.is_empty() || draft.markdown.trim().is_empty() {
            return;
        }
        let note = format!("**{}**\n\n", parts.join(" / "));
        let heading = draft
            .markdown
            .split_inclusive('\n')
            .next()
            .filter(|line| line.starts_with("# "));
        let at = heading.map_or(0, str::len);
        let (before, after) = draft.markdown.split_at(at);
        let after = after.trim_start_matches('\n');
        if after.starts_with(note.trim_end()) {
            return;
        }
        let gap = gap_after(before);
        draft.markdown = format!("{before}{gap}{note}{after}");
    }
}
