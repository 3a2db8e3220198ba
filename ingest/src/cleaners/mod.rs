//! Cleaning steps: small, named, chosen and set per source profile.
//!
//! | step | what it does | settings |
//! |---|---|---|
//! | `normalize_whitespace` | control and zero-width characters, odd spaces, trailing blanks, runs of blank lines | – |
//! | `strip_boilerplate` | drops lines that match | `patterns` |
//! | `drop_learned_boilerplate` | drops blocks that were learned to repeat across the source | `file` |
//! | `drop_sections` | drops sections whose heading matches, with all below | `headings` |
//! | `replace_text` | puts other text in the place of some, in text and title | `replacements` |
//! | `drop_anchors` | `<a name>` tags, `{#id}` of headings, `¶` and "back to top" links | – |
//! | `strip_comments` | HTML comments | – |
//! | `repair_indentation` | de-indents text that would be read as code (3GPP) | – |
//! | `title_prefix` | puts an attribute before the title (cases: the product) | `attribute` |
//! | `organization_note` | organisation and department as a line under the title (design documents) | – |
//! | `path_metadata` | folders of the path into metadata and attributes (Support, Wiki) | `levels` |
//! | `attributes_from_path` | parts of the path into attributes: category, subcategory, the page's official URL | `pattern`, `attributes` |
//! | `spec_number_from_file_name` | `38331-f40.md` → specification 38.331, release 15 (3GPP) | – |
//! | `version_from_file_name` | `Design V2.1.docx` → product version 2.1 (design documents) | – |
//! | `external` | a service of the team's own changes the document, see [`crate::external`] | `url`, `version`, … |
//! | `version_from_path` | `guide/v1.2/setup.md` → version 1.2 of `guide/v*/setup.md` | `pattern` |

mod attributes_from_path;
mod drop_anchors;
pub mod drop_learned_boilerplate;
mod drop_sections;
mod normalize_whitespace;
mod organization_note;
mod path_metadata;
mod repair_indentation;
mod replace_text;
mod settings;
mod spec_number_from_file_name;
mod strip_boilerplate;
mod strip_comments;
mod title_prefix;
mod version_from_file_name;
mod version_from_path;

use std::collections::BTreeMap;

use tributary_schemas::{Attributes, Error, ErrorKind, Result};
use tributary_taxonomy::source_profiles::{CleanerStep, SourceProfile};

use crate::config::CleanersConfig;
use crate::external;

pub(crate) use normalize_whitespace::normalize as normalize_text;
pub(crate) use settings::Settings;

/// A document between conversion and its clean form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// The text as Markdown.
    pub markdown: String,
    /// Title.
    pub title: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// What the producer, the profile and the document itself say.
    pub attributes: Attributes,
    /// Metadata found so far.
    pub metadata: BTreeMap<String, String>,
}

impl Draft {
    /// Gives an attribute a value if the document has none; names that are no attributes are custom
    /// ones.
    fn fill(&mut self, name: &str, value: String) {
        let attributes = &mut self.attributes;
        let slot = match name {
            "author" => &mut attributes.author,
            "link" => &mut attributes.link,
            "product" => &mut attributes.product,
            "product_version" => &mut attributes.product_version,
            "department" => &mut attributes.department,
            "domain" => &mut attributes.domain,
            "organization" => &mut attributes.organization,
            "language" => &mut attributes.language,
            other => {
                attributes.custom.entry(other.to_owned()).or_insert(value);
                return;
            }
        };
        slot.get_or_insert(value);
    }
}

/// Metadata: the version of a document that has several.
const DOCUMENT_VERSION: &str = "document_version";

/// Metadata: the path without the version, the same for all versions of a document.
const VERSIONLESS_PATH: &str = "versionless_path";

/// Attributes that are numbers, which no text of a path gives.
const NUMERIC_ATTRIBUTES: [&str; 3] = ["security_level", "created_at", "updated_at"];

/// A step with its settings, ready to run.
trait Cleaner: Send + Sync + std::fmt::Debug {
    /// Changes the draft. Takes time linear in its length.
    fn clean(&self, draft: &mut Draft);
}

