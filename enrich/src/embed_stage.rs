//! The stage `embed`: tagged chunks get their vectors (`chunks.tagged` → `chunks.embedded`). Chunks
//! that an indexed version of the document already has keep their vectors. Documents take turns, a
//! batch at a time ([`crate::turns`]), so that a long one does not hold up others.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use tributary_models::{DualEmbedder, TextRole, TokenCounter};
use tributary_schemas::{
    Chunk, ChunkId, ChunkVectors, DocumentHeader, EmbeddedDocument, Error, ErrorKind, Result,
    StageTime, State, TaggedDocument, Topic, event,
};
use tributary_store::event_log::stage::{Next, Output, Outputs, Stage};
use tributary_store::event_log::{StoredRecord, message};
use tributary_store::search_index::SharedSearchIndex;
use tributary_store::work::{Work, Working};
use tributary_store::{Clock, manifest};
use tributary_taxonomy::simplify;

use crate::blocking;
use crate::chunk_stage::IsSuperseded;
use crate::config::EmbedConfig;
use crate::search_text::SearchText;
use crate::turns::Turns;
use crate::windows::{Window, together, windows};

/// Name of the stage.
const NAME: &str = "embed";
const NEXT: Next = Next {
    topic: Topic::ChunksEmbedded,
    event_type: event::TYPE_CHUNKS_EMBEDDED,
};
/// Grows with every change of the code that changes embedding texts; part of [`fingerprint`].
const CODE_VERSION: u32 = 2;

/// What the vectors of one generation of the index are made with.
#[derive(Clone)]
pub struct EmbedGeneration {
    /// Its name.
    pub name: String,
    /// Whether queries go to it: only then the progress of a document is reported.
    pub is_serving: bool,
    /// Makes the vectors.
    pub embedder: Arc<DualEmbedder>,
    /// Counts the embedder's tokens.
    pub tokens: Arc<dyn TokenCounter>,
    /// How texts are cut into windows. Its limits of batches and of documents in flight are not
    /// read: those are the stage's.
    pub config: EmbedConfig,
}

/// The generations that chunks may be for.
#[async_trait]
pub trait EmbedGenerations: Send + Sync {
    /// The generation of this name, or the serving one for `None`; `None` when it is gone: its
    /// records are then dropped.
    async fn find(&self, name: Option<&str>) -> Result<Option<EmbedGeneration>>;

    /// Names of all generations, the serving one first.
    fn names(&self) -> Vec<String>;
}

/// What the stage needs of the rest of the product.
pub struct EmbedParts {
    /// Models by generation.
    pub generations: Arc<dyn EmbedGenerations>,
    /// Where vectors of unchanged chunks are; none to embed everything.
    pub index: Option<SharedSearchIndex>,
    /// Time.
    pub clock: Clock,
    /// Where the stage says what it is at.
    pub work: Work,
    /// Whether the deletion of a document waits behind this version, which then needs no vectors.
    pub is_deleted: IsSuperseded,
}

/// The stage.
pub struct EmbedStage {
    generations: Arc<dyn EmbedGenerations>,
    batch_bytes: usize,
    clock: Clock,
    index: Option<SharedSearchIndex>,
    turns: Turns,
    work: Work,
    is_deleted: IsSuperseded,
}

/// What the vectors of one document are made with.
struct EmbedWork {
    generation: EmbedGeneration,
    batch_bytes: usize,
    clock: Clock,
}

/// A document whose chunks get their vectors, batch by batch; each on a blocking thread.
struct Job {
    work: EmbedWork,
    document: DocumentHeader,
    chunks: Vec<Chunk>,
    vectors: Vec<Option<ChunkVectors>>,
    /// Chunks before this one have their vectors.
    next: usize,
    reused: usize,
}

/// Vectors that need not be made again.
type Known = HashMap<ChunkId, ChunkVectors>;

/// The text of a chunk as it is embedded, before windows are cut: title, section path and body
/// without marks, of code its description instead, folded if configured.
pub fn embedding_text(
    document: &DocumentHeader,
    chunk: &Chunk,
    fold_traditional: bool,
) -> SearchText {
    let text = SearchText::of_meaning(document, chunk);
    if !fold_traditional {
        return text;
    }
    SearchText {
        heading: simplify(&text.heading).into_owned(),
        body: simplify(&text.body).into_owned(),
    }
}

/// Hash of what shapes embedding texts beside the chunk, and of what is kept of them;
/// `lineage.embedding`. 16 hexadecimal digits.
pub fn fingerprint(config: &EmbedConfig) -> String {
    let mut settings = format!(
        "{CODE_VERSION}/{}/{}/{}",
        config.window_tokens, config.window_limit, config.fold_traditional
    );
    // What keeps none is as it was before there was such a setting.
    if config.kept_windows > 0 {
        settings.push_str(&format!("/{}", config.kept_windows));
    }
    blake3::hash(settings.as_bytes())
        .to_hex()
        .chars()
        .take(16)
        .collect()
}

