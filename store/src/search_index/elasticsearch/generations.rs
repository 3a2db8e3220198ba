//! Generations as the cluster knows them: it is asked, and what it says is believed for a second,
//! because other processes create, promote and drop too.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use elasticsearch::http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tributary_schemas::{Error, ErrorKind, Result};

use super::client::{Attempt, Body, Client, Request};
use super::config::{Config, VectorIndex};
use super::mapping::{self, FORMAT, Meta};
use crate::search_index::{GenerationStatus, IndexSettings};

/// How long what the cluster said is believed.
const BELIEVED: Duration = Duration::from_secs(1);
/// What failed, where numbers cannot be had.
const COUNTING: &str = "cannot count what generations hold";

/// A generation and where it lies.
#[derive(Clone, Debug)]
pub struct Generation {
    /// Name.
    pub name: String,
    /// Its index.
    pub index: String,
    /// What it was created with.
    pub settings: IndexSettings,
    /// Primary shards.
    pub shards: u32,
    /// Kind of its vector index.
    pub vector_index: VectorIndex,
    /// Whether queries go to it.
    pub serving: bool,
}

/// All that this process knows of generations.
pub struct Generations {
    client: Client,
    config: Config,
    /// By name; the empty name is the serving one.
    known: Mutex<HashMap<String, (Instant, Arc<Generation>)>>,
}

#[derive(Deserialize)]
struct Described {
    #[serde(default)]
    aliases: BTreeMap<String, Value>,
    mappings: Value,
    settings: Value,
}

fn missing(name: Option<&str>) -> Error {
    match name {
        Some(name) => Error::new(
            ErrorKind::NotFound,
            format!("there is no generation `{name}`"),
        ),
        None => Error::new(ErrorKind::NotFound, "no generation serves queries yet")
            .with_hint("index a document, or promote a generation"),
    }
}

fn unsearchable(generation: &str, error: &Value) -> Error {
    // The outer reason is empty where the cause has one.
    let reasons = ["/caused_by/reason", "/reason", "/type"].into_iter();
    let mut reasons = reasons.filter_map(|place| error.pointer(place)?.as_str());
    let reason = reasons.find(|reason| !reason.is_empty());
    let what = format!(
        "the index of generation `{generation}` cannot be searched: {}",
        reason.unwrap_or("Elasticsearch says no reason")
    );
    Error::new(ErrorKind::Unavailable, what)
        .with_hint("shards are missing: look at GET _cluster/allocation/explain")
}

fn stored_bytes(stored: &Value, index: &str) -> u64 {
    stored
        .get("indices")
        .and_then(|indices| indices.get(index))
        .and_then(|stats| stats.pointer("/total/store/size_in_bytes"))
        .and_then(Value::as_u64)
        .unwrap_or(0)
}

impl Generations {
    /// Knows nothing yet.
    pub fn new(client: Client, config: Config) -> Self {
        Self {
            client,
            config,
            known: Mutex::default(),
        }
    }

