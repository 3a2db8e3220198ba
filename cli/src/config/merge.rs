//! Lays one table over another, and environment variables over tables.

use toml::{Table, Value};

/// Prefix of environment variables; `__` separates keys.
pub const ENVIRONMENT_PREFIX: &str = "TRIBUTARY__";

/// Lays `upper` over `lower`: tables are merged, everything else replaced.
pub fn overlay(lower: &mut Table, upper: Table) {
    for (key, value) in upper {
        match (lower.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => {
                lower.insert(key, value);
            }
        }
    }
}

/// The table that environment variables stand for, with the variable that gave each key.
pub fn from_environment(
    variables: impl Iterator<Item = (String, String)>,
    defaults: &Table,
) -> Vec<(String, Table)> {
    let ours = variables.filter_map(|(name, text)| {
        Some((
            name.strip_prefix(ENVIRONMENT_PREFIX)?.to_lowercase(),
            name.clone(),
            text,
        ))
    });
    ours.map(|(path, name, text)| {
        let keys: Vec<&str> = path.split("__").collect();
        let value = parse_as(&text, lookup(defaults, &keys));
        (name, nest(&keys, value))
    })
    .collect()
}

/// Variables that are no keys.
const OWN: [&str; 7] = [
    "TRIBUTARY_CA_FILE",
    "TRIBUTARY_CONFIG",
    "TRIBUTARY_DATA_DIR",
    "TRIBUTARY_KEY",
    "TRIBUTARY_KEY_FILE",
    "TRIBUTARY_PROFILE",
    "TRIBUTARY_SERVER",
];

/// Variables that would do nothing, each with what was meant: those that name a key with too few
/// underscores, and those that are one letter away from a variable that is no key.
pub fn misspelt(names: impl Iterator<Item = String>, defaults: &Table) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    leaves(defaults, &mut Vec::new(), &mut paths);
    names
        .filter(|name| !name.starts_with(ENVIRONMENT_PREFIX))
        .filter_map(|name| {
            let rest = name.strip_prefix("TRIBUTARY_")?;
            let flat = rest.to_lowercase().replace("__", "_");
            if let Some(meant) = paths.iter().find(|path| path.join("_") == flat) {
                let variable = format!("{ENVIRONMENT_PREFIX}{}", meant.join("__").to_uppercase());
                return Some((name, variable));
            }
            let meant = (!OWN.contains(&name.as_str())).then(|| {
                let mut own = OWN.into_iter();
                own.find(|own| strsim::damerau_levenshtein(own, &name) == 1)
            })?;
            meant.map(|meant| (name, meant.to_owned()))
        })
        .collect()
}

fn leaves<'a>(table: &'a Table, above: &mut Vec<&'a str>, paths: &mut Vec<Vec<&'a str>>) {
    for (key, value) in table {
        above.push(key);
        match value {
            Value::Table(below) => leaves(below, above, paths),
            _ => paths.push(above.clone()),
        }
        above.pop();
    }
}

/// The value at a path of keys.
pub fn lookup<'a>(table: &'a Table, keys: &[&str]) -> Option<&'a Value> {
    let (first, rest) = keys.split_first()?;
    let value = table.get(*first)?;
    if rest.is_empty() {
        Some(value)
    } else {
        lookup(value.as_table()?, rest)
    }
}

fn nest(keys: &[&str], value: Value) -> Table {
    let mut table = Table::new();
    if let Some((first, rest)) = keys.split_first() {
        let inner = if rest.is_empty() {
            value
        } else {
            Value::Table(nest(rest, value))
        };
        table.insert((*first).to_owned(), inner);
    }
    table
}

/// Text stays text where text is expected; elsewhere it is read as TOML, and stays text if it is
/// none (the type check says so).
fn parse_as(text: &str, default: Option<&Value>) -> Value {
    if matches!(default, Some(Value::String(_))) {
        return Value::String(text.to_owned());
    }
    let parsed = format!("value = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("value"));
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_with_too_few_underscores_is_told_what_was_meant() {
        let defaults: Table = "[store]\npartitions = 2\n[store.blobs]\nurl = ''"
            .parse()
            .unwrap();
        let names = [
            "TRIBUTARY_STORE_PARTITIONS",
            "TRIBUTARY_STORE__BLOBS_URL",
            "TRIBUTARY__STORE__PARTITIONS",
            "TRIBUTARY_STORE_SERVICE_HOST",
            "TRIBUTARY_CONFIG",
            "TRIBUTARY_DATA_DRI",
            "TRIBUTARY_PROFILES",
            "TRIBUTARY_PORT",
        ];
        let found = misspelt(names.map(str::to_owned).into_iter(), &defaults);
        let meant = |name: &str, meant: &str| (name.to_owned(), meant.to_owned());
        assert_eq!(
            found,
            [
                meant("TRIBUTARY_STORE_PARTITIONS", "TRIBUTARY__STORE__PARTITIONS"),
                meant("TRIBUTARY_STORE__BLOBS_URL", "TRIBUTARY__STORE__BLOBS__URL"),
                meant("TRIBUTARY_DATA_DRI", "TRIBUTARY_DATA_DIR"),
                meant("TRIBUTARY_PROFILES", "TRIBUTARY_PROFILE"),
            ]
        );
    }

    #[test]
    fn environment_values_take_the_type_of_the_default() {
        let defaults: Table = toml::from_str("[a]\nname = 'x'\ncount = 1\nlist = []")
            .unwrap_or_else(|error| panic!("{error}"));
        let variables = [
            ("TRIBUTARY__A__NAME", "42"),
            ("TRIBUTARY__A__COUNT", "42"),
            ("TRIBUTARY__A__LIST", "['b']"),
            ("HOME", "/"),
        ];
        let tables = from_environment(
            variables
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .into_iter(),
            &defaults,
        );
        let mut merged = defaults;
        tables
            .into_iter()
            .for_each(|(_, table)| overlay(&mut merged, table));
        assert_eq!(
            merged.to_string().trim(),
            "[a]\ncount = 42\nlist = [\"b\"]\nname = \"42\""
        );
    }
}
