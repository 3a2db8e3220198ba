//! `GET /v1/documents`: lists of documents, by conditions, sorted and in pages.

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::unmet::UnmetFilter;
use tributary_schemas::{DocumentSort, Error, State, Viewer};
use tributary_store::manifest::list::{ListFilter, ListQuery, Order, Place, SourceRule};

use super::caller::Caller;
use super::document_summary::{DocumentSummary, summaries};
use super::{json, unlisted, writing};
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// One page of documents; what `tributary documents list --format json` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentPage {
    /// In the order asked for.
    pub documents: Vec<DocumentSummary>,
    /// Documents that meet the conditions, on all pages together.
    pub total: u64,
    /// Of these: how many can be found.
    pub searchable: u64,
    /// Of these: how many there are by what the last attempt did; states that none has are left
    /// out.
    pub states: BTreeMap<String, u64>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
    /// Where there is none: values of the conditions that no document has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmet_filter: Option<UnmetFilter>,
}

/// Parameters of `GET /v1/documents`. Conditions are joined by AND; texts are found in capitals and
/// in small letters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListParameters {
    /// Only documents whose last attempt came to this state.
    state: Option<State>,
    /// Only documents that can be found (`true`), or that cannot (`false`).
    searchable: Option<bool>,
    /// Only documents that were made in a lesser way than configured (`true`), such as without
    /// the model for summaries, or that were not.
    degraded: Option<bool>,
    /// Only documents of this source.
    source: Option<String>,
    /// Only documents in this knowledge set.
    knowledge_set: Option<String>,
    /// Only documents with this tag.
    tag: Option<String>,
    /// Only documents with this text in the title.
    title: Option<String>,
    /// Only documents with this text in the path.
    path: Option<String>,
    /// Only documents whose path begins with exactly this.
    path_prefix: Option<String>,
    /// Only documents with this text in title, `source/path` or id.
    text: Option<String>,
    /// Only documents whose last attempt is of this time or later, milliseconds since 1970.
    changed_from_ms: Option<i64>,
    /// Only documents whose last attempt is older, milliseconds since 1970.
    changed_before_ms: Option<i64>,
    /// What the list is sorted by; `source` when absent, or as in `after`.
    sort: Option<DocumentSort>,
    /// Whether the last come first.
    descending: Option<bool>,
    /// `next` of the page before, with the same conditions. A document that does not change itself
    /// is then listed once, whatever else is published or deleted.
    after: Option<String>,
    /// Documents on the page; the server's maximum when absent.
    limit: Option<usize>,
}

/// `GET /v1/documents`.
pub async fn list(
    state: web::Data<ServerState>,
    parameters: web::Query<ListParameters>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let mut parameters = parameters.into_inner();
    writing::require_listing(&caller, parameters.source.as_deref())?;
    let limit = state.page_limit(parameters.limit)?;
    let (order, after) = place(&mut parameters)?;
    let filter = ListFilter {
        viewer: listed_for(&caller, parameters.source.as_deref()),
        sources_of_set: sources_of_set(&state, parameters.knowledge_set.as_deref()),
        ..ListFilter::from(parameters)
    };
    let query = ListQuery {
        filter: filter.clone(),
        order,
        after,
        limit,
    };
    let listing = state.documents.list(query).await?;
    let states = State::ALL
        .into_iter()
        .map(|state| (state.as_str().to_owned(), listing.counts.in_state(state)))
        .filter(|(_, documents)| *documents > 0)
        .collect();
    let unmet_filter = match listing.counts.documents {
        // It tells of other sources.
        _ if !caller.reads() => None,
        0 => unlisted::unmet(&state, filter, &caller.principal).await?,
        _ => None,
    };
    json(
        StatusCode::OK,
        &DocumentPage {
            documents: summaries(&state.documents, listing.rows, &caller).await,
            total: listing.counts.documents,
            searchable: listing.counts.searchable,
            states,
            next: listing.next.map(|next| next.to_string()),
            unmet_filter,
        },
    )
}

/// Sources of which every document is in the set that is asked for.
fn sources_of_set(state: &ServerState, set: Option<&str>) -> SourceRule {
    let Some(set) = set.map(str::to_owned) else {
        return SourceRule::default();
    };
    let sets = state.knowledge_sets.current();
    SourceRule::new(move |source| sets.of_source(source).contains(&set))
}

/// Whose rights a list obeys: nobody's where publishers list a source of theirs.
fn listed_for(caller: &Caller, source: Option<&str>) -> Option<Viewer> {
    let is_own = source.is_some_and(|source| caller.publishes(source));
    caller.viewer().filter(|_| !is_own).cloned()
}

/// The order asked for, which is that of the place where the list goes on.
fn place(parameters: &mut ListParameters) -> Result<(Order, Option<Place>), Problem> {
    let invalid = |error: Error| {
        let problem = Problem::new(Code::InvalidParameter, error.to_string());
        error
            .hint()
            .map(|hint| problem.clone().with_hint(hint))
            .unwrap_or(problem)
    };
    let after: Option<Place> = parameters
        .after
        .take()
        .map(|after| after.parse())
        .transpose()
        .map_err(invalid)?;
    let known = after.as_ref().map(Place::order).unwrap_or_default();
    let order = Order {
        sort: parameters.sort.unwrap_or(known.sort),
        descending: parameters.descending.unwrap_or(known.descending),
    };
    if after.is_some() && order != known {
        let what = format!(
            "`after` is a place in a list by {}, and this one is asked for by {}",
            in_words(known),
            in_words(order)
        );
        return Err(Problem::new(Code::InvalidParameter, what)
            .with_hint("leave `sort` and `descending` as they were, or `after` out"));
    }
    Ok((order, after))
}

fn in_words(order: Order) -> String {
    let direction = if order.descending {
        "descending"
    } else {
        "ascending"
    };
    format!("{} ({direction})", order.sort.as_str())
}

impl From<ListParameters> for ListFilter {
    fn from(parameters: ListParameters) -> Self {
        Self {
            state: parameters.state,
            searchable: parameters.searchable,
            degraded: parameters.degraded,
            source: parameters.source,
            knowledge_set: parameters.knowledge_set,
            sources_of_set: SourceRule::default(),
            tag: parameters.tag,
            title: parameters.title,
            path: parameters.path,
            path_prefix: parameters.path_prefix,
            text: parameters.text,
            changed_from_ms: parameters.changed_from_ms,
            changed_before_ms: parameters.changed_before_ms,
            viewer: None,
        }
    }
}
