//! Language models from the outside: `doctor` tries them, `config show` hides their key, and one
//! that is away keeps nobody from being ready.

use std::net::TcpListener;

use serde_json::json;

use crate::harness::Workspace;

#[test]
fn the_doctor_tries_the_endpoint_of_each_role() {
    let workspace = Workspace::new();
    let replies = json!([
        {"contains": "capital", "reply": "{\"city\": \"Paris\"}"},
        {"contains": "Count", "reply": "one two three", "piece_characters": 4, "piece_delay_ms": 5},
    ]);
    let script = workspace.write("script.json", replies.to_string());
    let script = script.to_str().unwrap();
    let workspace = workspace
        .with("models.chat.endpoints.talker.kind", "scripted")
        .with("models.chat.endpoints.talker.model", "parrot")
        .with("models.chat.endpoints.talker.script_file", script)
        .with("models.chat.roles.summarize.endpoint", "talker")
        .with("models.chat.roles.answer.endpoint", "talker");
    let doctor = workspace.run(["doctor", "--format", "json"]).json();
    let checks = doctor["checks"].as_array().unwrap().clone();
    let chat: Vec<&str> = checks
        .iter()
        .filter(|check| check["name"] == "chat")
        .map(|check| check["detail"].as_str().unwrap())
        .collect();
    assert_eq!(chat.len(), 2, "{chat:?}");
    for part in [
        "talker",
        "summarize, answer",
        "parrot",
        "JSON is read",
        "tokens/s",
    ] {
        assert!(chat[0].contains(part), "{part}: {chat:?}");
    }
    assert!(chat[1].contains("no model for understand"), "{chat:?}");
}

#[test]
fn the_doctor_says_what_is_wrong_with_an_endpoint() {
    let workspace = Workspace::new()
        .with("models.chat.endpoint.url", "http://127.0.0.1:1/v1")
        .with("models.chat.endpoint.model", "parrot")
        .with("models.chat.endpoint.retry_pause_ms", "1");
    let doctor = workspace.run(["doctor", "--format", "json"]).json();
    let checks = doctor["checks"].as_array().unwrap().clone();
    let chat = checks.iter().find(|check| check["name"] == "chat").unwrap();
    assert_eq!(chat["ok"], false);
    let hint = chat["hint"].as_str().unwrap();
    assert!(hint.contains("models.chat.endpoint.url"), "{chat}");
}

#[test]
fn the_doctor_does_not_wait_for_an_endpoint_that_hangs() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let workspace = Workspace::new()
        .with("models.chat.endpoint.url", &url)
        .with("models.chat.endpoint.model", "parrot");
    let doctor = workspace.run(["doctor", "--format", "json"]).json();
    let checks = doctor["checks"].as_array().unwrap().clone();
    let chat = checks.iter().find(|check| check["name"] == "chat").unwrap();
    assert_eq!(chat["ok"], false);
    let detail = chat["detail"].as_str().unwrap();
    assert!(detail.contains("nothing answers within 5 s"), "{chat}");
}

#[test]
fn settings_of_an_endpoint_are_checked_and_its_key_is_hidden() {
    let own = |key: &str, value: &str| {
        Workspace::new()
            .with("models.chat.endpoints.small.url", "http://127.0.0.1:1/v1")
            .with("models.chat.endpoints.small.model", "parrot")
            .with("models.chat.endpoint.api_key", "sk-secret-1")
            .with("models.chat.endpoints.small.api_key", "sk-secret-2")
            .with(key, value)
    };
    let shown = own("models.chat.roles.sql.endpoint", "small").run(["config", "show"]);
    let text = format!("{}{}", shown.stdout, shown.stderr);
    assert!(
        text.contains("parrot") && !text.contains("sk-secret"),
        "{text}"
    );
    own("models.chat.roles.sql.endpoint", "smal")
        .run(["config", "check"])
        .refused(1, &["there is no endpoint `smal`"]);
    own("models.chat.endpoints.small.paralel", "2")
        .run(["config", "check"])
        .refused(1, &["did you mean `models.chat.endpoints.small.parallel`?"]);
    own("models.chat.endpoints.small.attempts", "0")
        .run(["config", "check"])
        .refused(
            1,
            &["models.chat.endpoints.small.attempts must be at least 1"],
        );
}

#[test]
fn a_prompt_with_an_unknown_variable_is_found_at_the_start() {
    let workspace = Workspace::new();
    let built_in = include_str!("../../../enrich/prompts/section_summary.en.md");
    workspace.write(
        "prompts/section_summary.en.md",
        built_in.replace("~ text)", "~ txt)"),
    );
    let folder = workspace.path("prompts");
    let workspace = workspace.with("models.chat.prompts_folder", folder.to_str().unwrap());
    for verb in ["check", "show"] {
        let run = workspace.run(["config", verb]);
        assert_eq!(run.code == 0, verb == "show");
    }
    let expected = ["section_summary.en.md", "`txt` is used", "text"];
    workspace.run(["config", "check"]).refused(1, &expected);
    workspace.run(["run"]).refused(1, &expected);
}
