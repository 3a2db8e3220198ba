//! The route of one search: check, analyse, plan, three tiers, hits.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;
use tributary_models::{DualEmbedder, Reranker};
use tributary_schemas::facets::Facets;
use tributary_schemas::search::{
    QueryPlan, ScoredChunk, SearchRequest, SearchResponse, Strategy, TierSummary,
};
use tributary_schemas::set_contents::SetContents;
use tributary_schemas::unmet::{UnmetFilter, UnmetValue};
use tributary_schemas::{ChunkId, Error, ErrorKind, Filter, Result};
use tributary_store::search_index::SharedSearchIndex;
use tributary_taxonomy::{Analyzer, SharedKnowledgeSets, fold};

use crate::access::{self, Principal};
use crate::adapting::Adapting;
use crate::code::Glossary;
use crate::config::Config;
use crate::coverage::Word;
use crate::document::{self, DocumentParts, DocumentView};
use crate::elapsed::elapsed_ms;
use crate::embed::{QueryVectors, embed_query};
use crate::error::SearchError;
use crate::exact_name::Naming;
use crate::facets::{FacetReader, Reading};
use crate::fine::{Fine, FineChunk, Lists};
use crate::leaving;
use crate::made_of::MadeOf;
use crate::missing::MissingDocuments;
use crate::named::Names;
use crate::overtaken::Overtakable;
use crate::route::Route;
use crate::serving::{Serving, SharedServing};
use crate::{coarse, exact_name, fine, overtaken, plan, preferences, rerank, unmet};

type SearchResult<T> = std::result::Result<T, SearchError>;

/// The models that a search uses.
#[derive(Clone)]
pub struct Models {
    /// Embeds the question; the one that embedded the chunks.
    pub embedder: Arc<DualEmbedder>,
    /// Runs tier 3; without one the fused order of tier 2 is the answer.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// What stands in for a model that could not be loaded (`embedder`, `reranker`); every answer
    /// names it.
    pub degraded: Vec<String>,
}

impl From<&tributary_models::Models> for Models {
    fn from(loaded: &tributary_models::Models) -> Self {
        Self {
            embedder: Arc::clone(&loaded.embedder),
            reranker: loaded.reranker.clone(),
            degraded: loaded.degraded.clone(),
        }
    }
}

/// A search and what its tiers found, for those who measure it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer.
    pub response: SearchResponse,
    /// Candidates of tier 1, in the order of reciprocal rank fusion.
    pub coarse: Vec<ScoredChunk>,
    /// What tier 2 kept, best first.
    pub fine: Vec<ScoredChunk>,
    /// Whether what was found is gone by now: a document was replaced or deleted meanwhile, and what
    /// is there instead was not looked at.
    pub overtaken: bool,
}

impl Overtakable for Outcome {
    fn is_overtaken(&self) -> bool {
        self.overtaken
    }

    fn degraded(&mut self) -> &mut Vec<String> {
        &mut self.response.degraded
    }
}

/// What tier 2 made of the candidates.
pub(crate) struct Sifted {
    /// Best first.
    pub fine: Vec<FineChunk>,
    pub summary: TierSummary,
    /// Whether candidates are gone by now.
    pub overtaken: bool,
}

/// Searches one index in three tiers.
pub struct Retriever {
    pub(crate) index: SharedSearchIndex,
    pub(crate) serving: SharedServing,
    knowledge_sets: SharedKnowledgeSets,
    pub(crate) config: Config,
    embedding_permits: Arc<Semaphore>,
    rerank_permits: Arc<Semaphore>,
    facets: FacetReader,
    chat_reranker: Option<Arc<dyn Reranker>>,
    missing: MissingDocuments,
    pub(crate) glossary: Glossary,
}

/// What tier 3 left behind.
pub(crate) struct Ranking {
    /// None where it did not run.
    pub reranked: Option<Reranked>,
    /// How many, and how long it took.
    pub summary: TierSummary,
}

/// What a reranker made of tier 2.
pub(crate) struct Reranked {
    /// Best first.
    pub order: Vec<ScoredChunk>,
    /// Its own scores, 0 to 1, of what it read.
    pub scores: HashMap<ChunkId, f32>,
}

