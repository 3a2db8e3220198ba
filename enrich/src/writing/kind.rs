//! Which texts of a document a language model may write. Whatever is done for each of them, from
//! its model to what is said where it is missing, begins here.

use tributary_models::chat::Role;

use crate::prompts::{CODE_DESCRIPTION, CODE_FILE_SUMMARY, SECTION_SUMMARY};

/// A kind of text that a language model writes; without one rules may, in a lesser way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenKind {
    /// What a section says: [`crate::summaries`].
    Summary,
    /// What a function, a type or a file of source code does: [`crate::descriptions`].
    Description,
}

impl WrittenKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Summary, Self::Description];

    /// The role whose model writes it.
    pub fn role(self) -> Role {
        match self {
            Self::Summary => Role::Summarize,
            Self::Description => Role::DescribeCode,
        }
    }

    /// The prompts that it is written by.
    pub fn prompts(self) -> &'static [&'static str] {
        match self {
            Self::Summary => &[SECTION_SUMMARY],
            Self::Description => &[CODE_DESCRIPTION, CODE_FILE_SUMMARY],
        }
    }

    /// What `lineage.degraded` says where it was written in a lesser way than configured.
    pub fn degraded(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Description => "description",
        }
    }

    /// The kind that a name in `lineage.degraded` is of, if it is one that a model makes up for.
    pub fn of_degraded(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.degraded() == name)
    }

    /// Its name in the settings, and among what a generation of the index was not built with.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Summary => "summaries",
            Self::Description => "descriptions",
        }
    }
}
