//! What is kept of a report while it is written: its plan, and each section when it has ended. Who
//! goes on with the report pays for no section twice.

use std::fmt;

use tributary_schemas::report::{KeptReport, KeptSection, ReportPart, ReportPlan};
use tributary_schemas::{Error, ErrorKind, Filter};
use tributary_store::conversations::SharedConversations;

use crate::Principal;
use crate::error::SearchError;
use crate::made_of::MadeOf;
use crate::workflows::Asker;

impl Asker {
    /// `Conflict` where a document that the report was begun with has been deleted or closed to who
    /// asks since.
    pub async fn check_plan(
        &self,
        plan: &ReportPlan,
        filter: &Filter,
        principal: &Principal,
    ) -> Result<(), SearchError> {
        let of_documents = plan.sources.iter().filter(|source| source.live.is_none());
        let mut made_of = MadeOf::default();
        of_documents.for_each(|source| made_of.add_chunk(&source.document_id, source.chunk_id));
        let retriever = &self.parts.retriever;
        if retriever
            .may_still_leave(&made_of, filter, principal)
            .await?
        {
            return Ok(());
        }
        let what = "a document that the report was begun with has been deleted, or may not be seen any more";
        Err(Error::new(ErrorKind::Conflict, what)
            .with_hint("ask for the report anew, under another report_id")
            .into())
    }
}

/// Where a report is kept, and what of it was there when it was asked for.
#[derive(Clone)]
pub struct ReportKeeper {
    store: SharedConversations,
    owner: Option<String>,
    kept: KeptReport,
}

impl fmt::Debug for ReportKeeper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ReportKeeper");
        shown.field("id", &self.kept.id).finish_non_exhaustive()
    }
}

impl ReportKeeper {
    /// Of a report that was begun in the store.
    pub fn new(store: SharedConversations, owner: Option<&str>, kept: KeptReport) -> Self {
        Self {
            store,
            owner: owner.map(str::to_owned),
            kept,
        }
    }

    /// Of the report.
    pub fn id(&self) -> &str {
        &self.kept.id
    }

    /// What was planned and found.
    pub fn plan(&self) -> Option<&ReportPlan> {
        self.kept.plan.as_deref()
    }

    /// The section of this number, unless writing it failed.
    pub fn section(&self, number: usize) -> Option<&KeptSection> {
        let mut sections = self.kept.sections.iter();
        sections.find(|kept| kept.section.number == number && kept.section.failure.is_none())
    }

    /// Keeps a part. `false` where that failed: the report is written all the same.
    pub async fn keep(&self, part: ReportPart) -> bool {
        let kept = self
            .store
            .keep_report_part(self.owner.as_deref(), &self.kept.id, part)
            .await;
        if let Err(error) = &kept {
            tracing::warn!(report = self.kept.id, %error, "a part of a report is not kept");
        }
        kept.is_ok()
    }
}
