//! `POST /v1/ask`, and `GET` and `DELETE /v1/ask/{id}`: an answer as JSON or as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tributary_schemas::ask::{AskEvent, AskRequest, Source, Workflow};

use super::caller::Caller;
use super::search::resolve_names;
use super::trace::Progress;
use super::{body, images, json};
use crate::asking::{self, AskEvents};
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// Media type of server-sent events.
const EVENT_STREAM: &str = "text/event-stream";

/// Answers a question: as events where the caller accepts them, else as JSON. With `Last-Event-ID`
/// an answer is read on, and the body says nothing.
pub async fn ask(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    if let Some(last) = last_event(&request)? {
        let events = state
            .asking
            .resume(&last.answer, last.number, &caller.principal)?;
        return Ok(streamed(events, state.asking.heartbeat()));
    }
    let wanted: AskRequest = body::read_json(&state, &request, payload).await?;
    answered(&state, caller, &request, wanted).await
}

/// The same for a report, which is what `workflow` is then.
pub async fn report(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    if let Some(last) = last_event(&request)? {
        let events = state
            .asking
            .resume(&last.answer, last.number, &caller.principal)?;
        return Ok(streamed(events, state.asking.heartbeat()));
    }
    let mut wanted: AskRequest = body::read_json(&state, &request, payload).await?;
    match wanted.workflow.replace(Workflow::Report) {
        None | Some(Workflow::Report) => answered(&state, caller, &request, wanted).await,
        Some(other) => {
            let what = format!("workflow is {}, here it is always report", other.as_str());
            Err(Problem::new(Code::Invalid, what)
                .with_hint("leave `workflow` out, or ask at /v1/ask"))
        }
    }
}

/// What is kept of a report, so that it can be gone on with.
pub async fn kept_report(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let mut kept = state.asking.kept_report(&id, &caller.principal).await?;
    let sources = kept.plan.iter_mut().flat_map(|plan| &mut plan.sources);
    let images = sources.flat_map(|source| &mut source.images);
    images.for_each(|image| *image = images::link(image));
    json(StatusCode::OK, &kept)
}

async fn answered(
    state: &ServerState,
    caller: Caller,
    request: &HttpRequest,
    mut wanted: AskRequest,
) -> Result<HttpResponse, Problem> {
    resolve_names(state, &mut wanted.filter).await?;
    let key = idempotency_key(request)?;
    let events = state.asking.ask(wanted, caller.principal, key).await?;
    if accepts_events(request) {
        return Ok(streamed(events, state.asking.heartbeat()));
    }
    let answer = working(request, asking::whole(events)).await?;
    let mut done = AskEvent::Done(Box::new(answer));
    link_images(&mut done);
    match done {
        AskEvent::Done(answer) => json(StatusCode::OK, &answer),
        _ => Err(Problem::new(
            Code::Internal,
            "an answer became another event",
        )),
    }
}

/// Reads an answer on: all of its events, or those after `Last-Event-ID`.
pub async fn resume(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let seen = match last_event(&request)? {
        Some(last) if last.answer == *id => last.number,
        Some(_) => return Err(wrong_event_id(&request)),
        None => 0,
    };
    let events = state.asking.resume(&id, seen, &caller.principal)?;
    Ok(streamed(events, state.asking.heartbeat()))
}

