//! Questions that nobody should ask and somebody does.

use serde_json::json;

use crate::harness::{Workspace, hit_texts, list, text};

#[test]
fn odd_questions_have_defined_answers() {
    let workspace = Workspace::new();
    workspace.write(
        "docs/a.md",
        "# Tokens\n\nCall sbrk(0x10) in [kernel] mode: \"the\" allocator answers ENOMEM.",
    );
    workspace.write("docs/b.md", "# 信号\n\n载波聚合提高下行速率。");
    let server = workspace.start();
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);

    workspace
        .run(["search", ""])
        .refused(1, &["query is empty", "hint:"]);
    workspace
        .run(["search", " \t "])
        .refused(1, &["query is empty"]);
    workspace
        .run(["search", &"a".repeat(100_000)])
        .refused(1, &["100000 bytes long", "8192", "hint:"]);
    for number in ["0", "81"] {
        workspace
            .run(["search", "x", "-k", number])
            .refused(1, &["between 1 and 80"]);
    }
    for nothing in [
        "???",
        "。！？",
        "()[]{}",
        "\"",
        "\\",
        "😀",
        "AND OR NOT ()",
        "a:b",
        "title:*",
        "+-&&||!(){}[]^\"~*?:\\/",
    ] {
        let answer = workspace.json(["search", nothing, "--format", "json"]);
        assert_eq!(text(&answer, "/query"), nothing);
    }
    assert!(
        list(
            &workspace.json(["search", "?!?", "--format", "json"]),
            "/hits"
        )
        .is_empty(),
        "punctuation means nothing"
    );
    assert_eq!(
        workspace
            .run(["search", "the of and", "--format", "json"])
            .code,
        0
    );
    for literal in [
        "sbrk(0x10)",
        "[kernel] mode",
        "\"the\" allocator",
        "ENOMEM)",
    ] {
        let answer = workspace.json(["search", literal, "--format", "json"]);
        assert_eq!(text(&answer, "/hits/0/source_path"), "a.md", "{literal}");
    }
    assert_eq!(
        text(
            &workspace.json(["search", "载波 聚合?", "--format", "json"]),
            "/hits/0/source_path"
        ),
        "b.md"
    );

    for (body, said) in [
        (json!({"query": "x", "topk": 3}), "topk"),
        (json!({"query": 3}), "schema"),
        (json!({}), "query"),
        (json!({"query": "x", "filter": {"sets": ["a"]}}), "sets"),
        (json!({"query": "x", "minimum_score": 2.0}), "minimum_score"),
    ] {
        let (status, problem) = server.post("/v1/search", &body);
        assert_eq!(status, 400, "{body}: {problem}");
        assert!(
            text(&problem, "/detail").contains(said),
            "{body}: {problem}"
        );
    }
    assert!(!server.log().contains("panicked"));
}

#[test]
fn more_hits_begin_with_the_fewer() {
    let workspace = Workspace::new();
    for number in 0..30 {
        let text = format!(
            "# Page {number}\n\n{}",
            "The ocelot hunts. ".repeat(number % 7 + 1) + &format!("Number {number} of them.")
        );
        workspace.write(&format!("docs/{number}.md"), text);
    }
    let _server = workspace.start();
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let ids = |count: &str| {
        let answer = workspace.json(["search", "ocelot hunts", "-k", count, "--format", "json"]);
        list(&answer, "/hits")
            .iter()
            .map(|hit| text(hit, "/chunk_id").to_owned())
            .collect::<Vec<_>>()
    };
    let all = ids("30");
    assert_eq!(all.len(), 30);
    for count in [1, 5, 10] {
        assert_eq!(
            ids(&count.to_string()),
            all.get(..count).unwrap(),
            "top {count}"
        );
    }
    assert_eq!(
        hit_texts(
            &workspace.json(["search", "ocelot", "--source", "files", "--format", "json"]),
            "ocelot"
        )
        .len(),
        10
    );
}

#[test]
fn the_minimum_is_compared_with_the_score_that_is_shown() {
    let workspace = Workspace::new();
    for (number, text) in [
        "lynx lynx lynx",
        "lynx and other cats",
        "cats of the north, among them a lynx",
        "the north",
    ]
    .iter()
    .enumerate()
    {
        workspace.write(&format!("docs/{number}.md"), text);
    }
    let server = workspace.start();
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let scores = |minimum: f64| {
        let (status, answer) = server.post(
            "/v1/search",
            &json!({"query": "lynx", "minimum_score": minimum}),
        );
        assert_eq!(status, 200, "{answer}");
        list(&answer, "/hits")
            .iter()
            .map(|hit| hit["score"].as_f64().unwrap())
            .collect::<Vec<_>>()
    };
    let all = scores(0.0);
    assert!(
        all.len() == 4 && all.is_sorted_by(|left, right| left >= right),
        "{all:?}"
    );
    let middle = (all[0] + all[3]) / 2.0;
    let above: Vec<f64> = all
        .iter()
        .copied()
        .filter(|score| *score >= middle)
        .collect();
    assert!(above.len() < all.len(), "{all:?}");
    assert_eq!(scores(middle), above);
}
