//! `/v1/dead-letters`: records that were given up.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::Deserialize;
use tributary_schemas::{Error, ErrorKind};

use super::json;
use crate::documents::DroppedDeadLetters;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// Parameters of `GET /v1/dead-letters`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageParameters {
    /// `next` of the page before.
    after: Option<String>,
    /// Dead letters on the page; the server's maximum when absent.
    limit: Option<usize>,
}

/// `GET /v1/dead-letters`.
pub async fn list(
    state: web::Data<ServerState>,
    parameters: web::Query<PageParameters>,
) -> Result<HttpResponse, Problem> {
    let limit = state.page_limit(parameters.limit)?;
    json(
        StatusCode::OK,
        &state
            .dead_letters
            .list(parameters.after.as_deref(), limit)
            .await?,
    )
}

/// `GET /v1/dead-letters/{id}`.
pub async fn show(
    state: web::Data<ServerState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let detail = state
        .dead_letters
        .show(&id)
        .await?
        .ok_or_else(|| not_found(&id))?;
    json(StatusCode::OK, &detail)
}

/// `POST /v1/dead-letters/{id}/replay`.
pub async fn replay(
    state: web::Data<ServerState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
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
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    state
        .dead_letters
        .forget(&id)
        .await
        .map_err(|error| named(error, &id))?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /v1/dead-letters`.
pub async fn forget_all(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    json(
        StatusCode::OK,
        &DroppedDeadLetters {
            dropped: state.dead_letters.forget_all().await?,
        },
    )
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
