//! A report: an answer of several sections that are written at the same time, each from passages of
//! its own. It is asked for, streamed and kept as any answer is; this is what it has beside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ask::{AskRequest, Source};
use crate::understanding::Understanding;

/// How much of a report is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// One section.
    #[default]
    General,
    /// Three sections.
    Deep,
    /// Six sections.
    Deeper,
}

impl Depth {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::General, Self::Deep, Self::Deeper];

    /// Sections of such a report.
    pub fn sections(self) -> usize {
        match self {
            Self::General => 1,
            Self::Deep => 3,
            Self::Deeper => 6,
        }
    }

    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Deep => "deep",
            Self::Deeper => "deeper",
        }
    }

    /// The depth of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }
}

/// Where a section stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// It is the only one.
    #[default]
    Whole,
    /// It is the first one.
    Introduction,
    /// Others stand before and behind it.
    Middle,
    /// It is the last one.
    Conclusion,
}

/// A section that is to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedSection {
    /// From 1.
    pub number: usize,
    /// Its heading.
    pub title: String,
    /// What it answers, 1 to 5 questions.
    pub questions: Vec<String>,
}

/// The plan of a report; data of the event `outline`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outline {
    /// Title of the report.
    pub title: String,
    /// Its sections in order.
    pub sections: Vec<PlannedSection>,
}

/// Who wrote a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrittenBy {
    /// The model of the role `report`.
    Model,
    /// Nobody: it is the best sentences of its passages, word for word.
    Extract,
    /// Nobody: nothing was found for it.
    #[default]
    Nobody,
}

/// A section that is written; data of the event `section`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenSection {
    /// As in the outline.
    pub number: usize,
    /// Its heading.
    pub title: String,
    /// What it answers.
    pub questions: Vec<String>,
    /// Where it stands.
    pub place: Place,
    /// Markdown without the heading; `[3]` cites the source of that number of the whole report.
    pub text: String,
    /// Who wrote it.
    pub written_by: WrittenBy,
    /// Why no model wrote it, or not to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Numbers of the sources that it was written from.
    pub sources: Vec<u32>,
    /// Numbers that it cites, in the order of their first citation.
    pub cited: Vec<u32>,
    /// Citations that were taken out.
    #[serde(default)]
    pub removed_citations: u32,
}

/// What a report has beside an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// What it is gone on with under: `report_id` of the request, or made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Its title.
    pub title: String,
    /// How much was wanted.
    pub depth: Depth,
    /// Its sections in order.
    pub sections: Vec<WrittenSection>,
}

/// What a report is written from: what was understood, planned and found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportPlan {
    /// What the question means.
    pub understanding: Understanding,
    /// Its sections.
    pub outline: Outline,
    /// Passages of the whole report, by number.
    pub sources: Vec<Source>,
    /// What of it was done in a lesser way than configured.
    pub degraded: Vec<String>,
}

/// A section that is written, and what writing it took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptSection {
    /// The section.
    pub section: WrittenSection,
    /// What was done in a lesser way than configured.
    pub degraded: Vec<String>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A part of a report that is kept by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportPart {
    /// Before any section.
    Plan(Box<ReportPlan>),
    /// When it is written.
    Section(Box<KeptSection>),
}

/// What is kept of a report, so that it can be gone on with.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct KeptReport {
    /// 1 to 64 letters, digits and `.`, `-`, `_`.
    pub id: String,
    /// What was asked for; the same again goes on with it.
    pub request: AskRequest,
    /// Milliseconds since 1970 at which the last part was kept.
    pub updated_at_ms: u64,
    /// What was planned and found; absent until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Box<ReportPlan>>,
    /// Sections that are written, by number.
    pub sections: Vec<KeptSection>,
}
