//! A real node for tests: its address, an index prefix of our own, and plain requests beside the
//! index.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tributary_store::search_index::elasticsearch::{
    Config, Durability, ElasticsearchIndex, VectorIndex,
};

/// Names the node.
const NODE: &str = "TRIBUTARY_TEST_ELASTICSEARCH";

/// How much of a test's name goes into its prefix, in bytes.
const NAME_LENGTH: usize = 20;

/// A node and a prefix that no other test has.
pub struct Cluster {
    pub url: String,
    pub prefix: String,
}

impl Cluster {
    /// The node, or `None` after saying so.
    pub async fn find(name: &str) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let Ok(url) = std::env::var(NODE) else {
            eprintln!(
                "SKIPPED: {NODE} names no Elasticsearch node (deploy/services/elasticsearch start prints one)"
            );
            return None;
        };
        let url = if url.starts_with("http") {
            url
        } else {
            format!("http://{url}")
        };
        let short = name.get(..NAME_LENGTH).unwrap_or(name); // a prefix has 40 characters at most
        let prefix = format!(
            "test-{short}-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        Some(Self { url, prefix })
    }

    pub fn config(&self) -> Config {
        config(&self.url, &self.prefix)
    }

    pub async fn open(&self) -> ElasticsearchIndex {
        ElasticsearchIndex::open(self.config()).await.unwrap()
    }

    /// Status and JSON of a plain request.
    pub async fn request(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        request(&self.url, method, path, body).await
    }

    /// Removes every index of the prefix.
    pub async fn clean(&self) {
        let (_, found) = self
            .request("GET", &format!("/{}-*/_alias", self.prefix), "")
            .await;
        for index in found.as_object().into_iter().flat_map(|found| found.keys()) {
            self.request("DELETE", &format!("/{index}"), "").await;
        }
    }
}

/// What the tests run with.
pub fn config(url: &str, prefix: &str) -> Config {
    Config {
        urls: vec![url.to_owned()],
        index_prefix: prefix.to_owned(),
        username: String::new(),
        password_file: String::new(),
        api_key_file: String::new(),
        ca_file: String::new(),
        shards: 1,
        replicas: 0,
        replicas_while_loading: 0,
        vector_index: VectorIndex::Flat,
        oversample: 5.0,
        durability: Durability::Async,
        delete_memory_seconds: 3600,
        bulk_bytes: 8 << 20,
        bulk_documents: 500,
        bulk_concurrency: 2,
        request_timeout_ms: 30_000,
        retry_ms: 10_000,
    }
}

/// A plain HTTP/1.1 request; the connection is closed behind it.
pub async fn request(url: &str, method: &str, path: &str, body: &str) -> (u16, Value) {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let text = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let body = if head.to_lowercase().contains("transfer-encoding: chunked") {
        joined(body)
    } else {
        body.to_owned()
    };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// The parts of a body that comes in parts: length in hexadecimal, line, that many bytes, line.
fn joined(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        let (Some(part), Some(behind)) = (rest.get(..length), rest.get(length..)) else {
            break;
        };
        whole.push_str(part);
        body = behind.trim_start_matches("\r\n");
        if length == 0 {
            break;
        }
    }
    whole
}
