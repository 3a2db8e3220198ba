//! The knowledge sets 1+X+Y (知识集): one common view, X capability directions, Y organisation
//! directions. Rules put a document into any number of them and give it tags; it is stored once,
//! with the union.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tributary_schemas::{DocumentHeader, Error, ErrorKind, Result};

use crate::SummaryMode;
use crate::pattern::Patterns;
use crate::problems::{Problems, fingerprint, nearest, parse_table};

/// Which side of 1+X+Y a set is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// The 1: what everybody needs.
    Common,
    /// X: by capability.
    Capability,
    /// Y: by organisation.
    Organization,
}

/// Puts documents into the set. All conditions of a rule must hold; one of the set's rules is
/// enough.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Patterns>,
    /// Path or URL within the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Patterns>,
    /// Detected media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<Patterns>,
    /// Attributes by name, given by the producer (`product`, `department`, …, custom ones too). An
    /// absent one does not match.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attribute: BTreeMap<String, Patterns>,
    /// Metadata by name, found in the document itself. An absent one does not match.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Patterns>,
    /// Tags that a matching document gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

impl Rule {
    /// Whether nothing but the source of a document decides, and this one does.
    fn is_for_source_alone(&self, source: &str) -> bool {
        let names_no_more = self.path.is_none()
            && self.media_type.is_none()
            && self.attribute.is_empty()
            && self.metadata.is_empty();
        let matches = |patterns: &Patterns| patterns.matches(source);
        names_no_more && self.source.as_ref().is_some_and(matches)
    }

    fn has_condition(&self) -> bool {
        self.source.is_some()
            || self.path.is_some()
            || self.media_type.is_some()
            || !self.attribute.is_empty()
            || !self.metadata.is_empty()
    }

    /// Whether all conditions hold.
    pub fn matches(&self, header: &DocumentHeader, metadata: &BTreeMap<String, String>) -> bool {
        let holds = |condition: &Option<Patterns>, value: &str| {
            condition
                .as_ref()
                .is_none_or(|patterns| patterns.matches(value))
        };
        holds(&self.source, &header.source)
            && self
                .path
                .as_ref()
                .is_none_or(|patterns| patterns.matches_path(&header.source_path))
            && holds(&self.media_type, &header.media_type)
            && self.attribute.iter().all(|(name, patterns)| {
                header
                    .attributes
                    .text(name)
                    .is_some_and(|value| patterns.matches(value))
            })
            && self.metadata.iter().all(|(name, patterns)| {
                metadata
                    .get(name)
                    .is_some_and(|value| patterns.matches(value))
            })
    }
}

/// One knowledge set; the value of the topic `knowledge-sets` under the key `id`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeSet {
    /// Lower-case letters, digits and `-`; what filters and producers name.
    pub id: String,
    /// Name shown to users.
    pub name: String,
    /// The same in Chinese.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_zh: Option<String>,
    /// Side of 1+X+Y.
    pub view: View,
    /// What is in it.
    #[serde(default)]
    pub description: String,
    /// Name of the workflow that answers questions about this set alone; the server's choice when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// What puts documents into it, beside producers that name it.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Settings of the pipeline that its documents have for themselves; they hold from the set's
    /// next reindex on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<SetPipeline>,
    /// Whoever is asked about it: a team, a person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// When its state needs somebody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm: Option<SetAlarm>,
}

/// Thresholds of a knowledge set; what is left out never alarms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAlarm {
    /// So many documents whose newest version was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
    /// A document that has waited at one stage for so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_minutes: Option<u64>,
}

/// Settings of the pipeline that a knowledge set has for itself. What one generation of the index
/// can have only once (models, analyzer) is not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetPipeline {
    /// Keys of the section `[enrich.chunker]` with other values.
    #[serde(default)]
    pub chunker: BTreeMap<String, serde_json::Value>,
    /// What stands for long sections; goes before what the source's profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<SummaryMode>,
    /// Variant of the prompts by which a model writes; goes before what the source's profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<String>,
}

/// What rules and producer give a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// Sets in alphabetical order, each once.
    pub knowledge_sets: Vec<String>,
    /// Tags in alphabetical order, each once.
    pub tags: Vec<String>,
}

/// All sets, in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<KnowledgeSet>", into = "Vec<KnowledgeSet>")]
pub struct KnowledgeSets {
    sets: BTreeMap<String, KnowledgeSet>,
}

