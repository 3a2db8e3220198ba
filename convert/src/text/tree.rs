//! Nested data with names in their order, read from any serde format.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    /// No value.
    Nothing,
    /// A text.
    Text(String),
    /// A number or a truth value, as text.
    Plain(String),
    /// Values in order.
    List(Vec<Tree>),
    /// Named values in order; names may repeat.
    Record(Vec<(String, Tree)>),
}

/// Longest text that names a record, in characters.
const MAXIMUM_TITLE: usize = 100;

impl Tree {
    /// The text of a value that is not nested.
    pub(super) fn scalar(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Plain(text) => Some(text),
            Self::Nothing => Some(""),
            Self::List(_) | Self::Record(_) => None,
        }
    }

    /// The value of a record that has one: the root element of XML.
    pub(super) fn only_value(&self) -> Option<&Self> {
        let Self::Record(entries) = self else {
            return None;
        };
        entries
            .first()
            .filter(|_| entries.len() == 1)
            .map(|(_, value)| value)
    }

    /// The first of the named values that can name the record.
    pub(super) fn title(&self, names: &[&str]) -> Option<String> {
        let Self::Record(entries) = self else {
            return None;
        };
        let value = |wanted: &&str| {
            entries
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
                .and_then(|(_, value)| value.scalar())
        };
        let fits = |text: &&str| {
            !text.trim().is_empty() && text.chars().count() <= MAXIMUM_TITLE && !text.contains('\n')
        };
        names
            .iter()
            .filter_map(value)
            .find(fits)
            .map(|text| text.trim().to_owned())
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Plain(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Plain(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Plain(value.to_string()))
    }

    /// A whole number keeps its point: `1.0` is often a version.
    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Plain(format!("{value:?}")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree, E> {
        Ok(Tree::Text(value))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut record = Vec::new();
        while let Some((name, value)) = entries.next_entry::<Tree, Tree>()? {
            record.push((name.scalar().unwrap_or("…").to_owned(), value));
        }
        Ok(Tree::Record(record))
    }
}
