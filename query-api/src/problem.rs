//! The errors of the HTTP interface: one table of codes, and RFC 9457 problems made of them.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_retrieval::SearchError;
use tributary_schemas::ask::AskFailure;
use tributary_schemas::error::cut;
use tributary_schemas::{Error, ErrorKind};

use crate::audit;
use crate::trace_id;

const MAXIMUM_DETAIL_CHARACTERS: usize = 4000;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal, $status:literal, $title:literal, $kind:ident;)+) => {
        /// What went wrong, for programs. Codes are stable: they may be added, never renamed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Code {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name used in JSON.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// HTTP status that it is answered with.
            pub fn status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            /// The same words for every problem of this code.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }

            /// The error kind that it is one of.
            pub fn kind(self) -> ErrorKind {
                match self { $(Self::$variant => ErrorKind::$kind),+ }
            }
        }
    };
}

codes! {
    /// A value breaks a rule.
    Invalid => "invalid", 400, "The request is not valid", Invalid;
    /// The body is not JSON, TOML or a form as its content type says.
    MalformedBody => "malformed_body", 400, "The body cannot be read", Invalid;
    /// A field that does not exist; the detail names it and the known ones.
    UnknownField => "unknown_field", 400, "The body has an unknown field", Invalid;
    /// A query parameter that does not exist or does not parse.
    InvalidParameter => "invalid_parameter", 400, "A query parameter is not valid", Invalid;
    /// A search without a question.
    EmptyQuery => "empty_query", 400, "The query is empty", Invalid;
    /// A question over the size limit.
    QueryTooLong => "query_too_long", 413, "The query is too long", Invalid;
    /// A body over the size limit.
    BodyTooLarge => "body_too_large", 413, "The body is too large", Invalid;
    /// A range of bytes that a file does not have.
    RangeNotSatisfiable => "range_not_satisfiable", 416, "The file has no such bytes", Invalid;
    /// A content type that the route does not read.
    UnsupportedMediaType => "unsupported_media_type", 415, "The content type is not supported", Unsupported;
    /// Well formed, but of a kind that nothing here handles.
    Unsupported => "unsupported", 422, "Nothing here handles this", Unsupported;
    /// Bytes that should decode do not.
    Corrupt => "corrupt", 422, "The content is damaged", Corrupt;
    /// A knowledge set that does not exist; the detail names it and the nearest known one.
    UnknownKnowledgeSet => "unknown_knowledge_set", 404, "The knowledge set does not exist", NotFound;
    /// A document that was never accepted.
    DocumentNotFound => "document_not_found", 404, "The document does not exist", NotFound;
    /// A dead letter that does not exist (any more).
    DeadLetterNotFound => "dead_letter_not_found", 404, "The dead letter does not exist", NotFound;
    /// A conversation that does not exist, or is another caller's.
    ConversationNotFound => "conversation_not_found", 404, "The conversation does not exist", NotFound;
    /// A turn that its conversation does not have.
    TurnNotFound => "turn_not_found", 404, "The conversation has no such turn", NotFound;
    /// A user of whom no profile is kept.
    UserProfileNotFound => "user_profile_not_found", 404, "There is no profile of this user", NotFound;
    /// No such path.
    RouteNotFound => "route_not_found", 404, "There is nothing at this path", NotFound;
    /// Something named does not exist.
    NotFound => "not_found", 404, "Something named does not exist", NotFound;
    /// The path exists, but not with this method.
    MethodNotAllowed => "method_not_allowed", 405, "The path does not have this method", Invalid;
    /// Something newer is already there.
    Conflict => "conflict", 409, "Something newer is already there", Conflict;
    /// A question of the conversation is still being answered, or the answer is rated too early.
    TurnPending => "turn_pending", 409, "A question of the conversation is still being answered", Conflict;
    /// The same idempotency key came with another body.
    IdempotencyMismatch => "idempotency_mismatch", 422, "The idempotency key was used for another request", Conflict;
    /// A request with the same idempotency key is still being worked on.
    IdempotencyInProgress => "idempotency_in_progress", 409, "The same request is still being worked on", Conflict;
    /// Whoever asked stopped the answer.
    Stopped => "stopped", 409, "The answer was stopped", Conflict;
    /// No key was shown, or none that the server knows.
    Unauthenticated => "unauthenticated", 401, "A key is needed", Denied;
    /// The time of the key is over, or a newer one took its place.
    KeyExpired => "key_expired", 401, "The key is expired", Denied;
    /// The key was revoked.
    KeyRevoked => "key_revoked", 401, "The key is revoked", Denied;
    /// A token that cannot be read, or without what each must say.
    TokenMalformed => "token_malformed", 401, "The token cannot be read", Denied;
    /// A token that is signed in a way that is not allowed.
    TokenAlgorithm => "token_algorithm_not_allowed", 401, "The token's algorithm is not allowed", Denied;
    /// A token that is signed with a key that the identity provider does not publish.
    TokenKeyUnknown => "token_key_unknown", 401, "The token's key is not known", Denied;
    /// A token whose signature is wrong.
    TokenSignature => "token_signature_invalid", 401, "The token's signature is wrong", Denied;
    /// A token of another issuer.
    TokenIssuer => "token_issuer_wrong", 401, "The token is of another issuer", Denied;
    /// A token for another service.
    TokenAudience => "token_audience_wrong", 401, "The token is for another service", Denied;
    /// A token whose time is over.
    TokenExpired => "token_expired", 401, "The token is expired", Denied;
    /// A token whose time has not come.
    TokenNotYetValid => "token_not_yet_valid", 401, "The token is not valid yet", Denied;
    /// Nobody came back from the identity provider, or not in the browser that was sent there.
    SignInFailed => "sign_in_failed", 401, "Signing in did not succeed", Denied;
    /// The keys of the identity provider cannot be had; they may come back.
    IdentityUnavailable => "identity_unavailable", 503, "The identity provider cannot be reached", Unavailable;
    /// The caller may not do this.
    Denied => "denied", 403, "This is not allowed", Denied;
    /// Too many searches or large bodies at once; come again after the time in `Retry-After`.
    Overloaded => "overloaded", 429, "Too much is asked at once", Exhausted;
    /// A caller's limit was reached; the detail says which, and `Retry-After` when to come again.
    RateLimited => "rate_limited", 429, "Too much was asked in too short a time", Exhausted;
    /// A body that came too slowly, or stopped.
    BodyTooSlow => "body_too_slow", 408, "The body came too slowly", Timeout;
    /// A limit was reached (disk, quota); room may appear.
    Exhausted => "exhausted", 507, "A limit of the server was reached", Exhausted;
    /// Something that the server needs is away; it may come back.
    Unavailable => "unavailable", 503, "The server cannot answer at the moment", Unavailable;
    /// An operation took too long.
    Timeout => "timeout", 504, "An operation took too long", Timeout;
    /// A bug of ours.
    Internal => "internal", 500, "The server failed", Internal;
}

