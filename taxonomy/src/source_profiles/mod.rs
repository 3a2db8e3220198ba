//! How documents of a source are treated: cleaning steps, chunking, attributes and tags by rules,
//! versions of which only the newest is kept. The steps are names with settings here; ingest knows
//! what they do.

mod chunk_steps;
mod newest_only;
mod rights;
mod rules;
mod steps;

use std::path::Path;

use serde::{Deserialize, Serialize};
use tributary_schemas::{Attributes, DocumentHeader, Result, SectionLevel, section_level};

pub use chunk_steps::ChunkStep;
pub use newest_only::NewestOnly;
use rules::CONDITION_KEYS;
pub use rules::{AttributeRule, ChunkerRule, Condition, FoldedText, TagRule};
pub use steps::CleanerStep;

use crate::pattern::Patterns;
use crate::problems::{Problems, fingerprint, parse_table};

/// Name of the profile that serves every source without one of its own.
pub const DEFAULT_PROFILE: &str = "default";

/// How a document is cut into chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkStrategy {
    /// By sections and leaves.
    #[default]
    Sections,
    /// One chunk a document: cases.
    Whole,
    /// One chunk an entry: pages of API references.
    Api,
    /// One chunk a question: files of questions and answers.
    Faq,
    /// One chunk a heading of the second or third level: tutorials, designs.
    Headings,
    /// One chunk a definition: files of source code.
    Code,
}

impl ChunkStrategy {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Sections,
        Self::Whole,
        Self::Api,
        Self::Faq,
        Self::Headings,
        Self::Code,
    ];

    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sections => "sections",
            Self::Whole => "whole",
            Self::Api => "api",
            Self::Faq => "faq",
            Self::Headings => "headings",
            Self::Code => "code",
        }
    }
}

/// What stands for sections that are too long to be a chunk. Descriptions of source code are a
/// model's only where summaries may be, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryMode {
    /// Nothing: what is below is found by itself.
    None,
    /// First sentences and titles.
    Extractive,
    /// A summary by the language model of the role `summarize`.
    Model,
}

impl SummaryMode {
    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Extractive => "extractive",
            Self::Model => "model",
        }
    }
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
    /// How documents are cut that match; the first rule that does decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunker_rules: Vec<ChunkerRule>,
    /// What stands for long sections; left out, a model's summaries where the generation of the
    /// index has a model, else extractive ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<SummaryMode>,
    /// Variant of the prompts by which a model writes summaries and descriptions: with `cases` the
    /// file `section_summary@cases.en.md` of the prompts folder goes before `section_summary.en.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<String>,
    /// Services that see the chunks, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunk_steps: Vec<ChunkStep>,
    /// Attributes of documents whose producer leaves them out.
    #[serde(default)]
    pub attributes: Attributes,
    /// Attributes of documents that match, before the above; of several rules the first to give an
    /// attribute decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attribute_rules: Vec<AttributeRule>,
    /// Tags of documents that match, from all rules that do.
    #[serde(default)]
    pub tag_rules: Vec<TagRule>,
    /// Of documents that are versions of each other only the newest is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_only: Option<NewestOnly>,
    /// Of near-duplicates of the same version the one whose source has the higher priority is
    /// shown.
    #[serde(default, skip_serializing_if = "is_ordinary")]
    pub priority: i32,
    /// Whether its documents may be near-duplicates of others: of a family one answers for all.
    /// Pages that differ in little and are not the same (one for each model of a device) are none.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub near_duplicates: bool,
}

fn yes() -> bool {
    true
}

/// Left out of the fingerprint, like a priority of 0.
fn is_yes(value: &bool) -> bool {
    *value
}

/// Left out of the fingerprint too: profiles without a priority are what they were.
fn is_ordinary(priority: &i32) -> bool {
    *priority == 0
}

impl SourceProfile {
    /// Adds to a document what the profile says of it: attributes that its producer left out, and
    /// tags. `text` is the document's.
    pub fn apply(&self, document: &mut DocumentHeader, text: &str) {
        let text = FoldedText::new(text);
        self.fill_attributes(document, &text);
        for rule in self
            .tag_rules
            .iter()
            .filter(|rule| rule.condition.holds(document, &text))
            .collect::<Vec<_>>()
        {
            for tag in &rule.tags {
                if !document.tags.contains(tag) {
                    document.tags.push(tag.clone());
                }
            }
        }
    }

