//! What goes to a service, and what its answer changes. Pages, which are offsets into the text here,
//! are form feeds there.

use std::collections::BTreeMap;

use serde::Serialize;
use tributary_convert::pages;
use tributary_convert::titles::one_line;
use tributary_schemas::external_step::{ExternalReply, ExternalRequest};
use tributary_schemas::{CleanDocument, Result, limits};

use crate::cleaners::normalize_text;
use crate::lost_headings;

/// What a step changed of a document, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Name of the step.
    pub step: String,
    /// Each of `title`, `text`, `attributes`, `metadata`, `tags` that is not what it was.
    pub changed: Vec<&'static str>,
}

impl Changes {
    /// Nothing.
    pub fn none(step: &str) -> Self {
        Self {
            step: step.to_owned(),
            changed: Vec::new(),
        }
    }

    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }
}

/// The document for a service.
pub(super) fn request(clean: &CleanDocument) -> ExternalRequest {
    let document = &clean.document;
    ExternalRequest {
        document_id: document.document_id.clone(),
        version: document.version,
        source: document.source.clone(),
        source_path: document.source_path.clone(),
        media_type: document.media_type.clone(),
        title: document.title.clone(),
        markdown: with_form_feeds(&clean.markdown, &clean.page_starts),
        attributes: document.attributes.clone(),
        metadata: clean.metadata.clone(),
        tags: document.tags.clone(),
    }
}

/// Changes the document as the answer says; `Invalid` if it may not.
pub(super) fn apply(
    step: &str,
    clean: &mut CleanDocument,
    request: &ExternalRequest,
    reply: ExternalReply,
) -> Result<Changes> {
    reply.check(request)?;
    let before = clean.clone();
    let document = &mut clean.document;
    if let Some(title) = reply.title {
        document.title = one_line(&title, limits::TITLE_BYTES);
    }
    if let Some(attributes) = reply.attributes {
        merge(&mut document.attributes.custom, attributes.custom);
        limits::check_attributes(&document.attributes)?;
    }
    add_tags(&mut document.tags, reply.tags);
    merge(&mut clean.metadata, reply.metadata);
    if let Some(markdown) = reply.markdown.filter(|text| *text != request.markdown) {
        let rules = document.attributes.section_rules().to_vec();
        let headings = lost_headings::Before::new(rules, &clean.markdown);
        let marked = normalize_text(&pages::mark(&markdown));
        (clean.markdown, clean.page_starts) = pages::take_out(&marked);
        headings.guard(&clean.markdown, &mut clean.document.attributes);
    }
    Ok(differences(step, &before, clean))
}

