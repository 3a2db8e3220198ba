//! `/v1/tables/{id}`: the tables of spreadsheets and delimited text as SQLite databases, kept as
//! blobs. Only those of a document that the caller may see are answered: a blob outlives its
//! document, and other blobs are none of a reader's business.

use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::Deserialize;
use tributary_retrieval::DocumentParts;
use tributary_schemas::document::TABLES_DATABASE;

use super::caller::Caller;
use super::percent;
use crate::audit;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// What links of kept files begin with, followed by their hash.
const SCHEME: &str = "blob:";
/// Where the server answers them.
const PATH: &str = "/v1/tables/";
/// What every SQLite database begins with.
const SIGN: &[u8] = b"SQLite format 3\0";

/// Parameters of `GET /v1/tables/{id}`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableParameters {
    /// Id of the document that they are the tables of.
    document: Option<String>,
}

/// One database of a document that is there.
pub async fn get(
    state: web::Data<ServerState>,
    id: web::Path<String>,
    parameters: web::Query<TableParameters>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let missing = || {
        Problem::new(Code::NotFound, "there are no tables of this name")
            .with_hint("GET /v1/documents/{id} has the whole address of a document's in `tables`")
    };
    let stored = format!("{SCHEME}{id}");
    let document_id = parameters.into_inner().document.ok_or_else(missing)?;
    if !belong_to(&state, &stored, &document_id, &caller).await? {
        return Err(missing());
    }
    let found = state.blobs.get(&stored).await;
    let bytes = found.map_err(|error| match Problem::from(error) {
        problem if matches!(problem.code(), Code::NotFound | Code::Invalid) => missing(),
        problem => problem,
    })?;
    if !bytes.starts_with(SIGN) {
        return Err(missing());
    }
    audit::current().document(&document_id);
    Ok(HttpResponse::Ok()
        .content_type("application/vnd.sqlite3")
        .insert_header((
            "content-disposition",
            "attachment; filename=\"tables.sqlite\"",
        ))
        .body(bytes))
}

/// Whether these are the tables of a document that is searchable for the caller.
async fn belong_to(
    state: &ServerState,
    stored: &str,
    document_id: &str,
    caller: &Caller,
) -> Result<bool, Problem> {
    let parts = DocumentParts::default();
    let view = state
        .retriever
        .document(document_id, parts, &caller.principal)
        .await?;
    let tables = view.and_then(|mut view| view.metadata.remove(TABLES_DATABASE));
    Ok(tables.is_some_and(|tables| tables == stored))
}

/// The link under which a reader gets kept tables of a document.
pub fn link(stored: &str, document_id: &str) -> String {
    let hash = stored.strip_prefix(SCHEME).unwrap_or(stored);
    format!("{PATH}{hash}?document={}", percent::encoded(document_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_names_the_document_whatever_its_id_is() {
        assert_eq!(
            link("blob:abc", "wiki/a&b é"),
            "/v1/tables/abc?document=wiki%2Fa%26b%20%C3%A9"
        );
    }
}