    /// Attributes that the document does not have: from the rules, in their order, then the
    /// profile's own.
    pub fn fill_attributes(&self, document: &mut DocumentHeader, text: &FoldedText) {
        for rule in &self.attribute_rules {
            if rule.condition.holds(document, text) {
                fill_attributes(&mut document.attributes, &rule.attributes);
            }
        }
        fill_attributes(&mut document.attributes, &self.attributes);
    }

    /// The rules for sections that hold for a document, or may yet: its own, else all that the
    /// profile has.
    pub fn possible_section_rules(&self, attributes: &Attributes) -> Vec<SectionLevel> {
        if let Some(own) = &attributes.section_levels {
            return own.clone();
        }
        let by_rules = self.attribute_rules.iter().map(|rule| &rule.attributes);
        let all = by_rules.chain([&self.attributes]);
        all.flat_map(Attributes::section_rules).cloned().collect()
    }

    /// How the document is cut.
    pub fn chunker_of(&self, document: &DocumentHeader, text: &str) -> ChunkStrategy {
        let text = FoldedText::new(text);
        let rule = self
            .chunker_rules
            .iter()
            .find(|rule| rule.condition.holds(document, &text));
        rule.map_or(self.chunker, |rule| rule.chunker)
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
    fill(&mut attributes.access, &defaults.access);
    fill(&mut attributes.section_levels, &defaults.section_levels);
    fill(&mut attributes.created_at, &defaults.created_at);
    fill(&mut attributes.updated_at, &defaults.updated_at);
    for (name, value) in &defaults.custom {
        attributes
            .custom
            .entry(name.clone())
            .or_insert_with(|| value.clone());
    }
}

/// All profiles of a domain; there is always a default one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceProfiles {
    profiles: Vec<SourceProfile>,
    default: SourceProfile,
}

const PROFILE_KEYS: [&str; 14] = [
    "name",
    "source",
    "cleaners",
    "chunker",
    "chunker_rules",
    "summaries",
    "prompts",
    "chunk_steps",
    "attributes",
    "attribute_rules",
    "tag_rules",
    "newest_only",
    "priority",
    "near_duplicates",
];

/// Lists of rules in a profile, each with what its rules give.
const RULES: [(&str, &str); 3] = [
    ("tag_rules", "tags"),
    ("attribute_rules", "attributes"),
    ("chunker_rules", "chunker"),
];

impl Default for SourceProfiles {
    /// The default profile alone: no cleaners, cut by sections.
    fn default() -> Self {
        let default = SourceProfile {
            name: DEFAULT_PROFILE.to_owned(),
            source: None,
            cleaners: Vec::new(),
            chunker: ChunkStrategy::Sections,
            chunker_rules: Vec::new(),
            summaries: None,
            prompts: None,
            chunk_steps: Vec::new(),
            attributes: Attributes::default(),
            attribute_rules: Vec::new(),
            tag_rules: Vec::new(),
            newest_only: None,
            priority: 0,
            near_duplicates: yes(),
        };
        Self {
            profiles: Vec::new(),
            default,
        }
    }
}

impl SourceProfiles {
    /// Reads `[[source_profile]]` tables; one named `default` serves sources that no other does.
    /// Everything that is wrong is reported at once, as `Invalid`.
    pub fn from_toml(text: &str) -> Result<Self> {
        let file = parse_table("source profiles", text)?;
        let mut problems = Problems::default();
        problems.check_names("top level", &file, &["source_profile"]);
        let mut all = Self::default();
        let lines = steps::lines(text);
        for (index, table) in problems
            .tables(&file, "source_profile")
            .into_iter()
            .enumerate()
        {
            let name = table
                .get("name")
                .and_then(|name| name.as_str())
                .map_or_else(|| format!("number {}", index + 1), str::to_owned);
            let place = format!("source profile {name}");
            if !check_rules(&place, &table, &mut problems) {
                problems.check_names(&place, &table, &PROFILE_KEYS);
                continue;
            }
            let Some(mut profile) = problems.read::<SourceProfile>(&place, table, &PROFILE_KEYS)
            else {
                continue;
            };
            let of_profile = lines.get(index).into_iter().flatten();
            for (step, line) in profile.cleaners.iter_mut().zip(of_profile) {
                step.line = Some(*line);
            }
            all.add(&place, profile, &mut problems);
        }
        problems.into_result("source profiles")?;
        Ok(all)
    }

