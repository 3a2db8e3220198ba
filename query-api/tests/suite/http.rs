//! The HTTP interface from outside: a real server on a port, requests byte by byte.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tributary_models::Reranker;
use tributary_query_api::config::{NetworkAccess, ServerConfig};
use tributary_schemas::document::TABLES_DATABASE;
use tributary_schemas::{DocumentHeader, State};
use tributary_store::search_index::Operation;

use crate::common::client::{Answer, Server};
use crate::common::{self, backend};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn event(path: &str) -> Value {
    json!({"source": "wiki", "source_path": path, "content": "# Hello\n\nWorld"})
}

/// A file of source code with one function.
pub fn source_code() -> Operation {
    let document = json!({"document_id": "code/wake.c", "version": 1, "source": "code",
        "source_path": "mm/wake.c", "title": "wake.c", "knowledge_sets": ["kernel"]});
    let chunk = |ordinal: u128, kind: &str, definition: &str, name: &str| {
        let description = format!("Wakes the {definition} that reclaims pages.");
        let code = json!({"language": "c", "definition": definition, "name": name,
            "signature": "void wake(void)", "start_line": 3, "end_line": 9,
            "description": description, "described_by": "comment", "calls": ["up"]});
        let chunk = json!({"chunk_id": format!("{ordinal:032x}"), "kind": kind,
            "ordinal": ordinal, "section_path": [], "text": "void wake(void) { int *p, *q; }",
            "tokens": 9, "analyzed": "wake reclaim page", "code": code});
        serde_json::from_value(chunk).unwrap()
    };
    let chunks = vec![
        chunk(0, "code_file", "file", "wake.c"),
        chunk(1, "code_function", "function", "wake"),
    ];
    let vectors = common::embedder()
        .embed(&["wake", "wake"], tributary_models::TextRole::Passage)
        .unwrap();
    Operation::Replace {
        document: Box::new(serde_json::from_value(document).unwrap()),
        chunks,
        vectors,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn source_code_is_searched_through_the_same_door() {
    let server = Server::start().await;
    server.kept.index.apply(vec![source_code()]);
    let ask = async |body: Value| server.post("/v1/code/search", &body).await;
    let answer = ask(json!({"query": "what wakes page reclaim"}))
        .await
        .json();
    let (file, hit) = (&answer["files"][0], &answer["hits"][0]);
    assert_eq!(file["source_path"], "mm/wake.c", "{answer}");
    assert_eq!(file["summary"], "Wakes the file that reclaims pages.");
    let expected = json!({"source_path": "mm/wake.c", "start_line": 3, "end_line": 9,
        "function": "wake", "description": "Wakes the function that reclaims pages.",
        "document_id": "code/wake.c", "text": "void wake(void) { int *p, *q; }",
        "signature": "void wake(void)", "calls": ["up"]});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&hit[name], value, "{name}");
    }
    let elsewhere = json!({"query": "wake", "filter": {"knowledge_sets": ["radio"]}});
    let answer = ask(elsewhere).await.json();
    assert_eq!(
        (&answer["files"], &answer["hits"]),
        (&json!([]), &json!([]))
    );
    let table = [
        (
            json!({"query": "a", "strategy": "hybrid"}),
            400,
            "unknown_field",
            "strategy",
        ),
        (json!({"query": "a", "files": 51}), 400, "invalid", "files"),
        (json!({"query": "a", "top_k": 0}), 400, "invalid", "top_k"),
        (json!({"query": ""}), 400, "empty_query", "empty"),
        (
            json!({"query": "a", "filter": {"kinds": ["function"]}}),
            400,
            "invalid",
            "code_function",
        ),
        (
            json!({"query": "a", "filter": {"knowledge_sets": ["kernal"]}}),
            404,
            "unknown_knowledge_set",
            "kernal",
        ),
    ];
    for (body, status, code, word) in table {
        let refused = ask(body.clone()).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (status, code),
            "{body}"
        );
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(word), "{body}: {detail}");
    }
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_are_shown_and_nothing_else_is() {
    let server = Server::start().await;
    let blobs = server.kept.blobs();
    let keep = async |bytes: &'static [u8]| {
        blobs
            .put(bytes.into())
            .await
            .unwrap()
            .replace("blob:", "/v1/images/")
    };
    let picture = server.get(&keep(b"\x89PNG\r\n\x1A\nsmall").await).await;
    assert_eq!(
        (picture.status, picture.header("content-type")),
        (200, Some("image/png"))
    );
    assert_eq!(picture.header("x-content-type-options"), Some("nosniff"));
    for path in [
        keep(b"<svg onload='alert(1)'/>").await,
        format!("/v1/images/{}", "0".repeat(64)),
        "/v1/images/..%2Fetc".into(),
    ] {
        let refused = server.get(&path).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (404, "not_found"),
            "{path}"
        );
    }
    assert_eq!(server.stop().await, Ok(()));
}

