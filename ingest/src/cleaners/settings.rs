//! Settings of a cleaning step while it is made: each is taken once and checked, with its place.

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_taxonomy::source_profiles::CleanerStep;

use crate::config::CleanersConfig;

/// Settings of one step; each is taken once, and none may remain.
pub(crate) struct Settings {
    pub(super) place: String,
    values: Map<String, Value>,
    /// Text of the file that `file` names.
    pub(super) file_text: Option<String>,
}

impl Settings {
    pub(crate) fn of(step: &CleanerStep, place: String) -> Self {
        Self {
            place,
            values: step.settings.clone(),
            file_text: step.file_text.clone(),
        }
    }

    /// A whole number from 0 on.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>> {
        match self.values.remove(name) {
            None => Ok(None),
            Some(value) => value
                .as_u64()
                .map(Some)
                .ok_or_else(|| self.invalid(format!("`{name}` must be a whole number from 0 on"))),
        }
    }

    /// The same of things in memory.
    pub(crate) fn count(&mut self, name: &str) -> Result<Option<usize>> {
        let number = self.number(name)?;
        Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
    }

    pub(crate) fn invalid(&self, what: impl std::fmt::Display) -> Error {
        Error::new(ErrorKind::Invalid, format!("{}: {what}", self.place))
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>> {
        match self.values.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.invalid(format!("`{name}` must be a text"))),
        }
    }

    pub(crate) fn required_text(&mut self, name: &str, hint: &str) -> Result<String> {
        let text = self.text(name)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| {
            self.invalid(format!("`{name}` is missing or empty"))
                .with_hint(hint)
        })
    }

    /// A table of texts, in the order of their names; it may not be empty.
    pub(super) fn required_table(
        &mut self,
        name: &str,
        hint: &str,
    ) -> Result<Vec<(String, String)>> {
        let Some(Value::Object(table)) = self
            .values
            .remove(name)
            .filter(|value| value.as_object().is_none_or(|table| !table.is_empty()))
        else {
            return Err(self
                .invalid(format!(
                    "`{name}` must be a table of texts with something in it"
                ))
                .with_hint(hint));
        };
        let entry = |(key, value): (String, Value)| match value {
            Value::String(text) => Ok((key, text)),
            _ => Err(self.invalid(format!("`{name}.{key}` must be a text"))),
        };
        table.into_iter().map(entry).collect()
    }

    /// A regular expression with the named groups that are asked for.
    pub(super) fn pattern(
        &mut self,
        name: &str,
        groups: &[&str],
        config: &CleanersConfig,
        hint: &str,
    ) -> Result<Regex> {
        let written = self.required_text(name, hint)?;
        let compiled = RegexBuilder::new(&written)
            .size_limit(config.maximum_pattern_bytes)
            .build();
        let pattern = compiled.map_err(|error| {
            self.invalid(format!("`{name}` does not compile: {error}"))
                .with_hint(hint)
        })?;
        match groups.iter().find(|group| {
            !pattern
                .capture_names()
                .flatten()
                .any(|name| name == **group)
        }) {
            None => Ok(pattern),
            Some(group) => Err(self
                .invalid(format!("`{name}` has no group `(?<{group}>…)`"))
                .with_hint(hint)),
        }
    }

    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<String>> {
        let is_wrong = |place: &Self| place.invalid(format!("`{name}` must be a list of texts"));
        match self.values.remove(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .into_iter()
                .map(|item| {
                    if let Value::String(text) = item {
                        Ok(text)
                    } else {
                        Err(is_wrong(self))
                    }
                })
                .collect(),
            Some(_) => Err(is_wrong(self)),
        }
    }

    pub(crate) fn finish(self) -> Result<()> {
        match self.values.keys().next() {
            None => Ok(()),
            Some(name) => Err(self.invalid(format!("unknown setting `{name}`"))),
        }
    }
}
