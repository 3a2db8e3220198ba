//! Resources: the documents that can be found, as Markdown, at `tributary://documents/{id}`.

use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use tributary_store::manifest::list::{ListFilter, ListQuery, Place};

use super::documents;
use super::engine::Engine;
use crate::problem::{Code, Problem};

const PREFIX: &str = "tributary://documents/";
const MEDIA_TYPE: &str = "text/markdown";
/// Documents on a page of the list.
const PAGE: usize = 100;

/// What a document is called as a resource.
pub fn uri(document_id: &str) -> String {
    let mut uri = PREFIX.to_owned();
    for byte in document_id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

/// The id in the name of a resource; an escape that is none stays as it is.
fn document_id(uri: &str) -> Option<String> {
    let name = uri.strip_prefix(PREFIX)?;
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|id| !id.is_empty())
}

/// How resources are called.
pub fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(format!("{PREFIX}{{id}}"), "document")
        .with_title("A document")
        .with_description("A document as Markdown, by its percent-encoded `document_id`")
        .with_mime_type(MEDIA_TYPE);
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// One page of the documents that can be found.
pub async fn list(engine: &Engine, cursor: Option<&str>) -> Result<ListResourcesResult, Problem> {
    // The list knows rights by document only: who is held to sets or levels gets none.
    let principal = &engine.principal;
    if principal.knowledge_sets.is_some() || principal.max_security_level.is_some() {
        return Ok(ListResourcesResult::default());
    }
    let after: Option<Place> = cursor
        .map(str::parse)
        .transpose()
        .map_err(|_| Problem::new(Code::Invalid, "the cursor is none of this server"))?;
    let filter = ListFilter {
        searchable: Some(true),
        viewer: principal.viewer.clone(),
        ..ListFilter::default()
    };
    let query = ListQuery {
        filter,
        order: after.as_ref().map(Place::order).unwrap_or_default(),
        after,
        limit: PAGE.min(engine.state.config.maximum_page),
    };
    let listing = engine.state.documents.list(query).await?;
    let resources = listing.rows.into_iter().map(|row| {
        let document = row.latest;
        engine.trail.document(&document.document_id);
        let name = format!("{}/{}", document.source, document.source_path);
        let resource = Resource::new(uri(&document.document_id), name).with_mime_type(MEDIA_TYPE);
        match document.title.is_empty() {
            true => resource,
            false => resource.with_title(document.title),
        }
    });
    let mut result = ListResourcesResult::with_all_items(resources.collect());
    result.next_cursor = listing.next.map(|next| next.to_string());
    Ok(result)
}

/// One document.
pub async fn read(engine: &Engine, uri: &str) -> Result<ReadResourceResult, Problem> {
    let Some(document_id) = document_id(uri) else {
        let what = format!("`{uri:.200}` is no resource of this server");
        return Err(
            Problem::new(Code::NotFound, what).with_hint(format!("it begins with {PREFIX}"))
        );
    };
    let opened = documents::open(engine, &document_id).await?;
    let text = ResourceContents::text(documents::markdown(&opened), uri);
    Ok(ReadResourceResult::new(vec![
        text.with_mime_type(MEDIA_TYPE),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_id_fits_into_a_name_and_comes_back() {
        for id in ["abc", "wiki/a b.md", "中文 100%", "%41"] {
            assert_eq!(document_id(&uri(id)).as_deref(), Some(id));
        }
        assert_eq!(uri("a/b"), "tributary://documents/a%2Fb");
        assert_eq!(
            document_id("tributary://documents/a/b%2").as_deref(),
            Some("a/b%2")
        );
        for other in [
            "tributary://documents/",
            "file:///a",
            "tributary://documents/%FF",
        ] {
            assert_eq!(document_id(other), None);
        }
    }
}
