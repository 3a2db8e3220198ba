//! Bodies of `POST /v1/ask`, and the events in which an answer is streamed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::code_search::CodeFile;
use crate::report::{Depth, Outline, Report, WrittenSection};
use crate::review::Review;
use crate::search::{QueryPlan, Strategy};
use crate::table_query::TableAnswer;
use crate::understanding::Understanding;
use crate::unmet::UnmetFilter;
use crate::user_profile::UserProfile;
use crate::{ChunkId, ChunkKind, Filter, strict};

/// Which workflow answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Workflow {
    /// Understand, retrieve, answer with citations.
    #[default]
    General,
    /// Suggest what to search for, judge each passage and whether all of them are enough, search
    /// once more for what is missing, answer as a textbook explains.
    Textbook,
    /// Choose tables of documents, let a model write an SQL statement over them, run it, show its
    /// rows.
    Table,
    /// What an error log means and what helps: the error text and the names in it are searched for,
    /// the answer is an analysis, a solution and the environment that the sources speak of.
    #[serde(alias = "error-map")]
    ErrorMap,
    /// What source code does, in five parts, from the definitions that a search over files and
    /// definitions finds.
    Code,
    /// `textbook`, then `code`, in one answer.
    Course,
    /// Plan sections, search for all of their questions at once, write the sections at the same time.
    Report,
}

impl Workflow {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::General,
        Self::Textbook,
        Self::ErrorMap,
        Self::Code,
        Self::Course,
        Self::Table,
        Self::Report,
    ];

    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Textbook => "textbook",
            Self::Table => "table",
            Self::ErrorMap => "error_map",
            Self::Code => "code",
            Self::Course => "course",
            Self::Report => "report",
        }
    }

    /// The workflow of this name, which may be written with `-` instead of `_`.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }
}

/// Who decides what is searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Retrieval {
    /// Each question is searched for.
    #[default]
    Automatic,
    /// The model that answers searches by calling a tool, as often as it wants up to the server's
    /// limit; what it does not search for it does not know.
    OnDemand,
}

impl Retrieval {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Automatic, Self::OnDemand];

    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::OnDemand => "on_demand",
        }
    }

    /// The way of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }
}

/// A question and its answer, said before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// What was asked.
    pub question: String,
    /// What was answered; empty where the answer failed.
    #[serde(default)]
    pub answer: String,
}

/// Body of `POST /v1/ask`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    /// The question, as written.
    pub question: String,
    /// The conversation that it belongs to: its last rounds are known, and the turn is kept there.
    #[serde(default)]
    pub conversation_id: Option<String>,
    /// What was said before, oldest first, from a caller who remembers it; not together with
    /// `conversation_id`.
    #[serde(default)]
    pub history: Vec<Round>,
    /// Which workflow answers; when absent that of the question's intent where the server has one
    /// for it, else the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Workflow>,
    /// How many sections a report has, `general` when absent; with the workflow `report` alone.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub depth: Option<Depth>,
    /// What a report is kept under while it is written, 1 to 64 letters, digits and `.`, `-`, `_`: the
    /// same request with the same id goes on with it. Made when absent; with the workflow `report`
    /// alone.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub report_id: Option<String>,
    /// Whether the web is searched too, by the live search that the server has; where it has none, or
    /// that fails, `degraded` names `live`. With the workflow `report` alone.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub live: Option<bool>,
    /// Who decides what is searched for; `on_demand` goes with the workflow `general`.
    #[serde(default)]
    pub retrieval: Retrieval,
    /// The only knowledge sets that are searched: short for `filter.knowledge_sets`, not together
    /// with it.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub knowledge_sets: Option<Vec<String>>,
    /// What the caller wants to see.
    #[serde(default, deserialize_with = "strict::object")]
    pub filter: Filter,
    /// Which signals are used.
    #[serde(default)]
    pub strategy: Strategy,
    /// Passages that the answer is made from; the server's default when absent.
    #[serde(default)]
    pub top_k: Option<usize>,
    /// Lowest final score of a passage, 0 to 1, comparable within one answer.
    #[serde(default)]
    pub minimum_score: Option<f32>,
    /// Lowest relevance of a passage, 0 to 1; the server's default when absent.
    #[serde(default)]
    pub minimum_relevance: Option<f32>,
    /// Whether tier 3 runs when a reranker is configured.
    #[serde(default)]
    pub rerank: Option<bool>,
    /// Whether a question that leans on the history is completed from it; true when absent.
    #[serde(default)]
    pub rewrite: Option<bool>,
    /// Whether tables of the documents are asked by SQL too, beside the search: their rows become one
    /// more passage of the answer. Where nothing comes of it, `degraded` names `nl2sql`. With the
    /// workflow `general`; others name it in `degraded`.
    #[serde(default)]
    pub nl2sql: Option<bool>,
    /// User profile (画像): tag → weight that fine scores are multiplied with; 1 is neutral.
    #[serde(default, deserialize_with = "strict::distinct")]
    pub profile: BTreeMap<String, f32>,
    /// What the user prefers (画像), with this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_profile: Option<UserProfile>,
    /// The user whose stored profile holds; not together with `user_profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Return how the question was understood, and the plans of its searches.
    #[serde(default)]
    pub explain: bool,
    /// How long the answer goes on while nobody reads it, in milliseconds, at most 60000: for
    /// readers who come back. The server's setting when absent.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub abandoned_after_ms: Option<u64>,
}

