//! `/v1/session`: who a key belongs to, and the cookie that the page gets for one.

use actix_web::http::StatusCode;
use actix_web::http::header::SET_COOKIE;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tributary_store::keys::Grant;

use super::caller::Caller;
use super::json;
use crate::operations::Operations;
use crate::problem::Problem;

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionInformation {
    /// Whether this server wants keys; where it does not, everybody who reaches it may do
    /// everything.
    pub wants_keys: bool,
    /// Id of the key, `ISSUER#SUBJECT` of a token, or `proxy:USER` as a trusted proxy says; `null`
    /// without one. Documents name users by it in `attributes.access`.
    pub key: Option<String>,
    /// What people call the key, or the user of a token as it says; absent where there is no name.
    /// Two may be called the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Roles: objects with `role` (`reader`, `publisher`, `builder`, `administrator`) and what it
    /// is for.
    #[schemars(with = "Vec<Value>")]
    pub roles: Vec<Grant>,
    /// Groups whose documents it may read; none where it may read all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The highest security level that it may read; absent where it may read all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clearance: Option<u8>,
}

/// `GET /v1/session`.
pub async fn get(
    operations: web::Data<Operations>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    json(StatusCode::OK, &information(&operations, &caller))
}

/// `POST /v1/session`: signs the page in. The key or token comes in `Authorization`, as everywhere.
pub async fn begin(
    operations: web::Data<Operations>,
    caller: Caller,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let cookie = operations.authentication.cookie((&request).into()).await?;
    let mut response = HttpResponse::Ok();
    if let Some(cookie) = cookie {
        response.insert_header((SET_COOKIE, cookie));
    }
    Ok(response.json(information(&operations, &caller)))
}

/// `DELETE /v1/session`: signs the page out.
pub async fn end(operations: web::Data<Operations>, request: HttpRequest) -> HttpResponse {
    let cookie = operations.authentication.end_session(request.headers());
    HttpResponse::NoContent()
        .insert_header((SET_COOKIE, cookie))
        .finish()
}

fn information(operations: &Operations, caller: &Caller) -> SessionInformation {
    let viewer = caller.viewer();
    SessionInformation {
        wants_keys: operations.authentication.wants_keys(),
        key: caller.key().map(str::to_owned),
        name: caller.name().map(str::to_owned),
        roles: caller.roles().to_vec(),
        groups: viewer
            .map(|viewer| viewer.groups.clone())
            .unwrap_or_default(),
        clearance: viewer.map(|viewer| viewer.clearance),
    }
}
