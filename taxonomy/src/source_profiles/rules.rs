//! Rules of a source profile: under which conditions a document gets tags, attributes or a chunker
//! of its own.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tributary_schemas::{Attributes, DocumentHeader};

use super::ChunkStrategy;
use crate::fold::fold;
use crate::pattern::Patterns;

/// What a rule asks of a document; all that is named must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Path or URL within the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Patterns>,
    /// Title of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Patterns>,
    /// Detected media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<Patterns>,
    /// Attributes by name, custom ones too. An absent one does not match.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attribute: BTreeMap<String, Patterns>,
    /// Words of which the text mentions at least one: whole words, whatever their case and width.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// How often the text must mention them, all together; 1 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mentions: Option<usize>,
}

/// Keys of [`Condition`] in a file.
pub(super) const CONDITION_KEYS: [&str; 6] = [
    "path",
    "title",
    "media_type",
    "attribute",
    "text",
    "mentions",
];

/// Tags for documents that match: conditional tags such as gNodeB → 5G.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagRule {
    /// Which documents.
    #[serde(flatten)]
    pub condition: Condition,
    /// What they get.
    pub tags: Vec<String>,
}

/// Attributes for documents that match: a category by path, an organisation by author.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeRule {
    /// Which documents.
    #[serde(flatten)]
    pub condition: Condition,
    /// What they get where they have nothing yet.
    pub attributes: Attributes,
}

/// Another way to cut documents that match: questions and answers among manuals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkerRule {
    /// Which documents.
    #[serde(flatten)]
    pub condition: Condition,
    /// How they are cut.
    pub chunker: ChunkStrategy,
}

impl Condition {
    /// Whether it asks anything.
    pub fn is_empty(&self) -> bool {
        let names_no_pattern =
            self.path.is_none() && self.title.is_none() && self.media_type.is_none();
        names_no_pattern && self.attribute.is_empty() && self.text.is_empty()
    }

    /// What is wrong with it, for messages.
    pub(super) fn problem(&self) -> Option<&'static str> {
        match self {
            _ if self.is_empty() => Some("has neither path, title, media_type, attribute nor text"),
            _ if self.text.iter().any(|word| fold(word).trim().is_empty()) => {
                Some("asks for an empty word in `text`")
            }
            Self {
                mentions: Some(0), ..
            } => Some("asks for 0 `mentions`; the least is 1"),
            Self {
                mentions: Some(_),
                text,
                ..
            } if text.is_empty() => Some("counts `mentions` of no `text`"),
            _ => None,
        }
    }

    /// Whether all of it holds.
    pub fn holds(&self, document: &DocumentHeader, text: &FoldedText) -> bool {
        self.path
            .as_ref()
            .is_none_or(|patterns| patterns.matches_path(&document.source_path))
            && self
                .title
                .as_ref()
                .is_none_or(|patterns| patterns.matches(&document.title))
            && self
                .media_type
                .as_ref()
                .is_none_or(|patterns| patterns.matches(&document.media_type))
            && self.attribute.iter().all(|(name, patterns)| {
                document
                    .attributes
                    .text(name)
                    .is_some_and(|value| patterns.matches(value))
            })
            && (self.text.is_empty() || text.mentions(&self.text, self.mentions.unwrap_or(1)))
    }
}

/// A document's text as rules read it; folded once, and only if a rule asks.
pub struct FoldedText<'a> {
    text: &'a str,
    folded: std::cell::OnceCell<Cow<'a, str>>,
}

impl<'a> FoldedText<'a> {
    /// The text of a document.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            folded: std::cell::OnceCell::new(),
        }
    }

    fn mentions(&self, words: &[String], at_least: usize) -> bool {
        let text = self.folded.get_or_init(|| fold(self.text));
        let mut left = at_least;
        for word in words {
            left -= occurrences(text, fold(word).trim()).take(left).count();
            if left == 0 {
                return true;
            }
        }
        false
    }
}

/// Where a word stands in a text as a whole one. Beside Chinese characters there is no end of a
/// word to look for.
fn occurrences<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let goes_on = |left: Option<char>, right: Option<char>| match (left, right) {
        (Some(left), Some(right)) => left.is_ascii_alphanumeric() && right.is_ascii_alphanumeric(),
        _ => false,
    };
    text.match_indices(word)
        .map(|(place, _)| place)
        .filter(move |place| {
            let before = text
                .get(..*place)
                .and_then(|before| before.chars().next_back());
            let after = text
                .get(place + word.len()..)
                .and_then(|after| after.chars().next());
            !goes_on(before, word.chars().next()) && !goes_on(word.chars().next_back(), after)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentions(text: &str, words: &[&str], at_least: usize) -> bool {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        FoldedText::new(text).mentions(&words, at_least)
    }

    #[test]
    fn whole_words_are_counted_whatever_their_case_and_width() {
        assert!(mentions("The GNODEB and the ｇＮｏｄｅＢ", &["gNodeB"], 2));
        assert!(!mentions("The gNodeB", &["gNodeB"], 2));
        assert!(mentions("gNodeB参数和基站", &["gNodeB", "基站"], 2));
        assert!(
            !mentions("eNodeB NRT", &["NodeB", "NR"], 1),
            "parts of words are not mentions"
        );
        assert!(mentions("NR-DC", &["NR"], 1));
        assert!(!mentions("", &["x"], 1));
    }

    #[test]
    fn a_condition_that_asks_nothing_or_wrongly_is_a_problem() {
        let condition = |text: &str| -> Condition {
            toml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
        };
        for (text, part) in [
            ("", "has neither path"),
            ("text = [' ']", "empty word"),
            ("text = ['x']\nmentions = 0", "0 `mentions`"),
            ("path = '**'\nmentions = 2", "of no `text`"),
        ] {
            assert!(
                condition(text)
                    .problem()
                    .is_some_and(|problem| problem.contains(part)),
                "{text}"
            );
        }
        assert_eq!(condition("path = 'api/**'").problem(), None);
    }
}