/// What kind of answer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A model's answer, all of whose statements are supported by what they cite.
    Answered,
    /// A model's answer of which some statement is not supported by what it cites.
    Partly,
    /// There is no answer in what was found: the fixed sentence is the whole answer.
    Refused,
    /// The best sentences of the passages, word for word, because no model was there to answer.
    Extractive,
    /// A reply to a greeting or the like, for which nothing was searched: it says nothing from the
    /// documents. A fixed sentence, or where retrieval is on demand a model's.
    Unsourced,
}

/// A part of a text, in Unicode characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// First character, from 0.
    pub start: usize,
    /// The character after the last one.
    pub end: usize,
}

/// A passage that an answer was made from, or that is close to the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// What citations in the answer call it, from 1.
    pub number: u32,
    /// Whether the answer cites it.
    pub cited: bool,
    /// Chunk.
    pub chunk_id: ChunkId,
    /// Its document.
    pub document_id: String,
    /// Version of the document.
    pub version: u64,
    /// Name of the source that it was published in.
    pub source: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// Title of the document.
    pub title: String,
    /// Titles above the chunk.
    pub section_path: Vec<String>,
    /// Page numbers from 1; empty when not known.
    pub pages: Vec<u32>,
    /// Where a reader finds the original; empty when not known.
    pub url: String,
    /// What the chunk is made of.
    pub kind: ChunkKind,
    /// The text that the answer was made from, as Markdown.
    pub text: String,
    /// Programming language, where the text is source code and no Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What it does, in words, where the text is a definition in source code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it stands in its file, where the text is source code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    /// Links of images in the chunk.
    #[serde(default)]
    pub images: Vec<String>,
    /// Estimated probability that it answers the question, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f32>,
    /// Parts of `text` that support what cites it.
    #[serde(default)]
    pub spans: Vec<Span>,
    /// Where it is no passage of a document but was found on the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveSource>,
}

/// How a page of the web was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveSource {
    /// The service that found it, such as `searxng`.
    pub service: String,
    /// When, RFC 3339.
    pub found_at: String,
    /// When it was published, as the service writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
}

/// Lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lines {
    /// First line, from 1.
    pub first: u32,
    /// Last line.
    pub last: u32,
}

/// A part of an answer that has a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Section {
    /// `analysis`, `solution`, `environment` of `error_map`; `purpose`, `key_functions`, `flow`,
    /// `details`, `relation` of `code`; `textbook`, `code` of `course`.
    pub name: String,
    /// Its heading in the answer; empty where it stands below none.
    pub heading: String,
    /// Where its text stands in the answer, without the heading.
    pub span: Span,
}

