//! Search over source code in two stages made of the three tiers. Stage 1 ranks files, by their
//! summaries and by the best of their definitions (a summary may be silent about what one function
//! of many does), and takes the best of each part of the code base, then the best over all. Stage 2
//! ranks the definitions of those files.
//!
//! A question in another language than that of the code is searched for with the names that a
//! glossary has for its terms, and the words of one in the same language count by their other names,
//! too, see [`glossary`].
//!
//! A file's score is the sum of w / (k + rank) over both rankings, divided by the highest possible;
//! the file of what the question names exactly then comes first.
//! A definition's score is (1 − f) · its own + f · that of its file; what the question names exactly
//! then comes first, see [`crate::exact_name`].

mod concepts;
mod definitions;
mod files;
mod glossary;
mod other_names;

use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;
use std::time::Instant;

use tributary_schemas::code_entry::CodeEntry;
use tributary_schemas::code_search::{
    CodeHit, CodeSearchRequest, CodeSearchResponse, GlossaryTerm,
};
use tributary_schemas::search::{QueryPlan, SearchRequest, TierSummary};
use tributary_schemas::unmet::UnmetFilter;
use tributary_schemas::{ChunkId, ChunkKind, DocumentHeader, Filter, Result};
use tributary_store::search_index::StoredChunk;
use tributary_taxonomy::fold;

use crate::access::Principal;
use crate::coarse::{self, Coarse};
use crate::config::CodeConfig;
use crate::coverage;
use crate::elapsed::elapsed_ms;
use crate::embed::QueryVectors;
use crate::error::SearchError;
use crate::exact_name::Naming;
use crate::fine::{self, FineChunk};
use crate::named::Names;
use crate::overtaken::Overtakable;
use crate::relevance::Estimates;
use crate::retriever::{Retriever, degrade};
use crate::serving::Serving;
use crate::{exact_name, leaving, plan};

use concepts::{ByConcept, Concepts};
use definitions::{Scoring, code_hit};
use files::{File, best_of_parts, code_file, fuse};
pub(crate) use glossary::Glossary;

/// Names in [`CodeSearchResponse::stages`].
const STAGE_FILES: &str = "files";
/// See [`STAGE_FILES`].
const STAGE_DEFINITIONS: &str = "definitions";

/// One question as its stages run it.
struct Search<'a> {
    retriever: &'a Retriever,
    serving: &'a Serving,
    plan: QueryPlan,
    vectors: Option<QueryVectors>,
    /// Terms or words of the question with their names in the code.
    glossary: Vec<GlossaryTerm>,
    /// Whether these are words of the code's language, which count by themselves too.
    is_renamed: bool,
    /// What the question asks for, where it has such terms or words.
    concepts: Concepts,
    /// The vectors of the question as it was asked, where it is searched for by names.
    asked_vectors: Option<QueryVectors>,
    /// Tokens of the question that are more than function words.
    content: Vec<String>,
    /// Chunks that were ranked and then not there: deleted or damaged.
    absent: Vec<ChunkId>,
    /// Whether a change came between its tiers.
    overtaken: bool,
    degraded: Vec<String>,
}

/// What one time gave.
struct Searched {
    response: CodeSearchResponse,
    overtaken: bool,
}

impl Overtakable for Searched {
    fn is_overtaken(&self) -> bool {
        self.overtaken
    }

    fn degraded(&mut self) -> &mut Vec<String> {
        &mut self.response.degraded
    }
}

/// A described chunk of source code with its scores.
struct Found {
    fine: FineChunk,
    stored: StoredChunk,
    code: Box<CodeEntry>,
    /// The document as the caller sees it.
    document: Arc<DocumentHeader>,
}

impl Retriever {
    /// Finds definitions in source code, and the files that they are in, for a principal, who sees
    /// no more than they may. `top_k` cuts the order and never changes it.
    pub async fn search_code(
        &self,
        request: &CodeSearchRequest,
        principal: &Principal,
    ) -> std::result::Result<CodeSearchResponse, SearchError> {
        let searched = self.until_current(|| self.search_code_once(request, principal));
        Ok(searched.await?.response)
    }

