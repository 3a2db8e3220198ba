//! The configuration from the outside: all problems at once, the nearest key named, and the order
//! of precedence.

use crate::harness::{Workspace, list, number, text};

#[test]
fn all_problems_are_reported_at_once_with_the_nearest_key() {
    let workspace = Workspace::new().with("query_api.retrieval.top_q", "3");
    let file = workspace.write(
        "own.toml",
        "[store]\npartition = 3\n[query_api.server]\nlisten = 7470\n[modles]\n",
    );
    let file = file.to_str().unwrap();
    let expected = [
        "`store.partition`; did you mean `store.partitions`?",
        "`query_api.server.listen` is an integer, but a string is expected",
        "`modles`; did you mean `models`?",
        "TRIBUTARY__QUERY_API__RETRIEVAL__TOP_Q",
        "did you mean `query_api.retrieval.top_k`?",
        "own.toml",
    ];
    for verb in [vec!["config", "check"], vec!["search", "x"], vec!["run"]] {
        workspace
            .run([vec!["--config", file], verb].concat())
            .refused(1, &expected);
    }
    assert!(
        !workspace.data().exists(),
        "nothing is created by a run that cannot start"
    );
}

#[test]
fn values_that_types_allow_are_checked_too() {
    let check = |key: &str, value: &str, said: &str| {
        Workspace::new()
            .with(key, value)
            .run(["config", "check"])
            .refused(1, &[said])
    };
    check("store.partitions", "0", "store.partitions");
    check("store.partitions", "many", "store.partitions");
    check("models.kind", "magic", "models.kind");
    check(
        "query_api.server.network_access",
        "everyone",
        "query_api.server.network_access",
    );
    check(
        "query_api.retrieval.coarse.keyword",
        "-1",
        "query_api.retrieval",
    );
    let several = Workspace::new()
        .with("models.kind", "magic")
        .with("store.worker.drain_ms", "-1");
    several.run(["config", "check"]).refused(
        1,
        &[
            "has 2 problems",
            "models.kind",
            "`onnx` or `hashing`",
            "store.worker.drain_ms",
        ],
    );
    Workspace::new()
        .run(["--config", "nowhere.toml", "config", "check"])
        .refused(1, &["nowhere.toml"]);
    Workspace::new()
        .run(["--profile", "nowhere", "config", "check"])
        .refused(1, &["no profile `nowhere`"]);
    let workspace = Workspace::new();
    let file = workspace.write("broken.toml", "[store\n");
    workspace
        .run(["--config", file.to_str().unwrap(), "config", "check"])
        .refused(1, &["broken.toml", "TOML"]);
}

#[test]
fn no_secret_is_shown() {
    let properties = "[store.event_log.kafka.properties]\n\"ssl.key.pem\" = \"s3cret one\"\n\"sasl.oauthbearer.config\" = \"s3cret two\"\n";
    let urls =
        "[store.search_index.elasticsearch]\nurls = [\"https://elastic:s3cret@node:9200\"]\n";
    let hub = "[models]\nhub_url = \"https://s3cret@hub.example/models\"\n";
    let workspace = Workspace::new();
    let file = workspace.write("own.toml", [properties, urls, hub].concat());
    for format in ["text", "json"] {
        let run = workspace.run([
            "--config",
            file.to_str().unwrap(),
            "config",
            "show",
            "--format",
            format,
        ]);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.stdout.contains("s3cret"), "{}", run.stdout);
        for shown in ["node:9200", "hub.example/models", "ssl.key.pem"] {
            assert!(run.stdout.contains(shown), "{}", run.stdout);
        }
    }
}

#[test]
fn the_environment_is_above_the_file_and_the_file_above_the_defaults() {
    let workspace = Workspace::new().with("query_api.retrieval.top_k", "3");
    workspace.write(
        "tributary.toml",
        "[query_api.retrieval]\ntop_k = 5\nmaximum_top_k = 50\n",
    );
    let shown = workspace.json(["config", "show", "--format", "json"]);
    assert_eq!(number(&shown, "/config/query_api/retrieval/top_k"), 3);
    assert_eq!(
        number(&shown, "/config/query_api/retrieval/maximum_top_k"),
        50
    );
    assert_eq!(text(&shown, "/config/models/kind"), "hashing");
    assert_eq!(
        text(&shown, "/config/store/data_folder"),
        workspace.data().to_str().unwrap()
    );
    assert_eq!(list(&shown, "/files").len(), 1);
    let checked = workspace.json(["config", "check", "--format", "json"]);
    assert_eq!(checked.get("ok"), Some(&serde_json::Value::Bool(true)));

    let printed = workspace.run(["config", "show"]);
    assert_eq!(printed.code, 0);
    let file = workspace.write("printed.toml", &printed.stdout);
    assert_eq!(
        workspace
            .run(["--config", file.to_str().unwrap(), "config", "check"])
            .code,
        0,
        "what is printed can be read"
    );
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_named_and_not_waited_for() {
    for setting in [
        "taxonomy.lexicon_files",
        "taxonomy.source_profiles_file",
        "taxonomy.knowledge_sets_file",
        "query_api.retrieval.code.glossary_files",
    ] {
        let is_list = setting.ends_with("files");
        let value = if is_list { "[\"pipe\"]" } else { "pipe" };
        let workspace = Workspace::new().with(setting, value);
        make_pipe(&workspace, "pipe");
        workspace
            .run(["config", "check"])
            .refused(1, &["pipe", "a named pipe is in its place"]);
    }
    let workspace = Workspace::new();
    make_pipe(&workspace, "tributary.toml");
    workspace
        .run(["config", "show"])
        .refused(1, &["tributary.toml", "a named pipe is in its place"]);
    let workspace = Workspace::new();
    make_pipe(&workspace, "key");
    workspace
        .run(["--key-file", "key", "search", "x"])
        .refused(1, &["key file key", "a named pipe is in its place"]);
}

fn make_pipe(workspace: &Workspace, name: &str) {
    let path = workspace.path(name);
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}