/// Makes a step from its settings.
type Make = fn(&mut Settings, &CleanersConfig) -> Result<Box<dyn Cleaner>>;

/// All steps by name.
const STEPS: [(&str, Make); 15] = [
    ("attributes_from_path", attributes_from_path::make),
    ("drop_anchors", drop_anchors::make),
    (
        drop_learned_boilerplate::NAME,
        drop_learned_boilerplate::make,
    ),
    ("drop_sections", drop_sections::make),
    ("normalize_whitespace", normalize_whitespace::make),
    ("organization_note", organization_note::make),
    ("path_metadata", path_metadata::make),
    ("repair_indentation", repair_indentation::make),
    ("replace_text", replace_text::make),
    (
        "spec_number_from_file_name",
        spec_number_from_file_name::make,
    ),
    ("strip_boilerplate", strip_boilerplate::make),
    ("strip_comments", strip_comments::make),
    ("title_prefix", title_prefix::make),
    ("version_from_file_name", version_from_file_name::make),
    ("version_from_path", version_from_path::make),
];

/// Names of all steps.
pub fn names() -> impl Iterator<Item = &'static str> {
    let services = std::iter::once(external::NAME);
    STEPS.into_iter().map(|(name, _)| name).chain(services)
}

/// The cleaning steps of one source profile, in order; services are not among them.
#[derive(Debug)]
pub struct Cleaners {
    steps: Vec<Box<dyn Cleaner>>,
}

impl Cleaners {
    /// Checks the steps of a profile. `Invalid` for an unknown step (with the nearest known one),
    /// an unknown or missing setting, or a pattern that does not compile.
    pub fn new(profile: &SourceProfile, config: &CleanersConfig) -> Result<Self> {
        Self::of(&profile.cleaners, profile, config)
    }

    /// The same with the steps before `drop_learned_boilerplate` alone: what that step gets to see.
    /// All of them if there is none.
    pub fn before_learned_boilerplate(
        profile: &SourceProfile,
        config: &CleanersConfig,
    ) -> Result<Self> {
        let before = profile
            .cleaners
            .iter()
            .take_while(|step| step.step != drop_learned_boilerplate::NAME)
            .count();
        Self::of(
            profile.cleaners.get(..before).unwrap_or_default(),
            profile,
            config,
        )
    }

    fn of(steps: &[CleanerStep], profile: &SourceProfile, config: &CleanersConfig) -> Result<Self> {
        let steps: Result<Vec<_>> = steps
            .iter()
            .filter(|step| !external::is_external(step))
            .map(|step| make(step, &profile.name, config))
            .collect();
        Ok(Self { steps: steps? })
    }

    /// Runs all steps.
    pub fn clean(&self, draft: &mut Draft) {
        for step in &self.steps {
            step.clean(draft);
        }
    }
}

fn make(step: &CleanerStep, profile: &str, config: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    let Some((_, make)) = STEPS.iter().find(|(name, _)| *name == step.step) else {
        let nearest = names()
            .min_by_key(|name| distance(name, &step.step))
            .unwrap_or_default();
        let message = format!(
            "{}source profile {profile}: unknown cleaning step `{}`",
            step.line_prefix(),
            step.step
        );
        let all: Vec<&str> = names().collect();
        return Err(Error::new(ErrorKind::Invalid, message).with_hint(format!(
            "did you mean `{nearest}`? known are {}",
            all.join(", ")
        )));
    };
    let place = step.place(profile);
    let mut settings = Settings::of(step, place);
    let cleaner = make(&mut settings, config)?;
    settings.finish()?;
    Ok(cleaner)
}

/// Levenshtein distance in characters.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, from) in left.chars().enumerate() {
        let mut diagonal = index;
        let mut before = index + 1;
        for (cell, to) in row.iter_mut().skip(1).zip(&right) {
            let value = (diagonal + usize::from(from != *to))
                .min(before + 1)
                .min(*cell + 1);
            diagonal = *cell;
            *cell = value;
            before = value;
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
