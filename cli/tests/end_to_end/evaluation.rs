//! `eval run` on both layouts of evaluation sets.

use serde_json::{Value, json};

use crate::harness::{Workspace, has_fields, list, number};

const ANIMALS: [&str; 12] = [
    "aardvark", "bongo", "caracal", "dhole", "eland", "fossa", "genet", "hyrax", "impala",
    "jackal", "kudu", "lechwe",
];

fn lines(values: impl Iterator<Item = Value>) -> String {
    values.map(|value| format!("{value}\n")).collect()
}

fn text_of(animal: &str) -> String {
    format!("The {animal} lives where the {animal} finds water. It is not seen by day.")
}

fn check(report: &Value) {
    has_fields(
        report,
        &[
            "set",
            "documents",
            "queries",
            "tiers",
            "latency_ms",
            "ingest",
            "settings",
        ],
    );
    assert_eq!(
        (number(report, "/documents"), number(report, "/queries")),
        (12, 12)
    );
    for tier in ["coarse", "fine"] {
        has_fields(&report["tiers"][tier], &["recall", "candidates"]);
    }
    has_fields(
        &report["tiers"]["final"],
        &[
            "recall@10",
            "recall@20",
            "mrr@10",
            "ndcg@10",
            "hit@5",
            "hit@10",
        ],
    );
    for tier in ["coarse", "fine", "rerank", "total"] {
        has_fields(&report["latency_ms"][tier], &["p50", "p95"]);
    }
    has_fields(&report["ingest"], &["seconds", "documents_per_second"]);
    assert_eq!(
        report.pointer("/tiers/final/mrr@10"),
        Some(&json!(1.0)),
        "each question has one word of its own: {report}"
    );
    assert_eq!(
        report.pointer("/tiers/coarse/recall"),
        Some(&json!(1.0)),
        "{report}"
    );
}

#[test]
fn beside_a_server_an_evaluation_is_told_where_its_run_is_shown() {
    let workspace = Workspace::new();
    workspace.write(
        "set/docs/eland.md",
        format!("# Eland\n\n{}", text_of("eland")),
    );
    workspace.write(
        "set/queries.jsonl",
        "{\"_id\": \"q\", \"text\": \"eland\"}\n",
    );
    workspace.write(
        "set/qrels.tsv",
        "query-id\tcorpus-id\tscore\nq\teland.md\t1\n",
    );
    let server = workspace.start();
    let store = workspace.data().join("evaluations").display().to_string();
    let says = [
        "is in use by process",
        "leave out --data-dir",
        "--store",
        &store,
    ];
    workspace
        .run(["eval", "run", "--set", "set"])
        .refused(1, &says);
    server.stop();
    let report = workspace.json([
        "eval", "run", "--set", "set", "--top-k", "1", "--format", "json",
    ]);
    assert_eq!(
        report["settings"]["asked"],
        json!({"top_k": 1, "fold": false, "understand": false, "source": "eval"})
    );
}

#[test]
fn both_layouts_are_scored_through_the_real_pipeline() {
    let workspace = Workspace::new();
    let queries = lines(
        ANIMALS.iter().enumerate().map(|(number, animal)| json!({"_id": format!("q{number}"), "text": format!("where is the {animal}")})),
    );
    let judged = |document: &dyn Fn(usize) -> String| {
        let rows = (0..ANIMALS.len()).map(|number| format!("q{number}\t{}\t1\n", document(number)));
        format!("query-id\tcorpus-id\tscore\n{}", rows.collect::<String>())
    };
    let corpus = lines(
        ANIMALS.iter().enumerate().map(|(number, animal)| json!({"_id": format!("d{number}"), "title": "", "text": text_of(animal)})),
    );
    workspace.write("beir/corpus.jsonl", corpus);
    workspace.write("beir/queries.jsonl", &queries);
    workspace.write("beir/qrels.tsv", judged(&|number| format!("d{number}")));
    check(&workspace.json(["eval", "run", "--set", "beir", "--format", "json"]));

    for (number, animal) in ANIMALS.iter().enumerate() {
        workspace.write(
            &format!("folder/docs/part {number}/{animal}.md"),
            format!("# {animal}\n\n{}", text_of(animal)),
        );
    }
    // As long as no question may be, one that is empty, and one that is no question.
    let endless = json!({"_id": "endless", "text": "where is the lechwe ".repeat(100_000)});
    let bad = format!(
        "{endless}\n{}\nnonsense\n",
        json!({"_id": "empty", "text": ""})
    );
    workspace.write("folder/queries.jsonl", format!("{queries}{bad}"));
    let place = |number: usize| format!("part {number}/{}.md", ANIMALS[number]);
    let rows = format!(
        "{}endless\t{}\t1\nempty\t{}\t1\n",
        judged(&place),
        place(0),
        place(0)
    );
    workspace.write("folder/qrels.tsv", rows);
    workspace.run(["eval", "run", "--set", "folder"]).refused(
        1,
        &["holds 12 documents that are not of this set", "--data-dir"],
    );
    let report = workspace.json([
        "eval",
        "run",
        "--data-dir",
        "other",
        "--set",
        "folder",
        "--format",
        "json",
    ]);
    check(&report);
    let left_out = list(&report, "/left_out")
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n");
    for said in [
        "queries.jsonl line 14: question `empty` is empty",
        "queries.jsonl line 15",
        "`endless` cannot be asked",
    ] {
        assert!(left_out.contains(said), "{said} is not in {left_out}");
    }

    let limited = workspace.json([
        "eval",
        "run",
        "--data-dir",
        "other",
        "--set",
        "folder",
        "--limit",
        "3",
        "--format",
        "json",
    ]);
    assert_eq!(number(&limited, "/queries"), 3);
    workspace
        .run(["eval", "run", "--set", "nowhere"])
        .refused(1, &["nowhere"]);
    workspace.write(
        "folder/qrels.tsv",
        "query-id\tcorpus-id\tscore\nq0\tnot-there.md\t1\n",
    );
    let run = workspace.run([
        "eval",
        "run",
        "--data-dir",
        "other",
        "--set",
        "folder",
        "--format",
        "json",
    ]);
    assert!(
        run.code != 0 || number(&run.json(), "/queries") == 1,
        "judgements of documents that are not there are noticed: {run:?}"
    );
}

