//! The stages as services: each joined to its topic by the one worker loop.

use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tributary_enrich::summarize::{ExtractiveSummarizer, Summarizer};
use tributary_enrich::{ChunkParts, ChunkStage, EmbedParts, EmbedStage, chunkers, embed_stage};
use tributary_indexer::IndexStage;
use tributary_ingest::{IngestStage, LaterSettings};
use tributary_schemas::Topic;
use tributary_store::event_log::stage::Stage;
use tributary_store::event_log::worker::{Worker, WorkerSettings};
use tributary_store::manifest::unchanged::SkipGate;
use tributary_taxonomy::ChunkStrategy;

use super::Parts;
use crate::args::Service;
use crate::config::Config;

/// Starts one service as a task; `query` is no stage and is left to the caller.
pub fn spawn(
    tasks: &mut JoinSet<Result<()>>,
    service: Service,
    config: &Config,
    parts: &Arc<Parts>,
    shutdown: &CancellationToken,
) -> Result<()> {
    let shared = &config.store.worker;
    let with = |concurrency: usize| WorkerSettings { concurrency, ..shared.clone() };
    let (input, stage, settings): (Topic, Arc<dyn Stage>, WorkerSettings) = match service {
        Service::Ingest => (Topic::DocumentsRaw, Arc::new(ingest(config, parts)?), with(config.ingest.conversion_workers)),
        Service::Chunk => (Topic::DocumentsClean, Arc::new(chunk(config, parts)), with(config.enrich.chunk.documents_in_flight)),
        Service::Embed => (Topic::ChunksTagged, Arc::new(embed(config, parts)), with(config.enrich.embed.documents_in_flight)),
        Service::Index => {
            let stage = IndexStage::new(Arc::clone(&parts.stores.index), parts.generation.clone(), Arc::clone(&parts.clock));
            let settings = WorkerSettings { linger_ms: config.indexer.linger_ms, ..with(config.indexer.in_flight_documents) };
            (Topic::ChunksEmbedded, Arc::new(stage), settings)
        }
        Service::Query => return Ok(()),
    };
    let metrics = parts.worker_metrics.stage(stage.name());
    let worker = Worker::new(parts.stores.topics.clone(), input, stage, settings, metrics, Arc::clone(&parts.clock));
    let shutdown = shutdown.clone();
    tasks.spawn(async move { worker.run(shutdown).await.with_context(|| format!("service {service} stopped")) });
    Ok(())
}

fn ingest(config: &Config, parts: &Parts) -> Result<IngestStage> {
    let gate = SkipGate::new(Arc::clone(&parts.table));
    let stage = IngestStage::new(
        config.ingest.clone(),
        Arc::clone(&parts.source_profiles),
        later_settings(config, parts),
        Arc::new(parts.stores.blobs.clone()),
        Arc::new(gate),
        Arc::clone(&parts.clock),
    );
    stage.context("cannot start the service ingest")
}

/// Everything beside ingest's own settings that shapes what is searchable of a document: when it changes, nothing counts as unchanged.
/// Knowledge sets can be applied while the service runs.
fn later_settings(config: &Config, parts: &Parts) -> LaterSettings {
    let embedder = &parts.models.embedder;
    let summarizer = ExtractiveSummarizer;
    let fixed = [
        chunkers::fingerprint(ChunkStrategy::Sections, &config.enrich.chunker, summarizer.name()),
        embed_stage::fingerprint(&config.enrich.embed),
        parts.analyzer.fingerprint(),
        embedder.coarse_name().to_owned(),
        embedder.fine_name().to_owned(),
    ]
    .join("/");
    let knowledge_sets = parts.knowledge_sets.shared();
    Arc::new(move || {
        let settings = format!("{fixed}/{}", knowledge_sets.current().fingerprint());
        blake3::hash(settings.as_bytes()).to_hex().chars().take(16).collect()
    })
}

fn chunk(config: &Config, parts: &Parts) -> ChunkStage {
    let chunk_parts = ChunkParts {
        analyzer: Arc::clone(&parts.analyzer),
        knowledge_sets: parts.knowledge_sets.shared(),
        source_profiles: Arc::clone(&parts.source_profiles),
        tokens: Arc::clone(&parts.models.tokens),
        summarizer: Arc::new(ExtractiveSummarizer),
        clock: Arc::clone(&parts.clock),
    };
    ChunkStage::new(chunk_parts, config.enrich.clone())
}

fn embed(config: &Config, parts: &Parts) -> EmbedStage {
    let embed_parts = EmbedParts {
        embedder: Arc::clone(&parts.models.embedder),
        tokens: Arc::clone(&parts.models.tokens),
        index: Some(Arc::clone(&parts.stores.index)),
        clock: Arc::clone(&parts.clock),
    };
    EmbedStage::new(embed_parts, config.enrich.embed.clone())
}
