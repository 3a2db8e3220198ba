//! `/v1/documents/{id}/original`: the bytes that were published, of a document that is searchable
//! for the caller. They are never trusted: always a download, so that no browser shows what a
//! document brought as a page of this server.

use actix_web::body::SizedStream;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_RANGE, HeaderValue, IF_RANGE, RANGE};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, ResponseError, web};
use tributary_retrieval::{DocumentParts, DocumentView};
use tributary_schemas::names::without_query;
use tributary_schemas::{Error, ErrorKind};

use super::byte_range::{Asked, asked};
use super::caller::Caller;
use super::documents::{self, GetParameters};
use super::{entity_tag, percent};
use crate::audit;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// The last part of the path.
const LAST: &str = "original";
/// What links of kept files begin with, followed by their hash.
const SCHEME: &str = "blob:";
/// Where nothing else is known.
const ANY_TYPE: &str = "application/octet-stream";
/// Longest name of a file that is proposed, in characters.
const NAME_CHARACTERS: usize = 150;
/// Endings of names without one.
const ENDINGS: [(&str, &str); 6] = [
    ("text/plain", "txt"),
    ("text/markdown", "md"),
    ("text/html", "html"),
    ("text/csv", "csv"),
    ("application/json", "json"),
    ("application/pdf", "pdf"),
];

/// The document and its original.
pub(super) struct Original {
    /// What the index has of the document.
    pub view: DocumentView,
    /// Its blob.
    pub stored: String,
}

impl Original {
    /// Of a document that is searchable for the caller.
    pub(super) async fn find(
        state: &ServerState,
        name: &str,
        caller: &Caller,
    ) -> Result<Self, Problem> {
        let id = documents::resolved(state, name, caller.viewer()).await?;
        let parts = DocumentParts::default();
        let view = state
            .retriever
            .document(&id, parts, &caller.principal)
            .await?;
        let mut view = view.ok_or_else(|| {
            let what = format!("nothing of `{name:.200}` can be found, so there is no original");
            Problem::new(Code::NotFound, what)
        })?;
        audit::current().document(&id);
        let stored = view.original.take().ok_or_else(|| {
            let what = format!("no original of `{name:.200}` is kept");
            Problem::new(Code::NotFound, what).with_hint(
                "it was published before originals were kept, or while `ingest.keep_originals` was false: publish it again",
            )
        })?;
        Ok(Self { view, stored })
    }

    /// Names these very bytes.
    pub(super) fn tag(&self) -> String {
        let hash = self.stored.strip_prefix(SCHEME).unwrap_or(&self.stored);
        format!("{hash:.32}")
    }
}

/// The link under which a reader gets the original of a document.
pub fn link(document_id: &str) -> String {
    format!("/v1/documents/{}/{LAST}", percent::encoded(document_id))
}

/// The whole original, or one range of it.
pub async fn get(
    state: web::Data<ServerState>,
    request: HttpRequest,
    name: web::Path<String>,
    parameters: web::Query<GetParameters>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    // An id may have slashes: a document that is called so is meant by its name.
    let whole = format!("{name}/{LAST}");
    if documents::is_known(&state, &whole, caller.viewer()).await {
        return documents::get(state, whole.into(), parameters, caller).await;
    }
    let original = Original::find(&state, &name, &caller).await?;
    let size = state.blobs.size(&original.stored).await;
    let size = size.map_err(|error| not_there(&name, error))?;
    let tag = format!("\"{}\"", original.tag());
    if entity_tag::is_known(&request, &tag) {
        let mut answer = download(StatusCode::NOT_MODIFIED, &original.view, tag);
        return Ok(answer.finish());
    }
    match wanted(&request, &tag, size) {
        Asked::Nothing => Ok(out_of_range(&request, size)),
        Asked::All => {
            let pieces = state.blobs.pieces(&original.stored).await?;
            let mut answer = download(StatusCode::OK, &original.view, tag);
            Ok(answer.body(SizedStream::new(size, pieces)))
        }
        Asked::Part(range) => {
            let shown = format!("bytes {}-{}/{size}", range.start, range.end - 1);
            let length = range.end - range.start;
            let pieces = state.blobs.part(&original.stored, range).await?;
            let mut answer = download(StatusCode::PARTIAL_CONTENT, &original.view, tag);
            answer.insert_header(("content-range", shown));
            Ok(answer.body(SizedStream::new(length, pieces)))
        }
    }
}

/// Of an original that is kept and whose blob is gone.
fn not_there(name: &str, error: Error) -> Problem {
    if error.kind() != ErrorKind::NotFound {
        return error.into();
    }
    let what = format!("the original of `{name:.200}` is gone from where bodies are kept");
    Problem::new(Code::NotFound, what).with_hint(
        "put it back from a backup, or publish the document again; `tributary doctor --verify` names all that are gone",
    )
}