/// Stops an answer. Its readers get the event `error` with the code `stopped`.
pub async fn stop(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    state.asking.stop(&id, &caller.principal).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Where a reader stopped.
struct LastEvent {
    answer: String,
    number: usize,
}

/// `invalid` for an id that no event has. Clients that have seen nothing send an empty one, or none.
fn last_event(request: &HttpRequest) -> Result<Option<LastEvent>, Problem> {
    let value = request.headers().get("last-event-id");
    let Some(value) = value.filter(|value| !value.as_bytes().trim_ascii().is_empty()) else {
        return Ok(None);
    };
    match value.to_str().ok().and_then(event_id) {
        Some(last) => Ok(Some(last)),
        None => Err(wrong_event_id(request)),
    }
}

/// Id and number as [`written`] writes them, and in no other way.
fn event_id(text: &str) -> Option<LastEvent> {
    let (answer, digits) = text.trim().rsplit_once('-')?;
    let number: usize = digits.parse().ok()?;
    let is_as_written = number > 0 && number.to_string() == digits;
    is_as_written.then(|| LastEvent {
        answer: answer.to_owned(),
        number,
    })
}

fn wrong_event_id(request: &HttpRequest) -> Problem {
    let value = request.headers().get("last-event-id");
    let value = String::from_utf8_lossy(value.map_or(b"", |value| value.as_bytes())).into_owned();
    Problem::new(
        Code::Invalid,
        format!("Last-Event-ID `{value}` is the id of no event of this answer"),
    )
    .with_hint("send the id of the last event that came, or leave the header out")
}

fn idempotency_key(request: &HttpRequest) -> Result<Option<&str>, Problem> {
    let Some(key) = request.headers().get("idempotency-key") else {
        return Ok(None);
    };
    let unreadable = |_| Problem::new(Code::Invalid, "the Idempotency-Key is not plain text");
    key.to_str().map(Some).map_err(unreadable)
}

fn accepts_events(request: &HttpRequest) -> bool {
    let accept = request.headers().get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains(EVENT_STREAM))
}

/// An answer may take longer than any other request while it is worked on; asking has a bound of its
/// own.
pub(crate) async fn working<T>(request: &HttpRequest, work: impl Future<Output = T>) -> T {
    let progress = request.extensions().get::<Progress>().cloned();
    match progress {
        Some(progress) => progress.during(work).await,
        None => work.await,
    }
}

fn streamed(events: AskEvents, heartbeat: Duration) -> HttpResponse {
    let id = events.id.clone();
    let mut response = HttpResponse::Ok();
    if let Some(report) = &events.report_id {
        response.insert_header(("x-report-id", report.clone()));
    }
    response
        .content_type(EVENT_STREAM)
        .insert_header(("cache-control", "no-store"))
        .insert_header(("x-accel-buffering", "no"))
        .insert_header(("x-answer-id", id.clone()))
        .streaming(with_heartbeat(id, events.boxed(), heartbeat))
}

/// The events as they go over the wire, and a comment after each long silence.
fn with_heartbeat(
    id: String,
    events: BoxStream<'static, (usize, AskEvent)>,
    heartbeat: Duration,
) -> impl futures::Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold((id, events), move |(id, mut events)| async move {
        let next = tokio::time::timeout(heartbeat, events.next()).await;
        let written = match next {
            Err(_) => Bytes::from_static(b": still here\n\n"),
            Ok(None) => return None,
            Ok(Some((number, event))) => written(&id, number, event),
        };
        Some((Ok(written), (id, events)))
    })
}

fn written(id: &str, number: usize, mut event: AskEvent) -> Bytes {
    link_images(&mut event);
    let name = event.name();
    // `data` alone: the name stands in its own line.
    let data = serde_json::to_value(&event).map(|mut event| event["data"].take());
    let data = data.unwrap_or(serde_json::Value::Null);
    Bytes::from(format!(
        "id: {id}-{number}\nevent: {name}\ndata: {data}\n\n"
    ))
}

fn link_images(event: &mut AskEvent) {
    let link = |sources: &mut Vec<Source>| {
        let images = sources.iter_mut().flat_map(|source| &mut source.images);
        images.for_each(|image| *image = images::link(image));
    };
    match event {
        AskEvent::Retrieval(retrieved) => link(&mut retrieved.sources),
        AskEvent::CodeRetrieval(retrieved) => link(&mut retrieved.sources),
        AskEvent::Done(answer) => {
            link(&mut answer.sources);
            link(&mut answer.related);
        }
        _ => {}
    }
}