impl EmbedStage {
    /// Embeds as configured.
    pub fn new(parts: EmbedParts, config: EmbedConfig) -> Self {
        let turns = Turns::new(config.batches_in_flight);
        let index = parts.index.filter(|_| config.reuse_vectors);
        Self {
            generations: parts.generations,
            batch_bytes: config.batch_bytes,
            clock: parts.clock,
            index,
            turns,
            work: parts.work,
            is_deleted: parts.is_deleted,
        }
    }

    /// Embeds all chunks, each batch when it is its turn; nothing once the document is deleted.
    async fn embed(&self, mut job: Job, working: &Working) -> Result<Option<Job>> {
        working.advance(job.next, job.chunks.len());
        while job.next < job.chunks.len() {
            if (self.is_deleted)(&job.document.document_id, job.document.version) {
                return Ok(None);
            }
            let turn = self.turns.wait(job.rest_bytes()).await?;
            job = blocking(NAME, move || {
                let _turn = turn;
                job.embed_batch()
            })
            .await?;
            working.advance(job.next, job.chunks.len());
        }
        Ok(Some(job))
    }

    /// Vectors of chunks that a generation of the index has of this document, if they were made the
    /// same way. That the index cannot tell is no failure: everything is embedded then.
    async fn known(&self, work: &EmbedWork, tagged: &TaggedDocument) -> Known {
        let Some(index) = &self.index else {
            return Known::new();
        };
        let mut known = Known::new();
        for generation in self.generations.names() {
            match look_up(index, &generation, work, tagged).await {
                Ok(found) => known.extend(found),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(document_id = %tagged.document.document_id, %error, "stored vectors cannot be read, embedding chunks");
                }
            }
            if known.len() == tagged.chunks.len() {
                break;
            }
        }
        known
    }
}

async fn look_up(
    index: &SharedSearchIndex,
    generation: &str,
    work: &EmbedWork,
    tagged: &TaggedDocument,
) -> Result<Known> {
    let stored = index
        .documents(
            Some(generation),
            std::slice::from_ref(&tagged.document.document_id),
        )
        .await?
        .pop()
        .flatten();
    let Some(stored) = stored.filter(|stored| {
        !stored.deleted && work.made_the_same_way(&stored.document, &tagged.document)
    }) else {
        return Ok(Known::new());
    };
    let stored_ids: std::collections::HashSet<ChunkId> = stored.chunk_ids.into_iter().collect();
    let wanted: Vec<ChunkId> = tagged
        .chunks
        .iter()
        .map(|chunk| chunk.chunk_id)
        .filter(|id| stored_ids.contains(id))
        .collect();
    let vectors = index.vectors(Some(generation), &wanted).await?;
    let complete = wanted
        .into_iter()
        .zip(vectors)
        .filter_map(|(id, vectors)| Some((id, vectors?)));
    Ok(complete
        .filter(|(_, vectors)| work.has_right_shape(vectors))
        .collect())
}

fn check_count(vectors: usize, texts: usize) -> Result<()> {
    if vectors == texts {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Internal,
        format!("the embedder gave {vectors} vectors for {texts} texts"),
    ))
}

impl EmbedWork {
    /// Chunk ids hold kind, section path and text, of code its description too; all else that
    /// shapes a vector is compared here.
    fn made_the_same_way(&self, stored: &DocumentHeader, document: &DocumentHeader) -> bool {
        let generation = &self.generation;
        stored.title == document.title
            && stored.lineage.coarse_model == generation.embedder.coarse_name()
            && stored.lineage.fine_model == generation.embedder.fine_name()
            && stored.lineage.embedding == fingerprint(&generation.config)
    }

    fn has_right_shape(&self, vectors: &ChunkVectors) -> bool {
        let embedder = &self.generation.embedder;
        let fine = if embedder.is_shared() {
            0
        } else {
            embedder.fine_dimensions()
        };
        vectors.coarse.len() == embedder.coarse_dimensions() && vectors.fine.len() == fine
    }

    fn embed(&self, batch: Batch, vectors: &mut [Option<ChunkVectors>]) -> Result<()> {
        if batch.texts.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = batch
            .texts
            .iter()
            .map(|window| window.text.as_str())
            .collect();
        let made = self.generation.embedder.embed(&texts, TextRole::Passage)?;
        check_count(made.len(), texts.len())?;
        let weights = batch.texts.iter().map(|window| window.weight);
        let mut made = made.into_iter().zip(weights);
        for (position, windows) in batch.places {
            let of_chunk: Vec<(ChunkVectors, usize)> = made.by_ref().take(windows).collect();
            if let Some(slot) = vectors.get_mut(position) {
                *slot = Some(together(&of_chunk, self.generation.config.kept_windows));
            }
        }
        Ok(())
    }
}

impl Job {
    fn new(work: EmbedWork, tagged: TaggedDocument, known: &Known) -> Self {
        let TaggedDocument { document, chunks } = tagged;
        let of_chunk = |chunk: &Chunk| known.get(&chunk.chunk_id).cloned();
        let mut job = Self {
            vectors: chunks.iter().map(of_chunk).collect(),
            work,
            document,
            chunks,
            next: 0,
            reused: known.len(),
        };
        job.skip_known();
        job
    }

