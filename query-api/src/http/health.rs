//! `/health/livez`, `/health/readyz`, `/metrics`, `/version`, `/v1/work`.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use tributary_schemas::work::WorkOverview;
use tributary_store::metrics::CONTENT_TYPE;

use super::caller::Caller;
use super::json;
use crate::audit::AuditLog;
use crate::operations::Operations;
use crate::problem::Problem;
use crate::readiness::Readiness;

/// The process answers.
pub async fn livez() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain; charset=utf-8")
        .body("ok\n")
}

/// 200 when requests can be answered, else 503; with the checks for administrators alone, as they
/// name folders and servers.
pub async fn readyz(
    operations: web::Data<Operations>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let mut checks = operations.readiness.check().await;
    checks.extend(operations.audit.as_ref().map(AuditLog::check));
    let ready = checks.iter().all(|check| check.ok);
    if !caller.is_administrator() {
        checks.clear();
    }
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    json(status, &Readiness { ready, checks })
}

/// OpenMetrics text, which Prometheus reads.
pub async fn metrics(operations: web::Data<Operations>) -> Result<HttpResponse, Problem> {
    let text = operations.registry.text()?;
    Ok(HttpResponse::Ok().content_type(CONTENT_TYPE).body(text))
}

/// Which program answers.
pub async fn version(operations: web::Data<Operations>) -> Result<HttpResponse, Problem> {
    json(StatusCode::OK, &operations.version)
}

/// What the stages of this process are at.
pub async fn work(operations: web::Data<Operations>) -> Result<HttpResponse, Problem> {
    let items = operations.work.items();
    json(StatusCode::OK, &WorkOverview { items })
}
