//! The stage `chunk`: a clean document becomes tagged chunks with ready tokens (`documents.clean` →
//! `chunks.tagged`).

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tributary_models::TokenCounter;
use tributary_schemas::{
    CleanDocument, DocumentHeader, Error, Lineage, Result, StageTime, State, TaggedDocument, Topic,
    event, limits,
};
use tributary_store::event_log::stage::{Next, Output, Outputs, Stage};
use tributary_store::event_log::{StoredRecord, message};
use tributary_store::{Clock, manifest};
use tributary_taxonomy::{Analyzer, SharedKnowledgeSets, SourceProfiles};

use crate::chunkers::{self, chunk_document};
use crate::config::Chunkers;
use crate::search_text::SearchText;
use crate::summarize::Summarizer;
use crate::tag::tag;
use crate::{blocking, permit};

/// Name of the stage.
const NAME: &str = "chunk";
const NEXT: Next = Next {
    topic: Topic::ChunksTagged,
    event_type: event::TYPE_CHUNKS_TAGGED,
};
/// What `lineage.degraded` says where a summary was made in a lesser way than configured.
const DEGRADED_SUMMARY: &str = "summary";
/// What it says where a document's own metadata is too long to go along with it.
const DEGRADED_METADATA: &str = "metadata";

/// What the stage needs of the rest of the product.
pub struct ChunkParts {
    /// Cuts text into tokens of the keyword side.
    pub analyzer: Arc<Analyzer>,
    /// Knowledge sets in force.
    pub knowledge_sets: SharedKnowledgeSets,
    /// How each source is treated.
    pub source_profiles: Arc<SourceProfiles>,
    /// Counts model tokens.
    pub tokens: Arc<dyn TokenCounter>,
    /// Makes summaries.
    pub summarizer: Arc<dyn Summarizer>,
    /// How documents are cut.
    pub chunkers: Chunkers,
    /// The generation of the index that the chunks are for.
    pub generation: String,
    /// Whether queries go to that generation: only then the progress of a document is reported.
    pub is_serving: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Time.
    pub clock: Clock,
}

/// The stage.
pub struct ChunkStage {
    work: Arc<ChunkWork>,
    permits: Arc<Semaphore>,
}

/// What runs on a blocking thread.
struct ChunkWork {
    parts: ChunkParts,
}

impl ChunkStage {
    /// Cuts as configured, at most `documents_in_flight` at the same time.
    pub fn new(parts: ChunkParts, documents_in_flight: usize) -> Self {
        let permits = Arc::new(Semaphore::new(documents_in_flight.max(1)));
        Self {
            work: Arc::new(ChunkWork { parts }),
            permits,
        }
    }
}

impl ChunkWork {
    fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        let document_id = message::document_id(&input.record)?;
        let now_ms = (self.parts.clock)();
        let mut outputs =
            Outputs::of(&input.record, NEXT, now_ms).for_generation(&self.parts.generation);
        let Some(clean) = message::decode::<CleanDocument>(&input.record)? else {
            let version = message::version(&input.record);
            return Ok(outputs.remove(document_id, version).done());
        };
        let tagged = self.cut(clean, now_ms)?;
        if (self.parts.is_serving)() {
            outputs = outputs.report(&manifest::report(
                &tagged.document,
                State::Embedding,
                now_ms,
            ))?;
        }
        Ok(outputs
            .pass_on(document_id, tagged.document.version, &tagged)?
            .done())
    }

    fn cut(&self, mut clean: CleanDocument, now_ms: i64) -> Result<TaggedDocument> {
        let parts = &self.parts;
        let profile = parts.source_profiles.profile(&clean.document.source);
        tag(&mut clean, profile, &parts.knowledge_sets.current())?;
        let chunker = parts.chunkers.of(&clean.document.knowledge_sets);
        let strategy = profile.chunker_of(&clean.document, &clean.markdown);
        let chunked = chunk_document(
            &clean,
            strategy,
            chunker,
            parts.tokens.as_ref(),
            parts.summarizer.as_ref(),
        );
        let mut document = clean.document;
        let (metadata, is_shortened) = limits::shortened_metadata(&clean.metadata);
        document.metadata = metadata;
        let lineage = &mut document.lineage;
        if is_shortened {
            degraded(lineage, DEGRADED_METADATA);
        }
        lineage.chunker = chunkers::fingerprint(strategy, chunker, parts.summarizer.name());
        lineage.analyzer = parts.analyzer.fingerprint();
        if chunked.summary_degraded {
            degraded(lineage, DEGRADED_SUMMARY);
        }
        document.timeline.push(StageTime {
            stage: NAME.to_owned(),
            at_ms: now_ms,
        });
        let mut chunks = chunked.chunks;
        for chunk in &mut chunks {
            chunk.analyzed = analyzed(&parts.analyzer, &document, chunk);
        }
        tracing::debug!(document_id = %document.document_id, version = document.version, chunks = chunks.len(), "document cut");
        Ok(TaggedDocument { document, chunks })
    }
}

/// Names what was done in a lesser way, once.
fn degraded(lineage: &mut Lineage, what: &str) {
    if !lineage.degraded.iter().any(|named| named == what) {
        lineage.degraded.push(what.to_owned());
    }
}

/// Ready tokens of title, section path and text.
fn analyzed(
    analyzer: &Analyzer,
    document: &DocumentHeader,
    chunk: &tributary_schemas::Chunk,
) -> String {
    let text = SearchText::of(document, chunk);
    let mut tokens = String::with_capacity(text.body.len() * 2);
    analyzer.analyze_into(&text.heading, &mut tokens);
    analyzer.analyze_into(&text.body, &mut tokens);
    tokens
}

#[async_trait]
impl Stage for ChunkStage {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        let _permit = permit(&self.permits).await?;
        let (work, input) = (Arc::clone(&self.work), input.clone());
        blocking(NAME, move || work.process(&input)).await
    }

    fn abandoned(&self, input: &StoredRecord, error: &Error) -> Vec<Output> {
        let parts = &self.work.parts;
        if (parts.is_serving)() {
            manifest::abandoned(input, error, (parts.clock)())
        } else {
            Vec::new()
        }
    }
}