impl Retriever {
    /// Joins the index and what its serving generation was built with; filters may name the
    /// `knowledge_sets`. `Invalid` if the settings contradict each other or a file that they name
    /// cannot be read.
    pub fn new(
        index: SharedSearchIndex,
        serving: SharedServing,
        knowledge_sets: SharedKnowledgeSets,
        config: Config,
    ) -> Result<Self> {
        config.check()?;
        let glossary = Glossary::read(&config.code.glossary_files)?;
        let embedding_permits = Arc::new(Semaphore::new(config.embedding_concurrency));
        let rerank_permits = Arc::new(Semaphore::new(config.rerank.concurrency));
        let facets = FacetReader::new(config.facets);
        Ok(Self {
            index,
            serving,
            knowledge_sets,
            facets,
            config,
            embedding_permits,
            rerank_permits,
            chat_reranker: None,
            missing: MissingDocuments::default(),
            glossary,
        })
    }

    /// With a reranker that no generation brings along: one that asks a language model.
    #[must_use]
    pub fn with_reranker(mut self, reranker: Arc<dyn Reranker>) -> Self {
        self.chat_reranker = Some(reranker);
        self
    }

    /// With the count of what the index lacks while it is built again.
    #[must_use]
    pub fn with_missing(mut self, missing: MissingDocuments) -> Self {
        self.missing = missing;
        self
    }

    /// What every search goes without from its start.
    pub(crate) fn lacking(&self, serving: &Serving) -> Vec<String> {
        let mut degraded = serving.models.degraded.clone();
        if self.missing.count() > 0 {
            degrade(&mut degraded, "documents");
        }
        degraded
    }

    fn reranker_of<'a>(&'a self, serving: &'a Serving) -> Option<&'a Arc<dyn Reranker>> {
        self.chat_reranker
            .as_ref()
            .or(serving.models.reranker.as_ref())
    }

    /// Whether the index has this document, whoever may see it.
    pub async fn holds(&self, document_id: &str) -> Result<bool> {
        Ok(document::stored(self.index.as_ref(), document_id)
            .await?
            .is_some())
    }

    /// What the index has of a document, with as much of it as is wanted, as far as the
    /// principal may see it; `None` where it has nothing that they may see. `Corrupt` if texts
    /// are damaged.
    pub async fn document(
        &self,
        document_id: &str,
        wanted: DocumentParts,
        principal: &Principal,
    ) -> SearchResult<Option<DocumentView>> {
        let filter = self.filter(&Filter::default(), principal)?;
        let limits = self.config.near_duplicates.families();
        Ok(document::view(self.index.as_ref(), document_id, wanted, limits, &filter).await?)
    }

    /// The id of a document that the principal may see and that shows this picture, named as chunks
    /// name it.
    pub async fn document_showing(
        &self,
        image: &str,
        principal: &Principal,
    ) -> SearchResult<Option<String>> {
        let wanted = Filter {
            images: Some(vec![image.to_owned()]),
            ..Filter::default()
        };
        let filter = self.filter(&wanted, principal)?;
        let serving = self.serving.current();
        Ok(leaving::showing(self.index.as_ref(), &serving, image, &filter).await?)
    }

    /// Whether all that a text of before was made of is there and can be seen under the wishes.
    pub async fn may_still_leave(
        &self,
        made_of: &MadeOf,
        wishes: &Filter,
        principal: &Principal,
    ) -> SearchResult<bool> {
        let filter = self.filter(wishes, principal)?;
        Ok(made_of.may_leave(self.index.as_ref(), &filter).await?)
    }

    /// What a principal can narrow a search by, with counts over what they may see; some seconds
    /// old where the configuration allows it.
    pub async fn facets(&self, principal: &Principal) -> SearchResult<Facets> {
        Ok(self.reading(principal).await?.facets.clone())
    }

    /// What a knowledge set holds, as far as the principal may see it; some seconds old where the
    /// configuration allows it. `UnknownKnowledgeSet` where there is none of that id.
    pub async fn set_contents(&self, id: &str, principal: &Principal) -> SearchResult<SetContents> {
        let known = self.knowledge_sets.current();
        known
            .check(&[id.to_owned()])
            .map_err(SearchError::UnknownKnowledgeSet)?;
        let reading = self.reading(principal).await?;
        Ok(reading.sets.get(id).cloned().unwrap_or_default())
    }

    /// `NotFound` for the first of these knowledge sets that does not exist; the error names the
    /// nearest known one.
    pub fn check_sets(&self, sets: &[String]) -> Result<()> {
        self.knowledge_sets.current().check(sets)
    }

    /// What is wrong with the preferences of a request.
    pub(crate) fn check_preferences(&self, request: &SearchRequest) -> SearchResult<()> {
        preferences::check(request, &self.knowledge_sets.current())
    }

