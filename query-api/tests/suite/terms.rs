//! The review of terms: what the page shows is what the terminal would, verdicts of several
//! reviewers are kept with their names, and sentences are for who sees every document.

use serde_json::{Value, json};
use tributary_store::keys::{Grant, NewKey};

use crate::common::client::{Answer, Server};
use crate::rights::{Keyed, NOW};

/// Puts candidates where `tributary lexicon discover` does.
pub fn discovered(server: &Server, terms: &[(&str, f64)]) {
    let line = |(term, score): &(&str, f64)| {
        let candidate = json!({"term": term, "score": score, "count": 3, "documents": 2,
            "contexts": [format!("{term} stands here.")], "features": vec![0.0; 21]});
        format!("{candidate}\n")
    };
    let text: String = terms.iter().map(line).collect();
    std::fs::create_dir_all(&server.kept.lexicon).unwrap();
    std::fs::write(server.kept.lexicon.join("candidates.jsonl"), text).unwrap();
}

const TERMS: [(&str, f64); 4] = [("页表", 0.99), ("tick", 0.52), ("内核", 0.4), ("is", 0.01)];

fn terms(page: &Value) -> Vec<&str> {
    let candidates = page["candidates"].as_array().unwrap();
    candidates
        .iter()
        .map(|one| one["term"].as_str().unwrap())
        .collect()
}

async fn say(server: &Server, term: &str, verdict: &str) -> Answer {
    let body = json!({"term": term, "verdict": verdict});
    server.post("/v1/terms/verdicts", &body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn candidates_come_in_doubt_first_and_what_is_decided_leaves_the_queue() {
    let server = Server::start().await;
    let none = server.get("/v1/terms").await.json();
    assert_eq!(none["progress"]["candidates"], 0, "{none}");
    discovered(&server, &TERMS);
    let all = server.get("/v1/terms").await.json();
    assert_eq!(terms(&all), ["tick", "内核", "页表", "is"]);
    assert_eq!(all["reviewer"], "owner");
    assert_eq!(
        all["candidates"][0]["contexts"],
        json!(["tick stands here."])
    );

    let said = say(&server, "tick", "yes").await.json();
    assert_eq!(said["candidate"]["yours"], "yes", "{said}");
    assert_eq!(said["candidate"]["is_term"], true);
    assert_eq!(said["progress"]["open"], 3);
    say(&server, "内核", "skip").await;
    let page = server.get("/v1/terms?limit=1&after=tick").await.json();
    assert_eq!(
        (terms(&page), &page["next"]),
        (vec!["内核"], &json!("内核")),
        "skipped is open"
    );
    let decided = server.get("/v1/terms?state=decided").await.json();
    assert_eq!(terms(&decided), ["tick"]);

    let undone = say(&server, "tick", "undo").await.json();
    assert_eq!(undone["candidate"]["yours"], Value::Null);
    assert_eq!(
        undone["progress"],
        json!({"candidates": 4, "open": 4, "accepted": 0,
        "rejected": 0, "disputed": 0, "verdicts": 3})
    );
    let kept = std::fs::read_to_string(server.kept.lexicon.join("verdicts.jsonl")).unwrap();
    let decisions: Vec<Value> = kept
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let decisions: Vec<&str> = decisions
        .iter()
        .map(|one| one["decision"].as_str().unwrap())
        .collect();
    assert_eq!(decisions, ["yes", "skip", "undo"], "every verdict is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_candidate_is_refused_and_files_are_read_anew() {
    let server = Server::start().await;
    discovered(&server, &TERMS);
    assert_eq!(say(&server, "nothing", "yes").await.status, 404);
    assert_eq!(say(&server, "tick", "maybe").await.status, 400);
    let gone = server.get("/v1/terms?after=nothing").await;
    assert_eq!(gone.code(), "invalid_parameter");
    assert!(!server.kept.lexicon.join("verdicts.jsonl").exists());
    discovered(&server, &[("novel", 0.5), ("tick", 0.9)]);
    let verdict = json!({"term": "novel", "decision": "no", "reviewer": "ann", "at_ms": 1});
    std::fs::write(
        server.kept.lexicon.join("verdicts.jsonl"),
        format!("{verdict}\n"),
    )
    .unwrap();
    let open = server.get("/v1/terms").await.json();
    assert_eq!(terms(&open), ["tick"], "ann decided in the terminal");
    std::fs::write(
        server.kept.lexicon.join("candidates.jsonl"),
        "{\"term\": 1}\n",
    )
    .unwrap();
    let damaged = server.get("/v1/terms").await;
    assert_eq!(damaged.status, 422, "{damaged:?}");
    assert!(damaged.body.contains("line 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn reviewers_have_the_names_of_their_keys_and_disagreement_is_shown() {
    let keyed = Keyed::start().await;
    discovered(&keyed.server, &TERMS);
    let key = |name: &str, role: Grant| {
        let new = NewKey {
            name: name.to_owned(),
            roles: vec![role],
            groups: Vec::new(),
            clearance: 0,
            expires_ms: None,
        };
        format!("Bearer {}", keyed.file.create(new, NOW).unwrap().1.reveal())
    };
    let builder = |sets: Option<&str>| Grant::Builder {
        knowledge_sets: sets.map(|set| vec![set.to_owned()]),
    };
    let ann = key("ann", builder(None));
    let bob = key("bob", Grant::Administrator);
    let decide = async |key: &str, verdict: &str| {
        let body = json!({"term": "tick", "verdict": verdict});
        keyed
            .send(key, "POST", "/v1/terms/verdicts", Some(body))
            .await
            .json()
    };
    decide(&ann, "yes").await;
    let both = decide(&bob, "no").await;
    assert_eq!(
        (&both["candidate"]["yes"], &both["candidate"]["no"]),
        (&json!(["ann"]), &json!(["bob"]))
    );
    assert_eq!(both["candidate"]["is_term"], Value::Null);
    let disputed = keyed
        .send(&ann, "GET", "/v1/terms?state=disputed", None)
        .await
        .json();
    assert_eq!(terms(&disputed), ["tick"]);
    assert_eq!(disputed["progress"]["disputed"], 1);
    assert_eq!(
        disputed["candidates"][0]["contexts"],
        json!([]),
        "sentences are of any document"
    );
    let seen = keyed
        .send(&bob, "GET", "/v1/terms?state=disputed", None)
        .await
        .json();
    assert_eq!(
        seen["candidates"][0]["contexts"],
        json!(["tick stands here."])
    );

    for role in [Grant::Reader, builder(Some("radio"))] {
        let other = key("other", role);
        for (method, path) in [("GET", "/v1/terms"), ("POST", "/v1/terms/verdicts")] {
            let body = json!({"term": "tick", "verdict": "yes"});
            let body = (method == "POST").then_some(body);
            let refused = keyed.send(&other, method, path, body).await;
            assert_eq!(
                (refused.status, refused.code().as_str()),
                (403, "denied"),
                "{path}"
            );
        }
    }
    // No person passes for a model, whose verdicts count less.
    let false_model = key("model:m", builder(None));
    let said = decide(&false_model, "yes").await;
    assert_eq!(said["candidate"]["is_term"], true, "{said}");
}
