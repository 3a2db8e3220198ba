//! How documents of a source are treated (W9): cleaning steps, chunking, default attributes, tags by path. The steps are names with
//! settings here; ingest knows what they do. Called by ingest and enrich.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tributary_schemas::{Attributes, DocumentHeader, Result};

use crate::pattern::Patterns;
use crate::problems::{Problems, fingerprint, parse_table};

/// Name of the profile that serves every source without one of its own.
pub const DEFAULT_PROFILE: &str = "default";

/// How a document is cut into chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkStrategy {
    /// By sections and leaves (W10).
    #[default]
    Sections,
    /// One chunk a document: cases.
    Whole,
}

impl ChunkStrategy {
    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sections => "sections",
            Self::Whole => "whole",
        }
    }
}

/// One cleaning step, in the order in which they run: `{ step = "drop_lines", pattern = "…" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CleanerStep {
    /// Name of the cleaner.
    pub step: String,
    /// Everything else in the table; the cleaner checks it.
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}

/// Tags for documents that match: conditional tags such as gNodeB → 5G. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagRule {
    /// Path or URL within the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Patterns>,
    /// Title of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Patterns>,
    /// What they get.
    pub tags: Vec<String>,
}

/// How the documents of some sources are treated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceProfile {
    /// Name, kept in each document's lineage.
    pub name: String,
    /// Sources that it serves; the default profile may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Patterns>,
    /// Cleaning steps, in order.
    #[serde(default)]
    pub cleaners: Vec<CleanerStep>,
    /// How documents are cut.
    #[serde(default)]
    pub chunker: ChunkStrategy,
    /// Attributes of documents whose producer leaves them out.
    #[serde(default)]
    pub attributes: Attributes,
    /// Tags by path and title.
    #[serde(default)]
    pub tag_rules: Vec<TagRule>,
    /// Of near-duplicates of the same version the one whose source has the higher priority is shown.
    #[serde(default, skip_serializing_if = "is_ordinary")]
    pub priority: i32,
}

/// Left out of the fingerprint too: profiles without a priority are what they were.
fn is_ordinary(priority: &i32) -> bool {
    *priority == 0
}

impl SourceProfile {
    /// Tags that a document gets by its path and title, each once, in the order of the rules.
    pub fn tags(&self, source_path: &str, title: &str) -> Vec<String> {
        let mut tags: Vec<String> = Vec::new();
        for rule in &self.tag_rules {
            let path_holds = rule.path.as_ref().is_none_or(|patterns| patterns.matches_path(source_path));
            let title_holds = rule.title.as_ref().is_none_or(|patterns| patterns.matches(title));
            if path_holds && title_holds {
                tags.extend(rule.tags.iter().filter(|tag| !tags.contains(tag)).cloned().collect::<Vec<_>>());
            }
        }
        tags
    }

    /// Adds to a document what the profile says of it: attributes that its producer left out, and tags by path and title.
    pub fn apply(&self, header: &mut DocumentHeader) {
        fill_attributes(&mut header.attributes, &self.attributes);
        for tag in self.tags(&header.source_path, &header.title) {
            if !header.tags.contains(&tag) {
                header.tags.push(tag);
            }
        }
    }

    /// Hash of everything in it: a changed profile makes its documents be converted again.
    pub fn fingerprint(&self) -> String {
        fingerprint(self)
    }
}

/// Takes each attribute from the defaults that the document does not have.
fn fill_attributes(attributes: &mut Attributes, defaults: &Attributes) {
    fn fill<T: Clone>(value: &mut Option<T>, default: &Option<T>) {
        if value.is_none() {
            value.clone_from(default);
        }
    }
    fill(&mut attributes.author, &defaults.author);
    fill(&mut attributes.link, &defaults.link);
    fill(&mut attributes.product, &defaults.product);
    fill(&mut attributes.product_version, &defaults.product_version);
    fill(&mut attributes.department, &defaults.department);
    fill(&mut attributes.domain, &defaults.domain);
    fill(&mut attributes.organization, &defaults.organization);
    fill(&mut attributes.language, &defaults.language);
    fill(&mut attributes.security_level, &defaults.security_level);
    fill(&mut attributes.created_at, &defaults.created_at);
    fill(&mut attributes.updated_at, &defaults.updated_at);
    for (name, value) in &defaults.custom {
        attributes.custom.entry(name.clone()).or_insert_with(|| value.clone());
    }
}

