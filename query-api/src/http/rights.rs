//! The door: which right each route needs. A route is registered through a right, which asks who
//! calls before the handler sees the request, so that there is none without.
//!
//! The table of all routes for people is `docs/rights.md`; a test walks it, `openapi.json` and the
//! server and compares the three.

use std::time::{Duration, Instant};

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::middleware::{Next, from_fn};
use actix_web::{
    FromRequest, Handler, HttpMessage, HttpRequest, HttpResponse, Responder, ResponseError, Route,
    web,
};
use tributary_store::keys::Role;

use super::absence;
use super::caller::Caller;
use super::watched::{self, Crowded};
use crate::audit::{self, Call};
use crate::dify;
use crate::limits::{Admission, TooMuch};
use crate::openai;
use crate::operations::Operations;
use crate::problem::{Code, Problem};

/// What a caller needs for a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Nothing: what is the same for everybody, or says no more than that the server runs.
    Open,
    /// Any key.
    AnyKey,
    /// One of these roles. Administrators have all.
    OneOf(&'static [Role]),
    /// That of an administrator, unless `query_api.server.open_metrics` lets everybody in.
    Metrics,
}

/// Search, ask, read.
pub const READ: Right = Right::OneOf(&[Role::Reader]);
/// Publish and delete; the handler looks at the source.
pub const PUBLISH: Right = Right::OneOf(&[Role::Publisher]);
/// What readers see of everything and publishers of their sources; the handler looks which.
pub const READ_OR_PUBLISH: Right = Right::OneOf(&[Role::Reader, Role::Publisher]);
/// Define sets and build; the handler looks at the sets.
pub const BUILD: Right = Right::OneOf(&[Role::Builder]);
/// What both need to know of sets.
pub const READ_OR_BUILD: Right = Right::OneOf(&[Role::Reader, Role::Builder]);
/// Everything else.
pub const ADMINISTER: Right = Right::OneOf(&[]);

impl Right {
    /// GET.
    pub fn get<F, A>(self, handler: F) -> Route
    where
        F: Handler<A>,
        A: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.guard(web::get().to(handler))
    }

    /// POST.
    pub fn post<F, A>(self, handler: F) -> Route
    where
        F: Handler<A>,
        A: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.guard(web::post().to(handler))
    }

    /// PUT.
    pub fn put<F, A>(self, handler: F) -> Route
    where
        F: Handler<A>,
        A: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.guard(web::put().to(handler))
    }

    /// PATCH.
    pub fn patch<F, A>(self, handler: F) -> Route
    where
        F: Handler<A>,
        A: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.guard(web::patch().to(handler))
    }

    /// DELETE.
    pub fn delete<F, A>(self, handler: F) -> Route
    where
        F: Handler<A>,
        A: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.guard(web::delete().to(handler))
    }

    /// Whatever comes.
    pub fn any<F, A>(self, handler: F) -> Route
    where
        F: Handler<A>,
        A: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.guard(web::route().to(handler))
    }

    fn guard(self, route: Route) -> Route {
        route.wrap(from_fn(
            move |operations: web::Data<Operations>,
                  request: ServiceRequest,
                  next: Next<BoxBody>| { admitted(self, operations, request, next) },
        ))
    }

    fn check(self, caller: &Caller, has_open_metrics: bool) -> Result<(), Problem> {
        let roles: &[Role] = match self {
            Self::Open | Self::AnyKey => return Ok(()),
            Self::Metrics if has_open_metrics => return Ok(()),
            Self::Metrics => &[],
            Self::OneOf(roles) => roles,
        };
        if caller.has_one_of(roles) {
            return Ok(());
        }
        let mut names: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
        names.push(Role::Administrator.as_str());
        let what = format!("this needs a key with the role {}", names.join(" or "));
        Err(Problem::new(Code::Denied, what)
            .with_hint("GET /v1/session shows the roles of a key; an administrator makes others"))
    }

    /// Who calls, and whether they may.
    async fn caller(
        self,
        operations: &Operations,
        request: &ServiceRequest,
    ) -> Result<(Caller, Admission), Refused> {
        let address = request.peer_addr().map(|address| address.ip());
        let is_open = self.is_open_in(operations);
        let identified = operations.authentication.caller(request.request().into());
        let (caller, admission) = match identified.await {
            Ok(caller) => match operations.limits.admit(&caller, address) {
                Ok(admission) => (caller, admission),
                Err(too_much) => return Err(Refused::of(caller, too_much.into())),
            },
            // A probe with a stale key is a probe.
            Err(_) if is_open => (Caller::nobody(), operations.limits.strange(address)?),
            Err(problem) => {
                if is_wrong_key(request, &problem) {
                    operations.limits.wrong_key(address)?;
                }
                operations.limits.strange(address)?;
                return Err(problem.into());
            }
        };
        let checked = self.check(&caller, operations.config.open_metrics);
        match checked.and_then(|()| self.check_newest(&caller, operations)) {
            Ok(()) => Ok((caller, admission)),
            Err(problem) => Err(Refused::of(caller, problem.into())),
        }
    }

    /// What shows documents to readers waits for nothing that could close them to these.
    fn check_newest(self, caller: &Caller, operations: &Operations) -> Result<(), Problem> {
        match self {
            Self::OneOf(roles) if roles.contains(&Role::Reader) => {
                operations.authentication.check_rights_are_known(caller)
            }
            _ => Ok(()),
        }
    }

    /// Whether it asks for nothing.
    fn is_open_in(self, operations: &Operations) -> bool {
        self == Self::Open || (self == Self::Metrics && operations.config.open_metrics)
    }
}

