//! What all services of this process share: opened once, in the order in which one needs the other.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Handle;
use tributary_convert::isolation::ConversionPool;
use tributary_enrich::descriptions::writer::DescriptionWriter;
use tributary_enrich::prompts::PROMPTS;
use tributary_enrich::summaries::writer::SummaryWriter;
use tributary_enrich::writing::WrittenKind;
use tributary_enrich::{
    Catalog, ChunkServices, Chunking, Pipeline, Pipelines, RecipeConfig, Writers,
};
use tributary_indexer::reindex::{remember_removals, remember_versions, restore_serving};
use tributary_models::RerankerKind;
use tributary_models::chat::{ChatModels, Role};
use tributary_models::prompts::{PromptSet, Prompts};
use tributary_models::service::SharedServiceObserver;
use tributary_query_api::config::NetworkAccess;
use tributary_query_api::operations::OperationsParts;
use tributary_query_api::server::Parts as ServerParts;
use tributary_query_api::term_review::TermReview;
use tributary_retrieval::{
    AnalyzerSource, Asker, AskerParts, ChatReranker, MissingDocuments, Retriever, Serving,
    SharedServing, Understander, UnderstanderParts,
};
use tributary_schemas::SharedNewestRights;
use tributary_store::audit::AuditTopic;
use tributary_store::blobs::Blobs;
use tributary_store::config::{EventLogKind, Stores};
use tributary_store::data_folder::{Access, DataFolder};
use tributary_store::evaluations::{FOLDER, RunStore};
use tributary_store::event_log::worker::metrics::WorkerMetrics;
use tributary_store::keys::KeyRing;
use tributary_store::manifest::dead_letters::DeadLetters;
use tributary_store::manifest::documents::{Documents, RightsOf, StageReader, stage_readers};
use tributary_store::manifest::given_time::GivenTime;
use tributary_store::manifest::table::{CheckpointFile, CheckpointReading, DocumentTable};
use tributary_store::metrics::MetricRegistry;
use tributary_store::missed_searches::MissedSearches;
use tributary_store::work::Work;
use tributary_store::{Clock, system_clock};
use tributary_taxonomy::discovery::files::FOLDER as TERM_FOLDER;
use tributary_taxonomy::{KnowledgeSets, Lexicon, SourceProfiles, Synonyms};

use super::external_metrics::KnownServices;
use super::known_tags::known_tags;
use super::pages::PageSide;
use super::readiness::Readiness;
use super::reindex::ReindexSide;
use super::repair::RepairSide;
use super::{chat_metrics, external_metrics, missing};
use crate::args::Service;
use crate::config::Config;
use crate::conversion;

/// The prompts of all crates that have some; a profile's folder may replace any of them.
pub const PROMPT_SETS: [&PromptSet; 3] = [
    &PROMPTS,
    &tributary_retrieval::prompts::PROMPTS,
    &tributary_eval::prompts::PROMPTS,
];

/// Everything that is open.
pub struct Parts {
    pub stores: Stores,
    pub table: Arc<DocumentTable>,
    pub documents: Arc<Documents>,
    pub dead_letters: Arc<DeadLetters>,
    /// Analyzer and models of each generation of the index.
    pub pipelines: Arc<Pipelines>,
    /// What searches use now.
    pub serving: SharedServing,
    /// What the index lacks while it is built again.
    pub missing: MissingDocuments,
    /// Language models by role.
    pub chat: Arc<ChatModels>,
    /// What a language model writes.
    pub writers: Writers,
    pub source_profiles: Arc<SourceProfiles>,
    /// Counts calls of cleaning steps that are services.
    pub external_steps: SharedServiceObserver,
    /// Which of them are away.
    pub known_services: KnownServices,
    /// Which texts exactly the variants of prompts are.
    pub prompt_variants: Vec<String>,
    /// Services that see chunks.
    pub chunk_services: Arc<ChunkServices>,
    pub knowledge_sets: Arc<Catalog>,
    /// Converters of the service `ingest`; none is started before the first is needed.
    pub conversion: Arc<ConversionPool>,
    pub retriever: Arc<Retriever>,
    pub asker: Arc<Asker>,
    pub registry: MetricRegistry,
    pub worker_metrics: WorkerMetrics,
    pub clock: Clock,
    backup_token: String,
    keys: Arc<KeyRing>,
    /// What the stages of this process are at.
    pub work: Work,
}

