//! `POST /retrieval`: the interface that Dify asks of an external knowledge base. A knowledge base
//! of Dify is one of our knowledge sets; conditions on metadata become our filter, or the request is
//! refused (`conditions.rs`).

mod conditions;

use actix_web::http::StatusCode;
use actix_web::http::header::AUTHORIZATION;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tributary_retrieval::Principal;
use tributary_schemas::search::{Hit, SearchRequest};
use tributary_schemas::{Filter, strict};

use self::conditions::MetadataCondition;
use crate::audit;
use crate::http::body;
use crate::http::caller::Caller;
use crate::http::search::find;
use crate::problem::{Code, Problem};
use crate::server::ServerState;
use crate::trace_id;

/// Codes of Dify's interface; everything else has the HTTP status as its code.
const MALFORMED_AUTHORIZATION: u16 = 1001;
const NOT_AUTHORIZED: u16 = 1002;
const UNKNOWN_KNOWLEDGE: u16 = 2001;

/// Body of `POST /retrieval`. Fields that are not known are refused: one could be a condition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetrievalRequest {
    /// Id of a knowledge set.
    knowledge_id: String,
    /// The question.
    query: String,
    /// How much is wanted.
    #[serde(deserialize_with = "strict::object")]
    retrieval_setting: RetrievalSetting,
    /// Conditions on what is found; none where it is `null`.
    #[serde(default)]
    metadata_condition: Option<MetadataCondition>,
}

/// How much is wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RetrievalSetting {
    /// Most records.
    top_k: usize,
    /// Lowest score of a record, 0 to 1; 0 or `null` for any.
    #[serde(default)]
    score_threshold: Option<f32>,
}

/// Answer of `POST /retrieval`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RetrievalResponse {
    /// Best first.
    records: Vec<Record>,
}

/// A passage.
#[derive(Debug, Serialize, JsonSchema)]
struct Record {
    /// Its text as Markdown.
    content: String,
    /// Its relevance: the estimated probability that it answers the question, 0 to 1.
    score: f32,
    /// Title of the document.
    title: String,
    /// Where it is from: `document_id`, `source`, `path`, `section`, `pages`, `url` and what is
    /// known of the document by name.
    metadata: Map<String, Value>,
}

/// Answer of a request that failed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RetrievalError {
    /// 1001: malformed `Authorization`; 1002: not allowed; 2001: no such knowledge set; the HTTP
    /// status for everything else.
    error_code: u16,
    /// What is wrong, and what can be done about it.
    error_msg: String,
}

/// `POST /retrieval`.
pub async fn retrieve(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    if let Some(refused) = malformed_authorization(&request) {
        return refused;
    }
    let answered = async {
        let wanted: RetrievalRequest = body::read_json(&state, &request, payload).await?;
        records(&state, wanted, &caller.principal).await
    };
    match answered.await {
        Ok(response) => HttpResponse::Ok().json(response),
        Err(problem) => failed(&problem),
    }
}

/// Where no key is wanted, a client that writes the header as Dify does not is told all the same.
fn malformed_authorization(request: &HttpRequest) -> Option<HttpResponse> {
    let header = request.headers().get(AUTHORIZATION)?.to_str();
    let key = header.ok().and_then(|value| value.split_once(' '));
    let is_bearer =
        key.is_some_and(|(scheme, key)| scheme.eq_ignore_ascii_case("bearer") && !key.is_empty());
    let what = "Authorization is not of the form `Bearer <api-key>`";
    (!is_bearer).then(|| {
        error(
            StatusCode::FORBIDDEN,
            MALFORMED_AUTHORIZATION,
            what.to_owned(),
        )
    })
}

async fn records(
    state: &ServerState,
    wanted: RetrievalRequest,
    principal: &Principal,
) -> Result<RetrievalResponse, Problem> {
    let condition = wanted.metadata_condition;
    let filter = condition.map(|condition| condition.filter()).transpose()?;
    let threshold = wanted.retrieval_setting.score_threshold;
    let request = SearchRequest {
        query: wanted.query,
        filter: Filter {
            // Also where it is empty: that is no knowledge set either, and never all of them.
            knowledge_sets: Some(vec![wanted.knowledge_id]),
            ..filter.unwrap_or_default()
        },
        top_k: Some(wanted.retrieval_setting.top_k),
        minimum_relevance: threshold.filter(|threshold| *threshold != 0.0),
        ..SearchRequest::default()
    };
    let response = find(state, request, principal).await?;
    Ok(RetrievalResponse {
        records: response.hits.into_iter().map(record).collect(),
    })
}

fn record(hit: Hit) -> Record {
    let mut metadata = Map::new();
    for (name, value) in &hit.attributes.custom {
        metadata.insert(name.clone(), value.clone().into());
    }
    for (name, value) in hit.attributes.texts() {
        metadata.insert(name.to_owned(), value.into());
    }
    let known = [
        ("document_id", json!(hit.document_id)),
        ("document_version", json!(hit.version)),
        ("chunk_id", json!(hit.chunk_id)),
        ("source", json!(hit.source)),
        ("path", json!(hit.source_path)),
        ("section", json!(hit.section_path.join(" › "))),
        ("pages", json!(hit.pages)),
        ("url", json!(hit.url)),
        ("tags", json!(hit.tags)),
        ("knowledge_sets", json!(hit.knowledge_sets)),
    ];
    metadata.extend(known.map(|(name, value)| (name.to_owned(), value)));
    Record {
        score: hit.relevance.unwrap_or(hit.score),
        content: hit.text,
        title: hit.title,
        metadata,
    }
}

/// A problem as Dify reads it.
pub(crate) fn failed(problem: &Problem) -> HttpResponse {
    audit::fails_with(problem.code().as_str());
    let status = problem.code().status();
    if status >= 500 {
        tracing::error!(code = problem.code().as_str(), detail = %problem, "request failed");
    }
    let code = match problem.code() {
        Code::UnknownKnowledgeSet => UNKNOWN_KNOWLEDGE,
        Code::Denied | Code::Unauthenticated | Code::KeyExpired | Code::KeyRevoked => {
            NOT_AUTHORIZED
        }
        _ => status,
    };
    let told = problem.body(trace_id::current());
    let message = match told.hint {
        Some(hint) => format!("{} ({hint})", told.detail),
        None => told.detail,
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    error(status, code, message)
}

fn error(status: StatusCode, error_code: u16, error_msg: String) -> HttpResponse {
    HttpResponse::build(status).json(RetrievalError {
        error_code,
        error_msg,
    })
}
