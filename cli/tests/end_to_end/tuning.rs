//! `eval tune`: what it prints can be put into the configuration as it is.

use serde_json::{Value, json};

use crate::harness::{Workspace, list, number};

const NAMES: [&str; 12] = [
    "aardvark", "bongo", "caracal", "dhole", "eland", "fossa", "genet", "hyrax", "impala",
    "jackal", "kudu", "蝙蝠",
];

fn lines(line: impl Fn(usize, &str) -> Value) -> String {
    let lines = NAMES.iter().enumerate();
    lines
        .map(|(at, name)| format!("{}\n", line(at, name)))
        .collect()
}

#[test]
fn what_is_fitted_is_a_configuration() {
    let workspace = Workspace::new();
    let document = |at: usize, name: &str| json!({"_id": format!("d{at}"), "title": "", "text": format!("The {name} lives where it finds water.")});
    let question = |at: usize, name: &str| json!({"_id": format!("q{at}"), "text": format!("where is {name}")});
    workspace.write("set/corpus.jsonl", lines(document));
    workspace.write("set/queries.jsonl", lines(question));
    let rows: String = (0..NAMES.len())
        .map(|at| format!("q{at}\td{at}\t1\n"))
        .collect();
    workspace.write(
        "set/qrels.tsv",
        format!("query-id\tcorpus-id\tscore\n{rows}"),
    );

    let arguments = ["eval", "tune", "--set", "set", "--data-dir", "kept"];
    let report =
        workspace.json(
            arguments
                .iter()
                .chain(&["--format", "json", "--write", "weight.toml"]),
        );
    assert_eq!(number(&report, "/sets/0/questions"), 12);
    let ways: Vec<&Value> = list(&report, "/ways")
        .iter()
        .map(|way| &way["name"])
        .collect();
    assert_eq!(ways, ["configured", "fixed", "length", "adaptive"]);
    assert_eq!(
        report["best"], "configured",
        "every question is answered, so nothing gains: {report}"
    );
    let bm25 = &report["bm25"];
    assert_eq!(
        (&bm25["gains"], &bm25["fitted"]),
        (&json!(false), &bm25["configured"])
    );
    assert_eq!(bm25["ndcg_10"], json!(1.0));
    assert_eq!(
        report["ways"][0]["parameters"]["base"],
        json!(0.4_f32),
        "hashing goes by length"
    );

    let written = std::fs::read_to_string(workspace.path("weight.toml")).unwrap();
    assert!(
        written.contains("kind = \"adaptive\"") && written.contains("go by length"),
        "what is configured stays, and what took effect is said: {written}"
    );
    let run = workspace.json([
        "eval",
        "run",
        "--set",
        "set",
        "--config",
        "weight.toml",
        "--format",
        "json",
    ]);
    assert_eq!(
        run["settings"]["retrieval"]["vector_weight"]["kind"],
        "adaptive"
    );

    workspace
        .run(arguments.iter().chain(&["--write", "nowhere/weight.toml"]))
        .refused(1, &["nowhere/weight.toml cannot be a file"]);
    workspace.write("own.toml", "[query_api.server]\nlisten = \"127.0.0.1:0\"\n");
    workspace
        .run(arguments.iter().chain(&["--write", "own.toml"]))
        .refused(1, &["own.toml was written or changed by hand"]);
    workspace.write("set/qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n");
    workspace
        .run(arguments)
        .refused(1, &["1 questions were asked; at least 10"]);
    workspace
        .run(["eval", "tune", "--set", "nowhere"])
        .refused(1, &["nowhere"]);

    workspace.write(
        "set/qrels.tsv",
        format!("query-id\tcorpus-id\tscore\n{rows}"),
    );
    let other = workspace.with("enrich.bm25.b", "0.5");
    let kept = "kept/set";
    other
        .run(["eval", "run", "--set", "set", "--data-dir", kept])
        .refused(1, &["built with other settings", "bm25", "reindex --all"]);
    let build = [
        "knowledge-sets",
        "reindex",
        "--all",
        "--wait",
        "--data-dir",
        kept,
    ];
    other.json(build.iter().chain(&["--format", "json"]));
    let run = [
        "eval",
        "run",
        "--set",
        "set",
        "--data-dir",
        kept,
        "--format",
        "json",
    ];
    other.json(run);
}
