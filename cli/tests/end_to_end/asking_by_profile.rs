//! What a domain's profile says about answers: its workflow, its sentence of refusal, its prompts.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, text};

const PAGE: &str = "# Random access\n\nRandom access is a procedure by which a terminal gets uplink timing. \
    It has four steps and is guarded by timer T300.\n";
const SENTENCE: &str = "根据我所掌握的资料，无法回答您的问题。";

fn profile(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/profiles");
    folder.join(name).to_str().unwrap().to_owned()
}

/// All roles say what a script says.
fn scripted(replies: &Value) -> Workspace {
    let workspace = Workspace::new();
    let script = workspace.write("script.json", replies.to_string());
    let script = script.to_str().unwrap();
    workspace
        .with("models.chat.endpoint.kind", "scripted")
        .with("models.chat.endpoint.model", "parrot")
        .with("models.chat.endpoint.script_file", script)
        .with("models.chat.endpoint.attempts", "1")
}

fn start(workspace: &Workspace, profile: &str) -> Server {
    workspace.write("kb/access.md", PAGE);
    let server = workspace.start_with(&["--profile", profile]);
    let published = workspace.run(["publish", "kb", "--source", "kb", "--wait"]);
    assert_eq!(published.code, 0, "{published:?}");
    server
}

#[test]
fn mindspore_refuses_with_its_sentence_and_nothing_else() {
    let reply = format!("{SENTENCE}不过天是蓝的 [1]。");
    let workspace = scripted(&json!([{"prompt": "answer", "reply": reply}]));
    let server = start(&workspace, &profile("mindspore"));
    for question in ["Random access 的定时器颜色是什么？", "红烧肉放几勺糖？"] {
        let (status, answer) = server.post("/v1/ask", &json!({"question": question}));
        assert_eq!(status, 200, "{answer}");
        assert_eq!(text(&answer, "/verdict"), "refused", "{answer}");
        assert_eq!(text(&answer, "/answer"), SENTENCE);
    }
}

#[test]
fn the_os_course_answers_as_a_textbook() {
    let workspace = Workspace::new();
    let server = start(&workspace, &profile("os-course"));
    let body = json!({"question": "What is random access?"});
    let (_, answer) = server.post("/v1/ask", &body);
    assert_eq!(text(&answer, "/workflow"), "textbook", "{answer}");
    let asked = workspace.json([
        "ask",
        "--workflow",
        "general",
        "--format",
        "json",
        "What is random access?",
    ]);
    assert_eq!(text(&asked, "/workflow"), "general");
    workspace
        .run(["ask", "--workflow", "magic", "What is it?"])
        .refused(2, &["magic", "general, textbook"]);
}

#[test]
fn a_side_that_names_what_there_is_not_is_refused_at_the_start() {
    let workspace = Workspace::new();
    let sets = "[[knowledge_set]]\nid = \"api\"\nname = \"API\"\nview = \"capability\"\n\
        rules = [{ source = [\"wiki\"], tags = [\"5G\"] }]\n";
    workspace.write("domain/sets.toml", sets);
    let domain = workspace.path("domain");
    let refused = |answer: &str, said: &[&str]| {
        let config = format!("[taxonomy]\nknowledge_sets_file = \"sets.toml\"\n{answer}");
        workspace.write("domain/config.toml", config);
        let run = workspace.run(["--profile", domain.to_str().unwrap(), "run"]);
        run.refused(1, said);
    };
    let sides = |scope: &str| {
        format!(
            "[query_api.answer.error_map]\nsides = [{{ name = \"one\", scope = {{ tags = [\"5G\"] }}, top_k = 5 }}, \
             {{ name = \"two\", scope = {{ {scope} }}, top_k = 5 }}]\n"
        )
    };
    let place = "query_api.answer.error_map.sides[1].scope";
    refused(
        &sides("tags = [\"5g\"]"),
        &[place, "no rule gives the tag `5g`", "did you mean `5G`"],
    );
    refused(
        &sides("tags = [\"gardening\"]"),
        &[place, "`gardening`", "taxonomy.source_profiles_file"],
    );
    refused(
        &sides("knowledge_sets = [\"apis\"]"),
        &[place, "no knowledge set `apis`", "did you mean `api`"],
    );
    refused(
        "[query_api.answer.course]\ncode = { knowledge_sets = [\"code\"] }\n",
        &["query_api.answer.course.code", "no knowledge set `code`"],
    );
}

#[test]
fn a_profiles_prompts_replace_the_built_in_ones_by_name() {
    let understood = json!({"standalone_question": "What is random access?", "variants": [],
        "intent": "definition", "entities": [], "search_keywords": [], "sub_queries": []});
    let replies = json!([
        {"prompt": "understanding", "contains": "OWN UNDERSTANDING", "reply": understood.to_string()},
        {"prompt": "answer", "contains": "OWN ANSWER",
            "reply": "Random access is a procedure by which a terminal gets uplink timing [1]."},
    ]);
    let workspace = scripted(&replies);
    let own = |name: &str, built_in: &str, mark: &str| {
        let text = built_in.replacen("Rules:", mark, 1);
        assert!(text.contains(mark));
        workspace.write(&format!("domain/prompts/{name}.en.md"), text);
    };
    let answer = include_str!("../../../retrieval/prompts/answer.en.md");
    own("answer", answer, "OWN ANSWER:");
    let understanding = include_str!("../../../retrieval/prompts/understanding.en.md");
    own("understanding", understanding, "OWN UNDERSTANDING:");
    let config = "[models.chat]\nprompts_folder = \"prompts\"\n";
    workspace.write("domain/config.toml", config);
    let domain = workspace.path("domain");
    let server = start(&workspace, domain.to_str().unwrap());
    let body = json!({"question": "What is random access?", "explain": true});
    let (_, answer) = server.post("/v1/ask", &body);
    assert_eq!(text(&answer, "/verdict"), "answered", "{answer}");
    assert_eq!(text(&answer, "/understanding/made_by"), "model");
    assert_eq!(answer["degraded"], json!([]), "{answer}");
}