/// A document that is searchable and whose original is this blob.
fn with_original(id: &str, media_type: &str, stored: &str) -> Operation {
    let document = DocumentHeader {
        document_id: id.into(),
        version: 1,
        source_path: id.into(),
        media_type: media_type.into(),
        original: Some(stored.into()),
        ..DocumentHeader::default()
    };
    Operation::Replace {
        document: Box::new(document),
        chunks: Vec::new(),
        vectors: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn originals_are_downloads_of_documents_that_are_there() {
    let server = Server::start().await;
    let (id, page) = ("手册/a b.html", b"<script>alert(1)</script>");
    let stored = server
        .kept
        .blobs()
        .put(page.as_slice().into())
        .await
        .unwrap();
    server
        .kept
        .index
        .apply(vec![with_original(id, "text/html", &stored)]);
    server.kept.report(id, 1, State::Indexed).await;
    let address = "/v1/documents/%E6%89%8B%E5%86%8C%2Fa%20b.html";
    let shown = server.get(address).await.json();
    let link = format!("{address}/original");
    assert_eq!(shown["original"], link, "{shown}");
    assert!(shown.get("page_pictures").is_none());

    let whole = server.get(&link).await;
    assert_eq!(
        (whole.status, whole.body.as_bytes()),
        (200, page.as_slice())
    );
    let headers = [
        ("content-type", "text/html"),
        (
            "content-disposition",
            "attachment; filename=\"a b.html\"; filename*=UTF-8''a%20b.html",
        ),
        ("x-content-type-options", "nosniff"),
        ("accept-ranges", "bytes"),
    ];
    for (name, value) in headers {
        assert_eq!(whole.header(name), Some(value), "{name}");
    }
    let ranged = async |range: &str, if_range: &str| {
        let headers = [("Range", range), ("If-Range", if_range)];
        server.send("GET", &link, &headers, b"").await
    };
    let tag = whole.header("etag").unwrap();
    let part = ranged("bytes=1-6", tag).await;
    assert_eq!((part.status, part.body.as_str()), (206, "script"));
    assert_eq!(part.header("content-range"), Some("bytes 1-6/25"));
    assert_eq!(ranged("bytes=1-6", "\"of before\"").await.status, 200);
    let beyond = ranged("bytes=25-", tag).await;
    assert_eq!(
        (beyond.status, beyond.header("content-range")),
        (416, Some("bytes */25"))
    );
    assert_eq!(beyond.code(), "range_not_satisfiable");
    let again = server
        .send("GET", &link, &[("If-None-Match", tag)], b"")
        .await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    assert_eq!(again.header("etag"), Some(tag));

    // A slash that is part of a name parts nothing.
    let name = server.get(&format!("{address}%2Foriginal")).await;
    assert_eq!(name.code(), "document_not_found");
    let (document_id, version) = (id.to_owned(), 2);
    server.kept.index.apply(vec![Operation::Delete {
        document_id,
        version,
    }]);
    let refused = async |path: &str, code: &str| {
        let answer = server.get(path).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (404, code),
            "{path}"
        );
    };
    refused(&link, "not_found").await;
    refused("/v1/documents/case%2F42/original", "not_found").await;
    refused("/v1/documents/nothing/original", "document_not_found").await;
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_whose_own_id_ends_like_an_original_is_still_answered() {
    let server = Server::start().await;
    for id in ["paintings/original", "book/pages/3"] {
        server.kept.report(id, 1, State::Indexed).await;
        let shown = server.get(&format!("/v1/documents/{id}")).await;
        assert_eq!(shown.status, 200, "{id}");
        assert_eq!(shown.json()["document_id"], id);
        let deleted = server
            .send("DELETE", &format!("/v1/documents/{id}"), &[], b"")
            .await;
        assert_eq!(deleted.status, 202, "{id}");
    }
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_pdf_are_pictures() {
    let server = Server::start().await;
    let keep = async |id: &str, media_type: &str, bytes: &'static [u8]| {
        let stored = server.kept.blobs().put(bytes.into()).await.unwrap();
        server
            .kept
            .index
            .apply(vec![with_original(id, media_type, &stored)]);
        server.kept.report(id, 1, State::Indexed).await;
    };
    keep("book.pdf", "application/pdf", b"%PDF-1.7").await;
    keep("bad.pdf", "application/pdf", b"no more").await;
    keep("a.md", "text/markdown", b"# a").await;
    let shown = server.get("/v1/documents/book.pdf").await.json();
    assert_eq!(shown["page_pictures"], "/v1/documents/book.pdf/pages/");
    for _ in 0..2 {
        let page = server.get("/v1/documents/book.pdf/pages/1").await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("image/jpeg"))
        );
        let tag = page.header("etag").unwrap();
        let headers = [("If-None-Match", tag)];
        let again = server
            .send("GET", "/v1/documents/book.pdf/pages/1", &headers, b"")
            .await;
        assert_eq!(again.status, 304);
    }
    let table = [
        ("book.pdf/pages/2", 404, "not_found"),
        ("book.pdf/pages/0", 404, "not_found"),
        ("book.pdf/pages/x", 404, "document_not_found"),
        ("bad.pdf/pages/1", 422, "corrupt"),
        ("a.md/pages/1", 422, "unsupported"),
        ("nothing/pages/1", 404, "document_not_found"),
    ];
    for (path, status, code) in table {
        let refused = server.get(&format!("/v1/documents/{path}")).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (status, code),
            "{path}"
        );
    }
    assert_eq!(server.stop().await, Ok(()));
}

