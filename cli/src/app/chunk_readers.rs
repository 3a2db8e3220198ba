//! The service `chunk`: one reader of `documents.clean` for each generation of the index. A
//! generation that comes is replayed from the first record and then followed; one that goes is no
//! longer read.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tributary_enrich::summarize::ExtractiveSummarizer;
use tributary_enrich::{ChunkParts, ChunkStage};
use tributary_indexer::PacedStage;
use tributary_schemas::Topic;
use tributary_store::event_log::worker::{Worker, WorkerSettings};
use tributary_store::generations::{GenerationList, chunk_group};

use super::Parts;
use super::pipelines::Pipeline;
use crate::config::Config;

/// The readers of this process.
pub struct ChunkReaders {
    parts: Arc<Parts>,
    settings: WorkerSettings,
    documents_in_flight: usize,
    /// Documents of a replay that may wait for the stages behind.
    replay_limit: u64,
    shutdown: CancellationToken,
}

/// A reader at work.
struct Reader {
    stop: CancellationToken,
    task: JoinHandle<tributary_schemas::Result<()>>,
}

impl ChunkReaders {
    /// As configured.
    pub fn new(config: &Config, parts: &Arc<Parts>, shutdown: &CancellationToken) -> Self {
        let documents_in_flight = config.enrich.chunk.documents_in_flight;
        Self {
            parts: Arc::clone(parts),
            settings: WorkerSettings {
                concurrency: documents_in_flight,
                ..config.store.worker.clone()
            },
            documents_in_flight,
            replay_limit: config.indexer.replay_documents_ahead,
            shutdown: shutdown.clone(),
        }
    }

    /// Reads until `shutdown`, or until a reader fails.
    pub async fn run(self) -> Result<()> {
        let mut generations = self.parts.pipelines.generations().watch();
        let mut readers: HashMap<String, Reader> = HashMap::new();
        let outcome = loop {
            let list = Arc::clone(&generations.borrow_and_update());
            if let Err(error) = self.adjust(&mut readers, &list).await {
                break Err(error);
            }
            tokio::select! {
                () = self.shutdown.cancelled() => break Ok(()),
                changed = generations.changed() => if changed.is_err() { break Ok(()) },
                ended = first_ended(&mut readers) => break ended,
            }
        };
        for (_, reader) in readers {
            reader.stop.cancel();
            if !reader.task.is_finished() {
                reader.task.await.context("a chunk reader panicked")??;
            }
        }
        outcome
    }

    /// Starts readers of generations that came, stops those of generations that went.
    async fn adjust(
        &self,
        readers: &mut HashMap<String, Reader>,
        list: &GenerationList,
    ) -> Result<()> {
        let gone: Vec<String> = readers
            .keys()
            .filter(|name| !list.iter().any(|one| one.name == **name))
            .cloned()
            .collect();
        for name in gone {
            if let Some(reader) = readers.remove(&name) {
                reader.stop.cancel();
                reader.task.await.context("a chunk reader panicked")??;
                tracing::info!(generation = %name, "a generation of the index is gone and no longer fed");
            }
        }
        for generation in list.iter() {
            if readers.contains_key(&generation.name) {
                continue;
            }
            if let Some(pipeline) = self.parts.pipelines.get(&generation.name).await? {
                readers.insert(generation.name.clone(), self.start(&pipeline));
            }
        }
        Ok(())
    }

    fn start(&self, pipeline: &Pipeline) -> Reader {
        let parts = &self.parts;
        let generations = Arc::clone(parts.pipelines.generations());
        let name = pipeline.generation.clone();
        let is_serving = {
            let (generations, name) = (Arc::clone(&generations), name.clone());
            move || generations.is_serving(&name)
        };
        let chunk_parts = ChunkParts {
            analyzer: Arc::clone(&pipeline.analyzer),
            knowledge_sets: parts.knowledge_sets.shared(),
            source_profiles: Arc::clone(&parts.source_profiles),
            tokens: Arc::clone(&pipeline.models.tokens),
            summarizer: Arc::new(ExtractiveSummarizer),
            chunkers: pipeline.recipe.chunkers.clone(),
            generation: name.clone(),
            is_serving: Arc::new(is_serving.clone()),
            clock: Arc::clone(&parts.clock),
        };
        let stop = self.shutdown.child_token();
        let topics = parts.stores.topics.clone();
        let behind = vec![
            ("embed", Topic::ChunksTagged),
            ("index", Topic::ChunksEmbedded),
        ];
        let stage = Arc::new(ChunkStage::new(chunk_parts, self.documents_in_flight));
        let is_held = Arc::new(move || !is_serving());
        let paced = Arc::new(PacedStage::new(
            stage,
            topics.clone(),
            behind,
            self.replay_limit,
            is_held,
            stop.clone(),
        ));
        let metrics = parts.worker_metrics.stage("chunk");
        let worker = Worker::new(
            topics,
            Topic::DocumentsClean,
            paced,
            self.settings.clone(),
            metrics,
            Arc::clone(&parts.clock),
        );
        let worker = worker.with_group(chunk_group(&name));
        let stopped = stop.clone();
        Reader {
            stop,
            task: tokio::spawn(async move { worker.run(stopped).await }),
        }
    }
}

/// Ends when a reader does, which before a stop it only does with an error.
async fn first_ended(readers: &mut HashMap<String, Reader>) -> Result<()> {
    if readers.is_empty() {
        return std::future::pending().await;
    }
    let tasks = readers.values_mut().map(|reader| &mut reader.task);
    let (ended, _, _) = futures::future::select_all(tasks).await;
    ended.context("a chunk reader panicked")??;
    Ok(())
}
