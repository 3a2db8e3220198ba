//! The web page and the API description: files of this crate, part of the program.

use actix_web::HttpResponse;

const INDEX: &str = include_str!("../../web/index.html");
const STYLE: &str = include_str!("../../web/style.css");
const SCRIPT: &str = include_str!("../../web/app.js");
const OPENAPI: &str = include_str!("../../openapi.json");

/// `/`.
pub async fn index() -> HttpResponse {
    file("text/html; charset=utf-8", INDEX)
}

/// `/style.css`.
pub async fn style() -> HttpResponse {
    file("text/css; charset=utf-8", STYLE)
}

/// `/app.js`.
pub async fn script() -> HttpResponse {
    file("text/javascript; charset=utf-8", SCRIPT)
}

/// `/openapi.json`.
pub async fn openapi() -> HttpResponse {
    file("application/json", OPENAPI)
}

/// Asked for again each time: after an update the page must fit the server.
fn file(media_type: &'static str, content: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(media_type)
        .insert_header(("cache-control", "no-cache"))
        .body(content)
}
