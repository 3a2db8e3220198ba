//! `training generate|clean|export`: from published documents to files that a model is trained on,
//! and, where a Python with the packages is named, the training itself.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{RUN_DEADLINE, Run, Workspace, finish, list, number, skip, text};

/// Scores what was held back.
const TESTED: [&str; 8] = [
    "eval",
    "run",
    "--data-dir",
    "other",
    "--set",
    "data/test-set",
    "--format",
    "json",
];

/// Names a Python that has what deploy/training/requirements.txt lists: the training runs with it.
const PYTHON: &str = "TRIBUTARY_TRAINING_PYTHON";
/// Seconds for the training of a tiny model: importing PyTorch takes longer.
const TRAINING_DEADLINE: Duration = Duration::from_secs(600);

const THINGS: [&str; 24] = [
    "amplifier",
    "beacon",
    "capacitor",
    "diplexer",
    "equalizer",
    "filter",
    "gateway",
    "heatsink",
    "isolator",
    "jammer",
    "klystron",
    "limiter",
    "mixer",
    "notch",
    "oscillator",
    "phaser",
    "quantizer",
    "repeater",
    "splitter",
    "tuner",
    "uplink",
    "varactor",
    "waveguide",
    "exciter",
];

/// A document of its own for each thing, half of them Chinese.
fn with_documents(workspace: Workspace) -> Workspace {
    for (at, thing) in THINGS.iter().enumerate() {
        let page = match at % 2 {
            0 => format!(
                "# Handbook of the {thing}\n\n## Configure the {thing}\n\nThe {thing} is a device that changes signal number {at} \
                 of the station. Its operator sets it once a year, and writes the value into the log of the station.\n"
            ),
            _ => format!(
                "# {thing} 手册\n\n## 配置 {thing}\n\n{thing} 是一种改变第 {at} 号站点信号的设备。操作员每年设置一次，并把数值写入站点日志，\
                 以便其他人员在检修时能够查到这些数值以及设置的时间和原因，避免重复工作并减少停机。运行期间请勿断开电源，否则需要重新校准全部参数。\n"
            ),
        };
        workspace.write(&format!("docs/{thing}.md"), page);
    }
    let published = workspace.run(["publish", "docs", "--wait", "--source", "handbook"]);
    assert_eq!(published.code, 0, "{published:?}");
    workspace
}

