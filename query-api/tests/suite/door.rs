//! What the server lets in: requests of foreign pages, bodies that are too many, too slow or too
//! long, and searches past the queue.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tributary_models::Reranker;
use tributary_query_api::config::ServerConfig;

use crate::common;
use crate::common::client::{Answer, Server};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn config() -> ServerConfig {
    common::server_config()
}

async fn start(config: ServerConfig) -> Server {
    Server::start_with_config(common::models(None), true, config).await
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_a_foreign_page_makes_are_refused_whatever_their_method() {
    let server = Server::start().await;
    let fetched = async |path: &str, site: &str, mode: &str, destination: &str| {
        let headers = [
            ("Sec-Fetch-Site", site),
            ("Sec-Fetch-Mode", mode),
            ("Sec-Fetch-Dest", destination),
        ];
        server.send("GET", path, &headers, b"").await.status
    };
    for site in ["cross-site", "same-site", "nonsense"] {
        for path in [
            "/v1/dead-letters",
            "/v1/documents",
            "/metrics",
            "/health/readyz",
            "/page/main.js",
            "/",
        ] {
            assert_eq!(
                fetched(path, site, "no-cors", "image").await,
                403,
                "{site} {path}"
            );
        }
        assert_eq!(
            fetched("/", site, "navigate", "document").await,
            200,
            "a link that opens the page"
        );
        assert_eq!(
            fetched("/", site, "navigate", "iframe").await,
            403,
            "a frame"
        );
        assert_eq!(
            fetched("/v1/documents", site, "navigate", "document").await,
            403,
            "a link to data"
        );
    }
    for site in ["same-origin", "none"] {
        assert_eq!(
            fetched("/v1/documents", site, "cors", "empty").await,
            200,
            "{site}"
        );
    }
    let foreign = [
        JSON,
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    let posted = server.send("POST", "/", &foreign, b"{}").await;
    assert_eq!((posted.status, posted.code().as_str()), (403, "denied"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_in_the_address_of_a_search_is_refused_and_not_left_out() {
    let server = Server::start().await;
    for (method, path) in [
        ("POST", "/v1/search?sources=x"),
        ("PUT", "/v1/knowledge-sets?dry_run=true"),
        ("DELETE", "/v1/dead-letters?older=1"),
    ] {
        let answer = server
            .send(method, path, &[JSON], b"{\"query\": \"word\"}")
            .await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "invalid_parameter"),
            "{method} {path}: {answer:?}"
        );
    }
    assert_eq!(server.get("/v1/documents?limit=1").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn line_breaks_in_an_id_become_no_headers() {
    let server = Server::start().await;
    let answer = server.get("/v1/documents/a%0d%0aSet-Cookie:x=1").await;
    assert_eq!(
        (
            answer.status,
            answer.code().as_str(),
            answer.header("set-cookie")
        ),
        (404, "document_not_found", None),
        "{answer:?}"
    );
}

/// A request whose body is sent piece by piece.
struct Upload {
    stream: TcpStream,
}

impl Upload {
    fn begin(server: &Server, body_bytes: usize) -> Self {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head = format!(
            "POST /v1/documents HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {body_bytes}\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        Self { stream }
    }

    /// Whether the server still takes it.
    fn send(&mut self, piece: &[u8]) -> bool {
        self.stream.write_all(piece).is_ok()
    }

    /// What the server answers.
    fn answer(mut self) -> String {
        self.stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut answer = Vec::new();
        // A connection that the server closed has no more to say.
        self.stream.read_to_end(&mut answer).ok();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

fn document(bytes: usize) -> Vec<u8> {
    let text = "All work and no play. ".repeat(bytes / 22);
    json!({"source": "wiki", "source_path": "large.md", "content": text})
        .to_string()
        .into_bytes()
}

fn shed(metrics: &Answer, what: &str) -> u64 {
    let line = format!("tributary_requests_shed_total{{what=\"{what}\"}} ");
    metrics
        .body
        .lines()
        .find_map(|found| found.strip_prefix(&line))
        .and_then(|count| count.parse().ok())
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_over_the_budget_are_refused_at_once_and_taken_when_there_is_room() {
    let server = start(ServerConfig {
        body_budget_bytes: 400_000,
        ..config()
    })
    .await;
    let body = document(150_000);
    let mut first = Upload::begin(&server, body.len());
    assert!(first.send(&body[..1000]));
    let refused = loop {
        // the first one's head may not have been read yet
        let answer = server.send("POST", "/v1/documents", &[JSON], &body).await;
        if answer.status == 429 {
            break answer;
        }
        assert_eq!(answer.status, 202, "{answer:?}");
    };
    assert_eq!(
        (refused.code().as_str(), refused.header("retry-after")),
        ("overloaded", Some("1"))
    );
    assert!(
        refused.json()["hint"]
            .as_str()
            .unwrap()
            .contains("body_budget_bytes"),
        "{refused:?}"
    );
    assert!(shed(&server.get("/metrics").await, "body") >= 1);
    let small = server
        .post(
            "/v1/documents",
            &json!({"source": "wiki", "source_path": "a.md", "content": "small"}),
        )
        .await;
    assert_eq!(small.status, 202, "small bodies do not wait for large ones");
    assert_eq!(
        server
            .post("/v1/search", &json!({"query": "tasks"}))
            .await
            .status,
        200
    );
    assert!(first.send(&body[1000..]));
    let answer = tokio::task::spawn_blocking(|| first.answer())
        .await
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    assert_eq!(
        server
            .send("POST", "/v1/documents", &[JSON], &body)
            .await
            .status,
        202,
        "its room is free again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_makes_progress_may_take_longer_than_a_request() {
    let limits = ServerConfig {
        request_timeout_ms: 3000,
        body_minimum_bytes_per_second: 1000,
        ..config()
    };
    let server = start(limits).await;
    let body = document(16_000);
    let mut upload = Upload::begin(&server, body.len());
    let answer = tokio::task::spawn_blocking(move || {
        for piece in body.chunks(body.len().div_ceil(16)) {
            assert!(upload.send(piece));
            std::thread::sleep(Duration::from_millis(250));
        }
        upload.answer()
    });
    let answer = answer.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_trickles_or_stops_is_ended() {
    let limits = ServerConfig {
        request_timeout_ms: 500,
        body_minimum_bytes_per_second: 1_000_000,
        ..config()
    };
    let trickled = start(limits).await;
    let mut upload = Upload::begin(&trickled, 100_000);
    let answer = tokio::task::spawn_blocking(move || {
        while upload.send(b"{") {
            std::thread::sleep(Duration::from_millis(20));
        }
        upload.answer()
    });
    answer.await.unwrap();
    let counted =
        "tributary_http_requests_total{method=\"POST\",route=\"/v1/documents\",status=\"408\"} 1";
    let metrics = trickled.get("/metrics").await.body;
    assert!(
        metrics.contains(counted) || metrics.contains(&counted.replace("/v1/documents", "other")),
        "{metrics}"
    );
    let stopped = start(ServerConfig {
        body_idle_timeout_ms: 300,
        ..config()
    })
    .await;
    let mut upload = Upload::begin(&stopped, 100_000);
    assert!(upload.send(b"{"));
    let answer = tokio::task::spawn_blocking(|| upload.answer())
        .await
        .unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 408") && answer.contains("body_too_slow"),
        "{answer}"
    );
}

/// As many as there may be: they are closed after a moment, and whoever comes then is answered.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_say_nothing_do_not_shut_others_out() {
    let server = start(ServerConfig {
        connections_per_worker: 20,
        head_timeout_ms: 1000,
        ..config()
    })
    .await;
    let silent: Vec<TcpStream> = (0..40)
        .map(|_| TcpStream::connect(server.address).unwrap())
        .collect();
    assert_eq!(server.get("/health/livez").await.status, 200);
    drop(silent);
}

/// A caller that keeps its connection for longer than a moment meets no reset.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_kept_for_the_next_request() {
    let server = start(config()).await;
    let answers = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let deadline = Some(Duration::from_secs(60));
        stream.set_read_timeout(deadline).unwrap();
        [0, 7].map(|pause| {
            std::thread::sleep(Duration::from_secs(pause));
            stream
                .write_all(b"GET /health/livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
                .unwrap();
            let mut answer = [0; 4096];
            let length = stream.read(&mut answer).unwrap();
            String::from_utf8_lossy(&answer[..length]).into_owned()
        })
    });
    for answer in answers.await.unwrap() {
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

/// A reranker that waits until it is let go.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }
}

impl Reranker for Gate {
    fn name(&self) -> &str {
        "gate"
    }

    fn score(&self, _: &str, passages: &[&str]) -> tributary_schemas::Result<Vec<f32>> {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        let _open = self
            .opened
            .wait_while(is_open, |is_open| !*is_open)
            .unwrap_or_else(PoisonError::into_inner);
        Ok(vec![0.5; passages.len()])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_past_the_queue_are_refused_at_once_and_nothing_else_waits_for_them() {
    let gate = Arc::new(Gate::default());
    let limits = ServerConfig {
        concurrent_searches: 1,
        waiting_searches: 2,
        request_timeout_ms: 60_000,
        ..config()
    };
    let models = common::models(Some(Arc::clone(&gate) as Arc<dyn Reranker>));
    let server = Arc::new(Server::start_with_patience(models, limits).await);
    let ask = || {
        let server = Arc::clone(&server);
        tokio::spawn(async move { server.post("/v1/search", &json!({"query": "tasks"})).await })
    };
    let mut asked: Vec<_> = (0..8).map(|_| ask()).collect();
    let mut refused = Vec::new();
    while refused.len() < 5 {
        let (answer, _, rest) = futures::future::select_all(asked).await;
        refused.push(answer.unwrap());
        asked = rest;
    }
    let body = json!({"markdown": ["*a*"]});
    let rendered = server.post("/v1/rendered", &body).await;
    assert_eq!(
        rendered.status, 200,
        "it has a queue of its own: {rendered:?}"
    );
    for answer in &refused {
        assert_eq!(
            (
                answer.status,
                answer.code().as_str(),
                answer.header("retry-after")
            ),
            (429, "overloaded", Some("1")),
            "{answer:?}"
        );
    }
    assert_eq!(shed(&server.get("/metrics").await, "search"), 5);
    assert_eq!(server.get("/health/readyz").await.status, 200);
    assert_eq!(
        server
            .get("/v1/documents/case%2F42?passages=true")
            .await
            .status,
        200
    );
    gate.open();
    for answer in asked {
        assert_eq!(answer.await.unwrap().status, 200);
    }
    assert_eq!(
        server
            .post("/v1/search", &json!({"query": "tasks"}))
            .await
            .status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn large_contents_travel_as_references() {
    let server = Server::start().await;
    let body = document(100_000);
    assert_eq!(
        server
            .send("POST", "/v1/documents", &[JSON], &body)
            .await
            .status,
        202
    );
    let text: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let text = text["content"].as_str().unwrap();
    let event = server.kept.last_event().await;
    assert!(
        event.content.is_none() && event.content_base64.is_none(),
        "{:?}",
        event.content_url
    );
    assert_eq!(
        server
            .kept
            .blobs()
            .get(event.content_url.as_deref().unwrap())
            .await
            .unwrap(),
        text
    );
    let encoded =
        json!({"source": "wiki", "source_path": "b", "content_base64": "QUJD".repeat(20_000)});
    assert_eq!(server.post("/v1/documents", &encoded).await.status, 202);
    let url = server.kept.last_event().await.content_url.unwrap();
    assert_eq!(
        server.kept.blobs().get(&url).await.unwrap(),
        "ABC".repeat(20_000)
    );
    let broken =
        json!({"source": "wiki", "source_path": "c", "content_base64": "?".repeat(80_000)});
    assert_eq!(server.post("/v1/documents", &broken).await.status, 400);
    assert_eq!(
        server
            .post(
                "/v1/documents",
                &json!({"source": "wiki", "source_path": "d", "content": "small"})
            )
            .await
            .status,
        202
    );
    assert_eq!(
        server.kept.last_event().await.content.as_deref(),
        Some("small")
    );
}