fn add_tags(tags: &mut Vec<String>, more: Vec<String>) {
    for tag in more {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
}

fn merge(values: &mut BTreeMap<String, String>, changes: BTreeMap<String, Option<String>>) {
    for (name, change) in changes {
        match change {
            Some(value) => values.insert(name, value),
            None => values.remove(&name),
        };
    }
}

fn differences(step: &str, before: &CleanDocument, after: &CleanDocument) -> Changes {
    let (old, new) = (&before.document, &after.document);
    let is_changed = [
        ("title", old.title != new.title),
        ("text", before.markdown != after.markdown),
        ("attributes", old.attributes != new.attributes),
        ("metadata", before.metadata != after.metadata),
        ("tags", old.tags != new.tags),
    ];
    let changed = is_changed.into_iter().filter(|(_, is_changed)| *is_changed);
    Changes {
        step: step.to_owned(),
        changed: changed.map(|(what, _)| what).collect(),
    }
}

/// The text with a form feed before each page but the first.
fn with_form_feeds(markdown: &str, page_starts: &[u64]) -> String {
    let mut text = String::with_capacity(markdown.len() + page_starts.len());
    let mut rest = markdown;
    let mut position = 0;
    for start in page_starts.iter().skip(1) {
        let start = usize::try_from(*start).unwrap_or(usize::MAX);
        let Some((page, behind)) = rest.split_at_checked(start.saturating_sub(position)) else {
            break;
        };
        text.push_str(page);
        text.push('\u{c}');
        (rest, position) = (behind, start);
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> CleanDocument {
        let marked = pages::mark("# 一\n\ntext\u{c}# Two\n\u{c}\u{c}four\n");
        let (markdown, page_starts) = pages::take_out(&marked);
        let mut clean = CleanDocument {
            markdown,
            page_starts,
            metadata: BTreeMap::from([("path_1".to_owned(), "cases".to_owned())]),
            ..CleanDocument::default()
        };
        clean.document.document_id = "d".to_owned();
        clean.document.version = 7;
        clean.document.title = "一".to_owned();
        clean
    }

    fn applied(reply: serde_json::Value) -> Result<(CleanDocument, Changes)> {
        let mut clean = document();
        let request = request(&clean);
        let reply = super::super::read(reply.to_string().as_bytes())?;
        let changes = apply("s", &mut clean, &request, reply)?;
        Ok((clean, changes))
    }

    #[test]
    fn what_is_left_out_stays_and_pages_survive_the_way_there_and_back() {
        let text = request(&document()).markdown;
        assert_eq!(text, "# 一\n\ntext\n\n\u{c}# Two\n\u{c}\n\u{c}four\n");
        for reply in [
            json!({"document_id": "d", "version": 7}),
            json!({"document_id": "d", "version": 7, "markdown": text}),
        ] {
            let (clean, changes) = applied(reply).unwrap();
            assert_eq!((clean, changes.is_empty()), (document(), true));
        }
        let (clean, _) = applied(json!({
            "document_id": "d", "version": 7, "markdown": text.replace("text", "longer text"),
        }))
        .unwrap();
        let shift = "longer ".len() as u64;
        let moved = document().page_starts;
        let moved: Vec<u64> = std::iter::once(0)
            .chain(moved.iter().skip(1).map(|start| start + shift))
            .collect();
        assert_eq!(clean.page_starts, moved);
    }

    #[test]
    fn a_closed_heading_that_the_answer_lacks_closes_the_document() {
        let level = |markdown: &str| {
            let mut clean = document();
            clean.document.attributes.section_levels =
                Some(vec![tributary_schemas::SectionLevel {
                    heading: "two".to_owned(),
                    security_level: 3,
                }]);
            let request = request(&clean);
            let reply = json!({"document_id": "d", "version": 7, "markdown": markdown});
            let reply = super::super::read(reply.to_string().as_bytes()).unwrap();
            apply("s", &mut clean, &request, reply).unwrap();
            clean.document.attributes.security_level
        };
        assert_eq!(level("# Other\n\n## Two\n\ntext\n"), None);
        assert_eq!(level("# Other\n\ntext\n"), Some(3));
    }

    #[test]
    fn what_may_change_does() {
        let (clean, changes) = applied(json!({
            "document_id": "d", "version": 7, "title": "Two\nlines", "markdown": "x\u{0}y\n",
            "attributes": {"custom": {"reviewed": "yes"}},
            "metadata": {"path_1": null, "n": "1"}, "tags": ["a", "a"],
        }))
        .unwrap();
        assert_eq!(clean.document.title, "Two lines");
        assert_eq!(clean.markdown, "xy\n");
        assert_eq!(clean.document.attributes.text("reviewed"), Some("yes"));
        assert_eq!(clean.metadata.get("n").map(String::as_str), Some("1"));
        assert!(!clean.metadata.contains_key("path_1"));
        assert_eq!(clean.document.tags, ["a"]);
        let all = ["title", "text", "attributes", "metadata", "tags"];
        assert_eq!(changes.changed, all);
    }

    #[test]
    fn what_may_not_change_is_refused_by_name() {
        for (reply, named) in [
            (
                json!({"document_id": "e", "version": 7}),
                "another document",
            ),
            (
                json!({"document_id": "d", "version": 8}),
                "version 8 instead of 7",
            ),
            (json!({"version": 7}), "document_id"),
            (
                json!({"document_id": "d", "version": 7, "attributes": {"custom": {"department": "X"}}}),
                "`department`",
            ),
            (
                json!({"document_id": "d", "version": 7, "chunks": []}),
                "chunks",
            ),
            (
                json!({"document_id": "d", "version": 7, "title": " "}),
                "blank title",
            ),
            (
                json!({"document_id": "d", "version": 7, "attributes": {"security_level": 0}}),
                "security_level",
            ),
            (
                json!({"document_id": "d", "version": 7, "metadata": {"tables_database": "x"}}),
                "tables_database",
            ),
            (
                json!({"document_id": "d", "version": 7, "tags": [""]}),
                "tag",
            ),
            (json!([]), "not as asked for"),
        ] {
            let error = applied(reply).unwrap_err();
            assert!(error.to_string().contains(named), "{named} in {error}");
        }
    }
}