impl Parts {
    /// Opens stores, taxonomy and models of a data folder.
    pub async fn open(config: &Config, folder: &DataFolder) -> Result<Self> {
        let checkpoint = begin_reading_checkpoint(config, folder)?;
        let stores = tributary_store::config::open(&config.store, folder).await?;
        let sets = tributary_taxonomy::load_knowledge_sets(&config.taxonomy, Path::new(""))?;
        let source_profiles = Arc::new(tributary_taxonomy::load_source_profiles(
            &config.taxonomy,
            Path::new(""),
        )?);
        let clock = system_clock();
        let prompts = Prompts::load(&PROMPT_SETS, config.models.chat.prompts_folder())?;
        let prompts = Arc::new(prompts);
        check_profile_prompts(config, &source_profiles, &prompts)?;
        let prompt_variants = prompts.variant_ids();
        let knowledge_sets = Catalog::open(
            stores.topics.clone(),
            sets,
            config.enrich.chunker.clone(),
            Arc::clone(&prompts),
            Arc::clone(&clock),
        )
        .await?;
        let index = Arc::clone(&stores.index);
        restore_serving(&stores.topics, &index).await?;
        let reload = {
            let config = config.clone();
            Arc::new(move || {
                let mut today = recipe_config(&config.reloaded()?);
                // Endpoints are opened once: who writes summaries is what the start said.
                today.models.chat = config.models.chat.clone();
                Ok(today)
            })
        };
        let (models, blobs) = (folder.join("models"), stores.blobs.clone());
        let pipelines = Pipelines::open(
            recipe_config(config),
            reload,
            models,
            index,
            blobs,
            knowledge_sets.shared(),
        )
        .await?;
        expect_shared_blobs(config, &pipelines, &stores.blobs)?;
        let table = Arc::new(open_table(checkpoint, &stores).await?);
        hold_for_readers(&stores).await?;
        remember_versions_in_an_empty_index(&stores, &table).await?;
        let documents = {
            let (topics, index) = (stores.topics.clone(), Arc::clone(&stores.index));
            let rule = config.store.version_rule();
            let given = GivenTime::open(&folder.join("manifest"), rule, clock())?;
            Documents::new(
                topics,
                Arc::clone(&table),
                index,
                rule,
                given,
                Arc::clone(&clock),
            )
            .with_rights_of(rights_of(&source_profiles))
        };
        let dead_letters = DeadLetters::open(stores.topics.clone(), Arc::clone(&clock)).await?;
        let retrieval = config.query_api.retrieval.clone();
        let serving = SharedServing::new(serving(&pipelines.serving()));
        let missing = MissingDocuments::default();
        missing::count(stores.index.as_ref(), &table, &missing).await?;
        let retriever = Retriever::new(
            Arc::clone(&stores.index),
            serving.clone(),
            knowledge_sets.shared(),
            retrieval,
        )?
        .with_missing(missing.clone());
        let registry = MetricRegistry::default();
        // One that cannot be used is found now, not by the first document that needs it.
        let chat = ChatModels::open(
            &config.models.chat,
            &pipelines.serving().models.tokens,
            &chat_metrics::register(&registry)?,
        )?;
        let (external_steps, known_services) = external_metrics::register(&registry)?;
        let chunk_services = ChunkServices::new(
            &source_profiles,
            &config.ingest.external.defaults(),
            &external_steps,
            Some(&stores.blobs),
        )?;
        warn_of_unknown_sets(&source_profiles, &knowledge_sets.shared().current());
        let chat = Arc::new(chat);
        let retriever = Arc::new(match chat_reranker(config, &chat, &prompts)? {
            Some(reranker) => retriever.with_reranker(Arc::new(reranker)),
            None => retriever,
        });
        let writers = writers(config, &chat, &prompts, &registry, &stores.blobs)?;
        let understander = Understander::new(UnderstanderParts {
            analyzer: AnalyzerSource::Serving(serving.clone()),
            synonyms: synonyms(config)?,
            chat: Arc::clone(&chat),
            prompts: Arc::clone(&prompts),
            config: config.query_api.retrieval.understanding,
        });
        let asker = Asker::new(AskerParts {
            understander,
            retriever: Arc::clone(&retriever),
            chat: Arc::clone(&chat),
            tokens: Arc::clone(&pipelines.serving().models.tokens),
            prompts,
            blobs: stores.blobs.clone(),
            config: config.query_api.answer.clone(),
            known_tags: known_tags(&source_profiles, &knowledge_sets.shared().current()),
        })?;
        let backup_token = folder.backup_token()?;
        Ok(Self {
            worker_metrics: WorkerMetrics::register(&registry)?,
            registry,
            table,
            documents: Arc::new(documents),
            dead_letters: Arc::new(dead_letters),
            pipelines,
            serving,
            missing,
            chat,
            writers,
            source_profiles,
            external_steps,
            known_services,
            prompt_variants,
            chunk_services: Arc::new(chunk_services),
            knowledge_sets: Arc::new(knowledge_sets),
            conversion: Arc::new(conversion::pool(config)),
            retriever,
            asker: Arc::new(asker),
            clock,
            work: Work::default(),
            keys: Arc::new(KeyRing::open(
                config.store.data_folder.clone().into(),
                &backup_token,
            )),
            backup_token,
            stores,
        })
    }

