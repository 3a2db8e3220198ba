//! `version_from_file_name`: `Detailed Design V2.1.docx` → product version 2.1 and a title without
//! it, so that the versions of one design document carry one name. Metadata `document_version` and
//! `versionless_path`, by which `newest_only` tells the versions of a document.

use std::sync::LazyLock;

use regex::Regex;
use tributary_schemas::Result;
use tributary_taxonomy::fold;

use super::{Cleaner, DOCUMENT_VERSION, Draft, Settings, VERSIONLESS_PATH};
use crate::config::CleanersConfig;
use tributary_convert::titles::file_stem;

static VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)[\s_\-]*[（(\[]?\b(?:v|ver|version|版本)[\s_.]?(\d{1,4}(?:\.\d{1,4}){0,3})[)）\]]?\s*$").ok()
});

#[derive(Debug)]
struct VersionFromFileName;

pub(super) fn make(_: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    Ok(Box::new(VersionFromFileName))
}

impl Cleaner for VersionFromFileName {
    fn clean(&self, draft: &mut Draft) {
        // `_` is a word character, which would hide the word boundary before `V`.
        let Some(stem) = file_stem(&draft.source_path).map(|stem| stem.replace('_', " ")) else {
            return;
        };
        let Some(pattern) = VERSION.as_ref() else {
            return;
        };
        let Some(found) = pattern.captures(&stem) else {
            return;
        };
        let (Some(whole), Some(version)) = (found.get(0), found.get(1)) else {
            return;
        };
        let (name, version) = (
            stem.get(..whole.start()).unwrap_or_default(),
            version.as_str().to_owned(),
        );
        let folder = draft
            .source_path
            .rsplit_once(['/', '\\'])
            .map_or("", |(folder, _)| folder);
        draft.metadata.insert(
            VERSIONLESS_PATH.to_owned(),
            fold(&format!("{folder}/{name}")).into_owned(),
        );
        let shorter = pattern
            .replace(&draft.title.replace('_', " "), "")
            .trim()
            .to_owned();
        if pattern.is_match(&draft.title.replace('_', " ")) && !shorter.is_empty() {
            draft.title = shorter;
        }
        draft
            .metadata
            .insert(DOCUMENT_VERSION.to_owned(), version.clone());
        draft.attributes.product_version.get_or_insert(version);
    }
}
