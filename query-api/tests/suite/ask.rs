//! Asking over HTTP: a real server, a scripted language model, answers as JSON and as events.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_models::chat::{ChatConfig, ChatModels, Role, SharedObserver, Unobserved};
use tributary_schemas::conversation::{Turn, TurnState};

use crate::common::backend::Settings;
use crate::common::client::{Answer, Server};
use crate::common::{self};

const EVENTS: (&str, &str) = ("Accept", "text/event-stream");
const JSON: (&str, &str) = ("Content-Type", "application/json");
const REFUSAL: &str = "The documents do not answer this question.";

/// A model for answers that says what a script says.
fn scripted(script: &Value) -> ChatModels {
    scripted_for(&[Role::Answer], script)
}

/// Models of these roles that say what a script says.
pub fn scripted_for(roles: &[Role], script: &Value) -> ChatModels {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.json");
    std::fs::write(&file, script.to_string()).unwrap();
    let mut config: ChatConfig = toml::from_str(include_str!("common/chat.toml")).unwrap();
    config.endpoint.script_file = file.to_str().unwrap().to_owned();
    let settings = config.roles[&Role::Answer].clone();
    config.roles = roles.iter().map(|role| (*role, settings.clone())).collect();
    let tokens = std::sync::Arc::new(tributary_models::tokens::estimate::EstimatedTokens);
    let observer: SharedObserver = std::sync::Arc::new(Unobserved);
    ChatModels::open(&config, &(tokens as _), &observer).unwrap()
}

pub async fn server(settings: Settings) -> Server {
    Server::start_with_settings(common::models(None), settings).await
}

pub async fn server_that_says(script: Value) -> Server {
    let chat = scripted(&script);
    server(Settings {
        chat,
        ..Settings::default()
    })
    .await
}

