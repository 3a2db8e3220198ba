//! Dify's conditions on metadata as our filter. What the filter cannot say is refused: a condition
//! that is left out would find what was not to be found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use tributary_schemas::Filter;

use crate::problem::{Code, Problem};

/// `metadata_condition`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetadataCondition {
    /// `and` when absent; `or` joins conditions on one name only.
    #[serde(default)]
    logical_operator: LogicalOperator,
    /// The conditions.
    conditions: Vec<Condition>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum LogicalOperator {
    #[default]
    And,
    Or,
}

/// One condition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Condition {
    /// What is compared: `tags`, `source`, `product`, `product_version`, `language`, `document_id`,
    /// `updated_at`, `security_level`, or an attribute by its name.
    name: Name,
    /// `is`, `=` and `in`; `contains` for tags; `before`, `after` and comparisons for `updated_at`;
    /// `≤` for `security_level`. Others are refused.
    comparison_operator: String,
    /// What it is compared with.
    #[serde(default)]
    value: Option<Compared>,
}

/// One name; earlier versions of Dify send a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Name {
    One(String),
    Listed(Vec<String>),
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Compared {
    Text(String),
    Number(f64),
    Texts(Vec<String>),
}

/// What a name stands for in a filter.
enum Field {
    /// Tags: a document has several.
    Tags,
    /// A list of values of which a document has one.
    One(fn(&mut Filter) -> &mut Option<Vec<String>>),
    Attribute(String),
    UpdatedAt,
    SecurityLevel,
}

impl MetadataCondition {
    /// The filter that says the same.
    pub fn filter(&self) -> Result<Filter, Problem> {
        let mut filter = Filter::default();
        if self.logical_operator == LogicalOperator::Or && self.conditions.len() > 1 {
            let values = self.alternatives()?;
            let first = self.conditions.first().map(|condition| &condition.name);
            if let Some(name) = first {
                field(name.one()?)?.narrow(&mut filter, values)?;
            }
            return Ok(filter);
        }
        for condition in &self.conditions {
            condition.narrow(&mut filter)?;
        }
        Ok(filter)
    }

    /// Values of conditions that are joined by `or`, all on one name.
    fn alternatives(&self) -> Result<Vec<String>, Problem> {
        let mut values = Vec::new();
        let mut names = Vec::new();
        for condition in &self.conditions {
            names.push(condition.name.one()?);
            values.extend(condition.values()?);
        }
        names.dedup();
        match names.len() {
            1 => Ok(values),
            _ => Err(refused(
                "`or` joins conditions on different names".to_owned(),
            )),
        }
    }
}

impl Name {
    fn one(&self) -> Result<&str, Problem> {
        match self {
            Self::One(name) => Ok(name),
            Self::Listed(names) => match names.as_slice() {
                [name] => Ok(name),
                _ => Err(refused("a condition names several fields".to_owned())),
            },
        }
    }
}

impl Condition {
    fn narrow(&self, filter: &mut Filter) -> Result<(), Problem> {
        let name = self.name.one()?;
        match field(name)? {
            Field::UpdatedAt => self.narrow_time(filter),
            Field::SecurityLevel => self.narrow_level(filter),
            field => field.narrow(filter, self.values()?),
        }
    }

    /// The values of which a document must have one.
    fn values(&self) -> Result<Vec<String>, Problem> {
        let is_tags = matches!(self.name.one()?, "tag" | "tags");
        match self.comparison_operator.as_str() {
            "is" | "=" | "==" => Ok(vec![self.text()?]),
            "contains" if is_tags => Ok(vec![self.text()?]),
            "in" => match &self.value {
                Some(Compared::Texts(values)) => Ok(values.clone()),
                _ => Err(self.wrong_value("a list of texts")),
            },
            _ => Err(self.unsupported()),
        }
    }

    fn text(&self) -> Result<String, Problem> {
        match &self.value {
            Some(Compared::Text(text)) => Ok(text.clone()),
            Some(Compared::Number(number)) => Ok(number.to_string()),
            _ => Err(self.wrong_value("a text")),
        }
    }

