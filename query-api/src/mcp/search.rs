//! The tools `search` and `search_code`.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::code_search::{CodeHit, CodeSearchRequest, CodeSearchResponse};
use tributary_schemas::search::{Hit, SearchRequest, SearchResponse};
use tributary_schemas::{ChunkKind, Filter, strict};

use super::engine::Engine;
use super::{Reply, heading, tools};
use crate::http::search::{find, find_code};
use crate::problem::Problem;

/// Arguments of `search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchArguments {
    /// What to find: a question or keywords, in the user's words and language.
    query: String,
    /// The only knowledge sets that are searched, by id as `list_knowledge_sets` names them; all
    /// when absent.
    #[serde(default, deserialize_with = "strict::given")]
    knowledge_sets: Option<Vec<String>>,
    /// Conditions on what is found, joined by AND; values of one condition by OR. A value that no
    /// document has finds nothing.
    #[serde(default, deserialize_with = "strict::object")]
    filter: Filter,
    /// Passages wanted, best first; the server's default, such as 10, when absent.
    #[serde(default)]
    top_k: Option<usize>,
    /// Passages of one document while others have something for the places; any number when absent.
    #[serde(default)]
    per_document: Option<usize>,
    /// Lowest relevance of a passage, 0 to 1.
    #[serde(default)]
    minimum_relevance: Option<f32>,
}

/// Answer of `search`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// Best first.
    pub hits: Vec<FoundPassage>,
    /// Words of the question that stand in no passage: what is asked for may not be there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmatched_terms: Vec<String>,
    /// Where nothing was found because no document meets the filter: which value is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmet_filter: Option<String>,
    /// What was done in a lesser way than configured, such as `reranker`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}

/// A passage that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundPassage {
    /// Position, from 1.
    pub rank: usize,
    /// Estimated probability that it answers the question, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f32>,
    /// What `get_document` and `get_section` take.
    pub document_id: String,
    /// Title of the document.
    pub title: String,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// Titles above the passage.
    pub section_path: Vec<String>,
    /// Page numbers from 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<u32>,
    /// Where a reader finds the original.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Knowledge sets of the document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub knowledge_sets: Vec<String>,
    /// Whether the text is a summary of its section, and no text of the document.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_summary: bool,
    /// Programming language, where the text is source code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// With `per_document`: passages of its document that were found too and are left out; on its
    /// first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_in_document: Option<usize>,
    /// The passage as Markdown.
    pub text: String,
}

/// Arguments of `search_code`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeArguments {
    /// What the code does, in words, or the name of a function, type or macro.
    query: String,
    /// The only knowledge sets that are searched, by id; all when absent.
    #[serde(default, deserialize_with = "strict::given")]
    knowledge_sets: Option<Vec<String>>,
    /// Conditions on what is found, joined by AND; values of one condition by OR.
    #[serde(default, deserialize_with = "strict::object")]
    filter: Filter,
    /// Definitions wanted, best first; the server's default when absent.
    #[serde(default)]
    top_k: Option<usize>,
}

/// Answer of `search_code`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundCode {
    /// Definitions, best first.
    pub hits: Vec<FoundDefinition>,
    /// Files in which they were looked for, best first.
    pub files: Vec<FoundFile>,
    /// Where nothing was found because no document meets the filter: which value is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmet_filter: Option<String>,
    /// What was done in a lesser way than configured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}

/// A function, method, type or macro.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundDefinition {
    /// Position, from 1.
    pub rank: usize,
    /// Name, with the types or modules that it belongs to.
    pub function: String,
    /// Its first lines up to the body.
    pub signature: String,
    /// What it does, in words.
    pub description: String,
    /// Programming language.
    pub language: String,
    /// What `get_document` takes.
    pub document_id: String,
    /// Name of the source.
    pub source: String,
    /// Path within the source.
    pub source_path: String,
    /// First line, from 1.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// The code.
    pub text: String,
}

/// A file of source code.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundFile {
    /// What `get_document` takes.
    pub document_id: String,
    /// Name of the source.
    pub source: String,
    /// Path within the source.
    pub source_path: String,
    /// What it does, in words; empty when not known.
    pub summary: String,
}

/// Calls `search`.
pub async fn search(engine: &Engine, arguments: SearchArguments) -> Result<Reply, Problem> {
    let request = SearchRequest {
        query: arguments.query,
        filter: tools::with_sets(arguments.filter, arguments.knowledge_sets)?,
        top_k: arguments.top_k,
        per_document: arguments.per_document,
        minimum_relevance: arguments.minimum_relevance,
        ..SearchRequest::default()
    };
    let response = find(&engine.state, request, &engine.principal).await?;
    let found = Found::from(response);
    let text = describe(&found);
    Reply::new(&found, text)
}

impl From<SearchResponse> for Found {
    fn from(response: SearchResponse) -> Self {
        Self {
            hits: response.hits.into_iter().map(FoundPassage::from).collect(),
            unmatched_terms: response.unmatched_terms,
            unmet_filter: response.unmet_filter.map(|unmet| unmet.describe()),
            degraded: response.degraded,
        }
    }
}

