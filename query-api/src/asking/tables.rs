//! Questions to tables take a place among the questions, have their time, and leave a line in the
//! audit, as all questions do.

use tributary_retrieval::{Asker, Principal};
use tributary_schemas::table_query::{TableAnswer, TableQueryRequest};

use super::Asking;
use crate::audit;
use crate::problem::{Code, Problem};

impl Asking {
    /// Answers questions.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Asks tables; what happens to a question that is too much or too slow happens to this one.
    pub async fn query_tables(
        &self,
        request: &TableQueryRequest,
        principal: &Principal,
    ) -> Result<TableAnswer, Problem> {
        audit::asks(&request.question, &request.filter);
        let Ok(_place) = self.places.try_acquire() else {
            self.metrics.observe_shed("question");
            let what = "too many questions are being answered already";
            return Err(Problem::new(Code::Overloaded, what)
                .with_hint("ask again after the time in Retry-After"));
        };
        let longest = self.config.timeout();
        let asking = self.asker.query_tables(request, principal);
        let Ok(answered) = tokio::time::timeout(longest, asking).await else {
            let what = format!(
                "the tables did not answer within {} ms",
                longest.as_millis()
            );
            return Err(Problem::new(Code::Timeout, what)
                .with_hint("ask something simpler, or raise `query_api.ask.timeout_ms`"));
        };
        let answer = answered?;
        self.check_leaving(&answer, principal).await?;
        let documents: Vec<&str> = answer
            .tables
            .iter()
            .map(|table| table.document_id.as_str())
            .collect();
        tracing::info!(
            target: "tributary::audit",
            principal = ?principal,
            sets = ?request.filter.knowledge_sets,
            code = answer.err_code,
            documents = ?documents,
            took_ms = answer.took_ms,
            "tables"
        );
        Ok(answer)
    }
}
