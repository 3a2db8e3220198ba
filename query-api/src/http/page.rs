//! The web page and the API description: files of this crate, part of the program. The page is
//! `index.html` and what lies below `/page/`. `index.html` names the other files below a hash of all
//! of them, so that a browser may keep them until there are others, and names every module, so that
//! it need not read one to learn of the next.

use std::collections::HashMap;
use std::sync::LazyLock;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;

use super::entity_tag;
use crate::problem::{Code, Problem};

const INDEX: &str = "index.html";
const OPENAPI: &str = "openapi.json";
/// Digits of a hash that tell one version of a file from the next.
const TAG_DIGITS: usize = 32;

/// What a browser may do with a file whose address has a hash, and with any other.
const KEEP: &str = "public, max-age=31536000, immutable";
/// See [`KEEP`].
const ASK_AGAIN: &str = "no-cache";

/// Modules that only some views import, once they are shown: a first visit does not ask for them.
const LATER: [&str; 9] = [
    "parts/chart.js",
    "vendor/uplot.js",
    "views/evaluation.js",
    "views/evaluation_cases.js",
    "views/evaluation_comparison.js",
    "views/evaluation_run.js",
    "views/evaluation_scores.js",
    "views/terms.js",
    "views/terms_list.js",
];

/// A path below `/page/` (or one of the two above) and what is there.
type File = (&'static str, &'static [u8]);

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../web/page/", $path)))),*]
    };
}

const INDEX_HTML: &str = include_str!("../../web/index.html");
const OPENAPI_JSON: &[u8] = include_bytes!("../../openapi.json");

/// Everything in `web/page`; a test compares the two.
const PAGE_FILES: &[File] = files![
    "api.js",
    "html.js",
    "icon.svg",
    "kept.js",
    "live.js",
    "main.js",
    "parts/careful.js",
    "parts/chart.js",
    "parts/copy.js",
    "parts/dialog.js",
    "parts/later.js",
    "parts/marking.js",
    "parts/markup.js",
    "parts/meter.js",
    "parts/notice.js",
    "parts/paged.js",
    "parts/pictures.js",
    "parts/places.js",
    "parts/resource.js",
    "parts/sign_in.js",
    "parts/state.js",
    "parts/together.js",
    "parts/unmet.js",
    "parts/virtual_rows.js",
    "router.js",
    "session.js",
    "style.css",
    "vendor/hooks.js",
    "vendor/htm.LICENSE.txt",
    "vendor/htm.js",
    "vendor/preact.LICENSE.txt",
    "vendor/preact.js",
    "vendor/uplot.LICENSE.txt",
    "vendor/uplot.css",
    "vendor/uplot.js",
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
    "views/evaluation.js",
    "views/evaluation_cases.js",
    "views/evaluation_comparison.js",
    "views/evaluation_run.js",
    "views/evaluation_scores.js",
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
    "views/terms.js",
    "views/terms_list.js",
    "views/uploads.js",
    "views/uploads_view.js",
    "words.js",
    "words/en.json",
    "words/zh.json",
];

/// A file as it is sent.
struct Served {
    bytes: Bytes,
    media_type: &'static str,
    tag: String,
}

static FILES: LazyLock<HashMap<&'static str, Served>> = LazyLock::new(|| {
    let page = PAGE_FILES.iter();
    let page = page.map(|(path, bytes)| (*path, Bytes::from_static(bytes)));
    let roots = [
        (INDEX, Bytes::from(index_html())),
        (OPENAPI, Bytes::from_static(OPENAPI_JSON)),
    ];
    page.chain(roots)
        .map(|(path, bytes)| (path, served(path, bytes)))
        .collect()
});

/// Hash of all files of the page.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    for (path, bytes) in PAGE_FILES {
        hasher.update(path.as_bytes());
        hasher.update(blake3::hash(bytes).as_bytes());
    }
    digits(&hasher.finalize())
});

fn digits(hash: &blake3::Hash) -> String {
    hash.to_hex().chars().take(TAG_DIGITS).collect()
}

/// `index.html` with the addresses of this version, and all modules named but those for later.
fn index_html() -> String {
    let modules = PAGE_FILES.iter().map(|(path, _)| path);
    let modules = modules.filter(|path| path.ends_with(".js") && !LATER.contains(path));
    let links: String = modules
        .map(|path| format!("  <link rel=\"modulepreload\" href=\"page/{path}\">\n"))
        .collect();
    let named = INDEX_HTML.replace("</head>", &format!("{links}</head>"));
    named.replace("\"page/", &format!("\"page/{}/", *VERSION))
}

fn served(path: &str, bytes: Bytes) -> Served {
    let tag = digits(&blake3::hash(&bytes));
    Served {
        bytes,
        media_type: media_type(path),
        tag: format!("\"{tag}\""),
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
    answer(INDEX, ASK_AGAIN, &request)
}

/// `/page/…`, with or without a hash. A page that was loaded before an update of the server may ask
/// for a file of its own version, and gets that of today.
pub async fn file(path: web::Path<String>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    match path.split_once('/') {
        Some((version, path)) if version == *VERSION => answer(path, KEEP, &request),
        Some((version, path)) if is_version(version) => answer(path, ASK_AGAIN, &request),
        _ => answer(&path, ASK_AGAIN, &request),
    }
}

fn is_version(part: &str) -> bool {
    part.len() == TAG_DIGITS && part.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `/openapi.json`.
pub async fn openapi(request: HttpRequest) -> Result<HttpResponse, Problem> {
    answer(OPENAPI, ASK_AGAIN, &request)
}

/// The file, or 304 for who has it.
fn answer(path: &str, keeping: &str, request: &HttpRequest) -> Result<HttpResponse, Problem> {
    let file = FILES.get(path).ok_or_else(|| {
        Problem::new(Code::NotFound, format!("the page has no file `{path}`"))
            .with_hint("open `/`; after an update of the server, load it again")
    })?;
    let known = entity_tag::is_known(request, &file.tag);
    let status = if known {
        StatusCode::NOT_MODIFIED
    } else {
        StatusCode::OK
    };
    let mut response = HttpResponse::build(status);
    response
        .insert_header(("cache-control", keeping))
        .insert_header(("etag", file.tag.clone()));
    if known {
        return Ok(response.finish());
    }
    Ok(response
        .content_type(file.media_type)
        .body(file.bytes.clone()))
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
