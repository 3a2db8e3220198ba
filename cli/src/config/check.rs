//! Finds everything that is wrong with a table at once: unknown keys (with the nearest known one)
//! and wrong types.

use toml::{Table, Value};

use super::merge::lookup;

/// Largest share of a key that may differ for another key to be suggested.
const NEAR: f64 = 0.6;

/// Sections whose keys have moved, wholly or in part, with the section where they are now.
const MOVED: [(&str, &str); 1] = [("ingest", "convert")];

/// Tables of named tables, which have keys of another section.
const NAMED: [(&str, &[&str]); 1] = [("models.chat.endpoints", &["models", "chat", "endpoint"])];

/// One problem per line, by key, each saying which key of `origin` it is about.
pub fn problems(table: &Table, defaults: &Table, origin: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect(table, defaults, defaults, origin, "", &mut found);
    found
}

fn collect(
    table: &Table,
    known: &Table,
    root: &Table,
    origin: &str,
    path: &str,
    found: &mut Vec<String>,
) {
    for (key, value) in table {
        let full = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        match (known.get(key), value) {
            // A table without keys of its own, such as the properties of Kafka's client, takes any
            // with text.
            (None, Value::String(_)) if known.is_empty() && pattern(path, root).is_none() => {}
            (None, Value::Table(table)) if let Some(known) = pattern(path, root) => {
                collect(table, known, root, origin, &full, found)
            }
            (None, _) => found.push(unknown(&full, key, path, known, root, origin)),
            (Some(Value::Table(known)), Value::Table(table)) => {
                collect(table, known, root, origin, &full, found)
            }
            (Some(default), value) if !same_type(default, value) => found.push(format!(
                "{origin}: `{full}` is {}, but {} is expected (default: {default})",
                with_article(value.type_str()),
                with_article(default.type_str())
            )),
            _ => {}
        }
    }
}

/// The keys of each table in a table of named ones.
fn pattern<'a>(path: &str, root: &'a Table) -> Option<&'a Table> {
    let (_, keys) = NAMED.iter().find(|(of, _)| *of == path)?;
    lookup(root, keys)?.as_table()
}

fn unknown(full: &str, key: &str, path: &str, known: &Table, root: &Table, origin: &str) -> String {
    if let Some(new) = moved(full, root) {
        return format!("{origin}: `{full}` is named `{new}` now");
    }
    let sibling = nearest(key, known.keys().map(String::as_str)).map(|near| {
        if path.is_empty() {
            near.to_owned()
        } else {
            format!("{path}.{near}")
        }
    });
    let anywhere = || known_elsewhere(full, key, root);
    match sibling.or_else(anywhere) {
        Some(near) => format!("{origin}: unknown key `{full}`; did you mean `{near}`?"),
        None => format!("{origin}: unknown key `{full}`; `tributary config show` prints all keys"),
    }
}

/// The key of that name in another section, or else the one that is written most like it.
fn known_elsewhere(full: &str, key: &str, root: &Table) -> Option<String> {
    let mut all = Vec::new();
    paths(root, "", &mut all);
    let same_name = all
        .iter()
        .find(|candidate| candidate.rsplit('.').next() == Some(key))
        .cloned();
    same_name.or_else(|| nearest(full, all.iter().map(String::as_str)).map(str::to_owned))
}

/// The name of a key of before, if it is one.
fn moved(full: &str, root: &Table) -> Option<String> {
    let (section, rest) = full.split_once('.')?;
    let (_, now) = MOVED.iter().find(|(before, _)| *before == section)?;
    let keys: Vec<&str> = std::iter::once(*now).chain(rest.split('.')).collect();
    lookup(root, &keys).map(|_| keys.join("."))
}

/// The candidate that a misspelt name is likely to mean.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.map(|candidate| {
        (
            strsim::normalized_damerau_levenshtein(name, candidate),
            candidate,
        )
    });
    scored
        .filter(|(score, _)| *score >= NEAR)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

fn paths(table: &Table, path: &str, all: &mut Vec<String>) {
    for (key, value) in table {
        let full = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        if let Value::Table(inner) = value {
            paths(inner, &full, all);
        }
        all.push(full);
    }
}

fn same_type(default: &Value, value: &Value) -> bool {
    default.same_type(value) || (default.is_float() && value.is_integer())
}

fn with_article(type_name: &str) -> String {
    match type_name {
        "integer" | "array" => format!("an {type_name}"),
        other => format!("a {other}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_keys_of_its_own_takes_any_with_text() {
        let defaults: Table = toml::from_str("[client]\n[client.properties]\n").unwrap();
        let table: Table = toml::from_str(
            "[client.properties]\n\"socket.nagle.disable\" = 'true'\n\"debug\" = 7\n",
        )
        .unwrap();
        let found = problems(&table, &defaults, "x.toml");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("client.properties.debug"), "{found:?}");
    }

    #[test]
    fn a_named_table_has_the_keys_of_its_pattern() {
        let defaults: Table = toml::from_str(
            "[models.chat.endpoint]\nurl = ''\nparallel = 4\n[models.chat.endpoints]\n",
        )
        .unwrap();
        let table: Table = toml::from_str(
            "[models.chat.endpoints]\nalone = 'x'\n[models.chat.endpoints.local]\nurl = 'http://h'\n\
             parallel = 'two'\nparalel = 2\n",
        )
        .unwrap();
        assert_eq!(
            problems(&table, &defaults, "x"),
            [
                "x: unknown key `models.chat.endpoints.alone`; did you mean `models.chat.endpoints`?",
                "x: unknown key `models.chat.endpoints.local.paralel`; did you mean \
                 `models.chat.endpoints.local.parallel`?",
                "x: `models.chat.endpoints.local.parallel` is a string, but an integer is expected \
                 (default: 4)",
            ]
        );
    }

    #[test]
    fn all_problems_are_found_at_once_with_the_nearest_key() {
        let defaults: Table =
            toml::from_str("[store]\npartitions = 2\n[models]\nkind = 'onnx'\nweight = 0.5")
                .unwrap();
        let table: Table =
            toml::from_str("[store]\npartition = 3\n[models]\nkind = 7\nweight = 1\n[modles]\n")
                .unwrap();
        let found = problems(&table, &defaults, "x.toml");
        assert_eq!(
            found,
            [
                "x.toml: `models.kind` is an integer, but a string is expected (default: \"onnx\")",
                "x.toml: unknown key `modles`; did you mean `models`?",
                "x.toml: unknown key `store.partition`; did you mean `store.partitions`?",
            ]
        );
    }

    #[test]
    fn a_name_of_before_is_refused_with_the_new_one() {
        let defaults: Table = toml::from_str(
            "[convert]\nworkers = 2\n[convert.pdf]\npages = 1\n[ingest.cleaners]\nlines = 1",
        )
        .unwrap();
        let table: Table = toml::from_str(
            "[ingest]\nworkers = 3\n[ingest.pdf]\npages = 2\n[ingest.cleaners]\nlines = 2",
        )
        .unwrap();
        assert_eq!(
            problems(&table, &defaults, "x"),
            [
                "x: `ingest.pdf` is named `convert.pdf` now",
                "x: `ingest.workers` is named `convert.workers` now"
            ]
        );
    }

    #[test]
    fn a_key_in_the_wrong_section_is_found_elsewhere() {
        let defaults: Table = toml::from_str("[store]\npartitions = 2").unwrap();
        let table: Table = toml::from_str("partitions = 2").unwrap();
        assert_eq!(
            problems(&table, &defaults, "x"),
            ["x: unknown key `partitions`; did you mean `store.partitions`?"]
        );
    }
}