/// Why somebody is not let in.
struct Refused {
    problem: Problem,
    /// Who it is, where that is known.
    caller: Option<Box<Caller>>,
    /// When to come again.
    wait: Option<Duration>,
}

impl Refused {
    fn of(caller: Caller, refused: Self) -> Self {
        Self {
            caller: Some(Box::new(caller)),
            ..refused
        }
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self {
            problem,
            caller: None,
            wait: None,
        }
    }
}

impl From<TooMuch> for Refused {
    fn from(too_much: TooMuch) -> Self {
        Self {
            wait: Some(too_much.wait),
            ..too_much.problem.into()
        }
    }
}

/// Whether somebody may be guessing. Whoever has an expired or a revoked key had it once, and a
/// cookie may be another program's.
fn is_wrong_key(request: &ServiceRequest, problem: &Problem) -> bool {
    problem.code() == Code::Unauthenticated && request.headers().contains_key(AUTHORIZATION)
}

/// What the log says of a request with a key: who, what and with which outcome, never what was
/// asked or answered.
struct Visit(Option<(String, String, String)>);

impl Visit {
    /// Nothing of what is open to all: pages ask for that all the time.
    fn of(right: Right, request: &ServiceRequest, caller: &Caller) -> Self {
        let key = caller.key().filter(|_| right != Right::Open);
        let route = || request.match_pattern().unwrap_or_default();
        let visit = |key: &str| (key.to_owned(), request.method().to_string(), route());
        Self(key.map(visit))
    }

    fn end(self, status: StatusCode) {
        if let Some((key, method, route)) = self.0 {
            let status = status.as_u16();
            tracing::info!(target: "tributary_audit", key, method, route, status, "request");
        }
    }
}

/// As the caller of the route reads a problem.
fn refusal(request: &HttpRequest, refused: &Refused) -> HttpResponse {
    let route = request.match_pattern().unwrap_or_default();
    let problem = &refused.problem;
    let mut response = match route.as_str() {
        "/retrieval" => dify::failed(problem),
        "/v1/chat/completions" | "/v1/models" | "/v1/models/{id}" => openai::failed(problem),
        _ => problem.error_response(),
    };
    if response.status() == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Bearer realm=\"tributary\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    if let Some(wait) = refused.wait {
        // Whole seconds, and never too early.
        let seconds = wait.as_secs().saturating_add(1);
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Asks who calls, and passes the request on with the answer, or refuses it.
async fn admitted(
    right: Right,
    operations: web::Data<Operations>,
    mut request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let started = Instant::now();
    operations.authentication.note_uses();
    let mut call = match &operations.audit {
        Some(log) if !right.is_open_in(&operations) => Call::begin(log, &request),
        _ => Call::unrecorded(),
    };
    let (caller, admission) = match right.caller(&operations, &request).await {
        Ok(admitted) => admitted,
        Err(refused) => {
            let caller = refused.caller.as_deref();
            if let Some(caller) = caller {
                call.made_by(caller);
            }
            // Somebody without a key who asks too much would fill the record.
            if refused.wait.is_some() && caller.and_then(Caller::key).is_none() {
                call.forget();
            }
            let refusal = refuse(request.request(), &refused, &mut call).await;
            return Ok(request.into_response(refusal));
        }
    };
    call.made_by(&caller);
    let visit = Visit::of(right, &request, &caller);
    watched::request(&mut request, &admission);
    let principal = caller.principal.clone();
    request.extensions_mut().insert(caller);
    let answered = audit::within(call.trail(), next.call(request)).await;
    let status = answered.as_ref().map_or_else(
        |error| error.as_response_error().status_code(),
        ServiceResponse::status,
    );
    absence::before_leaving(&principal, status.as_u16(), started).await;
    visit.end(status);
    call.answered(status);
    match watched::answer(answered?, call, admission) {
        Ok(answer) => Ok(answer),
        Err(crowded) => {
            let Crowded {
                too_much,
                mut call,
                response,
            } = *crowded;
            let refusal = refuse(response.request(), &too_much.into(), &mut call).await;
            Ok(response.into_response(refusal))
        }
    }
}

/// The answer to who is not let in, in the log and in the record of the call.
async fn refuse(request: &HttpRequest, refused: &Refused, call: &mut Call) -> HttpResponse {
    tracing::info!(
        target: "tributary_audit",
        method = %request.method(),
        route = request.match_pattern(),
        code = refused.problem.code().as_str(),
        "a request was not let in"
    );
    let refusal = audit::within(call.trail(), async { refusal(request, refused) }).await;
    call.answered(refusal.status());
    refusal
}
