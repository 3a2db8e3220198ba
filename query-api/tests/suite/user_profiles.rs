//! Profiles of users (画像): kept, given with a request, shown in the plan, and never in the way.

use serde_json::{Value, json};

use crate::common::client::{Answer, Server};

const PATH: &str = "/v1/user-profiles/anna";

async fn put(server: &Server, path: &str, body: &Value) -> Answer {
    let headers = [("Content-Type", "application/json")];
    let body = body.to_string();
    server.send("PUT", path, &headers, body.as_bytes()).await
}

async fn search(server: &Server, more: Value) -> Answer {
    let mut body = json!({"query": "载波聚合 辅小区 ERR-1024", "explain": true, "unfold": true});
    let fields = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(fields);
    server.post("/v1/search", &body).await
}

fn documents(answer: &Value) -> Vec<&str> {
    let hits = answer["hits"].as_array().unwrap();
    let ids = hits.iter().map(|hit| hit["document_id"].as_str().unwrap());
    ids.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_kept_listed_and_forgotten() {
    let server = Server::start().await;
    let missing = server.get(PATH).await;
    assert_eq!(missing.status, 404);
    assert_eq!(missing.code(), "user_profile_not_found");
    let profile = json!({"tag_weights": {"LTE": 5.0, "6G": 2.0}, "vector_weight_shift": 0.1,
        "preferred_sets": ["radio"], "preferred_language": "zh"});
    let kept = put(&server, PATH, &profile).await;
    assert_eq!(kept.status, 200, "{kept:?}");
    assert_eq!(kept.json()["unknown_tags"], json!(["6G"]));
    let got = server.get(PATH).await.json();
    assert_eq!(got["profile"]["preferred_sets"], json!(["radio"]));
    let listed = server.get("/v1/user-profiles?limit=1").await.json();
    assert_eq!(listed["user_profiles"][0], got);
    assert_eq!(listed["next"], Value::Null);
    let unknown = server.get("/v1/user-profiles?after=a%2Fb").await;
    assert_eq!(unknown.code(), "invalid_parameter");
    let deleted = server.send("DELETE", PATH, &[], b"").await;
    assert_eq!(deleted.status, 204);
    assert_eq!(server.get(PATH).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_one_is_named() {
    let server = Server::start().await;
    let table = [
        (json!({"preferred_sets": ["nowhere"]}), 404, "nowhere"),
        (json!({"tag_weights": {"5G": 0.0}}), 400, "5G"),
        (
            json!({"vector_weight_shift": 1.0}),
            400,
            "vector_weight_shift",
        ),
        (json!({"preferred_language": "fr"}), 400, "fr"),
        (json!({"favourite": 1}), 400, "favourite"),
    ];
    for (profile, status, part) in table {
        let kept = put(&server, PATH, &profile).await;
        assert_eq!(kept.status, status, "{profile} {kept:?}");
        assert!(kept.body.contains(part), "{part} {kept:?}");
        let searched = search(&server, json!({"user_profile": profile})).await;
        assert_eq!(searched.status, status, "{profile} {searched:?}");
        let asked = json!({"question": "q", "user_profile": profile});
        let asked = server.post("/v1/ask", &asked).await;
        assert_eq!(asked.status, status, "{profile} {asked:?}");
    }
    let wrong_name = put(&server, "/v1/user-profiles/a%20b", &json!({})).await;
    assert_eq!(wrong_name.status, 400, "{wrong_name:?}");
    let both = json!({"user": "anna", "user_profile": {}});
    assert_eq!(search(&server, both).await.status, 400);
    for body in [json!({"user": "nobody"}), json!({"user": "../x"})] {
        let refused = search(&server, body).await;
        assert_eq!(refused.code(), "user_profile_not_found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn preferences_move_what_is_found_and_lose_nothing() {
    let server = Server::start().await;
    let plain = search(&server, json!({})).await.json();
    let plain = documents(&plain);
    assert!(plain.contains(&"case/42") && plain.contains(&"wiki/载波聚合"));
    for (tag, first) in [("LTE", "case/42"), ("5G", "wiki/载波聚合")] {
        let profile = json!({"tag_weights": {tag: 10.0}});
        let weighed = search(&server, json!({"user_profile": profile}))
            .await
            .json();
        let weighed = documents(&weighed);
        assert_eq!(weighed[0], first, "{weighed:?}");
        let (mut before, mut after) = (plain.clone(), weighed);
        before.sort_unstable();
        after.sort_unstable();
        assert_eq!(before, after, "nothing is lost");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_profile_is_shown_in_the_plan_of_searches_and_answers() {
    let server = Server::start().await;
    let profile = json!({"tag_weights": {"LTE": 5.0}, "vector_weight_shift": -0.2,
        "preferred_sets": ["kernel"], "preferred_language": "en"});
    assert_eq!(put(&server, PATH, &profile).await.status, 200);
    let plain = search(&server, json!({})).await.json();
    let found = search(&server, json!({"user": "anna"})).await.json();
    let plan = &found["plan"];
    assert_eq!(plan["profile"], json!({"LTE": 5.0}));
    assert_eq!(plan["preferences"]["sets"], json!(["kernel"]));
    let weight = |answer: &Value| answer["plan"]["vector_weight"].as_f64().unwrap();
    assert!(
        (weight(&plain) - 0.2 - weight(&found)).abs() < 1e-3,
        "{plan}"
    );
    let question = json!({"question": "任务和载波聚合 scheduler", "user": "anna", "explain": true});
    let answer = server.post("/v1/ask", &question).await.json();
    let plan = &answer["plans"][0];
    assert_eq!(plan["preferences"]["language"], "en", "{answer}");
    // The set is gone: the profile goes on without it.
    let sets = json!({"knowledge_sets": []});
    assert_eq!(put(&server, "/v1/knowledge-sets", &sets).await.status, 200);
    let found = search(&server, json!({"user": "anna"})).await.json();
    let preferences = &found["plan"]["preferences"];
    assert_eq!(preferences["unknown_sets"], json!(["kernel"]));
    assert!(!documents(&found).is_empty());
}
