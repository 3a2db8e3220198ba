//! OpenAI's interface: `POST /v1/chat/completions` and `GET /v1/models`. A model is a workflow, with
//! `@` and knowledge sets behind it for those alone; the last message of the user is the question.
//! What a client may ask for and what is refused: `request.rs`; the shapes of answers: `reply.rs`.

mod models;
mod reply;
mod request;
mod stream;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

pub use models::{Model, ModelList};
pub use reply::{Completion, ErrorBody};
pub use request::CompletionRequest;

use self::reply::About;
use crate::asking;
use crate::audit;
use crate::http::ask::working;
use crate::http::body;
use crate::http::caller::Caller;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// `POST /v1/chat/completions`.
pub async fn complete(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let wanted = body::read_json(&state, &request, payload).await;
    let completed = match wanted {
        Ok(wanted) => answered(&state, caller, &request, wanted).await,
        Err(problem) => Err(problem),
    };
    completed.unwrap_or_else(|problem| failed(&problem))
}

async fn answered(
    state: &ServerState,
    caller: Caller,
    request: &HttpRequest,
    wanted: CompletionRequest,
) -> Result<HttpResponse, Problem> {
    let asked = wanted.question()?;
    let about = About::new(&wanted);
    let events = state.asking.ask(asked, caller.principal, None).await?;
    if wanted.streams() {
        let events = Box::pin(events);
        let heartbeat = state.asking.heartbeat();
        return Ok(stream::response(events, about, heartbeat));
    }
    let answer = working(request, asking::whole(events)).await?;
    Ok(HttpResponse::Ok().json(about.completion(&answer)))
}

/// `GET /v1/models`.
pub async fn list(state: web::Data<ServerState>, caller: Caller) -> HttpResponse {
    HttpResponse::Ok().json(models::all(&state, &caller.principal))
}

/// `GET /v1/models/{id}`.
pub async fn one(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> HttpResponse {
    match models::named(&state, &caller.principal, &id) {
        Ok(model) => HttpResponse::Ok().json(model),
        Err(problem) => failed(&problem),
    }
}

/// What else OpenAI's interface has, so that its clients can read that it is not here.
pub const NOT_OFFERED: &str = "/v1/{path:(embeddings|completions|responses|moderations|assistants|threads|files|audio|images|batches)(/.*)?}";

/// Any of [`NOT_OFFERED`].
pub async fn not_offered(request: HttpRequest) -> HttpResponse {
    let what = format!(
        "{} of OpenAI's interface is not answered here",
        request.path()
    );
    let hint = "`/v1/chat/completions` and `/v1/models` are; all paths are at /openapi.json";
    failed(&Problem::new(Code::RouteNotFound, what).with_hint(hint))
}

/// A problem as OpenAI's clients read it.
pub(crate) fn failed(problem: &Problem) -> HttpResponse {
    audit::fails_with(problem.code().as_str());
    let status = problem.code().status();
    if status >= 500 {
        tracing::error!(code = problem.code().as_str(), detail = %problem, "request failed");
    }
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    if matches!(
        problem.code(),
        Code::Overloaded | Code::RateLimited | Code::Unavailable
    ) {
        response.insert_header(("retry-after", "1"));
    }
    response.json(json!({"error": reply::error(problem)}))
}
