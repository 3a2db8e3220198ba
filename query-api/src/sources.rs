//! An answer's sources in the shapes that other protocols want: a footer of Markdown, and the places
//! of its citations.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use tributary_schemas::ask::{Answer, Source, Verdict};

use crate::mcp::resources;

/// What a footer begins with, by language; answers of before are told from their footers by it.
const HEADINGS: [(&str, &str); 2] = [
    ("zh", "\n\n---\n**来源**\n"),
    ("en", "\n\n---\n**Sources**\n"),
];

/// A source as other protocols show it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownSource {
    /// What citations call it, from 1.
    pub number: u32,
    /// Whether the answer cites it.
    pub cited: bool,
    /// Its document.
    pub document_id: String,
    /// Title of the document.
    pub title: String,
    /// Name of the source that it was published in.
    pub source: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// Titles above the passage.
    pub section_path: Vec<String>,
    /// Page numbers from 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<u32>,
    /// Where a reader finds it: the original, or `tributary://documents/{id}`.
    pub url: String,
    /// Estimated probability that it answers the question, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f32>,
    /// The passage as Markdown.
    pub text: String,
}

impl From<&Source> for ShownSource {
    fn from(source: &Source) -> Self {
        Self {
            number: source.number,
            cited: source.cited,
            document_id: source.document_id.clone(),
            title: source.title.clone(),
            source: source.source.clone(),
            source_path: source.source_path.clone(),
            section_path: source.section_path.clone(),
            pages: source.pages.clone(),
            url: url(source),
            relevance: source.relevance,
            text: source.text.clone(),
        }
    }
}

/// Where a reader finds a source.
pub fn url(source: &Source) -> String {
    match source.url.is_empty() {
        true => resources::uri(&source.document_id),
        false => source.url.clone(),
    }
}

/// What a reader calls a source: title and sections, or its path.
pub fn title(source: &Source) -> String {
    let place = format!("{}/{}", source.source, source.source_path);
    let title = match source.title.is_empty() {
        true => place.as_str(),
        false => source.title.as_str(),
    };
    crate::mcp::heading(title, &source.section_path)
}

/// The cited sources as Markdown below the answer; what is close to the question where it is
/// refused. Empty where there is nothing to name.
pub fn footer(answer: &Answer) -> String {
    let refused = answer.verdict == Verdict::Refused;
    let cited = answer.sources.iter().filter(|source| source.cited);
    let shown: Vec<&Source> = match refused {
        true => answer.related.iter().collect(),
        false => cited.collect(),
    };
    if shown.is_empty() {
        return String::new();
    }
    let mut text = heading_of(&answer.language).to_owned();
    for source in shown {
        let place = format!("{}/{}", source.source, source.source_path);
        let link = match source.url.is_empty() {
            true => place,
            false => format!("{place} <{}>", source.url),
        };
        let name = title(source);
        match refused {
            true => writeln!(text, "- {name} — {link}").ok(),
            false => writeln!(text, "- [{}] {name} — {link}", source.number).ok(),
        };
    }
    text.truncate(text.trim_end().len());
    text
}

fn heading_of(language: &str) -> &'static str {
    let is_of = |(name, _): &&(&str, &str)| language.starts_with(name);
    let [_, (_, english)] = HEADINGS;
    HEADINGS
        .iter()
        .find(is_of)
        .map_or(english, |(_, heading)| heading)
}

/// An answer of before without its footer.
pub fn without_footer(text: &str) -> &str {
    let begins = HEADINGS
        .iter()
        .filter_map(|(_, heading)| text.rfind(heading));
    let cut = begins.min().and_then(|begin| text.get(..begin));
    cut.unwrap_or(text).trim_end()
}

/// A citation in a text, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Number of the source.
    pub number: u32,
    /// First character, from 0.
    pub start: usize,
    /// The character after the last one.
    pub end: usize,
}

/// Where an answer cites what: each `[n]`, n being the number of a source.
pub fn citations(answer: &Answer) -> Vec<Citation> {
    let numbers: Vec<u32> = answer.sources.iter().map(|source| source.number).collect();
    let letters: Vec<char> = answer.answer.chars().collect();
    let mut found = Vec::new();
    for (start, _) in letters
        .iter()
        .enumerate()
        .filter(|(_, letter)| **letter == '[')
    {
        let rest = letters.get(start + 1..).unwrap_or_default();
        let digits: String = rest
            .iter()
            .take_while(|letter| letter.is_ascii_digit())
            .collect();
        let is_closed = rest.get(digits.len()) == Some(&']');
        let number = digits
            .parse()
            .ok()
            .filter(|number| is_closed && numbers.contains(number));
        if let Some(number) = number {
            let end = start + digits.len() + 2;
            found.push(Citation { number, start, end });
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// An answer with two sources, of which the first is cited.
    pub fn answer(text: &str, verdict: &str) -> Answer {
        let source = |number: u32, url: &str| {
            json!({"number": number, "cited": number == 1, "chunk_id": "0".repeat(32), "document_id": "a/b",
                "version": 1, "source": "wiki", "source_path": "tilt.md", "title": "Tilt",
                "section_path": ["Tilt", "Limits"], "pages": [], "url": url, "kind": "leaf", "text": "8 degrees"})
        };
        let answer = json!({"id": "1", "question": "q", "answer": text, "verdict": verdict, "workflow": "general",
            "language": "en", "sources": [source(1, ""), source(2, "https://kb.example/2")], "support": [],
            "related": [source(1, "https://kb.example/1")], "degraded": [], "took_ms": 1.0, "steps": [],
            "tokens": {"prompt": 10, "completion": 4}});
        serde_json::from_value(answer).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn citations_are_found_where_they_stand() {
        let found = citations(&answer("最大八度[1]，[9] [x] [2][1", "answered"));
        let places: Vec<(u32, usize, usize)> = found
            .iter()
            .map(|citation| (citation.number, citation.start, citation.end))
            .collect();
        assert_eq!(places, vec![(1, 4, 7), (2, 16, 19)]);
    }

    #[test]
    fn the_footer_names_what_is_cited_and_can_be_taken_off_again() {
        let answered = answer("Eight degrees [1].", "answered");
        let footer_text = footer(&answered);
        assert_eq!(
            footer_text,
            "\n\n---\n**Sources**\n- [1] Tilt › Limits — wiki/tilt.md"
        );
        let whole = format!("{}{footer_text}", answered.answer);
        assert_eq!(without_footer(&whole), "Eight degrees [1].");
        assert_eq!(without_footer("a\n\n---\nb"), "a\n\n---\nb");
        let refused = footer(&answer("No.", "refused"));
        assert!(refused.ends_with("- Tilt › Limits — wiki/tilt.md <https://kb.example/1>"));
    }

    #[test]
    fn a_source_without_an_address_is_a_resource() {
        let answered = answer("", "answered");
        let urls: Vec<String> = answered.sources.iter().map(url).collect();
        assert_eq!(
            urls,
            ["tributary://documents/a%2Fb", "https://kb.example/2"]
        );
    }
}
