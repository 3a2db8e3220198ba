//! What a language model is asked for. Code names a role; the configuration says which endpoint
//! serves it.

use serde::{Deserialize, Serialize};

/// A kind of work for a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What a question means, and how else it can be asked: small and fast.
    Understand,
    /// Whether passages are relevant or sufficient, or an answer is right.
    Judge,
    /// Summaries of sections, and of the older rounds of a conversation.
    Summarize,
    /// Descriptions of source code.
    DescribeCode,
    /// Answers for people: the best model there is.
    Answer,
    /// Reports of several sections.
    Report,
    /// Questions to SQL.
    Sql,
    /// Questions and answers for evaluation sets.
    Generate,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 8] = [
        Self::Understand,
        Self::Judge,
        Self::Summarize,
        Self::DescribeCode,
        Self::Answer,
        Self::Report,
        Self::Sql,
        Self::Generate,
    ];

    /// The name in the configuration, in prompts and in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Understand => "understand",
            Self::Judge => "judge",
            Self::Summarize => "summarize",
            Self::DescribeCode => "describe_code",
            Self::Answer => "answer",
            Self::Report => "report",
            Self::Sql => "sql",
            Self::Generate => "generate",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_configuration() {
        for role in Role::ALL {
            assert_eq!(serde_json::to_value(role).ok(), Some(role.as_str().into()));
            assert_eq!(Role::named(role.as_str()), Some(role));
        }
        assert_eq!(Role::named("poet"), None);
    }
}
