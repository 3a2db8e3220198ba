//! The stages as services: each joined to its topic by the one worker loop.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tributary_enrich::chunkers::{self, WriterNames};
use tributary_enrich::{ChunkReaderParts, ChunkReaders, EmbedParts, EmbedStage};
use tributary_indexer::reindex::ReindexParts;
use tributary_indexer::{IndexStage, ReindexStage, Unfinished};
use tributary_ingest::{IngestParts, IngestStage, LaterSettings};
use tributary_schemas::Topic;
use tributary_store::event_log::stage::Stage;
use tributary_store::event_log::worker::{Worker, WorkerSettings};
use tributary_store::manifest::restating;
use tributary_store::manifest::unchanged::SkipGate;
use tributary_store::parts::log_repairs;

use super::{Parts, confinement};
use crate::args::Service;
use crate::config::Config;

/// Starts one service as tasks; `query` is no stage and is left to the caller.
pub fn spawn(
    tasks: &mut JoinSet<Result<()>>,
    service: Service,
    config: &Config,
    parts: &Arc<Parts>,
    shutdown: &CancellationToken,
) -> Result<()> {
    let shared = &config.store.worker;
    let with = |concurrency: usize| WorkerSettings {
        concurrency,
        ..shared.clone()
    };
    let worker = match service {
        Service::Ingest => {
            confinement::watch(&parts.registry, &parts.conversion)?;
            let stage = ingest(config, parts, shutdown)?;
            let waiting = match stage.has_external_steps() {
                true => config.ingest.external.documents_waiting,
                false => 0,
            };
            worker(
                parts,
                Topic::DocumentsRaw,
                Arc::new(stage),
                with(config.convert.conversion_workers + waiting),
            )
        }
        Service::Chunk => {
            let readers = ChunkReaders::new(chunk(config, parts), shutdown.clone());
            tasks.spawn(async move { readers.run().await.context("service chunk stopped") });
            return Ok(());
        }
        Service::Embed => worker(
            parts,
            Topic::ChunksTagged,
            Arc::new(embed(config, parts)),
            WorkerSettings {
                in_flight_bytes: config.enrich.embed.in_flight_bytes,
                ..with(config.enrich.embed.documents_in_flight)
            },
        ),
        Service::Index => {
            let reindex = worker(
                parts,
                Topic::ReindexRequests,
                Arc::new(reindex(config, parts, shutdown)),
                with(1),
            );
            run(tasks, reindex, "index", shutdown);
            let restating = restating::keep(Arc::clone(&parts.table), parts.stores.topics.clone());
            let unfinished = Unfinished::new(
                parts.stores.topics.clone(),
                Arc::clone(&parts.table),
                Arc::clone(&parts.stores.index),
                Arc::clone(&parts.clock),
            );
            let stopped = shutdown.clone();
            tasks.spawn(async move {
                let both = async { tokio::join!(restating, unfinished.keep()) };
                stopped.run_until_cancelled(both).await;
                Ok(())
            });
            let generations = Arc::clone(parts.pipelines.generations());
            let blobs = parts.stores.blobs.clone();
            let stage = IndexStage::new(
                Arc::clone(&parts.stores.index),
                generations,
                blobs,
                Arc::clone(&parts.clock),
            )
            .with_table(Arc::clone(&parts.table));
            let settings = WorkerSettings {
                linger_ms: config.indexer.linger_ms,
                ..with(config.indexer.in_flight_documents)
            };
            worker(parts, Topic::ChunksEmbedded, Arc::new(stage), settings)
        }
        Service::Query => return Ok(()),
    };
    run(tasks, worker, &service.to_string(), shutdown);
    Ok(())
}

fn run(
    tasks: &mut JoinSet<Result<()>>,
    worker: Worker,
    service: &str,
    shutdown: &CancellationToken,
) {
    let (shutdown, service) = (shutdown.clone(), service.to_owned());
    tasks.spawn(async move {
        worker
            .run(shutdown)
            .await
            .with_context(|| format!("service {service} stopped"))
    });
}

fn worker(parts: &Parts, input: Topic, stage: Arc<dyn Stage>, settings: WorkerSettings) -> Worker {
    let metrics = parts.worker_metrics.stage(stage.name());
    Worker::new(
        parts.stores.topics.clone(),
        input,
        stage,
        settings,
        metrics,
        Arc::clone(&parts.clock),
    )
}

