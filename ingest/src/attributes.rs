//! What a document says of itself becomes attributes where its producer said nothing.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use tributary_schemas::Attributes;

/// Longest value that is taken over, in characters.
const MAXIMUM_VALUE: usize = 1000;

/// Names of the time of the last change, best first.
const UPDATED: [&str; 9] = [
    "updated",
    "updated_at",
    "last_updated",
    "last_modified",
    "lastmod",
    "modified",
    "ms.date",
    "date",
    "last-modified",
];

/// Names of the time of creation, best first.
const CREATED: [&str; 5] = [
    "created",
    "created_at",
    "published",
    "date_published",
    "pubdate",
];

/// Fills attributes that the producer left out from the document's own metadata.
pub fn fill_from_metadata(attributes: &mut Attributes, metadata: &BTreeMap<String, String>) {
    let find = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| metadata.get(*name))
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    };
    let text = |names: &[&str]| {
        find(names).map(|value| value.chars().take(MAXIMUM_VALUE).collect::<String>())
    };
    fill(&mut attributes.author, || text(&["author", "authors"]));
    fill(&mut attributes.product, || text(&["product"]));
    fill(&mut attributes.language, || {
        find(&["language", "lang"]).and_then(language_tag)
    });
    fill(&mut attributes.link, || {
        text(&["link", "canonical", "url"])
            .filter(|link| link.starts_with("https://") || link.starts_with("http://"))
    });
    let time = |names: &[&str]| {
        let mut values = names.iter().filter_map(|name| metadata.get(*name));
        values.find_map(|value| time_ms(value))
    };
    fill(&mut attributes.updated_at, || time(&UPDATED));
    fill(&mut attributes.created_at, || time(&CREATED));
    for (name, names) in [
        ("keywords", &["keywords", "tags"][..]),
        ("description", &["description", "summary"][..]),
    ] {
        if let Some(value) = text(names) {
            attributes.custom.entry(name.to_owned()).or_insert(value);
        }
    }
}

fn fill<T>(slot: &mut Option<T>, find: impl FnOnce() -> Option<T>) {
    if slot.is_none() {
        *slot = find();
    }
}

/// `zh_CN` → `zh-CN`; `None` for what is no BCP 47 tag, such as `english`.
fn language_tag(value: &str) -> Option<String> {
    let tag = value.split([',', ';']).next()?.trim().replace('_', "-");
    let mut parts = tag.split('-');
    let primary = parts.next()?;
    let is_primary = (2..=3).contains(&primary.len())
        && primary
            .chars()
            .all(|character| character.is_ascii_alphabetic());
    let are_parts = parts.all(|part| {
        (1..=8).contains(&part.len())
            && part
                .chars()
                .all(|character| character.is_ascii_alphanumeric())
    });
    (is_primary && are_parts).then_some(tag)
}

/// Milliseconds since 1970 of a date or time as documents write them; without a zone it is UTC.
pub fn time_ms(value: &str) -> Option<i64> {
    let value = value.trim().trim_matches('"');
    if let Ok(timestamp) = value.parse::<jiff::Timestamp>() {
        return Some(timestamp.as_millisecond());
    }
    if let Ok(zoned) = jiff::fmt::rfc2822::parse(value) {
        return Some(zoned.timestamp().as_millisecond());
    }
    if let Ok(time) = value.parse::<jiff::civil::DateTime>() {
        return Some(
            time.to_zoned(TimeZone::UTC)
                .ok()?
                .timestamp()
                .as_millisecond(),
        );
    }
    let midnight = numeric_date(value)?.to_zoned(TimeZone::UTC).ok()?;
    Some(midnight.timestamp().as_millisecond())
}

/// `2024-5-6`, `2024/05/06`, `2024.05.06`, `2024年5月6日`, and the American `05/06/2024`.
fn numeric_date(value: &str) -> Option<Date> {
    let date = value.split([' ', 'T']).next()?;
    let numbers: Vec<&str> = date
        .split(['-', '/', '.', '年', '月', '日'])
        .filter(|part| !part.is_empty())
        .collect();
    let [first, second, third] = numbers.as_slice() else {
        return None;
    };
    let (year, month, day) = if first.len() == 4 {
        (first, second, third)
    } else {
        (third, first, second)
    };
    if year.len() != 4 {
        return None;
    }
    Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAY_6: i64 = 1_714_953_600_000;

    #[test]
    fn dates_are_read_as_documents_write_them() {
        for text in [
            "2024-05-06",
            "2024/5/6",
            "05/06/2024",
            "2024年5月6日",
            "2024-05-06T00:00:00Z",
            "2024-05-06 00:00:00",
            "2024-05-06T08:00:00+08:00",
            "Mon, 06 May 2024 00:00:00 GMT",
        ] {
            assert_eq!(time_ms(text), Some(MAY_6), "{text}");
        }
        for text in ["", "soon", "2024", "13/45/2024", "99999-01-01", "1-2-3"] {
            assert_eq!(time_ms(text), None, "{text}");
        }
    }

    #[test]
    fn the_producer_comes_first() {
        let metadata: BTreeMap<String, String> = [
            ("author", "document"),
            ("lang", "zh_CN"),
            ("ms.date", "05/06/2024"),
            ("keywords", "a, b"),
            ("link", "javascript:x"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let mut attributes = Attributes {
            author: Some("producer".into()),
            ..Attributes::default()
        };
        fill_from_metadata(&mut attributes, &metadata);
        assert_eq!(attributes.author.as_deref(), Some("producer"));
        assert_eq!(attributes.language.as_deref(), Some("zh-CN"));
        assert_eq!(attributes.updated_at, Some(MAY_6));
        assert_eq!(attributes.link, None);
        assert_eq!(
            attributes.custom.get("keywords").map(String::as_str),
            Some("a, b")
        );
        assert_eq!(language_tag("english"), None);
    }
}
