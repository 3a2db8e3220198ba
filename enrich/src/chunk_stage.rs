//! The stage `chunk`: a clean document becomes tagged chunks with ready tokens (`documents.clean` →
//! `chunks.tagged`). It is cut, then waits for its summaries where a model writes them, then is put
//! together.

mod ended;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tributary_models::TokenCounter;
use tributary_schemas::set_status::SetCost;
use tributary_schemas::{
    CleanDocument, DocumentHeader, Error, ErrorKind, Lineage, Result, StageTime, State,
    TaggedDocument, Topic, event, limits,
};
use tributary_store::event_log::stage::{Next, Output, Outputs, Stage};
use tributary_store::event_log::{StoredRecord, message};
use tributary_store::set_costs::SetCosts;
use tributary_store::work::Work;
use tributary_store::{Clock, manifest};
use tributary_taxonomy::{Analyzer, SharedKnowledgeSets, SourceProfiles, SummaryMode};

use crate::chunk_services::ChunkServices;
use crate::chunkers::{self, Cut, ModelTexts, WriterNames};
use crate::config::Chunkers;
use crate::descriptions::writer::DescriptionWriter;
use crate::search_text::SearchText;
use crate::summaries::writer::SummaryWriter;
use crate::summary_mode;
use crate::tag::tag;
use crate::writing::{Asking, Written, WrittenKind};
use crate::{blocking, permit};

/// Name of the stage.
const NAME: &str = "chunk";
const NEXT: Next = Next {
    topic: Topic::ChunksTagged,
    event_type: event::TYPE_CHUNKS_TAGGED,
};
/// Pause between two looks whether a newer version waits.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// What `lineage.degraded` says where a document's own metadata is too long to go along with it.
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
    /// How summaries of sections are made: without a model by first sentences and titles.
    pub summaries: WrittenBy<SummaryWriter>,
    /// How descriptions of code are made: without a model from comments, signatures and names.
    pub descriptions: WrittenBy<DescriptionWriter>,
    /// Services that see the chunks.
    pub services: Arc<ChunkServices>,
    /// Counts what a model writes, by knowledge set.
    pub costs: SetCosts,
    /// How documents are cut.
    pub chunkers: Chunkers,
    /// The generation of the index that the chunks are for.
    pub generation: String,
    /// Whether queries go to that generation: only then the progress of a document is reported.
    pub is_serving: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Time.
    pub clock: Clock,
    /// Where the stage says what it is at.
    pub work: Work,
    /// Whether a newer version of a document has come so far that it waits behind this one: the
    /// older is not worth waiting for a model.
    pub is_superseded: IsSuperseded,
    /// Ends waiting for a model: the record comes again after the next start.
    pub stop: CancellationToken,
}

/// Asked by document id and version.
pub type IsSuperseded = Arc<dyn Fn(&str, u64) -> bool + Send + Sync>;

/// How texts of one generation of the index are made that a language model may write.
pub enum WrittenBy<W> {
    /// Without one.
    Rules,
    /// By one.
    Model(Arc<W>),
    /// By one, of which there is none now: as without, and the document is marked.
    NoModel,
}

/// What a model wrote of a document.
#[derive(Default)]
struct AllWritten {
    summaries: Written,
    descriptions: Written,
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

/// A document that is cut, before its summaries are there.
struct Open {
    clean: CleanDocument,
    cut: Cut,
    /// What was said of its summaries.
    mode: Option<SummaryMode>,
    /// Variant of the prompts.
    variant: Option<String>,
    /// Whether a model is asked again for what it could not write before.
    asks_again: bool,
}

impl ChunkStage {
    /// Cuts as configured, at most `documents_in_flight` at the same time; those that wait for a
    /// model do not count.
    pub fn new(parts: ChunkParts, documents_in_flight: usize) -> Self {
        let permits = Arc::new(Semaphore::new(documents_in_flight.max(1)));
        Self {
            work: Arc::new(ChunkWork { parts }),
            permits,
        }
    }

