//! Cleaning steps that are services, against one that misbehaves: what each answer means for the
//! document, how often a service is called, and what of it reaches the reason.
#![allow(clippy::unwrap_used)]

mod step_server;
#[path = "../src/test_config.rs"]
mod test_config;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use step_server::{Behaviour, HUGE_BYTES, StepServer, echo};
use tributary_ingest::external::{Changes, ExternalSteps};
use tributary_models::service::{ServiceObserver, SharedServiceObserver};
use tributary_schemas::{CleanDocument, Disposition, Error, ErrorKind, Result};
use tributary_taxonomy::SourceProfiles;

#[derive(Default)]
struct Outcomes(Mutex<Vec<&'static str>>);

impl ServiceObserver for Outcomes {
    fn attempt(&self, service: &str, outcome: &'static str, _: Duration) {
        assert_eq!(service, "wiki/mask");
        self.0.lock().unwrap().push(outcome);
    }

    fn away(&self, _: &str, _: bool) {}
}

struct Case {
    steps: ExternalSteps,
    outcomes: Arc<Outcomes>,
}

impl Case {
    fn try_new(url: &str, settings: &str) -> Result<Self> {
        let profiles = SourceProfiles::from_toml(&format!(
            "[[source_profile]]\nname = \"wiki\"\nsource = \"wiki\"\ncleaners = [{{ step = \
             \"external\", name = \"mask\", url = \"{url}\", version = \"1\"{settings} }}]"
        ))?;
        let mut config: tributary_ingest::Config = test_config::config();
        config.external.retry_pause_ms = 10;
        config.external.circuit_pause_seconds = 1;
        let outcomes = Arc::new(Outcomes::default());
        let observer: SharedServiceObserver = Arc::clone(&outcomes) as _;
        let steps = ExternalSteps::new(profiles.profile("wiki"), &config.external, &observer)?;
        Ok(Self { steps, outcomes })
    }

    fn new(server: &StepServer) -> Self {
        let settings = ", timeout_seconds = 1, patience_seconds = 3";
        Self::try_new(&server.url, settings).unwrap()
    }

    async fn run(&self) -> Result<(CleanDocument, Vec<Changes>)> {
        self.steps.run(document()).await
    }

    fn outcomes(&self) -> Vec<&'static str> {
        self.outcomes.0.lock().unwrap().clone()
    }
}

fn document() -> CleanDocument {
    let mut clean = CleanDocument {
        markdown: "# Relays\n\nCall 555-0100.\n".to_owned(),
        ..CleanDocument::default()
    };
    clean.document.document_id = "wiki:relays.md".to_owned();
    clean.document.version = 7;
    clean.document.source = "wiki".to_owned();
    clean.document.title = "Relays".to_owned();
    clean
}

/// The end of a document: its reason, which never says where the service is.
async fn failure(case: &Case, server: &StepServer) -> Error {
    let error = case.run().await.unwrap_err();
    assert_eq!(error.disposition(), Disposition::DeadLetter, "{error}");
    assert!(error.is_of_record_alone());
    let message = error.full_message();
    assert!(message.starts_with("external step `mask`"), "{message}");
    let address = server
        .url
        .trim_end_matches("/clean")
        .trim_start_matches("http://");
    assert!(!message.contains(address), "{message}");
    error
}

fn html(status: &'static str) -> Behaviour {
    let body = "<html>/srv/secret/path: Traceback</html>".to_owned();
    Behaviour::Raw(status, "Content-Type: text/html\r\n", body)
}

#[tokio::test]
async fn a_document_is_changed_as_the_service_says() {
    let server = StepServer::start(|_, request| {
        let mut reply = echo(request);
        let text = request["markdown"].as_str().unwrap();
        reply["markdown"] = text.replace("555-0100", "***").into();
        reply["tags"] = json!(["masked"]);
        Behaviour::Reply(reply)
    });
    let case = Case::new(&server);
    let (clean, changes) = case.run().await.unwrap();
    assert_eq!(clean.markdown, "# Relays\n\nCall ***.\n");
    assert_eq!(clean.document.tags, ["masked"]);
    assert_eq!(changes[0].changed, ["text", "tags"]);
    assert_eq!(case.outcomes(), ["ok"]);
    let (head, request) = server.requests().remove(0);
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(request["title"], "Relays");
    assert_eq!(request["version"], 7);
}

