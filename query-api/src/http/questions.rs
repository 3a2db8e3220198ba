//! `POST /v1/questions/judge` and `POST /v1/questions/explain`: answers of students, judged, and
//! questions explained.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use tributary_schemas::ask::Source;
use tributary_schemas::judging::QuestionToJudge;

use super::ask::working;
use super::caller::Caller;
use super::search::resolve_names;
use super::{body, images, json};
use crate::problem::Problem;
use crate::server::ServerState;

/// `POST /v1/questions/judge`.
pub async fn judge(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let mut wanted: QuestionToJudge = body::read_json(&state, &request, payload).await?;
    resolve_names(&state, &mut wanted.filter).await?;
    let mut judged = working(&request, state.asking.judge(wanted, caller.principal)).await?;
    link_images(&mut judged.sources);
    json(StatusCode::OK, &judged)
}

/// `POST /v1/questions/explain`.
pub async fn explain(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let mut wanted: QuestionToJudge = body::read_json(&state, &request, payload).await?;
    resolve_names(&state, &mut wanted.filter).await?;
    let mut explained = working(&request, state.asking.explain(wanted, caller.principal)).await?;
    link_images(&mut explained.sources);
    json(StatusCode::OK, &explained)
}

fn link_images(sources: &mut [Source]) {
    let images = sources.iter_mut().flat_map(|source| &mut source.images);
    images.for_each(|image| *image = images::link(image));
}
