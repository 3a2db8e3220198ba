//! Conversations over HTTP: their life, exports, feedback, and what is refused.

use serde_json::{Value, json};
use tributary_schemas::conversation::Turn;
use tributary_store::conversations::{NewTurn, TurnEnd};

use crate::common::client::{Answer, Server};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const NOBODYS: &str = "00000000000000000000000000000000";

async fn create(server: &Server, title: &str) -> String {
    let made = server
        .post("/v1/conversations", &json!({"title": title}))
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["id"].as_str().unwrap().to_owned()
}

async fn begin(server: &Server, id: &str, question: &str) -> String {
    let turn = NewTurn {
        question,
        idempotency_key: None,
        fingerprint: None,
    };
    let begun = server.kept.conversations.begin_turn(None, id, turn).await;
    begun.unwrap().turn.id
}

/// A question with its answer, as whoever answers records them.
async fn ask(server: &Server, id: &str, question: &str, text: &str) -> Turn {
    let turn_id = begin(server, id, question).await;
    let source = json!({"number": 1, "cited": true, "chunk_id": NOBODYS, "document_id": "d",
        "version": 1, "source": "wiki", "source_path": "a.md", "title": "Ticks",
        "section_path": [], "pages": [], "url": "", "kind": "leaf", "text": "…"});
    let answer = json!({"id": turn_id, "question": question, "answer": text,
        "verdict": "answered", "workflow": "general", "language": "zh-Hans",
        "sources": [source], "support": [], "degraded": [], "took_ms": 1.0, "steps": []});
    let end = TurnEnd::Answered(Box::new(serde_json::from_value(answer).unwrap()));
    let conversations = &server.kept.conversations;
    conversations
        .finish_turn(None, id, &turn_id, end)
        .await
        .unwrap()
}

async fn put(server: &Server, path: &str, body: &Value) -> Answer {
    let body = body.to_string();
    server.send("PUT", path, &[JSON], body.as_bytes()).await
}

async fn rename(server: &Server, id: &str, body: &Value) -> Answer {
    let path = format!("/v1/conversations/{id}");
    let body = body.to_string();
    server.send("PATCH", &path, &[JSON], body.as_bytes()).await
}

