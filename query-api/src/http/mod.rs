//! The HTTP interface: one file per resource. [`routes`] is the list of all paths, each with the
//! [`Right`] that it needs.

pub(crate) mod absence;
pub mod ask;
pub mod audit;
pub mod backup;
pub mod body;
pub mod budget;
mod byte_range;
pub(crate) mod caller;
pub mod conversation_export;
pub mod conversations;
pub mod cors;
pub mod dead_letters;
pub mod document_list;
pub mod document_summary;
pub mod documents;
mod entity_tag;
pub mod evaluations;
pub mod events;
pub mod facets;
mod head;
pub mod health;
pub mod idempotency;
pub mod images;
pub mod knowledge_sets;
mod large_bodies;
pub mod missed_searches;
pub mod originals;
pub mod page;
pub mod page_pictures;
pub(crate) mod percent;
pub mod questions;
pub mod reindex;
pub mod rendered;
pub mod report_export;
pub mod rights;
pub mod search;
pub mod session;
pub mod sign_in;
pub mod table_query;
pub mod tables;
pub mod terms;
pub mod trace;
pub mod turns;
mod unlisted;
pub mod upload;
pub mod user_profiles;
mod watched;
pub mod withholding;
pub(crate) mod words;
mod writing;

use actix_web::{HttpRequest, HttpResponse, Resource, web};
use serde::Serialize;
use tributary_schemas::{Error, ErrorKind};

use crate::dify;
use crate::mcp::endpoint;
use crate::openai;
use crate::operations::Operations;
use crate::problem::{Code, Problem};
use rights::{ADMINISTER, BUILD, PUBLISH, READ, READ_OR_BUILD, READ_OR_PUBLISH, Right};

/// All paths of the server.
pub fn routes(config: &mut web::ServiceConfig) {
    operation_routes(config);
    config
        .app_data(
            web::PathConfig::default()
                .error_handler(|error, _| Problem::new(Code::Invalid, error.to_string()).into()),
        )
        .app_data(
            web::QueryConfig::default()
                .error_handler(|error, _| wrong_parameter(&error.to_string()).into()),
        )
        // a resource of one route: other methods go on to `/v1/documents/{id}`, so that `reconcile`
        // can be a document id
        .route(
            "/v1/documents/states",
            READ_OR_PUBLISH.post(documents::states),
        )
        .route(
            "/v1/documents/reconcile",
            ADMINISTER.post(documents::reconcile),
        )
        .service(
            resource("/v1/documents")
                .route(PUBLISH.post(documents::publish))
                .route(READ_OR_PUBLISH.get(document_list::list)),
        )
        // the same: an id may have slashes and end so
        .route("/v1/documents/{id:.+}/original", READ.get(originals::get))
        .route(
            "/v1/documents/{id:.+}/pages/{number:[0-9]{1,9}}",
            READ.get(page_pictures::get),
        )
        .service(
            resource("/v1/documents/{id:.+}")
                .route(READ.get(documents::get))
                .route(PUBLISH.delete(documents::delete)),
        )
        .service(
            resource("/v1/repair")
                .route(ADMINISTER.post(documents::repair))
                .route(ADMINISTER.get(documents::repair_report)),
        )
        .service(resource("/v1/images/{id}").route(READ.get(images::get)))
        .service(resource("/v1/tables").route(READ.get(table_query::list)))
        .service(resource("/v1/tables/query").route(READ.post(table_query::query)))
        .service(resource("/v1/tables/{id}").route(READ.get(tables::get)))
        .service(resource("/v1/search").route(READ.post(search::search)))
        .service(resource("/v1/ask").route(READ.post(ask::ask)))
        .service(
            resource("/v1/ask/{id}")
                .route(READ.get(ask::resume))
                .route(READ.delete(ask::stop)),
        )
        .service(resource("/v1/report").route(READ.post(ask::report)))
        .service(resource("/v1/report/export").route(READ.post(report_export::export)))
        .service(resource("/v1/report/{id}").route(READ.get(ask::kept_report)))
        .service(resource("/v1/questions/judge").route(READ.post(questions::judge)))
        .service(resource("/v1/questions/explain").route(READ.post(questions::explain)))
        .service(
            resource("/v1/missed-searches")
                .route(READ.get(missed_searches::list))
                .route(READ.delete(missed_searches::forget)),
        )
        .service(resource("/v1/code/search").route(READ.post(search::search_code)))
        .service(resource("/v1/facets").route(READ.get(facets::choices)))
        .service(resource("/v1/rendered").route(READ.post(rendered::render)))
        .service(resource("/v1/events").route(READ.get(events::follow)))
        .service(
            resource("/v1/knowledge-sets")
                .route(READ_OR_BUILD.get(knowledge_sets::list))
                .route(BUILD.put(knowledge_sets::apply)),
        )
        .service(resource("/v1/knowledge-sets/status").route(BUILD.get(knowledge_sets::status)))
        .service(resource("/v1/knowledge-sets/{id}").route(READ.get(knowledge_sets::information)))
        .service(
            resource("/v1/knowledge-sets/{id}/status").route(BUILD.get(knowledge_sets::status_of)),
        )
        .service(
            resource("/v1/knowledge-sets/{id}/reindex").route(BUILD.post(reindex::request_set)),
        )
        .service(
            resource("/v1/reindex")
                .route(BUILD.get(reindex::overview))
                .route(BUILD.post(reindex::request))
                .route(BUILD.delete(reindex::cancel)),
        )
        .service(resource("/v1/reindex/rollback").route(BUILD.post(reindex::rollback)))
        .service(
            resource("/v1/dead-letters")
                .route(PUBLISH.get(dead_letters::list))
                .route(ADMINISTER.delete(dead_letters::forget_all)),
        )
        .service(resource("/v1/dead-letters/{id}/replay").route(PUBLISH.post(dead_letters::replay)))
        .service(
            resource("/v1/dead-letters/{id}")
                .route(PUBLISH.get(dead_letters::show))
                .route(PUBLISH.delete(dead_letters::forget)),
        )
        .service(resource("/v1/evaluations").route(ADMINISTER.get(evaluations::list)))
        .service(resource("/v1/evaluations/{id}").route(ADMINISTER.get(evaluations::show)))
        .service(
            resource("/v1/evaluations/{id}/comparison")
                .route(ADMINISTER.get(evaluations::compared)),
        )
        .service(resource("/v1/terms").route(BUILD.get(terms::list)))
        .service(resource("/v1/terms/verdicts").route(BUILD.post(terms::decide)))
        .service(resource("/v1/audit").route(ADMINISTER.get(audit::list)))
        .configure(conversation_routes)
        .service(resource("/v1/chat/completions").route(READ.post(openai::complete)))
        .service(resource("/v1/models").route(READ.get(openai::list)))
        .service(resource("/v1/models/{id}").route(READ.get(openai::one)))
        .service(
            web::resource(openai::NOT_OFFERED)
                .default_service(Right::AnyKey.any(openai::not_offered)),
        )
        .service(resource("/retrieval").route(READ.post(dify::retrieve)))
        .service(resource("/mcp").route(READ.post(endpoint::answer)))
        .service(resource("/openapi.json").route(Right::Open.get(page::openapi)))
        .service(resource("/").route(Right::Open.get(page::index)))
        .service(resource("/page/{path:.+}").route(Right::Open.get(page::file)))
        .default_service(Right::AnyKey.any(nothing_here));
}

