//! Questions from the command line: answered in the words of the documents without a model, streamed
//! with one, continued, and kept when the server is killed while it answers.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, list, skip, text, wait_for};

const PAGE: &str = "# Random access\n\nRandom access is a procedure by which a terminal gets uplink timing. \
    It has four steps and is guarded by timer T300.\n";

fn with_page(workspace: Workspace) -> (Workspace, Server) {
    workspace.write("kb/access.md", PAGE);
    let server = workspace.start();
    let published = workspace.run(["publish", "kb", "--source", "kb", "--wait"]);
    assert_eq!(published.code, 0, "{published:?}");
    (workspace, server)
}

/// Models that say what a script says.
fn scripted(replies: &Value) -> Workspace {
    let workspace = Workspace::new();
    let script = workspace.write("script.json", replies.to_string());
    workspace
        .with("models.chat.endpoints.talker.kind", "scripted")
        .with("models.chat.endpoints.talker.model", "parrot")
        .with(
            "models.chat.endpoints.talker.script_file",
            script.to_str().unwrap(),
        )
        .with("models.chat.roles.answer.endpoint", "talker")
}

#[test]
fn without_a_model_the_answer_is_in_the_words_of_the_documents() {
    let (workspace, _server) = with_page(Workspace::new());
    let asked = workspace.run(["ask", "What is random access?"]);
    assert_eq!(asked.code, 0, "{asked:?}");
    let stdout = &asked.stdout;
    assert!(stdout.contains("gets uplink timing. [1]"), "{stdout}");
    assert!(
        stdout.contains("[1] Random access  kb/access.md"),
        "{stdout}"
    );
    assert!(stdout.contains("no language model answered"), "{stdout}");
    let answer = workspace.json([
        "ask",
        "--format",
        "json",
        "Which timer guards random access?",
    ]);
    assert_eq!(text(&answer, "/verdict"), "extractive");
    assert!(text(&answer, "/answer").contains("T300"), "{answer}");
    workspace
        .run(["ask", "--set", "nowhere", "What is it?"])
        .refused(1, &["nowhere", "no knowledge set"]);
    workspace
        .run(["ask", "--conversation", "xyz", "What is it?"])
        .refused(
            1,
            &["no conversation `xyz`", "`tributary conversations list`"],
        );
    workspace.run(["ask", " "]).refused(1, &["empty"]);
    let kept = workspace.json(["conversations", "list", "--format", "json"]);
    let kept = list(&kept, "/conversations");
    assert_eq!(kept.len(), 2, "what was refused began none: {kept:?}");
}

#[test]
fn a_conversation_goes_on_and_remembers() {
    let replies = json!([
        {"prompt": "answer", "contains": "What is random access?\nA: A procedure",
            "reply": "It has four steps [1], not nine [9]."},
        {"prompt": "answer", "reply": "A procedure to get uplink timing [1].", "piece_characters": 3},
    ]);
    let (workspace, _server) = with_page(scripted(&replies));
    workspace
        .run(["ask", "-c", "And its steps?"])
        .refused(1, &["no conversation", "without -c"]);
    let first = workspace.run(["ask", "What is random access?"]);
    assert!(first.stdout.contains("uplink timing [1]."), "{first:?}");
    let second = workspace.run(["ask", "-c", "How many steps does it have?"]);
    assert!(
        second.stdout.contains("It has four steps [1], not nine."),
        "{second:?}"
    );
    let meant = "understood as: How many steps does";
    assert!(second.stdout.contains(meant), "{second:?}");
    assert!(!first.stdout.contains("understood as"), "{first:?}");
    let all = workspace.json(["conversations", "list", "--format", "json"]);
    assert_eq!(list(&all, "/conversations").len(), 1, "{all}");
    let id = text(&all, "/conversations/0/id").to_owned();
    let shown = workspace.run(["conversations", "show", &id]);
    for part in ["What is random access?", "uplink timing", "not nine."] {
        assert!(shown.stdout.contains(part), "{part}: {shown:?}");
    }
    workspace.run(["ask", "--off-the-record", "What is random access?"]);
    let again = workspace.json(["conversations", "list", "--format", "json"]);
    assert_eq!(list(&again, "/conversations").len(), 1, "{again}");
}

