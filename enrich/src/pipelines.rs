//! The pipelines of this process: for each generation of the index its analyzer and models, loaded
//! when first needed and shared where they are the same.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tributary_models::Models;
use tributary_schemas::reindex::ReindexRequest;
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::blobs::Blobs;
use tributary_store::generations::{GenerationBuilder, Generations, Origin};
use tributary_store::search_index::{GenerationStatus, IndexSettings, SharedSearchIndex};
use tributary_taxonomy::{Analyzer, SharedKnowledgeSets};

use crate::embed_stage::{EmbedGeneration, EmbedGenerations};
use crate::recipe::{Recipe, RecipeConfig};

/// Name of the first generation.
const FIRST: &str = "g1";

/// What one generation is made with, ready for work.
pub struct Pipeline {
    /// The generation.
    pub generation: String,
    /// Its settings.
    pub recipe: Recipe,
    /// Hash of its settings.
    pub fingerprint: String,
    /// Cuts text.
    pub analyzer: Arc<Analyzer>,
    /// Make vectors; the reranker is the same for all generations.
    pub models: Arc<Models>,
}

/// The configuration as its files say now; `Invalid` if they cannot be read.
pub type Reload = Arc<dyn Fn() -> Result<RecipeConfig> + Send + Sync>;

/// All of them.
pub struct Pipelines {
    config: RecipeConfig,
    reload: Reload,
    models_folder: PathBuf,
    blobs: Blobs,
    knowledge_sets: SharedKnowledgeSets,
    generations: Arc<Generations>,
    loaded: Mutex<HashMap<String, Arc<Pipeline>>>,
    serving: RwLock<Arc<Pipeline>>,
}

impl Pipelines {
    /// Opens the serving generation's pipeline; makes the first generation, with today's settings,
    /// if there is none.
    pub async fn open(
        config: RecipeConfig,
        reload: Reload,
        models_folder: PathBuf,
        index: SharedSearchIndex,
        blobs: Blobs,
        knowledge_sets: SharedKnowledgeSets,
    ) -> Result<Arc<Self>> {
        let generations = Arc::new(Generations::open(Arc::clone(&index)).await?);
        let opening = Opening {
            config: &config,
            models_folder: &models_folder,
            blobs: &blobs,
            knowledge_sets: &knowledge_sets,
        };
        let first = match generations
            .current()
            .iter()
            .find(|generation| generation.serving)
        {
            Some(serving) => opening.existing(serving, &HashMap::new()).await?,
            None => {
                let (pipeline, settings) = opening.of_today(FIRST, "", &HashMap::new()).await?;
                index.create(FIRST, &settings).await?;
                index.promote(FIRST).await?;
                generations.refresh().await?;
                pipeline
            }
        };
        let first = Arc::new(first);
        let loaded = Mutex::new(HashMap::from([(
            first.generation.clone(),
            Arc::clone(&first),
        )]));
        Ok(Arc::new(Self {
            config,
            reload,
            models_folder,
            blobs,
            knowledge_sets,
            generations,
            loaded,
            serving: RwLock::new(first),
        }))
    }

    /// The generations of the index.
    pub fn generations(&self) -> &Arc<Generations> {
        &self.generations
    }

    /// Id of the blob store that the serving generation was made with, where it says so.
    pub fn blob_store(&self) -> Result<Option<String>> {
        let known = self.generations.current();
        let Some(serving) = known.iter().find(|generation| generation.serving) else {
            return Ok(None);
        };
        let origin = Origin::decode(&serving.settings.origin)?;
        Ok(origin.and_then(|origin| origin.blob_store))
    }

