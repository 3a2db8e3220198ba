//! The section `[store.search_index.elasticsearch]`, also of a program that was built without it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tributary_schemas::{Error, ErrorKind, Result};

/// Longest prefix of index names, in bytes: with a generation's name it must stay below the 255
/// that a server accepts.
const MAXIMUM_PREFIX_BYTES: usize = 40;

/// How the cluster is reached and how its indexes are made. Secrets are in files, so that they
/// stand in no configuration that is shown.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Nodes, `http://` or `https://`; asked in turn.
    pub urls: Vec<String>,
    /// First part of every index's name, and the alias of the serving generation.
    pub index_prefix: String,
    /// User of basic authentication; empty for none.
    pub username: String,
    /// File with the user's password.
    pub password_file: String,
    /// File with an encoded API key, instead of user and password; empty for none.
    pub api_key_file: String,
    /// PEM file of the authority that signed the nodes' certificates; empty for those that the
    /// system trusts.
    pub ca_file: String,
    /// Primary shards of a new generation.
    pub shards: u32,
    /// Copies of each shard once a generation serves.
    pub replicas: u32,
    /// Copies of each shard while a generation is built.
    pub replicas_while_loading: u32,
    /// How vectors are indexed.
    pub vector_index: VectorIndex,
    /// How many times more candidates a quantised kind of vector index looks at before it scores
    /// by the stored vectors.
    pub oversample: f32,
    /// When the server writes its log to disk.
    pub durability: Durability,
    /// How long the server remembers deleted chunks, in seconds.
    pub delete_memory_seconds: u64,
    /// Bytes of a bulk request.
    pub bulk_bytes: usize,
    /// Documents of a bulk request.
    pub bulk_documents: usize,
    /// Bulk requests at the same time, per generation.
    pub bulk_concurrency: usize,
    /// How long one request may take, in milliseconds.
    pub request_timeout_ms: u64,
    /// How long a request that the cluster has no room for, or that does not get through, is tried
    /// again, in milliseconds.
    pub retry_ms: u64,
}

/// Kinds of vector index of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorIndex {
    /// Every vector is compared, in full precision.
    Flat,
    /// Every vector is compared, in one byte per dimension.
    Int8Flat,
    /// A graph, in full precision.
    Hnsw,
    /// A graph, in one byte per dimension.
    Int8Hnsw,
    /// A graph, in one bit per dimension (from 64 dimensions on).
    BbqHnsw,
}

impl VectorIndex {
    /// The server's `index_options`.
    pub fn options(self) -> Value {
        let kind = match self {
            Self::Flat => "flat",
            Self::Int8Flat => "int8_flat",
            Self::Hnsw => "hnsw",
            Self::Int8Hnsw => "int8_hnsw",
            Self::BbqHnsw => "bbq_hnsw",
        };
        json!({"type": kind})
    }

    /// Whether scores are those of rounded vectors unless asked otherwise.
    pub fn is_quantised(self) -> bool {
        matches!(self, Self::Int8Flat | Self::Int8Hnsw | Self::BbqHnsw)
    }

    /// What the server wrote into a mapping.
    pub fn read(options: &Value) -> Option<Self> {
        serde_json::from_value(options.get("type")?.clone()).ok()
    }
}

/// When the server writes its log to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// With every bulk request.
    Request,
    /// With every flush of ours.
    Async,
}

impl Config {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.url_problems();
        if !is_prefix(&self.index_prefix) {
            problems.push(format!(
                "{} must be 1 to {MAXIMUM_PREFIX_BYTES} lower-case letters, digits, hyphens and underscores",
                key("index_prefix")
            ));
        }
        let positive = [
            ("shards", u64::from(self.shards)),
            ("bulk_bytes", self.bulk_bytes as u64),
            ("bulk_documents", self.bulk_documents as u64),
            ("bulk_concurrency", self.bulk_concurrency as u64),
            ("request_timeout_ms", self.request_timeout_ms),
        ];
        problems.extend(
            positive
                .iter()
                .filter(|(_, value)| *value == 0)
                .map(|(name, _)| format!("{} must be at least 1", key(name))),
        );
        if !(1.0..=10.0).contains(&self.oversample) {
            problems.push(format!("{} must be between 1 and 10", key("oversample")));
        }
        if !self.api_key_file.is_empty() && !self.username.is_empty() {
            problems.push(format!(
                "{} and {} exclude each other",
                key("api_key_file"),
                key("username")
            ));
        }
        if self.username.is_empty() != self.password_file.is_empty() {
            problems.push(format!(
                "{} and {} belong together",
                key("username"),
                key("password_file")
            ));
        }
        problems
    }

    fn url_problems(&self) -> Vec<String> {
        if self.urls.is_empty() {
            return vec![format!("{} must name at least one node", key("urls"))];
        }
        let urls = key("urls");
        let problem = |url: &String| {
            if !(url.starts_with("http://") || url.starts_with("https://")) {
                Some(format!("{urls}: a url begins with http:// or https://"))
            } else if url.contains('@') {
                Some(format!(
                    "{urls} must hold no password: use username and password_file"
                ))
            } else {
                None
            }
        };
        self.urls.iter().filter_map(problem).collect()
    }

    /// `Invalid` with the first of [`Self::problems`].
    pub fn check(&self) -> Result<()> {
        match self.problems().into_iter().next() {
            Some(problem) => Err(Error::new(ErrorKind::Invalid, problem)),
            None => Ok(()),
        }
    }
}

fn key(name: &str) -> String {
    format!("store.search_index.elasticsearch.{name}")
}

/// Whether names of indexes may begin like this.
fn is_prefix(prefix: &str) -> bool {
    let is_plain = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
    };
    let prefix = prefix.as_bytes();
    let starts_well = prefix
        .first()
        .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    starts_well && prefix.len() <= MAXIMUM_PREFIX_BYTES && prefix.iter().all(|byte| is_plain(*byte))
}
