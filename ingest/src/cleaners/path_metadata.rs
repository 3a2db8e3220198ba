//! `path_metadata`: the folders of a document's path into metadata (`path`, `path_1`, `path_2` …)
//! and, where `levels` names them, into attributes (Support: product/version/chapter; Wiki:
//! space/page).

use tributary_schemas::Result;
use tributary_schemas::names::without_query;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;

/// Folders that are kept.
const MAXIMUM_LEVELS: usize = 16;

#[derive(Debug)]
struct PathMetadata {
    /// Attribute for each folder from the top; empty for none.
    levels: Vec<String>,
}

pub(super) fn make(settings: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    Ok(Box::new(PathMetadata {
        levels: settings.texts("levels")?,
    }))
}

impl Cleaner for PathMetadata {
    fn clean(&self, draft: &mut Draft) {
        let folders = folders(&draft.source_path);
        if folders.is_empty() {
            return;
        }
        draft
            .metadata
            .insert("path".to_owned(), folders.join(" / "));
        for (place, folder) in folders.iter().enumerate() {
            draft
                .metadata
                .insert(format!("path_{}", place + 1), folder.clone());
        }
        for (name, folder) in self
            .levels
            .iter()
            .zip(folders)
            .filter(|(name, _)| !name.is_empty())
        {
            draft.fill(name, folder);
        }
    }
}

/// Names of the folders above the document, without scheme and host.
fn folders(source_path: &str) -> Vec<String> {
    let path = without_query(source_path);
    let path = path.split_once("://").map_or(path, |(_, after)| {
        after.split_once('/').map_or("", |(_, path)| path)
    });
    let mut parts: Vec<&str> = path
        .split(['/', '\\'])
        .filter(|part| !part.is_empty() && *part != "." && *part != "..")
        .collect();
    parts.pop();
    parts
        .into_iter()
        .take(MAXIMUM_LEVELS)
        .map(|part| part.trim().to_owned())
        .collect()
}
