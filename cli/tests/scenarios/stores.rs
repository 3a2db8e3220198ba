//! The four combinations of log and index, chosen by configuration only.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::harness::{Workspace, skip};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A log and an index, with names of their own on servers that others use too.
pub struct Stores {
    pub name: &'static str,
    settings: Vec<(String, String)>,
    /// Where the index is, if it is Elasticsearch.
    elasticsearch: Option<String>,
    pub prefix: String,
}

impl Stores {
    fn new(name: &'static str) -> Self {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let second = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let prefix = format!("test-{}-{second}-{count}", std::process::id());
        Self {
            name,
            settings: Vec::new(),
            elasticsearch: None,
            prefix,
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        self.settings.push((key.to_owned(), value.to_owned()));
    }

    fn with_kafka(mut self, brokers: &str) -> Self {
        let prefix = self.prefix.clone();
        self.set("store.event_log.kind", "kafka");
        self.set("store.event_log.kafka.brokers", brokers);
        self.set("store.topic_prefix", &prefix);
        self
    }

    fn with_elasticsearch(mut self, url: &str) -> Self {
        let prefix = self.prefix.clone();
        self.set("store.search_index.kind", "elasticsearch");
        self.set(
            "store.search_index.elasticsearch.urls",
            &format!("[\"{url}\"]"),
        );
        self.set("store.search_index.elasticsearch.index_prefix", &prefix);
        self.elasticsearch = Some(url.to_owned());
        self
    }

    /// Everything in the data folder.
    pub fn embedded() -> Self {
        Self::new("embedded log and index")
    }

    /// Everything on servers; none where there are none.
    pub fn real() -> Option<Self> {
        Some(
            Self::new("Kafka and Elasticsearch")
                .with_kafka(&kafka()?)
                .with_elasticsearch(&elasticsearch()?),
        )
    }

    /// A mixture.
    pub fn kafka_alone() -> Option<Self> {
        Some(Self::new("Kafka and an embedded index").with_kafka(&kafka()?))
    }

    /// A log on a broker that others do not use.
    pub fn on_broker(brokers: &str) -> Self {
        Self::new("a Kafka of its own and an embedded index").with_kafka(brokers)
    }

    /// The other one.
    pub fn elasticsearch_alone() -> Option<Self> {
        Some(Self::new("an embedded log and Elasticsearch").with_elasticsearch(&elasticsearch()?))
    }

    /// A folder whose processes use these stores.
    pub fn workspace(&self) -> Workspace {
        self.settings
            .iter()
            .fold(Workspace::new(), |workspace, (key, value)| {
                workspace.with(key, value)
            })
    }

    /// The names of the indexes that are there; none where they are embedded.
    pub fn indexes(&self) -> Vec<String> {
        let Some(url) = &self.elasticsearch else {
            return Vec::new();
        };
        let prefix = &self.prefix;
        let all = format!("{url}/{prefix}*/_settings?expand_wildcards=all");
        let Ok(mut answer) = ureq::get(all).call() else {
            return Vec::new();
        };
        match answer.body_mut().read_json::<Value>() {
            Ok(Value::Object(indexes)) => indexes.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Deletes them, as somebody does who has the right to.
    pub fn delete(&self, indexes: &[String]) {
        let url = self.elasticsearch.iter();
        for place in url.flat_map(|url| indexes.iter().map(move |name| format!("{url}/{name}"))) {
            if let Err(error) = ureq::delete(&place).call() {
                eprintln!("{place} was not removed: {error}");
            }
        }
    }
}

impl Drop for Stores {
    /// The indexes go; what is in the log costs little.
    fn drop(&mut self) {
        self.delete(&self.indexes());
    }
}

/// Where the broker is; says loudly if there is none.
pub fn kafka() -> Option<String> {
    server("TRIBUTARY_TEST_KAFKA", "Kafka")
}

/// Where the node is; says loudly if there is none.
pub fn elasticsearch() -> Option<String> {
    server("TRIBUTARY_TEST_ELASTICSEARCH", "Elasticsearch")
}

fn server(variable: &str, name: &str) -> Option<String> {
    let address = std::env::var(variable)
        .ok()
        .filter(|address| !address.is_empty());
    if address.is_none() {
        skip(&format!(
            "scenarios with {name}: {variable} does not say where one is"
        ));
    }
    address
}