fn ingest(config: &Config, parts: &Parts, shutdown: &CancellationToken) -> Result<IngestStage> {
    let stage_parts = IngestParts {
        pool: Arc::clone(&parts.conversion),
        profiles: Arc::clone(&parts.source_profiles),
        later_settings: later_settings(config, parts)?,
        blobs: parts.stores.blobs.clone(),
        gate: SkipGate::new(Arc::clone(&parts.table)),
        version_rule: config.store.version_rule(),
        clock: Arc::clone(&parts.clock),
        work: parts.work.clone(),
        observer: Arc::clone(&parts.external_steps),
        stop: shutdown.clone(),
    };
    let stage = IngestStage::new(&config.ingest, stage_parts);
    stage.context("cannot start the service ingest")
}

fn chunk(config: &Config, parts: &Parts) -> ChunkReaderParts {
    ChunkReaderParts {
        topics: parts.stores.topics.clone(),
        chunking: parts.chunking(config),
        settings: WorkerSettings {
            concurrency: config.enrich.chunk.documents_waiting,
            ..config.store.worker.clone()
        },
        replay_limit: config.indexer.replay_documents_ahead,
        metrics: parts.worker_metrics.stage("chunk"),
    }
}

/// Everything beside ingest's own settings that shapes what is searchable of a document: when it
/// changes, nothing counts as unchanged. Another generation may be promoted and knowledge sets
/// applied while the service runs.
fn later_settings(config: &Config, parts: &Parts) -> Result<LaterSettings> {
    // What a repair took out of the log comes back by publishing it again.
    let repairs =
        Some(log_repairs(Path::new(&config.store.data_folder))?).filter(|repairs| *repairs > 0);
    let (pipelines, knowledge_sets, embed) = (
        Arc::clone(&parts.pipelines),
        parts.knowledge_sets.shared(),
        config.enrich.embed.clone(),
    );
    let writers = parts.writers.clone();
    // Profiles name variants of prompts; which texts these are shapes what is written.
    let variants = match parts.writers.are_none() {
        true => Vec::new(),
        false => parts.prompt_variants.clone(),
    };
    Ok(Arc::new(move || {
        let pipeline = pipelines.serving();
        let recipe = &pipeline.recipe;
        let summaries = writers.summaries.as_ref();
        let summaries = summaries.filter(|_| recipe.summaries.is_some());
        let descriptions = writers.descriptions.as_ref();
        let descriptions = descriptions.filter(|_| recipe.descriptions.is_some());
        let mut settings = vec![
            pipeline.fingerprint.clone(),
            chunkers::fingerprint_of_all(&recipe.chunkers.default, &WriterNames::default()),
            recipe.embedding_fingerprint(&embed),
            pipeline.analyzer.fingerprint(),
            pipeline.models.embedder.coarse_name().to_owned(),
            pipeline.models.embedder.fine_name().to_owned(),
            knowledge_sets.current().fingerprint(),
        ];
        settings.extend(summaries.map(|writer| writer.name()));
        settings.extend(descriptions.map(|writer| writer.name()));
        settings.extend(variants.iter().cloned());
        settings.extend(repairs.map(|repairs| repairs.to_string()));
        blake3::hash(settings.join("/").as_bytes())
            .to_hex()
            .chars()
            .take(16)
            .collect()
    }))
}

fn embed(config: &Config, parts: &Parts) -> EmbedStage {
    let table = Arc::clone(&parts.table);
    let embed_parts = EmbedParts {
        generations: Arc::clone(&parts.pipelines) as _,
        index: Some(Arc::clone(&parts.stores.index)),
        clock: Arc::clone(&parts.clock),
        work: parts.work.clone(),
        is_deleted: Arc::new(move |id, version| table.is_deletion_behind(id, version)),
    };
    EmbedStage::new(embed_parts, config.enrich.embed.clone())
}

fn reindex(config: &Config, parts: &Parts, shutdown: &CancellationToken) -> ReindexStage {
    let stage_parts = ReindexParts {
        topics: parts.stores.topics.clone(),
        table: Arc::clone(&parts.table),
        index: Arc::clone(&parts.stores.index),
        generations: Arc::clone(parts.pipelines.generations()),
        builder: Arc::clone(&parts.pipelines) as _,
        clock: Arc::clone(&parts.clock),
    };
    ReindexStage::new(
        stage_parts,
        config.indexer.keep_previous_generation,
        shutdown.clone(),
    )
}
