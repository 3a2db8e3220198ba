//! What a server's refusal means: its status, its JSON and its headers as a reason.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::error::{ChatError, Reason};

/// Characters of a server's words that a message quotes.
const MAXIMUM_QUOTED_CHARACTERS: usize = 300;

/// A reply with a status other than 200.
#[derive(Debug)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// The body, as much of it as was read.
    pub body: String,
    /// When to come back, from the headers.
    pub retry_after: Option<Duration>,
}

/// Words by which servers say that a prompt is too long.
const OF_LENGTH: [&str; 6] = [
    "exceed_context_size",
    "context_length_exceeded",
    "maximum context length",
    "context size",
    "context window",
    "range of input length",
];
/// Words by which servers say that no money is left, which waiting does not change.
const OF_QUOTA: [&str; 4] = [
    "insufficient_quota",
    "insufficient balance",
    "arrearage",
    "allocationquota",
];

impl Refusal {
    /// The server's own words.
    pub fn message(&self) -> String {
        let text = match serde_json::from_str::<Value>(&self.body) {
            Ok(json) => words_of(&json).unwrap_or_else(|| self.body.clone()),
            Err(_) => self.body.clone(),
        };
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(MAXIMUM_QUOTED_CHARACTERS).collect()
    }

    /// Why.
    pub fn reason(&self) -> Reason {
        let body = self.body.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| body.contains(word));
        match self.status {
            402 => Reason::QuotaUsedUp,
            429 if says(&OF_QUOTA) => Reason::QuotaUsedUp,
            429 => Reason::RateLimited,
            408 | 500 | 502 | 503 | 504 | 529 => Reason::Overloaded,
            401 | 403 if says(&OF_QUOTA) => Reason::QuotaUsedUp,
            401 | 403 => Reason::Denied,
            400 | 404 if says(&["model_not_found", "does not exist"]) => Reason::UnknownModel,
            404 if says(&["model"]) => Reason::UnknownModel,
            301..=399 | 404 | 405 => Reason::NotAnEndpoint,
            _ if says(&OF_LENGTH) => Reason::TooLong,
            _ => Reason::Refused,
        }
    }

    /// As a failed call of an endpoint.
    pub fn into_error(self, endpoint: &str, model: &str) -> ChatError {
        let reason = self.reason();
        let message = format!(
            "endpoint `{endpoint}` answered {}: {}",
            self.status,
            self.message()
        );
        let failed = ChatError::new(reason, message).with_retry_after(self.retry_after);
        match hint(reason, endpoint, model) {
            Some(hint) => failed.with_hint(hint),
            None => failed,
        }
    }
}

/// What the user can do about it.
pub fn hint(reason: Reason, endpoint: &str, model: &str) -> Option<String> {
    let section = super::config::section(endpoint);
    Some(match reason {
        Reason::Denied => format!("set {section}.api_key or .api_key_file"),
        Reason::UnknownModel => {
            format!("set {section}.model to a model that the server has; it has no `{model}`")
        }
        Reason::NotAnEndpoint => format!(
            "{section}.url is the address of an OpenAI-compatible API without \
             `/chat/completions`, such as http://127.0.0.1:8000/v1"
        ),
        Reason::TooLong => format!("set {section}.context_tokens to what the server has"),
        Reason::Unreachable => format!("start the server, or correct {section}.url"),
        Reason::Deadline => format!(
            "the server is there and slow: set {section}.parallel to the calls that it takes at the \
             same time, and {section}.first_piece_timeout_ms to how long a reply may be waited for"
        ),
        Reason::QuotaUsedUp => "top up the account at the provider".to_owned(),
        _ => return None,
    })
}

/// The message in an error's JSON, wherever a server puts it.
pub fn words_of(json: &Value) -> Option<String> {
    let error = json.get("error").unwrap_or(json);
    let words = [
        error.as_str(),
        error["message"].as_str(),
        json["message"].as_str(),
        json["detail"].as_str(),
    ];
    let message = words.into_iter().flatten().next()?;
    Some(message.to_owned())
}

/// `Retry-After`: seconds, or a date of HTTP.
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(value)
        .ok()?;
    let until = SystemTime::from(date).duration_since(now);
    Some(until.unwrap_or(Duration::ZERO))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> Refusal {
        Refusal {
            status,
            body: body.to_owned(),
            retry_after: None,
        }
    }

    #[test]
    fn refusals_of_all_servers_have_their_reason() {
        let cases = [
            (
                400,
                r#"{"error":{"code":400,"message":"request (6030 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}"#,
                Reason::TooLong,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000"}"#,
                Reason::TooLong,
            ),
            (
                429,
                r#"{"error":{"code":"insufficient_quota"}}"#,
                Reason::QuotaUsedUp,
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached"}}"#,
                Reason::RateLimited,
            ),
            (402, "Insufficient Balance", Reason::QuotaUsedUp),
            (503, "", Reason::Overloaded),
            (
                401,
                r#"{"error":{"message":"Invalid API Key"}}"#,
                Reason::Denied,
            ),
            (
                404,
                r#"{"error":{"message":"model \"x\" not found, try pulling it first"}}"#,
                Reason::UnknownModel,
            ),
            (404, "<html>nginx</html>", Reason::NotAnEndpoint),
            (302, "", Reason::NotAnEndpoint),
            (400, r#"{"error":"messages is empty"}"#, Reason::Refused),
        ];
        for (status, body, reason) in cases {
            assert_eq!(refusal(status, body).reason(), reason, "{status} {body}");
        }
    }

    #[test]
    fn the_servers_words_are_quoted() {
        let words = |body: &str| refusal(400, body).message();
        assert_eq!(
            words(r#"{"error":{"message":"no  such\nthing"}}"#),
            "no such thing"
        );
        assert_eq!(words(r#"{"error":"busy"}"#), "busy");
        assert_eq!(words(r#"{"detail":"Not Found"}"#), "Not Found");
        assert_eq!(words("plain"), "plain");
        assert_eq!(
            words(&"长".repeat(10_000)).chars().count(),
            MAXIMUM_QUOTED_CHARACTERS
        );
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let seconds = |value: &str| retry_after(value, now).map(|pause| pause.as_secs());
        assert_eq!(seconds("7"), Some(7));
        assert_eq!(seconds("0.5"), Some(0));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:30 GMT"), Some(0));
        assert_eq!(seconds("-3"), None);
        assert_eq!(seconds("soon"), None);
    }
}