async fn listed(server: &Server, parameters: &str) -> Vec<String> {
    let path = format!("/v1/conversations{parameters}");
    let page = server.get(&path).await;
    assert_eq!(page.status, 200, "{page:?}");
    let page = page.json();
    let titles = page["conversations"].as_array().unwrap().iter();
    titles
        .map(|found| found["title"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_begun_renamed_cleared_and_deleted() {
    let server = Server::start().await;
    let (first, second) = (create(&server, "").await, create(&server, "其他").await);
    ask(&server, &first, "什么是 tick？", "节拍 [1]").await;
    assert_eq!(listed(&server, "").await, ["什么是 tick？", "其他"]);
    assert_eq!(listed(&server, "?title=TICK").await, ["什么是 tick？"]);
    let renamed = rename(&server, &second, &json!({"title": "Others"})).await;
    assert_eq!(
        (renamed.status, &renamed.json()["title"]),
        (200, &json!("Others"))
    );
    assert_eq!(listed(&server, "?limit=1").await, ["Others"]);
    let page = server.get("/v1/conversations?limit=1").await.json();
    let next = page["next"].as_str().unwrap();
    let rest = listed(&server, &format!("?limit=1&after={next}")).await;
    assert_eq!(rest, ["什么是 tick？"]);

    let path = format!("/v1/conversations/{first}");
    assert_eq!(server.get(&path).await.json()["turns"], 1);
    let cleared = server.post(&format!("{path}/clear"), &json!({})).await;
    assert_eq!((cleared.status, &cleared.json()["turns"]), (200, &json!(0)));
    let turns = server.get(&format!("{path}/turns")).await.json();
    assert_eq!(turns, json!({"turns": [], "next": null}));
    let deleted = server.send("DELETE", &path, &[], b"").await;
    assert_eq!((deleted.status, deleted.body.as_str()), (204, ""));
    assert_eq!(server.get(&path).await.code(), "conversation_not_found");
    assert_eq!(listed(&server, "").await, ["Others"]);
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_are_read_and_exported() {
    let server = Server::start().await;
    let id = create(&server, "").await;
    for number in 1..=120 {
        let question = format!("question\u{0} {number} 😀");
        ask(&server, &id, &question, "because [1]").await;
    }
    let path = format!("/v1/conversations/{id}");
    let newest = server
        .get(&format!("{path}/turns?newest_first=true&limit=2"))
        .await
        .json();
    assert_eq!(newest["turns"][0]["number"], 120);
    assert_eq!(newest["next"], "119");
    let exported = server.get(&format!("{path}/export?format=json")).await;
    let all = dechunked(&exported).replace("\\u0000", "");
    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!(all["conversation"]["id"], id.as_str());
    let numbers: Vec<u64> = all["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=120).collect::<Vec<_>>());
    let written = server.get(&format!("{path}/export")).await;
    let name = format!("attachment; filename=\"conversation-{id}.md\"");
    assert_eq!(written.header("content-disposition"), Some(&*name));
    let text = dechunked(&written);
    assert!(text.contains("## 120 · "), "{text}");
    assert!(text.contains("because [1]") && text.contains("<wiki/a.md>"));
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn feedback_is_given_taken_back_and_exported() {
    let server = Server::start().await;
    let id = create(&server, "").await;
    let turn = ask(&server, &id, "why", "because [1]").await;
    ask(&server, &id, "how", "so [1]").await;
    let path = format!("/v1/conversations/{id}/turns/{}/feedback", turn.id);
    let kept = put(&server, &path, &json!({"helpful": false, "reason": "过时"})).await;
    assert_eq!(kept.status, 200, "{kept:?}");
    assert_eq!(kept.json()["feedback"]["reason"], "过时");
    let page = server.get("/v1/feedback").await.json();
    assert_eq!(page["turns"].as_array().unwrap().len(), 1);
    assert_eq!(page["turns"][0]["answer"]["answer"], "because [1]");
    let lines = server.get("/v1/feedback?format=lines").await;
    assert_eq!(
        lines.header("content-type"),
        Some("application/jsonl"),
        "{lines:?}"
    );
    let line: Value = serde_json::from_str(dechunked(&lines).trim()).unwrap();
    assert_eq!(line, page["turns"][0]);
    let taken = server.send("DELETE", &path, &[], b"").await;
    assert_eq!(
        (taken.status, &taken.json()["feedback"]),
        (200, &Value::Null)
    );
    assert_eq!(server.get("/v1/feedback").await.json()["turns"], json!([]));
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_are_unknown_or_none_are_not_found() {
    let server = Server::start().await;
    let id = create(&server, "x").await;
    let long = "y".repeat(5000);
    for id in [
        NOBODYS,
        "x",
        "%00",
        "..%2F..%2Fetc",
        "%F0%9F%A6%80",
        "a%20b",
        &long,
    ] {
        let path = format!("/v1/conversations/{id}");
        let rate = format!("{path}/turns/{NOBODYS}/feedback");
        let answers = [
            server.get(&path).await,
            server.get(&format!("{path}/turns")).await,
            server.get(&format!("{path}/export")).await,
            server.send("DELETE", &path, &[], b"").await,
            server.post(&format!("{path}/clear"), &json!({})).await,
            rename(&server, id, &json!({"title": "x"})).await,
            put(&server, &rate, &json!({"helpful": true})).await,
        ];
        for answer in answers {
            let found = (answer.status, answer.code());
            assert_eq!(found, (404, "conversation_not_found".to_owned()), "{id}");
            assert!(answer.json()["hint"].is_string());
        }
    }
    for turn in [NOBODYS, "1", "x"] {
        let path = format!("/v1/conversations/{id}/turns/{turn}/feedback");
        let refused = put(&server, &path, &json!({"helpful": true})).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (404, "turn_not_found")
        );
    }
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_bodies_and_parameters_are_refused() {
    let server = Server::start().await;
    let id = create(&server, "x").await;
    let turn = begin(&server, &id, "why").await;
    let rate = format!("/v1/conversations/{id}/turns/{turn}/feedback");
    let early = put(&server, &rate, &json!({"helpful": true})).await;
    assert_eq!((early.status, early.code().as_str()), (409, "turn_pending"));

    let long = "长".repeat(40_000);
    let bodies = [
        (json!({"title": long}), "invalid"),
        (json!({"title": 7}), "invalid"),
        (json!({"titel": "x"}), "unknown_field"),
        (json!([]), "invalid"),
    ];
    for (body, code) in bodies {
        let refused = server.post("/v1/conversations", &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, code));
        let refused = rename(&server, &id, &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, code));
    }
    let empty = rename(&server, &id, &json!({"title": " "})).await;
    assert_eq!((empty.status, empty.code().as_str()), (400, "invalid"));
    let feedback = [
        (json!({"helpful": true, "reason": long}), "invalid"),
        (json!({"reason": "x"}), "invalid"),
        (json!({"helpful": true, "resaon": "x"}), "unknown_field"),
    ];
    for (body, code) in feedback {
        let refused = put(&server, &rate, &body).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (400, code),
            "{body}"
        );
    }
    let title = format!("title={}", "x".repeat(201));
    for (path, parameters) in [
        ("/v1/conversations", "tittle=x"),
        ("/v1/conversations", "limit=0"),
        ("/v1/conversations", "after=x"),
        ("/v1/conversations", title.as_str()),
        ("/v1/feedback", "after=x"),
        ("/v1/feedback", "format=csv"),
        ("/v1/feedback", "format=lines&limit=5"),
    ] {
        let refused = server.get(&format!("{path}?{parameters}")).await;
        let found = (refused.status, refused.code());
        assert_eq!(
            found,
            (400, "invalid_parameter".to_owned()),
            "{path} {parameters}"
        );
    }
    for parameters in [
        "turns?after=x",
        "turns?newest=true",
        "turns?limit=100000",
        "export?format=pdf",
    ] {
        let path = format!("/v1/conversations/{id}/{parameters}");
        let refused = server.get(&path).await;
        assert_eq!(refused.code(), "invalid_parameter", "{parameters}");
    }
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_titles_survive() {
    let server = Server::start().await;
    for (title, kept) in [
        ("a\u{0}b\nc", "ab c"),
        ("\u{202e}😀", "😀"),
        ("'; DROP TABLE turns; --", "'; DROP TABLE turns; --"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ] {
        let id = create(&server, title).await;
        let found = server.get(&format!("/v1/conversations/{id}")).await.json();
        assert_eq!(found["title"], kept);
    }
    let id = create(&server, "x").await;
    for title in ["\u{0}", "\n\u{202e}"] {
        let refused = rename(&server, &id, &json!({"title": title})).await;
        assert_eq!(refused.status, 400, "{title:?}");
    }
    assert_eq!(server.stop().await, Ok(()));
}

/// A body without the lengths of its parts.
fn dechunked(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut rest = answer.body.as_bytes();
    let mut whole = Vec::new();
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let length = std::str::from_utf8(&rest[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        let start = end + 2;
        whole.extend_from_slice(&rest[start..start + length]);
        rest = &rest[start + length + 2..];
    }
    String::from_utf8(whole).unwrap()
}
