//! Runs of evaluations: listed, paged, filtered, and what is damaged is named.

use serde_json::{Value, json};

use crate::common::client::Server;

fn scores(ndcg: f64) -> Value {
    json!({"recall@10": ndcg, "recall@20": ndcg, "mrr@10": ndcg, "ndcg@10": ndcg,
        "hit@1": ndcg, "hit@3": ndcg, "hit@5": ndcg, "hit@10": ndcg})
}

fn case(id: &str, verdict: &str, step: Option<&str>, ndcg: f64) -> Value {
    let ranks = json!({"coarse": 3, "fine": null, "rerank": null, "hit": null});
    let target = json!({"document": "manual/scheduler", "quote": "tick", "found": step.is_none(),
        "step": step, "why": "not kept", "ranks": ranks});
    json!({"id": id, "question": "what is a tick?", "style": "noisy", "verdict": verdict,
        "step": step, "ranks": ranks, "targets": [target], "hits": [], "scores": scores(ndcg)})
}

/// Keeps a run as `tributary eval run` does.
pub fn keep_run(server: &Server, id: &str, at_ms: i64) {
    let cases = [
        case("好", "full", None, 1.0),
        case("late", "none", Some("fine"), 0.0),
        case("later", "none", Some("fine"), 0.2),
        case("some", "partial", Some("coarse"), 0.5),
    ];
    let group = json!({"cases": 4, "verdicts": {"full": 1, "none": 2, "partial": 1},
        "scores": scores(0.4)});
    let run = json!({
        "format": 1, "id": id, "at_ms": at_ms, "queries": "queries.jsonl", "cases": cases,
        "report": {
            "set": "ticks", "documents": 2, "queries": 4, "left_out": ["queries.jsonl:5: empty"],
            "latency_ms": {"total": {"p50": 1.0, "p95": 2.0}},
            "tiers": {"coarse": {"recall": 1.0, "candidates": 300.0},
                "fine": {"recall": 0.75, "candidates": 80.0}, "final": scores(0.4)},
            "diagnosis": {"top_k": 20, "verdicts": {"full": 1, "none": 2, "partial": 1},
                "steps": {"fine": 2, "coarse": 1}, "worst": [],
                "groups": {"style": {"noisy": group}}},
            "ingest": {"seconds": 1.0, "documents_per_second": 2.0, "skipped": 0, "dead": 0},
            "settings": {"fine_model": "hashing"},
        },
    });
    write(server, &format!("{id}.json"), &run.to_string());
}

