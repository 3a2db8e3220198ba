//! Reports that can be gone on with: what was kept of one is looked up before the work, and who asks
//! for one that is being written reads along.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tributary_retrieval::{Principal, ReportKeeper};
use tributary_schemas::ask::{AskRequest, Workflow};
use tributary_schemas::report::KeptReport;
use tributary_store::conversations::ReportBeginning;

use super::run::Run;
use super::{Asking, owner};
use crate::http::conversations::of_conversation;
use crate::problem::Problem;
use crate::trace_id;

type Key = (Option<String>, String);

/// The runs that write a report, by its owner and id.
#[derive(Default)]
pub struct Writing(Mutex<HashMap<Key, Weak<Run>>>);

impl Writing {
    /// The run that writes the report, if one does.
    pub fn running(&self, principal: &Principal, id: &str) -> Option<Arc<Run>> {
        going_on(self.lock().get(&key(principal, id))?)
    }

    /// Notes that the run writes the report; gives the one that does already, if there is one.
    pub fn begin(&self, principal: &Principal, id: &str, run: &Arc<Run>) -> Option<Arc<Run>> {
        let mut writing = self.lock();
        writing.retain(|_, run| going_on(run).is_some());
        let key = key(principal, id);
        if let Some(running) = writing.get(&key).and_then(going_on) {
            return Some(running);
        }
        writing.insert(key, Arc::downgrade(run));
        None
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Weak<Run>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(principal: &Principal, id: &str) -> Key {
    (owner(principal).map(str::to_owned), id.to_owned())
}

fn going_on(run: &Weak<Run>) -> Option<Arc<Run>> {
    run.upgrade().filter(|run| run.over_for().is_none())
}

impl Asking {
    /// What is kept of a report: its request, plan and sections. `not_found` for one that nobody
    /// began, or that was not changed for so long that it is forgotten; `conflict` where a document
    /// that it was begun with is gone or may not be seen any more.
    pub async fn kept_report(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<KeptReport, Problem> {
        let kept = self.conversations.report(owner(principal), id).await?;
        if let Some(plan) = &kept.plan {
            let filter = &kept.request.filter;
            self.asker.check_plan(plan, filter, principal).await?;
        }
        Ok(kept)
    }

    /// Where a report is kept; `None` for other answers. `conflict` where its id stands for another
    /// request.
    pub(super) async fn keeper(
        &self,
        request: &AskRequest,
        fingerprint: &str,
        principal: &Principal,
    ) -> Result<Option<ReportKeeper>, Problem> {
        if self.asker.workflow(request) != Workflow::Report {
            return Ok(None);
        }
        let given = request.report_id.clone();
        let id = given.unwrap_or_else(trace_id::new_trace_id);
        let beginning = ReportBeginning {
            request: AskRequest {
                report_id: Some(id.clone()),
                ..request.clone()
            },
            fingerprint: fingerprint.to_owned(),
            id,
        };
        let owner = owner(principal);
        let kept = self.conversations.begin_report(owner, beginning).await;
        let kept = kept.map_err(of_conversation)?;
        let store = Arc::clone(&self.conversations);
        Ok(Some(ReportKeeper::new(store, owner, kept)))
    }
}