    fn narrow_time(&self, filter: &mut Filter) -> Result<(), Problem> {
        let at = self.milliseconds()?;
        match self.comparison_operator.as_str() {
            "before" | "<" => earliest(&mut filter.updated_before_ms, at),
            "≤" | "<=" => earliest(&mut filter.updated_before_ms, at.saturating_add(1)),
            "after" | ">" => latest(&mut filter.updated_from_ms, at.saturating_add(1)),
            "≥" | ">=" => latest(&mut filter.updated_from_ms, at),
            _ => return Err(self.unsupported()),
        }
        Ok(())
    }

    /// A time as milliseconds since 1970, or as ISO text; a date is its beginning in UTC.
    fn milliseconds(&self) -> Result<i64, Problem> {
        let text = match &self.value {
            // Whole milliseconds within any calendar are exact in it.
            Some(Compared::Number(number)) => return Ok(*number as i64),
            Some(Compared::Text(text)) => text.trim(),
            _ => return Err(self.wrong_value("a time")),
        };
        if let Ok(number) = text.parse() {
            return Ok(number);
        }
        let of_date = |date: jiff::civil::Date| {
            Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
        };
        let instant = text.parse::<jiff::Timestamp>().ok();
        let instant = instant.or_else(|| text.parse().ok().and_then(of_date));
        let instant = instant.ok_or_else(|| {
            self.wrong_value(
                "a time such as 2026-01-31 or 2026-01-31T08:00:00Z, or milliseconds since 1970",
            )
        })?;
        Ok(instant.as_millisecond())
    }

    fn narrow_level(&self, filter: &mut Filter) -> Result<(), Problem> {
        let text = self.text()?;
        let level: u8 = text
            .parse()
            .map_err(|_| self.wrong_value("a whole number from 0 to 255"))?;
        let most = match self.comparison_operator.as_str() {
            "≤" | "<=" => level,
            "<" => level
                .checked_sub(1)
                .ok_or_else(|| self.wrong_value("more than 0"))?,
            _ => return Err(self.unsupported()),
        };
        let known = filter.max_security_level.unwrap_or(u8::MAX);
        filter.max_security_level = Some(known.min(most));
        Ok(())
    }

    fn unsupported(&self) -> Problem {
        let (operator, name) = (&self.comparison_operator, self.name.one());
        let name = name.ok().unwrap_or_default();
        refused(format!("`{operator:.50}` on `{name:.100}`"))
    }

    fn wrong_value(&self, expected: &str) -> Problem {
        let (operator, name) = (&self.comparison_operator, self.name.one());
        let name = name.ok().unwrap_or_default();
        let what = format!("`{operator:.50}` on `{name:.100}` compares with {expected}");
        Problem::new(Code::Invalid, what)
    }
}

fn field(name: &str) -> Result<Field, Problem> {
    Ok(match name {
        "tag" | "tags" => Field::Tags,
        "source" | "sources" => Field::One(|filter| &mut filter.sources),
        "product" => Field::One(|filter| &mut filter.products),
        "product_version" => Field::One(|filter| &mut filter.product_versions),
        "language" => Field::One(|filter| &mut filter.languages),
        "document_id" => Field::One(|filter| &mut filter.document_ids),
        "updated_at" => Field::UpdatedAt,
        "security_level" => Field::SecurityLevel,
        "knowledge_set" | "knowledge_sets" => {
            let what = "the knowledge set is chosen by `knowledge_id`";
            return Err(Problem::new(Code::Invalid, what));
        }
        "path" | "section" | "pages" | "url" | "chunk_id" | "document_version" | "created_at"
        | "link" => return Err(refused(format!("a condition on `{name}`"))),
        other => Field::Attribute(other.to_owned()),
    })
}

impl Field {
    /// Lets only documents pass that have one of the values, beside the conditions that stand.
    fn narrow(self, filter: &mut Filter, values: Vec<String>) -> Result<(), Problem> {
        match self {
            Self::Tags if filter.tags.is_some() => Err(refused(
                "`and` of two conditions on tags, of which a document has several,".to_owned(),
            )),
            Self::Tags => {
                filter.tags = Some(values);
                Ok(())
            }
            Self::One(of) => {
                both(of(filter), values);
                Ok(())
            }
            Self::Attribute(name) => {
                let attributes = filter.attributes.get_or_insert_with(BTreeMap::new);
                let mut known = attributes.remove(&name);
                both(&mut known, values);
                attributes.insert(name, known.unwrap_or_default());
                Ok(())
            }
            Self::UpdatedAt | Self::SecurityLevel => {
                Err(refused("`or` of conditions on a number".to_owned()))
            }
        }
    }
}

