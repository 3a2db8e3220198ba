//! Reads lists of tables from TOML and reports everything that is wrong at once, each unknown name
//! with the nearest known one.

use serde::de::DeserializeOwned;
use toml::{Table, Value};
use tributary_schemas::{Error, ErrorKind, Result};

/// What is wrong with a file.
#[derive(Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    pub(crate) fn add(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    /// Refuses names that are not known.
    pub(crate) fn check_names(&mut self, place: &str, table: &Table, known: &[&str]) -> bool {
        let before = self.0.len();
        for name in table.keys().filter(|name| !known.contains(&name.as_str())) {
            self.add(match nearest(name, known.iter().copied()) {
                Some(near) => format!("{place}: unknown key `{name}`, did you mean `{near}`"),
                None => format!(
                    "{place}: unknown key `{name}`, known are {}",
                    known.join(", ")
                ),
            });
        }
        self.0.len() == before
    }

    /// Checks names, then reads the table as a value; a failure of either is remembered and gives
    /// none.
    pub(crate) fn read<T: DeserializeOwned>(
        &mut self,
        place: &str,
        table: Table,
        known: &[&str],
    ) -> Option<T> {
        if !self.check_names(place, &table, known) {
            return None;
        }
        Value::Table(table)
            .try_into()
            .map_err(|error| self.add(format!("{place}: {}", one_line(&error.to_string()))))
            .ok()
    }

    /// The list of tables of that name; anything else in its place is a problem.
    pub(crate) fn tables(&mut self, file: &Table, name: &str) -> Vec<Table> {
        let mut tables = Vec::new();
        match file.get(name) {
            None => {}
            Some(Value::Array(values)) => {
                for value in values {
                    match value {
                        Value::Table(table) => tables.push(table.clone()),
                        other => self.add(format!(
                            "{name} holds a {} where a table is expected",
                            other.type_str()
                        )),
                    }
                }
            }
            Some(other) => self.add(format!(
                "`{name}` is a {}, write [[{name}]]",
                other.type_str()
            )),
        }
        tables
    }

    pub(crate) fn into_result(self, what: &str) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Invalid,
            format!("{what}: {}", self.0.join("; ")),
        ))
    }
}

/// Reads a file as a table.
pub(crate) fn parse_table(what: &str, text: &str) -> Result<Table> {
    text.parse().map_err(|error: toml::de::Error| {
        Error::new(
            ErrorKind::Invalid,
            format!("{what}: {}", one_line(&error.to_string())),
        )
    })
}

/// The known name that a wrong one was probably meant to be. Names of very different lengths are not
/// compared: the wrong one may be as long as a whole request.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let is_near = |distance: usize, other: &str| {
        let longest = length.max(other.chars().count());
        distance * 5 <= longest * 2
    };
    let distance =
        |other: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase());
    let (near, distance) = known
        .filter(|other| is_near(length.abs_diff(other.chars().count()), other))
        .map(|other| (other, distance(other)))
        .min_by_key(|(_, distance)| *distance)?;
    is_near(distance, near).then_some(near)
}

/// Hash of anything that can be written as JSON; 16 hexadecimal digits.
pub(crate) fn fingerprint(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_vec(value);
    debug_assert!(json.is_ok(), "settings that cannot be written as JSON");
    let json = json.unwrap_or_else(|error| error.to_string().into_bytes());
    blake3::hash(&json).to_hex().chars().take(16).collect()
}

fn one_line(message: &str) -> String {
    message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_name_is_proposed_for_one_that_is_nearly_it() {
        let known = || ["common", "radio", "kernel"].into_iter();
        assert_eq!(nearest("Comon", known()), Some("common"));
        assert_eq!(nearest("kernels", known()), Some("kernel"));
        assert_eq!(nearest("", known()), None);
        assert_eq!(nearest("colour", known()), None);
    }

    /// Each comparison would take as long as both names multiplied, and as much memory.
    #[test]
    fn a_name_as_long_as_a_request_is_compared_with_no_short_one() {
        let started = Instant::now();
        let known = std::iter::repeat_n("common", 10_000);
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}