/// Set `TRIBUTARY_KILLS` for more than a few.
#[test]
fn a_question_is_kept_when_the_server_is_killed_while_it_answers() {
    let kills: usize = std::env::var("TRIBUTARY_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(3);
    let replies = json!([{"prompt": "answer", "reply": "very slowly ".repeat(200),
        "piece_characters": 4, "piece_delay_ms": 20}]);
    let (workspace, mut server) = with_page(scripted(&replies));
    let (_, made) = server.post("/v1/conversations", &json!({}));
    let id = text(&made, "/id").to_owned();
    for kill in 1..=kills {
        let address = server.url.clone();
        let body =
            json!({"question": format!("What is random access? {kill}"), "conversation_id": id});
        let asking = std::thread::spawn(move || ask_and_break_off(&address, &body));
        wait_for("the question is recorded", || {
            let (_, turns) = server.get(&format!("/v1/conversations/{id}/turns"));
            (list(&turns, "/turns").len() == kill).then_some(())
        });
        server.kill();
        asking.join().unwrap();
        server = workspace.start();
    }
    let (_, turns) = server.get(&format!("/v1/conversations/{id}/turns?limit=100"));
    let turns = list(&turns, "/turns");
    assert_eq!(turns.len(), kills, "none is lost, none is there twice");
    for (at, turn) in (1..).zip(turns) {
        let question = format!("What is random access? {at}");
        assert_eq!(text(turn, "/question"), question);
        assert_eq!(text(turn, "/state"), "failed");
        assert_eq!(text(turn, "/failure/code"), "unavailable");
    }
}

/// As on a full disk: nothing of the server's can be written when its answer ends.
#[test]
#[cfg(target_os = "linux")]
fn an_end_that_cannot_be_recorded_is_recorded_when_it_can() {
    let replies = json!([{"prompt": "answer", "reply": "It picks a preamble [1]. ".repeat(20),
        "piece_characters": 10, "piece_delay_ms": 60}]);
    let (workspace, mut server) = with_page(scripted(&replies));
    let (_, made) = server.post("/v1/conversations", &json!({}));
    let id = text(&made, "/id").to_owned();
    let body = json!({"question": "What is random access?", "conversation_id": id});
    let states = || {
        let (_, turns) = server.get(&format!("/v1/conversations/{id}/turns"));
        let state = |turn| text(turn, "/state").to_owned();
        list(&turns, "/turns").iter().map(state).collect::<Vec<_>>()
    };
    // On a busy machine the limit may come when all is over: asked again then.
    let is_unrecorded = (1..=5).any(|turn| {
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| server.post("/v1/ask", &body));
            wait_for("the question is recorded", || {
                (states().len() == turn).then_some(())
            });
            let is_limited = limit_file_sizes(&server, "0");
            let (_, answer) = asking.join().unwrap();
            let is_unrecorded = list(&answer, "/degraded") == [json!("conversation")];
            if !is_unrecorded {
                limit_file_sizes(&server, "unlimited");
            }
            assert!(is_limited || !is_unrecorded, "{answer}");
            is_unrecorded
        })
    });
    if !is_unrecorded {
        return skip("no prlimit here that would limit what a process writes");
    }
    assert_eq!(
        states().last().unwrap(),
        "answered",
        "known, though not written"
    );
    let (status, problem) = server.post("/v1/ask", &body);
    assert!(status >= 500, "not 409: {problem}");
    assert!(
        !problem
            .to_string()
            .contains(workspace.path("").to_str().unwrap()),
        "a path: {problem}"
    );
    assert!(limit_file_sizes(&server, "unlimited"));
    let (status, next) = server.post("/v1/ask", &body);
    assert_eq!(status, 200, "{next}");
    server.kill();
    server = workspace.start();
    let (_, turns) = server.get(&format!("/v1/conversations/{id}/turns"));
    let turns = list(&turns, "/turns");
    assert!(
        turns.iter().all(|turn| text(turn, "/state") == "answered"),
        "{turns:?}"
    );
}

/// Whether it could be done.
fn limit_file_sizes(server: &Server, soft: &str) -> bool {
    let limit = format!("--fsize={soft}:unlimited");
    let limited = Command::new("prlimit")
        .args([&limit, "--pid", &server.pid().to_string()])
        .status();
    limited.is_ok_and(|status| status.success())
}

/// The answer is not waited for: the server dies before it.
fn ask_and_break_off(address: &str, body: &Value) {
    let agent = ureq::agent();
    let sent = agent.post(format!("{address}/v1/ask")).send_json(body);
    assert!(sent.is_err(), "the server was killed");
}

