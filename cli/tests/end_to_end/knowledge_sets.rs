//! Knowledge sets from the command line: defined, obeyed by documents published afterwards, and
//! filters that fail closed.

use serde_json::json;

use crate::harness::{Workspace, hit_texts, list, number, text, wait_for};

const SETS: &str = r#"
[[knowledge_set]]
id = "radio"
name = "Radio"
view = "capability"
rules = [{ path = "radio/**", tags = ["air"] }]

[[knowledge_set]]
id = "billing"
name = "Billing"
view = "organization"
rules = [{ path = "billing/**" }]
"#;

fn shows_what_a_set_holds(workspace: &Workspace) {
    let show = ["knowledge-sets", "show", "radio", "--format", "json"];
    // What is counted may be some seconds old.
    let radio = wait_for("the set's document is counted", || {
        let radio = workspace.json(show);
        (number(&radio, "/contents/documents") == 1).then_some(radio)
    });
    assert_eq!(text(&radio, "/knowledge_set/name"), "Radio");
    assert!(number(&radio, "/contents/chunks") >= 1, "{radio}");
    assert_eq!(
        radio["contents"]["tags"],
        json!([{"value": "air", "documents": 1}])
    );
    assert_eq!(text(&radio, "/contents/newest/title"), "Mast");
    let shown = workspace.run(["knowledge-sets", "show", "radio"]).stdout;
    assert!(
        shown.contains("documents 1, chunks") && shown.contains("newest: Mast"),
        "{shown}"
    );
    workspace
        .run(["knowledge-sets", "show", "a/b"])
        .refused(1, &["no knowledge set `a/b`"]);
}

