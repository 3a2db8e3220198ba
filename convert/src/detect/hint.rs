//! What a name and a media type suggest of a body.

use tributary_schemas::names::without_query;

use super::languages::CODE_EXTENSIONS;
use crate::text::structured::Notation;

/// What name and media type suggest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    None,
    Html,
    Markdown,
    Rst,
    Notebook,
    Mail,
    Structured(Notation, &'static str),
    Delimited(&'static str),
    Plain,
    Code(&'static str, &'static str),
}

impl Hint {
    pub(super) fn of(name: Option<&str>, media_type: Option<&str>) -> Self {
        let by_extension = name.map(Self::of_extension).unwrap_or(Self::None);
        if by_extension != Self::None {
            return by_extension;
        }
        let essence = media_type
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match essence.as_str() {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "text/markdown" | "text/x-markdown" => Self::Markdown,
            "text/x-rst" | "text/prs.fallenstein.rst" => Self::Rst,
            "application/x-ipynb+json" => Self::Notebook,
            "message/rfc822" => Self::Mail,
            "text/csv" | "application/csv" => Self::Delimited("text/csv"),
            "text/tab-separated-values" => Self::Delimited("text/tab-separated-values"),
            "text/plain" => Self::Plain,
            "application/json" | "text/json" => {
                Self::Structured(Notation::Json, "application/json")
            }
            "application/jsonl" | "application/x-ndjson" | "application/ndjson" => {
                Self::Structured(Notation::JsonLines, "application/jsonl")
            }
            "application/yaml" | "application/x-yaml" | "text/yaml" => {
                Self::Structured(Notation::Yaml, "application/yaml")
            }
            "application/xml" | "text/xml" => Self::Structured(Notation::Xml, "application/xml"),
            other => CODE_EXTENSIONS
                .iter()
                .find(|(_, _, known)| *known == other && *known != "text/plain")
                .map_or(Self::None, |(_, language, known)| {
                    Self::Code(language, known)
                }),
        }
    }

    fn of_extension(name: &str) -> Self {
        let path = without_query(name);
        let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let Some((_, extension)) = file.rsplit_once('.') else {
            return Self::None;
        };
        let extension = extension.to_ascii_lowercase();
        match extension.as_str() {
            "html" | "htm" | "xhtml" => Self::Html,
            "md" | "markdown" | "mdown" | "mkd" | "mdx" => Self::Markdown,
            "rst" | "rest" => Self::Rst,
            "ipynb" => Self::Notebook,
            "eml" | "mht" | "mhtml" => Self::Mail,
            "csv" => Self::Delimited("text/csv"),
            "tsv" | "tab" => Self::Delimited("text/tab-separated-values"),
            "txt" | "text" => Self::Plain,
            "json" | "geojson" => Self::Structured(Notation::Json, "application/json"),
            "jsonl" | "ndjson" => Self::Structured(Notation::JsonLines, "application/jsonl"),
            "yaml" | "yml" => Self::Structured(Notation::Yaml, "application/yaml"),
            "xml" => Self::Structured(Notation::Xml, "application/xml"),
            other => CODE_EXTENSIONS
                .iter()
                .find(|(known, ..)| *known == other)
                .map_or(Self::None, |(_, language, media_type)| {
                    Self::Code(language, media_type)
                }),
        }
    }
}
