//! How the documents of every generation of the index are cut in this process: for the readers of
//! `documents.clean`, and for repairs.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tributary_store::Clock;
use tributary_store::manifest::table::DocumentTable;
use tributary_store::set_costs::SetCosts;
use tributary_store::work::Work;
use tributary_taxonomy::{SharedKnowledgeSets, SourceProfiles};

use crate::chunk_services::ChunkServices;
use crate::chunk_stage::{ChunkParts, WrittenBy};
use crate::descriptions::writer::DescriptionWriter;
use crate::pipelines::{Pipeline, Pipelines};
use crate::summaries::writer::SummaryWriter;

/// What a language model writes, if one is configured for it.
#[derive(Clone, Default)]
pub struct Writers {
    /// Summaries of sections.
    pub summaries: Option<Arc<SummaryWriter>>,
    /// Descriptions of code.
    pub descriptions: Option<Arc<DescriptionWriter>>,
}

impl Writers {
    /// Whether no model is configured for any of them.
    pub fn are_none(&self) -> bool {
        self.summaries.is_none() && self.descriptions.is_none()
    }

    /// Have patience anew with a model that was away.
    pub fn expect_back(&self) {
        if let Some(writer) = &self.summaries {
            writer.expect_back();
        }
        if let Some(writer) = &self.descriptions {
            writer.expect_back();
        }
    }
}

/// What all generations share.
#[derive(Clone)]
pub struct Chunking {
    /// Analyzer, models and chunkers by generation.
    pub pipelines: Arc<Pipelines>,
    /// Knowledge sets in force.
    pub knowledge_sets: SharedKnowledgeSets,
    /// How each source is treated.
    pub source_profiles: Arc<SourceProfiles>,
    /// What a language model writes.
    pub writers: Writers,
    /// Services that see the chunks.
    pub services: Arc<ChunkServices>,
    /// Counts what a model writes, by knowledge set.
    pub costs: SetCosts,
    /// Documents that are cut at the same time.
    pub documents_in_flight: usize,
    /// Time.
    pub clock: Clock,
    /// Where the stage says what it is at.
    pub work: Work,
    /// What is known of documents.
    pub table: Arc<DocumentTable>,
}

impl Chunking {
    /// What the stage needs to cut for one generation.
    pub fn parts(&self, pipeline: &Pipeline) -> ChunkParts {
        let generations = Arc::clone(self.pipelines.generations());
        let name = pipeline.generation.clone();
        let table = Arc::clone(&self.table);
        let recipe = &pipeline.recipe;
        ChunkParts {
            analyzer: Arc::clone(&pipeline.analyzer),
            knowledge_sets: self.knowledge_sets.clone(),
            source_profiles: Arc::clone(&self.source_profiles),
            tokens: Arc::clone(&pipeline.models.tokens),
            summaries: written_by(recipe.summaries.is_some(), &self.writers.summaries),
            descriptions: written_by(recipe.descriptions.is_some(), &self.writers.descriptions),
            services: Arc::clone(&self.services),
            costs: self.costs.clone(),
            chunkers: pipeline.recipe.chunkers.clone(),
            generation: pipeline.generation.clone(),
            is_serving: Arc::new(move || generations.is_serving(&name)),
            clock: Arc::clone(&self.clock),
            work: self.work.clone(),
            is_superseded: Arc::new(move |id, version| table.newest_passed(id) > version),
            stop: CancellationToken::new(),
        }
    }
}

/// A generation that has texts by a model keeps to it, also while there is none.
fn written_by<W>(has_model: bool, writer: &Option<Arc<W>>) -> WrittenBy<W> {
    match (has_model, writer) {
        (false, _) => WrittenBy::Rules,
        (true, Some(writer)) => WrittenBy::Model(Arc::clone(writer)),
        (true, None) => WrittenBy::NoModel,
    }
}
