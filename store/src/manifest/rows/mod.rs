//! The rows of the document table, packed: what many documents have in common is kept once.

mod checkpoint;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use tributary_schemas::{
    DocumentRights, DocumentState, Labels, Lineage, Newer, StageTime, State, Viewer,
};

use super::standing::{Standing, Told};
use super::table::{DocumentRow, IndexedVersion, is_settled};
use super::texts::{Common, SWEEP_AT_LEAST, Texts};

pub use checkpoint::CheckpointFile;

/// Rows that are looked at before others are let have the table.
pub(super) const ROWS_AT_ONCE: usize = 10_000;

/// Documents that are kept out of one search by name.
const MOST_WITHHELD: usize = 10_000;

/// Rows by document id.
#[derive(Debug, Default)]
pub(super) struct Rows {
    packed: BTreeMap<Box<str>, Box<Packed>>,
    shared: Shared,
    counts: Counts,
    /// Those whose last report alone does not say what the row says.
    unsaid: BTreeSet<Box<str>>,
    /// Those whose newest rights are on their way and others than those of what is found.
    changing: BTreeSet<Box<str>>,
    /// How many documents each one's chunks stand for beside itself.
    stood_for: HashMap<Box<str>, usize>,
    /// Newest versions that passed ingest, of documents whose reports are yet to be read: those lie in
    /// another partition.
    early: BTreeMap<Box<str>, u64>,
}

/// How many documents there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub documents: u64,
    /// Those of which a version can be found, whatever became of the newest one.
    pub searchable: u64,
    /// By what the last attempt did, in the order of [`State::ALL`].
    pub states: [u64; State::ALL.len()],
    /// Those whose newest rights are on their way to the index.
    pub(super) with_rights_on_the_way: u64,
}

/// What a list looks at in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glance<'a> {
    pub document_id: &'a str,
    pub state: State,
    pub source: &'a str,
    pub source_path: &'a str,
    pub title: &'a str,
    pub at_ms: i64,
    pub is_searchable: bool,
    pub is_degraded: bool,
    /// Of the newest report.
    pub reason: Option<&'a str>,
    /// Since when, where reports say it.
    pub indexed_at_ms: Option<i64>,
    /// Of what is indexed, as far as they are known.
    pub labels: Option<&'a Labels>,
    /// Who may see it, by the newest report.
    pub standing: Standing<'a>,
    before: Option<&'a Packed>,
}

impl<'a> Glance<'a> {
    /// What somebody sees who is told so much.
    pub fn told(self, told: Told) -> Self {
        let report = match self.before.filter(|_| !told.is_newest) {
            Some(before) => Self {
                is_searchable: self.is_searchable,
                labels: self.labels,
                indexed_at_ms: self.indexed_at_ms,
                standing: self.standing,
                ..before.glance(self.document_id)
            },
            None => self,
        };
        match told.is_found {
            true => report,
            false => Self {
                is_searchable: false,
                labels: None,
                indexed_at_ms: None,
                ..report
            },
        }
    }
}

/// Values that many rows have.
#[derive(Debug, Default)]
struct Shared {
    texts: Texts,
    stages: Common<[Arc<str>]>,
    labels: Common<Labels>,
    rights: Common<DocumentRights>,
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
    indexed: Option<Indexed>,
    fingerprint: Arc<str>,
    reason: Option<Box<str>>,
    source: Arc<str>,
    source_path: Box<str>,
    title: Box<str>,
    lineage: Option<Arc<Lineage>>,
    rights: Option<Arc<DocumentRights>>,
    published_rights: Option<Arc<DocumentRights>>,
    /// The last report of which rights were decided, where the newest is none.
    before: Option<Box<Packed>>,
    /// Names of the stages that finished with it, and when each did.
    stages: Arc<[Arc<str>]>,
    times: Box<[i64]>,
}

/// The version that is indexed.
#[derive(Debug)]
struct Indexed {
    version: u64,
    /// [`UNKNOWN_TIME`] where it is not known.
    at_ms: i64,
    chunks: u32,
    is_aside: bool,
    fingerprint: Arc<str>,
    labels: Option<Arc<Labels>>,
    rights: Option<Arc<DocumentRights>>,
}

