//! Tries the endpoint of a language model for `doctor`, within seconds where it does not answer.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tributary_models::chat::RoleModel;
use tributary_models::chat::probe::{self, Probe};
use tributary_schemas::{Error, ErrorKind, Result};

/// For any answer at all.
const ANSWER: Duration = Duration::from_secs(5);
/// For the whole conversation with a server that answers; a model on a slow machine needs some.
const CONVERSATION: Duration = Duration::from_secs(45);

/// `Timeout` where nothing answers at an address, be it that something listens. Whatever else is
/// wrong, also a refused connection, the conversation says better.
pub fn answers(address: &str) -> Result<()> {
    answers_within(address, ANSWER)
}

fn answers_within(address: &str, patience: Duration) -> Result<()> {
    if !address.starts_with("http://") && !address.starts_with("https://") {
        return Ok(());
    }
    let settings = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(patience));
    let agent: ureq::Agent = settings.build().into();
    let models = format!("{}/models", address.trim_end_matches('/'));
    match agent.get(models).call() {
        Err(ureq::Error::Timeout(_)) => {
            let what = format!("nothing answers within {} s", patience.as_secs());
            Err(Error::new(ErrorKind::Timeout, what)
                .with_hint("something listens there and hangs, or a firewall drops what is sent: look at the server of the model"))
        }
        _ => Ok(()),
    }
}

/// Tokens of context that the server says it has for one request, where it says so: vLLM with its
/// models, llama.cpp as a property of a slot.
pub fn context(address: &str) -> Option<usize> {
    if !address.starts_with("http://") && !address.starts_with("https://") {
        return None;
    }
    let settings = ureq::Agent::config_builder().max_redirects(0);
    let agent: ureq::Agent = settings.timeout_global(Some(ANSWER)).build().into();
    let address = address.trim_end_matches('/');
    let read = |url: String, pointer: &str| {
        let answer: Value = agent.get(url).call().ok()?.body_mut().read_json().ok()?;
        let tokens = answer.pointer(pointer)?.as_u64()?;
        usize::try_from(tokens).ok().filter(|tokens| *tokens > 0)
    };
    let root = address.strip_suffix("/v1").unwrap_or(address);
    let of_models = read(format!("{address}/models"), "/data/0/max_model_len");
    of_models.or_else(|| {
        read(
            format!("{root}/props"),
            "/default_generation_settings/n_ctx",
        )
    })
}

/// Asks for a reply in JSON and for one in words.
pub async fn probe(model: &Arc<RoleModel>) -> Result<Probe> {
    let Ok(probed) = tokio::time::timeout(CONVERSATION, probe::probe(model)).await else {
        let what = format!(
            "it answers, but does not reply within {} s",
            CONVERSATION.as_secs()
        );
        return Err(Error::new(ErrorKind::Timeout, what)
            .with_hint("ask again: a model that is being loaded takes longer. If it is as slow later, its server is too busy or too small"));
    };
    probed.map_err(|error| error.error().clone())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Answers one request for each of these paths with JSON, any other with 404.
    fn answering(answers: &[(&'static str, &'static str)]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let answers = answers.to_vec();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = [0; 2048];
                let read = stream.read(&mut head).unwrap();
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                let found = answers.iter().find(|(known, _)| *known == path);
                let (status, body) = found.map_or(("404 None", ""), |(_, body)| ("200 OK", *body));
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    #[test]
    fn the_context_is_read_where_servers_tell_it() {
        let models = r#"{"data": [{"id": "q", "max_model_len": 4096}]}"#;
        assert_eq!(context(&answering(&[("/v1/models", models)])), Some(4096));
        let props = r#"{"default_generation_settings": {"n_ctx": 2048}}"#;
        let llama = [
            ("/v1/models", r#"{"data": [{"id": "q"}]}"#),
            ("/props", props),
        ];
        assert_eq!(context(&answering(&llama)), Some(2048));
        assert_eq!(context(&answering(&[("/v1/models", "no JSON")])), None);
        assert_eq!(context("/srv/script.json"), None);
    }

    #[test]
    fn what_hangs_is_told_from_what_is_wrong_in_another_way() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", silent.local_addr().unwrap());
        let error = answers_within(&address, Duration::from_secs(1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert_eq!(error.to_string(), "nothing answers within 1 s");
        drop(silent);
        answers_within(&address, Duration::from_secs(1)).unwrap();
        answers_within("/srv/script.json", Duration::from_secs(1)).unwrap();
    }
}
