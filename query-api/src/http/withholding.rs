//! Answers of before, shown again: those that were made of a document that the caller may not see
//! any more are withheld, questions are not.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tributary_retrieval::{MadeOf, Principal, Retriever};
use tributary_schemas::ask::AskFailure;
use tributary_schemas::conversation::{Turn, TurnState};
use tributary_schemas::{Error, ErrorKind, Filter, Result};

use super::caller::Caller;
use crate::audit::{self, Trail};
use crate::server::ServerState;

/// Where near-duplicates of a document are named.
const FAMILY: &str = "family";

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
        if !self.is_needed() {
            return Ok(false);
        }
        let mut made_of = MadeOf::default();
        add_what_names(said, &mut made_of)?;
        self.withholds_made_of(&made_of).await
    }

    /// Whether the caller's rights by document hold: else nothing is withheld.
    pub fn is_needed(&self) -> bool {
        self.principal.viewer.is_some()
    }

    /// Whether one of these documents may not be seen by the caller (any more).
    pub async fn withholds_made_of(&self, made_of: &MadeOf) -> Result<bool> {
        if !self.is_needed() || made_of.is_empty() {
            return Ok(false);
        }
        let everything = Filter::default();
        let may_leave = self
            .retriever
            .may_still_leave(made_of, &everything, &self.principal);
        match may_leave.await {
            Ok(may_leave) => Ok(!may_leave),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(Error::new(error.kind(), error.to_string())),
        }
    }
}

/// What a caller is told in place of an answer.
pub fn withheld() -> AskFailure {
    AskFailure {
        code: "denied".to_owned(),
        detail: "a document that this answer was made of is gone, or may not be seen any more"
            .to_owned(),
        hint: Some("ask the question again".to_owned()),
    }
}

/// Adds every document that an answer names, wherever: sources, tables, sides, sections, and the
/// chunks of it that are named. Pages of the web are none.
pub(crate) fn add_what_names(answer: &impl Serialize, found: &mut MadeOf) -> Result<()> {
    let value = serde_json::to_value(answer).map_err(|error| {
        let what = format!("an answer cannot be looked through: {error}");
        Error::new(ErrorKind::Internal, what)
    })?;
    collect(&value, None, found);
    Ok(())
}

/// The same for any answer; nothing for what cannot be written.
pub(crate) fn documents_of(answer: &impl Serialize) -> BTreeSet<String> {
    let mut found = MadeOf::default();
    if let Ok(value) = serde_json::to_value(answer) {
        collect(&value, None, &mut found);
    }
    found.documents().map(str::to_owned).collect()
}

/// `document` is the one that what stands around the value is of.
fn collect(value: &Value, document: Option<&str>, found: &mut MadeOf) {
    match value {
        Value::Array(values) => values
            .iter()
            .for_each(|value| collect(value, document, found)),
        Value::Object(fields) => {
            let is_live = fields.get("live").is_some_and(Value::is_object);
            let text = |name| fields.get(name).and_then(Value::as_str);
            let own = text("document_id").filter(|id| !is_live && !id.is_empty());
            let document = own.or(document.filter(|_| !is_live));
            match (document, text("chunk_id").map(str::parse)) {
                (Some(document), Some(Ok(chunk))) => found.add_chunk(document, chunk),
                (Some(document), Some(Err(_))) => found.add_whole(document),
                _ => own.into_iter().for_each(|own| found.add_whole(own)),
            }
            for (name, value) in fields {
                match name.as_str() {
                    FAMILY => add_names(value, found),
                    _ => collect(value, document, found),
                }
            }
        }
        _ => {}
    }
}

/// Near-duplicates are named and nothing of them is shown.
fn add_names(family: &Value, found: &mut MadeOf) {
    let members = family.as_array().into_iter().flatten();
    let ids = members.filter_map(|member| member.get("document_id")?.as_str());
    ids.for_each(|id| found.add_name(id));
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tributary_schemas::ChunkId;

    use super::*;

    #[test]
    fn documents_are_found_wherever_an_answer_names_them() {
        let chunk = ChunkId(7).to_string();
        let answer = json!({
            "sources": [{"document_id": "a", "live": null, "chunk_id": chunk}, {"document_id": "w", "live": {"url": "u"}}],
            "table": {"tables": [{"document_id": "b"}]},
            "sides": [{"sources": [{"document_id": "c", "chunk_id": chunk, "parent": {"chunk_id": ChunkId(8).to_string()},
                "family": [{"document_id": "d"}]}]}],
            "odd": {"document_id": "e", "chunk_id": "none"},
            "document_ids": "not one",
        });
        let mut expected = MadeOf::default();
        expected.add_chunk("a", ChunkId(7));
        expected.add_chunk("c", ChunkId(7));
        expected.add_chunk("c", ChunkId(8));
        expected.add_whole("b");
        expected.add_name("d");
        expected.add_whole("e");
        let mut found = MadeOf::default();
        assert_eq!(add_what_names(&answer, &mut found), Ok(()));
        assert_eq!(found, expected);
    }
}
