//! Answers of before, shown again: those that were made of a document that the caller may not see
//! any more are withheld, questions are not.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tributary_retrieval::{Principal, Retriever};
use tributary_schemas::ask::AskFailure;
use tributary_schemas::conversation::{Turn, TurnState};
use tributary_schemas::{Error, ErrorKind, Filter, Result};

use super::caller::Caller;
use crate::audit::{self, Trail};
use crate::server::ServerState;

/// Decides what of kept answers somebody is shown.
pub struct Withholding {
    retriever: Arc<Retriever>,
    principal: Principal,
    /// Of the call that is shown them.
    trail: Trail,
}

impl Withholding {
    /// For a principal.
    pub fn new(retriever: Arc<Retriever>, principal: Principal) -> Self {
        Self {
            retriever,
            principal,
            trail: audit::current(),
        }
    }

    /// For who calls.
    pub fn of(state: &ServerState, caller: &Caller) -> Self {
        Self::new(Arc::clone(&state.retriever), caller.principal.clone())
    }

    /// Whose conversations are meant.
    pub fn owner(&self) -> Option<&str> {
        self.principal.owner.as_deref()
    }

    /// The turns as the caller may see them now.
    pub async fn shown(&self, mut turns: Vec<Turn>) -> Result<Vec<Turn>> {
        for turn in &mut turns {
            if self.withholds(turn).await? {
                turn.answer = None;
                turn.state = TurnState::Failed;
                turn.failure = Some(withheld());
            }
        }
        self.trail.answers_with(&turns);
        Ok(turns)
    }

    /// Whether the answer of a turn is made of something that the caller may not see any more.
    pub async fn withholds(&self, turn: &Turn) -> Result<bool> {
        match &turn.answer {
            Some(answer) => self.withholds_what_names(answer).await,
            None => Ok(false),
        }
    }

    /// Whether something names a document that the caller may not see any more, wherever in it.
    pub async fn withholds_what_names(&self, said: &impl Serialize) -> Result<bool> {
        if self.principal.viewer.is_none() {
            return Ok(false);
        }
        let documents = documents(said)?;
        if documents.is_empty() {
            return Ok(false);
        }
        let everything = Filter::default();
        let may_leave = self
            .retriever
            .may_still_leave(&documents, &everything, &self.principal);
        match may_leave.await {
            Ok(may_leave) => Ok(!may_leave),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(Error::new(error.kind(), error.to_string())),
        }
    }
}

fn withheld() -> AskFailure {
    AskFailure {
        code: "denied".to_owned(),
        detail: "a document that this answer was made of is gone, or may not be seen any more"
            .to_owned(),
        hint: Some("ask the question again".to_owned()),
    }
}

/// Every document that an answer names, wherever: sources, tables, sides, sections. Pages of the
/// web are none.
fn documents(answer: &impl Serialize) -> Result<Vec<String>> {
    let value = serde_json::to_value(answer).map_err(|error| {
        let what = format!("an answer cannot be looked through: {error}");
        Error::new(ErrorKind::Internal, what)
    })?;
    let mut found = BTreeSet::new();
    collect(&value, &mut found);
    Ok(found.into_iter().collect())
}

/// The same for any answer; nothing for what cannot be written.
pub(crate) fn documents_of(answer: &impl Serialize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Ok(value) = serde_json::to_value(answer) {
        collect(&value, &mut found);
    }
    found
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(fields) => {
            let is_live = fields.get("live").is_some_and(Value::is_object);
            match fields.get("document_id") {
                Some(Value::String(id)) if !is_live && !id.is_empty() => {
                    found.insert(id.clone());
                }
                _ => {}
            }
            fields.values().for_each(|value| collect(value, found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_found_wherever_an_answer_names_them() {
        let answer = json!({
            "sources": [{"document_id": "a", "live": null}, {"document_id": "w", "live": {"url": "u"}}],
            "table": {"tables": [{"document_id": "b"}]},
            "sides": [{"sources": [{"document_id": "c", "family": [{"document_id": "d"}]}]}],
            "document_ids": "not one",
        });
        let mut found = BTreeSet::new();
        collect(&answer, &mut found);
        assert_eq!(Vec::from_iter(found), ["a", "b", "c", "d"]);
    }
}
