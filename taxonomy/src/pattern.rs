//! Glob patterns of tag rules and source profiles. `*` is any text without `/`, `**` any text, `?`
//! one character, `{a,b}` either; case and width do not matter. In values that are no paths `*` is
//! any text too.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fold::fold;

/// Longest pattern, in characters.
const MAXIMUM_PATTERN_CHARACTERS: usize = 512;
/// Largest compiled pattern, in bytes.
const MAXIMUM_COMPILED_BYTES: usize = 1 << 20;

/// One or more patterns; matches if any does. Written as a string or a list of strings.
#[derive(Clone, Debug)]
pub struct Patterns {
    written: Vec<String>,
    paths: Vec<Regex>,
    values: Vec<Regex>,
}

impl Patterns {
    /// Compiles patterns; the error says which one is wrong.
    pub fn new(written: Vec<String>) -> Result<Self, String> {
        if written.is_empty() {
            return Err("an empty list of patterns matches nothing".to_owned());
        }
        let paths = written
            .iter()
            .map(|pattern| compile(pattern, true))
            .collect::<Result<_, _>>()?;
        let values = written
            .iter()
            .map(|pattern| compile(pattern, false))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            written,
            paths,
            values,
        })
    }

    /// Whether a path or URL matches; `*` stays within one folder.
    pub fn matches_path(&self, path: &str) -> bool {
        let folded = fold(path);
        self.paths.iter().any(|pattern| pattern.is_match(&folded))
    }

    /// Whether a name, title or attribute value matches; `*` is any text.
    pub fn matches(&self, value: &str) -> bool {
        let folded = fold(value);
        self.values.iter().any(|pattern| pattern.is_match(&folded))
    }

    /// The patterns as written.
    pub fn written(&self) -> &[String] {
        &self.written
    }
}

impl PartialEq for Patterns {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Patterns {}

impl Serialize for Patterns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.written.as_slice() {
            [one] => serializer.serialize_str(one),
            many => many.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Patterns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a pattern or a list of patterns")]
        enum Written {
            One(String),
            Many(Vec<String>),
        }
        let written = match Written::deserialize(deserializer)? {
            Written::One(one) => vec![one],
            Written::Many(many) => many,
        };
        Self::new(written).map_err(serde::de::Error::custom)
    }
}

fn compile(pattern: &str, is_path: bool) -> Result<Regex, String> {
    if pattern.is_empty() || pattern.chars().count() > MAXIMUM_PATTERN_CHARACTERS {
        return Err(format!(
            "a pattern has 1 to {MAXIMUM_PATTERN_CHARACTERS} characters"
        ));
    }
    let folded = fold(pattern);
    let mut regex = String::from("^");
    let mut depth = 0_usize;
    let mut characters = folded.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '*' if characters.next_if_eq(&'*').is_some() => {
                // `**/x` also matches `x` itself.
                regex.push_str(if characters.next_if_eq(&'/').is_some() {
                    "(?:.*/)?"
                } else {
                    ".*"
                });
            }
            '*' => regex.push_str(if is_path { "[^/]*" } else { ".*" }),
            '?' => regex.push_str(if is_path { "[^/]" } else { "." }),
            '{' => {
                depth += 1;
                regex.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                regex.push(')');
            }
            ',' if depth > 0 => regex.push('|'),
            other => regex.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    if depth > 0 {
        return Err(format!(
            "pattern `{pattern}` opens a brace that it does not close"
        ));
    }
    regex.push('$');
    RegexBuilder::new(&regex)
        .dot_matches_new_line(true)
        .size_limit(MAXIMUM_COMPILED_BYTES)
        .build()
        .map_err(|error| format!("pattern `{pattern}` cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_and_values() {
        let table = [
            ("docs/*.md", "docs/a.md", true),
            ("docs/*.md", "docs/b/a.md", false),
            ("docs/**", "docs/b/a.md", true),
            ("**/gNodeB/**", "gnodeb/x.html", true),
            ("**gNodeB**", "/support/5G/gNodeB参数/x.html", true),
            ("{a,b}/?.md", "b/x.md", true),
            ("{a,b}/?.md", "c/x.md", false),
            ("a.c", "abc", false),
            ("產品/*", "产品/x", true),
        ];
        for (pattern, path, expected) in table {
            assert_eq!(
                Patterns::new(vec![pattern.to_owned()])
                    .unwrap()
                    .matches_path(path),
                expected,
                "{pattern} {path}"
            );
        }
        assert!(
            Patterns::new(vec!["support*".to_owned()])
                .unwrap()
                .matches("Support/site")
        );
        assert!(Patterns::new(vec!["x{a".to_owned()]).is_err());
        assert!(Patterns::new(vec![]).is_err());
    }

    #[test]
    fn written_as_string_or_list() {
        for json in [r#""a*""#, r#"["a*","b"]"#] {
            let patterns: Patterns = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&patterns).unwrap(), json);
        }
        assert!(serde_json::from_str::<Patterns>("3").is_err());
    }
}