impl From<ErrorKind> for Code {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Invalid => Self::Invalid,
            ErrorKind::Unsupported => Self::Unsupported,
            ErrorKind::Corrupt => Self::Corrupt,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Conflict => Self::Conflict,
            ErrorKind::Denied => Self::Denied,
            ErrorKind::Exhausted => Self::Exhausted,
            ErrorKind::Unavailable => Self::Unavailable,
            ErrorKind::Timeout => Self::Timeout,
            ErrorKind::Internal => Self::Internal,
        }
    }
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    code: Code,
    detail: String,
    hint: Option<String>,
    /// Whether the detail is for the log alone.
    is_of_inside: bool,
    /// What the caller is told in its place.
    outward: Option<&'static str>,
}

/// How a problem is written: RFC 9457, `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemBody {
    /// `urn:tributary:problem:` and the code.
    pub r#type: String,
    /// The same words for every problem of this code.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// What is wrong in this request, and where.
    pub detail: String,
    /// What went wrong, for programs.
    pub code: Code,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Finds the request in logs and traces; 32 hexadecimal digits.
    pub trace_id: String,
}

impl Problem {
    /// A problem; the detail says what and where.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        // It may quote what was sent, which may be a whole request.
        cut(&mut detail, MAXIMUM_DETAIL_CHARACTERS);
        Self {
            code,
            detail,
            hint: None,
            is_of_inside: code == Code::Internal,
            outward: None,
        }
    }

    /// Adds what the caller can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What went wrong.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What is wrong in this request, and where.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// What can be done about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// As an event and a turn of a conversation keep it.
    pub fn failure(&self) -> AskFailure {
        let body = self.body(String::new());
        AskFailure {
            code: body.code.as_str().to_owned(),
            detail: body.detail,
            hint: body.hint,
        }
    }

    /// As it is written. A failure of the inside is told in the log, not to the caller.
    pub fn body(&self, trace_id: String) -> ProblemBody {
        let told = match (self.code, self.is_of_inside) {
            (Code::Internal, _) => Some("the server failed"),
            (_, true) => Some("the server lacks something that its machine has to give"),
            _ => self.outward,
        };
        let detail = told.map_or_else(
            || self.detail.clone(),
            |told| format!("{told}; its log has the details under this trace id"),
        );
        ProblemBody {
            r#type: format!("urn:tributary:problem:{}", self.code.as_str()),
            title: self.code.title().to_owned(),
            status: self.code.status(),
            detail,
            code: self.code,
            hint: self.hint.clone(),
            trace_id,
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}

impl From<AskFailure> for Problem {
    fn from(failure: AskFailure) -> Self {
        let code = Code::ALL.iter().find(|code| code.as_str() == failure.code);
        Self {
            code: code.copied().unwrap_or(Code::Internal),
            detail: failure.detail,
            hint: failure.hint,
            is_of_inside: false,
            outward: None,
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self {
            code: code_of(&error),
            detail: error.to_string(),
            hint: error.hint().map(str::to_owned),
            is_of_inside: error.kind() == ErrorKind::Internal,
            outward: error.outward(),
        }
    }
}

/// What the machine lacks (handles, memory) and what its files refuse passes: the caller may come
/// again.
fn code_of(error: &Error) -> Code {
    let is_of_caller = !matches!(
        error.kind(),
        ErrorKind::Internal | ErrorKind::Denied | ErrorKind::NotFound
    );
    match is_of_caller || !error.is_held() {
        true => error.kind().into(),
        false => Code::Unavailable,
    }
}

impl From<SearchError> for Problem {
    fn from(error: SearchError) -> Self {
        let code = match &error {
            SearchError::EmptyQuery => Code::EmptyQuery,
            SearchError::QueryTooLong { .. } | SearchError::LogTooLong { .. } => Code::QueryTooLong,
            SearchError::Invalid(_) => Code::Invalid,
            SearchError::UnknownKnowledgeSet(_) => Code::UnknownKnowledgeSet,
            // What a search does not find is what it searches in: an index that somebody removed.
            SearchError::Failed(failed) if failed.kind() == ErrorKind::NotFound => {
                Code::Unavailable
            }
            SearchError::Failed(failed) => code_of(failed),
        };
        let outward = match &error {
            SearchError::Failed(failed) => failed.outward(),
            _ => None,
        };
        let listed = match code {
            Code::UnknownKnowledgeSet => Some("GET /v1/knowledge-sets lists those that exist"),
            Code::Unavailable => Some(
                "GET /health/readyz says what is missing; `tributary knowledge-sets reindex --all` builds an index that is gone again from the log",
            ),
            _ => None,
        };
        Self {
            code,
            detail: error.to_string(),
            hint: error.hint().or(listed).map(str::to_owned),
            is_of_inside: code == Code::Internal,
            outward,
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let error = Self::new(problem.code.kind(), problem.detail);
        match problem.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        audit::fails_with(self.code.as_str());
        if self.status_code().is_server_error() {
            tracing::error!(code = self.code.as_str(), detail = %self.detail, "request failed");
        }
        let body = serde_json::to_vec(&self.body(trace_id::current())).unwrap_or_else(|error| {
            tracing::error!(%error, "a problem cannot be written");
            Vec::new()
        });
        let mut response = HttpResponse::build(self.status_code());
        if matches!(
            self.status_code(),
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
        ) {
            response.insert_header(("retry-after", "1"));
        }
        response.content_type("application/problem+json").body(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_code_of_its_kind_and_codes_are_unique() {
        for kind in ErrorKind::ALL {
            assert_eq!(Code::from(kind).kind(), kind);
        }
        let mut names: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(
            Code::ALL
                .iter()
                .all(|code| (400..600).contains(&code.status()))
        );
    }

    #[test]
    fn a_detail_that_quotes_a_whole_request_is_cut() {
        let problem = Problem::new(Code::UnknownField, "长".repeat(1_000_000));
        assert!(problem.detail().chars().count() < 2 * MAXIMUM_DETAIL_CHARACTERS);
    }

    #[test]
    fn an_internal_failure_tells_the_caller_nothing_of_the_inside() {
        let problem = Problem::from(Error::new(ErrorKind::Internal, "cannot open /secret/path"));
        assert!(!problem.body("t".into()).detail.contains("secret"));
        let handles = std::io::Error::from_raw_os_error(24);
        let problem = Problem::from(Error::io("cannot open /secret/path", &handles));
        let body = problem.body("t".into());
        assert_eq!((body.status, body.code), (503, Code::Unavailable));
        assert!(!body.detail.contains("secret"), "{}", body.detail);
        // ENOSPC and EROFS: nothing that the caller did.
        for (code, status) in [(28, 507), (30, 503)] {
            let error = std::io::Error::from_raw_os_error(code);
            let problem = Problem::from(Error::io("cannot write /secret/path", &error));
            let body = problem.body("t".into());
            assert_eq!(body.status, status);
            assert!(!body.detail.contains("secret"), "{}", body.detail);
            assert!(problem.detail().contains("secret"), "for the log");
        }
        let problem = Problem::from(Error::new(ErrorKind::Invalid, "bad").with_hint("good"));
        assert_eq!(problem.body("t".into()).hint.as_deref(), Some("good"));
        assert_eq!(Error::from(problem).full_message(), "bad (hint: good)");
    }
}
