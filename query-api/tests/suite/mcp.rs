//! The Model Context Protocol over HTTP, message by message; the official client drives the real
//! binary in the tests of the command line.

use serde_json::{Value, json};
use tributary_schemas::State;

use crate::ask::server_that_says;
use crate::common::client::{Answer, Server};
use crate::http::source_code;

const HEADERS: [(&str, &str); 2] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
];

async fn message(server: &Server, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let answer = send(server, &HEADERS, &body.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

async fn send(server: &Server, headers: &[(&str, &str)], body: &str) -> Answer {
    server.send("POST", "/mcp", headers, body.as_bytes()).await
}

/// The result of a call that succeeds.
async fn call(server: &Server, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let answer = message(server, "tools/call", params).await;
    let result = answer["result"].clone();
    assert_eq!(result["isError"], false, "{answer}");
    assert!(!result["content"][0]["text"].as_str().unwrap().is_empty());
    result["structuredContent"].clone()
}

/// Code and hint of a call that fails.
async fn fails(server: &Server, tool: &str, arguments: Value) -> (String, String) {
    let params = json!({"name": tool, "arguments": arguments});
    let answer = message(server, "tools/call", params).await;
    let result = &answer["result"];
    assert_eq!(result["isError"], true, "{answer}");
    let problem = &result["_meta"]["tributary/problem"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told = text(&result["content"][0]["text"]);
    assert!(told.starts_with(&text(&problem["code"])), "{told}");
    assert_ne!(problem["trace_id"], "0".repeat(32), "{problem}");
    (text(&problem["code"]), text(&problem["hint"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_opens_without_a_session_and_lists_what_there_is() {
    let server = Server::start().await;
    let opening = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let opened = message(&server, "initialize", opening).await;
    assert_eq!(opened["result"]["serverInfo"]["name"], "tributary");
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    assert!(opened["result"]["instructions"].is_string());
    let notified = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let notified = send(&server, &HEADERS, &notified.to_string()).await;
    assert_eq!((notified.status, notified.body.as_str()), (202, ""));
    assert_eq!(notified.header("mcp-session-id"), None);
    let tools = message(&server, "tools/list", json!({})).await;
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let expected = [
        "search",
        "ask",
        "search_code",
        "get_document",
        "get_section",
        "list_knowledge_sets",
        "get_table",
        "query_table",
        "judge_answer",
    ];
    assert_eq!(names, expected);
    assert!(
        tools
            .iter()
            .all(|tool| tool["annotations"]["readOnlyHint"] == true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_answer_what_their_schemas_say() {
    let server = Server::start().await;
    let listed = message(&server, "tools/list", json!({})).await;
    let sheet = ("get_document", json!({"document": "manual/scheduler"}));
    let part = (
        "get_section",
        json!({"document": "case/42", "section_path": ["概述"]}),
    );
    for (tool, arguments) in [
        ("search", json!({"query": "ERR-1024", "top_k": 2})),
        (
            "search",
            json!({"query": "ERR-1024", "filter": {"tags": ["none"]}}),
        ),
        ("search_code", json!({"query": "scheduler"})),
        ("ask", json!({"question": "What does the scheduler pick?"})),
        ("list_knowledge_sets", json!({})),
        (
            "query_table",
            json!({"question": "Which region sold most?"}),
        ),
        (
            "judge_answer",
            json!({"kind": "single", "question": "What picks the next task?",
                "options": ["The scheduler", "The linker"], "student_answer": "A"}),
        ),
        sheet,
        part,
    ] {
        // There is no table to ask, which is said in the shape of an answer.
        let params = json!({"name": tool, "arguments": arguments});
        let answer = message(&server, "tools/call", params).await["result"].clone();
        assert_eq!(answer["isError"], tool == "query_table", "{tool}: {answer}");
        let answer = answer["structuredContent"].clone();
        let tools = listed["result"]["tools"].as_array().unwrap();
        let described = tools.iter().find(|described| described["name"] == tool);
        let schema = &described.unwrap()["outputSchema"];
        let validator = jsonschema::draft202012::new(schema).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&answer)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{tool}: {errors:?}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_limited_as_over_http() {
    let server = Server::start().await;
    let found = call(&server, "search", json!({"query": "ERR-1024"})).await;
    assert_eq!(found["hits"].as_array().unwrap().len(), 8, "{found}");
    let limited = json!({"query": "ERR-1024", "knowledge_sets": ["radio"]});
    let limited = call(&server, "search", limited).await;
    let documents: Vec<&Value> = limited["hits"].as_array().unwrap().iter().collect();
    assert!(
        documents
            .iter()
            .all(|hit| hit["document_id"] == "wiki/载波聚合"),
        "{limited}"
    );
    let none = json!({"query": "ERR-1024", "knowledge_sets": []});
    let none = call(&server, "search", none).await;
    assert_eq!(
        none["hits"],
        json!([]),
        "an empty list is no set, and never all of them"
    );
    let unmet = json!({"query": "x", "filter": {"sources": ["wikki"]}});
    let unmet = call(&server, "search", unmet).await;
    assert!(
        unmet["unmet_filter"].as_str().unwrap().contains("`wikki`"),
        "{unmet}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_call_is_a_result_with_a_hint() {
    let server = Server::start().await;
    let table = [
        ("search", json!({}), "invalid", "schema of `search`"),
        ("search", json!({"query": " "}), "empty_query", ""),
        (
            "search",
            json!({"query": "x", "topk": 1}),
            "unknown_field",
            "`top_k`",
        ),
        (
            "search",
            json!({"query": "x", "knowledge_sets": ["radoi"]}),
            "unknown_knowledge_set",
            "`radio`",
        ),
        (
            "search",
            json!({"query": "x", "knowledge_sets": null}),
            "invalid",
            "schema",
        ),
        (
            "search",
            json!({"query": "x", "knowledge_sets": ["radio"], "filter": {"knowledge_sets": ["radio"]}}),
            "invalid",
            "one of them",
        ),
        (
            "get_document",
            json!({"document": "none"}),
            "document_not_found",
            "document_id",
        ),
        (
            "get_document",
            json!({"document": "case/42", "from": 9}),
            "invalid",
            "next",
        ),
        (
            "get_section",
            json!({"document": "case/42", "section_path": ["x"]}),
            "not_found",
            "概述",
        ),
        (
            "get_table",
            json!({"document": "case/42"}),
            "not_found",
            "spreadsheets",
        ),
        (
            "ask",
            json!({"question": "x", "knowledge_sets": ["none"]}),
            "unknown_knowledge_set",
            "",
        ),
    ];
    let refused = json!({"name": "query_table", "arguments": {"sql": "DROP TABLE cells"}});
    let refused = message(&server, "tools/call", refused).await["result"].clone();
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["structuredContent"]["err_code"].as_u64() > Some(0));
    for (tool, arguments, code, hint) in table {
        let (found, told) = fails(&server, tool, arguments.clone()).await;
        assert_eq!(found, code, "{tool} {arguments}");
        assert!(told.contains(hint), "{tool} {arguments}: {told}");
    }
    let unknown = json!({"name": "serch", "arguments": {}});
    let unknown = message(&server, "tools/call", unknown).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let unknown = message(&server, "nothing/known", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_read_in_parts_by_section_and_as_resources() {
    let server = Server::start().await;
    let arguments = json!({"document": "manual/manual/scheduler", "characters": 1});
    let first = call(&server, "get_document", arguments).await;
    assert_eq!(first["document_id"], "manual/scheduler");
    assert_eq!(
        (&first["next"], &first["has_tables"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(
        first["outline"][0]["section_path"],
        json!(["The scheduler", "概述"])
    );
    let rest = json!({"document": "manual/scheduler", "from": 1});
    let rest = call(&server, "get_document", rest).await;
    assert!(
        rest["text"].as_str().unwrap().contains("SCHED_FIFO"),
        "{rest}"
    );
    assert_eq!(rest.get("next"), None);
    let section = json!({"document": "manual/scheduler", "section_path": ["the scheduler"]});
    let section = call(&server, "get_section", section).await;
    assert!(
        section["text"]
            .as_str()
            .unwrap()
            .contains("virtual run time"),
        "{section}"
    );

    let listed = message(&server, "resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap().clone();
    assert_eq!(resources.len(), 3, "{listed}");
    for resource in &resources {
        let read = message(&server, "resources/read", json!({"uri": resource["uri"]})).await;
        let contents = &read["result"]["contents"][0];
        assert_eq!(contents["mimeType"], "text/markdown", "{read}");
        assert!(!contents["text"].as_str().unwrap().is_empty());
    }
    server.kept.report("gone", 1, State::Deleted).await;
    for uri in [
        "tributary://documents/gone",
        "tributary://documents/none",
        "file:///etc/passwd",
    ] {
        let read = message(&server, "resources/read", json!({"uri": uri})).await;
        assert_eq!(read["error"]["code"], -32002, "{read}");
        assert!(read["error"]["data"]["code"].is_string(), "{read}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_tells_its_steps_to_who_wants_to_know() {
    let reply = "The scheduler picks the next task to run [1].";
    let server = server_that_says(json!([{"prompt": "answer", "reply": reply}])).await;
    let arguments = json!({"question": "What does the scheduler do?"});
    let answered = call(&server, "ask", arguments.clone()).await;
    assert_eq!(
        (&answered["verdict"], &answered["answer"]),
        (&json!("answered"), &json!(reply))
    );
    assert_eq!(answered["sources"][0]["cited"], true);
    let params = json!({"name": "ask", "arguments": arguments, "_meta": {"progressToken": 7}});
    let body = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params});
    let streamed = send(&server, &HEADERS, &body.to_string()).await;
    assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
    let told = streamed.body.matches("notifications/progress").count();
    assert_eq!(told, 3, "{streamed:?}");
    assert!(streamed.body.contains("\"id\":\"a\""), "{streamed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_transport_refuses_what_is_none_of_its_own() {
    let server = Server::start().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let [json, accept] = HEADERS;
    let any = ("Accept", "*/*");
    assert_eq!(
        send(&server, &[json], &body).await.status,
        200,
        "it accepts anything"
    );
    assert_eq!(send(&server, &[json, any], &body).await.status, 200);
    let only = ("Accept", "application/json");
    assert_eq!(send(&server, &[json, only], &body).await.code(), "invalid");
    let text = ("Content-Type", "text/plain");
    assert_eq!(
        send(&server, &[text, accept], &body).await.code(),
        "unsupported_media_type"
    );
    let broken = send(&server, &HEADERS, "{").await;
    assert_eq!(
        (broken.status, &broken.json()["error"]["code"]),
        (400, &json!(-32700))
    );
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let without_id = json!({"jsonrpc": "2.0", "id": null, "method": "ping"});
    let forged =
        json!({"jsonrpc": "2.0", "id": "1\n2026-01-01 INFO a line of its own", "method": "ping"});
    let huge = json!({"jsonrpc": "2.0", "id": "x".repeat(300), "method": "ping"});
    for no_message in [json!([ping]), json!([]), without_id, json!(7), forged, huge] {
        let refused = send(&server, &HEADERS, &no_message.to_string()).await;
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (400, &json!(-32600)),
            "{no_message}"
        );
    }
    let version = ("MCP-Protocol-Version", "1999-01-01");
    assert_eq!(
        send(&server, &[json, accept, version], &body).await.status,
        400
    );
    for method in ["GET", "DELETE", "PUT"] {
        let answer = server.send(method, "/mcp", &HEADERS, b"").await;
        assert_eq!(answer.code(), "method_not_allowed");
    }
    let foreign = ("Origin", "https://evil.example");
    assert_eq!(
        send(&server, &[json, accept, foreign], &body).await.code(),
        "denied"
    );
    let renamed = ("Host", "evil.example");
    assert_eq!(
        send(&server, &[json, accept, renamed], &body).await.code(),
        "denied"
    );
    let long = "x".repeat(200_000);
    assert_eq!(
        send(&server, &HEADERS, &long).await.code(),
        "body_too_large"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_may_name_its_workflow() {
    let server = Server::start().await;
    let arguments = json!({"question": "What does the scheduler pick?", "workflow": "textbook"});
    let answered = call(&server, "ask", arguments).await;
    let degraded = json!(["suggestion", "relevance", "sufficiency", "answer"]);
    assert_eq!(answered["degraded"], degraded, "{answered}");
    let wrong = json!({"question": "What does the scheduler pick?", "workflow": "magic"});
    let (code, _) = fails(&server, "ask", wrong).await;
    assert_eq!(code, "invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_workflow_answers_through_the_tool_ask() {
    let server = Server::start().await;
    server.kept.index.apply(vec![source_code()]);
    let expected = [
        (
            "error-map",
            "What does ERR-1024 mean?",
            "extractive",
            "ERR-1024",
        ),
        (
            "code",
            "What wakes page reclaim?",
            "extractive",
            "mm/wake.c:3-9",
        ),
        (
            "course",
            "What does the scheduler pick?",
            "extractive",
            "next task",
        ),
        ("table", "Which region sold most?", "refused", ""),
        (
            "report",
            "What does the scheduler pick?",
            "extractive",
            "next task",
        ),
    ];
    for (workflow, question, verdict, part) in expected {
        let arguments = json!({"question": question, "workflow": workflow});
        let answered = call(&server, "ask", arguments).await;
        assert_eq!(answered["verdict"], verdict, "{workflow}: {answered}");
        let text = answered["answer"].as_str().unwrap();
        assert!(
            !text.is_empty() && text.contains(part),
            "{workflow}: {text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_judged_through_a_tool_of_its_own() {
    let server = Server::start().await;
    let question = |student: &str| {
        json!({"kind": "multiple", "question": "What does the scheduler pick?", "options": ["Tasks", "Pages", "Threads"],
            "student_answer": student, "correct_answer": "AC"})
    };
    let judged = call(&server, "judge_answer", question("c, a")).await;
    assert_eq!(
        (&judged["is_correct"], &judged["judged_by"]),
        (&json!(true), &json!("given_answer")),
        "{judged}"
    );
    let judged = call(&server, "judge_answer", question("A")).await;
    assert_eq!(judged["is_correct"], false, "{judged}");
    let (code, _) = fails(&server, "judge_answer", question("D")).await;
    assert_eq!(code, "invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_says_how_it_is_searched_for_and_for_whom() {
    let search = json!({"name": "search", "arguments": {"query": "scheduler"}});
    let script = json!([
        {"prompt": "on_demand", "calls": [search], "times": 1},
        {"prompt": "on_demand", "reply": "DONE"},
        {"prompt": "answer", "reply": "It picks the next task [1]."},
    ]);
    let server = server_that_says(script).await;
    let question = json!({"question": "What does the scheduler do?", "retrieval": "on_demand"});
    let answer = call(&server, "ask", question).await;
    assert_eq!(answer["answer"], "It picks the next task [1].");
    assert!(answer["degraded"].is_null(), "{answer}");
    let unknown = json!({"question": "What does the scheduler do?", "user": "nobody"});
    let (code, _) = fails(&server, "ask", unknown).await;
    assert_eq!(code, "user_profile_not_found");
    let odd = json!({"question": "q", "retrieval": "never"});
    assert_eq!(fails(&server, "ask", odd).await.0, "invalid");
}
