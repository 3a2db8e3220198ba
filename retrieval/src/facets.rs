//! What documents can be told apart by: how many of those that a caller may see have each value.
//! Read from the whole index, so one reading serves everybody for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tributary_schemas::facets::{FacetValue, Facets};
use tributary_schemas::set_contents::SetContents;
use tributary_schemas::{DocumentHeader, ErrorKind, Filter, Result};
use tributary_store::search_index::{IndexedDocument, SearchIndex};

use crate::config::FacetConfig;
use crate::set_contents::SetCounts;

/// How long a reading is good for at most, where rights by document hold: they may change.
const KEPT_WITH_RIGHTS: Duration = Duration::from_millis(500);
/// Values of attributes that are kept at most: every document may have one of its own.
const ATTRIBUTE_VALUES: usize = 10_000;
/// Documents that are read at once.
const PAGE: usize = 1000;

/// Keeps the newest reading.
pub struct FacetReader {
    kept: Mutex<Option<Kept>>,
    keep_for: Duration,
    values: usize,
}

struct Kept {
    read_at: Instant,
    generation: Option<String>,
    filter: Filter,
    reading: Arc<Reading>,
}

/// What was read of the whole index.
pub struct Reading {
    /// The most frequent values, with counts.
    pub facets: Facets,
    /// All values.
    pub values: Values,
    /// Of each knowledge set that has documents, by its id.
    pub sets: BTreeMap<String, SetContents>,
}

/// Values that documents have, by the condition that names them.
#[derive(Debug, Default)]
pub struct Values {
    by_condition: BTreeMap<&'static str, BTreeSet<String>>,
    by_attribute: Option<ByAttribute>,
}

/// Values of attributes by the attribute's name.
pub type ByAttribute = BTreeMap<String, BTreeSet<String>>;

impl Values {
    /// Of these conditions.
    pub fn new(of: impl IntoIterator<Item = (&'static str, Vec<String>)>) -> Self {
        let conditions = of.into_iter();
        Self {
            by_condition: conditions
                .map(|(condition, values)| (condition, values.into_iter().collect()))
                .collect(),
            by_attribute: None,
        }
    }

    /// With attributes by name; `None` where there are too many to keep.
    #[must_use]
    pub fn with_attributes(mut self, by_attribute: Option<ByAttribute>) -> Self {
        self.by_attribute = by_attribute;
        self
    }

    /// Values of attributes, by the attribute's name; `None` where there are too many to tell.
    pub fn attributes(&self) -> Option<&ByAttribute> {
        self.by_attribute.as_ref()
    }

    /// Whether a document has the value.
    pub fn has(&self, condition: &str, value: &str) -> bool {
        let values = self.by_condition.get(condition);
        values.is_some_and(|values| values.contains(value))
    }

    /// All values of a condition.
    pub fn of(&self, condition: &str) -> impl Iterator<Item = &str> {
        let values = self.by_condition.get(condition);
        values.into_iter().flatten().map(String::as_str)
    }
}

impl FacetReader {
    /// How long a reading is good for, and how long its lists are.
    pub fn new(config: FacetConfig) -> Self {
        Self {
            kept: Mutex::new(None),
            keep_for: Duration::from_millis(config.keep_ms),
            values: config.values,
        }
    }

    /// The facets of all documents that the filter allows, in the generation of the index that
    /// serves: another one may have them in other sets. Who comes while they are read waits for that
    /// reading.
    pub async fn read(
        &self,
        index: &dyn SearchIndex,
        generation: Option<&str>,
        filter: Filter,
    ) -> Result<Arc<Reading>> {
        let keep_for = match filter.viewer {
            Some(_) => self.keep_for.min(KEPT_WITH_RIGHTS),
            None => self.keep_for,
        };
        let mut kept = self.kept.lock().await;
        let fresh = kept
            .as_ref()
            .filter(|kept| kept.filter == filter && kept.generation.as_deref() == generation)
            .filter(|kept| kept.read_at.elapsed() < keep_for);
        if let Some(fresh) = fresh {
            return Ok(Arc::clone(&fresh.reading));
        }
        let reading = Arc::new(self.count(index, generation, &filter).await?);
        *kept = Some(Kept {
            read_at: Instant::now(),
            generation: generation.map(str::to_owned),
            filter,
            reading: Arc::clone(&reading),
        });
        Ok(reading)
    }

