//! What servers do wrong, each a case: what comes of it, and how often the server was asked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::json;
use tributary_models::chat::capabilities::{LengthField, Structured, Thinking};
use tributary_models::chat::config::EndpointConfig;
use tributary_models::chat::openai::OpenAiModel;
use tributary_models::chat::structured::{ask, reply_schema};
use tributary_models::chat::{ChatModel, Delta, Finish, Format, Reason};

use crate::server::{
    Seen, Server, Step, data, end, good, head, piece, refusal, send, stream, whole,
};
use crate::setup::{PATIENCE, client, endpoint, request, role, until};

/// What comes of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Text(&'static str),
    Fails(Reason),
}
use Outcome::{Fails, Text};

struct Case {
    name: &'static str,
    answer: fn(&Seen) -> Vec<Step>,
    outcome: Outcome,
    requests: usize,
}

const fn case(
    name: &'static str,
    answer: fn(&Seen) -> Vec<Step>,
    outcome: Outcome,
    requests: usize,
) -> Case {
    Case {
        name,
        answer,
        outcome,
        requests,
    }
}

fn first_then_good(seen: &Seen, first: Vec<Step>) -> Vec<Step> {
    match seen.number {
        1 => first,
        _ => good(&["Paris"]),
    }
}

fn with(steps: &[Step], more: Vec<Step>) -> Vec<Step> {
    steps.iter().cloned().chain(more).collect()
}

fn reasoning(text: &str) -> Step {
    data(&json!({"choices": [{"delta": {"reasoning_content": text, "content": null}}]}))
}

const HTML: &str = "<html><body>Welcome: log in</body></html>";