/// A line of the environment for which the sources state a solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentValue {
    /// Which one, such as `system`, `hardware`, `version`, `mode`.
    pub name: String,
    /// What the source says, word for word.
    pub value: String,
    /// Number of the source.
    pub source: u32,
}

/// Code of an answer, or the answer to a frequent question, held against the sources word for word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quotation {
    /// What is quoted.
    pub kind: QuotationKind,
    /// The source that has it; absent where none has it, which the answer says below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<u32>,
    /// Whether the model wrote it otherwise and the words of the source stand in the place of its own.
    #[serde(default)]
    pub replaced: bool,
}

/// What is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuotationKind {
    /// A block of code.
    Code,
    /// The answer of a frequent question.
    Faq,
}

/// One of the searches of a workflow that searches several parts of the documents apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SideFound {
    /// Its name in the configuration.
    pub name: String,
    /// What was searched for.
    pub query: String,
    /// Passages that it found.
    pub found: usize,
}

/// What an answer to an error log was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorMap {
    /// Whether the question was a log; false for a question about one.
    pub is_log: bool,
    /// Messages in the log, without paths, addresses and line numbers.
    pub errors: Vec<String>,
    /// Identifiers and codes in the log.
    pub identifiers: Vec<String>,
    /// The environment that the sources speak of; what they do not say is absent.
    pub environment: Vec<EnvironmentValue>,
}

/// A statement of the answer, held against what it cites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Support {
    /// Where it stands in the answer.
    pub span: Span,
    /// Numbers of the sources that it cites.
    pub citations: Vec<u32>,
    /// Whether they state it, as far as words, numbers and negations tell.
    pub supported: bool,
    /// Share of its words that stand in what it cites, 0 to 1.
    pub coverage: f32,
    /// What speaks against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
}

/// What speaks against a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// It cites nothing.
    NoCitation,
    /// Too few of its words stand in what it cites.
    FewWords,
    /// A number of it does not stand in what it cites.
    Number,
    /// It says no where what it cites does not, or the other way round.
    Negation,
}

/// Milliseconds of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTime {
    /// `understanding`, `retrieval`, `relevance`, `sufficiency`, `second_retrieval`, `code_retrieval`,
    /// `tables`, `sql`, `first_token`, `answer`; those that the workflow has.
    pub step: String,
    /// Milliseconds that it took.
    pub ms: f64,
}

/// What language models were given and gave, in tokens as their servers count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// Of the prompts.
    pub prompt: u64,
    /// Of the replies.
    pub completion: u64,
}

/// Answer of `POST /v1/ask`, and data of the event `done`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Of this question: 32 hexadecimal digits; that of its turn in a conversation.
    pub id: String,
    /// The conversation that keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// The question, as received.
    pub question: String,
    /// The answer as Markdown; `[1]` cites the source of that number. It cites no other numbers.
    pub answer: String,
    /// What kind of answer it is.
    pub verdict: Verdict,
    /// Which workflow answered.
    pub workflow: Workflow,
    /// Language of the answer, a BCP 47 tag.
    pub language: String,
    /// What the answer was made from, by number.
    pub sources: Vec<Source>,
    /// Statements of the answer, held against what they cite; empty for other verdicts than
    /// `answered` and `partly`.
    pub support: Vec<Support>,
    /// Where it is refused: what is closest to the question.
    #[serde(default)]
    pub related: Vec<Source>,
    /// Words of the question that stand in no chunk that the caller may find, as written: what is
    /// asked for may not be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched_terms: Vec<String>,
    /// Where nothing was found because no document meets the filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmet_filter: Option<UnmetFilter>,
    /// What was done in a lesser way than configured, such as `answer` or `understanding`.
    pub degraded: Vec<String>,
    /// Citations of numbers that were not given, which were taken out.
    #[serde(default)]
    pub removed_citations: u32,
    /// Milliseconds from receipt to the end of the answer.
    pub took_ms: f64,
    /// Its steps in order.
    pub steps: Vec<StepTime>,
    /// The model that answered, as its server names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What all calls of models for it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The same by the role that was called, such as `understand` or `answer`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tokens_by_role: BTreeMap<String, Tokens>,
    /// How the passages were chosen, from a workflow that judges them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// What tables of the documents say: with the workflow `table`, and where `nl2sql` asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Box<TableAnswer>>,
    /// Its parts, from a workflow whose answers have a form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
    /// What it quotes word for word, from a workflow that checks it, in the order of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotations: Vec<Quotation>,
    /// What each side found, from a workflow that searches several parts of the documents apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<SideFound>,
    /// Of the workflow `error_map`: what it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_map: Option<Box<ErrorMap>>,
    /// The sections of a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// With `explain`: how the question was understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub understanding: Option<Understanding>,
    /// With `explain`: the plans of the searches, that of the standalone question first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<QueryPlan>,
}

