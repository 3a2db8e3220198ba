//! `attributes_from_path`: parts of the path into attributes, by a pattern with named groups and
//! templates: `api/nn/Conv2d.rst` → category API, subcategory nn, and the page's official URL. What
//! a document has already stays.

use regex::{Captures, Regex};
use tributary_schemas::{Error, Result};

use super::{Cleaner, Draft, NUMERIC_ATTRIBUTES, Settings};
use crate::config::CleanersConfig;

const HINT: &str = "such as `pattern = '^api/(?<module>[^/]+)/'` and `attributes = { category = \"API\", subcategory = \"{module}\" }`";

#[derive(Debug)]
struct AttributesFromPath {
    pattern: Regex,
    /// Each with its name.
    templates: Vec<(String, Vec<Part>)>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Group(String),
}

pub(super) fn make(settings: &mut Settings, config: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    let pattern = settings.pattern("pattern", &[], config, HINT)?;
    let mut templates = Vec::new();
    for (name, template) in settings.required_table("attributes", HINT)? {
        if NUMERIC_ATTRIBUTES.contains(&name.as_str()) {
            return Err(settings
                .invalid(format!(
                    "attribute `{name}` is a number, which no path gives"
                ))
                .with_hint(HINT));
        }
        templates.push((name, parse(&template, &pattern, settings)?));
    }
    Ok(Box::new(AttributesFromPath { pattern, templates }))
}

/// `…/{module}/{page}.html` in parts. `Invalid` for a group that the pattern does not have.
fn parse(template: &str, pattern: &Regex, settings: &Settings) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((group, after)) = after.split_once('}') else {
            return Err(settings
                .invalid(format!("`{template}` opens a brace that it does not close"))
                .with_hint(HINT));
        };
        let known: Vec<&str> = pattern.capture_names().flatten().collect();
        if !known.contains(&group) {
            return Err(unknown_group(template, group, &known, settings));
        }
        parts.push(Part::Text(before.to_owned()));
        parts.push(Part::Group(group.to_owned()));
        rest = after;
    }
    parts.push(Part::Text(rest.to_owned()));
    Ok(parts)
}

fn unknown_group(template: &str, group: &str, known: &[&str], settings: &Settings) -> Error {
    let has = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    settings
        .invalid(format!(
            "`{template}` names the group `{group}`; the pattern has {has}"
        ))
        .with_hint(HINT)
}

impl Cleaner for AttributesFromPath {
    fn clean(&self, draft: &mut Draft) {
        let path = draft.source_path.clone();
        let Some(found) = self.pattern.captures(&path) else {
            return;
        };
        for (name, template) in &self.templates {
            if let Some(value) = filled(template, &found).filter(|value| !value.trim().is_empty()) {
                draft.fill(name, value);
            }
        }
    }
}

/// `None` if a group of the template took no part in the match.
fn filled(template: &[Part], found: &Captures) -> Option<String> {
    template
        .iter()
        .map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Group(group) => found.name(group).map(|group| group.as_str()),
        })
        .collect()
}