    /// What the caller wants to see, as far as they may: the filter of every query.
    pub(crate) fn filter(&self, wishes: &Filter, principal: &Principal) -> SearchResult<Filter> {
        access::filter(wishes, principal, &self.knowledge_sets.current())
    }

    pub(crate) async fn reading(&self, principal: &Principal) -> SearchResult<Arc<Reading>> {
        let filter = self.filter(&Filter::default(), principal)?;
        let serving = self.serving.current();
        let generation = serving.generation.as_deref();
        let reading = self.facets.read(self.index.as_ref(), generation, filter);
        Ok(reading.await?)
    }

    /// A value of a condition that nothing has, with the most similar one that something has.
    pub async fn unmet_value(
        &self,
        condition: &str,
        value: &str,
        principal: &Principal,
    ) -> SearchResult<UnmetValue> {
        let reading = self.reading(principal).await?;
        Ok(unmet::named(condition, value, &reading.values))
    }

    /// Why nothing was found, if that is due to the filter. Vectors find a chunk for any question,
    /// so where they found none no chunk meets the filter.
    pub(crate) async fn unmet_filter(
        &self,
        wishes: &Filter,
        principal: &Principal,
        (plan, candidates, coarse): (&QueryPlan, &[ScoredChunk], &coarse::Coarse),
    ) -> SearchResult<Option<UnmetFilter>> {
        let says_something = !plan.tokens.is_empty();
        if wishes.is_unrestricted() || !candidates.is_empty() || !says_something {
            return Ok(None);
        }
        let reading = self.reading(principal).await?;
        let is_certain = coarse.vectors.is_some() && !plan.filter.may_be_withheld();
        self.unmet_with_documents(wishes, principal, &reading, is_certain)
            .await
    }

    /// What of a filter no document meets, with the named documents that are not there. Where none
    /// of them is, that alone says why nothing was found.
    pub(crate) async fn unmet_with_documents(
        &self,
        wishes: &Filter,
        principal: &Principal,
        reading: &Reading,
        is_certain: bool,
    ) -> SearchResult<Option<UnmetFilter>> {
        let absent = match &wishes.document_ids {
            Some(ids) => {
                let allowed = self.filter(&Filter::default(), principal)?;
                document::absent(self.index.as_ref(), ids, &allowed).await?
            }
            None => Vec::new(),
        };
        let is_none_there = wishes
            .document_ids
            .as_ref()
            .is_some_and(|ids| ids.len() == absent.len());
        let mut unmet = unmet::unmet(wishes, &reading.values, is_certain || is_none_there);
        if let Some(unmet) = &mut unmet {
            unmet.add_documents(absent);
        }
        Ok(unmet)
    }

    /// A condition of a filter none of whose values any document has.
    pub(crate) async fn unmet_condition(
        &self,
        wishes: &Filter,
        principal: &Principal,
    ) -> SearchResult<Option<UnmetFilter>> {
        if wishes.is_unrestricted() {
            return Ok(None);
        }
        let reading = self.reading(principal).await?;
        Ok(unmet::unmet(wishes, &reading.values, false))
    }

    /// The analyzer of the serving generation: what cut the texts that are found now.
    pub fn analyzer(&self) -> Arc<Analyzer> {
        Arc::clone(&self.serving.current().analyzer)
    }

    /// How well each text goes with a query, by the reranker; `None` where none is configured.
    pub(crate) async fn score_texts(
        &self,
        query: &str,
        texts: Vec<String>,
    ) -> Option<Result<Vec<f32>>> {
        let serving = self.serving.current();
        let reranker = self.reranker_of(&serving)?;
        let (permits, config) = (&self.rerank_permits, self.config.rerank);
        Some(rerank::score_texts(reranker, permits, query, texts, config).await)
    }

    /// The name of the model that embeds questions.
    pub fn embedding_model(&self) -> String {
        let serving = self.serving.current();
        serving.models.embedder.fine_name().to_owned()
    }

    /// The name of the reranker that searches use; `None` where none is configured.
    pub fn reranker(&self) -> Option<String> {
        let serving = self.serving.current();
        let reranker = self.reranker_of(&serving);
        reranker.map(|reranker| reranker.name().to_owned())
    }

    /// What bounds a search.
    pub fn limits(&self) -> &Config {
        &self.config
    }

