//! `/v1/tables/{id}`: the tables of spreadsheets and delimited text as SQLite databases, kept as
//! blobs. Only what is one is answered: other blobs are none of a reader's business.

use actix_web::{HttpResponse, web};

use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// What links of kept files begin with, followed by their hash.
const SCHEME: &str = "blob:";
/// Where the server answers them.
const PATH: &str = "/v1/tables/";
/// What every SQLite database begins with.
const SIGN: &[u8] = b"SQLite format 3\0";

/// One database. Its address is the hash of its content, so it never changes.
pub async fn get(
    state: web::Data<ServerState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let missing = || {
        Problem::new(Code::NotFound, "there are no tables of this name")
            .with_hint("GET /v1/documents/{id} names those of a document in `tables`")
    };
    let found = state.blobs.get(&format!("{SCHEME}{id}")).await;
    let bytes = found.map_err(|error| match Problem::from(error) {
        problem if matches!(problem.code(), Code::NotFound | Code::Invalid) => missing(),
        problem => problem,
    })?;
    if !bytes.starts_with(SIGN) {
        return Err(missing());
    }
    Ok(HttpResponse::Ok()
        .content_type("application/vnd.sqlite3")
        .insert_header((
            "content-disposition",
            "attachment; filename=\"tables.sqlite\"",
        ))
        .insert_header(("cache-control", "private, max-age=31536000, immutable"))
        .body(bytes))
}

/// The link under which a reader gets kept tables.
pub fn link(stored: &str) -> String {
    let hash = stored.strip_prefix(SCHEME).unwrap_or(stored);
    format!("{PATH}{hash}")
}
