//! Documents counted by knowledge set: what is searchable, on its way and given up, and since when
//! the oldest waits. A document whose sets are not known, as it was given up before they were, counts
//! for those that its source alone places it in; else under its source.

use std::collections::{BTreeMap, HashMap};

use tributary_schemas::State;
use tributary_schemas::set_status::FailedDocument;

use super::rows::Glance;
use super::table::DocumentTable;
use crate::set_costs::SetCosts;

/// Failures that are shown of each set: the newest.
const FAILURES: usize = 5;
/// Characters of a reason that are shown.
const REASON_CHARACTERS: usize = 500;

/// The documents of one set, or of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All that were not deleted.
    pub documents: u64,
    /// Of which a version can be found.
    pub searchable: u64,
    /// Searchable, and something was done in a lesser way than configured.
    pub degraded: u64,
    /// By what the last attempt did, in the order of [`State::ALL`].
    pub states: [u64; State::ALL.len()],
    /// The oldest report among those of documents on their way, milliseconds since 1970.
    pub oldest_waiting_ms: Option<i64>,
    /// The newest failures, newest first.
    pub failures: Vec<FailedDocument>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    /// When they were counted, milliseconds since 1970.
    pub at_ms: i64,
    /// By knowledge set.
    pub by_set: BTreeMap<String, Tally>,
    /// By source, of documents that are in no set, or nobody knows in which.
    pub by_source: BTreeMap<String, Tally>,
    /// What language models wrote for the sets, where it is counted.
    pub costs: Option<SetCosts>,
}

impl Tally {
    /// Documents on their way.
    pub fn waiting(&self) -> u64 {
        let states = State::ALL.into_iter().zip(self.states);
        let waiting = states.filter(|(state, _)| !state.is_final());
        waiting.map(|(_, documents)| documents).sum()
    }

    /// Documents in this state.
    pub fn in_state(&self, state: State) -> u64 {
        self.states[state as usize]
    }

    fn add(&mut self, glance: &Glance<'_>) {
        self.documents += 1;
        self.searchable += u64::from(glance.is_searchable);
        self.degraded += u64::from(glance.is_searchable && glance.is_degraded);
        self.states[glance.state as usize] += 1;
        if !glance.state.is_final() {
            let oldest = self.oldest_waiting_ms.unwrap_or(i64::MAX);
            self.oldest_waiting_ms = Some(oldest.min(glance.at_ms));
        }
        if glance.state == State::Dead {
            self.add_failure(glance);
        }
    }

    fn add_failure(&mut self, glance: &Glance<'_>) {
        let place = self
            .failures
            .iter()
            .position(|other| other.at_ms < glance.at_ms)
            .unwrap_or(self.failures.len());
        if place >= FAILURES {
            return;
        }
        let reason = glance.reason.unwrap_or_default();
        self.failures.insert(
            place,
            FailedDocument {
                document_id: glance.document_id.to_owned(),
                source: glance.source.to_owned(),
                source_path: glance.source_path.to_owned(),
                reason: reason.chars().take(REASON_CHARACTERS).collect(),
                at_ms: glance.at_ms,
            },
        );
        self.failures.truncate(FAILURES);
    }
}

impl DocumentTable {
    /// Counts all documents; `sets_of_source` says in which sets every document of a source is.
    /// Looks at each row.
    pub fn tally(&self, sets_of_source: impl Fn(&str) -> Vec<String>) -> Tallies {
        let mut tallies = Tallies::default();
        let mut known: HashMap<String, Vec<String>> = HashMap::new();
        self.glance(|glance| {
            if glance.state == State::Deleted {
                return;
            }
            if !known.contains_key(glance.source) {
                known.insert(glance.source.to_owned(), sets_of_source(glance.source));
            }
            let of_source = known.get(glance.source).map(Vec::as_slice);
            let of_labels = glance.labels.map(|labels| labels.knowledge_sets.as_slice());
            let sets = of_labels.or(of_source).unwrap_or_default();
            for set in sets {
                entry(&mut tallies.by_set, set).add(&glance);
            }
            if sets.is_empty() {
                entry(&mut tallies.by_source, glance.source).add(&glance);
            }
        });
        tallies
    }
}

/// Without a copy of the name where it is known.
fn entry<'a>(tallies: &'a mut BTreeMap<String, Tally>, name: &str) -> &'a mut Tally {
    if !tallies.contains_key(name) {
        tallies.insert(name.to_owned(), Tally::default());
    }
    tallies.entry(name.to_owned()).or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::{DocumentHeader, DocumentState, Labels, Lineage};

    use super::*;
    use crate::manifest::report;

    fn state(id: &str, source: &str, state: State, at_ms: i64) -> DocumentState {
        let document = DocumentHeader {
            document_id: id.into(),
            version: 1,
            source: source.into(),
            ..DocumentHeader::default()
        };
        report(&document, state, at_ms)
    }

    #[test]
    fn documents_count_for_the_sets_that_they_are_in_or_must_be_in() {
        let indexed = DocumentState {
            labels: Some(Labels {
                generation: "g1".into(),
                tags: Vec::new(),
                knowledge_sets: vec!["a".into(), "b".into()],
            }),
            lineage: Some(Lineage {
                degraded: vec!["summary".into()],
                ..Lineage::default()
            }),
            ..state("1", "wiki", State::Indexed, 1)
        };
        let dead = |id: &str, source: &str, at_ms| DocumentState {
            reason: Some("external step `mask` answered 500".into()),
            ..state(id, source, State::Dead, at_ms)
        };
        let table = DocumentTable::with_reports(&[
            indexed,
            dead("2", "wiki", 5),
            state("3", "wiki", State::Accepted, 7),
            state("4", "wiki", State::Embedding, 6),
            state("5", "wiki", State::Deleted, 2),
            dead("6", "mail", 9),
        ]);
        let of_source = |source: &str| match source {
            "wiki" => vec!["a".to_owned()],
            _ => Vec::new(),
        };
        let tallies = table.tally(of_source);
        let (a, b) = (&tallies.by_set["a"], &tallies.by_set["b"]);
        assert_eq!((a.documents, a.searchable, a.degraded), (4, 1, 1));
        assert_eq!((a.waiting(), a.in_state(State::Dead)), (2, 1));
        assert_eq!(a.oldest_waiting_ms, Some(6));
        assert_eq!(a.failures[0].document_id, "2");
        assert_eq!((b.documents, b.waiting()), (1, 0));
        assert_eq!(tallies.by_source["mail"].in_state(State::Dead), 1);
        assert!(!tallies.by_source.contains_key("wiki"));
    }
}