    async fn search_code_once(
        &self,
        request: &CodeSearchRequest,
        principal: &Principal,
    ) -> std::result::Result<Searched, SearchError> {
        let started = Instant::now();
        let wanted_files = wanted_files(request, &self.config.code)?;
        let asked = as_search(request, request.filter.clone());
        plan::check(&asked, &self.config)?;
        let filter = self.filter(&request.filter, principal)?;
        let serving = self.serving.current();
        let may_be_withheld = filter.may_be_withheld();
        let mut search = Search::start(self, &serving, &as_search(request, filter)).await?;
        let files = search.files(wanted_files).await?;
        let files_ms = elapsed_ms(started);
        let (found, considered) = search.definitions(&files).await?;
        search.look_for_absent().await?;
        let is_empty = files.is_empty() && found.is_empty();
        let unmet_filter = match is_empty {
            true => {
                let is_certain = search.vectors.is_some() && !may_be_withheld;
                self.unmet_code_filter(&request.filter, principal, is_certain)
                    .await?
            }
            false => None,
        };
        let took_ms = elapsed_ms(started);
        let stage = |candidates, ms| TierSummary { candidates, ms };
        let stages = [
            (STAGE_FILES, stage(files.len(), files_ms)),
            (STAGE_DEFINITIONS, stage(considered, took_ms - files_ms)),
        ];
        let part_attribute = &self.config.code.part_attribute;
        let files = files.iter().enumerate();
        let response = CodeSearchResponse {
            query: request.query.clone(),
            took_ms,
            degraded: search.degraded,
            glossary: search.glossary,
            unmet_filter,
            stages: stages.map(|(name, stage)| (name.to_owned(), stage)).into(),
            files: files
                .map(|(at, file)| code_file(at + 1, file, part_attribute))
                .collect(),
            hits: found,
        };
        Ok(Searched {
            response,
            overtaken: search.overtaken,
        })
    }

    /// The vectors of the question as it was asked, for a plan of its names.
    async fn embed_as_asked(
        &self,
        question: &str,
        plan: &QueryPlan,
        serving: &Serving,
    ) -> Option<QueryVectors> {
        let query = match self.config.fold_traditional {
            true => fold::simplify(question).into_owned(),
            false => question.to_owned(),
        };
        let plan = QueryPlan {
            query,
            ..plan.clone()
        };
        self.embed(&plan, serving).await
    }

    /// What of a filter no document meets, where nothing was found. `is_certain` says that vectors
    /// found no code under it either, and that nothing they found was withheld.
    async fn unmet_code_filter(
        &self,
        wishes: &Filter,
        principal: &Principal,
        is_certain: bool,
    ) -> std::result::Result<Option<UnmetFilter>, SearchError> {
        if wishes.is_unrestricted() {
            return Ok(None);
        }
        let reading = self.reading(principal).await?;
        self.unmet_with_documents(wishes, principal, &reading, is_certain)
            .await
    }
}

impl<'a> Search<'a> {
    async fn start(
        retriever: &'a Retriever,
        serving: &'a Serving,
        asked: &SearchRequest,
    ) -> Result<Self> {
        let in_code = retriever.glossary.asked(asked.query.trim());
        let with_query = |query| SearchRequest {
            query,
            ..asked.clone()
        };
        let is_whole = in_code.searched == in_code.whole;
        let whole = with_query(in_code.whole.clone());
        let (mut plan, words) = retriever.plan(&whole, serving).await?;
        let content = coverage::content_tokens(&words, &plan.tokens);
        if !is_whole {
            let searched = with_query(in_code.searched.clone());
            (plan, _) = retriever.plan(&searched, serving).await?;
        }
        let question = asked.query.trim();
        let concepts = Concepts::of(question, &in_code, &serving.analyzer);
        let as_asked = async {
            match in_code.terms.is_empty() {
                true => None,
                false => retriever.embed_as_asked(question, &plan, serving).await,
            }
        };
        let (vectors, asked_vectors) = futures::join!(retriever.embed(&plan, serving), as_asked);
        let mut degraded = retriever.lacking(serving);
        if plan::uses_vectors(&plan) && vectors.is_none() {
            degrade(&mut degraded, "embedder");
        }
        let plan = QueryPlan {
            fine_keep: retriever.config.code.candidates,
            // What only the glossary names is not named by the question.
            names: exact_name::in_question(question),
            ..plan
        };
        Ok(Self {
            retriever,
            serving,
            plan,
            is_renamed: !in_code.words.is_empty(),
            glossary: in_code.looked_up(),
            concepts,
            asked_vectors,
            vectors,
            content,
            absent: Vec::new(),
            overtaken: false,
            degraded,
        })
    }

    /// Stage 1: so many files, best first.
    async fn files(&mut self, wanted: usize) -> Result<Vec<File>> {
        let config = &self.retriever.config.code;
        let by_summary = self.ranked(ChunkKind::CodeFile, None).await?;
        let by_definition = self.ranked(ChunkKind::CodeFunction, None).await?;
        let mut files = fuse(by_summary, by_definition, config);
        best_of_parts(&mut files, config);
        files.truncate(wanted);
        self.add_summaries(&mut files).await?;
        Ok(files)
    }

