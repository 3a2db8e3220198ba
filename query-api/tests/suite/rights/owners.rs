//! What a key may do ends with its sources, its sets and its owner, and with the key.

use serde_json::{Value, json};
use tributary_store::keys::Grant;

use super::{JSON, Keyed, NOW, builder, publisher};

#[tokio::test(flavor = "multi_thread")]
async fn publishers_write_under_their_sources_only() {
    let keyed = Keyed::start().await;
    let (_, wiki) = keyed.key(publisher("wiki"));
    let (_, mail) = keyed.key(publisher("mail"));
    let publish = async |key: &str, body: Value| {
        let answer = keyed.send(key, "POST", "/v1/documents", Some(body)).await;
        (answer.status, answer.json())
    };
    let own = json!({"source": "wiki", "source_path": "a.md", "content": "text"});
    let (status, accepted) = publish(&wiki, own.clone()).await;
    assert_eq!(status, 202, "{accepted}");
    let id = accepted["document_id"].as_str().unwrap().to_owned();
    let mut named = own.clone();
    named["document_id"] = json!(id);
    assert_eq!(publish(&wiki, named).await.0, 202);
    let refused = [
        json!({"source": "mail", "source_path": "a.md", "content": "text"}),
        json!({"source": "wiki2", "source_path": "a.md", "content": "text"}),
        json!({"source": "wiki", "document_id": "manual/scheduler", "content": "text"}),
        json!({"source": "wiki", "document_id": "manual/scheduler", "source_path": "a.md", "content": "text"}),
        json!({"source": "wiki", "source_path": "b.md", "content_url": "blob:0123"}),
    ];
    for body in refused {
        let (status, problem) = publish(&wiki, body.clone()).await;
        assert_eq!(
            (status, &problem["code"]),
            (403, &json!("denied")),
            "{body}"
        );
    }
    // While something is unread it may be in it; after that it is not there.
    for status in [503, 404] {
        let gone = keyed
            .send(&mail, "DELETE", "/v1/documents/no-such-document", None)
            .await;
        let foreign = keyed
            .send(&mail, "DELETE", &format!("/v1/documents/{id}"), None)
            .await;
        assert_eq!((gone.status, foreign.status), (status, status));
        assert_eq!(
            gone.body.replace("no-such-document", &id),
            foreign.body,
            "not there and not yours are the same"
        );
        keyed.server.kept.all_is_read().await;
    }
    let states = |key: String| {
        let body = json!({"document_ids": [id]});
        let keyed = &keyed;
        async move {
            let answer = keyed
                .send(&key, "POST", "/v1/documents/states", Some(body))
                .await;
            answer.json()["documents"][0].clone()
        }
    };
    assert_eq!(states(mail.clone()).await, Value::Null);
    assert_eq!(states(wiki.clone()).await["document_id"], json!(id));
    for (path, status) in [
        ("/v1/documents", 403),
        ("/v1/documents?source=wiki", 403),
        ("/v1/documents?source=mail", 200),
    ] {
        assert_eq!(keyed.send(&mail, "GET", path, None).await.status, status);
    }
    let deleted = keyed
        .send(&wiki, "DELETE", &format!("/v1/documents/{id}"), None)
        .await;
    assert_eq!(deleted.status, 202, "{deleted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_keys_of_others_are_not_seen() {
    let keyed = Keyed::start().await;
    let publish = async |source: &str, key: &str| {
        let body = json!({"source": source, "source_path": "a.md", "content": "text"}).to_string();
        let headers = [("Authorization", key), JSON, ("Idempotency-Key", "same")];
        let server = &keyed.server;
        let answer = server
            .send("POST", "/v1/documents", &headers, body.as_bytes())
            .await;
        (answer.status, answer.json()["document_id"].clone())
    };
    let (_, wiki) = keyed.key(publisher("wiki"));
    let (_, mail) = keyed.key(publisher("mail"));
    let (first, second) = (publish("wiki", &wiki).await, publish("mail", &mail).await);
    assert_eq!((first.0, second.0), (202, 202));
    assert_ne!(first.1, second.1);
    assert_eq!(publish("wiki", &wiki).await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_of_others_are_not_there_word_for_word() {
    let keyed = Keyed::start().await;
    let (_, anna) = keyed.key(vec![Grant::Reader]);
    let (_, bert) = keyed.key(vec![Grant::Reader]);
    let (_, chief) = keyed.key(vec![Grant::Administrator]);
    let before = keyed.server.kept.conversations.create(None, "before keys");
    let before = before.await.unwrap().id;
    let made = keyed
        .send(
            &anna,
            "POST",
            "/v1/conversations",
            Some(json!({"title": "mine"})),
        )
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let missing: String = id
        .chars()
        .map(|sign| if sign == 'a' { 'b' } else { 'a' })
        .collect();
    let calls = [
        ("GET", "", None),
        ("PATCH", "", Some(json!({"title": "stolen"}))),
        ("GET", "/turns", None),
        ("POST", "/clear", None),
        ("GET", "/export", None),
        ("PUT", "/turns/t/feedback", Some(json!({"helpful": true}))),
        ("DELETE", "/turns/t/feedback", None),
        ("DELETE", "", None),
    ];
    for foreign in [&id, &before] {
        for (method, rest, body) in &calls {
            let path = |id: &str| format!("/v1/conversations/{id}{rest}");
            let theirs = keyed
                .send(&bert, method, &path(foreign), body.clone())
                .await;
            let nobodys = keyed
                .send(&bert, method, &path(&missing), body.clone())
                .await;
            assert_eq!(theirs.status, 404, "{method} {rest}: {theirs:?}");
            assert_eq!(
                theirs.body.replace(foreign.as_str(), "ID"),
                nobodys.body.replace(&missing, "ID"),
                "{method} {rest}"
            );
        }
    }
    let listed = async |key: &str| {
        let page = keyed
            .send(key, "GET", "/v1/conversations", None)
            .await
            .json();
        let list = page["conversations"].as_array().unwrap().clone();
        let ids = list
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<String>>()
    };
    assert_eq!(listed(&anna).await, [id]);
    assert_eq!(listed(&bert).await, Vec::<String>::new());
    assert_eq!(
        listed(&chief).await,
        [before],
        "what was asked before there were keys is the administrators'"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn builders_change_their_sets_only() {
    let keyed = Keyed::start().await;
    let (_, radio) = keyed.key(builder("radio"));
    let (_, all) = keyed.key(vec![Grant::Builder {
        knowledge_sets: None,
    }]);
    let sets = keyed.send(&radio, "GET", "/v1/knowledge-sets", None).await;
    let sets = sets.json();
    let renamed = |id: &str| {
        let mut sets = sets.clone();
        let list = sets["knowledge_sets"].as_array_mut().unwrap();
        let set = list.iter_mut().find(|set| set["id"] == id).unwrap();
        set["name"] = json!("another name");
        sets
    };
    let apply = async |key: &str, body: Value| {
        let answer = keyed
            .send(key, "PUT", "/v1/knowledge-sets", Some(body))
            .await;
        answer.status
    };
    assert_eq!(apply(&radio, renamed("common")).await, 403);
    assert_eq!(apply(&radio, json!({"knowledge_sets": []})).await, 403);
    assert_eq!(apply(&radio, sets.clone()).await, 200, "nothing changes");
    assert_eq!(apply(&radio, renamed("radio")).await, 200);
    let reindex = async |key: &str, path: &str, body: Option<Value>| {
        keyed.send(key, "POST", path, body).await.status
    };
    let own = "/v1/knowledge-sets/radio/reindex";
    assert_eq!(reindex(&radio, own, None).await, 202);
    let foreign = "/v1/knowledge-sets/common/reindex";
    assert_eq!(reindex(&radio, foreign, None).await, 403);
    let everything = Some(json!({"knowledge_sets": []}));
    assert_eq!(
        reindex(&radio, "/v1/reindex", everything.clone()).await,
        403
    );
    assert_eq!(reindex(&radio, "/v1/reindex/rollback", None).await, 403);
    assert_eq!(reindex(&all, "/v1/reindex", everything).await, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_holds_from_the_next_request_on_for_keys_and_sessions() {
    let keyed = Keyed::start().await;
    let (id, key) = keyed.key(vec![Grant::Reader]);
    let begun = keyed.send(&key, "POST", "/v1/session", None).await;
    assert_eq!(begun.json()["key"], json!(id));
    let cookie = begun.header("set-cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert!(!cookie.contains(&id), "the cookie is not the key: {cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let by_cookie = async |cookie: &str| {
        let headers = [("Cookie", cookie)];
        let server = &keyed.server;
        server.send("GET", "/v1/facets", &headers, b"").await.status
    };
    assert_eq!(by_cookie(&cookie).await, 200);
    assert_eq!(by_cookie(&format!("{cookie}; {cookie}")).await, 401);
    assert_eq!(by_cookie(&cookie.replace('=', "=0")).await, 401);
    // A header counts, not the cookie beside it.
    let both = [("Cookie", cookie.as_str()), ("Authorization", "Bearer no")];
    let server = &keyed.server;
    assert_eq!(
        server.send("GET", "/v1/facets", &both, b"").await.status,
        401
    );
    keyed.file.revoke(&id, NOW).unwrap();
    assert_eq!(by_cookie(&cookie).await, 401);
    assert_eq!(
        keyed.send(&key, "GET", "/v1/facets", None).await.status,
        401
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_the_page_signs_out() {
    let keyed = Keyed::start().await;
    let (_, key) = keyed.key(vec![Grant::Reader]);
    let begun = keyed.send(&key, "POST", "/v1/session", None).await;
    let cookie = begun
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    let headers = [("Cookie", cookie)];
    let call = async |method: &str, path: &str| {
        let server = &keyed.server;
        server.send(method, path, &headers, b"").await.status
    };
    assert_eq!(call("GET", "/v1/session").await, 200);
    // A cookie alone begins no other session: it would never end.
    assert_eq!(call("POST", "/v1/session").await, 401);
    assert_eq!(call("DELETE", "/v1/session").await, 204);
    assert_eq!(call("GET", "/v1/session").await, 401);
}
