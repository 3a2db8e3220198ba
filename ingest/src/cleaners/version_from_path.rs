//! `version_from_path`: a version that is part of the path: `guide/v1.2/setup.md` → version 1.2 of
//! `guide/v*/setup.md`. Metadata `document_version` and `versionless_path`, by which `newest_only`
//! tells the versions of a document.

use regex::Regex;
use tributary_schemas::Result;
use tributary_taxonomy::fold;

use super::{Cleaner, DOCUMENT_VERSION, Draft, Settings, VERSIONLESS_PATH};
use crate::config::CleanersConfig;

const HINT: &str = "such as `pattern = '/v(?<version>[0-9.]+)/'`";

#[derive(Debug)]
struct VersionFromPath {
    pattern: Regex,
}

pub(super) fn make(settings: &mut Settings, config: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    Ok(Box::new(VersionFromPath {
        pattern: settings.pattern("pattern", &["version"], config, HINT)?,
    }))
}

impl Cleaner for VersionFromPath {
    fn clean(&self, draft: &mut Draft) {
        let path = draft.source_path.clone();
        let Some(version) = self
            .pattern
            .captures(&path)
            .and_then(|found| found.name("version"))
        else {
            return;
        };
        let (before, after) = (
            path.get(..version.start()).unwrap_or_default(),
            path.get(version.end()..).unwrap_or_default(),
        );
        draft.metadata.insert(
            VERSIONLESS_PATH.to_owned(),
            fold(&format!("{before}*{after}")).into_owned(),
        );
        draft
            .metadata
            .insert(DOCUMENT_VERSION.to_owned(), version.as_str().to_owned());
        draft
            .attributes
            .product_version
            .get_or_insert_with(|| version.as_str().to_owned());
    }
}