    /// Stage 2: the definitions of these files, best first, and how many were considered.
    async fn definitions(&mut self, files: &[File]) -> Result<(Vec<CodeHit>, usize)> {
        let ids = files.iter().map(|file| file.document.document_id.clone());
        let found = self
            .ranked(ChunkKind::CodeFunction, Some(ids.collect()))
            .await?;
        let considered = found.len();
        let relevance = self.relevance(&found).await?;
        let reranked = self.reranked(&found).await;
        let scores: HashMap<&str, f32> = files
            .iter()
            .map(|file| (file.document.document_id.as_str(), file.score))
            .collect();
        let of_file = |found: &Found| scores.get(found.document.document_id.as_str()).copied();
        let fine: Vec<FineChunk> = found.iter().map(|found| found.fine).collect();
        let scoring = Scoring {
            file_weight: self.retriever.config.code.file_weight,
            highest_name: fine::strongest(&fine),
            reranked,
        };
        let scored = found.into_iter().filter_map(|found| {
            let file = of_file(&found)?;
            Some((scoring.score(&found.fine, file), file, found))
        });
        let mut scored: Vec<(f32, f32, Found)> = scored.collect();
        scored.sort_by(|(left, _, one), (right, _, other)| {
            let by_score = right.total_cmp(left);
            by_score.then(one.fine.chunk_id.cmp(&other.fine.chunk_id))
        });
        scored.truncate(self.plan.top_k);
        let hits = scored.into_iter().enumerate();
        let hits = hits.map(|(at, (score, file, found))| {
            let scores = scoring.named(&found.fine, file);
            let relevance = relevance.get(&found.fine.chunk_id).copied();
            CodeHit {
                relevance,
                ..code_hit(at + 1, score, scores, found)
            }
        });
        Ok((hits.collect(), considered))
    }

    /// How relevant each is, by the estimate of other searches: the score alone says what is best and
    /// not whether it is any good. What of the question a definition covers is judged beside all
    /// definitions, not those of the files alone.
    async fn relevance(&self, found: &[Found]) -> Result<HashMap<ChunkId, f32>> {
        let retriever = self.retriever;
        let index = retriever.index.as_ref();
        let plan = QueryPlan {
            filter: narrowed(&self.plan.filter, ChunkKind::CodeFunction, None),
            ..self.plan.clone()
        };
        let mut fine: Vec<FineChunk> = found.iter().map(|found| found.fine).collect();
        let tokens = match self.is_renamed {
            true => {
                let by = self.by_concept(&plan);
                self.concepts.cover(&by, &mut fine).await?
            }
            false => {
                let content = &self.content;
                coverage::score_by_content(index, &plan, content, &mut fine).await?;
                coverage::token_scores(index, &plan, content).await?
            }
        };
        let estimates = Estimates {
            config: &retriever.config.relevance,
            model: self.serving.models.embedder.fine_name(),
            // Definitions are reranked by another text than chunks of documents are.
            reranker: None,
            tokens: plan::uses_keywords(&plan).then_some(&tokens),
        };
        let estimated = fine.iter().filter_map(|chunk| {
            // Their bars were found with these weights, whatever language describes the code.
            let relevance = estimates.of(chunk, None)?;
            Some((chunk.chunk_id, relevance.within))
        });
        Ok(estimated.collect())
    }

    /// Tiers 1 and 2 over the described chunks of a kind, in these documents or in all.
    async fn ranked(
        &mut self,
        kind: ChunkKind,
        document_ids: Option<Vec<String>>,
    ) -> Result<Vec<Found>> {
        let plan = &mut QueryPlan {
            filter: narrowed(&self.plan.filter, kind, document_ids),
            // Concepts put all that both signals found into another order.
            fine_keep: match self.concepts.is_empty() {
                true => self.plan.fine_keep,
                false => usize::MAX,
            },
            ..self.plan.clone()
        };
        let retriever = self.retriever;
        let index = retriever.index.as_ref();
        let asked = coarse::Asked {
            names: Names::none(),
            naming: Naming::new(plan, &retriever.config.exact_name),
            serving: self.serving,
            reciprocal_rank_constant: retriever.config.reciprocal_rank_constant,
        };
        let vectors = ready(self.vectors.clone());
        let coarse: Coarse = coarse::search(index, plan, asked, vectors).await?;
        let sifted = retriever.fine(plan, &coarse, None).await?;
        self.overtaken |= sifted.overtaken;
        let mut fine = sifted.fine;
        if !self.concepts.is_empty() {
            let by = self.by_concept(plan);
            self.concepts.score(&by, &mut fine).await?;
            fine.truncate(retriever.config.code.candidates);
        }
        let ids: Vec<ChunkId> = fine.iter().map(|chunk| chunk.chunk_id).collect();
        let read = leaving::read(index, plan.generation.as_deref(), &ids, &plan.filter).await?;
        self.absent.extend(read.absent);
        let stored = fine.into_iter().zip(read.chunks);
        Ok(stored
            .filter_map(|(fine, stored)| described(fine, stored?, &plan.filter))
            .collect())
    }

