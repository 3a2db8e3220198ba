//! `/v1/images/{id}`: pictures that documents carry, kept as blobs. What a document brought is not
//! trusted: only formats that are nothing but pixels are answered, each as what its first bytes
//! show. Where rights by document hold, only those that a document shows which the caller may see.

use actix_web::{HttpResponse, web};
use tributary_schemas::picture::media_type;

use super::caller::Caller;
use crate::audit;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// What links of kept files begin with, followed by their hash.
const SCHEME: &str = "blob:";

/// Where the server answers them.
pub const PATH: &str = "/v1/images/";

/// One picture. Its address is the hash of its content, so it never changes; who may see it does.
pub async fn get(
    state: web::Data<ServerState>,
    id: web::Path<String>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let missing = || {
        Problem::new(Code::NotFound, "there is no picture of this name")
            .with_hint("hits name theirs in `images`")
    };
    let stored = format!("{SCHEME}{id}");
    // Whoever may see every document is held up for the record alone: any kept picture is theirs.
    let trail = audit::current();
    if caller.viewer().is_some() || trail.is_kept() {
        let showing = state.retriever.document_showing(&stored, &caller.principal);
        match showing.await? {
            Some(document) => trail.document(&document),
            None if caller.viewer().is_some() => return Err(missing()),
            None => {}
        }
    }
    let bytes = state
        .blobs
        .get(&stored)
        .await
        .map_err(|error| match Problem::from(error) {
            problem if matches!(problem.code(), Code::NotFound | Code::Invalid) => missing(),
            problem => problem,
        })?;
    let media_type = media_type(&bytes).ok_or_else(missing)?;
    let kept = match caller.viewer() {
        None => "private, max-age=31536000, immutable",
        Some(_) => "private, no-store",
    };
    Ok(HttpResponse::Ok()
        .content_type(media_type)
        .insert_header(("cache-control", kept))
        .body(bytes))
}

/// The link under which a reader gets a picture: a path of this server for those that are kept,
/// otherwise what the document says.
pub fn link(stored: &str) -> String {
    stored
        .strip_prefix(SCHEME)
        .map_or_else(|| stored.to_owned(), |hash| format!("{PATH}{hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_kept_pictures_lead_to_this_server() {
        assert_eq!(link("blob:abc"), "/v1/images/abc");
        assert_eq!(link("https://host/a.png"), "https://host/a.png");
    }
}
