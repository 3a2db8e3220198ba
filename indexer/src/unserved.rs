//! Reports of documents that were written to a generation that does not serve queries. A producer
//! who reads `indexed` searches, so that is said only of what queries find.
//!
//! Where several generations exist, a document's record comes once for each. The one for the
//! serving generation is reported by itself. The others are looked up in the serving generation
//! after their own flush: what is there is reported, what is not there yet is reported
//! by the record that brings it. So whichever comes last reports, also where another generation was
//! promoted, or theirs dropped, in between.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tributary_schemas::{DocumentState, Labels, Result, State};
use tributary_store::search_index::{IndexedDocument, SharedSearchIndex};

use crate::index_stage::{is_gone, no_generation};

/// Reports that wait for a look at the serving generation.
pub struct UnservedReports {
    index: SharedSearchIndex,
    waiting: Mutex<Vec<DocumentState>>,
}

impl UnservedReports {
    /// None yet.
    pub fn new(index: SharedSearchIndex) -> Self {
        Self {
            index,
            waiting: Mutex::default(),
        }
    }

    /// What a record of another generation became.
    pub fn wait(&self, report: Option<DocumentState>) {
        self.waiting().extend(report);
    }

    /// The reports that are true of the serving generation; the others are left to its own records.
    /// After an error they wait on. `serving` names the serving generation as it was known before.
    pub async fn served(&self, serving: Option<&str>) -> Result<Vec<DocumentState>> {
        let mut reports = std::mem::take(&mut *self.waiting());
        if reports.is_empty() {
            return Ok(reports);
        }
        let ids: Vec<String> = reports
            .iter()
            .map(|report| report.document_id.clone())
            .collect();
        match self.index.documents(None, &ids).await {
            Ok(stored) => Ok(reports
                .into_iter()
                .zip(stored)
                .filter_map(|(report, stored)| as_served(report, &stored?, serving))
                .collect()),
            Err(error) => {
                self.waiting().append(&mut reports);
                Err(if is_gone(&error) {
                    no_generation()
                } else {
                    error
                })
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<DocumentState>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The report as far as it holds of what is stored, with the tags and knowledge sets that are
/// stored there: those that it brought are of its own generation.
fn as_served(
    report: DocumentState,
    stored: &IndexedDocument,
    serving: Option<&str>,
) -> Option<DocumentState> {
    let labels = serving.map(|serving| Labels::of(&stored.document, serving));
    is_true(&report, stored).then_some(DocumentState { labels, ..report })
}

/// Whether a report holds of what is stored. Of a document that steps aside there, whoever put it
/// aside has said so.
fn is_true(report: &DocumentState, stored: &IndexedDocument) -> bool {
    let is_aside =
        stored.document.duplicate_of.is_some() || stored.document.superseded_by.is_some();
    let is_as_said = stored.deleted == (report.state == State::Deleted);
    stored.document.version == report.version && is_as_said && !is_aside
}