const SCHEDULER: &str = "/* Picks the task that runs next. */\n\
    struct task *pick_next_task(struct rq *rq)\n{\n\treturn first_task(rq);\n}\n\n\
    /* Counts the time slice of the running task down. */\n\
    void task_tick(struct rq *rq)\n{\n\tif (--rq->slice == 0)\n\t\tresched(rq);\n}\n";

fn with_course(workspace: Workspace) -> (Workspace, Server) {
    workspace.write(
        "book/slices.md",
        "# Time slices\n\nA time slice is the time that a task may run before the scheduler picks \
         another one. When the time slice is used up, the task goes to the end of the queue.\n",
    );
    workspace.write("code/sched.c", SCHEDULER);
    let profiles = "[[source_profile]]\nname = \"code\"\nsource = [\"kernel-code\"]\nchunker = \"code\"\n\n\
        [[source_profile]]\nname = \"default\"\n";
    let profiles = workspace.write("profiles.toml", profiles);
    let profiles = profiles.to_str().unwrap().to_owned();
    let workspace = workspace.with("taxonomy.source_profiles_file", &profiles);
    let server = workspace.start();
    let book = ["publish", "book", "--source", "textbook", "--wait"];
    let code = ["publish", "code", "--source", "kernel-code", "--wait"];
    for publish in [book, code] {
        let published = workspace.run(publish);
        assert_eq!(published.code, 0, "{published:?}");
    }
    (workspace, server)
}

#[test]
fn source_code_is_explained_and_the_course_answers_from_the_book_first() {
    let explained = "## Purpose\n\nIt counts the time slice down [2].\n\n## Flow\n\n\
        1. `task_tick` takes one from `rq->slice` [2].\n";
    let replies = json!([
        {"prompt": "textbook_answer", "reply": "A time slice is the time that a task may run [1]."},
        {"prompt": "code_explanation", "reply": explained, "piece_characters": 5},
    ]);
    let workspace = scripted(&replies)
        .with("query_api.answer.refuse_below", "0.05")
        .with("query_api.answer.course.textbook.sources", "[\"textbook\"]")
        .with("query_api.answer.course.code.sources", "[\"kernel-code\"]");
    let (workspace, _server) = with_course(workspace);
    let question = "How is the time slice of a task used up?";
    let asked = workspace.run(["ask", "--workflow", "course", question]);
    assert_eq!(asked.code, 0, "{asked:?}");
    let stdout = &asked.stdout;
    let at = |part: &str| {
        stdout
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {stdout}"))
    };
    assert!(
        at("that a task may run [1]") < at("# Source code"),
        "{stdout}"
    );
    assert!(at("# Source code") < at("## Purpose"), "{stdout}");
    assert!(stdout.contains("kernel-code/sched.c:"), "{stdout}");
}

#[test]
fn a_language_model_orders_the_hits_where_it_is_wanted() {
    let wanted = |workspace: Workspace| workspace.with("models.reranker.kind", "chat");
    let without = wanted(Workspace::new());
    without
        .run(["config", "check"])
        .refused(1, &["models.reranker.kind", "judge", "models.chat"]);
    let replies = json!([
        {"prompt": "rerank", "contains": "four steps", "reply": "yes", "logprobs": {"yes": -0.25, "no": -1.5}},
        {"prompt": "rerank", "reply": "no", "logprobs": {"no": -0.1, "yes": -3.0}},
    ]);
    let workspace = wanted(scripted(&replies)).with("models.chat.roles.judge.endpoint", "talker");
    workspace.write(
        "kb/timer.md",
        "# Random timer\n\nTimers of random length access nothing.\n",
    );
    let (workspace, _server) = with_page(workspace);
    let found = workspace.json([
        "search",
        "--explain",
        "--format",
        "json",
        "random timer access",
    ]);
    assert_eq!(text(&found, "/plan/reranker"), "chat:parrot");
    assert_eq!(text(&found, "/hits/0/source_path"), "access.md", "{found}");
    let score = found["hits"][0]["scores"]["rerank"].as_f64().unwrap();
    assert!(
        (score - 0.777).abs() < 0.001,
        "{score}: e^-0.25 / (e^-0.25 + e^-1.5)"
    );
    let looked = workspace.run(["doctor"]);
    let told = "chat:parrot by log-probabilities";
    assert!(looked.stdout.contains(told), "{looked:?}");
}
