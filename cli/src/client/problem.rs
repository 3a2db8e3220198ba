//! What a server says that does not do what it is asked, as an error for people.

use std::fmt::{self, Display, Formatter};

use serde_json::Value;
use tributary_query_api::readiness::Readiness;
use tributary_schemas::{Error, ErrorKind};

/// An answer that is no success, in words.
#[derive(Debug)]
struct Answered {
    status: u16,
    message: String,
}

impl Display for Answered {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Answered {}

/// Whether what was asked may have been done all the same: the server did not answer, or says that it
/// does not know.
pub fn is_unconfirmed(error: &anyhow::Error) -> bool {
    let answered = error.downcast_ref::<Answered>();
    let is_away = |error: &Error| error.kind() == ErrorKind::Unavailable;
    answered.is_some_and(|answered| answered.status >= 500)
        || error.downcast_ref::<ureq::Error>().is_some()
        || error.downcast_ref::<Error>().is_some_and(is_away)
}

fn answered(status: u16, detail: String, hint: Option<&str>) -> anyhow::Error {
    let message = match hint {
        Some(hint) => format!("{detail}\nhint: {hint}"),
        None => detail,
    };
    Answered { status, message }.into()
}

/// The body of a refusal; one that breaks off says nothing, and the status is told all the same.
pub(super) fn text_of(response: &mut ureq::http::Response<ureq::Body>) -> String {
    response
        .body_mut()
        .read_to_string()
        .ok()
        .unwrap_or_default()
}

/// The error that an RFC 9457 problem stands for.
pub(super) fn problem(status: u16, body: &str) -> anyhow::Error {
    let Ok(problem) = serde_json::from_str::<Value>(body) else {
        return answered(
            status,
            format!("the server answered {status}: {}", body.trim()),
            None,
        );
    };
    if let Ok(readiness) = serde_json::from_value::<Readiness>(problem.clone()) {
        return not_ready(status, &readiness);
    }
    let text = |name: &str| {
        problem
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let detail = text("detail")
        .or_else(|| text("title"))
        .unwrap_or("no detail");
    let hint = text("hint").map(|hint| hint_of_verbs(text("code"), hint));
    answered(status, detail.to_owned(), hint)
}

/// What a server that is not ready lacks.
fn not_ready(status: u16, readiness: &Readiness) -> anyhow::Error {
    let lacking = || readiness.checks.iter().filter(|check| !check.ok);
    let details: Vec<String> = lacking()
        .map(|check| format!("{}: {}", check.name, check.detail))
        .collect();
    let detail = format!("the server is not ready: {}", details.join("; "));
    let hint = lacking().find_map(|check| check.hint.as_deref());
    answered(status, detail, hint)
}

/// A hint for people at the command line, where the server's names a route.
fn hint_of_verbs<'a>(code: Option<&str>, hint: &'a str) -> &'a str {
    if !hint.starts_with("GET /v1/") {
        return hint;
    }
    match code {
        Some("document_not_found") => {
            "`tributary documents list` shows ids and paths; --text finds a part of either"
        }
        Some("conversation_not_found") => {
            "`tributary conversations list` shows those that there are"
        }
        Some("dead_letter_not_found") => "`tributary dead-letters list` shows those that are open",
        Some("unknown_knowledge_set") => "`tributary knowledge-sets list` shows those that exist",
        _ => hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_ready_says_what_it_lacks() {
        let body = r#"{"ready": false, "checks": [
            {"name": "disk", "ok": true, "detail": "9 GB"},
            {"name": "search_index", "ok": false, "detail": "no answer", "hint": "start it"}]}"#;
        let said = problem(503, body).to_string();
        assert_eq!(
            said,
            "the server is not ready: search_index: no answer\nhint: start it"
        );
    }

    #[test]
    fn hints_name_verbs_and_not_routes() {
        let error = problem(
            404,
            r#"{"code": "document_not_found", "detail": "no `x`", "hint": "GET /v1/documents lists those"}"#,
        );
        let told = error.to_string();
        assert!(
            told.contains("tributary documents list") && !told.contains("GET /"),
            "{told}"
        );
    }

    #[test]
    fn a_problem_is_told_with_its_hint() {
        let error = problem(
            404,
            r#"{"detail": "no knowledge set `x`", "hint": "did you mean `y`?"}"#,
        );
        assert_eq!(
            error.to_string(),
            "no knowledge set `x`\nhint: did you mean `y`?"
        );
        assert_eq!(
            problem(502, "gone").to_string(),
            "the server answered 502: gone"
        );
    }

    #[test]
    fn what_may_have_been_done_is_told_from_what_was_refused() {
        assert!(is_unconfirmed(&problem(503, "{\"detail\": \"timed out\"}")));
        assert!(!is_unconfirmed(&problem(409, "{\"detail\": \"older\"}")));
        let lost = anyhow::Error::from(ureq::Error::ConnectionFailed).context("cannot reach it");
        assert!(is_unconfirmed(&lost));
        let unread = anyhow::Error::from(std::io::Error::other("gone")).context("cannot read a");
        assert!(!is_unconfirmed(&unread));
    }
}