    fn by_concept<'s>(&'s self, plan: &'s QueryPlan) -> ByConcept<'s> {
        ByConcept {
            index: self.retriever.index.as_ref(),
            plan,
            config: &self.retriever.config.code,
            question: self.asked_vectors.as_ref(),
        }
    }

    /// Tier 3, without what is named: that comes first once the file has counted.
    async fn reranked(&mut self, found: &[Found]) -> Option<HashMap<ChunkId, f32>> {
        let first = found.iter().take(self.retriever.config.fine_keep);
        let fine: Vec<FineChunk> = first
            .map(|found| FineChunk {
                exact_name: 0.0,
                score: found.fine.standing,
                ..found.fine
            })
            .collect();
        let (retriever, serving) = (self.retriever, self.serving);
        let ranking = retriever.rerank(&self.plan, serving, &fine, &mut self.degraded);
        let order = ranking.await.reranked?.order.into_iter();
        Some(order.map(|chunk| (chunk.chunk_id, chunk.score)).collect())
    }

    /// Reads what is said of those files that came in by a definition alone. A file's own chunk is
    /// its first.
    async fn add_summaries(&mut self, files: &mut [File]) -> Result<()> {
        let lacking = files.iter().filter(|file| file.code.is_none());
        let ids: Vec<String> = lacking.map(|file| file.stored_id.clone()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let index = self.retriever.index.as_ref();
        let generation = self.plan.generation.as_deref();
        let documents = index.documents(generation, &ids).await?.into_iter();
        let firsts = documents.filter_map(|document| document?.chunk_ids.first().copied());
        let firsts: Vec<ChunkId> = firsts.collect();
        let stored = leaving::fetch(index, generation, &firsts, &self.plan.filter).await?;
        for stored in stored.into_iter().flatten() {
            let of = |file: &&mut File| file.stored_id == stored.document.document_id;
            if let Some(file) = files.iter_mut().find(of) {
                let is_file = stored.chunk.kind == ChunkKind::CodeFile;
                file.code = stored.chunk.code.filter(|_| is_file);
            }
        }
        Ok(())
    }

    /// What was ranked and not there is damaged, and the answer says so, or a change came.
    async fn look_for_absent(&mut self) -> Result<()> {
        if self.absent.is_empty() {
            return Ok(());
        }
        let (index, generation) = (&self.retriever.index, self.plan.generation.as_deref());
        let damaged = index.damaged(generation, &self.absent).await?;
        if !damaged.is_empty() {
            degrade(&mut self.degraded, "chunks");
        }
        self.overtaken |= self.absent.iter().any(|id| !damaged.contains(id));
        Ok(())
    }
}

/// Files that a request wants, within the limits.
fn wanted_files(
    request: &CodeSearchRequest,
    config: &CodeConfig,
) -> std::result::Result<usize, SearchError> {
    let wanted = request.files.unwrap_or(config.files);
    if wanted == 0 || wanted > config.maximum_files {
        return Err(SearchError::Invalid(format!(
            "files is {wanted}, it must be between 1 and {}",
            config.maximum_files
        )));
    }
    Ok(wanted)
}

fn as_search(request: &CodeSearchRequest, filter: Filter) -> SearchRequest {
    SearchRequest {
        query: request.query.clone(),
        filter,
        top_k: request.top_k,
        rerank: request.rerank,
        unfold: true,
        ..SearchRequest::default()
    }
}

/// The filter for chunks of a kind, if it allows them at all. Files that were found under it take
/// the place of documents that it names.
fn narrowed(filter: &Filter, kind: ChunkKind, document_ids: Option<Vec<String>>) -> Filter {
    let is_allowed = filter
        .kinds
        .as_ref()
        .is_none_or(|kinds| kinds.contains(&kind));
    Filter {
        kinds: Some(is_allowed.then_some(kind).into_iter().collect()),
        document_ids: document_ids.or_else(|| filter.document_ids.clone()),
        ..filter.clone()
    }
}

fn described(fine: FineChunk, stored: StoredChunk, filter: &Filter) -> Option<Found> {
    let code = stored.chunk.code.clone();
    let code = code.filter(|code| code.is_described())?;
    let document = leaving::visible(&stored.document, filter)
        .into_iter()
        .next()?;
    Some(Found {
        fine,
        stored,
        code,
        document,
    })
}