fn cases() -> Vec<Case> {
    vec![
        case("a good reply", |_| good(&["Pa", "ris"]), Text("Paris"), 1),
        case(
            "429 that passes",
            |seen| first_then_good(seen, whole(429, "text/plain", "retry-after: 0\r\n", "slow")),
            Text("Paris"),
            2,
        ),
        case(
            "429 that stays",
            |_| refusal(429, "slow down"),
            Fails(Reason::RateLimited),
            3,
        ),
        case(
            "429 with Retry-After beyond the deadline",
            |_| whole(429, "text/plain", "retry-after: 3600\r\n", "slow"),
            Fails(Reason::RateLimited),
            1,
        ),
        case(
            "429 without money",
            |_| refusal(429, "You exceeded your quota: insufficient_quota"),
            Fails(Reason::QuotaUsedUp),
            1,
        ),
        case(
            "500 that passes",
            |seen| first_then_good(seen, refusal(500, "oops")),
            Text("Paris"),
            2,
        ),
        case(
            "503 that stays",
            |_| whole(503, "text/html", "", HTML),
            Fails(Reason::Overloaded),
            3,
        ),
        case(
            "half a stream is not tried again",
            |_| vec![stream(), piece("Par")],
            Fails(Reason::BrokenOff),
            1,
        ),
        case(
            "a stream that is closed before its first piece is",
            |seen| first_then_good(seen, vec![stream()]),
            Text("Paris"),
            2,
        ),
        case(
            "a connection that is closed without a word",
            |seen| first_then_good(seen, vec![]),
            Text("Paris"),
            2,
        ),
        case(
            "half an event at the end",
            |_| {
                vec![
                    stream(),
                    piece("Paris"),
                    send("data: {\"choices\": [{\"del"),
                ]
            },
            Fails(Reason::Malformed),
            1,
        ),
        case(
            "no empty line and no [DONE] at the end",
            |_| {
                let last =
                    json!({"choices": [{"delta": {"content": "is"}, "finish_reason": "stop"}]});
                vec![stream(), piece("Par"), send(format!("data: {last}"))]
            },
            Text("Paris"),
            1,
        ),
        case(
            "lines that end with carriage returns",
            |_| {
                let text = json!({"choices": [{"delta": {"content": "Paris"}}]});
                vec![
                    stream(),
                    send(format!("data:{text}\r\n\r\ndata: [DONE]\r\n\r\n")),
                ]
            },
            Text("Paris"),
            1,
        ),
        case(
            "JSON that is none",
            |_| vec![stream(), send("data: {oops}\n\n")],
            Fails(Reason::Malformed),
            1,
        ),
        case(
            "10 MB of reasoning",
            |_| {
                let text = "x".repeat(10_000);
                with(&[stream()], (0..1000).map(|_| reasoning(&text)).collect())
            },
            Fails(Reason::TooLarge),
            1,
        ),
        case(
            "a line without an end",
            |_| {
                vec![
                    stream(),
                    send("data: "),
                    send("x".repeat(3 << 20)),
                    Step::Hang,
                ]
            },
            Fails(Reason::TooLarge),
            1,
        ),
        case(
            "reasoning within tags, cut anywhere",
            |_| good(&["<thi", "nk>London? ", "No.</", "think>\n\nPar", "is"]),
            Text("Paris"),
            1,
        ),
        case(
            "reasoning that no tag opens, in one piece",
            |_| good(&["London? No.\n</think>\n\nParis"]),
            Text("Paris"),
            1,
        ),
        case(
            "reasoning that no tag opens, when some of it was given out",
            |_| good(&["London? ", "No.\n</th", "ink>\n\nParis"]),
            Fails(Reason::Reasoning),
            1,
        ),
        case(
            "reasoning in a field of its own",
            |_| with(&[stream(), reasoning("London?"), piece("Paris")], end()),
            Text("Paris"),
            1,
        ),
        case(
            "reasoning in two fields at once",
            |_| {
                let delta =
                    json!({"reasoning": "hm", "reasoning_content": "hm", "content": "Paris"});
                with(
                    &[stream(), data(&json!({"choices": [{"delta": delta}]}))],
                    end(),
                )
            },
            Text("Paris"),
            1,
        ),
        case(
            "reasoning and nothing else",
            |_| with(&[stream(), reasoning("London?")], end()),
            Fails(Reason::Empty),
            3,
        ),
        case(
            "nothing at all",
            |seen| first_then_good(seen, with(&[stream()], end())),
            Text("Paris"),
            2,
        ),
        case(
            "a whole message instead of a stream",
            |_| {
                let body = json!({"choices": [{"message": {"role": "assistant", "content": "Paris"},
                    "finish_reason": "stop"}], "usage": {"input_tokens": 11, "output_tokens": 5}});
                whole(
                    200,
                    "application/json; charset=utf-8",
                    "",
                    &body.to_string(),
                )
            },
            Text("Paris"),
            1,
        ),
        case(
            "content in parts, nulls, fields that nobody knows",
            |_| {
                let parts = json!([{"type": "text", "text": "Paris"}]);
                let odd = json!({"choices": [{"delta": {"content": parts, "refusal": null}, "logprobs": null}],
                    "usage": null, "timings": {"x": 1}, "model": null});
                with(
                    &[stream(), data(&json!({"choices": []})), data(&odd)],
                    end(),
                )
            },
            Text("Paris"),
            1,
        ),
        case(
            "keep-alives before and between",
            |_| {
                let alive = send(": keep-alive\n\n\n");
                let pause = Step::Pause(Duration::from_millis(20));
                with(
                    &[
                        stream(),
                        alive.clone(),
                        pause.clone(),
                        piece("Par"),
                        alive,
                        pause,
                        piece("is"),
                    ],
                    end(),
                )
            },
            Text("Paris"),
            1,
        ),
        case(
            "no usage",
            |_| vec![stream(), piece("Paris"), send("data: [DONE]\n\n")],
            Text("Paris"),
            1,
        ),
        case(
            "a character in two packets",
            |_| {
                let event = "data: {\"choices\":[{\"delta\":{\"content\":\"巴黎\"}}]}\n\n";
                let (first, second) = event.as_bytes().split_at(38);
                let pause = Step::Pause(Duration::from_millis(20));
                with(&[stream(), send(first), pause, send(second)], end())
            },
            Text("巴黎"),
            1,
        ),
        case(
            "an error at the start of a stream",
            |seen| {
                let error = json!({"error": {"message": "overloaded", "code": 503}});
                first_then_good(seen, vec![stream(), data(&error)])
            },
            Text("Paris"),
            2,
        ),
        case(
            "an error in the middle of a stream",
            |_| {
                let error = json!({"error": {"message": "out of memory", "code": 500}});
                with(&[stream(), piece("Par"), data(&error)], end())
            },
            Fails(Reason::BrokenOff),
            1,
        ),
        case(
            "an error line of an old server",
            |_| {
                vec![
                    stream(),
                    piece("Par"),
                    send("error: {\"message\":\"slot\"}\n\n"),
                ]
            },
            Fails(Reason::BrokenOff),
            1,
        ),
        case(
            "a wrong key",
            |_| refusal(401, "Invalid API Key"),
            Fails(Reason::Denied),
            1,
        ),
        case(
            "an unknown model",
            |_| refusal(404, "model 'test-model' not found"),
            Fails(Reason::UnknownModel),
            1,
        ),
        case(
            "a prompt that the server finds too long",
            |_| {
                refusal(
                    400,
                    "request (6030 tokens) exceeds the available context size (4096 tokens)",
                )
            },
            Fails(Reason::TooLong),
            1,
        ),
        case(
            "a web page that is not there",
            |_| whole(404, "text/html", "", HTML),
            Fails(Reason::NotAnEndpoint),
            1,
        ),
        case(
            "a web page",
            |_| whole(200, "text/html", "", HTML),
            Fails(Reason::NotAnEndpoint),
            1,
        ),
        case(
            "JSON of another service",
            |_| whole(200, "application/json", "", "{\"status\": \"ok\"}"),
            Fails(Reason::NotAnEndpoint),
            1,
        ),
        case(
            "a redirection",
            |_| whole(302, "text/html", "location: http://127.0.0.1:1/\r\n", ""),
            Fails(Reason::NotAnEndpoint),
            1,
        ),
        case(
            "no HTTP",
            |_| vec![send("SSH-2.0-OpenSSH_9.6\r\n")],
            Fails(Reason::Unreachable),
            3,
        ),
        case(
            "a filter that withheld all",
            |_| {
                let withheld =
                    json!({"choices": [{"delta": {}, "finish_reason": "content_filter"}]});
                vec![stream(), data(&withheld), send("data: [DONE]\n\n")]
            },
            Fails(Reason::Empty),
            3,
        ),
    ]
}

