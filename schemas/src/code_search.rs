//! Bodies of `POST /v1/code/search`: files of source code, and definitions in them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::code_entry::{Definition, DescribedBy};
use crate::search::TierSummary;
use crate::unmet::UnmetFilter;
use crate::{ChunkId, Filter, strict};

/// Body of `POST /v1/code/search`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeSearchRequest {
    /// The question, as written.
    pub query: String,
    /// What the caller wants to see. Of its `kinds`, `code_file` allows files and `code_function`
    /// definitions; without them both are found.
    #[serde(default, deserialize_with = "strict::object")]
    pub filter: Filter,
    /// Definitions wanted; the server's default when absent.
    #[serde(default)]
    pub top_k: Option<usize>,
    /// Files in which definitions are looked for; the server's default when absent.
    #[serde(default)]
    pub files: Option<usize>,
    /// Whether definitions are reranked when a reranker is configured.
    #[serde(default)]
    pub rerank: Option<bool>,
}

/// Answer of `POST /v1/code/search`; what `tributary code search --format json` prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CodeSearchResponse {
    /// The question, as received.
    pub query: String,
    /// Milliseconds from receipt to answer.
    pub took_ms: f64,
    /// What was done in a lesser way than configured, such as `reranker` or `embedder`.
    pub degraded: Vec<String>,
    /// Where nothing was found because no document has a value that the filter asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmet_filter: Option<UnmetFilter>,
    /// Terms of the question that the glossary has names for in the code, which were searched for
    /// too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub glossary: Vec<GlossaryTerm>,
    /// By stage: `files`, `definitions`.
    pub stages: BTreeMap<String, TierSummary>,
    /// Files in which definitions were looked for, best first.
    pub files: Vec<CodeFile>,
    /// Definitions, best first.
    pub hits: Vec<CodeHit>,
}

/// A term of a question, and what it is called in the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GlossaryTerm {
    /// As the question has it.
    pub term: String,
    /// Its names in the code.
    pub names: Vec<String>,
}

/// A file of source code that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CodeFile {
    /// Position, from 1.
    pub rank: usize,
    /// 0 to 1; 1 for one that is the first both by its summary and by its best definition.
    pub score: f32,
    /// Its document.
    pub document_id: String,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// Programming language; empty when not known.
    pub language: String,
    /// The part of the code base that it belongs to; empty where documents name none.
    pub part: String,
    /// What it does, in words; empty where it has no description that says something.
    pub summary: String,
}

/// A definition that was found: a function, method, type or macro.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CodeHit {
    /// Position, from 1.
    pub rank: usize,
    /// Final score, 0 to 1, comparable within one answer: of the definition and of its file.
    pub score: f32,
    /// Estimated probability that it is what was asked for, 0 to 1, comparable across questions, as
    /// in other searches; none where keywords were not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f32>,
    /// Its chunk.
    pub chunk_id: ChunkId,
    /// Its document.
    pub document_id: String,
    /// Version of the document.
    pub version: u64,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// First line in the file, from 1, that of the comment above it included.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// Name, with the types or modules that it belongs to.
    pub function: String,
    /// What it is.
    pub definition: Definition,
    /// Programming language.
    pub language: String,
    /// Its first lines up to the body, in one line.
    pub signature: String,
    /// What it does, in words.
    pub description: String,
    /// Who wrote the description.
    pub described_by: DescribedBy,
    /// Names that it calls.
    pub calls: Vec<String>,
    /// Names of the definitions in the same file that call it.
    pub callers: Vec<String>,
    /// The code.
    pub text: String,
    /// Where a reader finds the original; empty when not known.
    pub url: String,
    /// `keyword`, `vector`, `definition` (both, and what is named), `exact_name`, `file` and
    /// `rerank`.
    pub scores: BTreeMap<String, f32>,
}
