//! What of a chunk is searched: its heading (document title, section path) and its body as plain
//! text; of code its description, then the code as it is. The chunk stage analyses it ([`SearchText::of`]),
//! the embed stage embeds what of it has a meaning (`of_meaning`). Links and image destinations are
//! never part of it.

use tributary_schemas::{Chunk, DocumentHeader};

use crate::plain::plain_text;

/// The searched text of a chunk in two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchText {
    /// Title of the document, then the section path; one line each.
    pub heading: String,
    /// The text without marks, and without the heading line that the section path already says.
    pub body: String,
}

/// Title and path, each on a line of its own if there is one.
fn heading(title: &str, path: &[&str]) -> String {
    let path = path.join(" / ");
    let lines: Vec<&str> = [title, &path]
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("\n")
}

impl SearchText {
    /// The searched text of a chunk.
    pub fn of(document: &DocumentHeader, chunk: &Chunk) -> Self {
        let title = document.title.trim();
        let path: Vec<&str> = chunk
            .section_path
            .iter()
            .map(|title| title.trim())
            .filter(|title| !title.is_empty())
            .collect();
        let heading = heading(title, &path);
        let nearest = path.last().copied().unwrap_or(title);
        let body = match (&chunk.code, &chunk.language) {
            // Its signs are no marks.
            (Some(code), _) => format!("{}\n{}", code.description, chunk.text),
            (None, Some(_)) => chunk.text.clone(),
            (None, None) => without_heading(plain_text(&chunk.text), nearest),
        };
        Self { heading, body }
    }

    /// What is searched by meaning: of code its description alone, as code itself says little to a
    /// model that was made for prose.
    pub fn of_meaning(document: &DocumentHeader, chunk: &Chunk) -> Self {
        let text = Self::of(document, chunk);
        match &chunk.code {
            Some(code) => Self {
                body: code.description.clone(),
                ..text
            },
            None => text,
        }
    }

    /// Heading and body as one text.
    pub fn joined(&self) -> String {
        match (self.heading.is_empty(), self.body.is_empty()) {
            (true, _) => self.body.clone(),
            (_, true) => self.heading.clone(),
            _ => format!("{}\n{}", self.heading, self.body),
        }
    }
}

fn without_heading(body: String, heading: &str) -> String {
    match body.split_once('\n') {
        Some((first, rest)) if first.trim() == heading => rest.to_owned(),
        None if body.trim() == heading => String::new(),
        _ => body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(title: &str, path: &[&str], markdown: &str) -> SearchText {
        let document = DocumentHeader {
            title: title.into(),
            ..DocumentHeader::default()
        };
        let json = serde_json::json!({"chunk_id": "0".repeat(32), "kind": "leaf", "ordinal": 0, "section_path": path, "text": markdown, "tokens": 1});
        let chunk: Chunk = serde_json::from_value(json).unwrap_or_else(|error| panic!("{error}"));
        SearchText::of(&document, &chunk)
    }

    #[test]
    fn source_code_is_searched_as_it_is() {
        let json = serde_json::json!({"chunk_id": "0".repeat(32), "kind": "continuation", "ordinal": 0,
            "section_path": ["init"], "text": "  *p = __init_(q);", "tokens": 1, "language": "c"});
        let chunk: Chunk = serde_json::from_value(json).unwrap_or_else(|error| panic!("{error}"));
        let text = SearchText::of(&DocumentHeader::default(), &chunk);
        assert_eq!(text.body, chunk.text);
    }

    #[test]
    fn the_heading_is_said_once_and_links_never() {
        let found = text(
            "手册",
            &["概念", "CA"],
            "## CA\n\n看[这里](http://secret) ![图](image:0)。",
        );
        assert_eq!(
            found,
            SearchText {
                heading: "手册\n概念 / CA".into(),
                body: "看这里 图。".into()
            }
        );
        assert_eq!(found.joined(), "手册\n概念 / CA\n看这里 图。");
        assert_eq!(text("T", &[], "# T").joined(), "T");
        assert_eq!(text("", &[], "x").joined(), "x");
    }
}