/// The template of the model writes the opening tag: the first reply shows that.
#[tokio::test]
async fn reasoning_that_no_tag_opens_is_held_back_once_it_is_known() {
    let server = Server::start(|_| good(&["London? ", "No.\n</think>", "\n\nPar", "is"]));
    let role = role(&endpoint(&server.url));
    let failed = role.complete(&request("?")).await.unwrap_err();
    assert_eq!(failed.reason, Reason::Reasoning, "{failed}");
    for _ in 0..2 {
        assert_eq!(role.complete(&request("?")).await.unwrap().text, "Paris");
    }
}

/// One answer quoted the tag: the next shows that its model does not reason.
#[tokio::test]
async fn a_tag_that_was_quoted_once_holds_back_one_reply() {
    let replies: [&[&str]; 3] = [
        &["It ends so:\n", "</think>\n"],
        &["Par", "is"],
        &["Lon", "don"],
    ];
    let at = AtomicUsize::new(0);
    let server = Server::start(move |_| {
        let at = at.fetch_add(1, Ordering::Relaxed);
        good(replies.get(at).copied().unwrap_or_default())
    });
    let role = role(&endpoint(&server.url));
    let failed = role.complete(&request("?")).await.unwrap_err();
    assert_eq!(failed.reason, Reason::Reasoning, "{failed}");
    for (text, pieces) in [("Paris", 1), ("London", 2)] {
        let deltas: Vec<_> = role.stream(&request("?")).await.unwrap().collect().await;
        let shown: Vec<String> = deltas
            .into_iter()
            .filter_map(|delta| match delta {
                Ok(Delta::Text(text)) => Some(text),
                _ => None,
            })
            .collect();
        assert_eq!((shown.concat().as_str(), shown.len()), (text, pieces));
    }
}

#[tokio::test]
async fn every_fault_of_a_server_has_its_outcome() {
    for case in cases() {
        let server = Server::start(case.answer);
        let outcome = role(&endpoint(&server.url)).complete(&request("?")).await;
        match (&outcome, case.outcome) {
            (Ok(reply), Text(text)) => assert_eq!(reply.text, text, "{}", case.name),
            (Err(failed), Fails(reason)) => {
                assert_eq!(failed.reason, reason, "{}: {failed}", case.name);
            }
            _ => panic!("{}: {outcome:?} instead of {:?}", case.name, case.outcome),
        }
        assert_eq!(server.seen().len(), case.requests, "{}", case.name);
    }
}

