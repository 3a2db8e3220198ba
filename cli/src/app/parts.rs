//! What all services of this process share: opened once, in the order in which one needs the other.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use prometheus::Registry;
use tributary_models::Models;
use tributary_query_api::retrieval::{Retriever, Serving, SharedServing};
use tributary_query_api::server::Parts as ServerParts;
use tributary_store::config::Stores;
use tributary_store::data_folder::DataFolder;
use tributary_store::event_log::worker::metrics::WorkerMetrics;
use tributary_store::manifest::dead_letters::DeadLetters;
use tributary_store::manifest::documents::Documents;
use tributary_store::manifest::table::DocumentTable;
use tributary_store::search_index::IndexSettings;
use tributary_store::{Clock, system_clock};
use tributary_taxonomy::{Analyzer, SourceProfiles, Taxonomy};

use super::documents::{DeadLetterSide, DocumentSide};
use super::knowledge_sets::Catalog;
use super::readiness::Readiness;
use crate::config::Config;

/// Everything that is open.
pub struct Parts {
    pub stores: Stores,
    pub table: Arc<DocumentTable>,
    pub documents: Arc<Documents>,
    pub dead_letters: Arc<DeadLetters>,
    pub models: Arc<Models>,
    pub analyzer: Arc<Analyzer>,
    pub source_profiles: Arc<SourceProfiles>,
    pub knowledge_sets: Arc<Catalog>,
    pub retriever: Arc<Retriever>,
    /// The index generation that is written to.
    pub generation: String,
    pub registry: Registry,
    pub worker_metrics: WorkerMetrics,
    pub clock: Clock,
}

impl Parts {
    /// Opens stores, taxonomy and models of a data folder.
    pub async fn open(config: &Config, folder: &DataFolder) -> Result<Self> {
        let (models, taxonomy) = load(config, folder).await?;
        let analyzer = Arc::new(taxonomy.analyzer);
        let stores = tributary_store::config::open(&config.store, folder).await?;
        let settings = index_settings(&models, &analyzer);
        let generation = tributary_indexer::open_generation(stores.index.as_ref(), &settings).await?;
        let table = Arc::new(DocumentTable::open(&stores.topics).await?);
        let clock = system_clock();
        let documents = Documents::new(stores.topics.clone(), Arc::clone(&table), Arc::clone(&stores.index), Arc::clone(&clock));
        let dead_letters = DeadLetters::new(stores.topics.clone(), Arc::clone(&clock));
        let knowledge_sets = Catalog::open(stores.topics.clone(), taxonomy.knowledge_sets, Arc::clone(&clock)).await?;
        let retrieval = config.query_api.retrieval.clone();
        let serving = SharedServing::new(Serving {
            generation: Some(generation.clone()),
            analyzer: Arc::clone(&analyzer),
            models: (&models).into(),
        });
        let retriever = Retriever::new(Arc::clone(&stores.index), serving, retrieval)?;
        let registry = Registry::new();
        Ok(Self {
            worker_metrics: WorkerMetrics::register(&registry)?,
            registry,
            table,
            documents: Arc::new(documents),
            dead_letters: Arc::new(dead_letters),
            models: Arc::new(models),
            analyzer,
            source_profiles: Arc::new(taxonomy.source_profiles),
            knowledge_sets: Arc::new(knowledge_sets),
            retriever: Arc::new(retriever),
            generation,
            clock,
            stores,
        })
    }

    /// What the HTTP server is made of.
    pub fn server_parts(&self, config: &Config) -> Result<ServerParts> {
        Ok(ServerParts {
            retriever: Arc::clone(&self.retriever),
            documents: Arc::new(DocumentSide::new(Arc::clone(&self.documents))),
            dead_letters: Arc::new(DeadLetterSide::new(Arc::clone(&self.dead_letters))),
            knowledge_sets: Arc::clone(&self.knowledge_sets) as _,
            readiness: Arc::new(Readiness::new(self, &config.store.data_folder)),
            registry: self.registry.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

/// Dictionaries and models take a moment of CPU each: side by side, and not on an async thread.
async fn load(config: &Config, folder: &DataFolder) -> Result<(Models, Taxonomy)> {
    let (models_config, models_folder) = (config.models.clone(), folder.join("models"));
    let taxonomy_config = config.taxonomy.clone();
    let models = tokio::task::spawn_blocking(move || tributary_models::load(&models_config, &models_folder));
    let taxonomy = tokio::task::spawn_blocking(move || Taxonomy::load(&taxonomy_config, Path::new("")));
    let models = models.await.context("loading the models panicked")??;
    Ok((models, taxonomy.await.context("loading the taxonomy panicked")??))
}

fn index_settings(models: &Models, analyzer: &Analyzer) -> IndexSettings {
    let embedder = &models.embedder;
    IndexSettings {
        coarse_dimensions: embedder.coarse_dimensions(),
        fine_dimensions: embedder.fine_dimensions(),
        shared_vectors: embedder.is_shared(),
        coarse_model: embedder.coarse_name().to_owned(),
        fine_model: embedder.fine_name().to_owned(),
        analyzer: analyzer.fingerprint(),
        origin: String::new(),
    }
}
