//! `/v1/conversations` and `/v1/feedback`: what was asked and answered, and what people said of it.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::conversation::{Conversation, Feedback, Turn};
use tributary_schemas::{Error, ErrorKind};
use tributary_store::conversations::{ListQuery, MAXIMUM_TITLE_CHARACTERS, TurnQuery};

use super::body;
use super::caller::Caller;
use super::conversation_export::{self, Export, ExportFormat, LINES};
use super::json;
use super::withholding::Withholding;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// One page of conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationPage {
    /// The one with the newest change first.
    pub conversations: Vec<Conversation>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
}

/// One page of turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnPage {
    /// In the order asked for.
    pub turns: Vec<Turn>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
}

/// Body of `POST /v1/conversations`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewConversation {
    /// At most 200 characters; the beginning of the first question when empty.
    #[serde(default)]
    pub title: String,
}

/// Body of `PATCH /v1/conversations/{id}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenameConversation {
    /// 1 to 200 characters.
    pub title: String,
}

/// Parameters of `GET /v1/conversations`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListParameters {
    /// Part of the title, in any case.
    title: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
    /// Conversations on the page; the server's maximum when absent.
    limit: Option<usize>,
}

/// Parameters of `GET /v1/conversations/{id}/turns`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnParameters {
    /// The last turn first.
    #[serde(default)]
    newest_first: bool,
    /// `next` of the page before.
    after: Option<String>,
    /// Turns on the page; the server's maximum when absent.
    limit: Option<usize>,
}

/// Parameters of `GET /v1/conversations/{id}/export`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportParameters {
    /// `markdown` for people (the default), or `json` with everything.
    #[serde(default)]
    format: ExportFormat,
}

/// How feedback is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackFormat {
    /// One page.
    #[default]
    Json,
    /// All of it, a turn a line.
    Lines,
}

/// Parameters of `GET /v1/feedback`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedbackParameters {
    /// `json` is one page (the default), `lines` all turns with feedback as JSON Lines.
    #[serde(default)]
    format: FeedbackFormat,
    /// `next` of the page before; not with `lines`.
    after: Option<String>,
    /// Turns on the page, the server's maximum when absent; not with `lines`.
    limit: Option<usize>,
}

/// `POST /v1/conversations`.
pub async fn create(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let new: NewConversation = body::read_json(&state, &request, payload).await?;
    let conversation = state
        .conversations
        .create(caller.owner(), &new.title)
        .await?;
    json(StatusCode::CREATED, &conversation)
}

/// `GET /v1/conversations`.
pub async fn list(
    state: web::Data<ServerState>,
    caller: Caller,
    parameters: web::Query<ListParameters>,
) -> Result<HttpResponse, Problem> {
    let title = parameters
        .title
        .as_deref()
        .filter(|title| !title.is_empty());
    if title.is_some_and(|title| title.chars().count() > MAXIMUM_TITLE_CHARACTERS) {
        let what = format!("title may have {MAXIMUM_TITLE_CHARACTERS} characters, as titles have");
        return Err(Problem::new(Code::InvalidParameter, what));
    }
    let query = ListQuery {
        title,
        after: parameters.after.as_deref(),
        limit: state.page_limit(parameters.limit)?,
    };
    let page = state.conversations.list(caller.owner(), query).await;
    let page = page.map_err(of_parameters)?;
    json(
        StatusCode::OK,
        &ConversationPage {
            conversations: page.items,
            next: page.next,
        },
    )
}

/// `GET /v1/conversations/{id}`.
pub async fn get(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let found = state.conversations.get(caller.owner(), &id).await;
    json(StatusCode::OK, &found.map_err(of_conversation)?)
}

/// `PATCH /v1/conversations/{id}`.
pub async fn rename(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let wish: RenameConversation = body::read_json(&state, &request, payload).await?;
    let renamed = state
        .conversations
        .rename(caller.owner(), &id, &wish.title)
        .await;
    json(StatusCode::OK, &renamed.map_err(of_conversation)?)
}

/// `DELETE /v1/conversations/{id}`.
pub async fn delete(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let deleted = state.conversations.delete(caller.owner(), &id).await;
    deleted.map_err(of_conversation)?;
    Ok(HttpResponse::NoContent().finish())
}

/// `POST /v1/conversations/{id}/clear`.
pub async fn clear(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let cleared = state.conversations.clear(caller.owner(), &id).await;
    json(StatusCode::OK, &cleared.map_err(of_conversation)?)
}