const SET_KEYS: [&str; 10] = [
    "id",
    "name",
    "name_zh",
    "view",
    "description",
    "workflow",
    "rules",
    "pipeline",
    "owner",
    "alarm",
];
const RULE_KEYS: [&str; 6] = [
    "source",
    "path",
    "media_type",
    "attribute",
    "metadata",
    "tags",
];

impl KnowledgeSets {
    /// Reads `[[knowledge_set]]` tables. Everything that is wrong is reported at once, as
    /// `Invalid`.
    pub fn from_toml(text: &str) -> Result<Self> {
        let file = parse_table("knowledge sets", text)?;
        let mut problems = Problems::default();
        problems.check_names("top level", &file, &["knowledge_set"]);
        let mut sets = Vec::new();
        for (index, table) in problems
            .tables(&file, "knowledge_set")
            .into_iter()
            .enumerate()
        {
            let id = table
                .get("id")
                .and_then(|id| id.as_str())
                .map_or_else(|| format!("number {}", index + 1), str::to_owned);
            let place = format!("knowledge set {id}");
            let mut rule_names_are_known = true;
            for (rule, table) in problems.tables(&table, "rules").iter().enumerate() {
                rule_names_are_known &=
                    problems.check_names(&format!("{place} rule {}", rule + 1), table, &RULE_KEYS);
            }
            // With an unknown name in a rule, reading the set would only say the same again.
            if rule_names_are_known {
                sets.extend(problems.read::<KnowledgeSet>(&place, table, &SET_KEYS));
            } else {
                problems.check_names(&place, &table, &SET_KEYS);
            }
        }
        check_sets(&sets, &mut problems);
        problems.into_result("knowledge sets")?;
        Ok(Self {
            sets: sets.into_iter().map(|set| (set.id.clone(), set)).collect(),
        })
    }

    /// From ready sets, such as those kept in the log; checked like a file.
    pub fn new(sets: Vec<KnowledgeSet>) -> Result<Self> {
        let mut problems = Problems::default();
        check_sets(&sets, &mut problems);
        problems.into_result("knowledge sets")?;
        Ok(Self {
            sets: sets.into_iter().map(|set| (set.id.clone(), set)).collect(),
        })
    }

    /// The union of what all matching rules and the producer (`header.knowledge_sets`,
    /// `header.tags`) give, in alphabetical order.
    ///
    /// A producer that names a set which does not exist gets `Invalid`: silently dropping it would
    /// hide the document from the filter that the producer had in mind. A document that no rule
    /// matches and no producer places is in no set.
    pub fn assign(
        &self,
        header: &DocumentHeader,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Assignment> {
        self.check(&header.knowledge_sets).map_err(|error| {
            let invalid = Error::new(
                ErrorKind::Invalid,
                format!("document {}: {error}", header.document_id),
            );
            invalid.with_hint(
                error
                    .hint()
                    .unwrap_or("name a known knowledge set or none")
                    .to_owned(),
            )
        })?;
        let mut ids: BTreeSet<&str> = header.knowledge_sets.iter().map(String::as_str).collect();
        let mut tags: BTreeSet<&str> = header.tags.iter().map(String::as_str).collect();
        for set in self.sets.values() {
            for rule in set
                .rules
                .iter()
                .filter(|rule| rule.matches(header, metadata))
            {
                ids.insert(&set.id);
                tags.extend(rule.tags.iter().map(String::as_str));
            }
        }
        let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
        Ok(Assignment {
            knowledge_sets: owned(ids),
            tags: owned(tags),
        })
    }

    /// Ids of the sets that every document of a source is in, whatever else it is: what can be told
    /// of one that was given up before anything was read of it.
    pub fn of_source(&self, source: &str) -> Vec<String> {
        let is_in = |set: &&KnowledgeSet| {
            let mut rules = set.rules.iter();
            rules.any(|rule| rule.is_for_source_alone(source))
        };
        let sets = self.sets.values().filter(is_in);
        sets.map(|set| set.id.clone()).collect()
    }

    /// Whether there is a set of this id.
    pub fn contains(&self, id: &str) -> bool {
        self.sets.contains_key(id)
    }

    /// The set of this id.
    pub fn get(&self, id: &str) -> Option<&KnowledgeSet> {
        self.sets.get(id)
    }

    /// The id that a wrong one was probably meant to be.
    pub fn nearest(&self, id: &str) -> Option<&str> {
        nearest(id, self.sets.keys().map(String::as_str))
    }

    /// Refuses names that are no sets with `NotFound`, so that a filter with a wrong name fails and
    /// never searches everything.
    pub fn check(&self, names: &[String]) -> Result<()> {
        let unknown: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| !self.contains(name))
            .collect();
        let Some(first) = unknown.first() else {
            return Ok(());
        };
        let quoted = unknown
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let message = format!("no knowledge set {quoted}");
        let hint = self.hint(first);
        Err(Error::new(ErrorKind::NotFound, message).with_hint(hint))
    }

