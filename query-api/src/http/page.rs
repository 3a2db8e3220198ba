//! The web page and the API description: files of this crate, part of the program. The page is
//! `index.html` and what lies below `/page/`.

use std::collections::HashMap;
use std::sync::LazyLock;

use actix_web::http::StatusCode;
use actix_web::http::header::IF_NONE_MATCH;
use actix_web::{HttpRequest, HttpResponse, web};

use crate::problem::{Code, Problem};

const INDEX: &str = "index.html";
const OPENAPI: &str = "openapi.json";
/// Digits of a hash that tell one version of a file from the next.
const TAG_DIGITS: usize = 32;

/// A path below `/page/` (or one of the two above) and what is there.
type File = (&'static str, &'static [u8]);

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../web/page/", $path)))),*]
    };
}

const ROOT_FILES: &[File] = &[
    (INDEX, include_bytes!("../../web/index.html")),
    (OPENAPI, include_bytes!("../../openapi.json")),
];

/// Everything in `web/page`; a test compares the two.
const PAGE_FILES: &[File] = files![
    "api.js",
    "html.js",
    "icon.svg",
    "kept.js",
    "live.js",
    "main.js",
    "parts/careful.js",
    "parts/copy.js",
    "parts/dialog.js",
    "parts/marking.js",
    "parts/markup.js",
    "parts/meter.js",
    "parts/notice.js",
    "parts/paged.js",
    "parts/pictures.js",
    "parts/resource.js",
    "parts/state.js",
    "parts/together.js",
    "parts/virtual_rows.js",
    "router.js",
    "style.css",
    "vendor/hooks.js",
    "vendor/htm.LICENSE.txt",
    "vendor/htm.js",
    "vendor/preact.LICENSE.txt",
    "vendor/preact.js",
    "views/answer_table.js",
    "views/ask.js",
    "views/ask_history.js",
    "views/ask_markup.js",
    "views/ask_settings.js",
    "views/ask_spoken.js",
    "views/ask_talk.js",
    "views/ask_turn.js",
    "views/dead_letters.js",
    "views/document.js",
    "views/documents.js",
    "views/explain.js",
    "views/hit.js",
    "views/judge.js",
    "views/metrics.js",
    "views/operations.js",
    "views/report.js",
    "views/saving.js",
    "views/search.js",
    "views/search_filters.js",
    "views/search_state.js",
    "views/sets.js",
    "views/sets_names.js",
    "views/uploads.js",
    "views/uploads_view.js",
    "words.js",
    "words/en.json",
    "words/zh.json",
];

/// A file as it is sent.
struct Served {
    bytes: &'static [u8],
    media_type: &'static str,
    tag: String,
}

static FILES: LazyLock<HashMap<&'static str, Served>> = LazyLock::new(|| {
    let files = ROOT_FILES.iter().chain(PAGE_FILES);
    files
        .map(|(path, bytes)| (*path, served(path, bytes)))
        .collect()
});

fn served(path: &str, bytes: &'static [u8]) -> Served {
    let hash = blake3::hash(bytes).to_hex();
    let digits: String = hash.chars().take(TAG_DIGITS).collect();
    Served {
        bytes,
        media_type: media_type(path),
        tag: format!("\"{digits}\""),
    }
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

/// `/`.
pub async fn index(request: HttpRequest) -> Result<HttpResponse, Problem> {
    answer(INDEX, &request)
}

/// `/page/…`.
pub async fn file(path: web::Path<String>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    answer(&path, &request)
}

/// `/openapi.json`.
pub async fn openapi(request: HttpRequest) -> Result<HttpResponse, Problem> {
    answer(OPENAPI, &request)
}

/// The file, or 304 for who has it. It is asked for again each time: after an update the page must
/// fit the server.
fn answer(path: &str, request: &HttpRequest) -> Result<HttpResponse, Problem> {
    let file = FILES.get(path).ok_or_else(|| {
        Problem::new(Code::NotFound, format!("the page has no file `{path}`"))
            .with_hint("open `/`; after an update of the server, load it again")
    })?;
    let known = request
        .headers()
        .get(IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok())
        .is_some_and(|tags| tags.contains(&file.tag));
    let status = if known {
        StatusCode::NOT_MODIFIED
    } else {
        StatusCode::OK
    };
    let mut response = HttpResponse::build(status);
    response
        .insert_header(("cache-control", "no-cache"))
        .insert_header(("etag", file.tag.clone()));
    if known {
        return Ok(response.finish());
    }
    Ok(response.content_type(file.media_type).body(file.bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn below(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{error}"));
        let paths = entries.flatten().map(|entry| entry.path());
        paths
            .flat_map(|path| {
                if path.is_dir() {
                    below(&path)
                } else {
                    vec![path]
                }
            })
            .collect()
    }

    #[test]
    fn every_file_of_the_page_is_part_of_the_program() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/page");
        let there: BTreeSet<String> = below(&folder)
            .iter()
            .filter_map(|path| path.strip_prefix(&folder).ok())
            .map(|path| path.to_string_lossy().replace('\\', "/"))
            .collect();
        let listed: BTreeSet<String> = PAGE_FILES
            .iter()
            .map(|(path, _)| (*path).to_owned())
            .collect();
        assert_eq!(listed, there, "`PAGE_FILES` lists what is in web/page");
    }
}
