//! What the text says once and uses anywhere: link targets, labels of sections, substitutions,
//! custom roles, anonymous targets.

use crate::blanks::collapsed;

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

use regex::Regex;

use super::source::{adornment, dedent, indentation, indented, is_blank};

static TARGET: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*\.\. +_(?:`([^`]+)`|((?:[^:\\]|\\.)+)):(?:\s+(.*))?$").ok());
static ANONYMOUS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*(?:\.\. +__:|__)\s+(\S.*)$").ok());
static SUBSTITUTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*\.\. +\|([^|]+)\|\s+([A-Za-z][\w:+.-]*)::\s*(.*)$").ok());
static ROLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*\.\. +role::\s*([\w.+:-]+)\s*(?:\(([\w.+:-]+)\))?").ok());

/// Lines after a label in which its section's title is looked for.
const TITLE_WINDOW: usize = 6;

/// What stands for a substitution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Substitution {
    /// Text with markup.
    Text(String),
    /// An image: its link and alternative text.
    Image(String, String),
}

/// Names of the whole text.
#[derive(Debug, Default)]
pub(super) struct References {
    /// Link targets by normalized name.
    targets: HashMap<String, String>,
    /// Titles of labelled sections by normalized name.
    titles: HashMap<String, String>,
    /// Substitutions by name.
    pub substitutions: HashMap<String, Substitution>,
    /// Custom roles and what they are based on.
    pub roles: HashMap<String, String>,
    /// Anonymous targets in order.
    pub anonymous: VecDeque<String>,
}

impl References {
    /// Reads all lines once.
    pub(super) fn of(lines: &[&str]) -> Self {
        let mut references = Self::default();
        for (index, line) in lines.iter().enumerate() {
            let start = line.trim_start();
            if start.starts_with("..") || start.starts_with("__ ") {
                references.line(line, lines.get(index + 1..).unwrap_or_default());
            }
        }
        references
    }

    fn line(&mut self, line: &str, after: &[&str]) {
        if let Some(found) = captures(&ANONYMOUS, line) {
            self.anonymous.push_back(found[1].trim().to_owned());
        } else if let Some(found) = captures(&TARGET, line) {
            let name = found
                .get(1)
                .or_else(|| found.get(2))
                .map_or("", |name| name.as_str());
            self.target(
                &name.replace('\\', ""),
                found.get(3).map_or("", |link| link.as_str()),
                indentation(line),
                after,
            );
        } else if let Some(found) = captures(&SUBSTITUTION, line) {
            self.substitution(
                &found[1],
                &found[2].to_ascii_lowercase(),
                &found[3],
                after,
                indentation(line),
            );
        } else if let Some(found) = captures(&ROLE, line) {
            let base = found
                .get(2)
                .map_or_else(String::new, |base| base.as_str().to_ascii_lowercase());
            self.roles.insert(found[1].to_ascii_lowercase(), base);
        }
    }

    /// A target with a link, possibly on the next line, or the label of the title that follows.
    fn target(&mut self, name: &str, link: &str, indent: usize, after: &[&str]) {
        let continued = after
            .first()
            .filter(|next| link.is_empty() && indentation(next) > indent && !is_blank(next));
        let link = continued.map_or(link, |next| next.trim()).trim();
        if !link.is_empty() {
            self.targets
                .entry(normal(name))
                .or_insert_with(|| link.to_owned());
        } else if let Some(title) = title_after(after) {
            self.titles.entry(normal(name)).or_insert(title);
        }
    }

    fn substitution(
        &mut self,
        name: &str,
        directive: &str,
        argument: &str,
        after: &[&str],
        indent: usize,
    ) {
        let below: Vec<&str> = after
            .iter()
            .take_while(|line| !is_blank(line) && indentation(line) > indent)
            .copied()
            .collect();
        let value = match directive {
            "image" | "figure" => {
                let alt = below
                    .iter()
                    .find_map(|line| line.trim().strip_prefix(":alt:"))
                    .unwrap_or(name);
                Substitution::Image(argument.trim().to_owned(), alt.trim().to_owned())
            }
            "replace" => {
                let more = dedent(&below).join(" ");
                Substitution::Text(format!("{argument} {more}").trim().to_owned())
            }
            "unicode" => Substitution::Text(unicode_text(argument)),
            _ => return,
        };
        self.substitutions
            .entry(name.trim().to_owned())
            .or_insert(value);
    }

    /// Where a name links to, through other names at most a few times. `None` for what is no link.
    pub(super) fn link(&self, name: &str) -> Option<&str> {
        let mut link = self.targets.get(&normal(name))?;
        for _ in 0..8 {
            match link
                .strip_suffix('_')
                .and_then(|next| self.targets.get(&normal(next.trim_matches('`'))))
            {
                Some(next) => link = next,
                None => break,
            }
        }
        Some(link)
    }

    /// The title of the section that a label stands before.
    pub(super) fn title(&self, label: &str) -> Option<&str> {
        self.titles.get(&normal(label)).map(String::as_str)
    }
}

fn captures<'t>(pattern: &LazyLock<Option<Regex>>, line: &'t str) -> Option<regex::Captures<'t>> {
    pattern.as_ref().and_then(|pattern| pattern.captures(line))
}

/// Names are compared without regard to case and white space.
pub(super) fn normal(name: &str) -> String {
    collapsed(name).to_lowercase()
}

/// The title that follows a label, after blank lines and other labels.
fn title_after(lines: &[&str]) -> Option<String> {
    let mut near = lines
        .iter()
        .take(TITLE_WINDOW)
        .filter(|line| !is_blank(line) && !line.trim_start().starts_with(".. _"));
    let (first, second) = (near.next()?, near.next()?);
    let is_line = |line: &str| adornment(line).is_some_and(|(_, length)| length >= 2);
    if is_line(first) && !is_line(second) {
        return Some(second.trim().to_owned());
    }
    (is_line(second) && !is_line(first)).then(|| first.trim().to_owned())
}

/// `0x2014`, `U+2014`, `&#x2014;` or text.
fn unicode_text(argument: &str) -> String {
    let without_comment = argument.split(" ..").next().unwrap_or_default();
    let parts = without_comment.split_whitespace().map(|part| {
        let digits = ["0x", "x", "\\x", "U+", "u", "\\u", "&#x"]
            .iter()
            .find_map(|prefix| part.strip_prefix(prefix));
        let code =
            digits.and_then(|digits| u32::from_str_radix(digits.trim_end_matches(';'), 16).ok());
        code.or_else(|| part.parse().ok())
            .and_then(char::from_u32)
            .map_or_else(|| part.to_owned(), String::from)
    });
    parts.collect()
}

/// How many lines an explicit block that begins at the first line takes, its indented lines
/// included.
pub(super) fn explicit_length(lines: &[&str]) -> usize {
    1 + indented(lines.get(1..).unwrap_or_default())
}
