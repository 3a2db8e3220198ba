//! Summaries that stand for sections that are too long to be chunks. A chunker says which it wants
//! ([`WantedSummary`], plain data); the stage has them written by a language model ([`writer`]) or
//! takes the extractive ones.

pub mod extractive;
mod input;
pub mod writer;

use std::ops::Range;

/// A summary that is to be written.
#[derive(Clone, Debug)]
pub struct WantedSummary {
    /// Title of the document.
    pub document_title: String,
    /// Titles down to the section itself.
    pub section_path: Vec<String>,
    /// Stands above the summary in its chunk, as no other chunk has it; may be empty.
    pub heading: String,
    /// Tokens at most.
    pub limit_tokens: usize,
    /// What stands there without a model.
    pub extractive: String,
    /// Bytes of the section in the document's Markdown, with all below it.
    pub range: Range<usize>,
    /// Bytes before the first heading below its own.
    pub own: Range<usize>,
    /// The sections directly below it.
    pub children: Vec<Child>,
}

/// A section directly below one that is summarised.
#[derive(Clone, Debug)]
pub struct Child {
    /// Its title; may be empty.
    pub title: String,
    /// Its bytes in the document's Markdown, with its heading and all below it.
    pub range: Range<usize>,
}

impl WantedSummary {
    /// Text of the chunk: heading and summary, or the section's title where both are empty.
    pub fn text(&self, summary: Option<String>) -> String {
        let summary = summary.as_deref().unwrap_or(&self.extractive).trim();
        match (self.heading.as_str(), summary) {
            ("", "") => self
                .section_path
                .last()
                .unwrap_or(&self.document_title)
                .clone(),
            ("", text) | (text, "") => text.to_owned(),
            (heading, summary) => format!("{heading}\n\n{summary}"),
        }
    }

    /// Titles from the document's down to the section's.
    pub fn path(&self) -> String {
        let titles = std::iter::once(&self.document_title).chain(&self.section_path);
        let titles: Vec<&str> = titles
            .map(|title| title.trim())
            .filter(|title| !title.is_empty())
            .collect();
        titles.join(" › ")
    }
}
