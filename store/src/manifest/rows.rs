//! The rows of the document table, packed: what many documents have in common is kept once.

mod checkpoint;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use tributary_schemas::{DocumentState, Lineage, StageTime, State};

use super::table::{DocumentRow, IndexedVersion};
use super::texts::{SWEEP_AT_LEAST, Texts};

pub use checkpoint::CheckpointFile;

/// Rows by document id.
#[derive(Debug, Default)]
pub(super) struct Rows {
    packed: BTreeMap<Box<str>, Box<Packed>>,
    shared: Shared,
    /// Rows by state, in the order of [`State::ALL`].
    counts: [u64; State::ALL.len()],
}

/// Values that many rows have.
#[derive(Debug, Default)]
struct Shared {
    texts: Texts,
    lineages: Vec<Arc<Lineage>>,
    /// How many lineages there may be before those are let go that no row has any more.
    sweep_at: usize,
}

#[derive(Debug)]
struct Packed {
    version: u64,
    at_ms: i64,
    passed: u64,
    taken: u64,
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
        self.packed
            .get(document_id)
            .map(|packed| packed.unpack(document_id))
    }

    /// Of a document the version of its newest report, the newest that ingest is done with, and the
    /// newest that went past it; 0 where there is none.
    pub fn versions(&self, document_id: &str) -> (u64, u64, u64) {
        self.packed.get(document_id).map_or((0, 0, 0), |packed| {
            (packed.version, packed.taken, packed.passed)
        })
    }

    /// Rows by document id, those after `document_id`.
    pub fn after(&self, document_id: Option<&str>) -> impl Iterator<Item = DocumentRow> {
        self.packed_after(document_id)
            .map(|(document_id, packed)| packed.unpack(document_id))
    }

    fn packed_after(&self, document_id: Option<&str>) -> impl Iterator<Item = (&str, &Packed)> {
        let from = document_id.map_or(Bound::Unbounded, Bound::Excluded);
        self.packed
            .range::<str, _>((from, Bound::Unbounded))
            .map(|(document_id, packed)| (&**document_id, &**packed))
    }

    /// The newest time of a report, milliseconds since 1970; 0 if there is none.
    pub fn newest_time(&self) -> i64 {
        self.packed
            .values()
            .map(|packed| packed.at_ms)
            .max()
            .unwrap_or(0)
    }

    /// Rows by document id, those after `document_id` that `shows` by state and source: at most
    /// `limit`, among the next `rows`. Beside them the last id that was looked at, if there are
    /// more.
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
        for (id, packed) in self
            .packed
            .range::<str, _>((from, Bound::Unbounded))
            .take(rows)
        {
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
        let packed = Box::new(self.shared.pack(row));
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
            (
                indexed.version,
                indexed.chunks,
                if same {
                    Arc::clone(&fingerprint)
                } else {
                    indexed.fingerprint.into()
                },
            )
        });
        Packed {
            version: latest.version,
            at_ms: latest.at_ms,
            passed: row.passed,
            taken: row.taken,
            chunks: latest.chunks,
            state: latest.state,
            indexed_version: latest.indexed_version,
            indexed,
            fingerprint,
            reason: latest.reason.map(String::into_boxed_str),
            source: self.texts.share(&latest.source),
            source_path: latest.source_path.into_boxed_str(),
            title: latest.title.into_boxed_str(),
            lineage: latest.lineage.map(|lineage| self.lineage(lineage)),
            timeline: latest
                .timeline
                .into_iter()
                .map(|time| (self.texts.share(&time.stage), time.at_ms))
                .collect(),
        }
    }

    /// Settings change seldom, so there are few lineages; the newest are looked at first.
    fn lineage(&mut self, lineage: Lineage) -> Arc<Lineage> {
        if let Some(known) = self.lineages.iter().rev().find(|known| ***known == lineage) {
            return Arc::clone(known);
        }
        if self.lineages.len() >= self.sweep_at.max(SWEEP_AT_LEAST) {
            self.lineages
                .retain(|lineage| Arc::strong_count(lineage) > 1);
            self.sweep_at = 2 * self.lineages.len();
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
            timeline: self
                .timeline
                .iter()
                .map(|(stage, at_ms)| StageTime {
                    stage: stage.to_string(),
                    at_ms: *at_ms,
                })
                .collect(),
            at_ms: self.at_ms,
            indexed_version: self.indexed_version,
        };
        let indexed = self
            .indexed
            .as_ref()
            .map(|(version, chunks, fingerprint)| IndexedVersion {
                version: *version,
                chunks: *chunks,
                fingerprint: fingerprint.to_string(),
            });
        DocumentRow {
            latest,
            indexed,
            passed: self.passed,
            taken: self.taken,
        }
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
                lineage: Some(Lineage {
                    converter: "markdown/1".into(),
                    ..Lineage::default()
                }),
                timeline: vec![StageTime {
                    stage: "ingest".into(),
                    at_ms: 5,
                }],
                at_ms: 9,
                indexed_version: Some(6),
            },
            indexed: Some(IndexedVersion {
                version: 6,
                chunks: 3,
                fingerprint: "f".into(),
            }),
            passed: 6,
            taken: 7,
        };
        let mut rows = Rows::default();
        rows.set(row("x"));
        rows.set(row("y"));
        assert_eq!(rows.get("x").unwrap(), row("x"));
        assert_eq!(rows.after(Some("x")).collect::<Vec<_>>(), [row("y")]);
        assert_eq!(
            (rows.shared.lineages.len(), rows.shared.texts.len()),
            (1, 2)
        );
    }

    #[test]
    fn common_values_that_no_row_has_any_more_are_let_go() {
        let mut rows = Rows::default();
        for number in 0..10 * SWEEP_AT_LEAST {
            let lineage = Lineage {
                converter: format!("c/{number}"),
                ..Lineage::default()
            };
            let latest = DocumentState {
                source: format!("s{number}"),
                lineage: Some(lineage),
                ..state_of("d")
            };
            rows.set(DocumentRow {
                latest,
                indexed: None,
                passed: 0,
                taken: 0,
            });
        }
        assert!(rows.shared.texts.len().max(rows.shared.lineages.len()) <= SWEEP_AT_LEAST);
    }

    fn state_of(document_id: &str) -> DocumentState {
        let document = tributary_schemas::DocumentHeader {
            document_id: document_id.into(),
            ..Default::default()
        };
        crate::manifest::report(&document, State::Indexed, 0)
    }
}