fn read(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Makes, cleans and exports questions by rules, and gives the report of the export.
fn export(workspace: &Workspace) -> Value {
    let generate = [
        "training",
        "generate",
        "--source",
        "handbook",
        "--by-rules",
        "--output",
        "pairs",
        "--format",
        "json",
    ];
    let made = workspace.json(generate);
    assert_eq!(number(&made, "/documents"), 24, "{made}");
    assert!(number(&made, "/new_questions") >= 48, "{made}");
    let again = workspace.json(generate);
    assert_eq!(number(&again, "/asked"), 0, "{again}");
    assert_eq!(number(&again, "/questions"), number(&made, "/questions"));
    let cleaned = workspace.json(["training", "clean", "pairs", "--format", "json"]);
    let kept = read(&workspace.path("pairs/clean.jsonl")).len() as u64;
    let dropped = read(&workspace.path("pairs/dropped.jsonl")).len() as u64;
    assert_eq!(number(&cleaned, "/kept"), kept);
    assert_eq!(kept + dropped, number(&made, "/questions"), "{cleaned}");
    assert!(kept >= 24, "{cleaned}");
    workspace.json([
        "training", "export", "pairs", "--output", "data", "--test", "0.2", "--format", "json",
    ])
}

#[test]
fn documents_become_training_data_and_a_set_to_evaluate_by() {
    let workspace = with_documents(Workspace::new());
    let report = export(&workspace);
    let train = read(&workspace.path("data/train.jsonl"));
    assert_eq!(train.len() as u64, number(&report, "/questions/train"));
    assert!(number(&report, "/negatives") > 0, "{report}");
    for example in &train {
        let positive = text(example, "/positive");
        let negatives = list(example, "/negatives");
        assert!(
            negatives.iter().all(|negative| negative != positive),
            "{example}"
        );
    }
    let documents = |part: &str| -> Vec<String> {
        let examples = read(&workspace.path(&format!("data/{part}.jsonl")));
        examples
            .iter()
            .map(|one| text(one, "/document_id").to_owned())
            .collect()
    };
    let tested = documents("test");
    assert!(!tested.is_empty());
    assert!(
        documents("train")
            .iter()
            .all(|document| !tested.contains(document))
    );
    let scores = workspace.json(TESTED);
    assert_eq!(
        number(&scores, "/queries"),
        number(&report, "/questions/test")
    );
    workspace
        .run(["training", "export", "nowhere", "--output", "x"])
        .refused(1, &["clean.jsonl is not there", "training clean nowhere"]);
}

#[test]
fn a_model_is_asked_once_for_each_passage_also_over_two_runs() {
    let script = json!([
        {"prompt": "training_questions", "contains": "beacon 手册",
            "reply": json!({"questions": ["beacon 信号的设备怎么校准", "beacon 的数值由谁写入日志"]}).to_string()},
        {"prompt": "training_questions", "contains": "Handbook of the capacitor", "reply": "no questions"},
        {"prompt": "training_questions", "contains": "手册",
            "reply": json!({"questions": ["站点设备断电之后需要做什么工作", "操作员多久设置一次站点的设备"]}).to_string()},
        {"prompt": "training_questions",
            "reply": json!({"questions": ["Who writes values into the log?", "yearly settings of a station"]}).to_string()},
    ]);
    let workspace = Workspace::new();
    let script = workspace.write("script.json", script.to_string());
    let workspace = with_documents(workspace)
        .with("models.chat.endpoint.kind", "scripted")
        .with(
            "models.chat.endpoint.script_file",
            &script.display().to_string(),
        );
    let generate = |more: &[&str]| {
        let arguments = [
            "training",
            "generate",
            "--output",
            "pairs",
            "--per-passage",
            "2",
            "--format",
            "json",
        ];
        workspace.run(arguments.iter().chain(more)).json()
    };
    let first = generate(&["--limit", "10"]);
    assert_eq!(
        (number(&first, "/asked"), number(&first, "/done_before")),
        (10, 0),
        "{first}"
    );
    let second = generate(&[]);
    assert_eq!(number(&second, "/done_before"), 10, "{second}");
    assert_eq!(
        number(&second, "/asked") + 10,
        number(&second, "/passages"),
        "{second}"
    );
    let failures = read(&workspace.path("pairs/failures.jsonl"));
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(
        text(&failures[0], "/reason").contains("cannot be used"),
        "{failures:?}"
    );
    let pairs = read(&workspace.path("pairs/pairs.jsonl"));
    assert_eq!(pairs.len() as u64, 2 * (number(&second, "/passages") - 1));
    let beacon = pairs
        .iter()
        .find(|pair| text(pair, "/passage").contains("beacon"));
    let beacon = beacon.unwrap();
    assert_eq!(text(beacon, "/language"), "zh");
    assert!(
        text(beacon, "/prompt").starts_with("training_questions.zh@1:"),
        "{beacon}"
    );
    let third = generate(&[]);
    assert_eq!(
        (number(&third, "/asked"), number(&third, "/calls")),
        (0, 0),
        "{third}"
    );
}

#[test]
fn without_a_model_it_says_how_to_name_one() {
    let workspace = Workspace::new();
    workspace
        .run(["training", "generate", "--output", "pairs"])
        .refused(1, &["no model has the role `generate`", "--by-rules"]);
}

#[test]
fn a_tiny_model_is_trained_added_and_used() {
    let Some(python) = std::env::var_os(PYTHON) else {
        return skip(
            "no Python with PyTorch is named in TRIBUTARY_TRAINING_PYTHON: the training itself is not tried",
        );
    };
    let workspace = with_documents(Workspace::new());
    export(&workspace);
    tiny_base(&workspace, &python);
    let mut finetune = Command::new(scripts().join("finetune"));
    finetune.args([
        "data", "--base", "base", "--output", "tiny", "--epochs", "3", "--batch", "8",
    ]);
    finetune.args([
        "--learning-rate",
        "1e-3",
        "--train-word-embeddings",
        "--threads",
        "1",
    ]);
    finetune.args([
        "--query-prefix",
        "query: ",
        "--passage-prefix",
        "passage: ",
        "--license",
        "MIT",
    ]);
    let trained = with_python(&workspace, &python, finetune);
    assert!(trained.stdout.contains("own documents"), "{trained:?}");
    let settings: Value =
        serde_json::from_slice(&std::fs::read(workspace.path("tiny/config.json")).unwrap())
            .unwrap();
    assert_eq!(list(&settings, "/matryoshka_dimensions"), [64, 32]);
    let mut add = workspace.command();
    add.args(["models", "add", "tiny", "--format", "json"]);
    assert_eq!(finish(add, RUN_DEADLINE).code, 0);
    use_it(workspace);
}

/// Of a base without any training: what counts is that each step runs and that what comes out can
/// be searched with.
#[test]
fn a_tiny_cross_encoder_is_trained_added_and_reranks() {
    let Some(python) = std::env::var_os(PYTHON) else {
        return skip(
            "no Python with PyTorch is named in TRIBUTARY_TRAINING_PYTHON: a cross-encoder is not tried",
        );
    };
    let workspace = with_documents(Workspace::new());
    export(&workspace);
    tiny_base(&workspace, &python);
    let mut folder = Command::new(&python);
    folder.args(["-c", AS_MODEL_FOLDER]).arg(scripts());
    with_python(&workspace, &python, folder);
    let mut train = Command::new(scripts().join("cross-encoder"));
    train.args(["train", "data", "--base", "tiny-base", "--work", "half"]);
    train.args(["--output", "reads-both", "--layers", "0,1", "--batch", "8"]);
    train.args(["--max-length", "96", "--evaluate", "data/test-set"]);
    let trained = with_python(&workspace, &python, train);
    assert!(trained.stderr.contains("student test-set"), "{trained:?}");
    let card = std::fs::read_to_string(workspace.path("reads-both/README.md")).unwrap();
    assert!(card.contains("student test-set"), "{card}");
    let mut again = Command::new(scripts().join("cross-encoder"));
    again.args(["train", "data", "--base", "tiny-base", "--work", "half"]);
    again.args(["--output", "other", "--layers", "1"]);
    let refused = finish(
        with_environment(&workspace, &python, again),
        TRAINING_DEADLINE,
    );
    assert!(refused.code == 1 && refused.stderr.contains("is of another run"));
    let mut add = workspace.command();
    add.args(["models", "add", "reads-both", "--format", "json"]);
    assert_eq!(finish(add, RUN_DEADLINE).code, 0);
    rerank_with_it(workspace);
}

/// Writes a Hugging Face folder as a model folder.
const AS_MODEL_FOLDER: &str = "
import sys; sys.path.insert(0, sys.argv[1])
import model_folder, transformers
settings = {'upstream': 'tiny', 'license': 'MIT', 'pad_token_id': 0, 'max_length': 128}
model_folder.export(transformers.AutoModel.from_pretrained('base', add_pooling_layer=False), 'base/tokenizer.json', 'tiny-base', settings)
";

/// Searches with the new model as tier 3, where ONNX Runtime is known to this machine.
fn rerank_with_it(workspace: Workspace) {
    let Some(library) = std::env::var_os("ORT_DYLIB_PATH") else {
        return skip("ORT_DYLIB_PATH names no ONNX Runtime: the cross-encoder does not rerank");
    };
    let workspace = workspace
        .with("models.reranker.kind", "onnx")
        .with("models.reranker.folder", "reads-both")
        .with("query_api.retrieval.rerank.weight", "0.3")
        .with("query_api.retrieval.rerank.deadline_ms", "60000");
    let mut evaluate = workspace.command();
    evaluate.env("ORT_DYLIB_PATH", library);
    evaluate.env(
        "TRIBUTARY__MODELS__SEARCH_FOLDERS",
        json!([workspace.data().join("models")]).to_string(),
    );
    evaluate.args(TESTED);
    let report = finish(evaluate, RUN_DEADLINE).json();
    assert!(list(&report, "/settings/degraded").is_empty(), "{report}");
    let median = report.pointer("/latency_ms/rerank/p50");
    assert!(
        median.and_then(Value::as_f64).is_some_and(|ms| ms > 0.0),
        "{report}"
    );
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/training")
}

/// A model of the words of the exported passages with weights by chance, in the folder `base`.
fn tiny_base(workspace: &Workspace, python: &OsStr) {
    let mut words = String::new();
    for passage in read(&workspace.path("pairs/passages.jsonl")) {
        writeln!(words, "{}", text(&passage, "/text")).unwrap();
    }
    let words = workspace.write("words.txt", words);
    let mut tiny = Command::new(python);
    tiny.arg(scripts().join("tiny_base.py"))
        .args([&workspace.path("base"), &words]);
    with_python(workspace, python, tiny);
}

fn with_environment(workspace: &Workspace, python: &OsStr, command: Command) -> Command {
    let mut command = workspace.prepare(command);
    command
        .env(PYTHON, python)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn with_python(workspace: &Workspace, python: &OsStr, command: Command) -> Run {
    let run = finish(
        with_environment(workspace, python, command),
        TRAINING_DEADLINE,
    );
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// Evaluates with the new model, where ONNX Runtime is known to this machine.
fn use_it(workspace: Workspace) {
    let Some(library) = std::env::var_os("ORT_DYLIB_PATH") else {
        return skip(
            "ORT_DYLIB_PATH names no ONNX Runtime: the trained model is not searched with",
        );
    };
    let workspace = workspace
        .with("models.kind", "onnx")
        .with("models.folder", "tiny")
        .with("models.coarse_dimensions", "32");
    let mut evaluate = workspace.command();
    evaluate.env("ORT_DYLIB_PATH", library);
    evaluate.env(
        "TRIBUTARY__MODELS__SEARCH_FOLDERS",
        json!([workspace.data().join("models")]).to_string(),
    );
    evaluate.args(TESTED);
    let report = finish(evaluate, RUN_DEADLINE).json();
    assert!(
        text(&report, "/settings/fine_model").starts_with("tiny"),
        "{report}"
    );
    assert!(list(&report, "/settings/degraded").is_empty(), "{report}");
}

#[test]
fn settings_that_leave_nothing_are_refused() {
    let workspace = Workspace::new();
    for similarity in ["2", "NaN", "-0.1", "much"] {
        let option = format!("--similarity={similarity}");
        workspace
            .run(["training", "clean", "pairs", option.as_str()])
            .refused(2, &["it must be a number from 0 to 1"]);
    }
    let bounds = ["--shortest", "9", "--longest", "8"];
    workspace
        .run(["training", "clean", "pairs"].iter().chain(&bounds))
        .refused(1, &["--shortest 9 is more than --longest 8"]);
}
