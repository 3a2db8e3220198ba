//! `drop_anchors`: what only helps a browser jump: `<a name="x"></a>`, `{#id}` behind headings, `¶`
//! links, "back to top".

use std::sync::LazyLock;

use regex::Regex;
use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;
use tributary_convert::lines::map_text_lines;

static ANCHOR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)<a\s+(?:name|id)\s*=\s*["']?[^"'<>\s]*["']?\s*(?:/>|>\s*(?:</a>)?)"#).ok()
});
static HEADING_ID: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(#{1,6}\s.*?)\s*\{#[^{}]*\}\s*$").ok());
static JUMP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\[(?:¶|#|🔗|back to top|top|返回顶部|回到顶部)\]\(#[^()]*\)").ok()
});

#[derive(Debug)]
struct DropAnchors;

pub(super) fn make(_: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    Ok(Box::new(DropAnchors))
}

impl Cleaner for DropAnchors {
    fn clean(&self, draft: &mut Draft) {
        draft.markdown = map_text_lines(&draft.markdown, |line| {
            let may_have = line.contains('<') || line.contains("{#") || line.contains("](#");
            Some(if may_have {
                without_anchors(line)
            } else {
                line.to_owned()
            })
        });
    }
}

fn without_anchors(line: &str) -> String {
    let mut result = line.to_owned();
    for (pattern, replacement) in [(&ANCHOR, ""), (&HEADING_ID, "$1"), (&JUMP, "")] {
        if let Some(pattern) = pattern.as_ref() {
            result = pattern.replace_all(&result, replacement).into_owned();
        }
    }
    result
}