fn write(server: &Server, name: &str, text: &str) {
    let folder = &server.kept.evaluations;
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

fn ids<'a>(answer: &'a Value, list: &str) -> Vec<&'a str> {
    let list = answer[list].as_array().unwrap();
    list.iter().map(|one| one["id"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_newest_first_and_in_pages() {
    let server = Server::start().await;
    let none = server.get("/v1/evaluations").await.json();
    assert_eq!(
        none,
        json!({"evaluations": [], "left_out": [], "next": null})
    );
    keep_run(&server, "before", 1);
    keep_run(&server, "after", 2);
    let all = server.get("/v1/evaluations").await.json();
    assert_eq!(ids(&all, "evaluations"), ["after", "before"]);
    let [one, other] = [0, 1].map(|at| &all["evaluations"][at]);
    assert_eq!(one["settings_digest"], other["settings_digest"]);
    assert_eq!(one["tiers"]["final"]["ndcg@10"], 0.4);
    assert_eq!(one["steps"], json!({"fine": 2, "coarse": 1}));
    let first = server.get("/v1/evaluations?limit=1").await.json();
    assert_eq!(ids(&first, "evaluations"), ["after"]);
    let rest = server.get("/v1/evaluations?limit=1&after=after").await;
    let rest = rest.json();
    assert_eq!(ids(&rest, "evaluations"), ["before"]);
    assert_eq!(rest["next"], Value::Null);
    let gone = server.get("/v1/evaluations?after=gone").await;
    assert_eq!(gone.code(), "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_come_worst_first_and_are_filtered_and_paged() {
    let server = Server::start().await;
    keep_run(&server, "run", 1);
    let all = server.get("/v1/evaluations/run").await.json();
    assert_eq!(ids(&all, "cases"), ["late", "later", "some", "好"]);
    assert_eq!(all["total"], 4);
    assert_eq!(all["groups"]["style"]["noisy"]["cases"], 4);
    assert_eq!(all["left_out"], json!(["queries.jsonl:5: empty"]));
    assert_eq!(all["cases"][0]["targets"][0]["ranks"]["coarse"], 3);
    for (parameters, expected, total) in [
        ("step=coarse", vec!["some"], 1),
        ("verdict=none&limit=1", vec!["late"], 2),
        ("verdict=none&limit=1&after=late", vec!["later"], 2),
        ("case=%E5%A5%BD", vec!["好"], 1),
        ("verdict=full&step=fine", vec![], 0),
    ] {
        let path = format!("/v1/evaluations/run?{parameters}");
        let found = server.get(&path).await.json();
        assert_eq!(ids(&found, "cases"), expected, "{parameters}");
        assert_eq!(found["total"], total, "{parameters}");
    }
    for parameters in ["step=ranking", "verdict=all", "limit=0", "steps=fine"] {
        let path = format!("/v1/evaluations/run?{parameters}");
        let refused = server.get(&path).await;
        assert_eq!(refused.code(), "invalid_parameter", "{parameters}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_are_compared_with_intervals_and_ranks() {
    let server = Server::start().await;
    keep_run(&server, "before", 1);
    keep_run(&server, "after", 2);
    let file = server.kept.evaluations.join("after.json");
    let mut run: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    run["cases"][1] = case("late", "full", None, 1.0);
    run["cases"][3] = case("some", "none", Some("fine"), 0.0);
    write(&server, "after.json", &run.to_string());
    let path = "/v1/evaluations/after/comparison?with=before";
    let both = server.get(path).await.json();
    let found = &both["comparison"];
    assert_eq!(
        (&found["a"], &found["b"]),
        (&json!("before"), &json!("after"))
    );
    assert_eq!(
        (&found["cases"], &found["won"], &found["lost"]),
        (&json!(4), &json!(1), &json!(1))
    );
    assert_eq!(
        ids(found, "changes"),
        ["some", "late"],
        "the greatest loss first"
    );
    assert_eq!(found["changes"][0]["ranks"][1]["coarse"], 3);
    let ndcg = found["measures"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["measure"] == "ndcg@10");
    let [a, low, difference, high] =
        ["a", "low", "difference", "high"].map(|name| ndcg.unwrap()[name].as_f64().unwrap());
    assert!((a - 0.425).abs() < 1e-9 && (difference - 0.125).abs() < 1e-9);
    assert!(low < 0.0 && high > difference, "{low} … {high}");
    let first = server.get(&format!("{path}&limit=1")).await.json();
    assert_eq!(
        (ids(&first["comparison"], "changes"), &first["next"]),
        (vec!["some"], &json!("some"))
    );
    assert_eq!(first["total"], 2);
    for (path, status) in [
        ("/v1/evaluations/after/comparison", 400),
        ("/v1/evaluations/after/comparison?with=gone", 404),
    ] {
        assert_eq!(server.get(path).await.status, status, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_run_is_named_and_nothing_outside_is_read() {
    let server = Server::start().await;
    keep_run(&server, "run", 1);
    write(&server, "torn.json", "{\"format\": 1, \"id\"");
    write(&server, "newer.json", "{\"format\": 2}");
    write(&server, "../outside.json", "{\"format\": 1}");
    let listed = server.get("/v1/evaluations").await.json();
    assert_eq!(ids(&listed, "evaluations"), ["run"]);
    let left_out = listed["left_out"].to_string();
    assert!(left_out.contains("torn.json") && left_out.contains("format is 2"));
    for (id, status) in [
        ("torn", 422),
        ("newer", 422),
        ("gone", 404),
        ("..%2Foutside", 404),
    ] {
        let answer = server.get(&format!("/v1/evaluations/{id}")).await;
        assert_eq!(answer.status, status, "{id}: {answer:?}");
    }
}