    async fn count(
        &self,
        index: &dyn SearchIndex,
        generation: Option<&str>,
        filter: &Filter,
    ) -> Result<Reading> {
        let mut counts = Counts::default();
        let mut sets = SetCounts::default();
        let mut after: Option<String> = None;
        loop {
            let listed = index.list_documents(generation, after.as_deref(), PAGE);
            let page = match listed.await {
                // nothing was indexed yet
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                page => page?,
            };
            let Some(last) = page.last() else { break };
            after = Some(last.document.document_id.clone());
            // What steps aside for a newer edition cannot be found.
            let is_there = |listed: &&IndexedDocument| {
                !listed.deleted && listed.document.superseded_by.is_none()
            };
            page.iter()
                .filter(is_there)
                .filter(|listed| filter.allows(&listed.document))
                .for_each(|listed| {
                    counts.add(&listed.document);
                    sets.add(listed);
                });
        }
        Ok(Reading {
            values: counts.values(),
            sets: sets.contents(self.values),
            facets: counts.facets(self.values),
        })
    }
}

/// Documents by value.
pub type Tally = BTreeMap<String, u64>;

#[derive(Default)]
struct Counts {
    documents: u64,
    knowledge_sets: Tally,
    sources: Tally,
    tags: Tally,
    products: Tally,
    product_versions: Tally,
    languages: Tally,
    security_levels: Tally,
    by_attribute: ByAttribute,
    attribute_values: usize,
}

impl Counts {
    fn add(&mut self, document: &DocumentHeader) {
        self.documents += 1;
        tally(&mut self.knowledge_sets, &document.knowledge_sets);
        tally(&mut self.sources, [&document.source]);
        tally(&mut self.tags, &document.tags);
        let attributes = &document.attributes;
        tally(&mut self.products, &attributes.product);
        tally(&mut self.product_versions, &attributes.product_version);
        tally(&mut self.languages, &attributes.language);
        let level = attributes.security_level.map(|level| level.to_string());
        tally(&mut self.security_levels, &level);
        let conditions = attributes.conditions();
        conditions.for_each(|(name, value)| self.add_attribute(name, value));
    }

    fn add_attribute(&mut self, name: &str, value: &str) {
        let known = self.by_attribute.get(name);
        let is_known = known.is_some_and(|values| values.contains(value));
        if !is_known && self.attribute_values <= ATTRIBUTE_VALUES {
            self.attribute_values += 1;
            let values = self.by_attribute.entry(name.to_owned()).or_default();
            values.insert(value.to_owned());
        }
    }

    fn values(&self) -> Values {
        let of = |tally: &Tally| tally.keys().cloned().collect();
        Values::new([
            ("knowledge_sets", of(&self.knowledge_sets)),
            ("sources", of(&self.sources)),
            ("tags", of(&self.tags)),
            ("products", of(&self.products)),
            ("product_versions", of(&self.product_versions)),
            ("languages", of(&self.languages)),
        ])
        .with_attributes(
            (self.attribute_values <= ATTRIBUTE_VALUES).then(|| self.by_attribute.clone()),
        )
    }

    fn facets(self, values: usize) -> Facets {
        let frequent = |tally| most_frequent(tally, values);
        Facets {
            documents: self.documents,
            knowledge_sets: frequent(self.knowledge_sets),
            sources: frequent(self.sources),
            tags: frequent(self.tags),
            products: frequent(self.products),
            product_versions: frequent(self.product_versions),
            languages: frequent(self.languages),
            security_levels: frequent(self.security_levels),
        }
    }
}

/// Counts a document for each of its values.
pub fn tally<'a>(tally: &mut Tally, values: impl IntoIterator<Item = &'a String>) {
    for value in values {
        match tally.get_mut(value) {
            Some(count) => *count += 1,
            None => {
                tally.insert(value.clone(), 1);
            }
        }
    }
}

/// The most frequent values, at most so many.
pub fn most_frequent(tally: Tally, values: usize) -> Vec<FacetValue> {
    let mut list: Vec<FacetValue> = tally
        .into_iter()
        .map(|(value, documents)| FacetValue { value, documents })
        .collect();
    list.sort_by_key(|value| std::cmp::Reverse(value.documents));
    list.truncate(values);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_once_a_document_and_the_frequent_come_first() {
        let mut counts = Counts::default();
        for (source, tags) in [("b", vec!["x"]), ("a", vec!["x", "y"]), ("b", vec![])] {
            counts.add(&DocumentHeader {
                source: source.into(),
                tags: tags.into_iter().map(str::to_owned).collect(),
                ..DocumentHeader::default()
            });
        }
        let facets = counts.facets(1);
        let first = |values: &[FacetValue]| (values.len(), values[0].value.clone());
        assert_eq!(facets.documents, 3);
        assert_eq!(first(&facets.sources), (1, "b".to_owned()));
        assert_eq!(first(&facets.tags), (1, "x".to_owned()));
        assert!(facets.languages.is_empty());
    }
}
