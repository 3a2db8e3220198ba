//! The search index in an Elasticsearch cluster (8.18 and later, 9.x) that several processes share.
//! What lies where: `mapping`; how a document is written as a whole: `batch`. No scripts, no
//! plugins, no paid feature.
//!
//! What differs from the embedded index: durable is what a write has returned, not only what was
//! flushed; other processes' flushes show this one's half-written documents to `keyword` and
//! `vector`, never to `fetch`, which compares every chunk with its document's manifest; `documents`
//! tells of writes that are not flushed yet; deleted chunks count in term statistics until the
//! server merges them away.

mod batch;
mod bulk;
pub(crate) mod client;
mod diagnose;
pub(crate) mod errors;
mod generations;
mod leftovers;
mod mapping;
mod query;
mod read;
mod silence;
mod write;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use elasticsearch::http::Method;
use serde_json::Value;
use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{ChunkId, ChunkVectors, ErrorKind};

pub use self::diagnose::{Diagnosis, diagnose, serving_origin};
use super::elasticsearch_config as config;
pub use config::{Config, Durability, VectorIndex};

use self::batch::Target;
use self::client::{Body, Client, Request};
use self::generations::{Generation, Generations};
use self::read::Reader;
use self::write::{Limits, Writer};
use super::{
    GenerationStatus, IndexSettings, IndexedDocument, KeywordQuery, Operation, Outcome,
    SearchIndex, StoredChunk, VectorQuery, WindowQuery,
};
use crate::Result;

/// Longest wait for the first answer of a cluster.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The index in a cluster.
pub struct ElasticsearchIndex {
    client: Client,
    config: Config,
    generations: Generations,
    /// By name of the index.
    writers: Mutex<HashMap<String, Arc<Writer>>>,
    preference: String,
}

impl ElasticsearchIndex {
    /// Opens the index. `Unavailable` within seconds when no node answers, `Denied` when it does
    /// not let us in.
    pub async fn open(config: Config) -> Result<Self> {
        config.check()?;
        let client = Client::new(&config)?;
        let path = format!("/_alias/{}", config.index_prefix);
        let question = Request {
            what: "cannot open the search index",
            method: Method::Get,
            path: &path,
            query: &[],
            body: Body::Empty,
        };
        client
            .impatient(OPEN_TIMEOUT)
            .find::<Value>(question)
            .await?;
        Ok(Self {
            generations: Generations::new(client.clone(), config.clone()),
            client,
            config,
            writers: Mutex::default(),
            preference: format!("tributary-{}", std::process::id()),
        })
    }

    /// Asks a generation, or the serving one, again where what was believed of it turned out to be
    /// wrong.
    async fn reading<T, F>(
        &self,
        name: Option<&str>,
        work: impl Fn(Arc<Generation>) -> F + Send + Sync,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send,
        T: Send,
    {
        let generation = self.generations.find(name).await?;
        match work(generation).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.generations.forget();
                work(self.generations.find(name).await?).await
            }
            result => result,
        }
    }

    fn reader<'a>(&'a self, generation: &'a Generation) -> Reader<'a> {
        Reader {
            client: &self.client,
            generation,
            preference: &self.preference,
            oversample: self.config.oversample,
        }
    }

    fn writer(&self, generation: &Generation) -> Arc<Writer> {
        let limits = Limits {
            bytes: self.config.bulk_bytes,
            documents: self.config.bulk_documents,
            concurrency: self.config.bulk_concurrency,
        };
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(
            writers
                .entry(generation.index.clone())
                .or_insert_with(|| Arc::new(Writer::new(limits))),
        )
    }

    async fn try_write(
        &self,
        generation: &Arc<Generation>,
        operations: Vec<Operation>,
    ) -> Result<Vec<Outcome>> {
        self.writer(generation)
            .write(self.target(generation), operations)
            .await
    }

    async fn try_flush(&self, generation: &Arc<Generation>) -> Result<()> {
        let writer = self.writer(generation);
        let target = self.target(generation);
        let _alone = writer.whole.write().await;
        let what = "cannot flush the search index";
        if self.config.durability == Durability::Async {
            target
                .act_on_all_shards(what, &format!("/{}/_flush", generation.index))
                .await?;
        }
        target.refresh(what).await?;
        if writer.is_sweep_due() {
            tokio::spawn(Arc::clone(&writer).sweep(target));
        }
        Ok(())
    }

    fn target(&self, generation: &Arc<Generation>) -> Target {
        Target {
            client: self.client.clone(),
            generation: Arc::clone(generation),
            bulk_bytes: self.config.bulk_bytes,
        }
    }
}