    /// What the record becomes if a model wrote all that it is to write; else why it did not.
    pub(crate) async fn cut_whole(
        &self,
        input: &StoredRecord,
    ) -> Result<std::result::Result<Vec<Output>, String>> {
        let (Some(open), written) = self.open(input, true).await? else {
            return Ok(Ok(Vec::new()));
        };
        if let Some(why) = written.missing() {
            return Ok(Err(why.to_owned()));
        }
        Ok(Ok(self.complete(input, open, written).await?))
    }

    /// What the record becomes: put together, seen by services, analysed.
    async fn complete(
        &self,
        input: &StoredRecord,
        open: Open,
        written: AllWritten,
    ) -> Result<Vec<Output>> {
        let now_ms = (self.work.parts.clock)();
        let input = input.clone();
        let parts = &self.work.parts;
        let document = &open.clean.document;
        let profile = parts.source_profiles.profile(&document.source).name.clone();
        if !parts.services.are_for(&profile, document) {
            let outputs = move |work: &ChunkWork| {
                let tagged = work.finish(open, written, now_ms);
                work.outputs(&input, tagged, now_ms)
            };
            return self.in_turn(outputs).await;
        }
        let mut tagged = self
            .in_turn(move |work| Ok(work.finish(open, written, now_ms)))
            .await?;
        let chunks = std::mem::take(&mut tagged.chunks);
        let document = &tagged.document;
        let served = parts
            .services
            .run(&profile, document, chunks, &parts.tokens);
        tagged.chunks = tokio::select! {
            served = served => served?,
            () = parts.stop.cancelled() => return Err(stopping()),
            () = self.superseded(document) => return self.work.superseded(&input, document),
        };
        if tagged.chunks.is_empty() {
            return self.work.without_chunks(&input, document);
        }
        self.in_turn(move |work| work.outputs(&input, tagged, now_ms))
            .await
    }

    /// The document, cut, with what a model wrote of it; nothing of a deletion.
    async fn open(
        &self,
        input: &StoredRecord,
        asks_again: bool,
    ) -> Result<(Option<Open>, AllWritten)> {
        let first = input.clone();
        let mut open = self
            .in_turn(move |work| work.cut(&first, asks_again))
            .await?;
        let written = match &mut open {
            Some(open) => self.written(open).await?,
            None => AllWritten::default(),
        };
        Ok((open, written))
    }

    /// Runs a part of the work on a blocking thread when it is its turn.
    async fn in_turn<T: Send + 'static>(
        &self,
        part: impl FnOnce(&ChunkWork) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let _permit = permit(&self.permits).await?;
        let work = Arc::clone(&self.work);
        blocking(NAME, move || part(&work)).await
    }

    /// Has written what a model is to write of a document; holds no permit while it waits.
    async fn written(&self, open: &mut Open) -> Result<AllWritten> {
        Ok(AllWritten {
            summaries: self.summaries(open).await?,
            descriptions: self.descriptions(open).await?,
        })
    }

    async fn summaries(&self, open: &mut Open) -> Result<Written> {
        let parts = &self.work.parts;
        let wanted = open.cut.wanted();
        match &parts.summaries {
            _ if wanted.is_empty() => Ok(Written::default()),
            _ if !wants_model(open.mode) => Ok(Written::default()),
            WrittenBy::Rules if open.mode.is_some() => Ok(Written {
                missing: Some("its generation of the index has no model for summaries".to_owned()),
                ..Written::default()
            }),
            WrittenBy::Rules => Ok(Written::default()),
            WrittenBy::NoModel => Ok(no_model(WrittenKind::Summary)),
            WrittenBy::Model(writer) => {
                let markdown = Arc::from(std::mem::take(&mut open.clean.markdown));
                let document = &open.clean.document;
                let working = parts.work.begin(NAME, &document.document_id);
                let progress = |done, all| working.advance(done, all);
                let spent = |cost: &SetCost| parts.costs.add(&document.knowledge_sets, cost);
                let asking = Asking {
                    variant: open.variant.as_deref(),
                    asks_again: open.asks_again,
                    spent: &spent,
                };
                let written = writer.write_as(&asking, &markdown, wanted, &parts.tokens, &progress);
                self.unless_outdated(document, written).await
            }
        }
    }