    /// What is wrong with a request before it is worked on.
    pub fn check(&self, request: &SearchRequest, principal: &Principal) -> SearchResult<()> {
        plan::check(request, &self.config)?;
        self.check_preferences(request)?;
        self.filter(&request.filter, principal).map(drop)
    }

    /// Answers one request of a principal, who sees no more than they may.
    ///
    /// Stop words alone are searched by vectors, punctuation alone finds nothing; neither is an
    /// error. `top_k` cuts the order and never changes it. `minimum_score` is compared with the
    /// final score: the reranker's where tier 3 ran, else the fused one.
    pub async fn search(
        &self,
        request: &SearchRequest,
        principal: &Principal,
    ) -> SearchResult<Outcome> {
        self.until_current(|| self.search_once(request, principal))
            .await
    }

    async fn search_once(
        &self,
        request: &SearchRequest,
        principal: &Principal,
    ) -> SearchResult<Outcome> {
        let route = Route::begin(self, request, principal)?;
        let found = self.find(&route, &request.query, request.strategy).await?;
        self.answer(&route, found, None).await
    }

    /// Analyses the question (CPU-bound: a long one takes milliseconds) and plans the search.
    pub(crate) async fn plan(
        &self,
        request: &SearchRequest,
        serving: &Serving,
    ) -> Result<(QueryPlan, Vec<Word>)> {
        let (analyzer, text, fold_traditional) = (
            Arc::clone(&serving.analyzer),
            request.query.trim().to_owned(),
            self.config.fold_traditional,
        );
        let analyse = move || {
            let tokens = analyzer.analyze(&text);
            let words = words(&text, &tokens, &analyzer);
            let query = if fold_traditional {
                fold::simplify(&text).into_owned()
            } else {
                text
            };
            (query, tokens, words)
        };
        let stopped = |error| Error::new(ErrorKind::Internal, format!("analyzer stopped: {error}"));
        let (query, tokens, words) = tokio::task::spawn_blocking(analyse)
            .await
            .map_err(stopped)?;
        let reranker = self.reranker_of(serving);
        let reranker = reranker.map(|reranker| reranker.name());
        let plan = plan::plan(request, query, tokens, reranker, &self.config);
        let plan = QueryPlan {
            generation: serving.generation.clone(),
            preferences: preferences::of(
                request,
                &self.knowledge_sets.current(),
                &self.config.user_profile,
            ),
            ..plan
        };
        tracing::debug!(
            query_tokens = plan.query_tokens,
            vector_weight = plan.vector_weight,
            strategy = ?plan.strategy,
            filter = ?plan.filter,
            reranker = plan.reranker.as_deref(),
            top_k = plan.top_k,
            "query planned"
        );
        tracing::trace!(plan = ?plan, "query plan");
        Ok((plan, words))
    }

    /// Tier 1, for a question as it was written. When the embedder fails the keyword side answers
    /// alone, and `degraded` says so. A search by meaning alone then becomes one by keywords: a
    /// lesser answer, named, is better than none.
    pub(crate) async fn coarse(
        &self,
        plan: &mut QueryPlan,
        question: &str,
        serving: &Serving,
        degraded: &mut Vec<String>,
    ) -> Result<(coarse::Coarse, TierSummary)> {
        let started = Instant::now();
        let mut coarse = self
            .coarse_with(plan, question, serving, self.embed(plan, serving))
            .await?;
        if plan::uses_vectors(plan) && coarse.vectors.is_none() {
            degrade(degraded, "embedder");
            if plan.strategy == Strategy::Semantic {
                (plan.strategy, plan.vector_weight) = (Strategy::FullText, 0.0);
                let unembedded = ready(None);
                coarse = self
                    .coarse_with(plan, question, serving, unembedded)
                    .await?;
            }
        }
        let summary = TierSummary {
            candidates: coarse.candidates.len(),
            ms: elapsed_ms(started),
        };
        Ok((coarse, summary))
    }

    async fn coarse_with(
        &self,
        plan: &QueryPlan,
        question: &str,
        serving: &Serving,
        embedding: impl Future<Output = Option<QueryVectors>>,
    ) -> Result<coarse::Coarse> {
        let asked = coarse::Asked {
            names: Names::new(plan, question),
            naming: Naming::new(plan, &self.config.exact_name),
            serving,
            reciprocal_rank_constant: self.config.reciprocal_rank_constant,
        };
        coarse::search(self.index.as_ref(), plan, asked, embedding).await
    }