/// All profiles of a domain; there is always a default one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceProfiles {
    profiles: Vec<SourceProfile>,
    default: SourceProfile,
}

const PROFILE_KEYS: [&str; 7] = ["name", "source", "cleaners", "chunker", "attributes", "tag_rules", "priority"];
const TAG_RULE_KEYS: [&str; 3] = ["path", "title", "tags"];

impl Default for SourceProfiles {
    /// The default profile alone: no cleaners, cut by sections.
    fn default() -> Self {
        let default = SourceProfile {
            name: DEFAULT_PROFILE.to_owned(),
            source: None,
            cleaners: Vec::new(),
            chunker: ChunkStrategy::Sections,
            attributes: Attributes::default(),
            tag_rules: Vec::new(),
            priority: 0,
        };
        Self { profiles: Vec::new(), default }
    }
}

impl SourceProfiles {
    /// Reads `[[source_profile]]` tables; one named `default` serves sources that no other does. Everything that is wrong is
    /// reported at once, as `Invalid`.
    pub fn from_toml(text: &str) -> Result<Self> {
        let file = parse_table("source profiles", text)?;
        let mut problems = Problems::default();
        problems.check_names("top level", &file, &["source_profile"]);
        let mut all = Self::default();
        for (index, table) in problems.tables(&file, "source_profile").into_iter().enumerate() {
            let name = table.get("name").and_then(|name| name.as_str()).map_or_else(|| format!("number {}", index + 1), str::to_owned);
            let place = format!("source profile {name}");
            let mut rule_names_are_known = true;
            for rule in problems.tables(&table, "tag_rules") {
                rule_names_are_known &= problems.check_names(&format!("{place} tag rule"), &rule, &TAG_RULE_KEYS);
            }
            if !rule_names_are_known {
                problems.check_names(&place, &table, &PROFILE_KEYS);
                continue;
            }
            let Some(profile) = problems.read::<SourceProfile>(&place, table, &PROFILE_KEYS) else { continue };
            all.add(&place, profile, &mut problems);
        }
        problems.into_result("source profiles")?;
        Ok(all)
    }

    fn add(&mut self, place: &str, profile: SourceProfile, problems: &mut Problems) {
        for rule in &profile.tag_rules {
            if rule.path.is_none() && rule.title.is_none() {
                problems.add(format!("{place}: a tag rule has neither path nor title"));
            }
            if rule.tags.is_empty() || rule.tags.iter().any(|tag| tag.trim().is_empty()) {
                problems.add(format!("{place}: a tag rule gives no tag or an empty one"));
            }
        }
        if self.profiles.iter().any(|other| other.name == profile.name) {
            problems.add(format!("{place}: defined twice"));
        }
        if profile.name == DEFAULT_PROFILE {
            self.default = profile;
            return;
        }
        if profile.source.is_none() {
            problems.add(format!("{place}: names no source; only `{DEFAULT_PROFILE}` may leave it out"));
        }
        self.profiles.push(profile);
    }

    /// The profile of a source: the first in the file's order that names it, else the default.
    pub fn profile(&self, source: &str) -> &SourceProfile {
        let serves = |profile: &&SourceProfile| profile.source.as_ref().is_some_and(|patterns| patterns.matches(source));
        self.profiles.iter().find(serves).unwrap_or(&self.default)
    }

    /// All profiles, the default last.
    pub fn iter(&self) -> impl Iterator<Item = &SourceProfile> {
        self.profiles.iter().chain(std::iter::once(&self.default))
    }

    /// Hash of all profiles.
    pub fn fingerprint(&self) -> String {
        fingerprint(self)
    }
}
