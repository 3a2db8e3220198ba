//! Why a list is empty: the values of its conditions that no document has.

use tributary_retrieval::Principal;
use tributary_schemas::unmet::{UnmetFilter, UnmetValue};
use tributary_store::manifest::list::{ListFilter, ListQuery};

use crate::problem::Problem;
use crate::server::ServerState;

/// Looks for documents of each source, knowledge set and tag alone. None where each has some: then
/// it is the conditions together that nothing meets.
pub async fn unmet(
    state: &ServerState,
    filter: ListFilter,
    principal: &Principal,
) -> Result<Option<UnmetFilter>, Problem> {
    let none = ListFilter {
        viewer: filter.viewer.clone(),
        ..ListFilter::default()
    };
    let alone = [
        (
            "sources",
            filter.source.clone(),
            ListFilter {
                source: filter.source,
                ..none.clone()
            },
        ),
        (
            "knowledge_sets",
            filter.knowledge_set.clone(),
            ListFilter {
                knowledge_set: filter.knowledge_set,
                sources_of_set: filter.sources_of_set,
                ..none.clone()
            },
        ),
        (
            "tags",
            filter.tag.clone(),
            ListFilter {
                tag: filter.tag,
                ..none
            },
        ),
    ];
    let mut values = Vec::new();
    for (condition, value, filter) in alone {
        let Some(value) = value else { continue };
        if is_empty(state, filter).await? {
            values.push(named(state, condition, &value, principal).await?);
        }
    }
    Ok((!values.is_empty()).then_some(UnmetFilter { values }))
}

async fn is_empty(state: &ServerState, filter: ListFilter) -> Result<bool, Problem> {
    let query = ListQuery {
        filter,
        limit: 1,
        ..ListQuery::default()
    };
    Ok(state.documents.list(query).await?.counts.documents == 0)
}

/// A knowledge set may be defined and have no documents: then it is named as it is.
async fn named(
    state: &ServerState,
    condition: &str,
    value: &str,
    principal: &Principal,
) -> Result<UnmetValue, Problem> {
    let sets = state.knowledge_sets.current();
    let mut unmet = state
        .retriever
        .unmet_value(condition, value, principal)
        .await?;
    if condition == "knowledge_sets" {
        let near = sets.nearest(value).filter(|near| *near != value);
        unmet.did_you_mean = near.map(str::to_owned);
    }
    Ok(unmet)
}