    async fn descriptions(&self, open: &Open) -> Result<Written> {
        let parts = &self.work.parts;
        let writer = match &parts.descriptions {
            _ if !wants_model(open.mode) => return Ok(Written::default()),
            WrittenBy::Rules => return Ok(Written::default()),
            WrittenBy::NoModel if open.cut.has_code() => {
                return Ok(no_model(WrittenKind::Description));
            }
            WrittenBy::NoModel => return Ok(Written::default()),
            WrittenBy::Model(_) if !open.cut.has_code() => return Ok(Written::default()),
            WrittenBy::Model(writer) => writer,
        };
        let wanted = open.cut.wanted_descriptions();
        let document = &open.clean.document;
        let working = parts.work.begin(NAME, &document.document_id);
        let progress = |done, all| working.advance(done, all);
        let spent = |cost: &SetCost| parts.costs.add(&document.knowledge_sets, cost);
        let asking = Asking {
            variant: open.variant.as_deref(),
            asks_again: open.asks_again,
            spent: &spent,
        };
        let written = writer.write_as(&asking, &wanted, &parts.tokens, &progress);
        self.unless_outdated(document, written).await
    }

    /// What is written, unless the process stops or a newer version waits behind this one.
    async fn unless_outdated(
        &self,
        document: &DocumentHeader,
        written: impl Future<Output = Result<Written>>,
    ) -> Result<Written> {
        tokio::select! {
            written = written => written,
            () = self.work.parts.stop.cancelled() => Err(stopping()),
            () = self.superseded(document) => Ok(Written {
                missing: Some("a newer version of the document waits behind it".to_owned()),
                ..Written::default()
            }),
        }
    }

    /// Until a newer version waits behind this one.
    async fn superseded(&self, document: &DocumentHeader) {
        while !(self.work.parts.is_superseded)(&document.document_id, document.version) {
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }
}

impl ChunkWork {
    /// The document, tagged and cut; nothing of a deletion.
    fn cut(&self, input: &StoredRecord, asks_again: bool) -> Result<Option<Open>> {
        let Some(mut clean) = message::decode::<CleanDocument>(&input.record)? else {
            return Ok(None);
        };
        let parts = &self.parts;
        let profile = parts.source_profiles.profile(&clean.document.source);
        tag(&mut clean, profile, &parts.knowledge_sets.current())?;
        let chunker = parts.chunkers.of(&clean.document.knowledge_sets);
        let strategy = profile.chunker_of(&clean.document, &clean.markdown);
        let mode = summary_mode::of(&clean.document, profile, &parts.chunkers);
        let variant = summary_mode::prompts_of(&clean.document, profile, &parts.chunkers);
        let cut = chunkers::cut(&clean, strategy, chunker, parts.tokens.as_ref());
        clean.document.lineage.chunker =
            chunkers::fingerprint(strategy, chunker, &parts.writer_names(mode, variant));
        clean.document.lineage.chunker_fallback = cut.fallback().map(str::to_owned);
        let variant = variant.map(str::to_owned);
        Ok(Some(Open {
            clean,
            cut,
            mode,
            variant,
            asks_again,
        }))
    }