/// An answer that no browser shows by itself.
fn download(status: StatusCode, view: &DocumentView, tag: String) -> HttpResponseBuilder {
    let mut answer = HttpResponse::build(status);
    answer
        .content_type(media_type(&view.media_type))
        .insert_header(("content-disposition", disposition(&file_name(view))))
        .insert_header(("accept-ranges", "bytes"))
        .insert_header(("cache-control", "private, no-cache"))
        .insert_header(("etag", tag));
    answer
}

/// What of it is asked for: a range only while it is of these very bytes.
fn wanted(request: &HttpRequest, tag: &str, size: u64) -> Asked {
    let header = |name| request.headers().get(name);
    if header(IF_RANGE).is_some_and(|known| known != tag) {
        return Asked::All;
    }
    let range = header(RANGE).and_then(|range| range.to_str().ok());
    range.map_or(Asked::All, |range| asked(range, size))
}

fn out_of_range(request: &HttpRequest, size: u64) -> HttpResponse {
    let range = request.headers().get(RANGE);
    let range = range.and_then(|range| range.to_str().ok()).unwrap_or("");
    let what = format!("`{range}` names none of the {size} bytes of the file");
    let mut answer = Problem::new(Code::RangeNotSatisfiable, what).error_response();
    if let Ok(whole) = HeaderValue::from_str(&format!("bytes */{size}")) {
        answer.headers_mut().insert(CONTENT_RANGE, whole);
    }
    answer
}

/// What was detected, where a header can say it.
fn media_type(detected: &str) -> &str {
    let can_be_said = !detected.is_empty() && HeaderValue::from_str(detected).is_ok();
    if can_be_said { detected } else { ANY_TYPE }
}

/// The last part of the path, or the title, as the name of a file.
fn file_name(view: &DocumentView) -> String {
    let path = without_query(&view.source_path);
    let last = path.trim_end_matches('/').rsplit('/').next();
    let named = last.filter(|last| !last.trim().is_empty());
    let is_safe = |character: &char| !character.is_control() && !"/\\:*?\"<>|".contains(*character);
    let name: String = named
        .unwrap_or(&view.title)
        .chars()
        .filter(is_safe)
        .take(NAME_CHARACTERS)
        .collect();
    let name = name.trim().trim_start_matches('.');
    let name = if name.is_empty() { "document" } else { name };
    let ending = ENDINGS
        .iter()
        .find(|(media_type, _)| *media_type == view.media_type && !name.contains('.'));
    match ending {
        Some((_, ending)) => format!("{name}.{ending}"),
        None => name.to_owned(),
    }
}

/// The header that makes it a download, its name in ASCII and as it is (RFC 6266, RFC 8187).
fn disposition(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|character| match character {
            ' '..='~' => character,
            _ => '_',
        })
        .collect();
    format!(
        "attachment; filename=\"{plain}\"; filename*=UTF-8''{}",
        percent::encoded(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_has_the_name_of_its_file_whatever_the_path_is() {
        let table = [
            ("radio/tilt.md", "", "text/markdown", "tilt.md"),
            ("notes/C# 5?.md", "", "text/markdown", "C# 5.md"),
            ("手册/倾角.pdf", "", "application/pdf", "倾角.pdf"),
            ("https://host/page?x=/a.exe", "", "text/html", "page.html"),
            ("https://host/", "", "text/html", "host.html"),
            ("a/b\"; x=\r\n.md", "", "text/markdown", "b; x=.md"),
            ("", "Title / of it", "text/plain", "Title  of it.txt"),
            ("..", "", "text/plain", "document.txt"),
            ("a/.bashrc", "", "application/zip", "bashrc"),
            ("c:\\x.doc", "", "application/msword", "cx.doc"),
        ];
        for (path, title, media_type, expected) in table {
            let view = DocumentView {
                source_path: path.into(),
                title: title.into(),
                media_type: media_type.into(),
                ..DocumentView::default()
            };
            assert_eq!(file_name(&view), expected, "{path}");
        }
        assert_eq!(
            disposition("倾 a.md"),
            "attachment; filename=\"_ a.md\"; filename*=UTF-8''%E5%80%BE%20a.md"
        );
    }

    #[test]
    fn a_type_that_no_header_can_say_is_any() {
        assert_eq!(media_type("text/html"), "text/html");
        assert_eq!(media_type(""), ANY_TYPE);
        assert_eq!(media_type("a/b\r\nx: y"), ANY_TYPE);
    }
}
