//! Reports that can be gone on with, in the cluster: one document each.

use async_trait::async_trait;
use serde_json::{Value, json};
use tributary_schemas::report::{KeptReport, ReportPart};
use tributary_schemas::{Error, Result};

use super::cluster::{Guard, Search, Stored};
use super::records::ReportRecord;
use super::{ATTEMPTS, ElasticsearchConversations, SWEPT_AT_ONCE, too_busy};
use crate::conversations::{ReportBeginning, ReportStore, rules};

impl ElasticsearchConversations {
    async fn stored_report(
        &self,
        owner: Option<&str>,
        id: &str,
    ) -> Result<Option<Stored<ReportRecord>>> {
        let id = ReportRecord::id_of(owner, id);
        self.cluster.get(&self.cluster.names.reports, &id).await
    }

    /// Removes the reports of a conversation.
    pub(super) async fn remove_reports_of(&self, conversation: &str) -> Result<()> {
        let of_conversation = json!([{"term": {"conversation": conversation}}]);
        self.remove_reports(&of_conversation).await.map(drop)
    }

    async fn remove_reports(&self, filter: &Value) -> Result<u64> {
        let name = &self.cluster.names.reports;
        let mut gone = 0;
        loop {
            let search = Search {
                filter: filter.clone(),
                sort: json!([{"updated_at_ms": "asc"}]),
                after: None,
                limit: SWEPT_AT_ONCE,
            };
            let found: Vec<ReportRecord> = self.cluster.search(name, search).await?;
            if found.is_empty() {
                return Ok(gone);
            }
            for report in &found {
                self.cluster.remove(name, &report.id).await?;
                gone += 1;
            }
        }
    }
}

#[async_trait]
impl ReportStore for ElasticsearchConversations {
    async fn begin_report(
        &self,
        owner: Option<&str>,
        beginning: ReportBeginning,
    ) -> Result<KeptReport> {
        rules::check_report_id(&beginning.id)?;
        let name = &self.cluster.names.reports;
        for _ in 0..ATTEMPTS {
            if let Some(stored) = self.stored_report(owner, &beginning.id).await? {
                let known = &stored.source.fingerprint;
                rules::check_same_report(&beginning.id, known, &beginning.fingerprint)?;
                return Ok(stored.source.kept);
            }
            if let Some(conversation) = &beginning.request.conversation_id {
                self.read(owner, conversation).await?;
            }
            let record = ReportRecord::new(owner, &beginning, self.now_ms());
            let is_first = self
                .cluster
                .put(name, &record.id, Guard::Absent, &record)
                .await?;
            if is_first {
                return Ok(record.kept);
            }
        }
        Err(too_busy())
    }

    async fn report(&self, owner: Option<&str>, id: &str) -> Result<KeptReport> {
        let found = self.stored_report(owner, id).await?;
        let found = found.map(|found| found.source.kept);
        found.ok_or_else(|| rules::no_report(id))
    }

    async fn keep_report_part(
        &self,
        owner: Option<&str>,
        id: &str,
        part: ReportPart,
    ) -> Result<()> {
        let name = &self.cluster.names.reports;
        for _ in 0..ATTEMPTS {
            let stored = self.stored_report(owner, id).await?;
            let stored = stored.ok_or_else(|| rules::no_report(id))?;
            let mut changed = stored.source.clone();
            if !add(&mut changed.kept, part.clone())? {
                return Ok(());
            }
            changed.touch(self.now_ms());
            let guard = stored.unchanged();
            if self.cluster.put(name, &changed.id, guard, &changed).await? {
                return Ok(());
            }
        }
        Err(too_busy())
    }

    async fn delete_report(&self, owner: Option<&str>, id: &str) -> Result<()> {
        self.report(owner, id).await?;
        let id = ReportRecord::id_of(owner, id);
        let name = &self.cluster.names.reports;
        self.cluster.remove(name, &id).await
    }

    async fn sweep_reports(&self, kept_since_ms: u64) -> Result<u64> {
        let old = json!([{"range": {"updated_at_ms": {"lt": kept_since_ms}}}]);
        self.remove_reports(&old).await
    }
}

/// Whether the part is new. `Conflict` for another plan.
fn add(kept: &mut KeptReport, part: ReportPart) -> std::result::Result<bool, Error> {
    match part {
        ReportPart::Plan(_) if kept.plan.is_some() => Err(rules::is_planned(&kept.id)),
        ReportPart::Plan(plan) => {
            kept.plan = Some(plan);
            Ok(true)
        }
        ReportPart::Section(section) => {
            let number = section.section.number;
            let numbers = |known: &tributary_schemas::report::KeptSection| known.section.number;
            match kept.sections.binary_search_by_key(&number, numbers) {
                Ok(place) => match kept.sections.get_mut(place) {
                    Some(known) if known.section.failure.is_some() => {
                        *known = *section;
                        Ok(true)
                    }
                    _ => Ok(false),
                },
                Err(place) => {
                    kept.sections.insert(place, *section);
                    Ok(true)
                }
            }
        }
    }
}
