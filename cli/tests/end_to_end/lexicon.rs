//! A lexicon from documents: candidates, verdicts of two reviewers, a list that the configuration
//! takes, and other names from definitions.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Workspace, list, number, text};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("tributary.toml", "[models]\nhashing_dimensions = 64\n");
    for (page, verb) in ["读取", "修改", "检查", "释放"].into_iter().enumerate() {
        let body = format!(
            "# 第 {page} 章\n\n## 地址转换\n\n硬件完成地址转换以后，内核{verb}**物理页号** (PPN)。每次地址转换都要{verb}页表。\n\n\
             **载波聚合** (CA) 由 {verb} 模块配置，载波聚合提高速率。\n"
        );
        workspace.write(&format!("docs/page{page}.md"), body);
    }
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    workspace
}

/// What a reviewer who types these lines is told.
fn review(workspace: &Workspace, arguments: &[&str], typed: &str) -> Value {
    let mut command = workspace.command();
    command.args(["lexicon", "review", "candidates.jsonl", "--format", "json"]);
    command.args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(typed.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn lines(workspace: &Workspace, file: &str) -> Vec<Value> {
    let content = std::fs::read_to_string(workspace.path(file)).unwrap();
    let parse = |line: &str| serde_json::from_str(line).unwrap();
    content.lines().map(parse).collect()
}

#[test]
fn a_lexicon_grows_from_documents_and_verdicts() {
    let workspace = workspace();
    let discover = [
        "lexicon",
        "discover",
        "--output",
        "candidates.jsonl",
        "--format",
        "json",
    ];
    let found = workspace.json([&discover[..], &["--synonyms", "synonyms.txt"]].concat());
    assert_eq!(
        (number(&found, "/documents"), number(&found, "/partly_read")),
        (4, 0)
    );
    let candidates = lines(&workspace, "candidates.jsonl");
    assert!(
        candidates.iter().any(|one| one["term"] == "地址转换"),
        "{candidates:?}"
    );
    let synonyms = std::fs::read_to_string(workspace.path("synonyms.txt")).unwrap();
    assert!(synonyms.contains("载波聚合\t-\tCA\n"), "{synonyms}");
    workspace.write("synonyms.txt", format!("{synonyms}小区\t-\tcell\n"));
    workspace
        .run([&discover[..], &["--synonyms", "synonyms.txt"]].concat())
        .refused(1, &["synonyms.txt was written or changed by hand"]);

    // Undo takes back the yes; the end of the input ends the review.
    let reviewed = review(&workspace, &["--reviewer", "ann"], "y\nu\nn\nx\ns\n");
    for (counted, expected) in [("/yes", 1), ("/undone", 1), ("/no", 1), ("/skipped", 1)] {
        assert_eq!(number(&reviewed, counted), expected, "{counted} {reviewed}");
    }
    let first = lines(&workspace, "verdicts.jsonl").remove(0);
    let doubtful = text(&first, "/term").to_owned();
    assert_eq!(text(&first, "/reviewer"), "ann");
    workspace.write(
        "more.jsonl",
        format!(
            "{{\"term\": \"{doubtful}\", \"decision\": \"yes\", \"reviewer\": \"bob\"}}\n\
             {{\"term\": \"地址转换\", \"decision\": \"yes\"}}\n"
        ),
    );
    let taken = review(&workspace, &["--verdicts", "more.jsonl"], "");
    assert_eq!(
        (number(&taken, "/yes"), number(&taken, "/disputed")),
        (2, 1),
        "{taken}"
    );

    let round = ["--from", "candidates.jsonl", "--verdicts", "verdicts.jsonl"];
    let again = workspace.json([&discover[..], &round].concat());
    assert_eq!(number(&again, "/learned_from/disputed"), 1, "{again}");
    assert_eq!(
        lines(&workspace, "candidates.jsonl").len(),
        candidates.len()
    );
    assert_eq!(lines(&workspace, "candidates.jsonl")[0]["term"], "地址转换");

    workspace.write(
        "questions.jsonl",
        "{\"text\": \"地址转换是什么\"}\n{\"text\": \"内核\"}\n",
    );
    let build = [
        "lexicon",
        "build",
        "candidates.jsonl",
        "--output",
        "terms.txt",
    ];
    let asked = [
        "--questions",
        "questions.jsonl",
        "--minimum-score",
        "2",
        "--format",
        "json",
    ];
    let built = workspace.json([&build[..], &asked].concat());
    assert_eq!(
        (number(&built, "/terms"), number(&built, "/disputed")),
        (1, 1),
        "{built}"
    );
    let changed = list(&built, "/difference/changed");
    assert_eq!(
        (changed.len(), number(&built, "/difference/questions")),
        (1, 2)
    );

    workspace.write(
        "tributary.toml",
        "[taxonomy]\nlexicon_files = [\"terms.txt\", \"synonyms.txt\"]\n",
    );
    let analyzed = workspace.json(["analyze", "地址转换是什么", "--format", "json"]);
    assert_eq!(analyzed["tokens"][0], "地址转换", "{analyzed}");
}

#[test]
fn what_cannot_be_read_is_said() {
    let workspace = Workspace::new();
    workspace.write("c.jsonl", "{\"term\": 1}\n");
    workspace
        .run(["lexicon", "review", "c.jsonl"])
        .refused(1, &["c.jsonl line 1", "lexicon discover"]);
    workspace.write("c.jsonl", "");
    workspace
        .run(["lexicon", "build", "c.jsonl", "--output", "t.txt"])
        .refused(1, &["c.jsonl has no candidates"]);
    assert!(!workspace.path("t.txt").exists());
    workspace
        .run(["lexicon", "build", "c.jsonl", "--output", "./c.jsonl"])
        .refused(1, &["--output ./c.jsonl is a file that is read"]);
    let discover = ["lexicon", "discover", "--set", "nosuch", "--output"];
    workspace
        .run(discover.iter().chain(&["none.jsonl"]))
        .refused(1, &["no document that can be found meets the conditions"]);
    assert!(!workspace.path("none.jsonl").exists());
}

#[test]
fn a_model_judges_and_people_go_before_it() {
    let workspace = workspace();
    let discover = ["lexicon", "discover", "--output", "candidates.jsonl"];
    assert_eq!(workspace.run(discover).code, 0);
    let by_model = [
        "lexicon",
        "review",
        "candidates.jsonl",
        "--by-model",
        "--limit",
        "2",
    ];
    workspace
        .run(by_model)
        .refused(1, &["judge", "models.chat.endpoint.url", "--by-model"]);
    let script = workspace.write(
        "script.json",
        r#"[{"prompt": "term_verdicts", "contains": "地址转换", "reply": "{\"verdicts\": [true, false]}"},
            {"prompt": "term_verdicts", "reply": "yes to all"}]"#,
    );
    let workspace = workspace
        .with("models.chat.endpoints.talker.kind", "scripted")
        .with("models.chat.endpoints.talker.model", "parrot")
        .with(
            "models.chat.endpoints.talker.script_file",
            script.to_str().unwrap(),
        )
        .with("models.chat.roles.judge.endpoint", "talker");
    let judged = workspace.run(by_model);
    assert_eq!(judged.code, 0, "{judged:?}");
    let verdicts = lines(&workspace, "verdicts.jsonl");
    let said = |verdict: &Value| {
        (
            text(verdict, "/reviewer").to_owned(),
            text(verdict, "/decision").to_owned(),
        )
    };
    let of_the_model = |decision: &str| ("model:parrot".to_owned(), decision.to_owned());
    assert_eq!(
        verdicts.iter().map(said).collect::<Vec<_>>(),
        [of_the_model("yes"), of_the_model("no")]
    );
    let refused = text(&verdicts[1], "/term").to_owned();
    let build = [
        "lexicon",
        "build",
        "candidates.jsonl",
        "--output",
        "terms.txt",
        "--minimum-score",
        "0",
    ];
    assert_eq!(workspace.run(build).code, 0);
    let has = |term: &str| {
        let terms = std::fs::read_to_string(workspace.path("terms.txt")).unwrap();
        terms
            .lines()
            .any(|line| line.starts_with(&format!("{term}\t")))
    };
    assert!(!has(&refused), "{refused} was refused");

    workspace.write(
        "ann.jsonl",
        format!("{{\"term\": \"{refused}\", \"decision\": \"yes\"}}\n"),
    );
    review(
        &workspace,
        &["--reviewer", "ann", "--verdicts", "ann.jsonl"],
        "",
    );
    assert_eq!(workspace.run(build).code, 0);
    assert!(has(&refused), "ann goes before the model");

    let rest = workspace.run(["lexicon", "review", "candidates.jsonl", "--by-model"]);
    assert_eq!(rest.code, 1, "{rest:?}");
    assert!(rest.stderr.contains("no verdict on"), "{rest:?}");
}

#[test]
fn without_names_of_files_all_lies_in_the_data_folder_and_each_round_learns() {
    let workspace = workspace();
    let found = workspace.json(["lexicon", "discover", "--format", "json"]);
    let file = text(&found, "/output").to_owned();
    assert!(file.ends_with("lexicon/candidates.jsonl"), "{file}");
    workspace.write(
        "said.jsonl",
        "{\"term\": \"地址转换\", \"decision\": \"yes\", \"reviewer\": \"bob\"}\n",
    );
    let review = ["lexicon", "review", "--verdicts", "said.jsonl"];
    let reviewed = workspace.json([&review[..], &["--format", "json"]].concat());
    assert_eq!(
        text(&reviewed, "/file").to_owned(),
        file.replace("candidates", "verdicts")
    );
    let again = workspace.json(["lexicon", "discover", "--format", "json"]);
    assert_eq!(number(&again, "/learned_from/accepted"), 1, "{again}");
    let build = ["lexicon", "build", "--output", "terms.txt"];
    let only = ["--minimum-score", "2", "--format", "json"];
    let built = workspace.json([&build[..], &only].concat());
    assert_eq!(number(&built, "/terms"), 1, "{built}");
    let terms = || std::fs::read_to_string(workspace.path("terms.txt")).unwrap();
    let first = terms();
    // The next round, with what this one built in use.
    workspace.write(
        "tributary.toml",
        "[taxonomy]\nlexicon_files = [\"terms.txt\"]\n",
    );
    workspace.json(["lexicon", "discover", "--format", "json"]);
    let built = workspace.json([&build[..], &only].concat());
    assert_eq!(
        (number(&built, "/terms"), number(&built, "/known")),
        (1, 0),
        "{built}"
    );
    assert!(
        terms().contains("地址转换") && first.contains("地址转换"),
        "{}",
        terms()
    );
    // What others have is left out, and said to be.
    std::fs::rename(workspace.path("terms.txt"), workspace.path("others.txt")).unwrap();
    workspace.write(
        "tributary.toml",
        "[taxonomy]\nlexicon_files = [\"others.txt\"]\n",
    );
    let nothing = workspace.run([&build[..], &only].concat());
    nothing.refused(1, &["not in another lexicon already"]);
    std::fs::remove_file(workspace.path("tributary.toml")).unwrap();
    // What is named elsewhere learns from what is named alone.
    let named = ["lexicon", "discover", "--output", "own.jsonl"];
    let named = workspace.json([&named[..], &["--format", "json"]].concat());
    assert_eq!(number(&named, "/learned_from/accepted"), 0, "{named}");
}
