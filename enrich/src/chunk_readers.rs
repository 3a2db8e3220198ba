//! The service `chunk`: one reader of `documents.clean` for each generation of the index. A
//! generation that comes is replayed from the first record and then followed; one that goes is no
//! longer read.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Error, ErrorKind, Result, Topic};
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::worker::metrics::StageMetrics;
use tributary_store::event_log::worker::paced::PacedStage;
use tributary_store::event_log::worker::{Worker, WorkerSettings};
use tributary_store::generations::{GenerationList, chunk_group};

use crate::chunk_stage::{ChunkParts, ChunkStage};
use crate::chunking::Chunking;
use crate::pipelines::Pipeline;

/// What the readers need of the rest of the product.
pub struct ChunkReaderParts {
    /// The log.
    pub topics: Topics,
    /// How documents are cut.
    pub chunking: Chunking,
    /// Of the worker loop; its concurrency is the number of documents that are cut or wait for a
    /// model.
    pub settings: WorkerSettings,
    /// Documents of a replay that may wait for the stages behind.
    pub replay_limit: u64,
    /// Counters of the stage.
    pub metrics: StageMetrics,
}

/// The readers of this process.
pub struct ChunkReaders {
    parts: ChunkReaderParts,
    shutdown: CancellationToken,
}

/// A reader at work.
struct Reader {
    stop: CancellationToken,
    task: JoinHandle<Result<()>>,
}

impl ChunkReaders {
    /// Readers that stop with `shutdown`.
    pub fn new(parts: ChunkReaderParts, shutdown: CancellationToken) -> Self {
        Self { parts, shutdown }
    }

    /// Reads until `shutdown`, or until a reader fails.
    pub async fn run(self) -> Result<()> {
        let mut generations = self.parts.chunking.pipelines.generations().watch();
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
                reader.task.await.map_err(panicked)??;
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
                reader.task.await.map_err(panicked)??;
                tracing::info!(generation = %name, "a generation of the index is gone and no longer fed");
            }
        }
        for generation in list.iter() {
            if readers.contains_key(&generation.name) {
                continue;
            }
            if let Some(pipeline) = self.parts.chunking.pipelines.get(&generation.name).await? {
                readers.insert(generation.name.clone(), self.start(&pipeline));
            }
        }
        Ok(())
    }

    fn start(&self, pipeline: &Pipeline) -> Reader {
        let parts = &self.parts;
        let stop = self.shutdown.child_token();
        let chunk_parts = ChunkParts {
            stop: stop.clone(),
            ..parts.chunking.parts(pipeline)
        };
        let is_serving = Arc::clone(&chunk_parts.is_serving);
        let topics = parts.topics.clone();
        let behind = vec![
            ("embed", Topic::ChunksTagged),
            ("index", Topic::ChunksEmbedded),
        ];
        let stage = Arc::new(ChunkStage::new(
            chunk_parts,
            parts.chunking.documents_in_flight,
        ));
        let is_held = Arc::new(move || !is_serving());
        let paced = Arc::new(PacedStage::new(
            stage,
            topics.clone(),
            behind,
            parts.replay_limit,
            is_held,
            stop.clone(),
        ));
        let (settings, metrics, clock) = (
            parts.settings.clone(),
            parts.metrics.clone(),
            Arc::clone(&parts.chunking.clock),
        );
        let worker = Worker::new(
            topics,
            Topic::DocumentsClean,
            paced,
            settings,
            metrics,
            clock,
        );
        let worker = worker.with_group(chunk_group(&pipeline.generation));
        let stopped = stop.clone();
        Reader {
            stop,
            task: tokio::spawn(async move { worker.run(stopped).await }),
        }
    }
}

fn panicked(error: JoinError) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("a chunk reader panicked: {error}"),
    )
}

/// Ends when a reader does, which before a stop it only does with an error.
async fn first_ended(readers: &mut HashMap<String, Reader>) -> Result<()> {
    if readers.is_empty() {
        return std::future::pending().await;
    }
    let tasks = readers.values_mut().map(|reader| &mut reader.task);
    let (ended, _, _) = futures::future::select_all(tasks).await;
    ended.map_err(panicked)??;
    Ok(())
}