#[tokio::test]
async fn nothing_changes_without_a_body_or_without_a_change() {
    let nothing = Behaviour::Raw("204 No Content", "", String::new());
    for server in [
        StepServer::always(nothing),
        StepServer::start(|_, request| Behaviour::Reply(echo(request))),
    ] {
        let case = Case::new(&server);
        assert_eq!(case.run().await.unwrap().0, document());
        assert_eq!(case.outcomes(), ["unchanged"]);
    }
}

/// No second attempt: the service would say the same again.
#[tokio::test]
async fn bad_answers_are_the_end_of_the_document_at_once() {
    let json_type = "Content-Type: application/json\r\n";
    let raw = |status, body: &str| Behaviour::Raw(status, json_type, body.to_owned());
    let other = |field: &str, value: Value| {
        let mut reply = json!({"document_id": "wiki:relays.md", "version": 7});
        reply[field] = value;
        Behaviour::Reply(reply)
    };
    let redirect = "Location: http://127.0.0.1:9/admin\r\n";
    for (behaviour, outcome, named) in [
        (
            other("document_id", json!("x")),
            "bad_reply",
            "another document",
        ),
        (
            other("version", json!(8)),
            "bad_reply",
            "version 8 instead of 7",
        ),
        (other("acl", json!([])), "bad_reply", "unknown field `acl`"),
        (other("markdown", json!(1)), "bad_reply", "not as asked for"),
        (raw("200 OK", ""), "empty", "an empty body"),
        (
            raw("200 OK", "{\"document_id\": "),
            "bad_reply",
            "not as asked for",
        ),
        (html("200 OK"), "malformed", "`text/html` instead of JSON"),
        (html("400 Bad Request"), "refused", "answered 400"),
        (
            raw("422 No", "{\"detail\": \"no title\"}"),
            "refused",
            "answered 422: no title",
        ),
        (raw("401 No", "{}"), "denied", "answered 401"),
        (
            Behaviour::Raw("302 Found", redirect, String::new()),
            "refused",
            "redirects are not followed",
        ),
    ] {
        let server = StepServer::always(behaviour);
        let case = Case::new(&server);
        let error = failure(&case, &server).await;
        assert!(error.to_string().contains(named), "{named} in {error}");
        assert!(!error.to_string().contains("/srv"), "{error}");
        assert_eq!(case.outcomes(), [outcome], "{error}");
        assert_eq!(server.calls(), 1);
    }
}

#[tokio::test]
async fn five_hundred_megabytes_are_read_up_to_the_limit_only() {
    let server = StepServer::always(Behaviour::Huge);
    let case = Case::try_new(&server.url, ", maximum_reply_bytes = 100000").unwrap();
    let error = failure(&case, &server).await;
    assert!(
        error.to_string().contains("limit of 100000 bytes"),
        "{error}"
    );
    assert_eq!(case.outcomes(), ["too_large"]);
    // What lies in the buffers of the connection was sent as well.
    assert!(server.sent() < HUGE_BYTES / 10, "{}", server.sent());
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    for (first, outcome) in [
        (html("500 Internal Server Error"), "overloaded"),
        (html("503 Service Unavailable"), "overloaded"),
        (Behaviour::Close, "unreachable"),
        (Behaviour::Half, "broken_off"),
        (Behaviour::Hang, "deadline"),
        (Behaviour::Trickle, "deadline"),
    ] {
        let server = StepServer::start(move |call, request| match call {
            0 => first.clone(),
            _ => Behaviour::Reply(echo(request)),
        });
        let case = Case::new(&server);
        case.run().await.unwrap();
        assert_eq!(case.outcomes(), [outcome, "unchanged"]);
    }
}

#[tokio::test]
async fn a_service_that_wants_fewer_calls_gets_them_when_it_says() {
    let server = StepServer::start(|call, request| match call {
        0 => Behaviour::Raw(
            "429 Too Many Requests",
            "Retry-After: 1\r\n",
            "{}".to_owned(),
        ),
        _ => Behaviour::Reply(echo(request)),
    });
    let case = Case::new(&server);
    let started = Instant::now();
    case.run().await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(case.outcomes(), ["rate_limited", "unchanged"]);

    let much_later = "Retry-After: 3600\r\n";
    let server = StepServer::always(Behaviour::Raw("429 No", much_later, "{}".to_owned()));
    let case = Case::new(&server);
    let error = failure(&case, &server).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(server.calls(), 2, "once more before its patience ends");
}

