//! Tries the endpoint of a language model for `doctor`, within seconds where it does not answer.

use std::sync::Arc;
use std::time::Duration;

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
    use std::net::TcpListener;

    use super::*;

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