    /// What may be meant by a name that is no set.
    fn hint(&self, name: &str) -> String {
        match self.nearest(name) {
            Some(near) => format!("did you mean `{near}`"),
            None if self.sets.is_empty() => "no knowledge sets are defined".to_owned(),
            None => format!(
                "known sets are {}",
                self.sets
                    .keys()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }
    }

    /// All sets, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &KnowledgeSet> {
        self.sets.values()
    }

    /// Number of sets.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Adds a set or takes the place of the one with its id; all are checked together.
    pub fn with(&self, set: KnowledgeSet) -> Result<Self> {
        let others = self
            .sets
            .values()
            .filter(|other| other.id != set.id)
            .cloned();
        Self::new(others.chain(std::iter::once(set.clone())).collect())
    }

    /// Hash of what decides membership and tags; names and descriptions do not.
    pub fn fingerprint(&self) -> String {
        let rules: Vec<(&String, &Vec<Rule>)> =
            self.sets.iter().map(|(id, set)| (id, &set.rules)).collect();
        fingerprint(&rules)
    }
}

impl TryFrom<Vec<KnowledgeSet>> for KnowledgeSets {
    type Error = Error;

    fn try_from(sets: Vec<KnowledgeSet>) -> Result<Self> {
        Self::new(sets)
    }
}

impl From<KnowledgeSets> for Vec<KnowledgeSet> {
    fn from(sets: KnowledgeSets) -> Self {
        sets.sets.into_values().collect()
    }
}

fn check_sets(sets: &[KnowledgeSet], problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    let mut common: Option<&str> = None;
    for set in sets {
        let place = format!("knowledge set {}", set.id);
        if set.id.is_empty()
            || !set.id.chars().all(|letter| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
            })
        {
            problems.add(format!(
                "{place}: an id is made of lower-case letters, digits and `-`"
            ));
        }
        if set.name.trim().is_empty() {
            problems.add(format!("{place}: name is empty"));
        }
        if !seen.insert(&set.id) {
            problems.add(format!("{place}: defined twice"));
        }
        if set.view == View::Common {
            match common {
                Some(first) => problems.add(format!(
                    "{place}: there is one common view, and {first} is it"
                )),
                None => common = Some(&set.id),
            }
        }
        let alarm = set.alarm.clone().unwrap_or_default();
        if alarm.failures == Some(0) || alarm.lag_minutes == Some(0) {
            problems.add(format!("{place}: alarm: a threshold must be at least 1"));
        }
        for (index, rule) in set.rules.iter().enumerate() {
            check_rule(&format!("{place} rule {}", index + 1), rule, problems);
        }
    }
}

fn check_rule(place: &str, rule: &Rule, problems: &mut Problems) {
    if !rule.has_condition() {
        problems.add(format!(
            "{place}: has no condition; write source = \"*\" if every document is meant"
        ));
    }
    if rule.tags.iter().any(|tag| tag.trim().is_empty()) {
        problems.add(format!("{place}: has an empty tag"));
    }
}

/// The knowledge sets in force; replacing them takes effect with the next document.
#[derive(Clone, Debug, Default)]
pub struct SharedKnowledgeSets(Arc<RwLock<Arc<KnowledgeSets>>>);

impl SharedKnowledgeSets {
    /// Starts with these.
    pub fn new(knowledge_sets: KnowledgeSets) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(knowledge_sets))))
    }

    /// Those in force now.
    pub fn current(&self) -> Arc<KnowledgeSets> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts others in force.
    pub fn replace(&self, knowledge_sets: KnowledgeSets) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(knowledge_sets);
    }
}

/// The knowledge sets of a running system: those that hold, and a way to change them.
#[async_trait]
pub trait KnowledgeSetCatalog: Send + Sync {
    /// Those that hold now.
    fn current(&self) -> Arc<KnowledgeSets>;

    /// Makes these the ones that hold, durably. They are checked already.
    async fn apply(&self, knowledge_sets: KnowledgeSets) -> Result<()>;
}