    fn outputs(
        &self,
        input: &StoredRecord,
        mut tagged: TaggedDocument,
        now_ms: i64,
    ) -> Result<Vec<Output>> {
        for chunk in &mut tagged.chunks {
            chunk.analyzed = analyzed(&self.parts.analyzer, &tagged.document, chunk);
        }
        let mut outputs =
            Outputs::of(&input.record, NEXT, now_ms).for_generation(&self.parts.generation);
        if (self.parts.is_serving)() {
            outputs = outputs.report(&manifest::report(
                &tagged.document,
                State::Embedding,
                now_ms,
            ))?;
        }
        let document_id = message::document_id(&input.record)?;
        Ok(outputs
            .pass_on(document_id, tagged.document.version, &tagged)?
            .done())
    }

    fn finish(&self, open: Open, written: AllWritten, now_ms: i64) -> TaggedDocument {
        let parts = &self.parts;
        let Open {
            clean, cut, mode, ..
        } = open;
        let mut document = clean.document;
        let (metadata, is_shortened) = limits::shortened_metadata(&clean.metadata);
        document.metadata = metadata;
        document.highest_section_level = cut.highest_section_level();
        let lineage = &mut document.lineage;
        if is_shortened {
            degraded(lineage, DEGRADED_METADATA);
        }
        lineage.analyzer = parts.analyzer.fingerprint();
        let calls = written.summaries.calls + written.descriptions.calls;
        for (kind, written) in [
            (WrittenKind::Summary, &written.summaries),
            (WrittenKind::Description, &written.descriptions),
        ] {
            if let Some(why) = &written.missing {
                let what = kind.degraded();
                degraded(lineage, what);
                let document_id = &document.document_id;
                tracing::warn!(%document_id, what, why, "made without the model");
            }
        }
        document.timeline.push(StageTime {
            stage: NAME.to_owned(),
            at_ms: now_ms,
        });
        let texts = ModelTexts {
            summaries: written.summaries.texts,
            descriptions: written.descriptions.texts,
        };
        let mut chunks = cut.finish(texts, parts.tokens.as_ref());
        if mode == Some(SummaryMode::None) {
            chunks = summary_mode::without_summaries(chunks);
        }
        tracing::debug!(document_id = %document.document_id, version = document.version, chunks = chunks.len(), calls, "document cut");
        TaggedDocument { document, chunks }
    }
}

impl ChunkParts {
    /// Who writes; part of what decides whether chunks are made anew.
    fn writer_names(&self, mode: Option<SummaryMode>, variant: Option<&str>) -> WriterNames {
        let mut names = WriterNames::default();
        match (mode, &self.summaries) {
            (Some(SummaryMode::None), _) => names.summaries = SummaryMode::None.as_str().to_owned(),
            (Some(SummaryMode::Extractive), _) => {}
            (_, WrittenBy::Model(writer)) => names.summaries = writer.name_as(variant),
            (_, WrittenBy::Rules | WrittenBy::NoModel) => {}
        }
        if let WrittenBy::Model(writer) = &self.descriptions
            && wants_model(mode)
        {
            names.descriptions = writer.name_as(variant);
        }
        names
    }
}

impl AllWritten {
    /// Why the first text that is missing is.
    fn missing(&self) -> Option<&str> {
        let missing = self.summaries.missing.as_ref();
        missing
            .or(self.descriptions.missing.as_ref())
            .map(String::as_str)
    }
}

fn no_model(kind: WrittenKind) -> Written {
    let role = kind.role();
    Written {
        missing: Some(format!("no model is configured for the role `{role}`")),
        ..Written::default()
    }
}

/// Whether a model is asked, where there is one.
fn wants_model(mode: Option<SummaryMode>) -> bool {
    matches!(mode, None | Some(SummaryMode::Model))
}

fn stopping() -> Error {
    let message = "stopping; the summaries of a document are written after the next start";
    Error::new(ErrorKind::Unavailable, message)
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
        message::document_id(&input.record)?;
        let (Some(open), written) = self.open(input, false).await? else {
            return self.work.removed(input);
        };
        self.complete(input, open, written).await
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
