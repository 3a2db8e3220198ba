//! `/v1/dead-letters`: records that were given up.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::{DeadLetter, Error, ErrorKind};
use tributary_store::manifest::dead_letters::LetterFilter;
use tributary_store::manifest::documents::Documents;

use super::caller::Caller;
use super::json;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// Characters of a record's value that are shown.
const PREVIEW_CHARACTERS: usize = 4000;

/// How many dead letters were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedDeadLetters {
    /// Letters.
    pub dropped: u64,
}

/// One page of dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetterPage {
    /// Newest first.
    pub dead_letters: Vec<DeadLetter>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
}

/// A dead letter with the beginning of the record's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetterDetail {
    /// The dead letter.
    pub dead_letter: DeadLetter,
    /// The first characters of the record's value, invalid UTF-8 replaced; `null` for a null
    /// value.
    pub preview: Option<String>,
}

/// Parameters of `GET /v1/dead-letters`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageParameters {
    /// `next` of the page before.
    after: Option<String>,
    /// Dead letters on the page; the server's maximum when absent.
    limit: Option<usize>,
    /// Only those whose document is of this source.
    source: Option<String>,
    /// Only those that this stage gave up: `ingest`, `chunk`, `embed`, `index`, `reindex`.
    stage: Option<String>,
    /// Only those of this kind.
    kind: Option<ErrorKind>,
    /// Only those with this text in the reason, in capitals or small letters.
    reason: Option<String>,
}

impl PageParameters {
    fn filter(self, documents: &Arc<Documents>) -> Result<LetterFilter, Problem> {
        let known = |stage: &String| DeadLetter::STAGES.contains(&stage.as_str());
        if let Some(stage) = self.stage.as_ref().filter(|stage| !known(stage)) {
            let known = DeadLetter::STAGES.join(", ");
            let detail = format!("there is no stage `{stage}`: it is one of {known}");
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        let documents = Arc::clone(documents);
        Ok(LetterFilter {
            stage: self.stage,
            kind: self.kind,
            reason: self.reason,
            document: self.source.map(|source| {
                let is_of_it = move |id: &str| documents.is_of_source(id, &source);
                Arc::new(is_of_it) as _
            }),
        })
    }
}

/// `GET /v1/dead-letters`. Publishers see those of their sources: their pages may have fewer
/// letters than were asked for, and go on all the same.
pub async fn list(
    state: web::Data<ServerState>,
    caller: Caller,
    parameters: web::Query<PageParameters>,
) -> Result<HttpResponse, Problem> {
    let mut parameters = parameters.into_inner();
    let limit = state.page_limit(parameters.limit)?;
    let after = parameters.after.take();
    let filter = parameters.filter(&state.documents)?;
    let letters = &state.dead_letters;
    let page = letters.page(after.as_deref(), limit, filter).await?;
    json(
        StatusCode::OK,
        &DeadLetterPage {
            dead_letters: page
                .letters
                .into_iter()
                .map(|letter| with_names(&state, letter))
                .filter(|letter| caller.publishes(&letter.source))
                .collect(),
            next: page.next,
        },
    )
}

/// `GET /v1/dead-letters/{id}`.
pub async fn show(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let (dead_letter, value) = own(&state, &caller, &id).await?;
    let preview = value.map(|value| {
        String::from_utf8_lossy(&value)
            .chars()
            .take(PREVIEW_CHARACTERS)
            .collect()
    });
    json(
        StatusCode::OK,
        &DeadLetterDetail {
            dead_letter,
            preview,
        },
    )
}

/// A letter of the caller's sources and its value; one of others is not there.
async fn own(
    state: &ServerState,
    caller: &Caller,
    id: &str,
) -> Result<(DeadLetter, Option<Bytes>), Problem> {
    let shown = state.dead_letters.show(id).await;
    let (letter, value) = shown.map_err(|error| named(error, id))?;
    let letter = with_names(state, letter);
    match caller.publishes(&letter.source) {
        true => Ok((letter, value)),
        false => Err(not_found(id)),
    }
}

/// A letter with what reports say of its document: its own headers name no more than the id.
fn with_names(state: &ServerState, letter: DeadLetter) -> DeadLetter {
    let ids = [letter.document_id.clone()];
    let Some(row) = state.documents.get_many(&ids).pop().flatten() else {
        return letter;
    };
    DeadLetter {
        source: row.latest.source,
        source_path: row.latest.source_path,
        title: row.latest.title,
        ..letter
    }
}

/// `POST /v1/dead-letters/{id}/replay`.
pub async fn replay(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    require_own(&state, &caller, &id).await?;
    state
        .dead_letters
        .replay(&id)
        .await
        .map_err(|error| named(error, &id))?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /v1/dead-letters/{id}`.
pub async fn forget(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    require_own(&state, &caller, &id).await?;
    state
        .dead_letters
        .drop_letter(&id)
        .await
        .map_err(|error| named(error, &id))?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /v1/dead-letters`.
pub async fn forget_all(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    json(
        StatusCode::OK,
        &DroppedDeadLetters {
            dropped: state.dead_letters.drop_all().await?,
        },
    )
}

/// Administrators need no look at the record, which may be gone where the letter is not.
async fn require_own(state: &ServerState, caller: &Caller, id: &str) -> Result<(), Problem> {
    if caller.is_administrator() {
        return Ok(());
    }
    own(state, caller, id).await.map(drop)
}

fn named(error: Error, id: &str) -> Problem {
    if error.kind() == ErrorKind::NotFound {
        not_found(id)
    } else {
        error.into()
    }
}

fn not_found(id: &str) -> Problem {
    Problem::new(
        Code::DeadLetterNotFound,
        format!("there is no dead letter `{id}`"),
    )
    .with_hint("GET /v1/dead-letters lists them")
}