    /// How documents are cut.
    pub fn chunking(&self, config: &Config) -> Chunking {
        Chunking {
            pipelines: Arc::clone(&self.pipelines),
            knowledge_sets: self.knowledge_sets.shared(),
            source_profiles: Arc::clone(&self.source_profiles),
            writers: self.writers.clone(),
            services: Arc::clone(&self.chunk_services),
            costs: self.documents.set_costs().clone(),
            documents_in_flight: config.enrich.chunk.documents_in_flight,
            clock: Arc::clone(&self.clock),
            work: self.work.clone(),
            table: Arc::clone(&self.table),
        }
    }

    /// What the HTTP server is made of.
    pub fn server_parts(&self, config: &Config, services: &[Service]) -> Result<ServerParts> {
        Ok(ServerParts {
            retriever: Arc::clone(&self.retriever),
            asker: Arc::clone(&self.asker),
            conversations: Arc::clone(&self.stores.conversations),
            documents: Arc::clone(&self.documents),
            dead_letters: Arc::clone(&self.dead_letters),
            knowledge_sets: Arc::clone(&self.knowledge_sets) as _,
            reindexing: Arc::new(ReindexSide::new(self)),
            repairing: Arc::new(RepairSide::new(self, config)),
            page_drawing: Arc::new(PageSide::new(&self.conversion)),
            evaluations: RunStore::new(Path::new(&config.store.data_folder).join(FOLDER)),
            missed_searches: MissedSearches::in_folder(
                Path::new(&config.store.data_folder),
                config.query_api.server.missed_searches,
            ),
            terms: TermReview::new(&Path::new(&config.store.data_folder).join(TERM_FOLDER)),
            blobs: self.stores.blobs.clone(),
            inline_limit_bytes: config.store.inline_limit_bytes,
            operations: self.operations_parts(config, services),
        })
    }

    /// What every process answers over HTTP.
    pub fn operations_parts(&self, config: &Config, services: &[Service]) -> OperationsParts {
        OperationsParts {
            readiness: Arc::new(Readiness::new(self, config, services)),
            registry: self.registry.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source_profiles: self.source_profiles.fingerprint(),
            services: services.iter().map(ToString::to_string).collect(),
            backup: Some(self.stores.backup.clone()),
            backup_token: self.backup_token.clone(),
            keys: Some(Arc::clone(&self.keys)),
            newest_rights: match config.query_api.server.network_access {
                NetworkAccess::Authenticated => self.documents.newest_rights(),
                // Nobody has rights of their own.
                _ => SharedNewestRights::default(),
            },
            work: self.work.clone(),
            audit: Some(AuditTopic::new(self.stores.topics.clone())),
        }
    }
}

/// What an event and the profile of its source say of who may see a document.
fn rights_of(profiles: &Arc<SourceProfiles>) -> RightsOf {
    let profiles = Arc::clone(profiles);
    Arc::new(move |event| {
        let path = event.source_path.as_deref().unwrap_or_default();
        let profile = profiles.profile(&event.source);
        profile.rights_before_reading(&event.attributes, path)
    })
}

/// Source profiles name prompts that there are. The error names the file.
pub fn check_profile_prompts(
    config: &Config,
    profiles: &SourceProfiles,
    prompts: &Prompts,
) -> tributary_schemas::Result<()> {
    let file = config.taxonomy.source_profiles_file.display();
    for profile in profiles.iter() {
        if let Some(variant) = &profile.prompts {
            let place = format!("{file}: source profile {}", profile.name);
            prompts.check_variant(&place, variant)?;
        }
    }
    Ok(())
}

/// A step for documents of a set that there is not sees none. Sets come and go while the server runs:
/// it is no error.
fn warn_of_unknown_sets(profiles: &SourceProfiles, sets: &KnowledgeSets) {
    for profile in profiles.iter() {
        for step in &profile.chunk_steps {
            let mut named = step.knowledge_sets.iter();
            if let Some(set) = named.find(|named| sets.iter().all(|set| set.id != **named)) {
                let (profile, step) = (&profile.name, &step.name);
                tracing::warn!(
                    profile,
                    step,
                    set,
                    "a step on chunks is for a knowledge set that there is not"
                );
            }
        }
    }
}