    /// The pipeline of the serving generation, as last seen.
    pub fn serving(&self) -> Arc<Pipeline> {
        Arc::clone(&self.serving.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The pipeline of a generation; `None` when it is gone.
    pub async fn get(&self, name: &str) -> Result<Option<Arc<Pipeline>>> {
        let mut loaded = self.loaded.lock().await;
        let Some(status) = self.generations.find(name).await? else {
            loaded.remove(name);
            return Ok(None);
        };
        if let Some(pipeline) = loaded.get(name) {
            return Ok(Some(Arc::clone(pipeline)));
        }
        let pipeline = Arc::new(self.opening().existing(&status, &loaded).await?);
        loaded.insert(name.to_owned(), Arc::clone(&pipeline));
        Ok(Some(pipeline))
    }

    /// Follows promotions until `shutdown`: `promoted` is called with the pipeline of each
    /// generation that serves from then on.
    pub async fn follow(
        self: Arc<Self>,
        promoted: impl Fn(&Pipeline) + Send + Sync,
        shutdown: CancellationToken,
    ) {
        let mut changes = self.generations.watch();
        loop {
            if let Err(error) = self.follow_one(&promoted).await {
                tracing::error!(error = %error.full_message(), "the serving generation's pipeline cannot be opened; queries stay where they are");
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                changed = changes.changed() => if changed.is_err() { return },
                // After a failure it is tried again.
                () = tokio::time::sleep(std::time::Duration::from_secs(5)) => {}
            }
        }
    }

    async fn follow_one(&self, promoted: &(impl Fn(&Pipeline) + Sync)) -> Result<()> {
        let Some(name) = self.generations.serving() else {
            return Ok(());
        };
        if self.serving().generation != name
            && let Some(pipeline) = self.get(&name).await?
        {
            promoted(&pipeline);
            *self.serving.write().unwrap_or_else(PoisonError::into_inner) = pipeline;
            tracing::info!(generation = %name, "queries go to this generation of the index");
        }
        let known = self.generations.current();
        self.loaded
            .lock()
            .await
            .retain(|name, _| known.iter().any(|generation| generation.name == *name));
        Ok(())
    }

    /// Settings of today that the serving generation, as last seen, was not built with.
    pub fn outdated(&self) -> Result<Vec<String>> {
        self.outdated_in(&self.serving().recipe)
    }

    /// The same of the generation that serves at this moment: a promotion is followed a little later.
    pub async fn outdated_now(self: &Arc<Self>) -> Result<Vec<String>> {
        let known = self.generations.refresh().await?;
        let seen = self.serving();
        let promoted = known.iter().find(|one| one.serving);
        let built = match promoted.filter(|one| one.name != seen.generation) {
            Some(promoted) => self.opening().recipe(promoted).await?,
            None => seen.recipe.clone(),
        };
        let pipelines = Arc::clone(self);
        // Reads files of the configuration.
        let compared = tokio::task::spawn_blocking(move || pipelines.outdated_in(&built)).await;
        compared.unwrap_or_else(|_| Ok(Vec::new()))
    }

    fn outdated_in(&self, built: &Recipe) -> Result<Vec<String>> {
        let today = Recipe::of_today(&(self.reload)()?, &self.knowledge_sets.current())?;
        Ok(today.differences(built))
    }

    fn opening(&self) -> Opening<'_> {
        Opening {
            config: &self.config,
            models_folder: &self.models_folder,
            blobs: &self.blobs,
            knowledge_sets: &self.knowledge_sets,
        }
    }
}

/// What opening a pipeline needs.
struct Opening<'a> {
    config: &'a RecipeConfig,
    models_folder: &'a PathBuf,
    blobs: &'a Blobs,
    knowledge_sets: &'a SharedKnowledgeSets,
}

impl Opening<'_> {
    /// The pipeline of a generation that is there. `Conflict` if its models are not what they were.
    async fn existing(
        &self,
        status: &GenerationStatus,
        loaded: &HashMap<String, Arc<Pipeline>>,
    ) -> Result<Pipeline> {
        let recipe = self.recipe(status).await?;
        let pipeline = self.load(&status.name, recipe, loaded).await?;
        check(status, &pipeline)?;
        Ok(pipeline)
    }

    async fn recipe(&self, status: &GenerationStatus) -> Result<Recipe> {
        match Origin::decode(&status.settings.origin)? {
            Some(origin) => self.recipe_of(&origin, &status.name).await,
            None => Recipe::of_today(self.config, &self.knowledge_sets.current()),
        }
    }

    /// What a generation was built with. Where that is damaged or gone, today's settings are kept
    /// once more: if they are the same, they take its place.
    async fn recipe_of(&self, origin: &Origin, generation: &str) -> Result<Recipe> {
        let read = Recipe::of_origin(origin, generation, self.blobs).await;
        let Err(error) = &read else { return read };
        if !matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) {
            return read;
        }
        let today = Recipe::of_today(self.config, &self.knowledge_sets.current())?;
        if today.keep(self.blobs).await? == origin.recipe {
            Ok(today)
        } else {
            read
        }
    }

    /// A pipeline with today's settings and the settings of its generation.
    async fn of_today(
        &self,
        name: &str,
        request_id: &str,
        loaded: &HashMap<String, Arc<Pipeline>>,
    ) -> Result<(Pipeline, IndexSettings)> {
        let recipe = Recipe::of_today(self.config, &self.knowledge_sets.current())?;
        let origin = recipe.origin(request_id, self.blobs).await?;
        let pipeline = self.load(name, recipe, loaded).await?;
        let settings = index_settings(&pipeline, origin.encode()?);
        Ok((pipeline, settings))
    }

    /// Dictionaries and models take a moment of CPU each: side by side, and not on an async thread.
    async fn load(
        &self,
        name: &str,
        recipe: Recipe,
        loaded: &HashMap<String, Arc<Pipeline>>,
    ) -> Result<Pipeline> {
        let known_analyzer = loaded
            .values()
            .find(|other| other.recipe.has_analyzer_of(&recipe))
            .map(|other| Arc::clone(&other.analyzer));
        let known_models = loaded
            .values()
            .find(|other| other.recipe.models == recipe.models)
            .map(|other| Arc::clone(&other.models));
        let (for_analyzer, for_models) = (recipe.clone(), recipe.clone());
        let (config, folder) = (self.config.models.clone(), self.models_folder.clone());
        let models = tokio::task::spawn_blocking(move || match known_models {
            Some(models) => Ok(models),
            None => for_models.load_models(&config, &folder).map(Arc::new),
        });
        let analyzer = tokio::task::spawn_blocking(move || match known_analyzer {
            Some(analyzer) => Ok(analyzer),
            None => for_analyzer.open_analyzer().map(Arc::new),
        });
        let panicked = |error| {
            Error::new(
                ErrorKind::Internal,
                format!("loading models or dictionaries panicked: {error}"),
            )
        };
        let (models, analyzer) = (
            models.await.map_err(panicked)??,
            analyzer.await.map_err(panicked)??,
        );
        Ok(Pipeline {
            generation: name.to_owned(),
            fingerprint: recipe.fingerprint()?,
            recipe,
            analyzer,
            models,
        })
    }
}

