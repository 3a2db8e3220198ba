//! `/health/livez`, `/health/readyz`, `/metrics`, `/version`.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use async_trait::async_trait;
use prometheus::{Encoder, TextEncoder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind};

use super::json;
use crate::problem::Problem;
use crate::server::ServerState;

/// One thing that the server needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What, such as `index`.
    pub name: String,
    /// Whether it works.
    pub ok: bool,
    /// How it is, in words.
    pub detail: String,
}

/// Answer of `/health/readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    /// Whether requests can be answered: every check is.
    pub ready: bool,
    /// What was looked at.
    pub checks: Vec<Check>,
}

/// Answer of `/version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// `tributary`.
    pub name: String,
    /// Version of the program.
    pub version: String,
}

/// Looks at everything that the server needs.
#[async_trait]
pub trait ReadinessProbe: Send + Sync {
    /// One check per thing; quick, called often.
    async fn check(&self) -> Vec<Check>;
}

/// The process answers.
pub async fn livez() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; charset=utf-8").body("ok\n")
}

/// 200 when requests can be answered, else 503, both with the checks.
pub async fn readyz(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    let checks = state.readiness.check().await;
    let ready = checks.iter().all(|check| check.ok);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json(status, &Readiness { ready, checks })
}

/// Prometheus text format.
pub async fn metrics(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    let encoder = TextEncoder::new();
    let mut text = Vec::new();
    let failed = |error| Error::new(ErrorKind::Internal, format!("cannot write metrics: {error}"));
    encoder.encode(&state.registry.gather(), &mut text).map_err(failed)?;
    Ok(HttpResponse::Ok().content_type(encoder.format_type()).body(text))
}

/// Which program answers.
pub async fn version(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    json(StatusCode::OK, &state.version)
}
