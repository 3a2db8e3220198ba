//! The skip gate: whether a document that comes again is what is searchable already.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::table::{DocumentRow, DocumentTable, IndexedVersion};

/// Documents that are remembered before those are forgotten that the table knows of by now.
const SWEEP_AT: usize = 10_000;

/// Remembers what passed in this process until the table knows its end, so that a change in flight
/// is never mistaken for no change.
pub struct SkipGate {
    table: Arc<DocumentTable>,
    passed: Mutex<Passed>,
}

/// Versions by document.
type Passed = HashMap<String, u64>;

impl SkipGate {
    /// Over the given table.
    pub fn new(table: Arc<DocumentTable>) -> Self {
        Self {
            table,
            passed: Mutex::default(),
        }
    }

    /// A version of the document passes the gate without being compared: a deletion, or one whose
    /// content is gone.
    pub fn pass(&self, document_id: &str, version: u64) {
        self.remember(&mut self.passed(), document_id, version);
    }

    /// The newest version that ingest is done with, if it is newer than this one.
    pub fn superseded_by(&self, document_id: &str, version: u64) -> Option<u64> {
        let passed_here = self.passed().get(document_id).copied().unwrap_or(0);
        let newest = self.table.newest_taken(document_id).max(passed_here);
        (newest > version).then_some(newest)
    }

    /// Whether the index has, or is about to have, an earlier version of the document that a change
    /// takes away. Asked before that change passes.
    pub fn is_known(&self, document_id: &str) -> bool {
        let is_in_table = |row: DocumentRow| row.passed > 0 || row.indexed.is_some();
        self.passed().contains_key(document_id)
            || self.table.get(document_id).is_some_and(is_in_table)
    }

    /// A newer version, or the deletion, that is accepted and waits behind this one.
    pub fn waiting_behind(&self, document_id: &str, version: u64) -> Option<u64> {
        let newest = self.table.newest_version(document_id);
        (newest > version).then_some(newest)
    }

    fn passed(&self) -> MutexGuard<'_, Passed> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, passed: &mut Passed, document_id: &str, version: u64) {
        if passed.len() >= SWEEP_AT {
            passed.retain(|document_id, version| self.table.newest_passed(document_id) < *version);
        }
        passed.insert(document_id.to_owned(), version);
    }

    /// The searchable version, if it has this fingerprint, is older than
    /// `version`, and nothing newer is on its way. Otherwise the document passes, and that is
    /// remembered.
    pub fn unchanged_since(
        &self,
        document_id: &str,
        version: u64,
        fingerprint: &str,
    ) -> Option<IndexedVersion> {
        let unchanged = self.unchanged(document_id, version, fingerprint);
        let mut passed = self.passed();
        if unchanged.is_some() {
            passed.remove(document_id);
        } else {
            self.remember(&mut passed, document_id, version);
        }
        unchanged
    }

    /// The same look without passing: whether there is a need to go on with the document at all.
    pub fn unchanged(
        &self,
        document_id: &str,
        version: u64,
        fingerprint: &str,
    ) -> Option<IndexedVersion> {
        let row = self.table.get(document_id)?;
        let passed_here = self.passed().get(document_id).copied().unwrap_or(0);
        let indexed = row.indexed?;
        let nothing_newer =
            row.passed.max(passed_here) <= indexed.version && indexed.version < version;
        (nothing_newer && indexed.fingerprint == fingerprint).then_some(indexed)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::{DocumentHeader, DocumentState, State};

    use super::*;
    use crate::manifest::report;

    fn gate(states: &[(u64, State)]) -> SkipGate {
        let states: Vec<DocumentState> = states
            .iter()
            .map(|(version, state)| {
                let fingerprint = format!("f{version}");
                let document = DocumentHeader {
                    document_id: "d".into(),
                    version: *version,
                    fingerprint,
                    ..DocumentHeader::default()
                };
                report(&document, *state, 0)
            })
            .collect();
        SkipGate::new(Arc::new(DocumentTable::with_reports(&states)))
    }

    #[test]
    fn an_unchanged_document_is_seen() {
        let found =
            gate(&[(1, State::Indexed), (2, State::Accepted)]).unchanged_since("d", 2, "f1");
        assert_eq!(found.map(|indexed| indexed.version), Some(1));
        assert_eq!(
            gate(&[(1, State::Indexed)]).unchanged_since("d", 2, "f2"),
            None
        );
    }

    #[test]
    fn a_replay_of_the_searchable_version_itself_passes() {
        assert_eq!(
            gate(&[(1, State::Indexed)]).unchanged_since("d", 1, "f1"),
            None
        );
    }

    #[test]
    fn a_change_in_flight_makes_the_old_content_a_change_again() {
        let gate = gate(&[(1, State::Indexed)]);
        assert_eq!(gate.unchanged_since("d", 2, "f2"), None);
        assert_eq!(
            gate.unchanged_since("d", 3, "f1"),
            None,
            "version 2 would stay searchable"
        );
    }

    #[test]
    fn a_change_in_flight_is_remembered_over_a_restart() {
        let gate = gate(&[
            (1, State::Indexed),
            (2, State::Chunking),
            (3, State::Accepted),
        ]);
        assert_eq!(gate.unchanged_since("d", 3, "f1"), None);
    }

    #[test]
    fn only_what_the_table_does_not_know_yet_is_remembered() {
        let gate = gate(&[(5, State::Indexed)]);
        gate.pass("d", 5);
        (0..SWEEP_AT as u64).for_each(|number| gate.pass(&format!("unknown {number}"), 1));
        assert!(!gate.passed().contains_key("d") && gate.passed().contains_key("unknown 0"));
    }

    #[test]
    fn a_version_is_superseded_by_what_ingest_is_done_with_and_not_by_what_waits() {
        let gate = gate(&[(3, State::Dead), (5, State::Accepted)]);
        assert_eq!(
            [2, 3, 4].map(|version| gate.superseded_by("d", version)),
            [Some(3), None, None]
        );
        gate.pass("d", 6);
        assert_eq!(gate.superseded_by("d", 5), Some(6));
    }

    #[test]
    fn a_deletion_in_flight_counts_as_a_change() {
        let gate = gate(&[(1, State::Indexed)]);
        gate.pass("d", 2);
        assert_eq!(gate.unchanged_since("d", 3, "f1"), None);
    }
}
