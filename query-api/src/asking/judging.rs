//! Judging answers of students, and explaining questions: within the same places, time and audit as
//! questions that are answered.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tributary_retrieval::{Principal, SearchError};
use tributary_schemas::ask::Source;
use tributary_schemas::judging::{Explanation, Judgement, QuestionToJudge};

use super::Asking;
use crate::audit;
use crate::problem::{Code, Problem};
use crate::trace_id;

impl Asking {
    /// Judges a student's answer. A problem before any work for a question that contradicts itself.
    pub async fn judge(
        &self,
        request: QuestionToJudge,
        principal: Principal,
    ) -> Result<Judgement, Problem> {
        let request = checked(request)?;
        audit::asks(&request.question, &request.filter);
        let _place = self.place()?;
        let asker = Arc::clone(&self.asker);
        let judged = self.in_time(asker.judge(&request, &principal)).await?;
        self.check_leaving(&judged, &principal).await?;
        self.audit_judged("judge", &request, &principal, &judged.sources);
        Ok(judged)
    }

    /// Explains a question. A problem as [`Self::judge`].
    pub async fn explain(
        &self,
        request: QuestionToJudge,
        principal: Principal,
    ) -> Result<Explanation, Problem> {
        let request = checked(request)?;
        audit::asks(&request.question, &request.filter);
        let _place = self.place()?;
        let asker = Arc::clone(&self.asker);
        let explained = self.in_time(asker.explain(&request, &principal)).await?;
        self.check_leaving(&explained, &principal).await?;
        self.audit_judged("explain", &request, &principal, &explained.sources);
        Ok(explained)
    }

    fn place(&self) -> Result<SemaphorePermit<'_>, Problem> {
        self.places.try_acquire().map_err(|_| {
            self.metrics.observe_shed("question");
            let what = "too many questions are being answered already";
            Problem::new(Code::Overloaded, what)
                .with_hint("ask again after the time in Retry-After")
        })
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, SearchError>>,
    ) -> Result<T, Problem> {
        let most = self.config.timeout_ms;
        match tokio::time::timeout(Duration::from_millis(most), work).await {
            Ok(done) => done.map_err(Problem::from),
            Err(_) => {
                let what = format!("the question was not judged after {most} ms");
                Err(Problem::new(Code::Timeout, what)
                    .with_hint("ask again, or raise query_api.ask.timeout_ms"))
            }
        }
    }

    /// Who had what judged and which documents were shown: no text of question or answer.
    fn audit_judged(
        &self,
        workflow: &str,
        request: &QuestionToJudge,
        principal: &Principal,
        sources: &[Source],
    ) {
        let documents: Vec<&str> = sources
            .iter()
            .map(|source| source.document_id.as_str())
            .collect();
        tracing::info!(
            target: "tributary::audit",
            question = trace_id::new_trace_id(),
            principal = ?principal,
            workflow,
            sets = ?request.filter.knowledge_sets,
            documents = ?documents,
            "question"
        );
    }
}

/// One place for the knowledge sets.
fn checked(mut request: QuestionToJudge) -> Result<QuestionToJudge, Problem> {
    if let Some(sets) = request.knowledge_sets.take() {
        if request.filter.knowledge_sets.is_some() {
            let what = "`knowledge_sets` and `filter.knowledge_sets` are both given";
            return Err(Problem::new(Code::Invalid, what).with_hint("leave one of them out"));
        }
        request.filter.knowledge_sets = Some(sets);
    }
    Ok(request)
}
