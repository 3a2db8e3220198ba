//! `eval run` says which step lost what a question needs, keeps its runs and fails under a limit;
//! `eval runs`, `compare` and `generate`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Workspace, list, number, text};

/// A word of its own for each document, so that each is found by its question where nothing is
/// broken.
const WORDS: [&str; 12] = [
    "aardvark", "bongo", "caracal", "dhole", "eland", "fossa", "genet", "hyrax", "impala",
    "jackal", "kudu", "lechwe",
];
const FAULTS: [(&str, &str, &str); 8] = [
    ("aardvark", "none", ""),
    ("bongo", "unreadable", "not_indexed"),
    ("caracal", "hidden", "conversion"),
    ("dhole", "across", "chunking"),
    ("eland", "filter", "filter"),
    ("fossa", "foreign", "coarse"),
    ("genet", "weight", "fine"),
    ("hyrax", "relevance", "packing"),
];
const SETS: &str = r#"
[[knowledge_set]]
id = "weighed"
name = "Weighed"
view = "capability"
rules = [{ path = "genet*", tags = ["weighed"] }]
"#;

fn sentence(word: &str) -> String {
    format!("The {word} lives where the {word} finds water.")
}

/// A document of two sections that is too long for one chunk.
fn long(word: &str) -> String {
    let filler = "It is seen by day and by night in many places of the plain. ".repeat(140);
    let sentence = sentence(word);
    format!(
        "# Animals\n\n## Part one\n\n{filler}{sentence}\n\n## Part two\n\n{sentence} {filler}\n"
    )
}

fn document(word: &str, fault: &str) -> (String, Vec<u8>) {
    let said = sentence(word);
    match fault {
        "unreadable" => {
            let mut wave = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0".to_vec();
            wave.extend([0; 64]);
            (format!("{word}.wav"), wave)
        }
        "hidden" => {
            let page = format!(
                "<html><head><title>{word}</title></head><body><p>The {word} is shy.</p><script type='text/plain'>{said}</script></body></html>"
            );
            (format!("{word}.html"), page.into_bytes())
        }
        "across" => (format!("{word}.md"), long(word).into_bytes()),
        _ => (
            format!("{word}.md"),
            format!("# {word}\n\n{said}\n").into_bytes(),
        ),
    }
}

fn question(word: &str, fault: &str) -> Value {
    let (name, _) = document(word, fault);
    let said = sentence(word);
    let quote = match fault {
        "across" => format!("{said}\n## Part two\n{said}"),
        _ => said,
    };
    let asked = match fault {
        "foreign" => "qwyx zvbrk plomf".to_owned(),
        _ => format!("where does the {word} live"),
    };
    let request = match fault {
        "filter" => json!({"filter": {"sources": ["elsewhere"]}}),
        "foreign" => json!({"strategy": "full_text"}),
        "weight" => json!({"profile": {"weighed": 0.0}}),
        "relevance" => json!({"minimum_relevance": 1.0}),
        _ => json!({}),
    };
    json!({"_id": word, "text": asked, "level": "single", "style": "verbatim", "request": request,
        "evidence": [{"document": name, "quote": quote}]})
}

/// A set with one fault each, in the folder `set`.
fn write_set(workspace: &Workspace) {
    let mut queries = String::new();
    let mut qrels = "query-id\tcorpus-id\tscore\n".to_owned();
    for (word, fault, _) in FAULTS {
        let (name, content) = document(word, fault);
        workspace.write(&format!("set/docs/{name}"), content);
        queries += &format!("{}\n", question(word, fault));
        qrels += &format!("{word}\t{name}\t1\n");
    }
    for word in WORDS.iter().skip(FAULTS.len()) {
        workspace.write(
            &format!("set/docs/{word}.md"),
            format!("# {word}\n\n{}\n", sentence(word)),
        );
    }
    let odd =
        json!({"_id": "odd", "text": "?", "evidence": [{"document": "nowhere", "quote": "x"}]});
    workspace.write("set/queries.jsonl", format!("{queries}{odd}\n"));
    workspace.write("set/qrels.tsv", format!("{qrels}odd\taardvark.md\t1\n"));
}

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let sets = workspace.write("sets.toml", SETS);
    write_set(&workspace);
    workspace.with("taxonomy.knowledge_sets_file", sets.to_str().unwrap())
}

