//! Answers that take long: who may see what they are made of changes while they are on their way.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_models::chat::Role;
use tributary_query_api::config::DocumentsWithoutAccess;

use super::{World, for_group, id, word};
use crate::ask::scripted_for;

/// Long enough that what is asked was found before the rights change, on any machine that is not
/// very busy; on one that is, nothing is shown.
const BEGINS: Duration = Duration::from_millis(400);

/// A model that takes a second for anything, and has nothing to say.
async fn slow_world() -> World {
    let script = json!([{"reply": "I do not know.", "delay_ms": 900}]);
    let chat = scripted_for(&[Role::Answer, Role::Judge, Role::Report], &script);
    let mut world = World::start_with(DocumentsWithoutAccess::Administrators, chat).await;
    world.write(1, 5, for_group("a"), None).await;
    world
}

fn questions() -> Vec<(&'static str, Value)> {
    let question = "What is the secret budget number 1 of the plan?";
    let judged =
        json!({"id": "q", "kind": "text", "question": question, "student_answer": "It is 7."});
    vec![
        ("/v1/ask", json!({"question": question})),
        (
            "/v1/ask",
            json!({"question": question, "workflow": "textbook"}),
        ),
        ("/v1/report", json!({"question": question})),
        ("/v1/questions/judge", judged.clone()),
        ("/v1/questions/explain", judged),
        (
            "/v1/chat/completions",
            json!({"model": "general", "messages": [{"role": "user", "content": question}]}),
        ),
    ]
}

/// Takes document 1 away from its readers, once what is asked has begun.
async fn close(world: &World, version: u64) {
    tokio::time::sleep(BEGINS).await;
    let event = json!({
        "document_id": id(1), "version": version, "source": "wiki", "source_path": "1.md",
        "content": word(1, version), "attributes": {"access": {"groups": ["c"]}},
    });
    let administrator = world.readers[4].key.clone();
    let answer = world.ask(&administrator, "POST", "/v1/documents", Some(event));
    assert_eq!(answer.await.status, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_on_its_way_tells_nothing_of_what_was_closed_meanwhile() {
    let mut world = slow_world().await;
    let key = world.readers[1].key.clone();
    let mut version = 5;
    for (path, question) in questions() {
        world.write(1, version, for_group("a"), None).await;
        let open = world.ask(&key, "POST", path, Some(question.clone())).await;
        assert_eq!(open.status, 200, "{path}: {open:?}");
        let shown = word(1, version);
        let asking = world.ask(&key, "POST", path, Some(question.clone()));
        let (closed, ()) = tokio::join!(asking, close(&world, version + 1));
        assert!(!closed.body.contains(&shown), "{path}: {closed:?}");
        version += 2;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_breaks_off_where_what_it_is_made_of_is_closed() {
    let world = slow_world().await;
    let question = json!({"question": "What is the secret budget number 1 of the plan?"});
    let headers = [
        ("Authorization", world.readers[1].key.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "text/event-stream"),
    ];
    let reader = world
        .keyed
        .server
        .open("/v1/ask", &headers, &question)
        .await;
    close(&world, 6).await;
    let events = reader.rest().await;
    assert!(events.contains("event: retrieval"), "{events}");
    let (_, last) = events.rsplit_once("event: ").unwrap();
    assert!(last.starts_with("error"), "{events}");
    assert!(last.contains(r#""code":"denied""#), "{events}");
    assert!(!events.contains("event: answer_chunk"), "{events}");
}