    /// The question's vectors; `None` when the plan needs none or the embedder failed.
    pub(crate) async fn embed(&self, plan: &QueryPlan, serving: &Serving) -> Option<QueryVectors> {
        if !plan::uses_vectors(plan) {
            return None;
        }
        let embedding = embed_query(
            &serving.models.embedder,
            &self.embedding_permits,
            &plan.query,
        )
        .await;
        embedding
            .inspect_err(|error| tracing::warn!(kind = %error.kind(), error = %error, "query was not embedded, keywords answer alone"))
            .ok()
    }

    /// Tier 2. The weight of the vector side adapts to what both signals find if it is to, and the
    /// plan says so.
    pub(crate) async fn fine(
        &self,
        plan: &mut QueryPlan,
        coarse: &coarse::Coarse,
        adapting: Option<Adapting<'_>>,
    ) -> Result<Sifted> {
        let started = Instant::now();
        let lists = self.lists(plan, coarse).await?;
        let overtaken = overtaken::is_any_gone(self.index.as_ref(), plan, coarse, &lists).await?;
        if let Some(adapting) = adapting {
            adapting.adapt(plan, &lists);
        }
        let fine = fine::rank(self.of_fine(plan), &lists).await?;
        let summary = TierSummary {
            candidates: fine.len(),
            ms: elapsed_ms(started),
        };
        Ok(Sifted {
            fine,
            summary,
            overtaken,
        })
    }

    /// What both signals find for tier 2.
    pub(crate) async fn lists(&self, plan: &QueryPlan, coarse: &coarse::Coarse) -> Result<Lists> {
        fine::lists(self.index.as_ref(), plan, coarse).await
    }

    /// What tier 2 works with for a plan.
    pub(crate) fn of_fine<'a>(&'a self, plan: &'a QueryPlan) -> Fine<'a> {
        Fine {
            index: self.index.as_ref(),
            plan,
            naming: Naming::new(plan, &self.config.exact_name),
        }
    }

    /// Tier 3.
    pub(crate) async fn rerank(
        &self,
        plan: &QueryPlan,
        serving: &Serving,
        fine: &[FineChunk],
        degraded: &mut Vec<String>,
    ) -> Ranking {
        let started = Instant::now();
        let reranker = self
            .reranker_of(serving)
            .filter(|_| plan.reranker.is_some() && !fine.is_empty());
        let Some(reranker) = reranker else {
            return Ranking {
                reranked: None,
                summary: TierSummary {
                    candidates: fine.len(),
                    ms: 0.0,
                },
            };
        };
        let read = fine.iter().take(self.config.rerank.candidates);
        let chunks: Vec<ChunkId> = read.map(|chunk| chunk.chunk_id).collect();
        let reranking = rerank::rerank(
            self.index.as_ref(),
            reranker,
            &self.rerank_permits,
            plan,
            &chunks,
            self.config.rerank,
        )
        .await;
        let reranked = match reranking {
            Ok(scores) => Some(Reranked {
                order: rerank::order(&scores, fine, self.config.rerank),
                scores,
            }),
            Err(error) => {
                tracing::warn!(kind = %error.kind(), error = %error, "reranker gave no answer, the fused order stands");
                degrade(degraded, "reranker");
                None
            }
        };
        let candidates = reranked
            .as_ref()
            .map_or(fine.len(), |reranked| reranked.order.len());
        Ranking {
            reranked,
            summary: TierSummary {
                candidates,
                ms: elapsed_ms(started),
            },
        }
    }
}

/// Words and identifiers as written, and words of scripts without spaces as they were cut.
fn words(text: &str, tokens: &[String], analyzer: &Analyzer) -> Vec<Word> {
    // The parts before the last of `package.module.name` are everywhere.
    let last_part = |word: &str| {
        let part = word.rsplit(['.', ':', '/']).next();
        analyzer.analyze(part.unwrap_or(word))
    };
    let written = exact_name::words(text).map(|word| Word {
        text: word.to_owned(),
        tokens: last_part(word),
        is_name: exact_name::is_name(word, text),
    });
    let is_cut = |token: &&String| !token.is_ascii() && token.chars().count() > 1;
    let cut = tokens.iter().filter(is_cut).map(|token| Word {
        text: token.clone(),
        tokens: vec![token.clone()],
        is_name: false,
    });
    written.chain(cut).collect()
}

pub(crate) fn degrade(degraded: &mut Vec<String>, what: &str) {
    if !degraded.iter().any(|named| named == what) {
        degraded.push(what.to_owned());
    }
}