fn index_settings(pipeline: &Pipeline, origin: String) -> IndexSettings {
    let embedder = &pipeline.models.embedder;
    IndexSettings {
        coarse_dimensions: embedder.coarse_dimensions(),
        fine_dimensions: embedder.fine_dimensions(),
        shared_vectors: embedder.is_shared(),
        windows: pipeline.recipe.keeps_windows(),
        coarse_model: embedder.coarse_name().to_owned(),
        fine_model: embedder.fine_name().to_owned(),
        analyzer: pipeline.analyzer.fingerprint(),
        bm25: pipeline.recipe.bm25,
        origin,
    }
}

/// Vectors of two models, or tokens of two analyzers, never meet in one generation.
fn check(status: &GenerationStatus, pipeline: &Pipeline) -> Result<()> {
    let now = index_settings(pipeline, String::new());
    let differences = differences(&status.settings, &now);
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!(
        "generation `{}` of the index cannot be continued here: it was built with {}",
        status.name,
        differences.join(", ")
    );
    Err(Error::new(ErrorKind::Conflict, message).with_hint(
        "put the model back where it was, or start the version of tributary that built it; else keep the log, set aside the index (the folder \
         index, or another store.search_index.elasticsearch.index_prefix) and run `tributary knowledge-sets reindex --all`",
    ))
}

/// What two generations must share and do not.
fn differences(built: &IndexSettings, now: &IndexSettings) -> Vec<String> {
    let rows = [
        ("coarse model", &built.coarse_model, &now.coarse_model),
        ("fine model", &built.fine_model, &now.fine_model),
        (
            "coarse dimensions",
            &built.coarse_dimensions.to_string(),
            &now.coarse_dimensions.to_string(),
        ),
        (
            "fine dimensions",
            &built.fine_dimensions.to_string(),
            &now.fine_dimensions.to_string(),
        ),
        ("analyzer", &built.analyzer, &now.analyzer),
    ];
    rows.into_iter()
        .filter(|(_, built, now)| built != now)
        .map(|(name, built, now)| format!("{name} `{built}`, here `{now}`"))
        .collect()
}

#[async_trait]
impl EmbedGenerations for Pipelines {
    async fn find(&self, name: Option<&str>) -> Result<Option<EmbedGeneration>> {
        let name = name.map_or_else(|| self.serving().generation.clone(), str::to_owned);
        let Some(pipeline) = self.get(&name).await? else {
            return Ok(None);
        };
        Ok(Some(EmbedGeneration {
            is_serving: self.generations.is_serving(&name),
            embedder: Arc::clone(&pipeline.models.embedder),
            tokens: Arc::clone(&pipeline.models.tokens),
            config: pipeline.recipe.embed_config(&self.config.enrich.embed),
            name,
        }))
    }

    fn names(&self) -> Vec<String> {
        let mut known: Vec<_> = self
            .generations
            .current()
            .iter()
            .map(|one| (!one.serving, one.name.clone()))
            .collect();
        known.sort();
        known.into_iter().map(|(_, name)| name).collect()
    }
}

#[async_trait]
impl GenerationBuilder for Pipelines {
    async fn settings(
        &self,
        request: &ReindexRequest,
        serving: Option<&GenerationStatus>,
    ) -> Result<IndexSettings> {
        let config = (self.reload)()?;
        let before = match serving {
            Some(serving) => self.get(&serving.name).await?,
            None => None,
        };
        let today = Recipe::of_today(&config, &self.knowledge_sets.current())?;
        let recipe = match &before {
            Some(before) => today.for_sets(&request.knowledge_sets, &before.recipe),
            None => today,
        };
        let origin = recipe.origin(&request.request_id, &self.blobs).await?;
        let loaded = self.loaded.lock().await;
        let pipeline = Opening {
            config: &config,
            ..self.opening()
        }
        .load("new", recipe, &loaded)
        .await?;
        Ok(index_settings(&pipeline, origin.encode()?))
    }
}
