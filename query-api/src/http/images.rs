//! `/v1/images/{id}`: pictures that documents carry, kept as blobs. What a document brought is not
//! trusted: only formats that are nothing but pixels are answered, each as what its first bytes
//! show.

use actix_web::{HttpResponse, web};

use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// What links of kept files begin with, followed by their hash.
const SCHEME: &str = "blob:";

/// Where the server answers them.
const PATH: &str = "/v1/images/";

/// One picture. Its address is the hash of its content, so it never changes.
pub async fn get(
    state: web::Data<ServerState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let missing = || {
        Problem::new(Code::NotFound, "there is no picture of this name")
            .with_hint("hits name theirs in `images`")
    };
    let bytes =
        state
            .blobs
            .get(&format!("{SCHEME}{id}"))
            .await
            .map_err(|error| match Problem::from(error) {
                problem if matches!(problem.code(), Code::NotFound | Code::Invalid) => missing(),
                problem => problem,
            })?;
    let media_type = media_type(&bytes).ok_or_else(missing)?;
    Ok(HttpResponse::Ok()
        .content_type(media_type)
        .insert_header(("cache-control", "private, max-age=31536000, immutable"))
        .body(bytes))
}

/// The link under which a reader gets a picture: a path of this server for those that are kept,
/// otherwise what the document says.
pub fn link(stored: &str) -> String {
    stored
        .strip_prefix(SCHEME)
        .map_or_else(|| stored.to_owned(), |hash| format!("{PATH}{hash}"))
}

/// The media type of a picture of pixels, by its first bytes.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    const SIGNS: [(usize, &[u8], &str); 8] = [
        (0, b"\x89PNG\r\n\x1A\n", "image/png"),
        (0, b"\xFF\xD8\xFF", "image/jpeg"),
        (0, b"GIF87a", "image/gif"),
        (0, b"GIF89a", "image/gif"),
        (8, b"WEBP", "image/webp"),
        (0, b"BM", "image/bmp"),
        (0, b"II*\0", "image/tiff"),
        (0, b"MM\0*", "image/tiff"),
    ];
    let shows = |(offset, sign, _): &&(usize, &[u8], &str)| {
        bytes
            .get(*offset..)
            .is_some_and(|rest| rest.starts_with(sign))
    };
    SIGNS
        .iter()
        .find(shows)
        .map(|(_, _, media_type)| *media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pixels_are_shown() {
        assert_eq!(media_type(b"\x89PNG\r\n\x1A\n...."), Some("image/png"));
        assert_eq!(media_type(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        for other in [
            &b"<svg onload='alert(1)'/>"[..],
            b"<html>",
            b"{\"kind\": \"recipe\"}",
            b"SQLite format 3\0",
            b"",
        ] {
            assert_eq!(media_type(other), None);
        }
    }

    #[test]
    fn links_of_kept_pictures_lead_to_this_server() {
        assert_eq!(link("blob:abc"), "/v1/images/abc");
        assert_eq!(link("https://host/a.png"), "https://host/a.png");
    }
}