#[test]
fn applied_sets_reach_documents_and_filters_fail_closed() {
    let workspace = Workspace::new();
    workspace.write(
        "docs/radio/mast.md",
        "# Mast\n\nThe gharial mast stands on the roof.",
    );
    workspace.write(
        "docs/billing/invoice.md",
        "# Invoice\n\nThe gharial invoice is due in May.",
    );
    let sets = workspace.write("sets.toml", SETS);
    let server = workspace.start();
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    workspace
        .run(["search", "gharial", "--set", "radio"])
        .refused(
            1,
            &["no knowledge set `radio`", "no knowledge sets are defined"],
        );

    let applied = workspace.json([
        "knowledge-sets",
        "apply",
        sets.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(list(&applied, "/knowledge_sets").len(), 2);
    // The documents that are there follow the rules of before, and that is said.
    assert_eq!(number(&applied, "/documents_under_old_rules"), 2);
    let status = || workspace.json(["knowledge-sets", "reindex", "--status", "--format", "json"]);
    let waiting = status();
    assert_eq!(waiting["outdated"], json!(["rules of knowledge sets"]));
    let told = workspace
        .run(["knowledge-sets", "reindex", "--status"])
        .stdout;
    assert!(
        told.contains("2 documents tagged by the rules of before"),
        "{told}"
    );
    let sets_of = |more: &[&str]| {
        let all = [
            &["profiles", "preview", "docs/radio", "--format", "json"],
            more,
        ]
        .concat();
        let shown = workspace.json(all);
        shown["documents"][0]["knowledge_sets"].clone()
    };
    assert_eq!(
        sets_of(&[]),
        json!(["radio"]),
        "a preview sees what was applied"
    );
    workspace.write("other.toml", SETS.replace("\"radio\"", "\"air\""));
    assert_eq!(sets_of(&["--sets", "other.toml"]), json!(["air"]));
    let doctor = workspace.run(["doctor"]).stdout;
    assert!(
        doctor.contains("the server has 2 that were applied"),
        "{doctor}"
    );
    let in_radio = || {
        hit_texts(
            &workspace.json(["search", "gharial", "--set", "radio", "--format", "json"]),
            "gharial",
        )
    };
    assert!(
        in_radio().is_empty(),
        "documents were not in the set when they were published: nothing, and never all"
    );

    let report = workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(
        (number(&report, "/indexed"), number(&report, "/skipped")),
        (2, 0),
        "the sets changed, so nothing is unchanged: {report}"
    );
    assert_eq!(status()["outdated"], json!([]), "all were tagged anew");
    let found = in_radio();
    assert!(found.len() == 1 && found[0].contains("mast"), "{found:?}");
    let both = workspace.json([
        "search", "gharial", "--set", "radio", "--set", "billing", "--format", "json",
    ]);
    assert_eq!(hit_texts(&both, "gharial").len(), 2);
    let tagged = workspace.json(["search", "gharial", "--tag", "air", "--format", "json"]);
    assert_eq!(hit_texts(&tagged, "gharial"), found);
    assert_eq!(tagged.pointer("/hits/0/tags"), Some(&json!(["air"])));
    shows_what_a_set_holds(&workspace);

    let sly = "gharial invoice knowledge_sets:billing filter {\"knowledge_sets\": [\"billing\"]}";
    let (_, answer) = server.post(
        "/v1/search",
        &json!({"query": sly, "filter": {"knowledge_sets": ["radio"]}}),
    );
    let places: Vec<&str> = list(&answer, "/hits")
        .iter()
        .map(|hit| text(hit, "/source_path"))
        .collect();
    assert_eq!(
        places,
        ["radio/mast.md"],
        "no words of a question open another set"
    );

    workspace
        .run(["search", "gharial", "--set", "radoi"])
        .refused(1, &["no knowledge set `radoi`", "did you mean `radio`"]);
    for condition in [["--tag", "nothing"], ["--source", "nowhere"]] {
        let answer = workspace.json([
            "search",
            "gharial",
            condition[0],
            condition[1],
            "--format",
            "json",
        ]);
        assert!(
            list(&answer, "/hits").is_empty(),
            "{condition:?} matches nothing, so nothing is found: {answer}"
        );
    }
    let (status, answer) = server.post(
        "/v1/search",
        &json!({"query": "gharial", "filter": {"knowledge_sets": []}}),
    );
    assert!(
        status != 200 || list(&answer, "/hits").is_empty(),
        "an empty list of sets allows nothing: {answer}"
    );

    workspace
        .run(["publish", "docs", "--set", "radoi"])
        .refused(1, &[]);
    let refused = workspace.run(["publish", "docs", "--set", "radoi", "--format", "json"]);
    let reason = text(&refused.json(), "/documents/0/reason").to_owned();
    assert!(
        reason.contains("no knowledge set `radoi`") && reason.contains("radio"),
        "{reason}"
    );

    server.stop();
    let listed = workspace.json(["knowledge-sets", "list", "--format", "json"]);
    assert_eq!(
        list(&listed, "/knowledge_sets").len(),
        2,
        "applied sets outlive the server"
    );
    assert_eq!(in_radio().len(), 1);
}

#[test]
fn a_bad_definition_changes_nothing_and_names_every_problem() {
    let workspace = Workspace::new();
    let good = workspace.write("sets.toml", SETS);
    workspace.json([
        "knowledge-sets",
        "apply",
        good.to_str().unwrap(),
        "--format",
        "json",
    ]);
    let set = |keys: &str| format!("[[knowledge_set]]\nid = \"radio\"\nname = \"x\"\n{keys}\n");
    let two = format!(
        "{}{}",
        set("view = \"common\"\ncolour = 1"),
        set("view = \"common\"\nshape = 2")
    );
    for (definition, said) in [
        (two, ["`colour`", "`shape`"]),
        (set("view = \"sideways\""), ["sideways", "organization"]),
    ] {
        let bad = workspace.write("bad.toml", definition);
        workspace
            .run(["knowledge-sets", "apply", bad.to_str().unwrap()])
            .refused(1, &said);
    }
    workspace
        .run(["knowledge-sets", "apply", "nowhere.toml"])
        .refused(1, &["nowhere.toml"]);
    assert_eq!(
        list(
            &workspace.json(["knowledge-sets", "list", "--format", "json"]),
            "/knowledge_sets"
        )
        .len(),
        2
    );
}