const RUN: [&str; 10] = [
    "eval",
    "run",
    "--set",
    "set",
    "--top-k",
    "3",
    "--cases",
    "cases.jsonl",
    "--format",
    "json",
];

#[test]
fn each_planted_failure_is_named_by_the_step_that_lost_it() {
    let workspace = workspace();
    let run = workspace.run(RUN);
    assert_eq!(run.code, 3, "one document is dead: {run:?}");
    let report = run.json();
    let written = std::fs::read_to_string(workspace.path("cases.jsonl")).unwrap();
    let cases: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let steps: BTreeMap<&str, &str> = cases
        .iter()
        .map(|case| (text(case, "/id"), case["step"].as_str().unwrap_or("")))
        .collect();
    let expected: BTreeMap<&str, &str> = FAULTS
        .iter()
        .map(|(word, _, step)| (*word, *step))
        .collect();
    assert_eq!(steps, expected, "{written}");
    assert_eq!(report["diagnosis"]["verdicts"]["full"], 1, "{report}");
    assert_eq!(number(&report, "/diagnosis/groups/level/single/cases"), 8);
    let weighed = cases.iter().find(|case| case["id"] == "genet").unwrap();
    let ranks = &weighed["ranks"];
    assert!(
        ranks["fine"].as_u64() > ranks["coarse"].as_u64(),
        "{weighed}"
    );
    let left_out = text(&report, "/left_out/0");
    assert!(
        left_out.contains("queries.jsonl line 9") && left_out.contains("`nowhere`"),
        "{left_out}"
    );
}

#[test]
fn runs_are_kept_compared_and_fail_under_a_limit() {
    let workspace = workspace();
    let failed = workspace.run(RUN.iter().chain(&[
        "--fail-under",
        "nDCG@10=0.99",
        "--fail-under",
        "full=0.1",
    ]));
    failed.refused(1, &["failed under: nDCG@10 is 0.", "below 0.99"]);
    let before = text(&failed.json(), "/run").to_owned();
    workspace
        .run(RUN.iter().chain(&["--fail-under", "ndcg=1"]))
        .refused(2, &["`ndcg` is no measure", "ndcg@10"]);
    // The filter goes, and with it what it lost.
    let queries = std::fs::read_to_string(workspace.path("set/queries.jsonl")).unwrap();
    workspace.write("set/queries.jsonl", queries.replace("elsewhere", "eval"));
    let after = workspace.run(RUN).json();
    let listed = workspace.json(["eval", "runs", "--format", "json"]);
    assert_eq!(list(&listed, "/runs").len(), 2, "{listed}");
    let compared = workspace.json([
        "eval",
        "compare",
        &before,
        text(&after, "/run"),
        "--format",
        "json",
    ]);
    assert_eq!(
        (number(&compared, "/cases"), number(&compared, "/won")),
        (8, 1),
        "{compared}"
    );
    let changes = list(&compared, "/changes");
    assert_eq!(changes.len(), 1, "{compared}");
    assert_eq!(changes[0]["verdict"], json!(["none", "full"]));
    assert_eq!(changes[0]["step"], json!(["filter", null]));
    workspace
        .run(["eval", "compare", &before, "nothing"])
        .refused(1, &["no run `nothing`"]);

    let made = workspace.json([
        "eval", "generate", "--set", "set", "--style", "noisy", "--format", "json",
    ]);
    assert_eq!(number(&made, "/questions"), 9, "{made}");
    let asked = [
        "--queries",
        "queries.noisy.jsonl",
        "--qrels",
        "qrels.noisy.tsv",
    ];
    let noisy = workspace.run(RUN.iter().chain(&asked)).json();
    assert_eq!(
        number(&noisy, "/diagnosis/groups/style/noisy/cases"),
        8,
        "{noisy}"
    );
}
