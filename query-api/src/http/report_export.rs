//! `POST /v1/report/export`: a report as a file. Markdown stays as it is; HTML goes through what
//! renders documents for the page, so that nothing in it acts, and is a whole page by itself; a Word
//! document is made from the same Markdown.

use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_taxonomy::language::is_chinese;

use super::body;
use crate::problem::{Code, Problem};
use crate::rendering;
use crate::server::ServerState;

/// What a file may do in the reader's browser: show its own style, nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
/// Media type of a Word document.
const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
/// How it looks.
const STYLE: &str = "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:16px/1.6 system-ui,\
    sans-serif;color:#222}table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.2em .6em}\
    pre{background:#f4f4f4;padding:.6em;overflow:auto}blockquote{border-left:3px solid #bbb;margin:0;\
    padding-left:1em}";

/// What a report can be written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    /// As it is.
    #[default]
    Markdown,
    /// A page that stands by itself.
    Html,
    /// A Word document.
    Docx,
}

/// Body of `POST /v1/report/export`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportFile {
    /// `answer` of a report.
    pub markdown: String,
    /// Title of the file; `report.title` of a report.
    #[serde(default)]
    pub title: String,
    /// What it is written as.
    #[serde(default)]
    pub format: ReportFormat,
}

/// `POST /v1/report/export`.
pub async fn export(
    state: web::Data<ServerState>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let wanted: ReportFile = body::read_json(&state, &request, payload).await?;
    let turn = state.renderings.turn().await?;
    let work = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        written(&wanted)
    });
    let stopped = |error| Problem::new(Code::Internal, format!("the export stopped: {error}"));
    let file = work.await.map_err(stopped)??;
    let disposition = format!("attachment; filename=\"report.{}\"", file.ending);
    Ok(HttpResponse::Ok()
        .content_type(file.media_type)
        .insert_header(("content-disposition", disposition))
        .insert_header(("x-content-type-options", "nosniff"))
        .body(file.bytes))
}

/// A report as it is sent.
struct Written {
    ending: &'static str,
    media_type: &'static str,
    bytes: Vec<u8>,
}

fn written(wanted: &ReportFile) -> Result<Written, Problem> {
    let (ending, media_type, bytes) = match wanted.format {
        ReportFormat::Markdown => (
            "md",
            "text/markdown; charset=utf-8",
            wanted.markdown.clone().into_bytes(),
        ),
        ReportFormat::Html => (
            "html",
            "text/html; charset=utf-8",
            page(wanted).into_bytes(),
        ),
        ReportFormat::Docx => {
            let unpacked = |what| Problem::new(Code::Internal, what);
            let bytes = rendering::docx(&wanted.markdown).map_err(unpacked)?;
            ("docx", WORD, bytes)
        }
    };
    Ok(Written {
        ending,
        media_type,
        bytes,
    })
}

fn page(wanted: &ReportFile) -> String {
    let shown = rendering::show_alone(&wanted.markdown);
    let title = escaped(&wanted.title);
    let language = if is_chinese(&wanted.markdown) {
        "zh"
    } else {
        "en"
    };
    let page = format!(
        "<!doctype html>\n<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"content-security-policy\" content=\"{POLICY}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
        shown.html
    );
    rendering::without_control(&page)
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_the_report_and_nothing_in_it_acts() {
        let wanted = ReportFile {
            markdown: "# Ticks\n\nA [1]. <script>alert(1)</script>[x](javascript:alert(1))"
                .to_owned(),
            title: "</title>\u{1b}<script>\0".to_owned(),
            format: ReportFormat::Html,
        };
        let file = written(&wanted).unwrap_or_else(|problem| panic!("{problem:?}"));
        let html = String::from_utf8_lossy(&file.bytes).into_owned();
        assert_eq!(file.ending, "html");
        assert!(
            html.contains("Ticks</h1>")
                && html.contains("<html lang=\"en\">")
                && html.contains("A [1]."),
            "{html}"
        );
        assert!(
            !html.contains("<script")
                && !html.contains("javascript:")
                && !html.contains(['\0', '\u{1b}']),
            "{html}"
        );
    }
}
