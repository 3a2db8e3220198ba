//! `/v1/user-profiles`: what is known of users (画像), and how a request comes by it.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_retrieval::{Principal, SearchError};
use tributary_schemas::user_profile::{StoredUserProfile, UserProfile};
use tributary_schemas::{Error, ErrorKind};
use tributary_store::conversations::ConversationStore;

use super::caller::Caller;
use super::{body, json};
use crate::asking::owner;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// Answer of `PUT /v1/user-profiles/{user}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptUserProfile {
    /// What is kept now.
    #[serde(flatten)]
    pub stored: StoredUserProfile,
    /// Tags of it that no document has that the caller may find: they weigh nothing yet.
    pub unknown_tags: Vec<String>,
}

/// One page of profiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserProfilePage {
    /// By name of the user.
    pub user_profiles: Vec<StoredUserProfile>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
}

/// Parameters of `GET /v1/user-profiles`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserProfileParameters {
    /// `next` of the page before.
    after: Option<String>,
    /// Profiles on the page; the server's maximum when absent.
    limit: Option<usize>,
}

/// `PUT /v1/user-profiles/{user}`. A knowledge set that does not exist is refused; a tag may come
/// with documents that are yet to be published.
pub async fn put(
    state: web::Data<ServerState>,
    caller: Caller,
    user: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let profile: UserProfile = body::read_json(&state, &request, payload).await?;
    let known = state.knowledge_sets.current();
    known
        .check(&profile.preferred_sets)
        .map_err(SearchError::UnknownKnowledgeSet)?;
    let stored = state
        .conversations
        .put_user_profile(caller.owner(), &user, profile)
        .await?;
    let unknown_tags = unknown_tags(&state, &stored.profile, &caller.principal).await?;
    let kept = KeptUserProfile {
        stored,
        unknown_tags,
    };
    json(StatusCode::OK, &kept)
}

/// Where there are more tags than are counted, a rare one may be named that some document has.
async fn unknown_tags(
    state: &ServerState,
    profile: &UserProfile,
    principal: &Principal,
) -> Result<Vec<String>, Problem> {
    if profile.tag_weights.is_empty() {
        return Ok(Vec::new());
    }
    let tags = state.retriever.facets(principal).await?.tags;
    if tags.len() >= state.retriever.limits().facets.values {
        return Ok(Vec::new());
    }
    let is_unknown = |tag: &&String| !tags.iter().any(|known| known.value == **tag);
    let named = profile.tag_weights.keys().filter(is_unknown);
    Ok(named.cloned().collect())
}

/// `GET /v1/user-profiles/{user}`.
pub async fn get(
    state: web::Data<ServerState>,
    caller: Caller,
    user: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let found = state
        .conversations
        .user_profile(caller.owner(), &user)
        .await;
    json(StatusCode::OK, &found.map_err(of_user)?)
}

/// `DELETE /v1/user-profiles/{user}`.
pub async fn delete(
    state: web::Data<ServerState>,
    caller: Caller,
    user: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let store = &state.conversations;
    let deleted = store.delete_user_profile(caller.owner(), &user).await;
    deleted.map_err(of_user)?;
    Ok(HttpResponse::NoContent().finish())
}

/// `GET /v1/user-profiles`.
pub async fn list(
    state: web::Data<ServerState>,
    caller: Caller,
    parameters: web::Query<UserProfileParameters>,
) -> Result<HttpResponse, Problem> {
    let limit = state.page_limit(parameters.limit)?;
    let after = parameters.after.as_deref();
    let page = state
        .conversations
        .user_profiles(caller.owner(), after, limit)
        .await;
    let page = page.map_err(of_parameters)?;
    json(
        StatusCode::OK,
        &UserProfilePage {
            user_profiles: page.items,
            next: page.next,
        },
    )
}

/// Puts the stored profile of the user of a request beside their name.
pub(crate) async fn resolve(
    store: &dyn ConversationStore,
    principal: &Principal,
    user: Option<&str>,
    profile: &mut Option<UserProfile>,
) -> Result<(), Problem> {
    let Some(user) = user else {
        return Ok(());
    };
    if profile.is_some() {
        let what = "`user` and `user_profile` are both given";
        return Err(Problem::new(Code::Invalid, what).with_hint("leave one of them out"));
    }
    let stored = store.user_profile(owner(principal), user).await;
    *profile = Some(stored.map_err(of_user)?.profile);
    Ok(())
}

fn of_user(error: Error) -> Problem {
    with_code(error, ErrorKind::NotFound, Code::UserProfileNotFound)
}

fn of_parameters(error: Error) -> Problem {
    with_code(error, ErrorKind::Invalid, Code::InvalidParameter)
}

fn with_code(error: Error, kind: ErrorKind, code: Code) -> Problem {
    super::conversations::with_code(error, kind, code)
}
