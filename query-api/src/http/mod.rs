//! The HTTP interface: one file per resource. [`routes`] is the list of all paths.

pub mod ask;
pub mod backup;
pub mod body;
pub mod budget;
mod byte_range;
pub(crate) mod caller;
pub mod conversation_export;
pub mod conversations;
pub mod dead_letters;
pub mod documents;
pub mod evaluations;
pub mod events;
pub mod facets;
pub mod health;
pub mod idempotency;
pub mod images;
pub mod knowledge_sets;
mod large_bodies;
pub mod originals;
pub mod page;
pub mod page_pictures;
mod percent;
pub mod questions;
pub mod reindex;
pub mod rendered;
pub mod report_export;
pub mod search;
pub mod table_query;
pub mod tables;
pub mod trace;
pub mod turns;
mod unlisted;
pub mod upload;
pub mod user_profiles;
pub(crate) mod words;

use actix_web::{HttpRequest, HttpResponse, Resource, web};
use serde::Serialize;
use tributary_schemas::{Error, ErrorKind};

use crate::dify;
use crate::mcp::endpoint;
use crate::openai;
use crate::operations::Operations;
use crate::problem::{Code, Problem};

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
        .route("/v1/documents/states", web::post().to(documents::states))
        .route(
            "/v1/documents/reconcile",
            web::post().to(documents::reconcile),
        )
        .service(
            resource("/v1/documents")
                .route(web::post().to(documents::publish))
                .route(web::get().to(documents::list)),
        )
        // the same: an id may have slashes and end so
        .route(
            "/v1/documents/{id:.+}/original",
            web::get().to(originals::get),
        )
        .route(
            "/v1/documents/{id:.+}/pages/{number:[0-9]{1,9}}",
            web::get().to(page_pictures::get),
        )
        .service(
            resource("/v1/documents/{id:.+}")
                .route(web::get().to(documents::get))
                .route(web::delete().to(documents::delete)),
        )
        .service(
            resource("/v1/repair")
                .route(web::post().to(documents::repair))
                .route(web::get().to(documents::repair_report)),
        )
        .service(resource("/v1/images/{id}").route(web::get().to(images::get)))
        .service(resource("/v1/tables").route(web::get().to(table_query::list)))
        .service(resource("/v1/tables/query").route(web::post().to(table_query::query)))
        .service(resource("/v1/tables/{id}").route(web::get().to(tables::get)))
        .service(resource("/v1/search").route(web::post().to(search::search)))
        .service(resource("/v1/ask").route(web::post().to(ask::ask)))
        .service(
            resource("/v1/ask/{id}")
                .route(web::get().to(ask::resume))
                .route(web::delete().to(ask::stop)),
        )
        .service(resource("/v1/report").route(web::post().to(ask::report)))
        .service(resource("/v1/report/export").route(web::post().to(report_export::export)))
        .service(resource("/v1/report/{id}").route(web::get().to(ask::kept_report)))
        .service(resource("/v1/questions/judge").route(web::post().to(questions::judge)))
        .service(resource("/v1/questions/explain").route(web::post().to(questions::explain)))
        .service(resource("/v1/code/search").route(web::post().to(search::search_code)))
        .service(resource("/v1/facets").route(web::get().to(facets::choices)))
        .service(resource("/v1/rendered").route(web::post().to(rendered::render)))
        .service(resource("/v1/events").route(web::get().to(events::follow)))
        .service(
            resource("/v1/knowledge-sets")
                .route(web::get().to(knowledge_sets::list))
                .route(web::put().to(knowledge_sets::apply)),
        )
        .service(resource("/v1/knowledge-sets/status").route(web::get().to(knowledge_sets::status)))
        .service(
            resource("/v1/knowledge-sets/{id}").route(web::get().to(knowledge_sets::information)),
        )
        .service(
            resource("/v1/knowledge-sets/{id}/status")
                .route(web::get().to(knowledge_sets::status_of)),
        )
        .service(
            resource("/v1/knowledge-sets/{id}/reindex").route(web::post().to(reindex::request_set)),
        )
        .service(
            resource("/v1/reindex")
                .route(web::get().to(reindex::overview))
                .route(web::post().to(reindex::request))
                .route(web::delete().to(reindex::cancel)),
        )
        .service(resource("/v1/reindex/rollback").route(web::post().to(reindex::rollback)))
        .service(
            resource("/v1/dead-letters")
                .route(web::get().to(dead_letters::list))
                .route(web::delete().to(dead_letters::forget_all)),
        )
        .service(
            resource("/v1/dead-letters/{id}/replay").route(web::post().to(dead_letters::replay)),
        )
        .service(
            resource("/v1/dead-letters/{id}")
                .route(web::get().to(dead_letters::show))
                .route(web::delete().to(dead_letters::forget)),
        )
        .service(resource("/v1/evaluations").route(web::get().to(evaluations::list)))
        .service(resource("/v1/evaluations/{id}").route(web::get().to(evaluations::show)))
        .configure(conversation_routes)
        .service(resource("/v1/chat/completions").route(web::post().to(openai::complete)))
        .service(resource("/v1/models").route(web::get().to(openai::list)))
        .service(resource("/v1/models/{id}").route(web::get().to(openai::one)))
        .service(resource("/retrieval").route(web::post().to(dify::retrieve)))
        .service(resource("/mcp").route(web::post().to(endpoint::answer)))
        .service(resource("/openapi.json").route(web::get().to(page::openapi)))
        .service(resource("/").route(web::get().to(page::index)))
        .service(resource("/page/{path:.+}").route(web::get().to(page::file)))
        .default_service(web::route().to(nothing_here));
}

fn conversation_routes(config: &mut web::ServiceConfig) {
    config
        .service(
            resource("/v1/conversations")
                .route(web::get().to(conversations::list))
                .route(web::post().to(conversations::create)),
        )
        .service(
            resource("/v1/conversations/{id}")
                .route(web::get().to(conversations::get))
                .route(web::patch().to(conversations::rename))
                .route(web::delete().to(conversations::delete)),
        )
        .service(
            resource("/v1/conversations/{id}/turns").route(web::get().to(conversations::turns)),
        )
        .service(
            resource("/v1/conversations/{id}/clear").route(web::post().to(conversations::clear)),
        )
        .service(
            resource("/v1/conversations/{id}/export").route(web::get().to(conversations::export)),
        )
        .service(
            resource("/v1/conversations/{id}/turns/{turn}/feedback")
                .route(web::put().to(conversations::put_feedback))
                .route(web::delete().to(conversations::delete_feedback)),
        )
        .service(resource("/v1/feedback").route(web::get().to(conversations::feedback)))
        .service(resource("/v1/user-profiles").route(web::get().to(user_profiles::list)))
        .service(
            resource("/v1/user-profiles/{user}")
                .route(web::get().to(user_profiles::get))
                .route(web::put().to(user_profiles::put))
                .route(web::delete().to(user_profiles::delete)),
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
        .service(resource("/health/livez").route(web::get().to(health::livez)))
        .service(resource("/health/readyz").route(web::get().to(health::readyz)))
        .service(resource("/metrics").route(web::get().to(health::metrics)))
        .service(resource("/version").route(web::get().to(health::version)))
        .service(resource("/v1/work").route(web::get().to(health::work)))
        .service(resource("/v1/backup").route(web::post().to(backup::backup)));
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
    web::resource(path).default_service(web::route().to(other_method))
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