#[async_trait]
impl SearchIndex for ElasticsearchIndex {
    async fn create(&self, generation: &str, settings: &IndexSettings) -> Result<()> {
        self.generations.create(generation, settings).await
    }

    async fn promote(&self, generation: &str) -> Result<()> {
        self.generations.promote(generation).await
    }

    async fn drop_generation(&self, generation: &str) -> Result<()> {
        self.generations.drop_generation(generation).await
    }

    async fn write(&self, generation: &str, operations: Vec<Operation>) -> Result<Vec<Outcome>> {
        let found = self.generations.find(Some(generation)).await?;
        let result = self.try_write(&found, operations).await;
        if result
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::NotFound)
        {
            self.generations.forget();
        }
        result
    }

    async fn flush(&self, generation: &str) -> Result<()> {
        self.reading(Some(generation), |found| async move {
            self.try_flush(&found).await
        })
        .await
    }

    async fn keyword(&self, query: KeywordQuery<'_>) -> Result<Vec<ScoredChunk>> {
        self.reading(query.generation, |found| async move {
            self.reader(&found).keyword(&query).await
        })
        .await
    }

    async fn vector(&self, query: VectorQuery<'_>) -> Result<Vec<ScoredChunk>> {
        self.reading(query.generation, |found| async move {
            self.reader(&found).vector(&query).await
        })
        .await
    }

    async fn nearest_windows(&self, query: WindowQuery<'_>) -> Result<Vec<ScoredChunk>> {
        self.reading(query.generation, |found| async move {
            self.reader(&found).nearest_windows(&query).await
        })
        .await
    }

    async fn fetch(
        &self,
        generation: Option<&str>,
        chunks: &[ChunkId],
    ) -> Result<Vec<Option<StoredChunk>>> {
        self.reading(generation, |found| async move {
            self.reader(&found).fetch(chunks).await
        })
        .await
    }

    async fn vectors(
        &self,
        generation: Option<&str>,
        chunks: &[ChunkId],
    ) -> Result<Vec<Option<ChunkVectors>>> {
        self.reading(generation, |found| async move {
            self.reader(&found).vectors(chunks).await
        })
        .await
    }

    async fn documents(
        &self,
        generation: Option<&str>,
        document_ids: &[String],
    ) -> Result<Vec<Option<IndexedDocument>>> {
        self.reading(generation, |found| async move {
            let entries = self.reader(&found).entries(document_ids, true).await?;
            Ok(entries
                .into_iter()
                .map(|stored| stored.map(|stored| stored.entry.indexed))
                .collect())
        })
        .await
    }

    async fn list_documents(
        &self,
        generation: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<IndexedDocument>> {
        self.reading(generation, |found| async move {
            self.reader(&found).list_documents(after, limit).await
        })
        .await
    }

    async fn documents_with(
        &self,
        generation: Option<&str>,
        terms: &[String],
        limit: usize,
    ) -> Result<Vec<IndexedDocument>> {
        self.reading(generation, |found| async move {
            self.reader(&found).documents_with(terms, limit).await
        })
        .await
    }

    async fn list_chunks(&self, generation: Option<&str>) -> Result<Vec<(ChunkId, String)>> {
        self.reading(generation, |found| async move {
            self.reader(&found).list_chunks().await
        })
        .await
    }

    async fn status(&self) -> Result<Vec<GenerationStatus>> {
        self.generations.status().await
    }

    async fn probe(&self) -> Result<()> {
        self.generations.probe().await
    }
}
