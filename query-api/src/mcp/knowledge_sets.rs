//! The tool `list_knowledge_sets`.

use std::collections::BTreeMap;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reply;
use super::engine::Engine;
use crate::problem::Problem;

/// Arguments of `list_knowledge_sets`: none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetArguments {}

/// Answer of `list_knowledge_sets`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Sets {
    /// Those that a search can be limited to.
    pub knowledge_sets: Vec<Set>,
    /// Documents that a search looks at without a limit.
    pub documents: u64,
}

/// A knowledge set.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Set {
    /// What `knowledge_sets` of the other tools takes.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its name in Chinese.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_zh: Option<String>,
    /// What is in it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Documents that can be found in it.
    pub documents: u64,
}

/// Calls `list_knowledge_sets`.
pub async fn list(engine: &Engine, _: SetArguments) -> Result<Reply, Problem> {
    let _turn = engine.state.searches.turn().await?;
    let facets = engine.state.retriever.facets(&engine.principal).await?;
    let counts: BTreeMap<String, u64> = facets
        .knowledge_sets
        .into_iter()
        .map(|facet| (facet.value, facet.documents))
        .collect();
    let allowed = engine.principal.knowledge_sets.as_ref();
    let known = engine.state.knowledge_sets.current();
    let sets = known
        .iter()
        .filter(|set| allowed.is_none_or(|allowed| allowed.contains(&set.id)))
        .map(|set| Set {
            id: set.id.clone(),
            name: set.name.clone(),
            name_zh: set.name_zh.clone(),
            description: set.description.clone(),
            documents: counts.get(&set.id).copied().unwrap_or_default(),
        });
    let sets = Sets {
        knowledge_sets: sets.collect(),
        documents: facets.documents,
    };
    let text = describe(&sets);
    Reply::new(&sets, text)
}

fn describe(sets: &Sets) -> String {
    let mut text = String::new();
    for set in &sets.knowledge_sets {
        let description = set.description.lines().next().unwrap_or_default();
        let about = format!("{} ({} documents)", set.name, set.documents);
        writeln!(text, "- `{}`: {about} {description}", set.id).ok();
    }
    writeln!(text, "{} documents in all", sets.documents).ok();
    text
}