/// Where a document has one value only, it must stand in both lists.
fn both(known: &mut Option<Vec<String>>, values: Vec<String>) {
    *known = Some(match known.take() {
        Some(known) => known
            .into_iter()
            .filter(|value| values.contains(value))
            .collect(),
        None => values,
    });
}

fn earliest(known: &mut Option<i64>, at: i64) {
    *known = Some(known.map_or(at, |known| known.min(at)));
}

fn latest(known: &mut Option<i64>, at: i64) {
    *known = Some(known.map_or(at, |known| known.max(at)));
}

fn refused(what: String) -> Problem {
    Problem::new(Code::Unsupported, format!("{what} cannot be asked of this knowledge base"))
        .with_hint("`is`, `=` and `in` can on any name, `contains` on tags, times on `updated_at`, `≤` on `security_level`; `or` on one name")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn filter(operator: &str, conditions: Value) -> Result<Filter, Problem> {
        let condition = json!({"logical_operator": operator, "conditions": conditions});
        let condition: MetadataCondition =
            serde_json::from_value(condition).unwrap_or_else(|error| panic!("{error}"));
        condition.filter()
    }

    fn one(name: &str, operator: &str, value: Value) -> Result<Filter, Problem> {
        filter(
            "and",
            json!([{"name": name, "comparison_operator": operator, "value": value}]),
        )
    }

    #[test]
    fn conditions_become_the_filter_that_says_the_same() {
        let table = [
            (
                one("source", "is", json!("wiki")),
                json!({"sources": ["wiki"]}),
            ),
            (
                one("tags", "contains", json!("os")),
                json!({"tags": ["os"]}),
            ),
            (
                one("language", "in", json!(["zh", "en"])),
                json!({"languages": ["zh", "en"]}),
            ),
            (
                one("category", "=", json!(5)),
                json!({"attributes": {"category": ["5"]}}),
            ),
            (
                one("updated_at", "before", json!("1970-01-02")),
                json!({"updated_before_ms": 86_400_000}),
            ),
            (
                one("updated_at", "after", json!(1000)),
                json!({"updated_from_ms": 1001}),
            ),
            (
                one("security_level", "≤", json!(3)),
                json!({"max_security_level": 3}),
            ),
            (one("product", "in", json!([])), json!({"products": []})),
        ];
        for (found, expected) in table {
            let found = found.map(|filter| json!(filter));
            assert_eq!(found, Ok(expected));
        }
    }

    #[test]
    fn several_conditions_narrow_or_are_refused() {
        let condition = |name: &str, value: &str| json!({"name": [name], "comparison_operator": "is", "value": value});
        let (a, b) = (condition("source", "a"), condition("source", "b"));
        let both = filter("and", json!([a, b])).map(|filter| filter.sources);
        assert_eq!(
            both,
            Ok(Some(vec![])),
            "a document has one source: none has both"
        );
        let either = filter("or", json!([a, b])).map(|filter| filter.sources);
        assert_eq!(either, Ok(Some(vec!["a".to_owned(), "b".to_owned()])));
        let tags = filter(
            "and",
            json!([condition("tags", "a"), condition("tags", "b")]),
        );
        assert!(tags.is_err());
        let mixed = filter("or", json!([a, condition("product", "b")]));
        assert!(mixed.is_err());
    }

    #[test]
    fn what_the_filter_cannot_say_is_refused() {
        for (name, operator, value) in [
            ("source", "is not", json!("wiki")),
            ("source", "contains", json!("wi")),
            ("category", "start with", json!("a")),
            ("category", "not empty", json!(null)),
            ("category", "in", json!("a")),
            ("category", "is", json!(null)),
            ("updated_at", "is", json!(5)),
            ("updated_at", "before", json!("yesterday")),
            ("security_level", ">", json!(3)),
            ("security_level", "<", json!(0)),
            ("knowledge_sets", "is", json!("radio")),
            ("path", "is", json!("a.md")),
            ("category", "resembles", json!("a")),
        ] {
            let found = one(name, operator, value.clone());
            assert!(found.is_err(), "{name} {operator} {value}: {found:?}");
        }
    }
}