/// `GET /v1/conversations/{id}/turns`.
pub async fn turns(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
    parameters: web::Query<TurnParameters>,
) -> Result<HttpResponse, Problem> {
    let query = TurnQuery {
        newest_first: parameters.newest_first,
        after: parameters.after.as_deref(),
        limit: state.page_limit(parameters.limit)?,
    };
    let page = state.conversations.turns(caller.owner(), &id, query).await;
    let page = page.map_err(of_parameters)?;
    let withholding = Withholding::of(&state, &caller);
    json(
        StatusCode::OK,
        &TurnPage {
            turns: withholding.shown(page.items).await?,
            next: page.next,
        },
    )
}

/// `GET /v1/conversations/{id}/export`.
pub async fn export(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
    parameters: web::Query<ExportParameters>,
) -> Result<HttpResponse, Problem> {
    let found = state.conversations.get(caller.owner(), &id).await;
    let export = Export {
        store: state.conversations.clone(),
        withholding: Withholding::of(&state, &caller),
        conversation: found.map_err(of_conversation)?,
        format: parameters.format,
    };
    Ok(conversation_export::answer(export))
}

/// `PUT /v1/conversations/{id}/turns/{turn}/feedback`.
pub async fn put_feedback(
    state: web::Data<ServerState>,
    caller: Caller,
    path: web::Path<(String, String)>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let feedback: Feedback = body::read_json(&state, &request, payload).await?;
    set_feedback(&state, &caller, path.into_inner(), Some(feedback)).await
}

/// `DELETE /v1/conversations/{id}/turns/{turn}/feedback`.
pub async fn delete_feedback(
    state: web::Data<ServerState>,
    caller: Caller,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    set_feedback(&state, &caller, path.into_inner(), None).await
}

async fn set_feedback(
    state: &ServerState,
    caller: &Caller,
    (id, turn): (String, String),
    feedback: Option<Feedback>,
) -> Result<HttpResponse, Problem> {
    let (store, owner) = (&state.conversations, caller.owner());
    store.get(owner, &id).await.map_err(of_conversation)?;
    let kept = store.set_feedback(owner, &id, &turn, feedback).await;
    let kept = kept.map_err(of_turn)?;
    let shown = Withholding::of(state, caller).shown(vec![kept]).await?;
    json(StatusCode::OK, &shown.first())
}

/// `GET /v1/feedback`.
pub async fn feedback(
    state: web::Data<ServerState>,
    caller: Caller,
    parameters: web::Query<FeedbackParameters>,
) -> Result<HttpResponse, Problem> {
    if parameters.format == FeedbackFormat::Lines {
        return all_feedback(&state, &caller, &parameters);
    }
    let limit = state.page_limit(parameters.limit)?;
    let after = parameters.after.as_deref();
    let page = state
        .conversations
        .with_feedback(caller.owner(), after, limit)
        .await;
    let page = page.map_err(of_parameters)?;
    json(
        StatusCode::OK,
        &TurnPage {
            turns: Withholding::of(&state, &caller).shown(page.items).await?,
            next: page.next,
        },
    )
}

fn all_feedback(
    state: &ServerState,
    caller: &Caller,
    parameters: &FeedbackParameters,
) -> Result<HttpResponse, Problem> {
    if parameters.after.is_some() || parameters.limit.is_some() {
        let what = "after and limit are for pages, format=lines gives all of it";
        return Err(Problem::new(Code::InvalidParameter, what));
    }
    let withholding = Withholding::of(state, caller);
    let lines = conversation_export::feedback_lines(state.conversations.clone(), withholding);
    Ok(HttpResponse::Ok().content_type(LINES).streaming(lines))
}

/// What is not found is the conversation.
pub fn of_conversation(error: Error) -> Problem {
    with_code(error, ErrorKind::NotFound, Code::ConversationNotFound)
}

/// The same, where what is invalid is a query parameter.
fn of_parameters(error: Error) -> Problem {
    match error.kind() {
        ErrorKind::Invalid => with_code(error, ErrorKind::Invalid, Code::InvalidParameter),
        _ => of_conversation(error),
    }
}

/// What is not found, or not ready, is a turn of a conversation that is there.
fn of_turn(error: Error) -> Problem {
    match error.kind() {
        ErrorKind::Conflict => with_code(error, ErrorKind::Conflict, Code::TurnPending),
        _ => with_code(error, ErrorKind::NotFound, Code::TurnNotFound),
    }
}

/// A more exact code for errors of a kind.
pub fn with_code(error: Error, kind: ErrorKind, code: Code) -> Problem {
    if error.kind() != kind {
        return error.into();
    }
    let problem = Problem::new(code, error.to_string());
    match error.hint() {
        Some(hint) => problem.with_hint(hint),
        None => problem,
    }
}