    /// Text that has no vectors yet.
    fn rest_bytes(&self) -> usize {
        let chunks = self.chunks.iter().zip(&self.vectors).skip(self.next);
        chunks
            .filter(|(_, vectors)| vectors.is_none())
            .map(|(chunk, _)| chunk.text.len())
            .sum()
    }

    fn skip_known(&mut self) {
        while self.vectors.get(self.next).is_some_and(Option::is_some) {
            self.next += 1;
        }
    }

    /// The next chunks without vectors, as many as a batch takes.
    fn embed_batch(mut self) -> Result<Self> {
        let config = &self.work.generation.config;
        let tokens = self.work.generation.tokens.as_ref();
        let mut batch = Batch::default();
        for (position, chunk) in self.chunks.iter().enumerate().skip(self.next) {
            if batch.bytes >= self.work.batch_bytes {
                break;
            }
            self.next = position + 1;
            if self.vectors.get(position).is_some_and(Option::is_some) {
                continue;
            }
            let text = embedding_text(&self.document, chunk, config.fold_traditional);
            let windows = windows(&text, config.window_tokens, config.window_limit, tokens);
            batch.push(position, windows);
        }
        self.work.embed(batch, &mut self.vectors)?;
        self.skip_known();
        Ok(self)
    }

    fn finish(self, input: &StoredRecord) -> Result<Vec<Output>> {
        let Self {
            work,
            mut document,
            chunks,
            reused,
            ..
        } = self;
        let missing = || {
            Error::new(
                ErrorKind::Internal,
                format!("a chunk of `{}` was not embedded", document.document_id),
            )
        };
        let vectors = self
            .vectors
            .into_iter()
            .map(|vectors| vectors.ok_or_else(missing))
            .collect::<Result<Vec<_>>>()?;
        let now_ms = (work.clock)();
        let generation = &work.generation;
        document.lineage.coarse_model = generation.embedder.coarse_name().to_owned();
        document.lineage.fine_model = generation.embedder.fine_name().to_owned();
        document.lineage.embedding = fingerprint(&generation.config);
        document.timeline.push(StageTime {
            stage: NAME.to_owned(),
            at_ms: now_ms,
        });
        tracing::debug!(document_id = %document.document_id, version = document.version, chunks = chunks.len(), reused, "document embedded");
        let mut outputs = Outputs::of(&input.record, NEXT, now_ms).for_generation(&generation.name);
        if generation.is_serving {
            outputs = outputs.report(&manifest::report(&document, State::Indexing, now_ms))?;
        }
        let embedded = EmbeddedDocument {
            document,
            chunks,
            vectors,
        };
        let document_id = message::document_id(&input.record)?;
        Ok(outputs
            .pass_on(document_id, embedded.document.version, &embedded)?
            .done())
    }
}

/// Windows that go to the models in one call.
#[derive(Default)]
struct Batch {
    texts: Vec<Window>,
    /// Position of a chunk and how many of the texts are its windows, in order.
    places: Vec<(usize, usize)>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, position: usize, windows: Vec<Window>) {
        self.bytes += windows
            .iter()
            .map(|window| window.text.len())
            .sum::<usize>();
        self.places.push((position, windows.len()));
        self.texts.extend(windows);
    }
}

#[async_trait]
impl Stage for EmbedStage {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        let document_id = message::document_id(&input.record)?;
        let record = input.record.clone();
        let Some(generation) = self
            .generations
            .find(record.header(event::GENERATION))
            .await?
        else {
            tracing::debug!(
                document_id,
                generation = record.header(event::GENERATION),
                "chunks for a generation that is gone are dropped"
            );
            return Ok(Vec::new());
        };
        let Some(tagged) =
            blocking(NAME, move || message::decode::<TaggedDocument>(&record)).await?
        else {
            let outputs =
                Outputs::of(&input.record, NEXT, (self.clock)()).for_generation(&generation.name);
            return Ok(outputs
                .remove(document_id, message::version(&input.record)?)
                .done());
        };
        let work = EmbedWork {
            generation,
            batch_bytes: self.batch_bytes,
            clock: Arc::clone(&self.clock),
        };
        let working = self.work.begin(NAME, document_id);
        let known = self.known(&work, &tagged).await;
        let job = blocking(NAME, move || Ok(Job::new(work, tagged, &known))).await?;
        let Some(job) = self.embed(job, &working).await? else {
            tracing::debug!(
                document_id,
                "a version before a deletion is given up, its tombstone follows"
            );
            return Ok(Vec::new());
        };
        let input = input.clone();
        blocking(NAME, move || job.finish(&input)).await
    }

    fn abandoned(&self, input: &StoredRecord, error: &Error) -> Vec<Output> {
        // Chunks for a generation that is only being built leave the document's state alone.
        let names = self.generations.names();
        let is_for_serving = input
            .record
            .header(event::GENERATION)
            .is_none_or(|name| names.first().is_some_and(|first| first == name));
        if is_for_serving {
            manifest::abandoned(input, error, (self.clock)())
        } else {
            Vec::new()
        }
    }
}
