//! `/v1/documents/{id}/pages/{number}`: a page of a PDF as a picture, drawn when it is asked for
//! from the original, of a document that is searchable for the caller.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use tributary_schemas::Error;

use super::caller::Caller;
use super::documents::{self, GetParameters};
use super::originals::Original;
use super::{entity_tag, percent};
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// What has pages that can be drawn.
const PDF: &str = "application/pdf";

/// The link below which a reader gets pages of a document by their numbers, if it has any.
pub fn link(document_id: &str, media_type: &str) -> Option<String> {
    let link = format!("/v1/documents/{}/pages/", percent::encoded(document_id));
    (media_type == PDF).then_some(link)
}

/// One page, counted from 1, as JPEG.
pub async fn get(
    state: web::Data<ServerState>,
    request: HttpRequest,
    path: web::Path<(String, u32)>,
    parameters: web::Query<GetParameters>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let (name, page) = path.into_inner();
    // An id may have slashes: a document that is called so is meant by its name.
    let whole = format!("{name}/pages/{page}");
    if documents::is_known(&state, &whole, caller.viewer()).await {
        return documents::get(state, whole.into(), parameters, caller).await;
    }
    let original = Original::find(&state, &name, &caller).await?;
    let media_type = &original.view.media_type;
    if media_type != PDF {
        let what = format!("pages are drawn of PDF alone, and `{name:.200}` is {media_type}");
        return Err(Problem::new(Code::Unsupported, what)
            .with_hint("slides have their pictures in `images` of their passages"));
    }
    let tag = format!("\"{}-{page}\"", original.tag());
    if entity_tag::is_known(&request, &tag) {
        return Ok(HttpResponse::NotModified().finish());
    }
    let picture = picture(&state, original.stored, page).await?;
    Ok(HttpResponse::Ok()
        .content_type("image/jpeg")
        .insert_header(("cache-control", "private, no-cache"))
        .insert_header(("etag", tag))
        .body(picture))
}

/// As it was drawn before, or drawn now, within the turns for drawings.
async fn picture(state: &ServerState, stored: String, page: u32) -> Result<Bytes, Problem> {
    let key = (stored, page);
    if let Some(drawn) = state.drawn_pages.get(&key) {
        return told(drawn);
    }
    let turn = state.drawings.turn().await?;
    // Others may have asked for the same page before.
    if let Some(drawn) = state.drawn_pages.get(&key) {
        return told(drawn);
    }
    let pdf = state.blobs.get(&key.0).await?;
    let (drawing, pages) = (
        Arc::clone(&state.page_drawing),
        Arc::clone(&state.drawn_pages),
    );
    // Goes on, with its turn, also where nobody waits for it any more: the process works on.
    let drawn = tokio::spawn(async move {
        let _turn = turn;
        let drawn = drawing.draw(pdf, page).await;
        pages.put(key, &drawn);
        drawn
    });
    let stopped = |error| Problem::new(Code::Internal, format!("drawing stopped: {error}"));
    told(drawn.await.map_err(stopped)?)
}

fn told(drawn: Result<Bytes, Error>) -> Result<Bytes, Problem> {
    drawn.map_err(Problem::from)
}