/// Twelve questions of which four have no answer, a model that cites, and one that reads.
#[test]
fn answers_are_scored_with_and_without_a_model() {
    let workspace = Workspace::new();
    let questions = ANIMALS.iter().enumerate().map(|(number, animal)| {
        json!({"_id": format!("q{number}"), "text": format!("Where does the {animal} live?"),
            "answers": [format!("where the {animal} finds water")]})
    });
    let nobody = json!({"_id": "nobody", "text": "Who built the bridge?", "unanswerable": true});
    workspace.write("set/queries.jsonl", lines(questions.chain([nobody])));
    let documents = ANIMALS.iter().enumerate().map(|(number, animal)| {
        json!({"_id": format!("d{number}"), "title": *animal, "text": text_of(animal)})
    });
    workspace.write("set/corpus.jsonl", lines(documents));
    let judgements = (0..ANIMALS.len()).map(|number| format!("q{number}\td{number}\t1\n"));
    let judgements: String = judgements.collect();
    workspace.write(
        "set/qrels.tsv",
        format!("query-id\tcorpus-id\tscore\n{judgements}"),
    );
    let run = |workspace: &Workspace, more: &[&str]| {
        let arguments = [
            "eval", "run", "--level", "answer", "--set", "set", "--format", "json",
        ];
        workspace.json(arguments.iter().chain(more))
    };
    let report = run(
        &workspace,
        &["--hold-back", "4", "--answers", "answers.jsonl"],
    );
    let all = &report["all"];
    assert_eq!(
        (number(all, "/questions"), number(all, "/with_answer")),
        (13, 9),
        "{report}"
    );
    for share in [
        "source_found",
        "source_cited",
        "holds_expected",
        "citations_valid",
        "language_kept",
    ] {
        assert_eq!(all[share], json!(1.0), "{share}: {report}");
    }
    assert_eq!(all["read_as_right"], Value::Null);
    assert_eq!(
        report["degraded"]["answer"],
        json!(12),
        "all but the refused one: {report}"
    );
    let kept = std::fs::read_to_string(workspace.path("answers.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 13);

    let script = json!([
        {"prompt": "answer", "reply": "It lives on the moon [1] [9].", "piece_characters": 5},
        {"prompt": "answer_grade", "reply": json!({"reason": "Not the moon.", "right": false}).to_string()},
    ]);
    let script = workspace.write("script.json", script.to_string());
    let talker = "models.chat.endpoints.talker";
    let workspace = workspace
        .with(&format!("{talker}.kind"), "scripted")
        .with(&format!("{talker}.model"), "parrot")
        .with(&format!("{talker}.script_file"), script.to_str().unwrap())
        .with("models.chat.roles.answer.endpoint", "talker");
    workspace
        .run([
            "eval", "run", "--level", "answer", "--set", "set", "--judge",
        ])
        .refused(1, &["role `judge`"]);
    let workspace = workspace.with("models.chat.roles.judge.endpoint", "talker");
    let report = run(&workspace, &["--limit", "3", "--judge"]);
    let all = &report["all"];
    assert_eq!(all["read_as_right"], json!(0.0), "{report}");
    assert_eq!(
        (number(all, "/read"), all["holds_expected"].clone()),
        (3, json!(0.0)),
        "{report}"
    );
    assert_eq!(
        all["citations_valid"],
        json!(1.0),
        "a wrong one is taken out: {report}"
    );
    workspace
        .run(["eval", "run", "--set", "set", "--judge"])
        .refused(1, &["--judge goes with --level answer"]);
}