/// Where other processes share the index, they share the blobs: those that the serving generation was
/// made with.
fn expect_shared_blobs(config: &Config, pipelines: &Pipelines, blobs: &Blobs) -> Result<()> {
    if config.store.access() == Access::Shared
        && let Some(id) = pipelines.blob_store()?
    {
        blobs.expect(&id);
    }
    Ok(())
}

/// What a generation of the index is built with.
fn recipe_config(config: &Config) -> RecipeConfig {
    RecipeConfig {
        taxonomy: config.taxonomy.clone(),
        models: config.models.clone(),
        enrich: config.enrich.clone(),
    }
}

/// Names of the same things, of the lexicon as it is at the start: unlike its terms they belong to
/// no generation of the index.
fn synonyms(config: &Config) -> Result<Arc<Synonyms>> {
    let lexicon = Lexicon::from_files(&config.taxonomy.lexicon_files)?;
    Ok(Arc::new(lexicon.synonyms().clone()))
}

/// What writes summaries and descriptions, as far as models are configured for them.
fn writers(
    config: &Config,
    chat: &ChatModels,
    prompts: &Arc<Prompts>,
    registry: &MetricRegistry,
    blobs: &Blobs,
) -> Result<Writers> {
    let (summaries, descriptions) = (
        chat_metrics::summaries(registry)?,
        chat_metrics::descriptions(registry)?,
    );
    let summary_writer = |model| {
        let (prompts, settings) = (Arc::clone(prompts), config.enrich.summaries.clone());
        SummaryWriter::new(model, prompts, blobs.clone(), settings, summaries)
    };
    let description_writer = |model| {
        let (prompts, settings) = (Arc::clone(prompts), config.enrich.descriptions.clone());
        DescriptionWriter::new(model, prompts, blobs.clone(), settings, descriptions)
    };
    Ok(Writers {
        summaries: chat
            .role(WrittenKind::Summary.role())
            .map(summary_writer)
            .map(Arc::new),
        descriptions: chat
            .role(WrittenKind::Description.role())
            .map(description_writer)
            .map(Arc::new),
    })
}

/// Tier 3 by the language model of the role `judge`, where the configuration wants it.
fn chat_reranker(
    config: &Config,
    chat: &ChatModels,
    prompts: &Arc<Prompts>,
) -> Result<Option<ChatReranker>> {
    let is_wanted = config.models.reranker.kind == RerankerKind::Chat;
    let Some(model) = chat.role(Role::Judge).filter(|_| is_wanted) else {
        return Ok(None);
    };
    let patience = Duration::from_millis(config.query_api.retrieval.rerank.deadline_ms);
    let reranker = ChatReranker::new(model, Arc::clone(prompts), Handle::current(), patience);
    Ok(Some(reranker))
}

/// What questions are analysed and embedded with while this generation serves.
pub fn serving(pipeline: &Pipeline) -> Serving {
    Serving {
        generation: Some(pipeline.generation.clone()),
        analyzer: Arc::clone(&pipeline.analyzer),
        models: pipeline.models.as_ref().into(),
    }
}

/// The checkpoint of the document table, where the log goes with the data folder.
fn begin_reading_checkpoint(
    config: &Config,
    folder: &DataFolder,
) -> Result<Option<CheckpointReading>> {
    if config.store.event_log.kind == EventLogKind::Kafka {
        return Ok(None);
    }
    let file = CheckpointFile::in_folder(&folder.join("manifest"), folder.id())?;
    Ok(Some(CheckpointReading::begin(file)))
}

async fn open_table(
    checkpoint: Option<CheckpointReading>,
    stores: &Stores,
) -> Result<DocumentTable> {
    Ok(match checkpoint {
        Some(reading) => DocumentTable::open_from(&stores.topics, reading).await?,
        None => DocumentTable::open(&stores.topics).await?,
    })
}

/// What a stage has yet to read stays in the log, also while the stage has never run.
async fn hold_for_readers(stores: &Stores) -> Result<()> {
    for StageReader { topic, group, .. } in stage_readers(&stores.index.status().await?) {
        stores.topics.hold_for(topic, &group).await?;
    }
    Ok(())
}

/// An index that was lost and begins anew must know what was deleted, as one that is built anew
/// does, and show no version that it had replaced.
async fn remember_versions_in_an_empty_index(stores: &Stores, table: &DocumentTable) -> Result<()> {
    let generations = stores.index.status().await?;
    for generation in generations
        .iter()
        .filter(|generation| generation.documents == 0)
    {
        // One that is being built shows nothing yet, and may take what is older first.
        match generation.serving {
            true => remember_versions(table, &stores.index, &generation.name).await?,
            false => remember_removals(table, &stores.index, &generation.name).await?,
        }
    }
    Ok(())
}