#[tokio::test]
async fn attempts_are_bounded() {
    let server = StepServer::always(Behaviour::Raw("429 No", "", "{}".to_owned()));
    let case = Case::try_new(&server.url, ", retries = 2").unwrap();
    failure(&case, &server).await;
    assert_eq!(server.calls(), 3);
}

#[tokio::test]
async fn a_service_that_hangs_costs_each_document_its_patience_and_no_more() {
    let server = StepServer::always(Behaviour::Hang);
    let settings = ", timeout_seconds = 1, patience_seconds = 3, parallel = 2, waiting = 4";
    let case = Case::try_new(&server.url, settings).unwrap();
    let started = Instant::now();
    let documents = (0..40).map(|_| case.run());
    let ended = futures_of(documents).await;
    assert!(ended.iter().all(Result::is_err));
    assert!(
        started.elapsed() < Duration::from_secs(9),
        "{:?}",
        started.elapsed()
    );
    let reasons: Vec<String> = ended
        .into_iter()
        .map(|ended| ended.unwrap_err().to_string())
        .collect();
    let said = |words: &str| {
        reasons
            .iter()
            .filter(|reason| reason.contains(words))
            .count()
    };
    assert!(
        said("as many documents wait for it as may (4)") >= 30,
        "{reasons:?}"
    );
    assert!(
        said("was away for 3 s") + said("did not answer") >= 1,
        "{reasons:?}"
    );

    server.answer(|_, request| Behaviour::Reply(echo(request)));
    tokio::time::sleep(Duration::from_millis(1100)).await;
    case.run().await.unwrap();
}

/// All of them side by side.
async fn futures_of<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_over = true;
        for (future, done) in &mut running {
            if done.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *done = Some(value),
                    std::task::Poll::Pending => is_over = false,
                }
            }
        }
        match is_over {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    running.into_iter().filter_map(|(_, done)| done).collect()
}

/// Its patience begins with its turn: many documents of a slow service are no reason to give one up.
#[tokio::test]
async fn waiting_for_a_turn_costs_no_patience() {
    let server = StepServer::start(|_, request| {
        std::thread::sleep(Duration::from_millis(400));
        Behaviour::Reply(echo(request))
    });
    let settings = ", timeout_seconds = 1, patience_seconds = 1, parallel = 1";
    let case = Case::try_new(&server.url, settings).unwrap();
    let ended = futures_of((0..6).map(|_| case.run())).await;
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
}

#[tokio::test]
async fn a_service_that_is_back_within_the_patience_gets_the_document() {
    let server = StepServer::start(|call, request| match call {
        0..4 => html("503 Service Unavailable"),
        _ => Behaviour::Reply(echo(request)),
    });
    let settings = ", retries = 3, patience_seconds = 20";
    let case = Case::try_new(&server.url, settings).unwrap();
    case.run().await.unwrap();
    assert_eq!(server.calls(), 5, "three attempts, then one a second");
}

#[test]
fn settings_are_checked_by_name() {
    let url = "http://127.0.0.1:9/clean";
    for (url, settings, named) in [
        ("", "", "`url` is missing"),
        ("not an address", "", "`url` is no address"),
        ("file:///etc/passwd", "", "scheme `file`"),
        ("http://me:secret@h/", "", "credentials"),
        (url, ", parallel = 0", "`parallel` must be at least 1"),
        (url, ", retries = -1", "`retries`"),
        (url, ", timeout_seconds = 0", "`timeout_seconds`"),
        (
            url,
            ", timeot_seconds = 3",
            "unknown setting `timeot_seconds`",
        ),
    ] {
        let error = Case::try_new(url, settings).err().unwrap();
        let message = error.full_message();
        assert!(message.contains(named), "{named} in {message}");
        assert!(
            message.contains("source profile wiki: cleaning step external"),
            "{message}"
        );
        assert!(!message.contains("secret"), "{message}");
    }
}
