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
