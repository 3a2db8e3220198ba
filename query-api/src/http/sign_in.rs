//! `/sign-in`: the way of a browser to the identity provider and back. For people, not programs: a
//! failure leads to the page, which shows its code.

use actix_web::http::StatusCode;
use actix_web::http::header::{LOCATION, SET_COOKIE};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

use super::json as answer;
use crate::authentication::identity::login::{Login, Returned};
use crate::operations::Operations;
use crate::problem::{Code, Problem};

/// `GET /sign-in/ways`: whether there is another way in than a key.
pub async fn ways(operations: web::Data<Operations>) -> Result<HttpResponse, Problem> {
    let has_provider = operations.authentication.login().is_some();
    answer(StatusCode::OK, &json!({"provider": has_provider}))
}

/// `GET /sign-in`: sends the browser to the provider.
pub async fn begin(
    operations: web::Data<Operations>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let login = offered(&operations)?;
    Ok(match login.begin().await {
        Ok(begun) => see_other(&begun.location, &[begun.cookie]),
        Err(problem) => refused(login, &request, &problem),
    })
}

/// `GET /sign-in/callback`: takes back whom the provider sends.
pub async fn callback(
    operations: web::Data<Operations>,
    returned: web::Query<Returned>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let login = offered(&operations)?;
    let signed_in = operations
        .authentication
        .sign_in(login, &returned, request.headers());
    Ok(match signed_in.await {
        Ok(cookie) => see_other(login.page().as_str(), &[cookie, login.forget()]),
        Err(problem) => refused(login, &request, &problem),
    })
}

fn offered(operations: &Operations) -> Result<&Login, Problem> {
    operations.authentication.login().ok_or_else(|| {
        Problem::new(
            Code::RouteNotFound,
            "this server has no identity provider to sign in with",
        )
        .with_hint("sign in with a key, or set query_api.server.identity.login")
    })
}

fn refused(login: &Login, request: &HttpRequest, problem: &Problem) -> HttpResponse {
    let (code, route) = (problem.code().as_str(), request.path());
    tracing::info!(target: "tributary_audit", method = "GET", route, code, "nobody was signed in");
    let mut location = login.page().clone();
    location.query_pairs_mut().append_pair("refused", code);
    see_other(location.as_str(), &[login.forget()])
}

fn see_other(location: &str, cookies: &[String]) -> HttpResponse {
    let mut response = HttpResponse::SeeOther();
    response.insert_header((LOCATION, location));
    for cookie in cookies {
        response.append_header((SET_COOKIE, cookie.as_str()));
    }
    response.finish()
}