/// A document that is searchable and whose tables are this blob.
fn with_tables(id: &str, stored: &str) -> Operation {
    let metadata = [(TABLES_DATABASE.to_owned(), stored.to_owned())];
    let document = DocumentHeader {
        document_id: id.into(),
        version: 1,
        metadata: metadata.into(),
        ..DocumentHeader::default()
    };
    Operation::Replace {
        document: Box::new(document),
        chunks: Vec::new(),
        vectors: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_a_document_that_is_there_are_answered_and_no_other_blob_is() {
    let server = Server::start().await;
    let (id, blobs) = ("a b/c&d.csv", server.kept.blobs());
    let keep = async |bytes: &'static [u8]| {
        let stored = blobs.put(bytes.into()).await.unwrap();
        server.kept.index.apply(vec![with_tables(id, &stored)]);
        stored.replace("blob:", "/v1/tables/")
    };
    let document = "?document=a%20b%2Fc%26d.csv";
    let other_blob = keep(b"a body of somebody").await + document;
    assert_eq!(server.get(&other_blob).await.status, 404);
    let address = keep(b"SQLite format 3\0and so on").await;
    let tables = server.get(&(address.clone() + document)).await;
    assert_eq!(
        (tables.status, tables.header("content-type")),
        (200, Some("application/vnd.sqlite3"))
    );
    assert_eq!(tables.header("cache-control"), Some("no-store"));
    server.kept.report(id, 1, State::Indexed).await;
    let shown = server.get("/v1/documents/a%20b%2Fc%26d.csv").await.json();
    assert_eq!(shown["tables"], address.clone() + document);
    let missing = [
        address.clone(),
        address.clone() + "?document=case%2F42",
        format!("/v1/tables/{}{document}", "0".repeat(64)),
        format!("/v1/tables/..%2Fetc{document}"),
    ];
    let refused = async |path: &str| {
        let answer = server.get(path).await;
        let found = (answer.status, answer.code());
        assert_eq!(found, (404, "not_found".to_owned()), "{path}");
    };
    for path in &missing {
        refused(path).await;
    }
    let (document_id, version) = (id.to_owned(), 2);
    server.kept.index.apply(vec![Operation::Delete {
        document_id,
        version,
    }]);
    refused(&(address + document)).await;
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_that_a_path_does_not_take_are_refused_with_the_nearest_that_it_does() {
    let server = Server::start().await;
    let hash = "0".repeat(64);
    let none_taken = [
        "/v1/facets",
        "/v1/knowledge-sets",
        "/v1/reindex",
        "/v1/dead-letters/7",
        "/v1/events",
        "/v1/work",
        &format!("/v1/images/{hash}"),
    ];
    for path in none_taken {
        let answer = server.get(&format!("{path}?sources=wiki")).await;
        let found = (answer.status, answer.code());
        assert_eq!(found, (400, "invalid_parameter".to_owned()), "{path}");
        assert!(
            answer.json()["detail"]
                .as_str()
                .unwrap()
                .contains("takes no parameters")
        );
    }
    for (path, meant) in [
        ("/v1/documents?sourc=wiki", "`source`"),
        ("/v1/documents/case%2F42?passage=true", "`passages`"),
        ("/v1/dead-letters?limits=1", "`limit`"),
        ("/v1/tables/x?documents=1", "`document`"),
    ] {
        let answer = server.get(path).await;
        let found = (answer.status, answer.code());
        assert_eq!(found, (400, "invalid_parameter".to_owned()), "{path}");
        assert!(
            answer.json()["hint"].as_str().unwrap().contains(meant),
            "{answer:?}"
        );
    }
    let answer = server.get("/v1/dead-letters?stage=nope").await;
    assert_eq!(
        (answer.status, answer.code()),
        (400, "invalid_parameter".to_owned())
    );
    assert!(
        answer.json()["detail"]
            .as_str()
            .unwrap()
            .contains("reindex")
    );
    let body = json!({"query": "tasks", "topk": 3});
    let answer = server.post("/v1/search", &body).await.json();
    assert!(
        answer["hint"].as_str().unwrap().contains("`top_k`"),
        "{answer}"
    );
    assert_eq!(server.get("/health/livez?verbose").await.status, 200);
    assert_eq!(server.get("/?page=search").await.status, 200);
    assert_eq!(server.stop().await, Ok(()));
}

/// Ids on the page that a query gives.
async fn listed(server: &Server, query: &str) -> Vec<String> {
    let page = server.get(&format!("/v1/documents?{query}")).await;
    assert_eq!(page.status, 200, "{query}: {page:?}");
    let page = page.json();
    let documents = page["documents"].as_array().unwrap();
    assert_eq!(page["total"], documents.len(), "{query}: {page}");
    documents
        .iter()
        .map(|document| document["document_id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_listed_by_what_they_are_and_in_the_order_asked_for() {
    let server = Server::start().await;
    let cases: [(&str, &[&str]); 11] = [
        ("", &["case/42", "manual/scheduler", "wiki/载波聚合"]),
        (
            "descending=true",
            &["wiki/载波聚合", "manual/scheduler", "case/42"],
        ),
        (
            "sort=id&limit=3",
            &["case/42", "manual/scheduler", "wiki/载波聚合"],
        ),
        ("source=manual", &["manual/scheduler"]),
        ("knowledge_set=common", &["case/42", "wiki/载波聚合"]),
        ("knowledge_set=common&tag=LTE", &["case/42"]),
        ("tag=none", &[]),
        ("text=CASE", &["case/42"]),
        (
            "searchable=true&state=indexed&source=wiki",
            &["wiki/载波聚合"],
        ),
        ("searchable=false", &[]),
        ("changed_before_ms=1000", &[]),
    ];
    for (query, expected) in cases {
        assert_eq!(listed(&server, query).await, expected, "{query}");
    }
    for (query, condition, near) in [
        ("source=manuel", "sources", Some("manual")),
        ("tag=LTA&source=manual", "tags", Some("LTE")),
        ("knowledge_set=comon", "knowledge_sets", Some("common")),
        ("source=elsewhere", "sources", None),
    ] {
        let page = server.get(&format!("/v1/documents?{query}")).await.json();
        let value = &page["unmet_filter"]["values"][0];
        let found = (value["condition"].as_str(), value["did_you_mean"].as_str());
        assert_eq!(found, (Some(condition), near), "{query}: {page}");
    }
    let both = server
        .get("/v1/documents?source=manual&tag=LTE")
        .await
        .json();
    assert!(both["unmet_filter"].is_null(), "each has documents: {both}");
    let first = server.get("/v1/documents?limit=2&sort=title").await.json();
    let next = first["next"].as_str().unwrap();
    for refused in [
        format!("after={next}&sort=id"),
        "after=nothing".to_owned(),
        "sort=colour".to_owned(),
    ] {
        let answer = server.get(&format!("/v1/documents?{refused}")).await;
        let found = (answer.status, answer.code());
        assert_eq!(found, (400, "invalid_parameter".to_owned()), "{refused}");
    }
    let turned = format!("/v1/documents?after={next}&descending=true");
    let detail = server.get(&turned).await.json()["detail"].to_string();
    assert!(
        detail.contains("by title (ascending)") && detail.contains("by title (descending)"),
        "{detail}"
    );
    let second = server.get(&format!("/v1/documents?after={next}")).await;
    assert_eq!(second.json()["documents"].as_array().unwrap().len(), 1);
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_document_says_that_it_is_searchable_and_what_was_tried() {
    let server = Server::start().await;
    server.kept.report("case/42", 2, State::Skipped).await;
    let page = server.get("/v1/documents?state=skipped").await.json();
    assert_eq!(
        (&page["total"], &page["searchable"], &page["states"]),
        (&json!(1), &json!(1), &json!({"skipped": 1})),
        "{page}"
    );
    for document in [
        &page["documents"][0],
        &server.get("/v1/documents/case%2F42").await.json(),
    ] {
        assert_eq!(
            (&document["state"], &document["version"]),
            (&json!("skipped"), &json!(2))
        );
        let searchable = &document["searchable"];
        assert_eq!(searchable["version"], 1, "{document}");
        assert!(searchable["since_ms"].is_i64(), "{document}");
    }
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_found_by_its_path_and_like_names_are_proposed() {
    let server = Server::start().await;
    let accepted = server.post("/v1/documents", &event("radio/tilt.md")).await;
    let id = accepted.json()["document_id"].clone();
    for name in ["wiki/radio/tilt.md", "wiki%2Fradio%2Ftilt.md"] {
        let found = server.get(&format!("/v1/documents/{name}")).await;
        assert_eq!((found.status, &found.json()["document_id"]), (200, &id));
    }
    let unknown = server.get("/v1/documents/wiki/tilt.md").await;
    assert_eq!(unknown.code(), "document_not_found");
    let hint = unknown.json()["hint"].as_str().unwrap().to_owned();
    assert_eq!(hint, "did you mean `wiki/radio/tilt.md`?");
    let mut other = event("radio/tilt.md");
    other["document_id"] = "other".into();
    server.post("/v1/documents", &other).await;
    let several = server
        .send("DELETE", "/v1/documents/wiki/radio/tilt.md", &[], b"")
        .await;
    let hint = several.json()["hint"].as_str().unwrap().to_owned();
    assert!(
        several.status == 400 && hint.contains("`other`") && hint.contains(id.as_str().unwrap()),
        "{several:?}"
    );
    let by_id = server.send("DELETE", "/v1/documents/other", &[], b"").await;
    assert_eq!(by_id.status, 202, "{by_id:?}");
    server
        .kept
        .report(
            "other",
            by_id.json()["version"].as_u64().unwrap(),
            State::Deleted,
        )
        .await;
    let alone = server
        .send("DELETE", "/v1/documents/wiki/radio/tilt.md", &[], b"")
        .await;
    assert_eq!((alone.status, &alone.json()["document_id"]), (202, &id));
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_shows_what_rules_and_its_producer_said_of_it() {
    let server = Server::start().await;
    let shown = server
        .get("/v1/documents/wiki%2F%E8%BD%BD%E6%B3%A2%E8%81%9A%E5%90%88")
        .await
        .json();
    assert_eq!(
        shown["knowledge_sets"],
        json!(["common", "radio"]),
        "{shown}"
    );
    assert_eq!(shown["tags"], json!(["5G"]));
    assert!(shown["attributes"].is_object() && shown["passages"].is_null());
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_answers_what_scripts_read() {
    let server = Server::start().await;
    let answer = server
        .post(
            "/v1/search",
            &json!({"query": "completely fair scheduling", "top_k": 2}),
        )
        .await;
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("application/json"))
    );
    let value = answer.json();
    assert!(value["took_ms"].is_number() && value["degraded"] == json!([]));
    for tier in ["coarse", "fine", "rerank"] {
        assert!(
            value["tiers"][tier]["candidates"].is_u64() && value["tiers"][tier]["ms"].is_number(),
            "{tier}"
        );
    }
    assert_eq!(value["hits"].as_array().unwrap().len(), 2);
    let hit = &value["hits"][0];
    for name in [
        "rank",
        "score",
        "chunk_id",
        "document_id",
        "source",
        "source_path",
        "title",
        "section_path",
        "text",
        "url",
        "pages",
        "kind",
        "tags",
    ] {
        assert!(!hit[name].is_null(), "{name}");
    }
    let metrics = server.get("/metrics").await.body;
    for line in [
        "tributary_search_seconds_count{tier=\"coarse\"} 1",
        "tributary_search_seconds_count{tier=\"total\"} 1",
        "tributary_search_candidates_sum{tier=\"fine\"} 8",
        "tributary_http_requests_total{method=\"POST\",route=\"/v1/search\",status=\"200\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    let ids = async |name: &str| {
        let asked = json!({"query": "scheduling", "filter": {"document_ids": [name]}});
        let answer = server.post("/v1/search", &asked).await.json();
        let hits = answer["hits"].as_array().unwrap().iter();
        let ids = hits.map(|hit| hit["document_id"].as_str().unwrap().to_owned());
        let unmet = answer["unmet_filter"]["values"][0]["value"].as_str();
        (ids.collect::<Vec<_>>(), unmet.map(str::to_owned))
    };
    let by_id = ids("manual/scheduler").await;
    assert!(!by_id.0.is_empty() && by_id.1.is_none(), "{by_id:?}");
    assert_eq!(
        ids("manual/manual/scheduler").await,
        by_id,
        "by source/path"
    );
    let unknown = "manual/nothing".to_owned();
    assert_eq!(ids(&unknown).await, (vec![], Some(unknown)));
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_problems_that_say_what_is_wrong() {
    let server = Server::start().await;
    let long = json!({"query": "长".repeat(34_000)}).to_string();
    let deep = format!("{{\"query\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let huge = json!({"query": "x".repeat(160_000)}).to_string();
    let table: &[(&str, u16, &str, &str)] = &[
        ("", 400, "malformed_body", "JSON"),
        ("{", 400, "malformed_body", "JSON"),
        ("nonsense", 400, "malformed_body", "JSON"),
        ("\u{0}", 400, "malformed_body", "JSON"),
        (&deep, 400, "invalid", "sequence"),
        (r#"["tasks"]"#, 400, "invalid", "object"),
        ("null", 400, "invalid", "schema"),
        ("[]", 400, "invalid", "schema"),
        ("{}", 400, "invalid", "query"),
        (r#"{"query": 5}"#, 400, "invalid", "string"),
        (r#"{"query": "a", "topk": 5}"#, 400, "unknown_field", "topk"),
        (
            r#"{"query": "a", "knowledge_sets": ["x"]}"#,
            400,
            "unknown_field",
            "knowledge_sets",
        ),
        (
            r#"{"query": "a", "filter": {"set": []}}"#,
            400,
            "unknown_field",
            "set",
        ),
        (r#"{"query": "a", "top_k": -1}"#, 400, "invalid", "-1"),
        (r#"{"query": "a", "top_k": 0}"#, 400, "invalid", "top_k"),
        (r#"{"query": "a", "top_k": 1000000}"#, 400, "invalid", "80"),
        (
            r#"{"query": "a", "minimum_score": 7}"#,
            400,
            "invalid",
            "minimum_score",
        ),
        (
            r#"{"query": "a", "neighbours": 99}"#,
            400,
            "invalid",
            "neighbours",
        ),
        (
            r#"{"query": "a", "strategy": "magic"}"#,
            400,
            "invalid",
            "magic",
        ),
        (
            r#"{"query": "a", "strategy": 5}"#,
            400,
            "invalid",
            "schema: ",
        ),
        (r#"{"query": ""}"#, 400, "empty_query", "empty"),
        (r#"{"query": " \n "}"#, 400, "empty_query", "empty"),
        (
            r#"{"query": "a", "filter": {"knowledge_sets": ["radoi"]}}"#,
            404,
            "unknown_knowledge_set",
            "radoi",
        ),
        (&long, 413, "query_too_long", "102000"),
        (&huge, 413, "body_too_large", "150000"),
    ];
    for (body, status, code, word) in table {
        let shown: String = body.chars().take(60).collect();
        let answer = server
            .send("POST", "/v1/search", &[JSON], body.as_bytes())
            .await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (*status, *code),
            "{shown}: {answer:?}"
        );
        let problem = answer.json();
        assert!(
            problem["detail"].as_str().unwrap().contains(word),
            "{shown}: {problem}"
        );
        assert_eq!(problem["status"], *status);
        assert_eq!(problem["trace_id"].as_str().unwrap().len(), 32);
    }
    let beside = server
        .post(
            "/v1/search",
            &json!({"query": "a", "max_security_level": 2}),
        )
        .await;
    let hint = beside.json()["hint"].as_str().unwrap().to_owned();
    assert!(
        hint.starts_with("put `max_security_level` into `filter`"),
        "{hint}"
    );
    let hint = server
        .post(
            "/v1/search",
            &json!({"query": "a", "filter": {"knowledge_sets": ["radoi"]}}),
        )
        .await
        .json();
    assert!(
        hint["hint"].as_str().unwrap().contains("radio"),
        "the nearest known set is named: {hint}"
    );
    let latin = server
        .send("POST", "/v1/search", &[JSON], b"{\"query\": \"\xff\"}")
        .await;
    assert_eq!(
        (latin.status, latin.code().as_str()),
        (400, "malformed_body")
    );
    for media_type in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ] {
        let headers: Vec<(&str, &str)> = media_type
            .iter()
            .map(|value| ("Content-Type", *value))
            .collect();
        let answer = server
            .send("POST", "/v1/search", &headers, b"{\"query\":\"a\"}")
            .await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (415, "unsupported_media_type")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_punctuation_alone_are_answered() {
    let server = Server::start().await;
    for query in [
        "???",
        "\"'`",
        "(((",
        "[]{}",
        "「」『』",
        "AND OR NOT",
        "*",
        "a:b:c",
        "\\",
        "%00",
        "' OR 1=1 --",
        "🙂",
        "<script>",
    ] {
        let answer = server.post("/v1/search", &json!({"query": query})).await;
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_and_methods_are_problems() {
    let server = Server::start().await;
    for (method, path, status, code) in [
        ("GET", "/nothing", 404, "route_not_found"),
        ("GET", "/v1", 404, "route_not_found"),
        ("GET", "/v1/search", 405, "method_not_allowed"),
        ("DELETE", "/v1/search", 405, "method_not_allowed"),
        ("PUT", "/v1/documents/a", 405, "method_not_allowed"),
        ("GET", "/v1/documents?limit=0", 400, "invalid_parameter"),
        ("GET", "/v1/documents?limit=many", 400, "invalid_parameter"),
        ("GET", "/v1/documents?state=happy", 400, "invalid_parameter"),
        ("GET", "/v1/documents?after=x", 400, "invalid_parameter"),
        ("GET", "/v1/documents?colour=red", 400, "invalid_parameter"),
        ("GET", "/v1/documents/unknown", 404, "document_not_found"),
        ("DELETE", "/v1/documents/unknown", 404, "document_not_found"),
        (
            "GET",
            "/v1/dead-letters/unknown",
            404,
            "dead_letter_not_found",
        ),
        (
            "POST",
            "/v1/dead-letters/unknown/replay",
            404,
            "dead_letter_not_found",
        ),
        (
            "DELETE",
            "/v1/dead-letters/unknown",
            404,
            "dead_letter_not_found",
        ),
    ] {
        let answer = server.send(method, path, &[], b"").await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{method} {path}: {answer:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_published_followed_listed_and_deleted() {
    let server = Server::start().await;
    let accepted = server.post("/v1/documents", &event("a.md")).await;
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let accepted = accepted.json();
    let (id, version) = (
        accepted["document_id"].as_str().unwrap(),
        accepted["version"].as_u64().unwrap(),
    );
    let path = format!("/v1/documents/{id}");
    let state = async || {
        server.get(&path).await.json()["state"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (accepted["state"].as_str(), state().await.as_str()),
        (Some("accepted"), "accepted")
    );
    server.kept.report(id, version, State::Embedding).await;
    assert_eq!(state().await, "embedding");
    let first = server.get("/v1/documents?limit=2").await.json();
    assert_eq!(first["documents"].as_array().unwrap().len(), 2);
    let next = first["next"].as_str().unwrap();
    assert_eq!(first["total"], 4, "{first}");
    let second = server
        .get(&format!("/v1/documents?limit=2&after={next}"))
        .await
        .json();
    assert_eq!(
        (
            second["documents"].as_array().unwrap().len(),
            second["next"].is_null()
        ),
        (2, true)
    );
    assert_eq!(
        server.get("/v1/documents?source=manual").await.json()["documents"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        server.get("/v1/documents?state=dead").await.json()["documents"],
        json!([])
    );
    let deleted = server.send("DELETE", &path, &[], b"").await;
    let deletion = deleted.json()["version"].as_u64().unwrap();
    assert!(deleted.status == 202 && deletion > version, "{deleted:?}");
    server.kept.report(id, deletion, State::Deleted).await;
    assert_eq!(state().await, "deleted");
    let counts = server
        .send("POST", "/v1/documents/reconcile", &[], b"")
        .await
        .json();
    let numbers = [
        "accepted",
        "deleted",
        "indexed",
        "in_flight",
        "waiting_records",
    ]
    .map(|name| counts[name].as_u64().unwrap());
    assert_eq!(
        numbers,
        [4, 1, 3, 0, 2],
        "ingest has read nothing: {counts}"
    );
    assert_eq!(
        (&counts["missing"], &counts["ok"]),
        (&json!([]), &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_may_hold_slashes_and_any_letter() {
    let server = Server::start().await;
    let id = "wiki/载波聚合";
    for path in [
        "/v1/documents/wiki%2F%E8%BD%BD%E6%B3%A2%E8%81%9A%E5%90%88",
        "/v1/documents/wiki/%E8%BD%BD%E6%B3%A2%E8%81%9A%E5%90%88",
    ] {
        let answer = server.get(&format!("{path}?passages=true")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["document_id"], id);
        assert_eq!(answer.json()["passages"].as_array().unwrap().len(), 3);
    }
    for odd in [
        "a b?c#d&e=f%",
        "reconcile",
        "../../etc/passwd",
        "日本語/\"quoted\"",
        "x/replay",
    ] {
        let mut event = event("b.md");
        event["document_id"] = odd.into();
        assert_eq!(server.post("/v1/documents", &event).await.status, 202);
        let encoded: String = odd.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = server.get(&format!("/v1/documents/{encoded}")).await;
        assert_eq!(
            (answer.status, answer.json()["document_id"].as_str()),
            (200, Some(odd)),
            "{odd}"
        );
    }
    assert_eq!(server.get("/v1/documents/%ff%fe").await.status / 100, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_documents_are_refused() {
    let server = Server::start().await;
    let with = |name: &str, value: Value| {
        let mut event = event("a.md");
        event[name] = value;
        event
    };
    let table = [
        (json!({}), "invalid", "source"),
        (
            json!({"source": "wiki", "source_path": "a"}),
            "invalid",
            "content",
        ),
        (with("content_base64", "AA==".into()), "invalid", "2 of"),
        (
            json!({"source": "wiki", "source_path": "a", "content_base64": "QUJD%%%"}),
            "invalid",
            "`content_base64` is not base64: `%` at byte 4",
        ),
        (
            json!({"source": "wiki", "source_path": "a", "content_base64": "QUJ"}),
            "invalid",
            "`content_base64` is not base64",
        ),
        (
            with("attributes", json!({"security_level": 300})),
            "invalid",
            "expected a whole number from 0 to 255",
        ),
        (
            with("attributes", json!({"security_level": "high"})),
            "invalid",
            "expected a whole number from 0 to 255",
        ),
        (
            with("knowledge_sets", "a".into()),
            "invalid",
            "expected a list",
        ),
        (
            with("version", "7".into()),
            "invalid",
            "expected a whole number, 0 or more",
        ),
        (json!(["wiki"]), "invalid", "expected an object"),
        (
            json!({"source": "wiki", "content": "a"}),
            "invalid",
            "source_path",
        ),
        (with("source", "".into()), "invalid", "source"),
        (with("document_id", "".into()), "invalid", "0 bytes"),
        (
            with("document_id", "x".repeat(1025).into()),
            "invalid",
            "1025",
        ),
        (
            with("source", "x".repeat(1025).into()),
            "invalid",
            "`source` has 1025 bytes, at most 1024",
        ),
        (
            with("source_path", "x".repeat(10_000).into()),
            "invalid",
            "`source_path` has 10000 bytes, at most 4096",
        ),
        (
            with("title", "x".repeat(5000).into()),
            "invalid",
            "`title` has 5000 bytes, at most 4096",
        ),
        (
            with("attributes", json!({"author": "x".repeat(5000)})),
            "invalid",
            "`attributes.author` has 5000",
        ),
        (
            with("attributes", json!({"custom": {"x".repeat(300): ""}})),
            "invalid",
            "`attributes.custom` has 300",
        ),
        (
            with("knowledge_sets", json!(vec!["common"; 300])),
            "invalid",
            "`knowledge_sets` has 300 entries, at most 256",
        ),
        (with("version", json!(-1)), "invalid", "-1"),
        (with("colour", "red".into()), "unknown_field", "colour"),
        (
            with("attributes", json!({"owner": "me"})),
            "unknown_field",
            "owner",
        ),
        (
            with("knowledge_sets", json!(["kernal"])),
            "unknown_knowledge_set",
            "kernal",
        ),
    ];
    let before = server.kept.count().await;
    for (body, code, word) in table {
        let answer = server.post("/v1/documents", &body).await;
        assert_eq!(answer.code(), code, "{answer:?}");
        assert!(
            answer.json()["detail"].as_str().unwrap().contains(word),
            "{answer:?}"
        );
    }
    let large = server
        .post(
            "/v1/documents",
            &with("content", "x".repeat(300_000).into()),
        )
        .await;
    assert_eq!(
        (large.status, large.code().as_str()),
        (413, "body_too_large")
    );
    let text = server
        .send(
            "POST",
            "/v1/documents",
            &[("Content-Type", "text/markdown")],
            b"# a",
        )
        .await;
    assert_eq!(
        (text.status, text.code().as_str()),
        (415, "unsupported_media_type")
    );
    assert_eq!(server.kept.count().await, before, "nothing was published");
}

/// Dispositions and contents of a form.
type Parts<'a> = &'a [(&'a str, &'a str)];

fn form(parts: Parts<'_>) -> Vec<u8> {
    let mut body = String::new();
    for (disposition, content) in parts {
        body.push_str(&format!(
            "--limit\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n"
        ));
    }
    body.push_str("--limit--\r\n");
    body.into_bytes()
}

async fn upload(server: &Server, parts: Parts<'_>) -> Answer {
    server
        .send(
            "POST",
            "/v1/documents",
            &[("Content-Type", "multipart/form-data; boundary=limit")],
            &form(parts),
        )
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_uploaded_as_forms() {
    let server = Server::start().await;
    let file = ("name=\"file\"; filename=\"手册.md\"", "# 手册\n\n内容");
    let source = ("name=\"source\"", "upload");
    let accepted = upload(
        &server,
        &[
            source,
            file,
            ("name=\"knowledge_sets\"", "common"),
            ("name=\"attributes\"", "{\"product\":\"RAN\"}"),
        ],
    )
    .await;
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let state = server
        .get(&format!(
            "/v1/documents/{}",
            accepted.json()["document_id"].as_str().unwrap()
        ))
        .await
        .json();
    assert_eq!(
        (state["source"].as_str(), state["source_path"].as_str()),
        (Some("upload"), Some("手册.md"))
    );
    let large = "x".repeat(100_000);
    assert_eq!(
        upload(
            &server,
            &[source, ("name=\"file\"; filename=\"a.txt\"", &large)]
        )
        .await
        .status,
        202
    );
    let table: [(Parts<'_>, &str, &str); 6] = [
        (&[source], "invalid", "no `file`"),
        (&[file], "invalid", "source"),
        (&[source, file, file], "invalid", "more than one"),
        (
            &[source, file, ("name=\"colour\"", "red")],
            "unknown_field",
            "colour",
        ),
        (
            &[source, file, ("name=\"version\"", "new")],
            "invalid",
            "version",
        ),
        (
            &[source, file, ("name=\"knowledge_sets\"", "nothing")],
            "unknown_knowledge_set",
            "nothing",
        ),
    ];
    for (parts, code, word) in table {
        let answer = upload(&server, parts).await;
        assert_eq!(answer.code(), code, "{answer:?}");
        assert!(
            answer.json()["detail"].as_str().unwrap().contains(word),
            "{answer:?}"
        );
    }
    let cut = server
        .send(
            "POST",
            "/v1/documents",
            &[("Content-Type", "multipart/form-data; boundary=limit")],
            b"--limit\r\nContent-",
        )
        .await;
    assert_eq!((cut.status, cut.code().as_str()), (400, "malformed_body"));
    let bare = server
        .send(
            "POST",
            "/v1/documents",
            &[("Content-Type", "multipart/form-data")],
            b"x",
        )
        .await;
    assert_eq!((bare.status, bare.code().as_str()), (400, "malformed_body"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_publishes_once() {
    let server = Server::start().await;
    let body = event("once.md").to_string();
    let send = async |body: &str| {
        server
            .send(
                "POST",
                "/v1/documents",
                &[JSON, ("Idempotency-Key", "k1")],
                body.as_bytes(),
            )
            .await
    };
    let first = send(&body).await.json();
    assert_eq!(send(&body).await.json(), first);
    let again = server.post("/v1/documents", &event("once.md")).await.json();
    assert!(
        again["version"].as_u64() > first["version"].as_u64(),
        "without the key it is a new version: {again}"
    );
    let reordered: Vec<String> = event("once.md")
        .as_object()
        .unwrap()
        .iter()
        .rev()
        .map(|(name, value)| format!("\"{name}\" : {value}"))
        .collect();
    let reordered = send(&format!("{{{}}}", reordered.join(","))).await;
    assert_eq!(reordered.json(), first, "it says the same");
    let other = send(&event("other.md").to_string()).await;
    assert_eq!(
        (other.status, other.code().as_str()),
        (422, "idempotency_mismatch")
    );
}

/// Every client makes up a boundary for each request.
#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_publishes_a_form_once() {
    let server = Server::start().await;
    let send = async |boundary: &str, content: &str| {
        let part = |name: &str, value: &str| {
            format!(
                "--{boundary}\r\ncontent-disposition: form-data; name={name}\r\n\r\n{value}\r\n"
            )
        };
        let file = part("\"file\"; filename=\"a.md\"", content);
        let form = format!("{file}{}--{boundary}--\r\n", part("\"source\"", "forms"));
        let kind = format!("multipart/form-data; boundary={boundary}");
        let headers = [("Content-Type", kind.as_str()), ("Idempotency-Key", "f1")];
        let body = form.as_bytes();
        server.send("POST", "/v1/documents", &headers, body).await
    };
    let first = send("one", "# A").await;
    assert_eq!(first.status, 202, "{}", first.body);
    assert_eq!(send("another", "# A").await.json(), first.json());
    let other = send("one", "# B").await;
    assert_eq!(other.code(), "idempotency_mismatch");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_only_die_is_refused_at_the_door() {
    let server = Server::start().await;
    let table = [
        (
            "media_type",
            json!("text/plain; charset=klingon"),
            "charset",
        ),
        ("content_url", json!("https://x/y"), "blob"),
    ];
    for (field, value, word) in table {
        let mut event = event("door.md");
        event[field] = value;
        if field == "content_url" {
            event["content"] = Value::Null;
        }
        let answer = server.post("/v1/documents", &event).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "invalid"),
            "{field}"
        );
        assert!(answer.body.contains(word), "{}", answer.body);
    }
}

/// A server that was killed had no time to report what it took.
#[tokio::test(flavor = "multi_thread")]
async fn what_may_be_unread_can_be_deleted() {
    let server = Server::start().await;
    let delete = async |id: &str| {
        let path = format!("/v1/documents/{id}");
        server.send("DELETE", &path, &[], b"").await.status
    };
    server.kept.all_is_read().await;
    assert_eq!(delete("nobody-knows").await, 404);
    assert_eq!(
        server.post("/v1/documents", &event("a.md")).await.status,
        202
    );
    assert_eq!(delete("nobody-knows").await, 202);
    assert_eq!(delete("nobody/knows").await, 503, "a path or an id");
    server.kept.all_is_read().await;
    assert_eq!(delete("nobody-at-all").await, 404);
}

/// Who numbers versions can delete between two of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_has_a_version_of_the_producers() {
    let server = Server::start().await;
    let publish = async |version: u64| {
        let mut event = event("numbered.md");
        event["version"] = json!(version);
        event["document_id"] = json!("numbered");
        server.post("/v1/documents", &event).await
    };
    let delete = async |query: &str| {
        let path = format!("/v1/documents/numbered{query}");
        server.send("DELETE", &path, &[], b"").await
    };
    assert_eq!(publish(5).await.status, 202);
    let late = delete("?version=5").await;
    assert_eq!((late.status, late.code().as_str()), (409, "conflict"));
    let deleted = delete("?version=6").await;
    assert_eq!(
        (deleted.status, deleted.json()["version"].as_u64()),
        (202, Some(6))
    );
    assert_eq!(publish(6).await.status, 409);
    assert_eq!(publish(7).await.status, 202);
    assert_eq!(delete("?verson=8").await.status, 400);
}

/// As monitors and `curl -I` ask.
#[tokio::test]
async fn what_can_be_read_has_its_head() {
    let server = Server::start().await;
    let head = async |path: &str| server.send("HEAD", path, &[], b"").await;
    let paths = [
        "/health/livez",
        "/health/readyz",
        "/",
        "/openapi.json",
        "/v1/documents",
    ];
    for path in paths {
        let (head, whole) = (head(path).await, server.get(path).await);
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        for name in ["content-length", "content-type", "etag"] {
            assert_eq!(head.header(name), whole.header(name), "{path}: {name}");
        }
        let length = whole.body.len().to_string();
        assert_eq!(head.header("content-length"), Some(length.as_str()));
    }
    // A stream that would have no end.
    assert_eq!(head("/v1/events").await.status, 200);
    assert_eq!(head("/v1/nothing").await.status, 404);
    assert_eq!(head("/v1/search").await.status, 405);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_shown_replayed_and_dropped() {
    let server = Server::start().await;
    let letters = server.get("/v1/dead-letters").await.json()["dead_letters"]
        .as_array()
        .unwrap()
        .clone();
    let ids: Vec<&str> = letters
        .iter()
        .map(|letter| letter["id"].as_str().unwrap())
        .collect();
    assert!(
        server
            .get(&format!("/v1/dead-letters/{}", ids[0]))
            .await
            .json()["preview"]
            .is_string()
    );
    assert_eq!(
        server
            .send(
                "POST",
                &format!("/v1/dead-letters/{}/replay", ids[0]),
                &[],
                b""
            )
            .await
            .status,
        204
    );
    assert_eq!(
        server
            .send("DELETE", &format!("/v1/dead-letters/{}", ids[1]), &[], b"")
            .await
            .status,
        204
    );
    assert_eq!(
        server.get("/v1/dead-letters").await.json()["dead_letters"],
        json!([])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn knowledge_sets_are_listed_and_defined_anew() {
    let server = Server::start().await;
    let before = server.get("/v1/knowledge-sets").await;
    assert_eq!(before.json()["knowledge_sets"].as_array().unwrap().len(), 3);
    let same = server
        .send("PUT", "/v1/knowledge-sets", &[JSON], before.body.as_bytes())
        .await;
    assert_eq!(
        (same.status, same.json()),
        (200, before.json()),
        "what GET gives can be PUT"
    );
    let toml = [("Content-Type", "application/toml")];
    let changed = server
        .send(
            "PUT",
            "/v1/knowledge-sets",
            &toml,
            b"[[knowledge_set]]\nid = \"new\"\nname = \"New\"\nview = \"capability\"\n",
        )
        .await;
    assert_eq!(changed.json()["knowledge_sets"][0]["id"], "new");
    assert_eq!(
        server
            .post(
                "/v1/search",
                &json!({"query": "a", "filter": {"knowledge_sets": ["radio"]}})
            )
            .await
            .code(),
        "unknown_knowledge_set"
    );
    let wrong = server
        .send(
            "PUT",
            "/v1/knowledge-sets",
            &toml,
            b"[[knowledge_set]]\nid = \"Bad Id\"\n",
        )
        .await;
    assert_eq!((wrong.status, wrong.code().as_str()), (400, "invalid"));
    assert_eq!(
        server.get("/v1/knowledge-sets").await.json()["knowledge_sets"][0]["id"],
        "new",
        "a wrong definition changes nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_served_under_a_policy_of_its_own_files_only() {
    let server = Server::start().await;
    for (path, media_type, word) in [
        ("/", "text/html", "<title>Tributary"),
        ("/page/main.js", "text/javascript", "import "),
        ("/page/style.css", "text/css", ":root"),
        ("/page/words/zh.json", "application/json", "搜索"),
        ("/page/vendor/preact.LICENSE.txt", "text/plain", "MIT"),
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 200);
        let found = answer.header("content-type").unwrap();
        assert!(
            found.starts_with(media_type) && answer.body.contains(word),
            "{path}"
        );
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'")
                && !policy.contains("unsafe")
                && !policy.contains("http"),
            "{policy}"
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    let page = server.get("/").await.body;
    assert!(
        !page.contains(" style=") && !page.contains(" onclick=") && !page.contains("//cdn"),
        "the policy would refuse it"
    );
    let unknown = server.get("/page/..%2fopenapi.json").await;
    assert_eq!(
        (unknown.status, unknown.code().as_str()),
        (404, "not_found")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_the_page_is_not_sent_again_to_who_has_it() {
    let server = Server::start().await;
    let first = server.get("/page/main.js").await;
    let tag = first.header("etag").unwrap().to_owned();
    let known = [("If-None-Match", tag.as_str())];
    let again = server.send("GET", "/page/main.js", &known, b"").await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let other = server.send("GET", "/page/style.css", &known, b"").await;
    assert_eq!(other.status, 200, "the tag of another file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_keeps_the_files_of_the_page_until_there_are_others() {
    let server = Server::start().await;
    let index = server.get("/").await;
    assert_eq!(index.header("cache-control"), Some("no-cache"));
    let named: Vec<&str> = index.body.split('"').collect();
    let named: Vec<&str> = named
        .into_iter()
        .filter(|part| part.starts_with("page/"))
        .collect();
    assert!(named.iter().any(|path| path.ends_with("/views/ask.js")));
    let is_for_later = |path: &&str| path.contains("uplot") || path.contains("views/evaluation");
    assert!(!named.iter().any(is_for_later), "charts come with a view");
    for path in &named {
        let file = server.get(&format!("/{path}")).await;
        let keeping = file.header("cache-control").unwrap();
        assert_eq!(file.status, 200, "{path}");
        assert!(keeping.contains("immutable"), "{path}: {keeping}");
    }
    let (_, path) = named[0].split_once('/').unwrap();
    let (version, _) = path.split_once('/').unwrap();
    let before = "0".repeat(version.len());
    let old = server.get(&format!("/page/{before}/words/zh.json")).await;
    assert_eq!(
        (old.status, old.header("cache-control")),
        (200, Some("no-cache"))
    );
    let unknown = server.get(&format!("/page/{version}/none.js")).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn markdown_is_rendered_without_anything_that_acts_and_with_marks() {
    let server = Server::start().await;
    let body = json!({
        "query": "fair scheduling",
        "markdown": ["*Schedulers* are `fair` $x^2$", "<img src=x onerror=alert(1)>", ""],
    });
    let html = server.post("/v1/rendered", &body).await.json()["html"].clone();
    let first = html[0].as_str().unwrap();
    assert!(
        first.contains("<mark>fair</mark>") && first.contains("<msup>"),
        "{first}"
    );
    assert!(!html[1].as_str().unwrap().contains("onerror"), "{html}");
    assert_eq!(html[2], "");
    let deep = json!({"markdown": ["a", "> ".repeat(20_000)]});
    let rendered = server.post("/v1/rendered", &deep).await.json();
    assert_eq!(rendered["as_written"], json!([1]));
    assert!(
        rendered["html"][1]
            .as_str()
            .unwrap()
            .starts_with("<pre>&gt; ")
    );
    let long = json!({"query": "word ".repeat(10_000), "markdown": ["a"]});
    let refused = server.post("/v1/rendered", &long).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (413, "query_too_long")
    );
    let many = json!({"markdown": vec![""; 1000]});
    let refused = server.post("/v1/rendered", &many).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (400, "invalid_parameter")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn facets_count_what_a_search_can_be_narrowed_by() {
    let server = Server::start().await;
    let facets = server.get("/v1/facets").await.json();
    assert!(facets["documents"].as_u64().unwrap() > 0, "{facets}");
    let first = &facets["sources"][0];
    assert!(
        first["value"].is_string() && first["documents"].as_u64().unwrap() > 0,
        "{facets}"
    );
    assert_eq!(facets["reranker"], Value::Null);
    assert_eq!(facets["maximum_top_k"], 80);
}

#[tokio::test(flavor = "multi_thread")]
async fn news_of_documents_come_as_events_until_the_server_stops() {
    use std::io::{BufRead, BufReader, Write};
    let server = Server::start().await;
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    let head = format!(
        "GET /v1/events HTTP/1.1\r\nHost: {}\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    let reading = std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            sender.send(line).unwrap();
        }
    });
    let mut seen = async |wanted: &str| {
        while let Some(line) = lines.recv().await {
            if line.contains(wanted) {
                return true;
            }
        }
        false
    };
    assert!(seen("text/event-stream").await && seen(": connected").await);
    server.post("/v1/documents", &event("news.md")).await;
    assert!(seen("event: documents").await);
    assert_eq!(server.stop().await, Ok(()));
    assert!(!seen("no such line").await, "the stream ends");
    reading.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn other_pages_and_other_names_are_refused() {
    let server = Server::start().await;
    let body = json!({"query": "a"}).to_string();
    let status = async |headers: &[(&str, &str)]| {
        server
            .send(
                "POST",
                "/v1/search",
                &[&[JSON], headers].concat(),
                body.as_bytes(),
            )
            .await
            .status
    };
    let own = format!("http://{}", server.address);
    assert_eq!(status(&[("Origin", &own)]).await, 200);
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1"] {
        assert_eq!(status(&[("Origin", origin)]).await, 403, "{origin}");
    }
    for (host, expected) in [
        ("localhost", 200),
        ("LOCALHOST:80", 200),
        ("[::1]:80", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
    ] {
        assert_eq!(status(&[("Host", host)]).await, expected, "{host}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_version_answer() {
    let server = Server::start_with(common::models(None), false).await;
    assert_eq!(server.get("/health/livez").await.status, 200);
    let ready = server.get("/health/readyz").await;
    assert_eq!(
        (ready.status, ready.json()["ready"].as_bool()),
        (503, Some(false))
    );
    assert_eq!(
        server.get("/version").await.json(),
        json!({"name": "tributary", "version": "0.1.0", "source_profiles": "p1"})
    );
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let traced = server
        .send(
            "GET",
            "/nothing",
            &[("traceparent", &format!("00-{trace}-00f067aa0ba902b7-01"))],
            b"",
        )
        .await;
    assert_eq!(
        (
            traced.json()["trace_id"].as_str(),
            traced.header("x-trace-id")
        ),
        (Some(trace), Some(trace))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_queries_answers_health_metrics_and_version() {
    let server = Server::start_operations(true).await;
    assert_eq!(server.get("/health/livez").await.status, 200);
    let ready = server.get("/health/readyz").await;
    assert_eq!(
        (ready.status, ready.json()["checks"][0]["ok"].as_bool()),
        (200, Some(true))
    );
    assert_eq!(
        server.get("/version").await.json(),
        json!({"name": "tributary", "version": "0.1.0", "source_profiles": "p1"})
    );
    let metrics = server.get("/metrics").await.body;
    let line =
        "tributary_http_requests_total{method=\"GET\",route=\"/health/livez\",status=\"200\"} 1";
    assert!(metrics.contains(line), "{metrics}");
    let elsewhere = server.get("/v1/documents").await;
    assert_eq!(
        (elsewhere.status, elsewhere.code().as_str()),
        (404, "route_not_found")
    );
    assert!(
        elsewhere.body.contains("this process runs ingest, chunk"),
        "{elsewhere:?}"
    );
    let backup = async |token: &str| {
        server
            .send(
                "POST",
                "/v1/backup",
                &[("X-Tributary-Backup-Token", token)],
                b"",
            )
            .await
    };
    let nothing = backup(backend::BACKUP_TOKEN).await;
    assert_eq!(
        (nothing.status, nothing.code().as_str()),
        (422, "unsupported")
    );
    for refused in [
        backup("").await,
        backup("0123456789abcdee").await,
        server.post("/v1/backup", &json!({})).await,
    ] {
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (403, "denied"),
            "from this machine, as a proxy would be: {refused:?}"
        );
    }
    assert_eq!(
        server
            .send("GET", "/health/livez", &[("Host", "evil.example")], b"")
            .await
            .status,
        403
    );
    assert_eq!(server.stop().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_address_needs_words() {
    let (state, _) = backend::state(common::models(None), true).await;
    let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let error = tributary_query_api::serve(state, listener, std::future::ready(()))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), tributary_schemas::ErrorKind::Denied);
    assert!(
        error
            .hint()
            .unwrap()
            .contains("everyone_without_authentication")
    );
    let config = ServerConfig {
        network_access: NetworkAccess::EveryoneWithoutAuthentication,
        ..common::server_config()
    };
    let (state, _) = backend::state_with(common::models(None), true, config).await;
    let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    assert_eq!(
        tributary_query_api::serve(state, listener, std::future::ready(())).await,
        Ok(())
    );
}

/// Takes longer than the server has time.
struct Slow;

impl Reranker for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn score(&self, _: &str, passages: &[&str]) -> tributary_schemas::Result<Vec<f32>> {
        std::thread::sleep(Duration::from_millis(1800));
        Ok(vec![0.5; passages.len()])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_takes_too_long_is_a_problem_with_headers_and_trace_id() {
    let config = ServerConfig {
        request_timeout_ms: 1000,
        ..common::server_config()
    };
    let server =
        Server::start_with_config(common::models(Some(Arc::new(Slow))), true, config).await;
    let answer = server.post("/v1/search", &json!({"query": "tasks"})).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (504, "timeout"),
        "{answer:?}"
    );
    assert_eq!(
        answer.json()["trace_id"].as_str(),
        answer.header("x-trace-id")
    );
    assert!(answer.header("content-security-policy").is_some());
    let metrics = server.get("/metrics").await;
    let line = "tributary_http_requests_total{method=\"POST\",route=\"other\",status=\"504\"} 1";
    assert!(metrics.body.contains(line), "{line} is not in {metrics:?}");
}