/// What was found for a question; data of the event `retrieval`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retrieved {
    /// Passages that the answer is made from, by number.
    pub sources: Vec<Source>,
    /// Milliseconds that it took.
    pub took_ms: f64,
}

/// What was found in source code; data of the event `code_retrieval`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CodeRetrieved {
    /// Files in which definitions were looked for, best first.
    pub files: Vec<CodeFile>,
    /// Definitions that are explained, by number.
    pub sources: Vec<Source>,
    /// Milliseconds that it took.
    pub took_ms: f64,
}

/// One part of an answer is over; data of the events `textbook_done` and `code_done`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartDone {
    /// What kind of answer the part is; absent where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// How an answer failed; data of the event `error`, and what a failed turn keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskFailure {
    /// What went wrong, for programs: a code of `application/problem+json`.
    pub code: String,
    /// What is wrong.
    pub detail: String,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// One event of a streamed answer. A stream ends in `done` or `error`, always.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum AskEvent {
    /// What the question means.
    Understanding(Box<Understanding>),
    /// What was found for it. It comes again where more was searched for; the last one holds.
    Retrieval(Retrieved),
    /// What tables of the documents say: the statement and its rows.
    Table(Box<TableAnswer>),
    /// What is being done, by its name: `understanding`, `suggestion`, `retrieval`, `relevance`,
    /// `sufficiency`, `second_retrieval`, `code_retrieval`, `tables`, `sql`, `outline`, `sections`, `answer`.
    Thinking {
        /// Name of the step.
        step: String,
    },
    /// What was found in source code for it. As with `retrieval`, the last one holds.
    CodeRetrieval(CodeRetrieved),
    /// More of the answer; the chunks joined, those that explain code among them, are `answer` of
    /// the event `done`.
    AnswerChunk {
        /// Text to append.
        text: String,
    },
    /// More of the answer, which explains source code.
    CodeDescriptionChunk {
        /// Text to append.
        text: String,
    },
    /// The part from the textbook is over.
    TextbookDone(PartDone),
    /// The part that explains source code is over.
    CodeDone(PartDone),
    /// The answer cites a source for the first time.
    Citation {
        /// Number of the source.
        number: u32,
    },
    /// What sections a report will have.
    Outline(Outline),
    /// A section of a report is written; they come in the order in which they end.
    Section(Box<WrittenSection>),
    /// The whole answer.
    Done(Box<Answer>),
    /// There will be no answer.
    Error(AskFailure),
}

impl AskEvent {
    /// Name of the event on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Understanding(_) => "understanding",
            Self::Retrieval(_) => "retrieval",
            Self::Table(_) => "table",
            Self::Thinking { .. } => "thinking",
            Self::CodeRetrieval(_) => "code_retrieval",
            Self::AnswerChunk { .. } => "answer_chunk",
            Self::CodeDescriptionChunk { .. } => "code_description_chunk",
            Self::TextbookDone(_) => "textbook_done",
            Self::CodeDone(_) => "code_done",
            Self::Citation { .. } => "citation",
            Self::Outline(_) => "outline",
            Self::Section(_) => "section",
            Self::Done(_) => "done",
            Self::Error(_) => "error",
        }
    }

    /// Whether nothing comes after it.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Error(_))
    }
}