#[tokio::test]
async fn nobody_listens() {
    let failed = role(&endpoint("http://127.0.0.1:1/v1"))
        .complete(&request("?"))
        .await
        .unwrap_err();
    assert_eq!(failed.reason, Reason::Unreachable);
    assert!(
        failed.error().hint().unwrap().contains("models.chat"),
        "{failed}"
    );
}

/// Deadlines that end at once what hangs; all others are long.
#[tokio::test]
async fn each_deadline_ends_a_call_and_the_connection() {
    type Answer = fn(&Seen) -> Vec<Step>;
    type Change = fn(&mut EndpointConfig);
    let cases: [(&str, Answer, Change); 4] = [
        (
            "no head",
            |_| vec![Step::Hang],
            |config| config.first_piece_timeout_ms = 50,
        ),
        (
            "no first piece, keep-alives are none",
            |_| {
                with(
                    &[stream()],
                    (0..200)
                        .flat_map(|_| [send(": x\n\n"), Step::Pause(Duration::from_millis(20))])
                        .collect(),
                )
            },
            |config| config.first_piece_timeout_ms = 200,
        ),
        (
            "no second piece",
            |_| vec![stream(), piece("Par"), Step::Hang],
            |config| config.piece_timeout_ms = 200,
        ),
        (
            "the whole",
            |_| vec![Step::Hang],
            |config| config.timeout_ms = 50,
        ),
    ];
    for (name, answer, shorten) in cases {
        let server = Server::start(answer);
        let mut config = endpoint(&server.url);
        shorten(&mut config);
        let failed = role(&config).complete(&request("?")).await.unwrap_err();
        assert_eq!(failed.reason, Reason::Deadline, "{name}: {failed}");
        until(name, || server.left() == 1).await;
        assert_eq!(server.seen().len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_reply_that_is_whole_does_not_wait_for_a_server_that_hangs() {
    let server = Server::start(|_| {
        let finish = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
        vec![stream(), piece("Paris"), data(&finish), Step::Hang]
    });
    let mut config = endpoint(&server.url);
    config.piece_timeout_ms = 200;
    let reply = role(&config).complete(&request("?")).await.unwrap();
    assert_eq!(reply.text, "Paris");
}

#[tokio::test]
async fn a_dropped_stream_closes_the_connection() {
    let server = Server::start(|_| vec![stream(), piece("Par"), Step::Hang]);
    let model = role(&endpoint(&server.url));
    let mut pieces = model.stream(&request("?")).await.unwrap();
    let first = pieces.next().await.unwrap().unwrap();
    assert_eq!(first, Delta::Text("Par".to_owned()));
    assert_eq!(server.left(), 0);
    drop(pieces);
    until("the server notices", || server.left() == 1).await;
}

#[tokio::test]
async fn a_dropped_call_closes_the_connection_before_the_first_piece() {
    let server = Server::start(|_| vec![Step::Hang]);
    let model = role(&endpoint(&server.url));
    let call = tokio::spawn(async move { model.complete(&request("?")).await });
    until("the request", || server.seen().len() == 1).await;
    call.abort();
    until("the server notices", || server.left() == 1).await;
}

#[tokio::test]
async fn the_callers_deadline_bounds_all_attempts() {
    let server = Server::start(|_| refusal(503, "busy"));
    let mut config = endpoint(&server.url);
    // Every pause is longer than the deadline.
    (config.retry_pause_ms, config.attempts) = (400_000, 100);
    let started = Instant::now();
    let failed = role(&config).complete(&request("?")).await.unwrap_err();
    assert_eq!(failed.reason, Reason::Overloaded);
    assert_eq!(server.seen().len(), 1);
    assert!(started.elapsed() < PATIENCE);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::start(|_| {
        let events = "data: {\"choices\":[{\"delta\":{\"content\":\"Paris\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let reply = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{events}",
            events.len()
        );
        vec![send(reply), Step::KeepOpen]
    });
    let model = role(&endpoint(&server.url));
    for _ in 0..5 {
        model.complete(&request("?")).await.unwrap();
    }
    assert_eq!(server.seen().len(), 5);
    assert!(server.connections() < 5, "{}", server.connections());
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

/// Refuses the fields that the body has, one after the other, as an old server does.
fn refuses(fields: &'static [(&'static str, &'static str)]) -> Server {
    Server::start(move |seen| {
        let refused = fields
            .iter()
            .find(|(pointer, _)| seen.body.pointer(pointer).is_some());
        match refused {
            Some((_, words)) => refusal(400, words),
            None => good(&["Here: {\"city\": \"Paris\"}"]),
        }
    })
}

#[tokio::test]
async fn a_field_that_is_refused_is_left_out_from_then_on() {
    let server = refuses(&[
        (
            "/response_format/json_schema",
            "response_format of type json_schema is not supported",
        ),
        ("/response_format", "unknown field response_format"),
        (
            "/stream_options",
            "stream_options: extra fields not permitted",
        ),
        (
            "/max_tokens",
            "'max_tokens' is not supported with this model",
        ),
        ("/temperature", "Unsupported value: 'temperature'"),
        ("/chat_template_kwargs", "chat_template_kwargs: unknown"),
        ("/top_logprobs", "logprobs is not available for this model"),
    ]);
    let mut config = endpoint(&server.url);
    config.thinking = Thinking::Off;
    let model = OpenAiModel::new("test", config).unwrap();
    let mut wish = request("?");
    wish.top_logprobs = 5;
    let city = ask::<City>(&model, &wish).await.unwrap().value;
    assert_eq!(city.city, "Paris");
    let asked = server.seen().len();
    assert_eq!(asked, 8, "one more for each field");
    let now = model.capabilities();
    assert_eq!(now.structured, Structured::Prompt);
    assert_eq!(now.length_field, LengthField::MaxCompletionTokens);

    ask::<City>(&model, &wish).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), asked + 1, "remembered");
    let last = &seen[asked].body;
    let rules = last["messages"][0]["content"].as_str().unwrap();
    assert!(
        rules.contains("JSON Schema") && rules.contains("\"city\""),
        "{rules}"
    );
    assert_eq!(last["max_completion_tokens"], 40);
}

#[tokio::test]
async fn a_refusal_that_names_no_field_is_final() {
    let server = Server::start(|_| refusal(400, "messages: the first one must be the user's"));
    let failed = client(&endpoint(&server.url)).complete(&request("?")).await;
    assert_eq!(failed.unwrap_err().reason, Reason::Refused);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_reply_far_over_the_length_that_was_asked_for_is_cut() {
    for pieces in [1, 2000] {
        let server = Server::start(move |_| {
            let piece = "天线的下倾角是六度。".repeat(20_000 / pieces);
            good(&vec![piece.as_str(); pieces])
        });
        let reply = role(&endpoint(&server.url)).complete(&request("?")).await;
        let reply = reply.unwrap();
        assert_eq!(reply.ending.finish, Finish::Length);
        assert!(
            (900..=40 * 24).contains(&reply.text.len()),
            "{}",
            reply.text.len()
        );
    }
}

#[tokio::test]
async fn a_second_try_that_does_not_fit_is_made_without_the_first_reply() {
    let server = Server::start(|seen| match seen.number {
        1 => good(&["no JSON"]),
        2 => refusal(400, "request exceeds the available context size"),
        _ => good(&["{\"city\": \"Paris\"}"]),
    });
    let model = client(&endpoint(&server.url));
    let reply = ask::<City>(model.as_ref(), &request("where"))
        .await
        .unwrap();
    assert_eq!(reply.value.city, "Paris");
    assert!(reply.is_second_try);
    let seen = server.seen();
    let sizes = seen
        .iter()
        .map(|seen| seen.body["messages"].as_array().unwrap().len());
    assert_eq!(sizes.collect::<Vec<_>>(), [2, 4, 2]);
    let last = seen[2].body["messages"][1]["content"].as_str().unwrap();
    assert!(
        last.starts_with("where") && last.contains("no JSON object"),
        "{last}"
    );
}

#[tokio::test]
async fn what_is_configured_is_sent() {
    let server = Server::start(|_| good(&["{\"city\": \"Paris\"}"]));
    let mut config = endpoint(&server.url);
    config.extra = "{\"top_p\": 0.8, \"seed\": 7}".to_owned();
    config.thinking = Thinking::Off;
    let mut asked = request("where");
    asked.format = Format::Json(reply_schema::<City>().unwrap());
    client(&config).complete(&asked).await.unwrap();
    let body = &server.seen()[0].body;
    assert_eq!(body["model"], "test-model");
    assert_eq!(body["stream"], true);
    assert_eq!(body["stream_options"]["include_usage"], true);
    assert_eq!(body["temperature"], 0.0);
    assert_eq!((&body["top_p"], &body["seed"]), (&json!(0.8), &json!(7)));
    assert_eq!(body["chat_template_kwargs"]["enable_thinking"], false);
    let format = &body["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["schema"]["required"][0], "city");
    assert_eq!(body["messages"][1]["role"], "user");
    assert_eq!(body["messages"][1]["content"], "where");
}

#[tokio::test]
async fn a_key_is_sent_and_never_told() {
    let server = Server::start(|_| refusal(401, "no"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "sk-from-a-file\n").unwrap();
    let mut config = endpoint(&server.url);
    config.api_key_file = file.display().to_string();
    let failed = role(&config).complete(&request("?")).await.unwrap_err();
    let sent = server.seen()[0].head.to_lowercase();
    assert!(
        sent.contains("authorization: bearer sk-from-a-file"),
        "{sent}"
    );
    config.api_key = serde_json::from_value(json!("sk-given")).unwrap();
    let told = format!("{failed:?} {failed} {config:?}");
    assert!(!told.contains("sk-"), "{told}");
    assert!(failed.error().hint().unwrap().contains("api_key_file"));

    config.api_key = serde_json::from_value(json!("two\nlines")).unwrap();
    let error = OpenAiModel::new("test", config.clone()).err().unwrap();
    assert!(!error.full_message().contains("two"), "{error}");
    config.api_key = serde_json::from_value(json!("")).unwrap();
    config.api_key_file = folder.path().join("absent").display().to_string();
    assert!(OpenAiModel::new("test", config).is_err());
}

#[tokio::test]
async fn usage_and_model_are_the_servers() {
    let server = Server::start(|_| good(&["Paris"]));
    let reply = client(&endpoint(&server.url))
        .complete(&request("?"))
        .await
        .unwrap();
    assert_eq!(reply.ending.usage.prompt_tokens, Some(11));
    assert_eq!(reply.ending.usage.completion_tokens, Some(5));
    assert_eq!(reply.ending.model, "served");
    let silent = Server::start(|_| vec![stream(), piece("Paris"), send("data: [DONE]\n\n")]);
    let reply = client(&endpoint(&silent.url))
        .complete(&request("?"))
        .await
        .unwrap();
    assert_eq!(reply.ending.usage.prompt_tokens, None);
    assert_eq!(reply.ending.model, "test-model");
}

#[tokio::test]
async fn a_page_of_ten_megabytes_is_not_read_to_its_end() {
    let server = Server::start(|_| {
        let page = send("<p>text</p>".repeat(1000));
        with(&[head(200, "text/html")], vec![page; 2000])
    });
    let failed = client(&endpoint(&server.url))
        .complete(&request("?"))
        .await
        .unwrap_err();
    assert!(
        matches!(failed.reason, Reason::TooLarge | Reason::NotAnEndpoint),
        "{failed}"
    );
}

#[tokio::test]
async fn a_key_that_a_server_says_back_is_in_no_message() {
    for steps in [
        (|| refusal(401, "Incorrect API key provided: sk-SECRET")) as fn() -> Vec<Step>,
        || {
            vec![
                stream(),
                send("data: {\"error\":{\"message\":\"key sk-SECRET is wrong\"}}\n\n"),
            ]
        },
    ] {
        let server = Server::start(move |_| steps());
        let mut config = endpoint(&server.url);
        config.api_key = serde_json::from_value(json!("sk-SECRET")).unwrap();
        let failed = role(&config).complete(&request("x")).await.unwrap_err();
        let said = format!("{failed} {failed:?}");
        assert!(!said.contains("SECRET") && said.contains('…'), "{said}");
    }
}