async fn ask(server: &Server, question: &str) -> Value {
    let answer = server.post("/v1/ask", &json!({"question": question})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

pub async fn stream(server: &Server, body: &Value) -> Answer {
    let body = body.to_string();
    let headers = [JSON, EVENTS];
    server
        .send("POST", "/v1/ask", &headers, body.as_bytes())
        .await
}

/// Name and data of each event.
pub fn events(answer: &Answer) -> Vec<(String, Value)> {
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = unchunked(&answer.body);
    let mut found = Vec::new();
    for block in body.split("\n\n") {
        let field = |name: &str| {
            let mut lines = block.lines();
            lines.find_map(|line| line.strip_prefix(name))
        };
        if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
            found.push((name.to_owned(), serde_json::from_str(data).unwrap()));
        }
    }
    found
}

/// The body of an answer in chunks.
pub fn unchunked(body: &str) -> String {
    let (mut rest, mut text) = (body.as_bytes(), Vec::new());
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        text.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    String::from_utf8(text).unwrap()
}

pub fn joined(events: &[(String, Value)]) -> String {
    let chunks = events.iter().filter(|(name, _)| name == "answer_chunk");
    chunks
        .map(|(_, data)| data["text"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_the_answer_is_word_for_word_with_its_sources() {
    let server = server(Settings::default()).await;
    let answer = ask(&server, "辅小区激活失败怎么处理 ERR-1024").await;
    assert_eq!(answer["verdict"], "extractive", "{answer}");
    assert_eq!(answer["degraded"], json!(["answer"]), "{answer}");
    assert_eq!(answer["language"], "zh");
    let text = answer["answer"].as_str().unwrap();
    let cited = answer["sources"].as_array().unwrap().iter();
    let cited: Vec<&Value> = cited.filter(|source| source["cited"] == true).collect();
    assert!(!cited.is_empty(), "{answer}");
    for source in cited {
        let number = source["number"].as_u64().unwrap();
        assert!(text.contains(&format!("[{number}]")), "{answer}");
        let characters: Vec<char> = source["text"].as_str().unwrap().chars().collect();
        for span in source["spans"].as_array().unwrap() {
            let bound = |name: &str| usize::try_from(span[name].as_u64().unwrap()).unwrap();
            let marked: String = characters[bound("start")..bound("end")].iter().collect();
            assert!(text.contains(&marked), "{marked} in {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_says_what_of_the_question_stands_nowhere() {
    let server = server(Settings::default()).await;
    let question = "What does the scheduler do with a zyxqoph?";
    let answer = ask(&server, question).await;
    assert_eq!(answer["unmatched_terms"], json!(["zyxqoph"]), "{answer}");
    assert_eq!(answer["unmet_filter"], json!(null), "{answer}");

    let body = json!({"question": question, "filter": {"tags": ["nobody has it"]}});
    let answer = server.post("/v1/ask", &body).await.json();
    let unmet = &answer["unmet_filter"]["values"];
    assert_eq!(unmet[0]["value"], "nobody has it", "{answer}");
    assert_eq!(answer["unmatched_terms"], json!(null), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_models_answer_streams_and_its_wrong_citations_are_seen_by_nobody() {
    let reply = "The scheduler picks the next task to run [1]. It is blue [97]. See `a[98]`.";
    let server =
        server_that_says(json!([{"prompt": "answer", "reply": reply, "piece_characters": 3}]))
            .await;
    let streamed = stream(&server, &json!({"question": "What does the scheduler do?"})).await;
    let events = events(&streamed);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let steps = [
        "thinking",
        "understanding",
        "thinking",
        "retrieval",
        "thinking",
    ];
    assert_eq!(names[..5], steps, "{names:?}");
    assert!(names.iter().filter(|name| **name == "answer_chunk").count() > 5);
    assert_eq!(names.iter().filter(|name| **name == "citation").count(), 1);
    let (last, done) = events.last().unwrap();
    assert_eq!(
        (last.as_str(), &done["verdict"]),
        ("done", &json!("partly")),
        "{done}"
    );
    let expected = "The scheduler picks the next task to run [1]. It is blue. See `a[98]`.";
    assert_eq!(done["answer"], expected);
    assert_eq!(joined(&events), expected);
    assert_eq!(done["removed_citations"], 1);
    assert_eq!(done["support"][0]["supported"], true, "{done}");
    assert_eq!(done["support"][1]["doubt"], "no_citation", "{done}");
    assert_eq!(done["sources"][0]["cited"], true);
    assert!(!streamed.body.contains("97]"), "{streamed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_answer_is_refused_with_the_fixed_sentence_alone() {
    let script =
        json!([{"prompt": "answer", "reply": format!("{REFUSAL} But the sky is blue [1].")}]);
    let server = server_that_says(script).await;
    let by_model = ask(&server, "What does the scheduler do?").await;
    let body = json!({"question": "What does it do?", "filter": {"tags": ["nobody has it"]}});
    let without_hits = server.post("/v1/ask", &body).await.json();
    for (answer, related) in [(by_model, true), (without_hits, false)] {
        assert_eq!(answer["verdict"], "refused", "{answer}");
        assert_eq!(answer["answer"], REFUSAL);
        assert_eq!(answer["sources"], json!([]));
        assert_eq!(!answer["related"].as_array().unwrap().is_empty(), related);
    }
}

/// A little relevant: a model may find the answer in it, best sentences would be a guess.
#[tokio::test(flavor = "multi_thread")]
async fn where_a_model_reads_the_passages_less_is_refused_before_it_does() {
    let mut config = common::answer_config();
    config.refuse_below = 1.0;
    config.refuse_below_with_model = 0.0;
    let scripts = [
        (None, "refused", json!([])),
        (
            Some(json!([{"failure": "unreachable"}])),
            "refused",
            json!(["answer"]),
        ),
        (
            Some(json!([{"reply": "The scheduler picks the next task [1]."}])),
            "answered",
            json!([]),
        ),
    ];
    for (script, verdict, degraded) in scripts {
        let settings = Settings {
            answer: config.clone(),
            chat: script.as_ref().map(scripted).unwrap_or_default(),
            ..Settings::default()
        };
        let answer = ask(&server(settings).await, "What does the scheduler pick?").await;
        assert_eq!(answer["verdict"], verdict, "{script:?}: {answer}");
        assert_eq!(answer["degraded"], degraded, "{script:?}");
    }
}

/// Whatever a model may take by itself: what it has written when the answer is given up is shown.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_when_the_time_is_over_is_an_answer() {
    let reply = "The scheduler picks the next task [1]. ".repeat(40);
    let script = json!([{"reply": reply, "piece_characters": 20, "piece_delay_ms": 50}]);
    let mut settings = Settings {
        chat: scripted(&script),
        ..Settings::default()
    };
    settings.answer.deadline_ms = 600_000;
    settings.ask.timeout_ms = 2_000;
    let answer = ask(&server(settings).await, "What does the scheduler pick?").await;
    assert_eq!(answer["verdict"], "partly", "{answer}");
    let text = answer["answer"].as_str().unwrap();
    assert!(text.starts_with("The scheduler picks"), "{answer}");
    assert_eq!(answer["degraded"], json!(["answer"]), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_costs_the_answer_its_form_and_not_more() {
    let question = "What does the scheduler pick?";
    let failures = [
        json!([{"failure": "unreachable"}]),
        json!([{"reply": " \n "}]),
        json!([{"reply": "never", "delay_ms": 60_000}]),
    ];
    for script in failures {
        let server = server_that_says(script.clone()).await;
        let answer = ask(&server, question).await;
        assert_eq!(answer["verdict"], "extractive", "{script}: {answer}");
        assert_eq!(answer["degraded"], json!(["answer"]), "{script}");
    }
    let script =
        json!([{"reply": "The scheduler picks", "piece_characters": 3, "failure": "broken_off"}]);
    let answer = ask(&server_that_says(script).await, question).await;
    assert_eq!(answer["verdict"], "partly", "{answer}");
    assert_eq!(answer["answer"], "The scheduler picks");
    assert_eq!(answer["degraded"], json!(["answer"]));
    let endless = "调度器".repeat(5000);
    let script = json!([{"reply": endless, "piece_characters": 300}]);
    let answer = ask(&server_that_says(script).await, question).await;
    assert_eq!(answer["verdict"], "partly");
    assert_eq!(
        answer["degraded"],
        json!(["answer", "answer_language"]),
        "{answer}"
    );
    assert!(answer["answer"].as_str().unwrap().len() < 9000);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_answered_as_it_is_put_is_refused_before_any_work() {
    let server = server(Settings::default()).await;
    let table = [
        (json!({"question": ""}), 400, "empty_query"),
        (json!({"question": " \n"}), 400, "empty_query"),
        (
            json!({"question": "很".repeat(40_000)}),
            413,
            "query_too_long",
        ),
        (
            json!({"question": "q", "knowledge_sets": ["nowhere"]}),
            404,
            "unknown_knowledge_set",
        ),
        (
            json!({"question": "q", "knowledge_sets": null}),
            400,
            "invalid",
        ),
        (
            json!({"question": "q", "knowledge_sets": ["radio"], "filter": {"knowledge_sets": ["radio"]}}),
            400,
            "invalid",
        ),
        (
            json!({"question": "q", "conversation_id": "c", "history": [{"question": "p"}]}),
            400,
            "invalid",
        ),
        (
            json!({"question": "q", "workflow": "magic"}),
            400,
            "invalid",
        ),
        (json!({"question": "q", "top_k": 0}), 400, "invalid"),
        (json!({"question": "q", "colour": 1}), 400, "unknown_field"),
        (json!({"query": "q"}), 400, "unknown_field"),
    ];
    for (body, status, code) in table {
        for streamed in [false, true] {
            let answer = match streamed {
                true => stream(&server, &body).await,
                false => server.post("/v1/ask", &body).await,
            };
            let shown: String = body.to_string().chars().take(80).collect();
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (status, code),
                "{shown}"
            );
        }
    }
    let punctuation = ask(&server, "？！…").await;
    assert_eq!(punctuation["verdict"], "refused", "{punctuation}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_goes_on_and_an_unknown_one_is_told_so() {
    let script =
        json!([{"reply": "The scheduler picks the next task [1].", "piece_characters": 4}]);
    let server = server_that_says(script).await;
    let body = json!({"question": "What does the scheduler do?"});
    let whole = stream(&server, &body).await;
    let id = whole.header("x-answer-id").unwrap().to_owned();
    let all = events(&whole);
    let again = server.get(&format!("/v1/ask/{id}")).await;
    assert_eq!(events(&again), all);
    let last = format!("{id}-3");
    let header = [("Last-Event-ID", last.as_str())];
    let rest = server
        .send("GET", &format!("/v1/ask/{id}"), &header, b"")
        .await;
    assert_eq!(events(&rest), all[3..]);
    let headers = [JSON, EVENTS, header[0]];
    let posted = server
        .send("POST", "/v1/ask", &headers, body.to_string().as_bytes())
        .await;
    assert_eq!(events(&posted), all[3..]);
    let header = [JSON, EVENTS, ("Last-Event-ID", "0123-4")];
    let posted = server.send("POST", "/v1/ask", &header, b"{}").await;
    assert_eq!((posted.status, posted.code().as_str()), (404, "not_found"));
    let unknown = server.get("/v1/ask/0123").await;
    assert_eq!(
        (unknown.status, unknown.code().as_str()),
        (404, "not_found")
    );
    let path = format!("/v1/ask/{id}");
    for from_the_start in ["", " "] {
        let header = [("Last-Event-ID", from_the_start)];
        let again = server.send("GET", &path, &header, b"").await;
        assert_eq!(events(&again), all, "{from_the_start:?}");
    }
    let of_this = |number: &str| format!("{id}-{number}");
    let seen_all = of_this(&all.len().to_string());
    let header = [("Last-Event-ID", seen_all.as_str())];
    let end = server.send("GET", &path, &header, b"").await;
    assert_eq!(events(&end), all[all.len() - 1..], "it ends all the same");
    let beyond = of_this(&(all.len() + 1).to_string());
    let (signed, padded, zero) = (of_this("+1"), of_this("01"), of_this("0"));
    let far = of_this("18446744073709551616");
    let of_this = [beyond, signed, padded, zero, far];
    let others = ["x", "-", "0123-x", "\u{ff}"];
    for wrong in others.into_iter().chain(of_this.iter().map(String::as_str)) {
        let header = [("Last-Event-ID", wrong)];
        let answer = server
            .send("GET", &format!("/v1/ask/{id}"), &header, b"")
            .await;
        assert_eq!(answer.status, 400, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nobody_reads_is_given_up_and_its_place_is_free_again() {
    let script =
        json!([{"reply": "many words come here", "piece_characters": 1, "piece_delay_ms": 500}]);
    let settings = Settings {
        chat: scripted(&script),
        ask: tributary_query_api::asking::AskConfig {
            questions_at_once: 1,
            timeout_ms: 60_000,
            ..common::ask_config()
        },
        ..Settings::default()
    };
    let server = server(settings).await;
    let body = json!({"question": "What does the scheduler do?"});
    let reader = server.open("/v1/ask", &[JSON, EVENTS], &body).await;
    let refused = server.post("/v1/ask", &body).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (429, "overloaded")
    );
    assert!(refused.header("retry-after").is_some());
    let id = reader.header("x-answer-id").to_owned();
    drop(reader);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let given_up = events(&server.get(&format!("/v1/ask/{id}")).await);
    let (name, last) = given_up.last().unwrap();
    assert_eq!(
        (name.as_str(), &last["code"]),
        ("error", &json!("unavailable"))
    );
    let opened = server.open("/v1/ask", &[JSON, EVENTS], &body).await;
    assert!(opened.header("content-type").contains("event-stream"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_ends_its_streams() {
    let script =
        json!([{"reply": "many words come here", "piece_characters": 1, "piece_delay_ms": 300}]);
    let server = server_that_says(script).await;
    let body = json!({"question": "What does the scheduler do?"});
    let reader = server.open("/v1/ask", &[JSON, EVENTS], &body).await;
    let (stopped, rest) = tokio::join!(server.stop(), reader.rest());
    stopped.unwrap();
    assert!(rest.contains("event: error"), "{rest}");
    assert!(rest.contains("ask again when it is back"), "{rest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_broken_by_comments() {
    let script = json!([{"reply": "Late [1].", "delay_ms": 700}]);
    let server = server_that_says(script).await;
    let answer = stream(&server, &json!({"question": "What does the scheduler do?"})).await;
    assert!(
        unchunked(&answer.body).contains(": still here\n\n"),
        "{answer:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_keeps_what_was_asked_before_and_what_was_answered_after() {
    let script = json!([
        {"contains": "What does the scheduler do?\nA: It picks", "reply": "As said [1]."},
        {"reply": "It picks the next task [1]."},
    ]);
    let server = server_that_says(script).await;
    let store = &server.kept.conversations;
    let id = store.create(None, "").await.unwrap().id;
    let body = |question: &str| json!({"question": question, "conversation_id": id});
    let first = server
        .post("/v1/ask", &body("What does the scheduler do?"))
        .await
        .json();
    assert_eq!(first["conversation_id"], id.as_str(), "{first}");
    let second = server
        .post("/v1/ask", &body("Which task does the scheduler run?"))
        .await
        .json();
    assert_eq!(second["answer"], "As said [1].", "{second}");
    let all = tributary_store::conversations::TurnQuery {
        limit: 10,
        ..Default::default()
    };
    let turns = store.turns(None, &id, all).await.unwrap().items;
    assert_eq!(turns.len(), 2);
    let kept = serde_json::to_value(turns[1].answer.as_ref().unwrap()).unwrap();
    assert_eq!(
        (&kept["id"], &kept["answer"]),
        (&second["id"], &second["answer"])
    );
    let unknown = json!({"question": "q", "conversation_id": "nobody"});
    assert_eq!(server.post("/v1/ask", &unknown).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_gives_the_answer_that_there_is_and_two_questions_at_once_are_told_apart() {
    let script = json!([
        {"times": 1, "reply": "It picks the next task [1].", "delay_ms": 800},
        {"reply": "Asked twice."},
    ]);
    let server = server_that_says(script).await;
    let id = server.kept.conversations.create(None, "").await.unwrap().id;
    let ask = async |question: &str, key: &str| {
        let body = json!({"question": question, "conversation_id": id}).to_string();
        let headers = [JSON, ("Idempotency-Key", key)];
        server
            .send("POST", "/v1/ask", &headers, body.as_bytes())
            .await
    };
    let question = "What does the scheduler do?";
    let later = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        tokio::join!(
            ask(question, "k"),
            ask("Another?", "l"),
            ask("Another?", "k")
        )
    };
    let (first, (same, other, mismatch)) = tokio::join!(ask(question, "k"), later);
    assert_eq!(first.json(), same.json());
    assert_eq!(
        (other.status, mismatch.status),
        (409, 409),
        "{other:?} {mismatch:?}"
    );
    assert_eq!(
        ask(question, "k").await.json()["answer"],
        first.json()["answer"]
    );
    let alone = json!({"question": "q"}).to_string();
    let headers = [JSON, ("Idempotency-Key", "k")];
    let refused = server
        .send("POST", "/v1/ask", &headers, alone.as_bytes())
        .await;
    assert_eq!((refused.status, refused.code().as_str()), (400, "invalid"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_stands_for_one_request_until_it_fails() {
    let script = json!([
        {"times": 1, "reply": "many words come", "piece_characters": 1, "piece_delay_ms": 60_000},
        {"reply": "It picks the next task [1]."},
    ]);
    let server = server_that_says(script).await;
    let store = &server.kept.conversations;
    let id = store.create(None, "").await.unwrap().id;
    let body = |more: Value| {
        let mut body = json!({"question": "What does the scheduler do?", "conversation_id": id});
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        body
    };
    let ask = async |more: Value| {
        let headers = [JSON, ("Idempotency-Key", "k")];
        let body = body(more).to_string();
        server
            .send("POST", "/v1/ask", &headers, body.as_bytes())
            .await
    };
    let stop = async {
        let turn = pending(&server, &id).await;
        let path = format!("/v1/ask/{}", turn.id);
        server.send("DELETE", &path, &[], b"").await.status
    };
    let (first, stopped) = tokio::join!(ask(json!({})), stop);
    assert_eq!((first.status, stopped), (409, 204), "{first:?}");
    let again = ask(json!({})).await;
    assert_eq!(again.status, 200, "it is asked anew: {again:?}");
    let same = ask(json!({"abandoned_after_ms": 5})).await;
    assert_eq!(same.json()["id"], again.json()["id"]);
    for other in [
        json!({"top_k": 1}),
        json!({"filter": {"sources": ["wiki"]}}),
        json!({"workflow": "textbook"}),
        json!({"explain": true}),
    ] {
        let refused = ask(other.clone()).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "conflict"));
        let hint = refused.json()["hint"].to_string();
        assert!(
            hint.contains("idempotency key of its own"),
            "{other} {hint}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greeting_gets_a_fixed_sentence_and_is_no_refusal() {
    let server = server(Settings::default()).await;
    for (greeting, expected) in [
        ("Hello!", "Hello! I answer"),
        ("thanks", "Hello! I answer"),
        ("你好", "您好！"),
    ] {
        let answer = ask(&server, greeting).await;
        assert_eq!(answer["verdict"], "unsourced", "{answer}");
        assert_eq!(answer["degraded"], json!([]), "{answer}");
        let text = answer["answer"].as_str().unwrap();
        assert!(text.starts_with(expected), "{text}");
    }
    let streamed = stream(&server, &json!({"question": "你好！"})).await;
    let events = events(&streamed);
    assert_eq!(events.last().unwrap().1["answer"], json!(joined(&events)));
    let question = ask(&server, "Hello world: what does the scheduler do?").await;
    assert_ne!(question["verdict"], "unsourced");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_those_of_all_calls_by_role() {
    let script = json!([
        {"prompt": "understanding", "reply": "{}"},
        {"prompt": "answer", "reply": "It picks the next task [1]."},
    ]);
    let server = server(Settings {
        chat: scripted_for(&[Role::Understand, Role::Answer], &script),
        ..Settings::default()
    })
    .await;
    let answer = ask(&server, "What does the scheduler do?").await;
    let roles = answer["tokens_by_role"].as_object().unwrap();
    let names: Vec<&String> = roles.keys().collect();
    assert_eq!(names, ["answer", "understand"], "{answer}");
    for kind in ["prompt", "completion"] {
        let of_roles: u64 = roles.values().map(|one| one[kind].as_u64().unwrap()).sum();
        assert_eq!(answer["tokens"][kind], json!(of_roles));
        assert!(roles.values().all(|one| one[kind].as_u64() > Some(0)));
    }
}

/// The turn that is being answered, as soon as there is one.
async fn pending(server: &Server, conversation: &str) -> Turn {
    let path = format!("/v1/conversations/{conversation}/turns?newest_first=true");
    loop {
        let turns = server.get(&path).await.json();
        let turn: Option<Turn> = serde_json::from_value(turns["turns"][0].clone()).ok();
        if let Some(turn) = turn.filter(|turn| turn.state == TurnState::Pending) {
            return turn;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_conversation_is_gone_says_that_it_is_not_kept() {
    let script = json!([{"reply": "It picks the next task [1].", "delay_ms": 1500}]);
    let server = server_that_says(script).await;
    for (method, ending) in [("DELETE", ""), ("POST", "/clear")] {
        let id = server.kept.conversations.create(None, "").await.unwrap().id;
        let body = json!({"question": "What does the scheduler do?", "conversation_id": id});
        let remove = async {
            pending(&server, &id).await;
            let path = format!("/v1/conversations/{id}{ending}");
            server.send(method, &path, &[JSON], b"{}").await.status
        };
        let (answer, removed) = tokio::join!(server.post("/v1/ask", &body), remove);
        assert!(removed < 300, "{removed}");
        let degraded = answer.json()["degraded"].to_string();
        assert!(degraded.contains("\"conversation\""), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_answer_keeps_its_question() {
    let script =
        json!([{"reply": "many words come here", "piece_characters": 1, "piece_delay_ms": 300}]);
    let server = server_that_says(script).await;
    let store = std::sync::Arc::clone(&server.kept.conversations);
    let id = store.create(None, "").await.unwrap().id;
    let body = json!({"question": "What does the scheduler do?", "conversation_id": id});
    let reader = server.open("/v1/ask", &[JSON, EVENTS], &body).await;
    let (stopped, rest) = tokio::join!(server.stop(), reader.rest());
    stopped.unwrap();
    assert!(rest.contains("event: error"), "{rest}");
    let all = tributary_store::conversations::TurnQuery {
        limit: 10,
        ..Default::default()
    };
    let turns = store.turns(None, &id, all).await.unwrap().items;
    let failure = turns[0].failure.as_ref().unwrap();
    assert_eq!((turns.len(), failure.code.as_str()), (1, "unavailable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_conversation_is_unknown_and_one_deleted_meanwhile_still_answers() {
    let reply = "The scheduler picks the next task to run on each processor [1].";
    let script =
        json!([{"reply": reply, "piece_characters": 8, "delay_ms": 500, "piece_delay_ms": 20}]);
    let server = server_that_says(script).await;
    let store = std::sync::Arc::clone(&server.kept.conversations);
    let id = store.create(None, "").await.unwrap().id;
    let body = json!({"question": "What does the scheduler do?", "conversation_id": id});
    let reader = server.open("/v1/ask", &[JSON, EVENTS], &body).await;
    store.delete(None, &id).await.unwrap();
    let rest = reader.rest().await;
    assert!(rest.contains("event: done"), "{rest}");
    let refused = server.post("/v1/ask", &body).await;
    assert_eq!(refused.status, 404, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn markup_in_an_answer_is_text_and_does_nothing_where_it_is_shown() {
    let reply = "The scheduler picks the next task [1]. <script>alert(1)</script>";
    let server = server_that_says(json!([{"prompt": "answer", "reply": reply}])).await;
    let answer = ask(&server, "What does the scheduler do?").await;
    assert_eq!(answer["answer"], reply);
    assert_eq!(answer["verdict"], "partly", "no source says it: {answer}");
    let shown = json!({"markdown": [answer["answer"]]});
    let shown = server.post("/v1/rendered", &shown).await.json();
    let html = shown["html"][0].as_str().unwrap();
    assert!(!html.contains("<script"), "{html}");
    assert!(html.contains("scheduler picks"), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_answer_leaves_its_question_and_room_for_the_next() {
    let script = json!([
        {"times": 1, "reply": "many words come here", "piece_characters": 1, "piece_delay_ms": 60_000},
        {"reply": "It picks the next task [1]."},
    ]);
    let server = server_that_says(script).await;
    let store = &server.kept.conversations;
    let id = store.create(None, "").await.unwrap().id;
    let body = json!({"question": "What does the scheduler do?", "conversation_id": id});
    let reader = server.open("/v1/ask", &[JSON, EVENTS], &body).await;
    let answer = format!("/v1/ask/{}", reader.header("x-answer-id"));
    let stopped = server.send("DELETE", &answer, &[], b"").await;
    assert_eq!(stopped.status, 204, "{stopped:?}");
    let rest = reader.rest().await;
    assert!(rest.contains(r#""code":"stopped""#), "{rest}");
    let turns = turns(&server, &id).await;
    assert_eq!(turns[0].failure.as_ref().unwrap().code, "stopped");
    assert_eq!(server.post("/v1/ask", &body).await.status, 200);
    let again = server.send("DELETE", &answer, &[], b"").await;
    assert_eq!(again.status, 204, "what is over stays as it is");
    let unknown = server.send("DELETE", "/v1/ask/0123", &[], b"").await;
    assert_eq!(
        (unknown.status, unknown.code().as_str()),
        (404, "not_found")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_on_unread_for_as_long_as_its_question_says() {
    let script = json!([
        {"reply": "It picks the next task [1].", "piece_characters": 9, "piece_delay_ms": 500},
    ]);
    let server = server_that_says(script).await;
    let id = server.kept.conversations.create(None, "").await.unwrap().id;
    let body = |after: u64| json!({"question": "What does the scheduler do?", "conversation_id": id, "abandoned_after_ms": after});
    let refused = server.post("/v1/ask", &body(60_001)).await;
    assert_eq!((refused.status, refused.code().as_str()), (400, "invalid"));
    drop(server.open("/v1/ask", &[JSON, EVENTS], &body(60_000)).await);
    let kept = loop {
        let turn = turns(&server, &id).await.remove(0);
        if turn.state != TurnState::Pending {
            break turn;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(kept.state, TurnState::Answered, "{kept:?}");
}

async fn turns(server: &Server, conversation: &str) -> Vec<Turn> {
    let all = tributary_store::conversations::TurnQuery {
        limit: 10,
        ..Default::default()
    };
    let store = &server.kept.conversations;
    store.turns(None, conversation, all).await.unwrap().items
}