impl From<Hit> for FoundPassage {
    fn from(hit: Hit) -> Self {
        Self {
            rank: hit.rank,
            relevance: hit.relevance,
            document_id: hit.document_id,
            title: hit.title,
            source: hit.source,
            source_path: hit.source_path,
            section_path: hit.section_path,
            pages: hit.pages,
            url: hit.url,
            knowledge_sets: hit.knowledge_sets,
            is_summary: hit.kind == ChunkKind::Summary,
            language: hit.language,
            more_in_document: (hit.more_in_document > 0).then_some(hit.more_in_document),
            text: hit.text,
        }
    }
}

fn describe(found: &Found) -> String {
    let mut text = String::new();
    for hit in &found.hits {
        let title = heading(&hit.title, &hit.section_path);
        let relevance = hit.relevance.unwrap_or_default();
        let place = format!("{}/{}", hit.source, hit.source_path);
        writeln!(text, "## {}. {title}", hit.rank).ok();
        writeln!(
            text,
            "{place} (document {}, relevance {relevance:.2})\n",
            hit.document_id
        )
        .ok();
        if hit.is_summary {
            text.push_str("(A summary of the section, not its text.)\n");
        }
        writeln!(text, "{}\n", fenced(&hit.text, hit.language.as_deref())).ok();
        if let Some(more) = hit.more_in_document {
            writeln!(
                text,
                "(Passages of this document that were found too: {more}.)\n"
            )
            .ok();
        }
    }
    ending(
        &mut text,
        found.hits.is_empty(),
        found.unmet_filter.as_deref(),
    );
    if !found.unmatched_terms.is_empty() {
        let terms = found.unmatched_terms.join(", ");
        writeln!(text, "These words stand in no passage: {terms}").ok();
    }
    degraded(&mut text, &found.degraded);
    text
}

/// Code as Markdown.
pub fn fenced(text: &str, language: Option<&str>) -> String {
    let Some(language) = language else {
        return text.to_owned();
    };
    // Longer than any fence in the code.
    let ticks = text.split(|letter| letter != '`').map(str::len).max();
    let fence = "`".repeat(ticks.unwrap_or_default().max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

fn ending(text: &mut String, is_empty: bool, unmet: Option<&str>) {
    match unmet {
        Some(unmet) => writeln!(text, "Nothing was found: {unmet}.").ok(),
        None if is_empty => writeln!(text, "Nothing was found.").ok(),
        None => None,
    };
}

fn degraded(text: &mut String, degraded: &[String]) {
    if !degraded.is_empty() {
        let what = degraded.join(", ");
        writeln!(text, "Done in a lesser way than configured: {what}").ok();
    }
}

/// Calls `search_code`.
pub async fn search_code(engine: &Engine, arguments: CodeArguments) -> Result<Reply, Problem> {
    let request = CodeSearchRequest {
        query: arguments.query,
        filter: tools::with_sets(arguments.filter, arguments.knowledge_sets)?,
        top_k: arguments.top_k,
        ..CodeSearchRequest::default()
    };
    let response = find_code(&engine.state, request, &engine.principal).await?;
    let found = FoundCode::from(response);
    let text = describe_code(&found);
    Reply::new(&found, text)
}

impl From<CodeSearchResponse> for FoundCode {
    fn from(response: CodeSearchResponse) -> Self {
        let files = response.files.into_iter().map(|file| FoundFile {
            document_id: file.document_id,
            source: file.source,
            source_path: file.source_path,
            summary: file.summary,
        });
        Self {
            files: files.collect(),
            hits: response
                .hits
                .into_iter()
                .map(FoundDefinition::from)
                .collect(),
            unmet_filter: response.unmet_filter.map(|unmet| unmet.describe()),
            degraded: response.degraded,
        }
    }
}

impl From<CodeHit> for FoundDefinition {
    fn from(hit: CodeHit) -> Self {
        Self {
            rank: hit.rank,
            function: hit.function,
            signature: hit.signature,
            description: hit.description,
            language: hit.language,
            document_id: hit.document_id,
            source: hit.source,
            source_path: hit.source_path,
            start_line: hit.start_line,
            end_line: hit.end_line,
            text: hit.text,
        }
    }
}

fn describe_code(found: &FoundCode) -> String {
    let mut text = String::new();
    for hit in &found.hits {
        let lines = format!("{}-{}", hit.start_line, hit.end_line);
        writeln!(text, "## {}. {}", hit.rank, hit.function).ok();
        writeln!(text, "{}/{}:{lines}\n", hit.source, hit.source_path).ok();
        writeln!(text, "{}\n", hit.description).ok();
        writeln!(text, "{}\n", fenced(&hit.text, Some(&hit.language))).ok();
    }
    if !found.files.is_empty() {
        writeln!(text, "Files:").ok();
    }
    for file in &found.files {
        let place = format!("{}/{}", file.source, file.source_path);
        writeln!(
            text,
            "- {place} (document {}): {}",
            file.document_id, file.summary
        )
        .ok();
    }
    let is_empty = found.hits.is_empty() && found.files.is_empty();
    ending(&mut text, is_empty, found.unmet_filter.as_deref());
    degraded(&mut text, &found.degraded);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_with_fences_is_fenced_by_a_longer_one() {
        assert_eq!(fenced("a", None), "a");
        assert_eq!(fenced("a", Some("c")), "```c\na\n```");
        assert_eq!(fenced("```\n````", Some("md")), "`````md\n```\n````\n`````");
    }
}
