//! `version_from_file_name`: `Detailed Design V2.1.docx` → product version 2.1 and a title without it, so that the versions of one design
//! document carry one name (W9: only the newest is kept, which is the producer's choice of document id).

use std::sync::LazyLock;

use regex::Regex;
use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;
use crate::converters::file_stem;

static VERSION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)[\s_\-]*[（(\[]?\b(?:v|ver|version|版本)[\s_.]?(\d{1,4}(?:\.\d{1,4}){0,3})[)）\]]?\s*$").ok());

#[derive(Debug)]
struct VersionFromFileName;

pub(super) fn make(_: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    Ok(Box::new(VersionFromFileName))
}

impl Cleaner for VersionFromFileName {
    fn clean(&self, draft: &mut Draft) {
        // `_` is a word character, which would hide the word boundary before `V`.
        let Some(stem) = file_stem(&draft.source_path).map(|stem| stem.replace('_', " ")) else { return };
        let Some(pattern) = VERSION.as_ref() else { return };
        let Some(version) = pattern.captures(&stem).map(|found| found[1].to_owned()) else { return };
        let shorter = pattern.replace(&draft.title.replace('_', " "), "").trim().to_owned();
        if pattern.is_match(&draft.title.replace('_', " ")) && !shorter.is_empty() {
            draft.title = shorter;
        }
        draft.metadata.insert("document_version".to_owned(), version.clone());
        draft.attributes.product_version.get_or_insert(version);
    }
}
