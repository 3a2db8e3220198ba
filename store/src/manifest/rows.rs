//! The rows of the document table, packed: what many documents have in common is kept once. Used by [`super::table`].

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use tributary_schemas::{DocumentState, Lineage, StageTime, State};

use super::table::{DocumentRow, IndexedVersion};

/// Rows by document id.
#[derive(Debug, Default)]
pub(super) struct Rows {
    packed: BTreeMap<Box<str>, Packed>,
    shared: Shared,
    /// Rows by state, in the order of [`State::ALL`].
    counts: [u64; State::ALL.len()],
}

/// Values that many rows have.
#[derive(Debug, Default)]
struct Shared {
    texts: HashSet<Arc<str>>,
    lineages: Vec<Arc<Lineage>>,
}

#[derive(Debug)]
struct Packed {
    version: u64,
    at_ms: i64,
    passed: u64,
    chunks: u32,
    state: State,
    indexed_version: Option<u64>,
    indexed: Option<(u64, u32, Arc<str>)>,
    fingerprint: Arc<str>,
    reason: Option<Box<str>>,
    source: Arc<str>,
    source_path: Box<str>,
    title: Box<str>,
    lineage: Option<Arc<Lineage>>,
    timeline: Box<[(Arc<str>, i64)]>,
}

impl Rows {
    /// One row.
    pub fn get(&self, document_id: &str) -> Option<DocumentRow> {
        self.packed.get(document_id).map(|packed| packed.unpack(document_id))
    }

    /// Rows by document id, those after `document_id`.
    pub fn after(&self, document_id: Option<&str>) -> impl Iterator<Item = DocumentRow> {
        let from = document_id.map_or(Bound::Unbounded, Bound::Excluded);
        self.packed.range::<str, _>((from, Bound::Unbounded)).map(|(document_id, packed)| packed.unpack(document_id))
    }

    /// Rows by document id, those after `document_id` that `shows` by state and source: at most `limit`, among the next `rows`. Beside them
    /// the last id that was looked at, if there are more.
    pub fn look_through(
        &self,
        document_id: Option<&str>,
        rows: usize,
        limit: usize,
        shows: impl Fn(State, &str) -> bool,
    ) -> (Vec<DocumentRow>, Option<String>) {
        let from = document_id.map_or(Bound::Unbounded, Bound::Excluded);
        let mut found = Vec::new();
        let mut last = None;
        for (id, packed) in self.packed.range::<str, _>((from, Bound::Unbounded)).take(rows) {
            if found.len() == limit {
                break;
            }
            if shows(packed.state, &packed.source) {
                found.push(packed.unpack(id));
            }
            last = Some(id);
        }
        (found, last.map(|id| id.to_string()))
    }

    /// Puts a row in the place of the one with its id.
    pub fn set(&mut self, row: DocumentRow) {
        let document_id = row.latest.document_id.clone().into_boxed_str();
        let packed = self.shared.pack(row);
        self.counts[packed.state as usize] += 1;
        if let Some(replaced) = self.packed.insert(document_id, packed) {
            self.counts[replaced.state as usize] -= 1;
        }
    }

    /// How many rows there are, and how many in each state.
    pub fn counts(&self) -> (u64, [u64; State::ALL.len()]) {
        (self.packed.len() as u64, self.counts)
    }
}

impl Shared {
    fn pack(&mut self, row: DocumentRow) -> Packed {
        let latest = row.latest;
        let fingerprint: Arc<str> = latest.fingerprint.into();
        let indexed = row.indexed.map(|indexed| {
            let same = *fingerprint == *indexed.fingerprint;
            (indexed.version, indexed.chunks, if same { Arc::clone(&fingerprint) } else { indexed.fingerprint.into() })
        });
        Packed {
            version: latest.version,
            at_ms: latest.at_ms,
            passed: row.passed,
            chunks: latest.chunks,
            state: latest.state,
            indexed_version: latest.indexed_version,
            indexed,
            fingerprint,
            reason: latest.reason.map(String::into_boxed_str),
            source: self.text(&latest.source),
            source_path: latest.source_path.into_boxed_str(),
            title: latest.title.into_boxed_str(),
            lineage: latest.lineage.map(|lineage| self.lineage(lineage)),
            timeline: latest.timeline.into_iter().map(|time| (self.text(&time.stage), time.at_ms)).collect(),
        }
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&new));
        new
    }

    /// Settings change seldom, so there are few lineages; the newest are looked at first.
    fn lineage(&mut self, lineage: Lineage) -> Arc<Lineage> {
        if let Some(known) = self.lineages.iter().rev().find(|known| ***known == lineage) {
            return Arc::clone(known);
        }
        let new = Arc::new(lineage);
        self.lineages.push(Arc::clone(&new));
        new
    }
}

impl Packed {
    fn unpack(&self, document_id: &str) -> DocumentRow {
        let latest = DocumentState {
            document_id: document_id.to_owned(),
            version: self.version,
            state: self.state,
            reason: self.reason.as_deref().map(str::to_owned),
            source: self.source.to_string(),
            source_path: self.source_path.to_string(),
            title: self.title.to_string(),
            chunks: self.chunks,
            fingerprint: self.fingerprint.to_string(),
            lineage: self.lineage.as_deref().cloned(),
            timeline: self.timeline.iter().map(|(stage, at_ms)| StageTime { stage: stage.to_string(), at_ms: *at_ms }).collect(),
            at_ms: self.at_ms,
            indexed_version: self.indexed_version,
        };
        let indexed = self.indexed.as_ref().map(|(version, chunks, fingerprint)| IndexedVersion {
            version: *version,
            chunks: *chunks,
            fingerprint: fingerprint.to_string(),
        });
        DocumentRow { latest, indexed, passed: self.passed }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_as_it_was_and_shares_what_is_common() {
        let row = |id: &str| DocumentRow {
            latest: DocumentState {
                document_id: id.into(),
                version: 7,
                state: State::Skipped,
                reason: Some("unchanged".into()),
                source: "wiki".into(),
                source_path: "a/b.md".into(),
                title: "标题".into(),
                chunks: 3,
                fingerprint: "f".into(),
                lineage: Some(Lineage { converter: "markdown/1".into(), ..Lineage::default() }),
                timeline: vec![StageTime { stage: "ingest".into(), at_ms: 5 }],
                at_ms: 9,
                indexed_version: Some(6),
            },
            indexed: Some(IndexedVersion { version: 6, chunks: 3, fingerprint: "f".into() }),
            passed: 6,
        };
        let mut rows = Rows::default();
        rows.set(row("x"));
        rows.set(row("y"));
        assert_eq!(rows.get("x").unwrap(), row("x"));
        assert_eq!(rows.after(Some("x")).collect::<Vec<_>>(), [row("y")]);
        assert_eq!((rows.shared.lineages.len(), rows.shared.texts.len()), (1, 2));
    }
}