    /// The generation of that name, or the serving one. `NotFound` if there is none.
    pub async fn find(&self, name: Option<&str>) -> Result<Arc<Generation>> {
        let key = name.unwrap_or_default();
        if let Some(known) = self.believed(key) {
            return Ok(known);
        }
        let missing = || missing(name);
        let target = match name {
            Some(name) => {
                mapping::index_name(&self.config.index_prefix, name).map_err(|_| missing())?
            }
            None => self.config.index_prefix.clone(),
        };
        let found = self
            .describe(&target)
            .await?
            .into_iter()
            .find(|found| name.is_none_or(|name| found.name == name));
        let found = Arc::new(found.ok_or_else(missing)?);
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.to_owned(), (Instant::now(), Arc::clone(&found)));
        Ok(found)
    }

    /// Forgets what the cluster said: something turned out to be otherwise.
    pub fn forget(&self) {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    fn believed(&self, key: &str) -> Option<Arc<Generation>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .get(key)
            .filter(|(since, _)| since.elapsed() < BELIEVED)
            .map(|(_, found)| Arc::clone(found))
    }

    /// All generations by name.
    pub async fn all(&self) -> Result<Vec<Generation>> {
        let mut found = self
            .describe(&format!("{}-*", self.config.index_prefix))
            .await?;
        found.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        Ok(found)
    }

    /// The indexes of ours that a name, an alias or a pattern stands for.
    async fn describe(&self, target: &str) -> Result<Vec<Generation>> {
        let request = Request {
            what: "cannot look for generations",
            method: Method::Get,
            path: &format!("/{target}"),
            query: &[("flat_settings", "true")],
            body: Body::Empty,
        };
        let found: BTreeMap<String, Described> =
            self.client.find(request).await?.unwrap_or_default();
        Ok(found
            .into_iter()
            .filter_map(|(index, described)| self.read(index, described))
            .collect())
    }

    fn read(&self, index: String, described: Described) -> Option<Generation> {
        let meta: Meta =
            serde_json::from_value(described.mappings.pointer("/_meta/tributary")?.clone()).ok()?;
        if meta.prefix != self.config.index_prefix || meta.format != FORMAT {
            return None;
        }
        let shards = described
            .settings
            .get("index.number_of_shards")?
            .as_str()?
            .parse()
            .ok()?;
        let options = described
            .mappings
            .pointer("/properties/coarse/index_options")?;
        Some(Generation {
            name: meta.generation,
            settings: meta.settings,
            shards,
            vector_index: VectorIndex::read(options)?,
            serving: described.aliases.contains_key(&self.config.index_prefix),
            index,
        })
    }

    /// See `SearchIndex::create`.
    pub async fn create(&self, name: &str, settings: &IndexSettings) -> Result<()> {
        let index = mapping::index_name(&self.config.index_prefix, name)?;
        settings.check()?;
        let what = format!("cannot create generation `{name}`");
        let body = Body::json(&mapping::index_body(&self.config, name, &index, settings))?;
        let request = Request {
            what: &what,
            method: Method::Put,
            path: &format!("/{index}"),
            query: &[],
            body,
        };
        let result = self.client.send(request).await;
        self.forget();
        match result {
            Ok(_) => Ok(()),
            Err(Attempt::Refused(failure)) if failure.is("resource_already_exists_exception") => {
                self.check_existing(name, &index, settings).await
            }
            Err(attempt) => Err(attempt.error(&what)),
        }
    }

    async fn check_existing(
        &self,
        name: &str,
        index: &str,
        settings: &IndexSettings,
    ) -> Result<()> {
        let existing = self
            .describe(index)
            .await?
            .into_iter()
            .find(|found| found.name == name);
        let Some(existing) = existing else {
            let message = format!("index `{index}` exists and is not a generation of ours");
            return Err(Error::new(ErrorKind::Conflict, message)
                .with_hint("choose another store.search_index.elasticsearch.index_prefix"));
        };
        if existing.settings == *settings {
            return Ok(());
        }
        let message = format!(
            "generation `{name}` exists with other settings: {:?}, wanted {settings:?}",
            existing.settings
        );
        Err(Error::new(ErrorKind::Conflict, message)
            .with_hint("create a generation of another name and reindex into it"))
    }

    /// See `SearchIndex::promote`: one change of aliases, which the cluster makes as a whole.
    pub async fn promote(&self, name: &str) -> Result<()> {
        self.forget();
        let generation = self.find(Some(name)).await?;
        let what = format!("cannot promote generation `{name}`");
        if self.config.replicas != self.config.replicas_while_loading {
            let body = Body::json(&json!({"index": {"number_of_replicas": self.config.replicas}}))?;
            let path = format!("/{}/_settings", generation.index);
            let _: Value = self
                .client
                .call(Request {
                    what: &what,
                    method: Method::Put,
                    path: &path,
                    query: &[],
                    body,
                })
                .await?;
        }
        let prefix = &self.config.index_prefix;
        let actions = json!({"actions": [
            {"remove": {"index": format!("{prefix}-*"), "alias": prefix, "must_exist": false}},
            {"add": {"index": generation.index, "alias": prefix}},
        ]});
        let body = Body::json(&actions)?;
        let result = self
            .client
            .call::<Value>(Request {
                what: &what,
                method: Method::Post,
                path: "/_aliases",
                query: &[],
                body,
            })
            .await;
        self.forget();
        result.map(drop)
    }

    /// See `SearchIndex::drop_generation`.
    pub async fn drop_generation(&self, name: &str) -> Result<()> {
        self.forget();
        let generation = self.find(Some(name)).await?;
        if generation.serving {
            let message = format!("generation `{name}` serves queries and cannot be dropped");
            return Err(Error::new(ErrorKind::Conflict, message)
                .with_hint("promote another generation first"));
        }
        let what = format!("cannot drop generation `{name}`");
        let path = format!("/{}", generation.index);
        let result = self
            .client
            .find::<Value>(Request {
                what: &what,
                method: Method::Delete,
                path: &path,
                query: &[],
                body: Body::Empty,
            })
            .await;
        self.forget();
        result.map(drop)
    }

    /// The answers to two questions for each generation: how many documents it holds, and chunks.
    async fn counted(&self, generations: &[Generation]) -> Result<Value> {
        let mut lines = Vec::new();
        for generation in generations {
            for query in [
                json!({"term": {"alive": true}}),
                json!({"exists": {"field": "chunk"}}),
            ] {
                let head = json!({"index": generation.index, "ignore_unavailable": true,
                    "allow_partial_search_results": false});
                let question = json!({"size": 0, "track_total_hits": true, "query": query});
                for line in [head, question] {
                    lines.extend(line.to_string().into_bytes());
                    lines.push(b'\n');
                }
            }
        }
        let request = Request {
            what: COUNTING,
            method: Method::Post,
            path: "/_msearch",
            query: &[(
                "filter_path",
                "responses.hits.total,responses.error,responses.status",
            )],
            body: Body::Lines(lines.into()),
        };
        self.client.call(request).await
    }

    /// What all indexes take on disk.
    async fn stored(&self) -> Result<Value> {
        let path = format!("/{}-*/_stats/store", self.config.index_prefix);
        let request = Request {
            what: COUNTING,
            method: Method::Get,
            path: &path,
            query: &[],
            body: Body::Empty,
        };
        self.client.call(request).await
    }

    /// Whether the serving generation, if there is one, can be searched: `Unavailable` where shards of
    /// it are missing.
    pub async fn probe(&self) -> Result<()> {
        let mut generations = self.all().await?;
        generations.retain(|generation| generation.serving);
        let Some(serving) = generations.first() else {
            return Ok(());
        };
        let counted = self.counted(&generations).await?;
        match counted.pointer("/responses/0/error") {
            Some(error) => Err(unsearchable(&serving.name, error)),
            None => Ok(()),
        }
    }

    /// All generations in numbers.
    pub async fn status(&self) -> Result<Vec<GenerationStatus>> {
        let generations = self.all().await?;
        if generations.is_empty() {
            return Ok(Vec::new());
        }
        let counted = self.counted(&generations).await?;
        let stored = self.stored().await?;
        let count = |place: usize| {
            counted
                .pointer(&format!("/responses/{place}/hits/total/value"))
                .and_then(Value::as_u64)
                .unwrap_or(0)
        };
        let status = |(place, generation): (usize, Generation)| GenerationStatus {
            serving: generation.serving,
            documents: count(place * 2),
            chunks: count(place * 2 + 1),
            bytes: stored_bytes(&stored, &generation.index),
            settings: generation.settings,
            name: generation.name,
        };
        Ok(generations.into_iter().enumerate().map(status).collect())
    }
}
