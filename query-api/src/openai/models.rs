//! Models as OpenAI's clients list and name them: a workflow, alone or with knowledge sets.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_retrieval::{Principal, SearchError};
use tributary_schemas::ask::Workflow;

use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// What separates a workflow from knowledge sets.
const SETS: char = '@';

/// A model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Model {
    /// What a request names: a workflow, or `workflow@set,set`.
    pub id: String,
    /// `model`.
    pub object: &'static str,
    /// When it was made, in seconds since 1970: not known, so 0.
    pub created: u64,
    /// `tributary`.
    pub owned_by: &'static str,
}

/// Answer of `GET /v1/models`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelList {
    /// `list`.
    pub object: &'static str,
    /// Each workflow, alone and with each knowledge set; other combinations can be named too.
    pub data: Vec<Model>,
}

impl Model {
    fn new(id: String) -> Self {
        Self {
            id,
            object: "model",
            created: 0,
            owned_by: "tributary",
        }
    }
}

/// Each workflow, alone and with each knowledge set that the caller may see.
pub fn all(state: &ServerState, principal: &Principal) -> ModelList {
    let known = state.knowledge_sets.current();
    let allowed = principal.knowledge_sets.as_ref();
    let sets: Vec<&str> = known
        .iter()
        .map(|set| set.id.as_str())
        .filter(|id| allowed.is_none_or(|allowed| allowed.iter().any(|other| other == id)))
        .collect();
    let models = Workflow::ALL.into_iter().flat_map(|workflow| {
        let name = workflow.as_str();
        let with_sets = sets.iter().map(move |set| format!("{name}{SETS}{set}"));
        std::iter::once(name.to_owned()).chain(with_sets)
    });
    ModelList {
        object: "list",
        data: models.map(Model::new).collect(),
    }
}

/// One of them, or another combination of knowledge sets.
pub fn named(state: &ServerState, principal: &Principal, id: &str) -> Result<Model, Problem> {
    let (_, sets) = parse(id)?;
    let sets = sets.unwrap_or_default();
    let known = state.knowledge_sets.current();
    known
        .check(&sets)
        .map_err(SearchError::UnknownKnowledgeSet)?;
    let allowed = principal.knowledge_sets.as_ref();
    let may_see = |set: &String| allowed.is_none_or(|allowed| allowed.contains(set));
    match sets.iter().all(may_see) {
        true => Ok(Model::new(id.to_owned())),
        false => Err(unknown(id)),
    }
}

/// The workflow and the knowledge sets of a name; none where it names none.
pub fn parse(name: &str) -> Result<(Workflow, Option<Vec<String>>), Problem> {
    let (workflow, sets) = match name.split_once(SETS) {
        Some((workflow, sets)) => (workflow, Some(sets)),
        None => (name, None),
    };
    let known = Workflow::named(workflow).ok_or_else(|| unknown(name))?;
    let sets = sets.map(|sets| {
        sets.split(',')
            .map(|set| set.trim().to_owned())
            .collect::<Vec<_>>()
    });
    if sets.iter().flatten().any(String::is_empty) {
        let what = format!("the model `{name:.200}` names a knowledge set without a name");
        return Err(Problem::new(Code::Invalid, what)
            .with_hint("such as `general@handbook,faq`; without `@` all of them are searched"));
    }
    Ok((known, sets))
}

fn unknown(name: &str) -> Problem {
    let names = Workflow::ALL.map(Workflow::as_str).join(", ");
    Problem::new(Code::NotFound, format!("there is no model `{name:.200}`")).with_hint(format!(
        "a model is a workflow ({names}) or `workflow@set,set`; GET /v1/models lists them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_workflow_and_sets() {
        let sets = |name: &str| parse(name).map(|(_, sets)| sets).ok();
        assert_eq!(sets("general"), Some(None));
        let textbook = parse("textbook").map(|(workflow, _)| workflow);
        assert_eq!(textbook.ok(), Some(Workflow::Textbook));
        let two = vec!["radio".to_owned(), "core".to_owned()];
        assert_eq!(sets("general@radio, core"), Some(Some(two)));
        for wrong in ["gpt-4o", "", "general@", "general@a,,b", "@radio"] {
            assert_eq!(sets(wrong), None, "{wrong}");
        }
    }
}