/// Since when a version is indexed, where reports of before do not say it.
const UNKNOWN_TIME: i64 = i64::MIN;

impl Counts {
    fn add(&mut self, packed: &Packed) {
        self.documents += 1;
        self.searchable += u64::from(packed.is_searchable());
        self.states[packed.state as usize] += 1;
        self.with_rights_on_the_way += u64::from(packed.may_withhold());
    }

    fn remove(&mut self, packed: &Packed) {
        self.documents -= 1;
        self.searchable -= u64::from(packed.is_searchable());
        self.states[packed.state as usize] -= 1;
        self.with_rights_on_the_way -= u64::from(packed.may_withhold());
    }

    /// One more document, as a list sees it.
    pub(super) fn see(&mut self, glance: &Glance<'_>) {
        self.documents += 1;
        self.searchable += u64::from(glance.is_searchable);
        self.states[glance.state as usize] += 1;
    }

    /// Documents in this state.
    pub fn in_state(&self, state: State) -> u64 {
        self.states[state as usize]
    }
}

impl Rows {
    /// One row.
    pub fn get(&self, document_id: &str) -> Option<DocumentRow> {
        self.packed
            .get(document_id)
            .map(|packed| packed.unpack(document_id))
    }

    /// One row, if this holds of where it stands.
    pub fn get_where(
        &self,
        document_id: &str,
        sees: impl FnOnce(Standing<'_>) -> bool,
    ) -> Option<DocumentRow> {
        let packed = self.packed.get(document_id);
        let packed = packed.filter(|packed| sees(packed.standing()))?;
        Some(packed.unpack(document_id))
    }

    /// Whether there is a row of which this holds.
    pub fn has_where(&self, document_id: &str, sees: impl FnOnce(Standing<'_>) -> bool) -> bool {
        let packed = self.packed.get(document_id);
        packed.is_some_and(|packed| sees(packed.standing()))
    }

    /// Whether there is such a row.
    pub fn has(&self, document_id: &str) -> bool {
        self.packed.contains_key(document_id)
    }

    /// Of a document the version of its newest report, the newest that ingest is done with, and the
    /// newest that went past it; 0 where there is none.
    pub fn versions(&self, document_id: &str) -> (u64, u64, u64) {
        self.packed.get(document_id).map_or((0, 0, 0), |packed| {
            (packed.version, packed.taken, packed.passed)
        })
    }

    /// What is known of a document beside the version that was read from the index.
    pub fn beside(&self, document_id: &str, version: u64) -> Newer {
        let packed = self.packed.get(document_id);
        packed.map_or(Newer::Nothing, |packed| packed.beside(version))
    }

    /// Whether there is any document whose newest rights are on their way to the index.
    pub fn has_rights_on_the_way(&self) -> bool {
        self.counts.with_rights_on_the_way > 0
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

    /// Calls `look` for the next `rows` rows by document id, those after `document_id`; returns the
    /// last one's id, none at the end.
    pub fn glance(
        &self,
        document_id: Option<&str>,
        rows: usize,
        mut look: impl FnMut(Glance<'_>),
    ) -> Option<Box<str>> {
        let mut last = None;
        for (id, packed) in self.packed_after(document_id).take(rows) {
            look(packed.glance(id));
            last = Some(id);
        }
        last.map(Box::from)
    }

    /// Takes over what the index has of a document, unless a report has said it meanwhile.
    pub fn set_labels(&mut self, document_id: &str, labels: &Labels) {
        let Some(indexed) = self
            .packed
            .get_mut(document_id)
            .and_then(|packed| packed.indexed.as_mut())
        else {
            return;
        };
        let is_known = |known: &Arc<Labels>| known.generation == labels.generation;
        if !indexed.labels.as_ref().is_some_and(is_known) {
            indexed.labels = Some(self.shared.labels.share_with(labels, kept));
        }
    }

    /// Puts a row in the place of the one with its id.
    pub fn set(&mut self, row: DocumentRow) {
        let document_id = row.latest.document_id.clone().into_boxed_str();
        let packed = Box::new(self.shared.pack(row));
        self.note(&document_id, &packed);
        if let Some(replaced) = self.packed.insert(document_id, packed) {
            self.counts.remove(&replaced);
            self.let_go(&replaced);
        }
    }

    /// A version of this document passed ingest.
    pub fn note_passed(&mut self, document_id: &str, version: u64) {
        if let Some(packed) = self.packed.get_mut(document_id) {
            packed.passed = packed.passed.max(version);
            packed.taken = packed.taken.max(version);
            return;
        }
        let newest = self.early.entry(document_id.into()).or_default();
        *newest = version.max(*newest);
    }

    /// What was noted of a document before there was a row of it; 0 if nothing was.
    pub fn passed_early(&mut self, document_id: &str) -> u64 {
        self.early.remove(document_id).unwrap_or_default()
    }

    /// Counts a row that is there from now on.
    fn note(&mut self, document_id: &str, packed: &Packed) {
        self.counts.add(packed);
        if packed.changes_rights() {
            self.changing.insert(document_id.into());
        } else {
            self.changing.remove(document_id);
        }
        if let Some(owner) = packed.stored_with() {
            *self.stood_for.entry(owner.into()).or_default() += 1;
        }
    }

    fn let_go(&mut self, replaced: &Packed) {
        let owner = replaced.stored_with().unwrap_or_default();
        if let Some(count) = self.stood_for.get_mut(owner) {
            *count -= 1;
            if *count == 0 {
                self.stood_for.remove(owner);
            }
        }
    }

    /// Documents that the index finds for a viewer although a newer version refuses them, at most
    /// [`MOST_WITHHELD`]. Not those whose chunks stand for others too, which may still be seen.
    pub fn withheld(&self, viewer: &Viewer) -> Vec<String> {
        let is_withheld = |document_id: &str| {
            let packed = self.packed.get(document_id);
            packed.is_some_and(|packed| packed.is_withheld(viewer))
                && !self.stood_for.contains_key(document_id)
        };
        let changing = self.changing.iter().map(|document_id| &**document_id);
        let withheld = changing.filter(|document_id| is_withheld(document_id));
        withheld.take(MOST_WITHHELD).map(str::to_owned).collect()
    }

    /// Whether the last report of a document alone says what its row says.
    pub fn note_said(&mut self, document_id: &str, says_all: bool) {
        if says_all {
            self.unsaid.remove(document_id);
        } else if !self.unsaid.contains(document_id) {
            self.unsaid.insert(document_id.into());
        }
    }

    /// Documents whose last report alone does not say what their row says, at most `limit`.
    pub fn unsaid(&self, limit: usize) -> Vec<String> {
        let documents = self.unsaid.iter().take(limit);
        documents
            .map(|document_id| document_id.to_string())
            .collect()
    }

    /// How many rows there are.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

fn kept(labels: &Labels) -> Arc<Labels> {
    Arc::new(labels.clone())
}

impl Shared {
    fn pack(&mut self, row: DocumentRow) -> Packed {
        let latest = row.latest;
        let fingerprint: Arc<str> = latest.fingerprint.into();
        let before = row.before.map(|before| {
            Box::new(self.pack(DocumentRow {
                latest: *before,
                before: None,
                indexed: None,
                passed: 0,
                taken: 0,
            }))
        });
        let (stages, times) = self.timeline(latest.timeline);
        Packed {
            version: latest.version,
            at_ms: latest.at_ms,
            passed: row.passed,
            taken: row.taken,
            chunks: latest.chunks,
            state: latest.state,
            indexed_version: latest.indexed_version,
            indexed: row
                .indexed
                .map(|indexed| self.indexed(indexed, &fingerprint)),
            before,
            fingerprint,
            reason: latest.reason.map(String::into_boxed_str),
            source: self.texts.share(&latest.source),
            source_path: latest.source_path.into_boxed_str(),
            title: latest.title.into_boxed_str(),
            lineage: latest.lineage.map(|lineage| self.lineage(lineage)),
            rights: latest.rights.map(|rights| self.rights(&rights)),
            published_rights: latest.published_rights.map(|rights| self.rights(&rights)),
            stages,
            times,
        }
    }

    fn rights(&mut self, rights: &DocumentRights) -> Arc<DocumentRights> {
        let keep = |rights: &DocumentRights| Arc::new(rights.clone());
        self.rights.share_with(rights, keep)
    }

    fn indexed(&mut self, indexed: IndexedVersion, newest: &Arc<str>) -> Indexed {
        let fingerprint = if **newest == *indexed.fingerprint {
            Arc::clone(newest)
        } else {
            indexed.fingerprint.into()
        };
        let rights = indexed.rights.as_ref();
        let labels = indexed.labels.as_ref();
        Indexed {
            version: indexed.version,
            at_ms: indexed.at_ms.unwrap_or(UNKNOWN_TIME),
            chunks: indexed.chunks,
            is_aside: indexed.is_aside,
            fingerprint,
            labels: labels.map(|labels| self.labels.share_with(labels, kept)),
            rights: rights.map(|rights| self.rights(rights)),
        }
    }

    /// Nearly all documents went through the same stages.
    fn timeline(&mut self, timeline: Vec<StageTime>) -> (Arc<[Arc<str>]>, Box<[i64]>) {
        let times = timeline.iter().map(|time| time.at_ms).collect();
        let stages: Vec<Arc<str>> = timeline
            .iter()
            .map(|time| self.texts.share(&time.stage))
            .collect();
        (self.stages.share(&stages), times)
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
    /// `None` where the index has the newest version, or nothing of the document any more.
    fn rights_on_the_way(&self) -> Option<&Arc<DocumentRights>> {
        let is_settled = is_settled(self.state, self.indexed_version);
        self.newest_rights().filter(|_| !is_settled)
    }

    /// Whether the index may have what the newest rights withhold. It has nothing of a document of
    /// which no version was ever found and the newest was given up.
    fn may_withhold(&self) -> bool {
        let is_nowhere = self.state == State::Dead && self.indexed.is_none();
        !is_nowhere && self.rights_on_the_way().is_some()
    }

    fn newest_rights(&self) -> Option<&Arc<DocumentRights>> {
        self.rights.as_ref().or(self.published_rights.as_ref())
    }

    /// Whether the newest rights are on their way, and others than those of what is found.
    fn changes_rights(&self) -> bool {
        let found = self.found().map(|indexed| &indexed.rights);
        let newest = self.rights_on_the_way();
        newest.is_some() && found.is_some_and(|found| found.as_ref() != newest)
    }

    /// Whether a viewer may see what is found, and not by what is on its way.
    fn is_withheld(&self, viewer: &Viewer) -> bool {
        let newest = self.rights_on_the_way().map(|newest| &**newest);
        let found = self.found().and_then(|indexed| indexed.rights.as_deref());
        viewer.sees_rights(found) && !viewer.sees_before(found, newest)
    }

    /// The document whose chunks stand for this one's.
    fn stored_with(&self) -> Option<&str> {
        let decided = self.before.as_deref().unwrap_or(self);
        let reason = decided.reason.as_deref();
        reason.and_then(|reason| reason.strip_prefix(DocumentState::STORED_ONCE))
    }

    fn beside(&self, version: u64) -> Newer {
        let is_newer = self.version > version;
        if is_newer && self.state == State::Deleted {
            return Newer::Deletion;
        }
        let rights = match is_newer {
            true => self.newest_rights(),
            false => self.rights_on_the_way(),
        };
        rights.map_or(Newer::Nothing, |rights| Newer::Rights(Arc::clone(rights)))
    }

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
                .stages
                .iter()
                .zip(&self.times)
                .map(|(stage, at_ms)| StageTime {
                    stage: stage.to_string(),
                    at_ms: *at_ms,
                })
                .collect(),
            at_ms: self.at_ms,
            indexed_version: self.indexed_version,
            indexed_at_ms: None,
            labels: None,
            rights: self.rights.as_deref().cloned(),
            published_rights: self.published_rights.as_deref().cloned(),
            indexed_rights: None,
            before: None,
        };
        let indexed = self.indexed.as_ref().map(Indexed::unpack);
        let before = self.before.as_ref();
        DocumentRow {
            latest,
            before: before.map(|before| Box::new(before.unpack(document_id).latest)),
            indexed,
            passed: self.passed,
            taken: self.taken,
        }
    }

    fn glance<'a>(&'a self, document_id: &'a str) -> Glance<'a> {
        let labels = self
            .indexed
            .as_ref()
            .and_then(|indexed| indexed.labels.as_deref());
        Glance {
            document_id,
            state: self.state,
            source: &self.source,
            source_path: &self.source_path,
            title: &self.title,
            at_ms: self.at_ms,
            is_searchable: self.is_searchable(),
            is_degraded: self.is_degraded(),
            reason: self.reason.as_deref(),
            indexed_at_ms: self.indexed.as_ref().and_then(Indexed::since),
            labels,
            standing: self.standing(),
            before: self.before.as_deref(),
        }
    }

    fn standing(&self) -> Standing<'_> {
        Standing {
            source: &self.source,
            rights: self.rights.as_deref(),
            published: self.published_rights.as_deref(),
            before: (self.before.as_ref()).and_then(|before| before.rights.as_deref()),
            found: self.found().and_then(|indexed| indexed.rights.as_deref()),
        }
    }

    /// Whether something was done in a lesser way than configured.
    fn is_degraded(&self) -> bool {
        let lineage = self.lineage.as_ref();
        lineage.is_some_and(|lineage| !lineage.degraded.is_empty())
    }

    fn is_searchable(&self) -> bool {
        self.found().is_some()
    }

    /// The version that questions find.
    fn found(&self) -> Option<&Indexed> {
        self.indexed.as_ref().filter(|indexed| !indexed.is_aside)
    }
}

impl Indexed {
    fn since(&self) -> Option<i64> {
        (self.at_ms != UNKNOWN_TIME).then_some(self.at_ms)
    }

    fn unpack(&self) -> IndexedVersion {
        IndexedVersion {
            version: self.version,
            at_ms: Some(self.at_ms).filter(|at_ms| *at_ms != UNKNOWN_TIME),
            chunks: self.chunks,
            is_aside: self.is_aside,
            fingerprint: self.fingerprint.to_string(),
            labels: self.labels.as_deref().cloned(),
            rights: self.rights.as_deref().cloned(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::Access;

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
                indexed_at_ms: None,
                labels: None,
                rights: Some(DocumentRights {
                    access: Some(Access {
                        groups: Some(vec!["radio".into()]),
                        users: None,
                    }),
                    security_level: 2,
                    section_levels: Vec::new(),
                }),
                published_rights: None,
                indexed_rights: None,
                before: None,
            },
            before: None,
            indexed: Some(IndexedVersion {
                version: 6,
                at_ms: Some(4),
                chunks: 3,
                is_aside: false,
                fingerprint: "f".into(),
                labels: Some(Labels {
                    generation: "g1".into(),
                    tags: vec!["radio".into()],
                    knowledge_sets: vec!["common".into()],
                }),
                rights: Some(DocumentRights::default()),
            }),
            passed: 6,
            taken: 7,
        };
        let mut rows = Rows::default();
        rows.set(row("x"));
        rows.set(row("y"));
        assert_eq!(rows.get("x").unwrap(), row("x"));
        assert_eq!(rows.after(Some("x")).collect::<Vec<_>>(), [row("y")]);
        let shared = &rows.shared;
        assert_eq!(
            [
                shared.lineages.len(),
                shared.texts.len(),
                shared.stages.len(),
                shared.labels.len(),
                shared.rights.len(),
            ],
            [1, 2, 1, 1, 2]
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
                before: None,
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