    fn add(&mut self, place: &str, profile: SourceProfile, problems: &mut Problems) {
        profile.check(place, problems);
        if self.profiles.iter().any(|other| other.name == profile.name) {
            problems.add(format!("{place}: defined twice"));
        }
        if profile.name == DEFAULT_PROFILE {
            self.default = profile;
            return;
        }
        if profile.source.is_none() {
            problems.add(format!(
                "{place}: names no source; only `{DEFAULT_PROFILE}` may leave it out"
            ));
        }
        self.profiles.push(profile);
    }

    /// Reads the files that cleaning steps name, relative to `folder`. `Invalid` for one that
    /// cannot be read.
    pub fn read_files(&mut self, folder: &Path) -> Result<()> {
        for profile in self
            .profiles
            .iter_mut()
            .chain(std::iter::once(&mut self.default))
        {
            for step in &mut profile.cleaners {
                step.read_files(&profile.name, folder)?;
            }
            chunk_steps::read_files(&mut profile.chunk_steps, &profile.name, folder)?;
        }
        Ok(())
    }

    /// The profile of a source: the first in the file's order that names it, else the default.
    pub fn profile(&self, source: &str) -> &SourceProfile {
        let serves = |profile: &&SourceProfile| {
            profile
                .source
                .as_ref()
                .is_some_and(|patterns| patterns.matches(source))
        };
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

/// Refuses unknown names in the rules of a profile.
fn check_rules(place: &str, profile: &toml::Table, problems: &mut Problems) -> bool {
    let mut all_known = true;
    for (list, gives) in RULES {
        let known: Vec<&str> = CONDITION_KEYS.into_iter().chain([gives]).collect();
        for (number, rule) in problems.tables(profile, list).iter().enumerate() {
            all_known &= problems.check_names(
                &format!("{place}: {list} number {}", number + 1),
                rule,
                &known,
            );
        }
    }
    all_known
}

impl SourceProfile {
    /// What types cannot say.
    fn check(&self, place: &str, problems: &mut Problems) {
        chunk_steps::check(&self.chunk_steps, place, problems);
        let conditions = self
            .tag_rules
            .iter()
            .map(|rule| &rule.condition)
            .enumerate()
            .map(|(number, rule)| ("tag_rules", number, rule));
        let attributes = self
            .attribute_rules
            .iter()
            .map(|rule| &rule.condition)
            .enumerate();
        let chunkers = self
            .chunker_rules
            .iter()
            .map(|rule| &rule.condition)
            .enumerate();
        let all = conditions
            .chain(attributes.map(|(number, rule)| ("attribute_rules", number, rule)))
            .chain(chunkers.map(|(number, rule)| ("chunker_rules", number, rule)));
        for (list, number, condition) in all {
            if let Some(problem) = condition.problem() {
                problems.add(format!("{place}: {list} number {} {problem}", number + 1));
            }
        }
        let by_rules = self.attribute_rules.iter().map(|rule| &rule.attributes);
        for attributes in by_rules.chain([&self.attributes]) {
            if let Err(error) = section_level::check(attributes.section_rules()) {
                problems.add(format!("{place}: {error}"));
            }
        }
        for (number, rule) in self.tag_rules.iter().enumerate() {
            if rule.tags.is_empty() || rule.tags.iter().any(|tag| tag.trim().is_empty()) {
                problems.add(format!(
                    "{place}: tag_rules number {} gives no tag or an empty one",
                    number + 1
                ));
            }
        }
        for (number, rule) in self.attribute_rules.iter().enumerate() {
            if rule.attributes == Attributes::default() {
                problems.add(format!(
                    "{place}: attribute_rules number {} gives no attribute",
                    number + 1
                ));
            }
        }
        if let Some(problem) = self.newest_only.as_ref().and_then(NewestOnly::problem) {
            problems.add(format!("{place}: newest_only: {problem}"));
        }
    }
}