fn conversation_routes(config: &mut web::ServiceConfig) {
    config
        .service(
            resource("/v1/conversations")
                .route(READ.get(conversations::list))
                .route(READ.post(conversations::create)),
        )
        .service(
            resource("/v1/conversations/{id}")
                .route(READ.get(conversations::get))
                .route(READ.patch(conversations::rename))
                .route(READ.delete(conversations::delete)),
        )
        .service(resource("/v1/conversations/{id}/turns").route(READ.get(conversations::turns)))
        .service(resource("/v1/conversations/{id}/clear").route(READ.post(conversations::clear)))
        .service(resource("/v1/conversations/{id}/export").route(READ.get(conversations::export)))
        .service(
            resource("/v1/conversations/{id}/turns/{turn}/feedback")
                .route(READ.put(conversations::put_feedback))
                .route(READ.delete(conversations::delete_feedback)),
        )
        .service(resource("/v1/feedback").route(READ.get(conversations::feedback)))
        .service(resource("/v1/user-profiles").route(READ.get(user_profiles::list)))
        .service(
            resource("/v1/user-profiles/{user}")
                .route(READ.get(user_profiles::get))
                .route(READ.put(user_profiles::put))
                .route(READ.delete(user_profiles::delete)),
        );
}

fn wrong_parameter(message: &str) -> Problem {
    let problem = Problem::new(Code::InvalidParameter, words::in_words(message));
    match words::probably_meant(message) {
        Some(name) => problem.with_hint(format!("did you mean `{name}`?")),
        None => problem.with_hint("the parameters of each path are at /openapi.json"),
    }
}

/// The paths of every process.
pub fn operation_routes(config: &mut web::ServiceConfig) {
    config
        .service(resource("/health/livez").route(Right::Open.get(health::livez)))
        .service(resource("/health/readyz").route(Right::Open.get(health::readyz)))
        .service(resource("/metrics").route(Right::Metrics.get(health::metrics)))
        .service(resource("/version").route(Right::AnyKey.get(health::version)))
        .service(
            resource("/v1/session")
                .route(Right::AnyKey.get(session::get))
                .route(Right::AnyKey.post(session::begin))
                .route(Right::Open.delete(session::end)),
        )
        .service(resource("/sign-in").route(Right::Open.get(sign_in::begin)))
        .service(resource("/sign-in/ways").route(Right::Open.get(sign_in::ways)))
        .service(resource("/sign-in/callback").route(Right::Open.get(sign_in::callback)))
        .service(resource("/v1/work").route(ADMINISTER.get(health::work)))
        .service(resource("/v1/backup").route(ADMINISTER.post(backup::backup)));
}

/// What a process without the service `query` says to everything else.
pub async fn other_service(
    operations: web::Data<Operations>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let what = format!(
        "this process runs {}; {} is answered where `query` runs",
        operations.services.join(", "),
        request.path()
    );
    Err(Problem::new(Code::RouteNotFound, what).with_hint("name that server with --server"))
}

fn resource(path: &str) -> Resource {
    web::resource(path).default_service(Right::AnyKey.any(other_method))
}

async fn other_method(request: HttpRequest) -> Result<HttpResponse, Problem> {
    let what = format!("{} is not answered at {}", request.method(), request.path());
    Err(Problem::new(Code::MethodNotAllowed, what)
        .with_hint("the methods of each path are at /openapi.json"))
}

async fn nothing_here(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Err(Problem::new(
        Code::RouteNotFound,
        format!("there is nothing at {}", request.path()),
    )
    .with_hint("all paths are at /openapi.json"))
}

/// An answer as JSON.
fn json(
    status: actix_web::http::StatusCode,
    value: &impl Serialize,
) -> Result<HttpResponse, Problem> {
    crate::audit::answers_with(value);
    let body = serde_json::to_vec(value).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot write the answer: {error}"),
        )
    })?;
    Ok(HttpResponse::build(status)
        .content_type("application/json")
        .body(body))
}
